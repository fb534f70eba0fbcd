//! `rtmark history`

use std::collections::{BTreeSet, HashMap};

use clap::{Args, ValueEnum};
use rtmark_compare::{Measure, Point, RunLabel, chart, history};
use rtmark_model::{Answer, Backend, KernelId, ScenarioId, Series};
use rtmark_store::{RunInfo, Store, Subject};
use serde::Serialize;

use crate::cli::Verbosity;
use crate::commands::compare::label;
use crate::config::Config;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::{self, say};
use crate::shelf::{StoreFlag, moment};

/// Show a figure in all runs, and mark the runs in which it changed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark history thread.yield --kernel freertos --soc stm32f405
  rtmark history rtos-benchmark.yield_yield_context_switch -k zephyr --soc 'my board'
  rtmark history isr.entry -k rtic --soc stm32c031 --measure max --format json")]
pub struct Arguments {
    /// Scenario, by name
    scenario: ScenarioId,
    /// Kernel, by name
    #[arg(short, long)]
    kernel: KernelId,
    /// Soc or board, by name
    #[arg(long)]
    soc: String,
    /// Build profile [default: product, or that of the newest run if no run has product]
    #[arg(long)]
    profile: Option<String>,
    /// Where the firmware ran [default: that of the newest run with the figure]
    #[arg(long, value_name = "BACKEND", value_parser = backend)]
    backend: Option<Backend>,
    /// Figure to show: median, max, first, total or disturbed
    #[arg(long, default_value = "median", value_parser = measure)]
    measure: Measure,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Chart)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Text chart, one line per run, oldest first
    Chart,
    /// JSON: docs/schema/history.schema.json
    Json,
}

fn backend(name: &str) -> Result<Backend, String> {
    let found = Backend::ALL.into_iter().find(|backend| backend.name() == name);
    found.ok_or_else(|| format!("expected one of {}", Backend::ALL.map(Backend::name).join(", ")))
}

/// Parses the name of a measure.
pub fn measure(name: &str) -> Result<Measure, String> {
    let found = Measure::ALL.into_iter().find(|measure| measure.name() == name);
    found.ok_or_else(|| format!("expected one of {}", Measure::ALL.map(Measure::name).join(", ")))
}

/// The history of a figure, as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct History<'a> {
    /// The version of this format.
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
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let store = self.store.clone().open_existing(&Config::load()?)?;
        let subject = Subject {
            soc: self.soc.clone(),
            kernel: self.kernel.clone(),
            scenario: self.scenario.to_string(),
        };
        let runs: HashMap<String, RunInfo> =
            store.runs()?.into_iter().map(|run| (run.id.clone(), run)).collect();
        let mut series = Vec::new();
        for (run, answer) in store.answers_about(&subject)? {
            if let (Answer::Measured(found), Some(run)) = (answer, runs.get(&run)) {
                series.push((label(run), run.started_ms, *found));
            }
        }
        let profile = self.profile_of(&series);
        series.retain(|(_, _, series)| series.key.profile == profile);
        // Cycles and instructions, or a board's figures and the simulator's, do not form one history.
        let kind = |series: &Series| (series.key.backend, series.basis);
        let newest = |series: &[(RunLabel, i64, Series)]| {
            let mut fitting = series.iter().rev().map(|(_, _, series)| kind(series));
            fitting.find(|(backend, _)| self.backend.is_none_or(|wanted| wanted == *backend))
        };
        let all = series.len();
        let newest = newest(&series);
        series.retain(|(_, _, series)| newest == Some(kind(series)));
        if let (Some((backend, basis)), false) = (newest, verbosity.quiet || series.len() == all) {
            let others = output::count(all - series.len(), "figure");
            say(format!(
                "note: {others} with another backend or basis left out; shown: {backend}, {basis}"
            ));
        }
        let summaries = series.iter().any(|(_, _, series)| series.readings.summarised().is_some());
        if summaries && !verbosity.quiet {
            say(
                "note: these are averages from logs: without samples, changes cannot be distinguished from noise",
            );
        }
        let flagged = series.iter().filter(|(_, _, series)| !series.flags.is_empty()).count();
        if flagged > 0 && !verbosity.quiet {
            let figures = output::count(flagged, "flagged figure");
            say(format!("note: {figures} left out; `rtmark show RUN` shows what is wrong"));
        }
        let points = history(&series, self.measure);
        let Some(last) = points.last() else {
            if flagged > 0 {
                let message = format!(
                    "all figures of {} of {} on {} are flagged",
                    self.scenario, self.kernel, self.soc
                );
                let hint = "`rtmark show RUN` shows what is wrong with them, `rtmark log` the runs";
                return Err(CliError::new(Exit::NothingSelected, message, hint));
            }
            return Err(self.nothing(&store)?);
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
                    profile: &profile,
                    measure: self.measure,
                    points,
                };
                output::json(&history)?
            }
        };
        output::data(&text)?;
        Ok(Exit::Fine)
    }
}

impl Arguments {
    /// Returns the profile to show; figures of other suites have a different one.
    fn profile_of(&self, series: &[(RunLabel, i64, Series)]) -> String {
        let usual = rtmark_firmware::DEFAULT_PROFILE;
        let any = series.iter().any(|(_, _, series)| series.key.profile == usual);
        let newest = series.last().map(|(_, _, series)| series.key.profile.as_str());
        let found = newest.filter(|_| !any).unwrap_or(usual);
        self.profile.clone().unwrap_or_else(|| found.to_owned())
    }

    /// Returns the error for a figure that no run has: an unknown name with a similar one if possible.
    fn nothing(&self, store: &Store) -> Result<CliError, CliError> {
        let mut known: [BTreeSet<String>; 3] = Default::default();
        for Subject { soc, kernel, scenario } in store.all_subjects()? {
            for (set, name) in known.iter_mut().zip([scenario, kernel.into(), soc]) {
                set.insert(name);
            }
        }
        if known.iter().all(BTreeSet::is_empty) {
            let hint = "`rtmark run` measures scenarios and stores the results";
            return Ok(CliError::new(Exit::NothingSelected, "the store has no results yet", hint));
        }
        let names = [self.scenario.as_str(), self.kernel.as_str(), self.soc.as_str()];
        for ((what, name), known) in ["scenario", "kernel", "soc"].iter().zip(names).zip(&known) {
            if !known.contains(name) && !known.is_empty() {
                let near = or_nearest(name, known.iter().map(String::as_str));
                let message = format!("no run has the {what} `{name}`{near}");
                let hint = "`rtmark log` shows the runs, and `rtmark show RUN` the contents of one";
                return Ok(CliError::new(Exit::NothingSelected, message, hint));
            }
        }
        let message = format!(
            "no run has {} of {} on {} in profile {}",
            self.scenario,
            self.kernel,
            self.soc,
            self.profile.as_deref().unwrap_or(rtmark_firmware::DEFAULT_PROFILE)
        );
        let soc = if self.soc.contains(' ') { format!("'{}'", self.soc) } else { self.soc.clone() };
        let hint = format!(
            "`rtmark log -s {} -k {} --soc {soc}` shows the runs that measured it; also try another --profile, \
             --backend or --measure",
            self.scenario, self.kernel
        );
        Ok(CliError::new(Exit::NothingSelected, message, hint))
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
