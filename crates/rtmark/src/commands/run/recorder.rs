//! Keeps the answers of a run, and shows progress and tables while it goes on.

use std::time::Duration;

use rtmark_model::Answer;
use rtmark_runner::{Event, SuiteObserver};
use rtmark_store::{Fingerprint, RunWriter, Store, StoreError};

use crate::boards::Recorder;
use crate::cli::Verbosity;
use crate::output;
use crate::progress::Progress;

/// Shows progress and keeps answers.
pub struct RunRecorder<'a> {
    pub(super) store: &'a Store,
    pub(super) run: RunWriter<'a>,
    pub(super) fresh: bool,
    pub(super) progress: Progress,
    pub(super) recalled: usize,
    pub(super) recorder: Option<Recorder>,
    pub(super) tables: Tables,
}

/// When tables are shown.
#[derive(Debug, Default)]
pub enum Tables {
    /// By whoever has all answers.
    #[default]
    Later,
    /// Each platform's as soon as it and those before are measured, in the order of one table of all.
    AsMeasured {
        /// What is written before the next one.
        before: &'static str,
        written: std::io::Result<()>,
    },
}

impl Tables {
    /// None was shown yet.
    pub(super) const AS_MEASURED: Self = Self::AsMeasured { before: "", written: Ok(()) };

    fn show(&mut self, answers: &[Answer], progress: &Progress) {
        let Self::AsMeasured { before, written } = self else { return };
        let table = rtmark_report::table(answers, output::width());
        if written.is_ok() && !table.is_empty() {
            *written = progress.aside(|| output::data(&format!("{before}{table}")));
            *before = "\n";
        }
    }
}

impl<'a> RunRecorder<'a> {
    /// One that keeps answers in this run, and recalls what the store knows.
    pub fn new(store: &'a Store, run: RunWriter<'a>, verbosity: Verbosity) -> Self {
        let progress = Progress::new(verbosity);
        let tables = Tables::default();
        Self { store, run, fresh: false, progress, recalled: 0, recorder: None, tables }
    }

    /// This recorder, recalling nothing.
    pub fn fresh(self) -> Self {
        Self { fresh: true, ..self }
    }

    /// Marks the run complete.
    pub fn finish(self) -> Result<(), StoreError> {
        self.progress.finish();
        self.run.finish()
    }
}

impl SuiteObserver for RunRecorder<'_> {
    type Error = StoreError;

    fn event(&mut self, event: Event<'_>) {
        self.progress.show(&event);
        match (&event, &mut self.recorder) {
            (Event::Heard { recorded }, Some(recorder)) => recorder.keep(recorded),
            (Event::Finished { answers }, _) => self.tables.show(answers, &self.progress),
            _ => {}
        }
    }

    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        // An answer that cannot be read is measured again.
        let known = if self.fresh { None } else { self.store.find(question).ok().flatten() };
        self.recalled += usize::from(known.is_some());
        known
    }

    fn record(
        &mut self,
        answer: &Answer,
        question: Option<&Fingerprint>,
        took: Option<Duration>,
    ) -> Result<(), StoreError> {
        self.run.record_timed(answer, question, took)
    }
}
