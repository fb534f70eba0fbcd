//! Errors as users see them: what went wrong, what to do next, and the exit code.

use std::fmt;
use std::io;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use rtmark_bisect::GitError;
use rtmark_firmware::{FirmwareError, VariantError};
use rtmark_model::{CatalogueError, SETTINGS, visible};
use rtmark_runner::{FileError, FileKind, NothingSelected, nearest};
use rtmark_store::StoreError;
use rtmark_store::bundle::BundleError;

use crate::exit::Exit;
use crate::output;

/// An error message for a person, with a hint and an exit code.
#[derive(Debug)]
pub struct CliError {
    /// The exit code of the process.
    pub exit: Exit,
    message: String,
    hint: String,
}

impl CliError {
    /// Creates an error from what went wrong and what to do next.
    pub fn new(exit: Exit, message: impl fmt::Display, hint: impl Into<String>) -> Self {
        // Messages quote file names and contents, which may hold control characters.
        Self { exit, message: visible(message.to_string().as_bytes()), hint: hint.into() }
    }

    /// A file could not be written: a usage error with this hint, or an internal one if the disk is full.
    pub fn write_error(path: &Path, error: &io::Error, hint: &str) -> Self {
        let (exit, hint) = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (Exit::Internal, "free some space, or write to another disk")
            }
            _ => (Exit::Usage, hint),
        };
        Self::new(exit, format!("{}: {error}", path.display()), hint)
    }

    /// Puts the name of the affected file or program before the message.
    pub fn about(self, name: &str) -> Self {
        Self { message: format!("{name}: {}", self.message), ..self }
    }

    /// Formats the error for a list: the message, then the hint.
    pub fn in_one_line(&self) -> String {
        format!("{self}: {}", self.hint)
    }

    /// Prints the error to stderr and returns its exit code.
    pub fn show(self) -> Exit {
        let exit = self.exit;
        output::say(self.rendered(symbols_of(|name| std::env::var(name).ok())));
        exit
    }

    /// Formats the error for a terminal: the message beside a cross and a bar, and the hint below. Lines are
    /// not wrapped, because messages quote compiler output.
    pub fn rendered(&self, symbols: Symbols) -> String {
        let (cross, bar) = match symbols {
            Symbols::Unicode => ('×', '│'),
            Symbols::Ascii => ('x', '|'),
        };
        let red = |symbol: char| format!("  {MARK}{symbol}{MARK:#} ");
        let help = format!("  {HELP}help: {HELP:#}");
        let message = indented(&self.to_string(), &red(cross), &red(bar));
        message + &indented(&self.hint, &help, &" ".repeat("  help: ".len()))
    }
}

/// Returns the rest of a message that a name is not known: the most similar one that is.
pub fn or_nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(name, known.into_iter());
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The colours of the symbols beside a message, and of the word before a hint.
const MARK: Style = AnsiColor::Red.on_default();
const HELP: Style = AnsiColor::Cyan.on_default();

/// The symbols beside a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// A cross and a vertical line.
    Unicode,
    /// The ASCII characters most like them.
    Ascii,
}

/// Returns the symbols that the locale has characters for. `variable` looks up an environment variable.
fn symbols_of(variable: impl Fn(&str) -> Option<String>) -> Symbols {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_uppercase();
    let unicode = cfg!(windows) || locale.ends_with("UTF-8") || locale.ends_with("UTF8");
    if unicode { Symbols::Unicode } else { Symbols::Ascii }
}

/// Puts one indentation before the first line of a text, and another before the rest.
fn indented(text: &str, first: &str, rest: &str) -> String {
    let line = |(at, line): (usize, &str)| {
        let indent = if at == 0 { first } else { rest };
        if line.trim().is_empty() {
            format!("{}\n", indent.trim_end())
        } else {
            format!("{indent}{line}\n")
        }
    };
    text.lines().enumerate().map(line).collect()
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.trim_end())
    }
}

impl std::error::Error for CliError {}

impl From<FirmwareError> for CliError {
    fn from(error: FirmwareError) -> Self {
        let exit = match &error {
            FirmwareError::NoTree { .. }
            | FirmwareError::Manifest { .. }
            | FirmwareError::Soc { .. } => Exit::Usage,
            FirmwareError::Tool(_) => Exit::Missing,
            FirmwareError::Build { .. } | FirmwareError::NoImage { .. } => Exit::BuildFailed,
            _ => Exit::Internal,
        };
        let hint = error.hint();
        Self::new(exit, error, hint)
    }
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        let kind = error.kind();
        let folder = kind.folder();
        let correct = format!("correct the file; the files in {folder}/ show every key");
        let (exit, hint) = match (&error, kind) {
            (FileError::Unknown { .. }, FileKind::Board) => (
                Exit::NothingSelected,
                "to use your own board file, give its path; the files in boards/ show every key, \
                 and docs/boards.md explains them"
                    .to_owned(),
            ),
            (FileError::Unknown { .. }, _) => (
                Exit::NothingSelected,
                format!(
                    "`rtmark list {folder}` shows the names; to use your own file, give its path"
                ),
            ),
            (FileError::Read { .. }, _) => (Exit::Usage, "check the path".to_owned()),
            _ => (Exit::Usage, correct),
        };
        Self::new(exit, error, hint)
    }
}

