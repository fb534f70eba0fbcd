//! What is said while a plan is carried out: a bar on a terminal, a few lines elsewhere.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rtmark_model::Answer;
use rtmark_runner::{Event, Origin, SuiteObserver};

use crate::cli::Verbosity;
use crate::output::{count as plural, say};

/// Progress of a run, on stderr.
#[derive(Debug)]
pub struct Progress {
    verbosity: Verbosity,
    bar: ProgressBar,
    left: usize,
}

/// Where nothing is kept.
impl SuiteObserver for Progress {
    type Error = Infallible;

    fn event(&mut self, event: Event<'_>) {
        self.show(&event);
    }
}

const BUILDING: &str = "{spinner} building firmware {pos}/{len} {msg}";
const RUNNING: &str = "{spinner} {bar:24} {percent:>3} %  {msg}  about {eta} left";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress {
    /// Progress that says as much as asked for.
    pub fn new(verbosity: Verbosity) -> Self {
        let bar = if verbosity.quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let bar = ProgressBar::new(0);
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        };
        Self { verbosity, bar, left: 0 }
    }

    /// Says a line, above the bar if there is one.
    fn line(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }

    /// Shows what happens.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Building { firmwares: count } => {
                self.bar.set_style(style(BUILDING));
                self.bar.set_length(*count as u64);
                if self.bar.is_hidden() && !self.verbosity.quiet && *count > 0 {
                    say(format!("building {}", plural(*count, "firmware")));
                }
            }
            Event::Built { unit, result } => {
                let name = format!("{} for {}", unit.kernel.manifest.id, unit.platform.name());
                self.bar.inc(1);
                self.bar.set_message(name.clone());
                if self.verbosity.verbose > 0 {
                    let word = if result.is_ok() { "built" } else { "failed to build" };
                    self.line(&format!("{word} {name}"));
                }
            }
            Event::Running { scenarios: count, budget } => {
                self.left = *count;
                self.bar.reset();
                self.bar.set_style(style(RUNNING));
                self.bar.set_length(budget.0);
                self.message();
                if self.bar.is_hidden() && !self.verbosity.quiet && *count > 0 {
                    say(format!("running {}", plural(*count, "scenario")));
                }
            }
            Event::Advanced { cycles } => self.bar.inc(cycles.0),
            Event::Answered { answer, origin, unused } => {
                self.bar.inc(unused.0);
                self.answered(answer, *origin);
            }
            _ => {}
        }
    }

    fn message(&self) {
        self.bar.set_message(format!("{} to go", plural(self.left, "scenario")));
    }

    fn answered(&mut self, answer: &Answer, origin: Origin) {
        let ran = origin == Origin::Fresh && !matches!(answer, Answer::NotApplicable { .. });
        if ran {
            self.left = self.left.saturating_sub(1);
            self.message();
        }
        if self.verbosity.verbose > 0 {
            let key = answer.key();
            let word = match (answer, origin) {
                (Answer::Measured(_), Origin::Fresh) => "measured",
                (Answer::Measured(_), Origin::Recalled) => "known",
                (Answer::NotApplicable { .. }, _) => "n/a",
                (Answer::Failed { .. }, _) => "FAILED",
            };
            self.line(&format!("{word:9}{} {} {}", key.soc, key.kernel, key.scenario));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
