//! The socs that came with this program, and those that users bring as files.

use std::path::{Path, PathBuf};

use rtmark_firmware::sha256;
use rtmark_sim::{Soc, SocError};

/// A soc and the file it was read from.
#[derive(Clone, Debug)]
pub struct SocFile {
    /// The soc.
    pub soc: Soc,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// What the file says.
    pub text: String,
    /// Where it comes from: a path, or the name of a file of this program's source.
    pub origin: String,
}

/// Why a soc could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocFileError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file was refused.
    #[error("{origin}: {source}")]
    Form {
        /// The file.
        origin: String,
        /// Why, with the line.
        source: Box<SocError>,
    },
    /// No soc has that name.
    #[error("no soc is called `{name}`{}", near.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// The name asked for.
        name: String,
        /// One like it.
        near: Option<String>,
    },
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("socs/", $name), include_str!(concat!("../../../socs/", $name)))),*]
    };
}

const BUILTIN: &[(&str, &str)] = builtin![
    "stm32c031.toml",
    "stm32f100.toml",
    "stm32f405.toml",
    "mps2-an385.toml",
    "mps2-an386.toml",
    "mps2-an505.toml",
    "nrf52840.toml",
    "rp2040.toml",
    "stm32l432.toml",
    "generic-cortex-m0.toml",
    "generic-cortex-m0plus.toml",
    "generic-cortex-m3.toml",
    "generic-cortex-m4.toml",
    "generic-cortex-m4f.toml",
    "generic-cortex-m33.toml",
    "lm3s6965.toml",
    "rp2350.toml",
];

/// The socs of the default suite: one for each core that the kernels run on.
const SUITE: [&str; 2] = ["stm32c031", "stm32f405"];

/// A soc from the text of a soc file; `origin` names it in errors.
///
/// # Errors
/// When the text is refused.
pub fn from_text(origin: &str, text: &str) -> Result<SocFile, SocFileError> {
    let soc = Soc::from_toml(text).map_err(|source| SocFileError::Form {
        origin: origin.to_owned(),
        source: Box::new(source),
    })?;
    let (sha256, text, origin) = (sha256(text.as_bytes()), text.to_owned(), origin.to_owned());
    Ok(SocFile { soc, sha256, text, origin })
}

/// The socs that came with this program.
///
/// # Errors
/// Never for a program that was tested; the files are read like any other's.
pub fn builtin() -> Result<Vec<SocFile>, SocFileError> {
    BUILTIN.iter().map(|(origin, text)| from_text(origin, text)).collect()
}

/// The socs that are measured when none is named.
///
/// # Errors
/// As [`builtin`].
pub fn suite() -> Result<Vec<SocFile>, SocFileError> {
    let mut socs = builtin()?;
    socs.retain(|file| SUITE.contains(&file.soc.name.as_str()));
    Ok(socs)
}

/// Whether a text is the path of a file and no name.
pub(crate) fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    path.components().count() > 1
        || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// A soc by its name, or by the path of its file: what ends in `.toml` or has a
/// path separator is a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or is refused.
pub fn find(name_or_path: &str) -> Result<SocFile, SocFileError> {
    let path = Path::new(name_or_path);
    if is_path(name_or_path) {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SocFileError::Read { path: path.to_owned(), source })?;
        return from_text(name_or_path, &text);
    }
    let socs = builtin()?;
    let names = || socs.iter().map(|file| file.soc.name.as_str());
    let near = nearest(name_or_path, names()).map(str::to_owned);
    let found = socs.into_iter().find(|file| file.soc.name == name_or_path);
    found.ok_or_else(|| SocFileError::Unknown {
        name: name_or_path.escape_debug().to_string(),
        near,
    })
}

/// The name that is most like another one, if any is much like it.
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

    #[test]
    fn every_soc_of_the_repository_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../socs");
        for entry in std::fs::read_dir(folder).expect("there") {
            let name = format!("socs/{}", entry.expect("there").file_name().display());
            assert!(BUILTIN.iter().any(|(builtin, _)| *builtin == name), "{name} is not built in");
        }
        assert_eq!(builtin().expect("good").len(), BUILTIN.len());
    }

    #[test]
    fn socs_are_found_by_name_and_by_path() {
        assert_eq!(find("stm32c031").expect("built in").soc.name, "stm32c031");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../socs/stm32f405.toml");
        assert_eq!(find(path).expect("a file").soc.name, "stm32f405");
        let error = find("stm32c013").expect_err("unknown").to_string();
        assert!(error.contains("did you mean `stm32c031`?"), "{error}");
        assert!(matches!(find("./none.toml"), Err(SocFileError::Read { .. })));
    }
}
