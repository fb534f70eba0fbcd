//! A pipeline that cannot go on: a mistake of the model, never of the program.

use std::fmt;

use super::{Executing, Pipeline, READ_FIRST, REFILL, Transfer};

/// Words that an instruction transfers at most: VLDM of S0 to S31 (DDI 0403, A7.7.256).
const MOST_WORDS: u32 = 32;

/// Accesses that a word's transfer is made of at most, if it is not aligned (DDI 0337, 12.7).
const MOST_PARTS: u32 = 3;

/// Cycles that an access waits at most: wait states and what a slow memory takes to read a line,
/// each as many as a pipeline can be told, and a bit-band write's read.
const LONGEST_ACCESS: u32 = 1 + 2 * u8::MAX as u32 + READ_FIRST as u32;

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

/// An instruction in the execute stage, in few words.
fn told(at: Option<&Executing>) -> String {
    at.map_or("nothing".to_owned(), |at| {
        let Executing { step, cycle, issued, arrived, done, .. } = at;
        let end = if *done { ", done" } else { "" };
        let unit = step.unit;
        format!("{unit:?} in cycle {cycle}, {issued} and {arrived} of {} words{end}", step.words)
    })
}

/// A transfer on the data bus, in few words.
fn carried(transfer: Option<&Transfer>) -> String {
    transfer.map_or(
        "nothing".to_owned(),
        |Transfer { bus, store, parts, waits, buffered, .. }| {
            let kind = if *store { "store" } else { "load" };
            let end = if *buffered { ", buffered" } else { "" };
            format!("{kind} on {bus:?}, {parts} parts more, {waits} waits{end}")
        },
    )
}

impl Pipeline {
    /// How it stands, as an error. `waiting` is what it was to do.
    #[cold]
    pub(super) fn stalled(&self, waiting: impl fmt::Display) -> Stalled {
        let Self { main, piped, head, queue, aim, fetch_address, fetch_data, .. } = self;
        let Self { data_address, data_data, register, buffers, .. } = self;
        Stalled {
            state: format!(
                "{waiting}; execute: {}, behind it {}; fetched: {head} + {queue} halfwords, {aim:?}; \
                 instruction bus: {fetch_address:?} then {fetch_data:?}, register {register:?}; \
                 data bus: {} then {}; write buffer {}",
                told(main.as_ref()),
                told(piped.as_ref()),
                carried(data_address.as_ref()),
                carried(data_data.as_ref()),
                if *buffers { "on" } else { "off" },
            ),
        }
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
        for part in ["decode", "execute: nothing", "0 + 0 halfwords", "instruction bus", "data bus"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
