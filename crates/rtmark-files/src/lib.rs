//! The data files built into rtmark: scenarios, socs, machines, boards and published figures, as they
//! are in the repository.
//!
//! The build script takes them from there, or from the archive of a package. This crate knows names and
//! bytes, but not their meaning. What only the command line needs is in a crate of its own,
//! `rtmark-sources`, so that changes to it recompile little else.
//!
//! ```
//! const CHIP: &str = rtmark_files::text("socs/stm32c031.toml");
//! assert!(CHIP.contains("cortex-m0plus"));
//! assert!(rtmark_files::FILES.iter().any(|(path, _)| *path == "catalogue/isr.toml"));
//! ```

/// A file: its path in the repository, with slashes, and its contents.
pub type File = (&'static str, &'static [u8]);

/// All files, sorted by path.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The archive that a package of this crate contains.
pub const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/archive.tar"));

/// Returns the text of a file. In constants, a missing file is a compilation error.
///
/// # Panics
/// Outside of constants, when the file does not exist or is not text.
#[must_use]
pub const fn text(path: &str) -> &'static str {
    let mut index = 0;
    while index < FILES.len() {
        let (name, bytes) = FILES[index];
        if same(name.as_bytes(), path.as_bytes()) {
            return match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => panic!("the file is no text"),
            };
        }
        index += 1;
    }
    panic!("no such file comes with rtmark")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}
