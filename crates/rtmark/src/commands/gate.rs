//! `rtmark gate`

use std::path::{Path, PathBuf};

use clap::Args;
use rtmark_compare::{Policy, gate};
use rtmark_runner::input_file;

use crate::cli::Verbosity;
use crate::commands::compare::Shared;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;

/// Fail if a run is slower than a baseline allows
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark gate --baseline main                            no figure may grow by even one cycle
  rtmark gate --baseline base --budget budget.toml       figures may grow as the file allows
  rtmark gate --baseline base --format github            annotations for GitHub Actions
  rtmark gate --baseline base --format junit > gate.xml

docs/ci.md has a workflow to start from, and describes budget files.

Exit codes: 3 if something grew beyond its budget or now fails, 5 if nothing did but something
cannot be compared.")]
pub struct Arguments {
    /// Run to check against the baseline
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Baseline: `latest~1`, a name, the start of an id, or a commit [default: `baseline` under
    /// `[gate]` in rtmark.toml]
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// File with budgets and accepted regressions [default: `budget` under `[gate]` in rtmark.toml,
    /// else no figure may grow]
    #[arg(long, value_name = "FILE")]
    budget: Option<PathBuf>,
    #[command(flatten)]
    shared: Shared,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let config = Config::load()?;
        let baseline = self.baseline.or_else(|| config.gate.baseline.clone()).ok_or_else(|| {
            let hint = "name a run with --baseline, or with `baseline` under [gate] in rtmark.toml";
            CliError::new(Exit::Usage, "no baseline given", hint)
        })?;
        let budget = self.budget.as_deref().or(config.gate.budget.as_deref());
        let policy = budget.map_or_else(|| Ok(Policy::default()), read)?;
        let store = self.shared.open(&config)?;
        let judged = Shared::judged(&store, &baseline, &self.run, verbosity)?;
        let compared = self.shared.compare(&store, &config, &baseline, &judged, verbosity)?;
        let found = gate(&compared.comparison, &policy);
        self.shared.show(&compared, Some(&found))?;
        Ok(match (found.regressions.len(), found.incomparable.len()) {
            (0, 0) => Exit::Fine,
            (0, _) => Exit::Incomparable,
            _ => Exit::Regression,
        })
    }
}

fn read(path: &Path) -> Result<Policy, CliError> {
    let refuse = |problem: &dyn std::fmt::Display| {
        let hint = "docs/ci.md describes budget files";
        CliError::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
    };
    let text = input_file::read_text(path).map_err(|error| refuse(&error))?;
    Policy::from_toml(&text).map_err(|error| refuse(&error))
}
