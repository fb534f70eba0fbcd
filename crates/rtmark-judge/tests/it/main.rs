//! Compares the simulator with independent judges.

#[path = "../../../rtmark-sim/tests/it/support/mod.rs"]
mod support;

mod armr_text;
mod decoder;
mod disassembler;
mod lockstep;
mod protection;
mod riscv_text;
mod rtl;
