//! The progress of a plan while it is carried out, and whoever is told of it and keeps the answers.

use std::convert::Infallible;
use std::time::Duration;

use rtmark_firmware::FirmwareError;
use rtmark_model::Answer;
use rtmark_store::Fingerprint;
use rtmark_units::Cycles;

use crate::plan::Unit;
use crate::recording::Recorded;

/// What happens while a plan is carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Firmware is about to be built.
    Building {
        /// How many firmwares.
        firmwares: usize,
    },
    /// A firmware is built, or is not.
    Built {
        /// For which kernel and platform.
        unit: &'a Unit,
        /// Why it is not.
        result: Result<(), &'a FirmwareError>,
    },
    /// Scenarios of a platform are about to run, while others may still, and firmware of others be built.
    Running {
        /// The platform, unless it is several together.
        platform: Option<&'a str>,
        /// How many.
        scenarios: usize,
        /// How many cycles they may take together.
        budget: Cycles,
    },
    /// A scenario has advanced.
    Advanced {
        /// By so many cycles.
        cycles: Cycles,
    },
    /// A board, or the simulator in its place, has printed what a scenario came to.
    Heard {
        /// What it printed.
        recorded: &'a Recorded,
    },
    /// A scenario has its answer.
    Answered {
        /// What it is.
        answer: &'a Answer,
        /// Where it comes from.
        origin: Origin,
        /// How many cycles of its budget were not used.
        unused: Cycles,
    },
    /// All scenarios of a platform have their answers, and so have those of the platforms before it.
    Finished {
        /// The platform's, in the order of tables.
        answers: &'a [Answer],
    },
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was measured now, or said by the kernel.
    Fresh,
    /// It was given before, by an equal firmware on an equal soc.
    Recalled,
}

/// Is told of the progress while a plan is carried out, and keeps the answers.
pub trait SuiteObserver {
    /// Why an answer could not be kept.
    type Error;

    /// Is told what happens.
    fn event(&mut self, event: Event<'_>);

    /// An answer given before to exactly this question, if it is known and wanted.
    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        let _ = question;
        None
    }

    /// Keeps an answer, where anything is kept. `took` is how long it took by the clock on the wall, where
    /// it was measured now.
    ///
    /// # Errors
    /// When it cannot; nothing more is then run.
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

/// Nobody is told and nothing is kept: the answers are in what [`Suite::run`](crate::Suite::run) returns.
impl SuiteObserver for () {
    type Error = Infallible;

    fn event(&mut self, _: Event<'_>) {}
}
