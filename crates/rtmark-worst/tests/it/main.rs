//! Compares searches with runs from reset, and finds planted races.

#[path = "../../../rtmark-sim/tests/it/support/mod.rs"]
mod support;

mod bare;
mod cortex_r5;
mod endings;
mod hazard3;
mod ibex;
mod looks;
mod pairs;
mod programs;
mod races;
mod sound;
mod witnesses;
