//! `rtmark man`

use clap::{Args, CommandFactory};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::output::{self, GENERATOR};
use crate::trouble::Trouble;

/// Print the manual page (roff), of rtmark or of one command
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark man run | man -l -                  read a command's page
  rtmark man > rtmark.1                      to be installed")]
pub struct Arguments {
    /// The command; rtmark itself without one
    command: Option<String>,
}

impl Arguments {
    pub fn run(self) -> Result<Exit, Trouble> {
        let mut command = Cli::command();
        command.build();
        if let Some(name) = self.command {
            let found = command.find_subcommand(&name).cloned();
            command = found.ok_or_else(|| {
                let message = format!("no command is called `{name}`");
                Trouble::new(Exit::Usage, message, "`rtmark help` shows the commands")
            })?;
        }
        let page = clap_mangen::Man::new(command).source(GENERATOR);
        let mut roff = Vec::new();
        page.render(&mut roff)?;
        roff.extend(b".SH \"EXIT STATUS\"\n");
        for exit in Exit::ALL {
            roff.extend(format!(".TP\n.B {}\n{}\n", exit.code(), exit.meaning()).bytes());
        }
        output::raw(&roff)?;
        Ok(Exit::Fine)
    }
}
