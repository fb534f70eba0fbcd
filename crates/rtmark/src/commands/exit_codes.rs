//! `rtmark exit-codes`

use clap::Args;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Show the meaning of rtmark's exit codes
#[derive(Debug, Args)]
#[command(after_help = Exit::table())]
pub struct Arguments {}

impl Arguments {
    #[expect(clippy::unused_self, reason = "all commands have the same signature")]
    pub fn run(self) -> Result<Exit, CliError> {
        output::data(&Exit::table())?;
        Ok(Exit::Fine)
    }
}
