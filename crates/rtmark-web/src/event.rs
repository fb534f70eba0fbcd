//! Events: one line of JSON each.

use std::io::{self, Write};

use rtmark_observe::RunClock;
use rtmark_sim::Irq;
use serde::Serialize;

use crate::look::Moment;
use crate::session::Ended;
use crate::survey::Surveyed;
use crate::worst::{Found, Slices};

/// The time on the chip at a moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChipTime {
    /// Nanoseconds since reset.
    nanoseconds: u64,
    /// The core's frequency in hertz.
    clock: u32,
}

impl ChipTime {
    /// Returns the time at the end of a run's clock.
    pub fn of(clock: &RunClock) -> Self {
        Self { nanoseconds: clock.duration().0, clock: clock.history.clock().0 }
    }
}

/// An event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The image is loaded.
    Loaded {
        soc: &'a str,
        core: &'a str,
        timing_model: &'a str,
        /// Whether the image has debug information.
        lines: bool,
        /// The memories: name, base, bytes.
        memories: Vec<(&'a str, u32, u32)>,
        /// The number of implemented priority bits, in the upper part of the register.
        priority_bits: u8,
        /// Interrupts with a handler: numbers and names.
        interrupts: Vec<(Irq, String)>,
    },
    /// The program has printed this for the first time.
    Console { text: String },
    /// The progress of the current run.
    Progress {
        cycles: u64,
        instructions: u64,
        reached: u64,
        #[serde(flatten)]
        time: ChipTime,
    },
    /// The run has ended.
    Ended { how: Ended, text: &'a str, cycles: u64, instructions: u64 },
    /// The state at the present moment.
    Moment(Box<Moment>),
    /// The progress of a survey.
    Surveying { cycles: u64, to: u64 },
    /// The result of a survey.
    Surveyed(Box<Surveyed>),
    /// The progress of a search, and the curve so far.
    Searching { points: u64, of: u64, slices: Slices },
    /// The result of a search.
    Found(Box<Found>),
    /// The request cannot be fulfilled.
    Refused { text: String },
}

/// Writes an event.
pub fn send(event: &Event<'_>) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut to = io::stdout().lock();
    to.write_all(&line)?;
    to.flush()
}
