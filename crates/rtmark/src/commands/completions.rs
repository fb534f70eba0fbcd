//! `rtmark completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark completions bash > ~/.local/share/bash-completion/completions/rtmark
  rtmark completions fish > ~/.config/fish/completions/rtmark.fish")]
pub struct Arguments {
    /// Shell
    shell: Shell,
}

impl Arguments {
    pub fn run(self) -> Result<Exit, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "rtmark", &mut script);
        output::raw(&script)?;
        Ok(Exit::Fine)
    }
}
