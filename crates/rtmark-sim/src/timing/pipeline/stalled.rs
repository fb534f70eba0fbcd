//! A pipeline that cannot go on: a mistake of the model, never of the program.

use std::fmt;

use super::execute::{Execute, InFlight};
use super::ports::{BusTransfer, DataPort, Fetch, FetchPort};
use super::{Pipeline, READ_FIRST, REFILL};

/// Words that an instruction transfers at most: VLDM of S0 to S31 (DDI 0403, A7.7.256).
const MOST_WORDS: u32 = 32;

/// Accesses that a word's transfer is made of at most, if it is not aligned (DDI 0337, 12.7).
const MOST_PARTS: u32 = 3;

/// Cycles that an access waits at most: wait states and what a slow memory takes to read a line,
/// each as many as a pipeline can be told, a bit-band write's read, and a fetch that is turned back.
const LONGEST_ACCESS: u32 = 1 + 2 * u8::MAX as u32 + READ_FIRST as u32 + 1;

/// Cycles after which a pipeline in which nothing has entered the execute stage never goes on.
/// Two instructions may be there at most, and a buffered store behind them; each waits for its
/// accesses, then comes a branch with the fetches of both words that the next instruction is in,
/// and the execute stage's own cycles. Only a bound: no model takes as long.
pub const LONGEST_WAIT: u32 = 3 * MOST_WORDS * MOST_PARTS * LONGEST_ACCESS
    + 2 * LONGEST_ACCESS
    + 2 * u8::MAX as u32
    + REFILL as u32;

/// A pipeline that does not go on within [`LONGEST_WAIT`] cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// What its stages and buses hold, for whoever is to find the mistake.
    pub state: String,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing goes on in {LONGEST_WAIT} cycles: {}", self.state)
    }
}

impl Pipeline {
    /// How it stands, as an error. `waiting` is what it was to do.
    #[cold]
    pub(super) fn stalled(&self, waiting: impl fmt::Display) -> Stalled {
        let Self { prefetch, execute, fetch_port, data_port, buffers, .. } = self;
        let buffer = if *buffers { "on" } else { "off" };
        Stalled {
            state: format!(
                "{waiting}; execute: {execute}; fetched: {} + {} halfwords; \
                 fetch port: {fetch_port}; data port: {data_port}; write buffer {buffer}",
                prefetch.to_decode.register, prefetch.to_decode.behind,
            ),
        }
    }
}

/// What is in a place, or that nothing is.
fn told<T: fmt::Display>(what: Option<&T>) -> String {
    what.map_or("nothing".to_owned(), T::to_string)
}

impl fmt::Display for Execute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, behind it {}", told(self.older.as_ref()), told(self.younger.as_ref()))
    }
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, cycle, asked, .. } = self;
        write!(f, "{:?} in cycle {cycle}, {asked} of {} words asked", step.unit, step.words)
    }
}

impl fmt::Display for FetchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} then {}", told(self.data.as_ref()), told(self.address.as_ref()))
    }
}

impl fmt::Display for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, wanted, waits, .. } = self;
        write!(f, "{word:#x}, {wanted} halfwords wanted, {waits} waits")
    }
}

impl fmt::Display for DataPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} then {}", told(self.data.as_ref()), told(self.address.as_ref()))
    }
}

impl fmt::Display for BusTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bus, store, parts, waits, .. } = self;
        let kind = if *store { "store" } else { "load" };
        write!(f, "{kind} on {bus:?}, {parts} parts more, {waits} waits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::pipeline::{Condition, Step};

    #[test]
    fn a_pipeline_that_fetches_nothing_is_an_error_and_no_figure() {
        // No instruction has told it where to fetch from.
        let mut pipeline = Pipeline::default();
        let stalled = pipeline
            .advance(0x100, &Step::default(), Condition::None, false, 0)
            .expect_err("nothing can enter");
        let text = stalled.to_string();
        for part in ["Decoding", "execute: nothing", "0 + 0 halfwords", "fetch port", "data port"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
