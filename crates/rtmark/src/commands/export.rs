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

/// Write runs to a bundle: a file that another store can import
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark export latest -o today.rtmark.gz        compressed, because the name ends in .gz
  rtmark export base head -o two.rtmark          two runs, as text
  rtmark export | ssh lab rtmark import -        to another computer's store

docs/bundle.md describes the format.")]
pub struct Arguments {
    /// Runs: `latest`, `latest~1`, a name, the start of an id, or a commit
    #[arg(default_value = "latest", value_name = "RUN")]
    runs: Vec<String>,
    /// File to write; `-` is stdout [default: stdout]
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
                let stdout = rtmark_stdout::stdout()?.lock();
                match bundle::export(&store, &runs, GENERATOR, Packing::Plain, stdout) {
                    // The reader may stop at any time.
                    Err(BundleError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(Exit::Fine);
                    }
                    written => written?,
                }
            }
            Some(path) => {
                let packed = path.extension().is_some_and(|extension| extension == "gz");
                let packing = if packed { Packing::Gzip } else { Packing::Plain };
                // An existing file is kept until the new one is complete.
                let write_error =
                    |error: io::Error| CliError::write_error(path, &error, "check the path");
                let new = Replacement::begin(path).map_err(write_error)?;
                let answers = bundle::export(&store, &runs, GENERATOR, packing, new.file())?;
                new.keep().map_err(write_error)?;
                answers
            }
        };
        if !verbosity.quiet {
            let answers = count(answers, "answer");
            say(format!("exported {} with {answers}", count(runs.len(), "run")));
        }
        Ok(Exit::Fine)
    }
}
