//! `rtmark`: the command line on top of the libraries.
//!
//! Only this crate knows about arguments, colours and exit codes. `cli` lists the commands. Each command is a
//! file or folder in `commands`: its arguments, and a `run` that returns an exit code or a `CliError`. `sources`
//! and `shelf` find what commands share: kernels, scenarios, the store.

mod boards;
mod cli;
mod commands;
mod config;
mod error;
mod exit;
mod output;
mod overview;
mod part_file;
mod progress;
mod replacement;
#[cfg(test)]
mod schema;
mod shelf;
mod sources;
mod taken;
mod tools;

use std::process::ExitCode;

use clap::FromArgMatches;

/// Puts what is known of a large program's code in huge pages, and does not make threads wait for each other as
/// musl's allocator does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = overview::command().try_get_matches();
    let exit = match matches.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli.run(),
        // Help and versions are data like any other.
        Err(help) if !help.use_stderr() => {
            let written = output::data(&help.render().ansi().to_string());
            written.map(|()| exit::Exit::Fine).map_err(Into::into)
        }
        Err(mut error) => {
            let words: Vec<_> = std::env::args_os().skip(1).collect();
            taken::explain(&mut error, &overview::command(), &words);
            error.exit()
        }
    };
    let exit = exit.unwrap_or_else(error::CliError::show);
    ExitCode::from(exit.code())
}
