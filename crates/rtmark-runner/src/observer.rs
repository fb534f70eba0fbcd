//! The interface through which a suite reports progress and stores answers.

use std::convert::Infallible;
use std::time::Duration;

use rtmark_firmware::FirmwareError;
use rtmark_model::Answer;
use rtmark_store::Fingerprint;
use rtmark_units::Cycles;

use crate::plan::Unit;
use crate::recording::Recorded;

/// An event during the execution of a plan.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Firmware is about to be built.
    Building {
        /// The number of firmwares.
        firmwares: usize,
    },
    /// A firmware has been built, or has failed to build.
    Built {
        /// The kernel and platform it is for.
        unit: &'a Unit,
        /// Why it could not be built.
        result: Result<(), &'a FirmwareError>,
    },
    /// Scenarios are about to run. Others may still be running, and firmware for others may still be building.
    Running {
        /// The kernel and platform that they are of, or `None` for several together.
        unit: Option<&'a Unit>,
        /// The number of scenarios.
        scenarios: usize,
        /// The cycles that they may take in total.
        budget: Cycles,
    },
    /// A scenario has advanced.
    Advanced {
        /// By this many cycles.
        cycles: Cycles,
    },
    /// A board, or the simulator in its place, has printed a scenario's result.
    Captured {
        /// What it printed.
        recorded: &'a Recorded,
    },
    /// A scenario has its answer.
    Answered {
        /// The answer.
        answer: &'a Answer,
        /// Where it comes from.
        origin: Origin,
        /// The cycles of its budget that it did not use.
        unused: Cycles,
    },
    /// All scenarios of a platform, and of the platforms before it, have their answers.
    Finished {
        /// The platform's answers, in table order.
        answers: &'a [Answer],
    },
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was measured now, or declared by the kernel.
    Fresh,
    /// It was stored earlier, for identical firmware on an identical soc.
    Recalled,
}

/// Receives the progress of a plan and keeps its answers.
pub trait SuiteObserver {
    /// The reason why an answer could not be kept.
    type Error;

    /// Receives an event.
    fn event(&mut self, event: Event<'_>);

    /// Returns a stored answer to exactly this question, if one is known and wanted.
    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        let _ = question;
        None
    }

    /// Keeps an answer, if answers are kept. `took` is the wall-clock time of the measurement, if it
    /// was measured now.
    ///
    /// # Errors
    /// When the answer cannot be kept; nothing more is run then.
    fn record(
        &mut self,
        answer: &Answer,
        question: Option<&Fingerprint>,
        took: Option<Duration>,
    ) -> Result<(), Self::Error> {
        let _ = (answer, question, took);
        Ok(())
    }
}

/// Ignores progress and keeps nothing: the answers are in the return value of
/// [`Suite::run`](crate::Suite::run).
impl SuiteObserver for () {
    type Error = Infallible;

    fn event(&mut self, _: Event<'_>) {}
}
