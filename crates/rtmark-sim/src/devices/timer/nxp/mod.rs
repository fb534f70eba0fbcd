//! Timers of i.MX RT, which count a clock of the clock tree.

mod gpt;
mod pit;

pub use gpt::NxpGpt;
pub use pit::NxpPit;
