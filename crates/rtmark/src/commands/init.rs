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

/// Begin a project: write an rtmark.toml and, on request, kernels and scenarios of your own to start from
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark init                                an rtmark.toml here
  rtmark init bench --scenario               and a scenario of your own, with a kernel in C
  rtmark init bench --kernel c rust          one in C and one in Rust
  cd bench && rtmark run                     what they cost

What is there already is left alone, and nothing is written then. docs/own.md explains the files.")]
pub struct Arguments {
    /// The project's folder, made if it is missing
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// A kernel of your own to start from, in this language
    #[arg(long, value_enum, value_name = "LANGUAGE", num_args = 1..)]
    kernel: Vec<Language>,
    /// A scenario of your own to start from, which a kernel of your own answers
    #[arg(long)]
    scenario: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Language {
    /// With a makefile
    C,
    /// With a Cargo package
    Rust,
}

impl Language {
    /// The folder of its template, and of what is made of it.
    const fn folder(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rust",
        }
    }

    /// What the template's kernel is called.
    const fn id(self) -> &'static str {
        match self {
            Self::C => "ourloop",
            Self::Rust => "ourfilter",
        }
    }
}

/// Where the templates lie in the repository.
const TEMPLATES: &str = "docs/own/";
/// The file with scenarios of one's own.
const SCENARIOS: &str = "scenarios.toml";
/// The folder with what is one's own.
const OWN: &str = "kernels";

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
                let message = format!("{} is there already", path.display());
                let hint = "begin in another folder, or move it away; nothing was written";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
        }
        for (path, bytes) in &files {
            let path = self.folder.join(path);
            write(&path, bytes).map_err(|error| {
                let hint = "check the path and that you may write there";
                CliError::unwritten(&path, &error, hint)
            })?;
            if !verbosity.quiet {
                say(format!("wrote {}", path.display()));
            }
        }
        if !verbosity.quiet {
            say("next: `rtmark run` there; `rtmark doctor` says what is missing for it");
        }
        Ok(Exit::Fine)
    }
}

/// What is to be written: names below the folder, and what they hold.
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
        "# What rtmark does here unless it is told: docs/config.md has every key.\n\
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

/// Writes a file that is not there.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::create_new(path)?.write_all(bytes)
}
