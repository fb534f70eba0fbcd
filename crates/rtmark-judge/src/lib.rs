//! Judges of the simulator that know nothing of it.
//!
//! [`decoder`] compares with an independent decoder which encodings are instructions, and
//! [`disassembler`] their text with GNU objdump's. [`lockstep`] runs random programs here and on QEMU and
//! compares registers, flags and memory; [`armr`] and [`riscv`] do the same for a Cortex-R5 and a Hazard3.
//! [`rtl`] runs random programs here and on the RTL of a core, and compares cycle by cycle. Nothing here is
//! part of what users run.

pub mod armr;
pub mod decoder;
pub mod disassembler;
pub mod lockstep;
pub mod qemu;
pub mod random;
pub mod riscv;
pub mod rtl;
mod sides;
