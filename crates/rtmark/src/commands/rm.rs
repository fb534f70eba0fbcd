//! `rtmark rm`

use clap::Args;

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;
use crate::shelf::{StoreFlag, run_of, short};

/// Remove runs, so that other commands ignore them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark rm latest --reason 'wrong branch'   remove the newest run
  rtmark rm 1f3a77c0 --undo                  restore it

A removed run stays in the store, where `rtmark log --all` shows it, until `rtmark prune` deletes it.")]
pub struct Arguments {
    /// Runs: `latest`, `latest~1`, a name, the start of an id, or a commit
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Reason, which `rtmark log --all` shows
    #[arg(long, default_value = "", hide_default_value = true, conflicts_with = "undo")]
    reason: String,
    /// Restore removed runs, given by the start of their id
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let store = self.store.open_existing(&Config::load()?)?;
        // Resolve all references before removing any run, so that `latest` keeps its meaning.
        let mut runs = Vec::new();
        for reference in &self.runs {
            runs.push(if self.undo {
                let removed = store.runs()?.into_iter().filter(|run| run.removed.is_some());
                let mut fitting: Vec<_> =
                    removed.filter(|run| run.id.starts_with(reference.as_str())).collect();
                match (fitting.pop(), fitting.is_empty()) {
                    (Some(run), true) => run,
                    (found, _) => {
                        let many = if found.is_some() { "more than one" } else { "no" };
                        let message =
                            format!("{many} removed run has an id that starts with `{reference}`");
                        let hint = "`rtmark log --all` shows removed runs";
                        return Err(CliError::new(Exit::NothingSelected, message, hint));
                    }
                }
            } else {
                run_of(&store, reference, verbosity)?
            });
        }
        for run in &runs {
            if self.undo {
                store.restore(run)?;
            } else {
                store.remove(run, &self.reason)?;
            }
            if !verbosity.quiet {
                let word = if self.undo { "restored" } else { "removed" };
                say(format!("{word} run {}", short(&run.id)));
            }
        }
        Ok(Exit::Fine)
    }
}
