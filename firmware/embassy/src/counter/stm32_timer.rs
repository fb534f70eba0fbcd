//! The 16 bits that every timer of an STM32 has, and its first compare register (RM0090, 18.4).

use embassy_time_driver::TICK_HZ;
use rtmark_board::soc;

use super::clock::Register;

/// The greatest count.
pub const LAST: u32 = 0xFFFF;

/// How far ahead of the counter an alarm has to be: it is met, not passed.
pub const LEAD: u32 = 1;

/// The core's cycles in a tick, rounded down.
const CYCLES: u64 = soc::CLOCK_HZ as u64 / TICK_HZ;

/// Whether a tick takes exactly a whole number of cycles.
pub const EXACT: bool = CYCLES * TICK_HZ == soc::CLOCK_HZ as u64;

/// The value of PSC, one less than the cycles in a tick.
const PRESCALER: u32 = {
    assert!(CYCLES >= 1 && CYCLES <= 1 << 16, "the timer cannot count so slowly");
    CYCLES as u32 - 1
};

const CR1: Register = Register(0x00);
const DIER: Register = Register(0x0C);
const SR: Register = Register(0x10);
const EGR: Register = Register(0x14);
const CNT: Register = Register(0x24);
const PSC: Register = Register(0x28);
const ARR: Register = Register(0x2C);
const CCR1: Register = Register(0x34);

/// The bit of an update in EGR.
const UPDATE: u32 = 1;
/// That of channel 1 in DIER and SR.
const CHANNEL1: u32 = 1 << 1;
/// CR1: the counter counts.
const COUNTS: u32 = 1;

/// Switches the timer's clock on, and starts the counter from zero.
pub fn start((clocks, _, bits): (u32, u32, u32)) {
    // SAFETY: the register that the soc file names, of which nobody else changes this bit.
    unsafe {
        let clocks = clocks as *mut u32;
        clocks.write_volatile(clocks.read_volatile() | bits);
        // The first access may come only after the clock has: a read is long enough (RM0090, 7.2.13).
        clocks.read_volatile();
    }
    PSC.write(PRESCALER);
    ARR.write(LAST);
    // PSC is buffered until an update.
    EGR.write(UPDATE);
    SR.write(0);
    DIER.write(CHANNEL1);
    CR1.write(COUNTS);
}

pub fn count() -> u32 {
    CNT.read()
}

pub fn set_alarm(at: u32) {
    CCR1.write(at);
}

/// A flag is cleared by a zero; a one leaves it as it is.
pub fn acknowledge() {
    SR.write(!CHANNEL1);
}
