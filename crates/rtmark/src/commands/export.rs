//! `rtmark export`

use std::io;
use std::path::PathBuf;

use clap::Args;
use rtmark_store::bundle::{self, BundleError, Packing};

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, count, say};
use crate::replacement::Replacement;
use crate::shelf::{StoreFlag, run_of};

/// Write runs as a bundle, a file that another store can import
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark export latest -o today.rtmark.gz        packed by gzip, as the name ends in .gz
  rtmark export base head -o two.rtmark          two runs, as text
  rtmark export | ssh lab rtmark import -        to another computer's store

The form is described in docs/bundle.md.")]
pub struct Arguments {
    /// The runs: `latest`, `latest~1`, a name, the beginning of an id, a commit
    #[arg(default_value = "latest", value_name = "RUN")]
    runs: Vec<String>,
    /// The file to write; stdout without, or for -
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let store = self.store.open_existing(&Config::load()?)?;
        let mut runs = Vec::new();
        for reference in &self.runs {
            let run = run_of(&store, reference, verbosity)?;
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        let answers = match self.output.as_deref().and_then(output::file) {
            None => {
                match bundle::export(&store, &runs, GENERATOR, Packing::Plain, io::stdout().lock())
                {
                    // Whoever reads may stop at any time.
                    Err(BundleError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(Exit::Fine);
                    }
                    written => written?,
                }
            }
            Some(path) => {
                let packed = path.extension().is_some_and(|extension| extension == "gz");
                let packing = if packed { Packing::Gzip } else { Packing::Plain };
                // What is there stays until the new file is whole.
                let unwritten =
                    |error: io::Error| CliError::unwritten(path, &error, "check the path");
                let new = Replacement::begin(path).map_err(unwritten)?;
                let answers = bundle::export(&store, &runs, GENERATOR, packing, new.file())?;
                new.keep().map_err(unwritten)?;
                answers
            }
        };
        if !verbosity.quiet {
            let answers = count(usize::try_from(answers).unwrap_or(usize::MAX), "answer");
            say(format!("{} with {answers} exported", count(runs.len(), "run")));
        }
        Ok(Exit::Fine)
    }
}
