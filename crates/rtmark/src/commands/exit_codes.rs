//! `rtmark exit-codes`

use clap::Args;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Show what rtmark's exit codes mean
#[derive(Debug, Args)]
#[command(after_help = Exit::table())]
pub struct Arguments {}

impl Arguments {
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub fn run(self) -> Result<Exit, CliError> {
        output::data(&Exit::table())?;
        Ok(Exit::Fine)
    }
}
