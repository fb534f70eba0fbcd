//! Timing: when each instruction leaves the stage that executes it.
//!
//! Each core has its own pipeline, [`hazard3`] or [`ibex`]; a [`Pipeline`] is one of them. Its two
//! ports ([`port`]) wait as long as the system outside the core requires ([`Memory`]). The effects
//! of instructions are unknown here: a [`Demand`] describes what an instruction requires of the
//! pipeline, and [`cycle`] the result of a cycle.

pub mod cycle;
pub mod demand;
mod fetched;
mod hazard3;
mod ibex;
pub mod memo;
mod pipeline;
pub mod port;

pub use cycle::{CycleInputs, Sleep, SleepDepth};
pub use demand::{Access, Demand, Flow};
pub use fetched::{CachedLine, FetchedLines};
pub use memo::{Memo, PassageResult};
pub use pipeline::Pipeline;
use port::Port;

/// The memory system behind the ports.
pub trait Memory {
    /// Returns the wait states of an instruction fetch whose address the memory takes in this
    /// cycle.
    fn fetch_waits(&mut self, address: u32) -> u8;
    /// Returns the two halfwords of the word at an address.
    fn halfwords(&self, address: u32) -> [u16; 2];
    /// Returns the lines of caches that were fetched from, as far as they were taken for granted; `None` if they are too
    /// many.
    fn granted(&self) -> Option<FetchedLines> {
        Some(FetchedLines::default())
    }
}
