//! A tick of the first counter of the first triple timer, which counts 100 MHz (UG1087, module TTC).

use crate::device::TimerInterrupt;
use crate::soc;

/// The timer, whose first counter the soc names as its time base.
const PERIPHERAL: u32 = match soc::TIMER {
    Some(timer) => timer.base,
    None => 0,
};

const CONTROL: u32 = PERIPHERAL + 0x0C;
const INTERVAL: u32 = PERIPHERAL + 0x24;
const STATUS: u32 = PERIPHERAL + 0x54;
const ENABLE: u32 = PERIPHERAL + 0x60;

/// Control: stopped; counting up to the interval, from zero.
const STOPPED: u32 = 1;
const INTERVALS: u32 = 1 << 1;
const FROM_ZERO: u32 = 1 << 4;

/// A counter that interrupts at regular intervals.
#[derive(Debug)]
pub enum Timer {}

impl Timer {
    /// Interrupts for the first time after so many of the core's cycles.
    pub fn start(period: u32) {
        let Some(timer) = soc::TIMER else { return };
        let counts = u64::from(period) * u64::from(timer.hertz) / u64::from(soc::CLOCK_HZ);
        let interval = (INTERVAL, counts as u32 - 1);
        let writes = [(CONTROL, STOPPED), interval, (ENABLE, 1), (CONTROL, INTERVALS | FROM_ZERO)];
        for (register, value) in writes {
            // SAFETY: the timer belongs to whoever counts time, and is started once.
            unsafe { (register as *mut u32).write_volatile(value) };
        }
        TimerInterrupt::of(timer).unmask();
    }

    /// Acknowledges an interrupt. The next one comes by itself.
    pub fn acknowledge() {
        // SAFETY: reading the register clears it, and nobody else looks at it.
        unsafe { (STATUS as *const u32).read_volatile() };
    }
}
