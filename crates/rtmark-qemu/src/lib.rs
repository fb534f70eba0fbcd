//! QEMU as a place where firmware runs.
//!
//! A [`Machine`] is what a machine file says: which of QEMU's machines with which
//! arguments, what a build must know of it, and which counter there counts instructions.
//! [`Machine::run`] runs an executable on it, for so long and no longer, and brings what it
//! printed.
//!
//! QEMU knows no cycles. Under `-icount shift=0` each instruction takes a nanosecond of its
//! clock, so that counters driven by that clock count instructions, the same on every host. While
//! a core sleeps that clock jumps to what wakes it, and those counters with it.
//!
//! This crate knows nothing of kernels, scenarios and probes.

mod machine;
mod run;

pub use machine::{
    CoreCounter, CounterFile, Emulator, Excuse, Machine, MachineError, MemoryFile, Role,
};
pub use run::{LONGEST_CONSOLE, Output, QemuError};
