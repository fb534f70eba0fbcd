//! A pipeline that makes no progress: always a fault of the model, never of the program.

use std::fmt;

use super::execute::{Execute, InFlight};
use super::ports::{BusTransfer, DataPort, Fetch, FetchPort};
use super::{Pipeline, READ_FIRST, REFILL};

/// The maximum number of words that an instruction transfers: VLDM of S0 to S31 (DDI 0403,
/// A7.7.256).
const MAX_WORDS: u32 = 32;

/// The maximum number of accesses that make up the transfer of an unaligned word (DDI 0337, 12.7).
const MAX_PARTS: u32 = 3;

/// The maximum cycles that an access waits: wait states and a slow memory's line read, each up to
/// the largest number that the pipeline accepts, the read of a bit-band write, with the cycle that a
/// Cortex-M4 adds, and the two phases of a fetch that goes first.
const LONGEST_ACCESS: u32 = 1 + 2 * u8::MAX as u32 + (READ_FIRST as u32 + 1) + 2;

/// The number of cycles without an entry into the execute stage after which a pipeline is stuck.
/// The stage holds at most two instructions, and a buffered store may follow them; each waits for
/// its accesses. Then come a branch, with the fetches of both words that contain the next
/// instruction, and the execute stage's own cycles. This is only an upper bound: no model takes as
/// long.
pub const LONGEST_WAIT: u32 = 3 * MAX_WORDS * MAX_PARTS * LONGEST_ACCESS
    + 2 * LONGEST_ACCESS
    + 2 * u8::MAX as u32
    + REFILL as u32;

/// A pipeline that made no progress within [`LONGEST_WAIT`] cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The content of its stages and buses, to help find the fault.
    pub state: String,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no progress in {LONGEST_WAIT} cycles: {}", self.state)
    }
}

impl Pipeline {
    /// Returns the pipeline's state as an error. `waiting` is the event that it waits for.
    #[cold]
    pub(super) fn stalled(&self, waiting: impl fmt::Display) -> Stalled {
        let Self { prefetch, execute, fetch_port, data_port, buffers, .. } = self;
        let buffer = if *buffers { "on" } else { "off" };
        Stalled {
            state: format!(
                "waiting for {waiting}; execute stage: {execute}; \
                 halfwords fetched: {} in the instruction register, {} after it; \
                 fetch port: {fetch_port}; data port: {data_port}; write buffer {buffer}",
                prefetch.to_decode.register, prefetch.to_decode.behind,
            ),
        }
    }
}

/// Formats the content of a place, or "nothing" if it is empty.
fn description<T: fmt::Display>(what: Option<&T>) -> String {
    what.map_or("nothing".to_owned(), T::to_string)
}

impl fmt::Display for Execute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "older {}, younger {}",
            description(self.older.as_ref()),
            description(self.younger.as_ref())
        )
    }
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, cycle, asked, .. } = self;
        write!(f, "{:?} (cycle {cycle}, {asked} of {} words requested)", step.unit, step.words)
    }
}

impl fmt::Display for FetchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "data phase {}, address phase {}",
            description(self.data.as_ref()),
            description(self.address.as_ref())
        )
    }
}

impl fmt::Display for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, wanted, waits, .. } = self;
        write!(f, "{word:#x} ({wanted} halfwords wanted, {waits} wait cycles left)")
    }
}

impl fmt::Display for DataPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "data phase {}, address phase {}",
            description(self.data.as_ref()),
            description(self.address.as_ref())
        )
    }
}

impl fmt::Display for BusTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bus, store, parts, waits, .. } = self;
        let kind = if *store { "store" } else { "load" };
        write!(f, "{kind} on {bus:?} ({parts} more parts, {waits} wait cycles left)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::pipeline::{Condition, Step};

    #[test]
    fn a_pipeline_that_fetches_nothing_is_an_internal_error() {
        // No instruction has set the address to fetch from.
        let mut pipeline = Pipeline::default();
        let stalled = pipeline
            .advance(0x100, &Step::default(), Condition::None, false, 0)
            .expect_err("nothing can enter");
        let text = stalled.to_string();
        for part in [
            "waiting for Decoding",
            "execute stage: older nothing",
            "halfwords fetched: 0 in the instruction register, 0 after it",
            "fetch port: data phase nothing, address phase nothing",
            "data port: data phase nothing, address phase nothing",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
