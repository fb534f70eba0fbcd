//! Gives simulated programs access to a folder of the host, and to nothing outside it.
//!
//! [`Folder`] is a simulator [`Host`]: it performs semihosting requests (SYS_OPEN, SYS_READ, ...; Arm's
//! "Semihosting for AArch32 and AArch64", 5) with real files. The folder is held open, and names are
//! looked up below it by `cap-std`, which follows neither `..` nor symbolic links out of it: the idea
//! of capabilities, as in WASI's preopened folders.
//!
//! The simulator knows how a program makes requests; this crate knows no machine. A request that cannot
//! be met returns an error to the program, as semihosting specifies, and never ends the run.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use rtmark_sim::Host;

/// The most files that may be open at once.
const MAX_FILES: u32 = 64;

/// The folder and the open files in it.
#[derive(Debug)]
pub struct Folder {
    folder: Dir,
    files: BTreeMap<u32, File>,
}

impl Folder {
    /// Opens the folder at a path.
    ///
    /// # Errors
    ///
    /// When it does not exist, is not a folder, or cannot be read.
    pub fn new(path: &Path) -> std::io::Result<Self> {
        let folder = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { folder, files: BTreeMap::new() })
    }
}

/// Converts a name from the program to a host path.
fn path(name: &[u8]) -> Option<&Path> {
    std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(Path::new)
}

impl Host for Folder {
    fn open(&mut self, name: &[u8], mode: u32) -> Option<u32> {
        let mut options = OpenOptions::new();
        let both = mode & 2 != 0;
        match mode >> 2 {
            0 => options.read(true).write(both),
            1 => options.write(true).create(true).truncate(true).read(both),
            2 => options.append(true).create(true).read(both),
            _ => return None,
        };
        let number = (0..MAX_FILES).find(|number| !self.files.contains_key(number))?;
        let name = path(name)?;
        // Opening a pipe could block for ever.
        if self.folder.metadata(name).is_ok_and(|known| !known.is_file()) {
            return None;
        }
        let file = self.folder.open_with(name, &options).ok()?;
        self.files.insert(number, file);
        Some(number)
    }

    fn close(&mut self, file: u32) -> bool {
        self.files.remove(&file).is_some()
    }

    fn read(&mut self, file: u32, into: &mut [u8]) -> Option<usize> {
        let file = self.files.get_mut(&file)?;
        let mut read = 0;
        while read < into.len() {
            match file.read(&mut into[read..]).ok()? {
                0 => break,
                more => read += more,
            }
        }
        Some(read)
    }

    fn write(&mut self, file: u32, bytes: &[u8]) -> Option<usize> {
        self.files.get_mut(&file)?.write_all(bytes).ok().map(|()| bytes.len())
    }

    fn seek(&mut self, file: u32, position: u32) -> bool {
        let file = self.files.get_mut(&file);
        file.is_some_and(|file| file.seek(SeekFrom::Start(position.into())).is_ok())
    }

    fn length(&mut self, file: u32) -> Option<u32> {
        self.files.get(&file)?.metadata().ok()?.len().try_into().ok()
    }

    fn remove(&mut self, name: &[u8]) -> bool {
        path(name).is_some_and(|name| self.folder.remove_file(name).is_ok())
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        let names = path(from).zip(path(to));
        names.is_some_and(|(from, to)| self.folder.rename(from, &self.folder, to).is_ok())
    }

    fn temporary_name(&mut self, number: u8) -> Option<Vec<u8>> {
        Some(format!("tmp{number:03}").into_bytes())
    }
}

#[cfg(test)]
mod tests;
