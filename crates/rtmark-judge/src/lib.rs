//! Independent judges of the simulator.
//!
//! [`decoder`] compares the set of valid encodings with an independent decoder, and [`disassembler`]
//! their text with GNU objdump's. [`lockstep`] runs random programs on the simulator and on QEMU, and
//! compares registers, flags and memory; [`armr`] and [`riscv`] do the same for a Cortex-R5 and a
//! Hazard3. [`rtl`] runs random programs on the simulator and on the RTL of a core, and compares them
//! cycle by cycle. Users never run any of this.

pub mod armr;
pub mod decoder;
pub mod disassembler;
pub mod lockstep;
pub mod qemu;
pub mod random;
pub mod riscv;
pub mod rtl;
mod sides;
