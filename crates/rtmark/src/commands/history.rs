//! `rtmark history`

use clap::{Args, ValueEnum};
use rtmark_compare::{Measure, Point, chart, history};
use rtmark_model::{Answer, KernelId, ScenarioId};
use serde::Serialize;

use crate::commands::compare::label;
use crate::config::Config;
use crate::exit::Exit;
use crate::output;
use crate::shelf::{StoreFlag, moment};
use crate::trouble::Trouble;

/// Show a figure over all runs, and those at which it changed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark history thread.yield --kernel freertos --soc stm32f405
  rtmark history isr.entry -k rtic --soc stm32c031 --measure max --format json")]
pub struct Arguments {
    /// The scenario
    scenario: ScenarioId,
    /// The kernel
    #[arg(short, long)]
    kernel: KernelId,
    /// The soc
    #[arg(long)]
    soc: String,
    /// The set of build settings
    #[arg(long, default_value = rtmark_firmware::DEFAULT_PROFILE)]
    profile: String,
    /// Which figure: median, max, first, total or disturbed
    #[arg(long, default_value = "median", value_parser = measure)]
    measure: Measure,
    /// The form of the history
    #[arg(long, value_enum, default_value_t = Format::Chart)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people: a line a run, the oldest first
    Chart,
    /// For programs; see docs/schema/history.schema.json
    Json,
}

/// The measure of a name.
pub fn measure(name: &str) -> Result<Measure, String> {
    let found = Measure::ALL.into_iter().find(|measure| measure.name() == name);
    found.ok_or_else(|| format!("one of {}", Measure::ALL.map(Measure::name).join(", ")))
}

/// A history, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct History<'a> {
    /// The version of this form.
    schema_version: u32,
    /// The scenario.
    scenario: &'a ScenarioId,
    /// The kernel.
    kernel: &'a KernelId,
    /// The soc.
    soc: &'a str,
    /// The set of build settings.
    profile: &'a str,
    /// Which figure.
    measure: Measure,
    /// The runs that have it, the oldest first.
    points: Vec<Point>,
}

impl Arguments {
    pub fn run(self) -> Result<Exit, Trouble> {
        let store = self.store.open(&Config::load()?)?;
        let mut series = Vec::new();
        for run in store.runs()?.into_iter().rev().filter(|run| run.removed.is_none()) {
            for answer in store.answers_to(&run.id, self.scenario.as_str())? {
                let key = answer.key();
                let is_wanted =
                    key.kernel == self.kernel && key.soc == self.soc && key.profile == self.profile;
                if let (true, Answer::Measured(found)) = (is_wanted, answer) {
                    series.push((label(&run), run.started_ms, *found));
                }
            }
        }
        let points = history(&series, self.measure);
        let Some(last) = points.last() else {
            let message = format!(
                "no run has {} of {} on {} with profile {}",
                self.scenario, self.kernel, self.soc, self.profile
            );
            let hint = "`rtmark log -s SCENARIO -k KERNEL --soc SOC` shows what there is";
            return Err(Trouble::new(Exit::NothingSelected, message, hint));
        };
        let text = match self.format {
            Format::Chart => format!(
                "{} {} on {}: {} in {}, {}\n{}",
                self.kernel,
                self.scenario,
                self.soc,
                self.measure,
                last.basis,
                output::count(points.len(), "run"),
                chart(&points, moment)
            ),
            Format::Json => {
                let history = History {
                    schema_version: 1,
                    scenario: &self.scenario,
                    kernel: &self.kernel,
                    soc: &self.soc,
                    profile: &self.profile,
                    measure: self.measure,
                    points,
                };
                serde_json::to_string_pretty(&history).map_err(std::io::Error::from)? + "\n"
            }
        };
        output::data(&text)?;
        Ok(Exit::Fine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("history", &schemars::schema_for!(History<'_>));
    }
}
