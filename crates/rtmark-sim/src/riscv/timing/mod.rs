//! What executing costs: when each instruction leaves the stage that executes it.
//!
//! Each core has a pipeline of its own, [`hazard3`] and [`ibex`]; [`Pipeline`] is one of them. Its two
//! ports to memory ([`port`]) wait as long as what is behind them says ([`Memory`]). What instructions
//! do is not known here: a [`Demand`] says what one asks of the pipeline, [`cycle`] what comes of a
//! cycle.

pub mod cycle;
pub mod demand;
mod hazard3;
mod ibex;
pub mod memo;
mod pipeline;
pub mod port;

pub use cycle::{Around, Depth, Sleep};
pub use demand::{Access, Demand, Flow};
pub use memo::{Led, Memo};
pub use pipeline::Pipeline;
use port::Port;

/// What is behind the ports.
pub trait Memory {
    /// Wait states of an instruction fetch whose address the memory takes in this cycle.
    fn fetch_waits(&mut self, address: u32) -> u8;
    /// The two halfwords of the word at an address.
    fn halfwords(&self, address: u32) -> [u16; 2];
}
