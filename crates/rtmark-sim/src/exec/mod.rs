//! What each operation does to registers, flags and memory.
//!
//! Each instruction's semantics are defined here, once, close to the pseudo-code of the Architecture
//! Reference Manual (DDI 0403; DDI 0419 for ARMv6-M, DDI 0553 for ARMv8-M), and never depend on the clock.
//! [`operations`] lists them: a line for each operation, which names its body in one of the other modules.
//! [`crate::timing`] defines what an instruction costs; the code here only reports what the cost depends
//! on: a branch that was taken, a memory that made the core wait, the operands of a division.

mod alu;
mod bit_band;
mod branch;
mod calculate;
mod context;
mod coprocessors;
mod datum;
mod dma;
mod dsp;
mod float;
mod fp;
mod memory;
mod operation;
pub mod operations;
mod outcome;
pub mod partial;
mod peripherals;
mod protect;
mod secure;
mod system;
mod system_space;
#[cfg(test)]
pub mod tests;
mod transfer;

pub use self::alu::{saturate_signed, saturate_unsigned, shift, shift_some};
pub use self::context::{ExecContext, Executing, Standalone};
pub use self::operation::{Operation, Path, Paths, PerOperation};
pub use self::outcome::{Ending, Flow, Outcome};
