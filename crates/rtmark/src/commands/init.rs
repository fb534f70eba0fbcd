//! `rtmark init`

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;

/// Start a project: write an rtmark.toml and, if asked, templates for your own kernels and scenarios
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark init                                write an rtmark.toml in this folder
  rtmark init bench --scenario               also a scenario of your own, and a kernel in C
  rtmark init bench --kernel c rust          a kernel in C and one in Rust
  cd bench && rtmark run                     measure them

Existing files are never overwritten: if one is in the way, nothing is written. Only a .gitignore
gets a line more, for the results. docs/own.md explains the files.")]
pub struct Arguments {
    /// Project folder, created if it does not exist
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Languages in which to write a template for a kernel of your own
    #[arg(long, value_enum, value_name = "LANGUAGE", num_args = 1..)]
    kernel: Vec<Language>,
    /// Write a template for a scenario of your own, with a kernel that supports it
    #[arg(long)]
    scenario: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Language {
    /// C, built with make
    C,
    /// Rust, built with Cargo
    Rust,
}

impl Language {
    /// Returns the name of the template's folder, which is also that of the copy.
    const fn folder(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rust",
        }
    }

    /// Returns the id of the template's kernel.
    const fn id(self) -> &'static str {
        match self {
            Self::C => "ourloop",
            Self::Rust => "ourfilter",
        }
    }
}

/// The folder of the templates in the repository.
const TEMPLATES: &str = "docs/own/";
/// The file with the project's own scenarios.
const SCENARIOS: &str = "scenarios.toml";
/// The folder with the project's own kernels and scenarios.
const OWN: &str = "kernels";
/// What git ignores: results, and SQLite's files beside them. A checkout of another commit would replace them.
const IGNORED: &str = "/results.sqlite*";

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let mut kernels = self.kernel.clone();
        if self.scenario && kernels.is_empty() {
            kernels.push(Language::C);
        }
        kernels.sort_unstable();
        kernels.dedup();
        let files = files(&kernels);
        for (path, _) in &files {
            let path = self.folder.join(path);
            if path.symlink_metadata().is_ok() {
                let message = format!("{} already exists", path.display());
                let hint = "choose another folder, or move the file away; nothing was written";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
        }
        for (path, bytes) in &files {
            let path = self.folder.join(path);
            write(&path, bytes).map_err(|error| {
                let hint = "check the path, and that you may write there";
                CliError::write_error(&path, &error, hint)
            })?;
            if !verbosity.quiet {
                say(format!("wrote {}", path.display()));
            }
        }
        let path = self.folder.join(".gitignore");
        let ignored = ignore_results(&path).map_err(|error| {
            let hint = format!("add the line {IGNORED} yourself; everything else is written");
            CliError::write_error(&path, &error, &hint)
        })?;
        if ignored && !verbosity.quiet {
            say(format!("{} ignores the results", path.display()));
        }
        if !verbosity.quiet {
            say("next: `rtmark run` in that folder; `rtmark doctor` checks for the tools it needs");
        }
        Ok(Exit::Fine)
    }
}

/// Returns the files to write: their paths below the folder, and their contents.
fn files(kernels: &[Language]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = vec![(PathBuf::from("rtmark.toml"), settings(kernels).into_bytes())];
    if kernels.is_empty() {
        return files;
    }
    let wanted = |rest: &str| {
        let of = |kernel: &Language| rest.split('/').next() == Some(kernel.folder());
        rest == SCENARIOS || kernels.iter().any(of)
    };
    let templates = rtmark_sources::FILES.iter();
    let own = templates.filter_map(|(path, bytes)| Some((path.strip_prefix(TEMPLATES)?, bytes)));
    let own = own.filter(|(rest, _)| wanted(rest));
    files.extend(own.map(|(rest, bytes)| (Path::new(OWN).join(rest), bytes.to_vec())));
    files
}

fn settings(kernels: &[Language]) -> String {
    let mut text = String::from(
        "# Defaults for rtmark in this folder: docs/config.md lists every key.\n\
         store = \"results.sqlite\"\n",
    );
    if kernels.is_empty() {
        text.push_str("\n[run]\n");
    } else {
        let ids: Vec<_> = kernels.iter().map(|kernel| format!("{:?}, ", kernel.id())).collect();
        let ids = ids.concat();
        let _ = write!(
            text,
            "own = [{OWN:?}]\n\n[run]\nkernel = [{ids}\"floor\"]\n\
             scenario = [\"filter.*\", \"notify.give.immediate\"]\n"
        );
    }
    text + "soc = [\"stm32f405\"]    # `rtmark list socs` shows the others\n"
}

/// Adds the results to the files that git ignores. Returns whether they were not among them.
fn ignore_results(path: &Path) -> io::Result<bool> {
    let before = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read?,
    };
    if before.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == IGNORED.as_bytes()) {
        return Ok(false);
    }
    let end_of_line = if before.last().is_none_or(|byte| *byte == b'\n') { "" } else { "\n" };
    let mut file = File::options().create(true).append(true).open(path)?;
    writeln!(file, "{end_of_line}{IGNORED}")?;
    Ok(true)
}

/// Writes a file that must not exist yet.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::create_new(path)?.write_all(bytes)
}
