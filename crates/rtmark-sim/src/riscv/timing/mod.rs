//! What executing costs on Hazard3: when each instruction leaves stage X.
//!
//! The core has three stages: F fetches ([`fetch`]), X decodes and executes, M waits for memory
//! ([`pipeline`]). The two ports to memory ([`port`]) wait as long as what is behind them says
//! ([`Memory`]). What instructions do is not known here: a [`Demand`] says what one asks of the
//! pipeline.

pub mod demand;
pub mod fetch;
pub mod memo;
pub mod pipeline;
pub mod port;

pub use demand::{Access, Demand, Flow};
pub use fetch::Parcel;
pub use memo::{Led, Memo};
pub use pipeline::{Around, Pipeline, Sleep};

/// What is behind the ports.
pub trait Memory {
    /// Wait states of an instruction fetch whose address the memory takes in this cycle.
    fn fetch_waits(&mut self, address: u32) -> u8;
    /// The two halfwords of the word at an address.
    fn parcels(&self, address: u32) -> [Parcel; 2];
}
