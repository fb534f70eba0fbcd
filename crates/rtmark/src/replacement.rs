//! Files that are written as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file that takes another one's place once it is kept: who opens that one meanwhile sees what it was,
/// and it stays where the new one is dropped. What is no file, such as a pipe, is written to as it is.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    path: PathBuf,
    /// Where it is written, until it is kept.
    part: Option<PathBuf>,
}

impl Replacement {
    /// Begins one beside the file.
    pub fn begin(path: &Path) -> io::Result<Self> {
        // A link stays one.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = fs::metadata(&path).ok();
        if before.as_ref().is_some_and(|before| !before.is_file()) {
            return Ok(Self { file: File::create(&path)?, path, part: None });
        }
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let begun = Self { file: File::create(&part)?, path, part: Some(part.clone()) };
        if let Some(before) = before {
            fs::set_permissions(&part, before.permissions())?;
        }
        Ok(begun)
    }

    /// What is written to.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Puts it in the other one's place.
    pub fn keep(mut self) -> io::Result<()> {
        if let Some(part) = &self.part {
            self.file.sync_all()?;
            fs::rename(part, &self.path)?;
        }
        self.part = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// Replaces a file by these bytes.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = Replacement::begin(path)?;
    io::Write::write_all(&mut new.file(), bytes)?;
    new.keep()
}
