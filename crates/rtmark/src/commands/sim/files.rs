//! `--semihosting-dir`: a folder of the host, and nothing outside it, for a program.
//!
//! The folder is held open, and names are looked up below it by `cap-std`, which follows
//! neither `..` nor symbolic links out of it.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use rtmark_sim::Host;

/// The most files that may be open at once.
const MOST_FILES: u32 = 64;

/// The folder and the open files in it.
#[derive(Debug)]
pub struct Folder {
    folder: Dir,
    files: BTreeMap<u32, File>,
}

impl Folder {
    pub fn new(path: &Path) -> std::io::Result<Self> {
        let folder = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { folder, files: BTreeMap::new() })
    }
}

/// A name of the program as one of the host's.
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
        let number = (0..MOST_FILES).find(|number| !self.files.contains_key(number))?;
        let name = path(name)?;
        // Opening a pipe could wait for ever.
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
mod tests {
    use super::*;

    #[test]
    fn files_are_written_read_and_removed() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut folder = Folder::new(scratch.path()).expect("there");
        let file = folder.open(b"a.txt", 4).expect("created");
        assert_eq!(folder.write(file, b"hello"), Some(5));
        assert_eq!(folder.length(file), Some(5));
        assert!(folder.close(file) && !folder.close(file));
        assert!(folder.rename(b"a.txt", b"b.txt"));
        let file = folder.open(b"b.txt", 0).expect("there");
        let mut bytes = [0; 8];
        assert!(folder.seek(file, 1));
        assert_eq!((folder.read(file, &mut bytes), &bytes[..4]), (Some(4), b"ello".as_slice()));
        assert_eq!(folder.write(file, b"x"), None, "it is for reading");
        assert!(folder.remove(b"b.txt") && folder.open(b"b.txt", 0).is_none());
        assert_eq!(folder.open(b"c.txt", 12), None);
    }

    #[test]
    #[cfg(unix)]
    fn there_is_no_way_out() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let inside = scratch.path().join("inside");
        std::fs::create_dir(&inside).expect("created");
        std::fs::write(scratch.path().join("secret"), "s").expect("written");
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, inside.join(name)).expect("linked");
        };
        link("../secret", "file");
        link("..", "up");
        link("/", "root");
        let mut folder = Folder::new(&inside).expect("there");
        for name in ["../secret", "file", "up/secret", "root/etc/passwd", "/etc/passwd", "", "."] {
            assert_eq!(folder.open(name.as_bytes(), 0), None, "{name}");
            assert_eq!(folder.open(name.as_bytes(), 4), None, "{name}");
        }
        for name in ["../secret", "up/secret", "/etc/hostname"] {
            assert!(!folder.remove(name.as_bytes()), "{name}");
            assert!(!folder.rename(b"file", name.as_bytes()), "{name}");
            assert!(!folder.rename(name.as_bytes(), b"here"), "{name}");
        }
        assert_eq!(folder.open(b"\xff", 4), None);
        assert_eq!(std::fs::read(scratch.path().join("secret")).expect("there"), b"s");
    }
}
