//! The source files that rtmark unpacks: the folder `firmware` of the repository, from which it builds
//! what it measures, and `docs/own`, with templates for users' own kernels.
//!
//! The build script takes them from there, or from the archive of a package. Only the command line uses
//! this crate. It does not know how the sources are built.

/// The files: path in the repository, with slashes, and contents; sorted by path.
pub const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The archive that a package of this crate contains.
pub const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/archive.tar"));

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;

    #[cfg(feature = "firmware")]
    #[test]
    fn the_archive_has_every_tracked_file() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let git = Command::new("git").args(["-C", root, "ls-files", "firmware"]).output();
        let listed = git.ok().filter(|output| output.status.success());
        let listed = String::from_utf8(listed.expect("a checkout").stdout).expect("Unicode");
        let brought: BTreeSet<_> = FILES.iter().map(|(path, _)| *path).collect();
        let missing: Vec<_> = listed.lines().filter(|path| !brought.contains(path)).collect();
        assert!(missing.is_empty() && listed.lines().count() > 100, "{missing:?}");
        assert!(!brought.iter().any(|path| path.contains("/target/")));
    }
}
