//! The first counter of a Zynq UltraScale+'s triple timer and its first match register (UG1085, chapter 14;
//! UG1087, module TTC).
//!
//! It counts the clock of its bus, undivided: dividers are powers of two, and no other one is a whole number
//! of ticks in a millisecond.

use super::clock::Register;

/// The greatest count.
pub const LAST: u32 = u32::MAX;

/// How far ahead of the counter an alarm has to be: it is met, not passed.
pub const LEAD: u32 = 1;

const CLOCK_CONTROL: Register = Register(0x00);
const CONTROL: Register = Register(0x0C);
const VALUE: Register = Register(0x18);
const MATCH: Register = Register(0x30);
const STATUS: Register = Register(0x54);
const ENABLE: Register = Register(0x60);

/// The interrupt of the first match register.
const MATCHED: u32 = 1 << 1;
/// Control: compares with the match registers, and counts from zero. Not stopped, and not up to an interval.
const MATCHES: u32 = 1 << 3;
const FROM_ZERO: u32 = 1 << 4;

/// Starts the counter from zero. The bit that the soc file names as what enables it is one of those written.
pub fn start(_: (u32, u32, u32)) {
    CLOCK_CONTROL.write(0);
    ENABLE.write(MATCHED);
    CONTROL.write(MATCHES | FROM_ZERO);
}

pub fn count() -> u32 {
    VALUE.read()
}

pub fn set_alarm(at: u32) {
    MATCH.write(at);
}

/// Reading clears.
pub fn acknowledge() {
    STATUS.read();
}
