//! The progress of a plan while it is carried out, and whoever is told of it and keeps the answers.

use std::convert::Infallible;

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
    /// So many firmwares are about to be built.
    Building(usize),
    /// A firmware is built, or is not.
    Built(&'a Unit, Result<(), &'a FirmwareError>),
    /// So many scenarios are about to run; they may take so many cycles together.
    Running(usize, Cycles),
    /// A scenario has advanced by so many cycles.
    Advanced(Cycles),
    /// What a board, or the simulator in its place, printed in a scenario.
    Heard(&'a Recorded),
    /// A scenario has its answer. The cycles are what it has not used of its budget.
    Answered(&'a Answer, Origin, Cycles),
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was measured now, or said by the kernel.
    Fresh,
    /// The same firmware on the same soc has given it before.
    Recalled,
}

/// Is told of the progress while a plan is carried out, and keeps the answers.
pub trait Ledger {
    /// Why an answer could not be kept.
    type Error;

    /// Is told what happens.
    fn event(&mut self, event: Event<'_>);

    /// An answer given before to exactly this question, if it is known and wanted.
    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        let _ = question;
        None
    }

    /// Keeps an answer, where anything is kept.
    ///
    /// # Errors
    /// When it cannot; nothing more is then run.
    fn record(
        &mut self,
        answer: &Answer,
        question: Option<&Fingerprint>,
    ) -> Result<(), Self::Error> {
        let _ = (answer, question);
        Ok(())
    }
}

/// Nobody is told and nothing is kept: the answers are in what [`Suite::run`](crate::Suite::run) returns.
impl Ledger for () {
    type Error = Infallible;

    fn event(&mut self, _: Event<'_>) {}
}
