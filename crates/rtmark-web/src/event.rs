//! What is told: a line of JSON each.

use std::io::{self, Write};

use serde::Serialize;

use crate::look::Moment;
use crate::session::Ended;
use crate::survey::Surveyed;
use crate::worst::{Found, Slices};

/// What happens.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The image is loaded.
    Loaded {
        soc: &'a str,
        core: &'a str,
        clock: u32,
        timing_model: &'a str,
        /// Whether the image has debug information.
        lines: bool,
        /// The memories: name, base, bytes.
        memories: Vec<(&'a str, u32, u32)>,
        /// Bits of priority that an interrupt has, in the upper part of its register.
        priority_bits: u8,
        /// Interrupts with a handler: number, and what it is called.
        interrupts: Vec<(u16, String)>,
    },
    /// The program has printed for the first time what follows.
    Console { text: String },
    /// How far the run has come that is under way.
    Progress { cycles: u64, instructions: u64, reached: u64 },
    /// It has ended.
    Ended { how: Ended, text: &'a str, cycles: u64, instructions: u64 },
    /// What there is at the present moment.
    Moment(Box<Moment>),
    /// How far a survey has come.
    Surveying { cycles: u64, to: u64 },
    /// What a survey has found.
    Surveyed(Box<Surveyed>),
    /// How far a search has come, and the curve so far.
    Searching { points: u64, of: u64, slices: Slices },
    /// What a search has found.
    Found(Box<Found>),
    /// What was asked cannot be done.
    Refused { text: String },
}

/// Tells an event.
pub fn tell(event: &Event<'_>) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut to = io::stdout().lock();
    to.write_all(&line)?;
    to.flush()
}
