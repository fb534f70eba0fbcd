//! What is an Ibex's own: which registers there are, and CPUCTRLSTS.
//!
//! Sources: the Ibex Reference Guide, "Control and Status Registers"; where it leaves a question open,
//! the RTL at commit 5da1679f.

/// Control and status of the core itself.
pub const CPUCTRLSTS: u16 = 0x7C0;
/// The seed of what a configuration "small" has not: it reads as 0.
const SECURESEED: u16 = 0x7C1;

/// An exception has been taken and not returned from.
const IN_EXCEPTION: u32 = 1 << 6;
/// One has been taken within another.
const DOUBLE_FAULT: u32 = 1 << 7;
/// The bits of CPUCTRLSTS that can be set: there is neither a cache, nor constant time, nor dummy
/// instructions.
pub const STATUS: u32 = IN_EXCEPTION | DOUBLE_FAULT;

/// Whether an instruction may access a register. There is no protection, no trigger, and no counter that
/// user mode reads.
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

/// What MCAUSE holds that has been written with a value: five bits of the code, and in the bits between
/// whether an interrupt is one of the core's own faults.
pub const fn mcause(value: u32) -> u32 {
    match value >> 30 {
        2 => 1 << 31 | value & 0x1F,
        3 => !0x1F | value & 0x1F,
        _ => value & 0x1F,
    }
}

/// CPUCTRLSTS when an exception is taken.
pub const fn status_in_exception(status: u32) -> u32 {
    let double = if status & IN_EXCEPTION != 0 { DOUBLE_FAULT } else { 0 };
    status | IN_EXCEPTION | double
}

/// CPUCTRLSTS behind MRET.
pub const fn status_behind_return(status: u32) -> u32 {
    status & !IN_EXCEPTION
}
