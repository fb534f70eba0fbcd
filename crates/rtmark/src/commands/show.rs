//! `rtmark show`

use clap::Args;

use crate::cli::Talk;
use crate::commands::run::{Format, render};
use crate::config::Config;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::shelf::{Filter, StoreFlag, answers, moment, run_of, short};
use crate::trouble::Trouble;

/// Show the answers of a run that the store keeps
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark show                                the newest complete run
  rtmark show latest~1 --format csv          the one before, for a spreadsheet
  rtmark show v1.0 -k freertos -s 'queue.*'  a part of what was measured at a tag")]
pub struct Arguments {
    /// The run: `latest`, `latest~1`, a name, the beginning of an id, a commit
    #[arg(default_value = "latest", value_name = "RUN")]
    run: String,
    #[command(flatten)]
    filter: Filter,
    /// The form of the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub fn run(self, talk: Talk) -> Result<Exit, Trouble> {
        let store = self.store.open_existing(&Config::load()?)?;
        let run = run_of(&store, &self.run, talk)?;
        let answers = answers(&store, &run, &self.filter)?;
        output::data(&render(self.format, &answers)?)?;
        if !talk.quiet {
            let state = if run.finished_ms.is_some() { "" } else { ", incomplete" };
            let commit =
                run.revision.map(|commit| format!(", commit {commit}")).unwrap_or_default();
            let when = moment(run.started_ms);
            say(format!("run {} of {when} UTC{commit}{state}", short(&run.id)));
        }
        Ok(Exit::Fine)
    }
}
