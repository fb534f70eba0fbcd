//! Progress of a run: a bar on a terminal, a few lines elsewhere.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rtmark_model::Answer;
use rtmark_runner::{Event, Origin, SuiteObserver, Unit};

use crate::cli::Verbosity;
use crate::output::{count as plural, say};

/// Shows the progress of a run on stderr.
#[derive(Debug)]
pub struct Progress {
    verbosity: Verbosity,
    bar: ProgressBar,
    /// Scenarios that have not finished, on platforms whose firmware is built.
    left: usize,
    /// Firmware images that are not built yet.
    unbuilt: usize,
    /// Whether any scenario has started.
    runs: bool,
}

/// For runs whose answers are not kept.
impl SuiteObserver for Progress {
    type Error = Infallible;

    fn event(&mut self, event: Event<'_>) {
        self.show(&event);
    }
}

const BUILDING: &str = "{spinner} building firmware {pos}/{len}: {msg}";
const RUNNING: &str = "{spinner} {bar:24} {percent:>3} %  {msg}  about {eta} left";
/// While firmware is still being built, so that the remaining time is unknown.
const BOTH: &str = "{spinner} {bar:24} {percent:>3} %  {msg}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Creates the bar of one run, whose length is set as it becomes known.
pub fn bar(verbosity: Verbosity, message: String) -> ProgressBar {
    if verbosity.quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0).with_message(message).with_style(style(RUNNING));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

impl Progress {
    /// Creates a display with the given verbosity.
    pub fn new(verbosity: Verbosity) -> Self {
        let bar = if verbosity.quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let bar = ProgressBar::new(0);
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        };
        Self { verbosity, bar, left: 0, unbuilt: 0, runs: false }
    }

    /// Runs `write` with the bar hidden, so that its output does not mix with the bar.
    pub fn suspend_bar<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Prints a line above the bar.
    fn line(&self, line: &str) {
        self.suspend_bar(|| say(line));
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Building { firmwares: count } => {
                (self.unbuilt, self.runs) = (*count, false);
                self.bar.set_style(style(BUILDING));
                self.bar.set_length(*count as u64);
                if self.bar.is_hidden() && !self.verbosity.quiet && *count > 0 {
                    say(format!("building {}", plural(*count, "firmware image")));
                }
            }
            Event::Built { unit, result } => {
                let name = format!("{} for {}", unit.kernel.manifest.id, unit.platform.name());
                self.unbuilt = self.unbuilt.saturating_sub(1);
                if self.runs {
                    self.message();
                } else {
                    self.bar.inc(1);
                    self.bar.set_message(name.clone());
                }
                if self.verbosity.verbose > 0 {
                    let word = if result.is_ok() { "built" } else { "failed to build" };
                    self.line(&format!("{word} {name}"));
                }
            }
            Event::Running { unit, scenarios: count, budget } => {
                if self.runs {
                    self.left += count;
                    self.bar.inc_length(budget.0);
                } else {
                    (self.left, self.runs) = (*count, true);
                    self.bar.reset();
                    self.bar.set_length(budget.0);
                }
                self.message();
                if self.bar.is_hidden() && !self.verbosity.quiet && *count > 0 {
                    let of = |unit: &Unit| {
                        format!(" of {} on {}", unit.kernel.manifest.id, unit.platform.name())
                    };
                    let on = unit.map(of).unwrap_or_default();
                    say(format!("running {}{on}", plural(*count, "scenario")));
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
        let scenarios = plural(self.left, "scenario");
        if self.unbuilt == 0 {
            self.bar.set_style(style(RUNNING));
            self.bar.set_message(format!("{scenarios} to go"));
        } else {
            self.bar.set_style(style(BOTH));
            let firmwares = plural(self.unbuilt, "firmware image");
            self.bar.set_message(format!("{scenarios} to go, {firmwares} to build"));
        }
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
                (Answer::Measured(_), Origin::Recalled) => "recalled",
                (Answer::NotApplicable { .. }, _) => "n/a",
                (Answer::Failed { .. }, _) => "FAILED",
            };
            self.line(&format!("{word:9}{} {} {}", key.soc, key.kernel, key.scenario));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
