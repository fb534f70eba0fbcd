//! `rtmark man`

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};

use crate::cli::Cli;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::{self, GENERATOR};

/// Print the manual page of rtmark or of one command, in roff
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark man run | man -l -                  read the page of a command
  rtmark man > rtmark.1                      save the page of rtmark
  rtmark man --out man1                      write the pages of all commands")]
pub struct Arguments {
    /// Command whose page to print [default: rtmark itself]
    command: Option<String>,
    /// Folder in which to write the pages of all commands: rtmark.1, rtmark-run.1 and so on
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    out: Option<PathBuf>,
}

impl Arguments {
    pub fn run(self) -> Result<Exit, CliError> {
        let mut command = Cli::command();
        command.build();
        if let Some(folder) = self.out {
            return write_all(command, &folder);
        }
        if let Some(name) = self.command {
            let found = command.find_subcommand(&name).cloned();
            command = found.ok_or_else(|| {
                let near = or_nearest(&name, command.get_subcommands().map(Command::get_name));
                let message = format!("no command is called `{name}`{near}");
                CliError::new(Exit::Usage, message, "`rtmark help` lists the commands")
            })?;
        }
        output::raw(&page(command)?)?;
        Ok(Exit::Fine)
    }
}

fn page(command: Command) -> std::io::Result<Vec<u8>> {
    let page = clap_mangen::Man::new(command).source(GENERATOR);
    let mut roff = Vec::new();
    page.render(&mut roff)?;
    roff.extend(b".SH \"EXIT STATUS\"\n");
    for exit in Exit::ALL {
        roff.extend(format!(".TP\n.B {}\n{}\n", exit.code(), exit.meaning()).bytes());
    }
    Ok(roff)
}

fn write_all(command: Command, folder: &Path) -> Result<Exit, CliError> {
    let refuse = |error: std::io::Error| {
        CliError::write_error(folder, &error, "give a folder that you may write to")
    };
    std::fs::create_dir_all(folder).map_err(refuse)?;
    let parts: Vec<Command> = command.get_subcommands().cloned().collect();
    for part in std::iter::once(command).chain(parts) {
        let name = part.get_display_name().unwrap_or_else(|| part.get_name()).to_owned();
        if name != "rtmark-help" {
            let path = folder.join(format!("{name}.1"));
            std::fs::write(path, page(part)?).map_err(refuse)?;
        }
    }
    Ok(Exit::Fine)
}
