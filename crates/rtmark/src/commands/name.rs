//! `rtmark name`

use clap::Args;

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::say;
use crate::shelf::{StoreFlag, run_of, short};

/// Give a run a name, or remove a name
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark name latest before-rework     let `before-rework` refer to the newest run
  rtmark name --remove before-rework   remove the name; the run stays")]
pub struct Arguments {
    /// Run: `latest`, `latest~1`, a name, the start of an id, or a commit
    #[arg(required_unless_present = "remove")]
    run: Option<String>,
    /// Name; if another run has it, it moves to this run
    #[arg(required_unless_present = "remove")]
    name: Option<String>,
    /// Remove this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["run", "name"])]
    remove: Option<String>,
    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let store = self.store.open_existing(&Config::load()?)?;
        let message = match (self.remove, self.run, self.name) {
            (Some(name), ..) => {
                let runs = store.runs()?;
                let named = runs.iter().find(|run| run.names.contains(&name));
                let run = named.ok_or_else(|| {
                    let names = runs.iter().flat_map(|run| &run.names).map(String::as_str);
                    let message =
                        format!("no run has the name `{name}`{}", or_nearest(&name, names));
                    CliError::new(Exit::NothingSelected, message, "`rtmark log` shows the names")
                })?;
                store.unname(run, &name)?;
                format!("removed the name {name} from run {}", short(&run.id))
            }
            (None, Some(run), Some(name)) => {
                let run = run_of(&store, &run, verbosity)?;
                store.name(&run, &name)?;
                format!("named run {} {name}", short(&run.id))
            }
            _ => return Ok(Exit::Usage),
        };
        if !verbosity.quiet {
            say(message);
        }
        Ok(Exit::Fine)
    }
}
