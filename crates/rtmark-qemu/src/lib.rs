//! Runs firmware on QEMU.
//!
//! A [`Machine`] is the contents of a machine file: which QEMU machine with which arguments, what a
//! build needs to know about it, and which counter counts instructions. [`Machine::run`] runs an
//! executable on it for a limited time, and returns what it printed.
//!
//! QEMU does not model cycles. Under `-icount shift=0` each instruction takes a nanosecond of its
//! clock, so that counters driven by that clock count instructions, the same on every host. While a
//! core sleeps, that clock jumps to the event that wakes it, and those counters with it.
//!
//! This crate knows nothing about kernels, scenarios and probes.

mod machine;
mod run;

pub use machine::{
    CoreCounter, CounterFile, Emulator, Exclusion, Machine, MachineError, MemoryFile, Role,
};
pub use run::{LONGEST_CONSOLE, Output, QemuError};
