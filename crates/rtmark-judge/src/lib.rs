//! Judges of the simulator that know nothing of it.
//!
//! [`decoder`] compares which encodings are instructions with an independent
//! decoder, [`disassembler`] their text with GNU objdump; [`lockstep`] runs random programs here and on QEMU and compares
//! registers, flags and memory. Nothing here is part of what users run.

pub mod decoder;
pub mod disassembler;
pub mod lockstep;
pub mod qemu;
pub mod random;
