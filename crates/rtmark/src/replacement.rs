//! Atomic file writes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A new version of a file, which replaces the old one when [`Replacement::keep`] is called.
///
/// Until then readers see the old contents, and dropping the value leaves them in place. A target that is
/// not a regular file, such as a pipe, is written directly.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    path: PathBuf,
    /// The temporary file, if one is used.
    part: Option<PathBuf>,
}

impl Replacement {
    /// Creates a temporary file next to the target.
    pub fn begin(path: &Path) -> io::Result<Self> {
        // Replace a symbolic link's target, not the link.
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

    /// The file to write to.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Replaces the target.
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

/// Replaces a file's contents atomically.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = Replacement::begin(path)?;
    io::Write::write_all(&mut new.file(), bytes)?;
    new.keep()
}
