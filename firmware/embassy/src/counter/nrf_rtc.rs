//! A real-time counter of Nordic's chips, 32768 times a second, and its first compare register (nRF52840
//! PS, 6.22).

use super::clock::Register;

/// The greatest count.
pub const LAST: u32 = 0xFF_FFFF;

/// How far ahead of the counter an alarm has to be: what is nearer may not be met (6.22.7).
pub const LEAD: u32 = 2;

const TASKS_START: Register = Register(0x000);
const TASKS_CLEAR: Register = Register(0x008);
const EVENTS_COMPARE0: Register = Register(0x140);
const INTENSET: Register = Register(0x304);
const COUNTER: Register = Register(0x504);
const CC0: Register = Register(0x540);

/// The bit of the first compare register.
const COMPARE0: u32 = 1 << 16;

/// From the task that starts the low-frequency clock to the event that says that it runs.
const STARTED: u32 = 0xFC;

/// Starts the low-frequency clock, and the counter from zero.
pub fn start((clock, _, task): (u32, u32, u32)) {
    // SAFETY: the task that the soc file names, and its event.
    unsafe {
        (clock as *mut u32).write_volatile(task);
        while ((clock + STARTED) as *const u32).read_volatile() == 0 {}
    }
    INTENSET.write(COMPARE0);
    TASKS_CLEAR.write(1);
    TASKS_START.write(1);
    // The first task takes up to 46 microseconds.
    while COUNTER.read() != 0 {}
}

pub fn count() -> u32 {
    COUNTER.read()
}

pub fn set_alarm(at: u32) {
    CC0.write(at);
}

pub fn acknowledge() {
    EVENTS_COMPARE0.write(0);
}