impl From<CatalogueError> for CliError {
    fn from(error: CatalogueError) -> Self {
        Self::new(Exit::Usage, error, "correct the file; the files in catalogue/ show every key")
    }
}

impl From<NothingSelected> for CliError {
    fn from(error: NothingSelected) -> Self {
        let hint = match error.what {
            "profile" => {
                "every kernel has `product`, `documented` and `checked` (formerly `lean`, \
                          `default` and `safe`); the key `profiles` in its kernel.toml adds more"
                    .to_owned()
            }
            rtmark_runner::SETTINGS => {
                "`switches` in a kernel.toml lists the settings that the kernel \
                                    can be built with, and their values"
                    .to_owned()
            }
            what => format!("`rtmark list {what}s` shows the names; `*` matches any text"),
        };
        Self::new(Exit::NothingSelected, error, hint)
    }
}

impl From<VariantError> for CliError {
    fn from(error: VariantError) -> Self {
        let known = SETTINGS.iter().map(|setting| setting.id);
        let near = error.unknown_setting().map(|id| or_nearest(id, known)).unwrap_or_default();
        Self::new(
            Exit::Usage,
            format!("{error}{near}"),
            "docs/settings.md lists the settings; a kernel's kernel.toml lists its values",
        )
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::NoPlace
            | StoreError::Newer { .. }
            | StoreError::Missing { .. }
            | StoreError::IsFolder { .. }
            | StoreError::Foreign { .. }
            | StoreError::BadName { .. }
            | StoreError::Ambiguous { .. } => Exit::Usage,
            StoreError::NoSuchRun(_)
            | StoreError::TooFewRuns { .. }
            | StoreError::OnlyChanged(_) => Exit::NothingSelected,
            _ => Exit::Internal,
        };
        let hint = error.hint();
        Self::new(exit, error, hint)
    }
}

impl From<BundleError> for CliError {
    fn from(error: BundleError) -> Self {
        let hint = match error {
            BundleError::Store(error) => return error.into(),
            BundleError::Io(error) => {
                return Self::write_error(Path::new("the bundle"), &error, "check the path");
            }
            BundleError::Newer(_) => "update rtmark",
            _ => "export it again on the computer that it came from; nothing was imported",
        };
        Self::new(Exit::Usage, format!("the bundle: {error}"), hint)
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Run(error) => {
                Self::new(Exit::Missing, format!("cannot run git: {error}"), "install git")
            }
            undecided @ GitError::Undecided { .. } => {
                let hint = "measure one of these commits with `rtmark run` to see why it cannot be measured";
                Self::new(Exit::BuildFailed, undecided, hint)
            }
            refused => {
                let hint = "check --repository and the names of the commits; a shallow clone lacks \
                            the older ones until `git fetch --unshallow --tags`";
                Self::new(Exit::Usage, refused, hint)
            }
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Internal, format!("output failed: {error}"), "check where the output goes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(error: &CliError, symbols: Symbols) -> String {
        anstream::adapter::strip_str(&error.rendered(symbols)).to_string()
    }

    #[test]
    fn messages_keep_their_lines_beside_a_bar_with_the_hint_below() {
        let error = CliError::new(Exit::BuildFailed, "cc failed:\n\n  x.c:1\n", "correct\nit");
        let shown = plain(&error, Symbols::Unicode);
        assert_eq!(shown, "  × cc failed:\n  │\n  │   x.c:1\n  help: correct\n        it\n");
        let shown = plain(&error, Symbols::Ascii);
        assert!(shown.starts_with("  x cc failed:\n  |\n"), "{shown}");
    }

    #[test]
    fn symbols_follow_the_locale() {
        let symbols = |variables: &[(&str, &str)]| {
            symbols_of(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(symbols(&[("LANG", "de_DE.UTF-8")]), Symbols::Unicode);
        assert_eq!(symbols(&[("LANG", "C.utf8"), ("LC_ALL", "")]), Symbols::Unicode);
        if !cfg!(windows) {
            assert_eq!(symbols(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]), Symbols::Ascii);
            assert_eq!(symbols(&[]), Symbols::Ascii);
        }
    }
}
