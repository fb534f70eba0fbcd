//! Timelines of programs, and what is read off kernels in memory.

mod blocks;
mod build;
mod perfetto;
#[path = "../reader/mod.rs"]
mod reader;
#[path = "../../../rtmark-sim/tests/it/support/mod.rs"]
mod support;
mod tasks;
