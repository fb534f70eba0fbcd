//! Atomic file writes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::CliError;

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
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let write = || {
        let new = Replacement::begin(path)?;
        io::Write::write_all(&mut new.file(), bytes)?;
        new.keep()
    };
    write().map_err(|error| refused(path, &error))
}

/// Returns an error if a file could not be replaced, before the work whose result it is to hold.
///
/// The file itself stays as it is. A target that is not a regular file, such as a pipe, is left alone.
pub fn check<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), CliError> {
    let is_special = |path: &Path| fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
    for path in paths.into_iter().filter(|path| !is_special(path)) {
        Replacement::begin(path).map_err(|error| refused(path, &error))?;
    }
    Ok(())
}

fn refused(path: &Path, error: &io::Error) -> CliError {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "choose a file in a folder that exists",
        _ => "choose a file that you may write",
    };
    CliError::write_error(path, error, hint)
}
