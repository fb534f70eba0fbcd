//! The lower half of RP2040's and RP2350's microsecond timer, and its first alarm (datasheets: RP2040, 4.6;
//! RP2350, 12.8).
//!
//! The tick that it counts is taken to run, as the core's clock is: a HAL's clocks see to both.

use super::clock::Register;

/// The greatest count.
pub const LAST: u32 = u32::MAX;

/// How far ahead of the counter an alarm has to be: it is met, not passed.
pub const LEAD: u32 = 1;

const ALARM0: Register = Register(0x10);
const TIMERAWL: Register = Register(0x28);
const INTR: Register = Register(0x34 + MORE);
const INTE: Register = Register(0x38 + MORE);

/// RP2350 has two registers more before those of the interrupts.
const MORE: u32 = if cfg!(feature = "rp2350_timer") { 8 } else { 0 };

/// The bit of the first alarm.
const ALARM: u32 = 1;

/// From a register of resets to the one that says which blocks are out of theirs.
const RESET_DONE: u32 = 8;

/// Ends the timer's reset.
pub fn start((resets, bits, _): (u32, u32, u32)) {
    // SAFETY: the register that the soc file names, of which nobody else changes this bit, and the one
    // that tells when its block is ready.
    unsafe {
        let register = resets as *mut u32;
        register.write_volatile(register.read_volatile() & !bits);
        let done = (resets + RESET_DONE) as *const u32;
        while done.read_volatile() & bits != bits {}
    }
    INTE.write(ALARM);
}

pub fn count() -> u32 {
    TIMERAWL.read()
}

/// A write also arms it.
pub fn set_alarm(at: u32) {
    ALARM0.write(at);
}

pub fn acknowledge() {
    INTR.write(ALARM);
}
