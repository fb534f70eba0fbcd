//! Files that hold one part of partitioned work.
//!
//! They are written atomically, and read only if they are complete and have a known version.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rtmark_firmware::sha256;

use crate::error::CliError;
use crate::exit::Exit;
use crate::replacement::replace;

const MAGIC: usize = 8;
const VERSION: usize = 4;
/// The size of magic, version and the contents' SHA-256 in hexadecimal.
const HEADER: usize = MAGIC + VERSION + 64;

/// One kind of part file.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The first bytes of each file.
    pub magic: &'static [u8; MAGIC],
    /// The version of the contents' format.
    pub version: u32,
    /// What a file holds, as in "a part of a search".
    pub what: &'static str,
    /// The command that creates a file, as in "rtmark worst --state FILE".
    pub made_by: &'static str,
}

/// Creates the error for a file that is rejected.
pub fn refuse(path: &Path, problem: impl Display, hint: impl Display) -> CliError {
    CliError::new(Exit::Usage, format!("{}: {problem}", path.display()), hint.to_string())
}

impl Form {
    /// Returns the hint for a file that cannot be used.
    pub fn retry_hint(&self) -> String {
        format!("create it again with `{}`, and copy it completely", self.made_by)
    }

    /// Returns whether a file starts with this form's magic.
    pub fn is_of(&self, path: &Path) -> Result<bool, CliError> {
        let mut magic = Vec::new();
        let read = File::open(path).and_then(|f| f.take(MAGIC as u64).read_to_end(&mut magic));
        read.map_err(|error| refuse(path, error, "check the path"))?;
        Ok(magic == self.magic)
    }

    /// Reads and verifies a file's contents.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, CliError> {
        let unreadable = |error| refuse(path, error, "check the path");
        let mut file = File::open(path).map_err(unreadable)?;
        // What is no such file is not read further: it may be endless, as a device is.
        let mut header = Vec::new();
        file.by_ref().take(HEADER as u64).read_to_end(&mut header).map_err(unreadable)?;
        if header.len() < HEADER {
            return Err(refuse(path, format!("too short to be {}", self.what), self.retry_hint()));
        }
        let (magic, header) = header.split_at(MAGIC);
        let (version, checksum) = header.split_at(VERSION);
        if magic != self.magic {
            return Err(refuse(path, format!("not {}", self.what), self.retry_hint()));
        }
        if version != self.version.to_le_bytes() {
            let problem = format!("{} written by another version of rtmark", self.what);
            return Err(refuse(path, problem, self.retry_hint()));
        }
        let mut contents = Vec::new();
        file.read_to_end(&mut contents).map_err(unreadable)?;
        if sha256(&contents).as_bytes() != checksum {
            return Err(self.damaged(path, "the checksum does not match"));
        }
        Ok(contents)
    }

    /// Creates the error for a file whose contents are invalid.
    pub fn damaged(&self, path: &Path, problem: impl Display) -> CliError {
        refuse(
            path,
            format!("{}, but damaged or truncated: {problem}", self.what),
            self.retry_hint(),
        )
    }

    /// Writes a file atomically.
    pub fn write(&self, path: &Path, contents: &[u8]) -> Result<(), CliError> {
        let checksum = sha256(contents);
        let version = self.version.to_le_bytes();
        let bytes = [self.magic.as_slice(), &version, checksum.as_bytes(), contents].concat();
        replace(path, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form =
        Form { magic: b"RTMARKXX", version: 3, what: "a part of a test", made_by: "a test" };

    #[cfg(unix)]
    #[test]
    fn endless_files_are_rejected() {
        let error = FORM.read(Path::new("/dev/zero")).expect_err("endless");
        assert!(error.to_string().contains("not a part of a test"), "{error}");
    }

    #[test]
    fn truncated_or_corrupted_files_are_rejected() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        assert!(FORM.read(&path).is_err());
        FORM.write(&path, b"contents").expect("writable");
        assert!(FORM.is_of(&path).expect("there"));
        assert_eq!(FORM.read(&path).expect("whole"), b"contents");
        let whole = std::fs::read(&path).expect("there");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("writable");
            assert!(FORM.read(&path).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            std::fs::write(&path, &changed).expect("writable");
            assert!(FORM.read(&path).is_err(), "{place}");
        }
    }
}
