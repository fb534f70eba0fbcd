//! The core's clock as the program itself states it.
//!
//! The simulator counts cycles, and a soc's file says how long one takes. Firmware may set another
//! clock. Frameworks keep its frequency where this module finds it by its symbol.

use rtmark_sim::{Machine, Symbols};
use rtmark_units::Hertz;

/// Variables with the core's clock in hertz: CMSIS's, which vendors' libraries and Zephyr's socs update
/// as well, and libopencm3's.
const VARIABLES: [&str; 2] = ["SystemCoreClock", "rcc_ahb_frequency"];
/// Zephyr's constant with the frequency of the timer that counts its time, which is the core's clock
/// if that timer is SysTick.
const ZEPHYR_CLOCK: &str = "CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC";
/// Zephyr's constant that says so.
const ZEPHYR_SYSTICK: &str = "CONFIG_CORTEX_M_SYSTICK";
/// The clocks that a core may have, in hertz. Anything else is no clock.
const PLAUSIBLE: std::ops::RangeInclusive<u32> = 1_000..=2_000_000_000;
/// Clocks that differ by less than one part in this many are the same, rounded differently.
const TOLERANCE: u32 = 100;

/// A clock, and the symbol that states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedClock {
    /// The clock.
    pub clock: Hertz,
    /// The symbol of the variable or constant.
    pub symbol: &'static str,
}

impl StatedClock {
    /// Reads the clock that the program in a machine states; `None` if it states none.
    pub fn read(machine: &Machine, symbols: &Symbols) -> Option<Self> {
        let variable = |symbol: &'static str| {
            let bytes = machine.peek(symbols.address_of(symbol)?, 4);
            let clock = u32::from_le_bytes(bytes.try_into().ok()?);
            Some((symbol, clock))
        };
        let constant = || {
            symbols.address_of(ZEPHYR_SYSTICK).filter(|value| *value != 0)?;
            Some((ZEPHYR_CLOCK, symbols.address_of(ZEPHYR_CLOCK)?))
        };
        VARIABLES
            .into_iter()
            .filter_map(variable)
            .chain(constant())
            .find(|(_, clock)| PLAUSIBLE.contains(clock))
            .map(|(symbol, clock)| Self { clock: Hertz(clock), symbol })
    }

    /// Tells whether it is another clock than the one by which times are calculated.
    pub const fn differs_from(self, clock: Hertz) -> bool {
        differs(self.clock, clock)
    }
}

/// Tells whether two clocks differ by more than by how they are rounded.
pub const fn differs(clock: Hertz, other: Hertz) -> bool {
    clock.0.abs_diff(other.0) > other.0 / TOLERANCE
}
