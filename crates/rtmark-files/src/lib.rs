//! What rtmark reads and comes with: scenarios, socs, machines, boards and published figures, as they lie
//! in the repository.
//!
//! The build script takes them from there, or from the archive of a package. Names and bytes are known
//! here, and not what they mean. What the command line alone needs is in a crate of its own,
//! `rtmark-sources`, so that its changes compile little else.
//!
//! ```
//! const CHIP: &str = rtmark_files::text("socs/stm32c031.toml");
//! assert!(CHIP.contains("cortex-m0plus"));
//! assert!(rtmark_files::FILES.iter().any(|(path, _)| *path == "catalogue/isr.toml"));
//! ```

/// A file: where it lies in the repository, with slashes, and what it holds.
pub type File = (&'static str, &'static [u8]);

/// All files, by their paths.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The archive that a package of this crate carries.
pub const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/archive.tar"));

/// What a text file says. For constants: where there is no such file, nothing is compiled.
///
/// # Panics
/// Outside of constants, when there is no such file or it is no text.
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
