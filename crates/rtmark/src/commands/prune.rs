//! `rtmark prune`

use clap::Args;

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{count, say};
use crate::shelf::StoreFlag;

/// Delete removed runs from the store for good, and optionally old ones
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark prune --dry-run             show what would be deleted
  rtmark prune                       delete the runs that `rtmark rm` removed
  rtmark prune --keep 50             also delete all but the newest 50, except named ones

The store's file is rewritten without the deleted runs and becomes smaller. Named runs are kept
unless they were removed.")]
pub struct Arguments {
    /// Also delete all but the newest N runs, except named ones
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Show what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let store = self.store.open_existing(&Config::load()?)?;
        let mut runs = store.runs()?;
        runs.retain(|run| run.removed.is_none());
        let old = runs.into_iter().skip(self.keep.unwrap_or(usize::MAX));
        let old: Vec<_> = old.filter(|run| run.names.is_empty()).collect();
        let total = |pruned: &rtmark_store::Pruned| {
            let runs = pruned.runs + if self.dry_run { old.len() as u64 } else { 0 };
            let more = old.iter().map(|run| run.answers).sum::<u64>();
            let answers = pruned.answers + if self.dry_run { more } else { 0 };
            format!("{} with {}", count(runs, "run"), count(answers, "answer"))
        };
        let message = if self.dry_run {
            format!("would delete {}", total(&store.prunable()?))
        } else {
            for run in &old {
                store.remove(run, "pruned as old")?;
            }
            let pruned = store.prune()?;
            format!("deleted {}, {}", total(&pruned), count(pruned.bytes, "byte"))
        };
        if !verbosity.quiet {
            say(message);
        }
        Ok(Exit::Fine)
    }
}
