//! Stores the answers of a run, and shows progress and tables while it is measured.

use std::time::Duration;

use rtmark_model::Answer;
use rtmark_runner::{Event, SuiteObserver};
use rtmark_store::{Fingerprint, RunWriter, Store, StoreError};

use crate::boards::Recorder;
use crate::cli::Verbosity;
use crate::output;
use crate::progress::Progress;

/// Shows progress and stores answers.
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
    /// At the end, by the caller, which has all answers.
    #[default]
    Later,
    /// Each platform's table as soon as that platform and all earlier ones are measured.
    AsMeasured {
        /// Text to write before the next table.
        before: &'static str,
        written: std::io::Result<()>,
    },
}

impl Tables {
    /// Tables as measured, before the first one.
    pub(super) const AS_MEASURED: Self = Self::AsMeasured { before: "", written: Ok(()) };

    fn show(&mut self, answers: &[Answer], progress: &Progress) {
        let Self::AsMeasured { before, written } = self else { return };
        let table = rtmark_report::table(answers, output::width());
        if written.is_ok() && !table.is_empty() {
            *written = progress.suspend_bar(|| output::data(&format!("{before}{table}")));
            *before = "\n";
        }
    }
}

impl<'a> RunRecorder<'a> {
    /// Creates a recorder that stores answers in this run, and recalls those that the store has.
    pub fn new(store: &'a Store, run: RunWriter<'a>, verbosity: Verbosity) -> Self {
        let progress = Progress::new(verbosity);
        let tables = Tables::default();
        Self { store, run, fresh: false, progress, recalled: 0, recorder: None, tables }
    }

    /// Turns off recalling.
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
            (Event::Captured { recorded }, Some(recorder)) => recorder.keep(recorded),
            (Event::Finished { answers }, _) => self.tables.show(answers, &self.progress),
            _ => {}
        }
    }

    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        // A stored answer that cannot be read is measured again.
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
