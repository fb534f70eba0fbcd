//! Ibex specifics: the set of registers, and CPUCTRLSTS.
//!
//! Sources: the Ibex Reference Guide, "Control and Status Registers"; where it leaves a question
//! open, the RTL at commit 5da1679f.

/// The core's own control and status register.
pub const CPUCTRLSTS: u16 = 0x7C0;
/// The seed of a feature that the configuration "small" lacks; reads as 0.
const SECURESEED: u16 = 0x7C1;

/// An exception has been taken and has not returned.
const IN_EXCEPTION: u32 = 1 << 6;
/// An exception has been taken within another.
const DOUBLE_FAULT: u32 = 1 << 7;
/// The writable bits of CPUCTRLSTS. There is no cache, no constant-time execution, and no dummy
/// instructions.
pub const STATUS: u32 = IN_EXCEPTION | DOUBLE_FAULT;

/// Returns whether an instruction may access a register. There is no protection, no trigger, and no
/// counter that user mode may read.
pub const fn has(number: u16, machine: bool, writes: bool) -> bool {
    let privileged = number >> 8 & 3 != 0;
    let read_only = number >> 10 == 3;
    let exists = matches!(
        number,
        0x300 | 0x301 | 0x304..=0x306 | 0x30A | 0x310 | 0x31A | 0x320 // mstatus to mcountinhibit
            | 0x323..=0x33F // mhpmevent
            | 0x340..=0x344
            | CPUCTRLSTS
            | SECURESEED
            | 0xB00
            | 0xB02..=0xB1F // minstret, mhpmcounter
            | 0xB80
            | 0xB82..=0xB9F
            | 0xF11..=0xF15
    );
    exists && (machine || !privileged) && !(writes && read_only)
}

/// Returns the value of MCAUSE after a write: bit 31 for an interrupt, five bits of the code, and ones
/// between them for an interrupt that is one of the core's own faults.
pub const fn mcause(value: u32) -> u32 {
    match value >> 30 {
        2 => 1 << 31 | value & 0x1F,
        3 => !0x1F | value & 0x1F,
        _ => value & 0x1F,
    }
}

/// Returns CPUCTRLSTS after an exception is taken.
pub const fn status_in_exception(status: u32) -> u32 {
    let double = if status & IN_EXCEPTION != 0 { DOUBLE_FAULT } else { 0 };
    status | IN_EXCEPTION | double
}

/// Returns CPUCTRLSTS after MRET.
pub const fn status_behind_return(status: u32) -> u32 {
    status & !IN_EXCEPTION
}
