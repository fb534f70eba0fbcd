//! Embeds files from above a crate's folder, for use in build scripts.
//!
//! Cargo packages nothing from above a crate's folder, and no package inside it. So the crates that
//! need such files take them from the checkout when built there, and from an archive when built as a
//! package. `scripts/package` puts the archives into the crates' folders.
//!
//! This crate does not know what the files mean.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The archive in a package, and in the build's output folder.
pub const ARCHIVE: &str = "archive.tar";

/// Embeds these folders of the repository in a crate.
///
/// Writes `files.rs` into the build's output folder: a slice of tuples of path and bytes, sorted by
/// path; and [`ARCHIVE`], which a package of the crate contains. Errors are reported to Cargo, which
/// ends the build.
#[expect(clippy::print_stdout, reason = "this is how build scripts talk to Cargo")]
pub fn embed(folders: &[&str]) {
    let directives = match collect(folders) {
        Ok(watched) => watched.iter().fold(String::new(), |mut text, path| {
            let _ = writeln!(text, "cargo::rerun-if-changed={}", path.display());
            text
        }),
        Err(problem) => format!("cargo::error={problem}\n"),
    };
    print!("{directives}");
}

/// Does the work, and returns the paths whose changes require a rebuild.
fn collect(folders: &[&str]) -> Result<Vec<PathBuf>, String> {
    let folder = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("Cargo sets no {name}"))
    };
    let (here, out) = (folder("CARGO_MANIFEST_DIR")?, folder("OUT_DIR")?);
    let checkout = here.join("../..");
    let packaged = here.join(ARCHIVE);
    let mut watched = vec![here.join("build.rs")];
    let root = if folders.iter().all(|name| checkout.join(name).is_dir()) {
        checkout.canonicalize().map_err(|error| format!("{}: {error}", checkout.display()))?
    } else if packaged.is_file() {
        let unpacked = out.join("files");
        unpack(&packaged, &unpacked).map_err(|error| format!("{}: {error}", packaged.display()))?;
        watched.push(packaged);
        unpacked
    } else {
        let here = here.display();
        return Err(format!(
            "{here} is not in a checkout of rtmark and has no {ARCHIVE}: packages of this crate \
             are made by scripts/package"
        ));
    };
    let mut files = Vec::new();
    for name in folders {
        list(&root, name, &mut files, &mut watched)?;
    }
    files.sort();
    let written = fs::write(out.join("files.rs"), table(&root, &files));
    let archived = written.and_then(|()| pack(&root, &files, &out.join(ARCHIVE)));
    archived.map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(watched)
}

/// Lists the files of a folder and its subfolders, by their names relative to the root, with slashes.
fn list(
    root: &Path,
    name: &str,
    files: &mut Vec<String>,
    watched: &mut Vec<PathBuf>,
) -> Result<(), String> {
    let folder = root.join(name);
    let describe = |error: io::Error| format!("{}: {error}", folder.display());
    // A new file must be noticed too; but Cargo watches everything below a folder, including what other
    // builds leave there.
    let built = folder.join("target");
    if !built.is_dir() {
        watched.push(folder.clone());
    }
    for entry in fs::read_dir(&folder).map_err(describe)? {
        let path = entry.map_err(describe)?.path();
        let Some(file) = path.file_name().and_then(|file| file.to_str()) else {
            return Err(format!("{}: its name is not Unicode", path.display()));
        };
        let name = format!("{name}/{file}");
        if path.is_file() {
            watched.push(path);
            files.push(name);
        } else if path != built {
            list(root, &name, files, watched)?;
        }
    }
    Ok(())
}

fn table(root: &Path, files: &[String]) -> String {
    let mut text = String::from("&[\n");
    for file in files {
        let path = root.join(file).display().to_string();
        let _ = writeln!(text, "    ({file:?}, include_bytes!({path:?})),");
    }
    text + "]\n"
}

/// Packs files into an archive that is the same for the same files, regardless of their owners and
/// times.
fn pack(root: &Path, files: &[String], archive: &Path) -> io::Result<()> {
    let mut builder = tar::Builder::new(io::BufWriter::new(File::create(archive)?));
    for file in files {
        let bytes = fs::read(root.join(file))?;
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        builder.append_data(&mut header, file, bytes.as_slice())?;
    }
    builder.into_inner()?.into_inner().map(drop).map_err(io::IntoInnerError::into_error)
}

fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    tar::Archive::new(File::open(archive)?).unpack(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_restores_everything_but_cargo_output() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let root = scratch.path().join("from");
        for (name, text) in [("a/b c/ü.txt", "1"), ("a/x", "2"), ("a/target/junk", "3")] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        let (mut files, mut watched) = (Vec::new(), Vec::new());
        list(&root, "a", &mut files, &mut watched).expect("readable");
        files.sort();
        assert_eq!(files, ["a/b c/ü.txt", "a/x"]);
        assert!(!watched.contains(&root.join("a")), "Cargo would look into a/target: {watched:?}");
        assert!(watched.contains(&root.join("a/b c")), "{watched:?}");

        let archive = scratch.path().join(ARCHIVE);
        pack(&root, &files, &archive).expect("packed");
        let first = fs::read(&archive).expect("there");
        let (to, stale) = (scratch.path().join("to"), scratch.path().join("to/stale"));
        fs::create_dir(&to).and_then(|()| fs::write(&stale, "old")).expect("writable");
        unpack(&archive, &to).expect("unpacked");
        assert_eq!(fs::read_to_string(to.join("a/b c/ü.txt")).expect("there"), "1");
        assert!(!stale.exists() && !to.join("a/target").exists());
        pack(&to, &files, &archive).expect("packed");
        assert!(first == fs::read(&archive).expect("there"), "another archive of the same files");
    }
}
