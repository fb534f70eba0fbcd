//! Finds the files that describe what firmware runs on: socs, machines and boards. Those built into
//! this program are found by name, users' own by path.
//!
//! This module knows how such files are found and what can be wrong with them. Each kind parses its own
//! contents.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::input_file;

/// The kind of thing a file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A soc, for the simulator.
    Soc,
    /// A QEMU machine.
    Machine,
    /// A board.
    Board,
}

impl FileKind {
    /// Returns the folder that holds the built-in files of this kind.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Soc => "socs",
            Self::Machine => "machines",
            Self::Board => "boards",
        }
    }
}

/// The reason why a soc, machine or board is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("{origin}: {source}")]
    Read {
        /// What it was meant to describe.
        kind: FileKind,
        /// The file.
        origin: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file was rejected.
    #[error("{origin}: {source}")]
    Form {
        /// What it was meant to describe.
        kind: FileKind,
        /// The file.
        origin: String,
        /// Why, with the line.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The soc that the file names could not be loaded.
    #[error("{origin}: {source}")]
    Soc {
        /// What it was meant to describe.
        kind: FileKind,
        /// The file.
        origin: String,
        /// What is wrong with the soc.
        source: Box<FileError>,
    },
    /// No built-in file has that name.
    #[error("{}{}", Unknown(*kind, name), near.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// The kind that was requested.
        kind: FileKind,
        /// The requested name.
        name: String,
        /// A similar name, if there is one.
        near: Option<String>,
    },
}

impl FileError {
    /// Returns the kind that was requested.
    pub const fn kind(&self) -> FileKind {
        match self {
            Self::Read { kind, .. }
            | Self::Form { kind, .. }
            | Self::Soc { kind, .. }
            | Self::Unknown { kind, .. } => *kind,
        }
    }
}

struct Unknown<'a>(FileKind, &'a str);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, name) = self;
        match kind {
            FileKind::Soc => write!(f, "no soc is called `{name}`"),
            FileKind::Machine => write!(f, "QEMU has no machine for `{name}`"),
            FileKind::Board => {
                write!(f, "no board is called `{name}` or has a soc of that name")
            }
        }
    }
}

/// Lists the files of a folder that are built into this program: their paths and contents.
macro_rules! files_of {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$((
            concat!($folder, "/", $name),
            rtmark_files::text(concat!($folder, "/", $name)),
        )),*]
    };
}
pub(crate) use files_of;

/// A kind of thing that a file describes.
pub(crate) trait DescriptionFile: Sized {
    /// What it is.
    const KIND: FileKind;
    /// The built-in files: paths and contents.
    const BUILTIN: &'static [(&'static str, &'static str)];

    /// Parses the text of a file; `origin` names the file in errors.
    fn from_text(origin: &str, text: &str) -> Result<Self, FileError>;

    /// Returns the names by which it is found, its own first.
    fn names(&self) -> impl Iterator<Item = &str>;

    /// Wraps an error about the text of a file.
    fn invalid(origin: &str, source: impl Error + Send + Sync + 'static) -> FileError {
        FileError::Form { kind: Self::KIND, origin: origin.to_owned(), source: Box::new(source) }
    }

    /// Wraps an error about the soc that a file names.
    fn wrong_soc(origin: &str, source: FileError) -> FileError {
        FileError::Soc { kind: Self::KIND, origin: origin.to_owned(), source: Box::new(source) }
    }
}

/// Returns the built-in ones.
///
/// # Errors
/// Never in a released program: tests read every built-in file. They are parsed like a user's files.
pub(crate) fn builtin<D: DescriptionFile>() -> Result<Vec<D>, FileError> {
    D::BUILTIN.iter().map(|(origin, text)| D::from_text(origin, text)).collect()
}

/// Finds one by its name or by the path of its file. A name that ends in `.toml` or contains a path
/// separator is taken as a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or parsed.
pub(crate) fn find<D: DescriptionFile>(name_or_path: &str) -> Result<D, FileError> {
    if is_path(name_or_path) {
        let origin = name_or_path.to_owned();
        let text = input_file::read_text(Path::new(name_or_path))
            .map_err(|source| FileError::Read { kind: D::KIND, origin, source })?;
        return D::from_text(name_or_path, &text);
    }
    let known = builtin::<D>()?;
    let near = nearest(name_or_path, known.iter().flat_map(D::names)).map(str::to_owned);
    let found = known.into_iter().find(|one| one.names().any(|name| name == name_or_path));
    let name = name_or_path.escape_debug().to_string();
    found.ok_or(FileError::Unknown { kind: D::KIND, name, near })
}

fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    path.components().count() > 1
        || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Returns the known name most similar to `name`, if any is similar enough.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::BoardFile;
    use crate::machines::MachineFile;
    use crate::socs::SocFile;

    fn assert_files_are_embedded<D: DescriptionFile>() {
        let folder = D::KIND.folder();
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        for entry in std::fs::read_dir(place).expect("there") {
            let name = format!("{folder}/{}", entry.expect("there").file_name().display());
            assert!(D::BUILTIN.iter().any(|(origin, _)| *origin == name), "{name} is not built in");
        }
        for file in builtin::<D>().expect("good") {
            for name in file.names() {
                let found = find::<D>(name).expect("a name that it has");
                assert!(file.names().eq(found.names()), "another one is found as {name}");
            }
        }
    }

    #[test]
    fn every_file_is_embedded_and_found_by_name() {
        assert_files_are_embedded::<SocFile>();
        assert_files_are_embedded::<MachineFile>();
        assert_files_are_embedded::<BoardFile>();
    }

    #[test]
    fn a_file_is_found_by_its_path() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../socs/stm32f405.toml");
        assert_eq!(find::<SocFile>(path).expect("a file").soc.name, "stm32f405");
        assert!(matches!(
            find::<SocFile>("./none.toml"),
            Err(FileError::Read { kind: FileKind::Soc, .. })
        ));
        let error = find::<MachineFile>(path).expect_err("no machine");
        assert_eq!(error.kind(), FileKind::Machine);
        assert!(error.to_string().starts_with(path), "{error}");
    }

    #[test]
    fn unknown_names_are_reported_with_similar_ones() {
        let message = |error: FileError| error.to_string();
        let soc = find::<SocFile>("stm32c013").map(drop).map_err(message);
        assert_eq!(soc, Err("no soc is called `stm32c013`; did you mean `stm32c031`?".to_owned()));
        let machine = find::<MachineFile>("stm32f450").map(drop).map_err(message);
        assert_eq!(
            machine,
            Err("QEMU has no machine for `stm32f450`; did you mean `stm32f405`?".to_owned())
        );
        let board = find::<BoardFile>("nucleo-c032c6").map(drop).map_err(message);
        assert!(board.is_err_and(|board| board.ends_with("did you mean `nucleo-c031c6`?")));
    }
}
