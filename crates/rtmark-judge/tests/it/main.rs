//! The simulator beside judges that are not ours.

#[path = "../../../rtmark-sim/tests/it/support/mod.rs"]
mod support;

mod decoder;
mod disassembler;
mod lockstep;
mod protection;
mod riscv_text;
