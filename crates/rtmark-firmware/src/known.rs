//! Finds the results of an earlier build without running its build system.
//!
//! If all sources are known, a build is a function of them, of its tools and of its parameters. These
//! are hashed into a key, and a finished build records its results under that key. A record is valid as
//! long as the images are unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rtmark_model::{Compiler, Settings};
use serde::{Deserialize, Serialize};

use crate::builder::write_if_changed;
use crate::{BuiltImage, sha256};

/// The number of records kept for a build: of its other images and, for a while, of earlier sources.
const MAX_RECORDS: usize = 64;

#[derive(Debug, Deserialize, Serialize)]
struct Known {
    image: BTreeMap<String, KnownImage>,
}

#[derive(Debug, Deserialize, Serialize)]
struct KnownImage {
    sha256: String,
    compiler: Compiler,
    settings: Settings,
}

fn folder(out: &Path) -> PathBuf {
    out.join("known")
}

/// Returns the results of the build with this key, if its images still exist.
pub(crate) fn find(out: &Path, key: &str) -> Option<BTreeMap<String, BuiltImage>> {
    let text = fs::read_to_string(folder(out).join(key)).ok()?;
    let known: Known = toml::from_str(&text).ok()?;
    let found = known.image.into_iter().map(|(name, image)| {
        let KnownImage { sha256: digest, compiler, settings } = image;
        let path = out.join(&name).with_extension("elf");
        let elf = fs::read(&path).ok()?;
        let same = sha256(&elf) == digest;
        same.then_some((name, BuiltImage { path, elf, sha256: digest, compiler, settings }))
    });
    found.collect()
}

/// Records the results of a build. Failing to do so is not a build failure.
pub(crate) fn note(out: &Path, key: &str, images: &BTreeMap<String, BuiltImage>) {
    let of = |(name, image): (&String, &BuiltImage)| {
        let BuiltImage { sha256, compiler, settings, .. } = image.clone();
        (name.clone(), KnownImage { sha256, compiler, settings })
    };
    let known = Known { image: images.iter().map(of).collect() };
    let Ok(text) = toml::to_string(&known) else { return };
    let folder = folder(out);
    if write_if_changed(&folder.join(key), text.as_bytes()).is_err() {
        return;
    }
    let mut all = crate::cache::below(&folder);
    if all.len() > MAX_RECORDS {
        let age = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        all.sort_by_cached_key(age);
        for old in &all[..all.len() - MAX_RECORDS] {
            let _ = fs::remove_file(old);
        }
    }
}

/// Returns a digest of the names and contents of all files in a folder and its subfolders, except
/// hidden files and Cargo's build results.
pub(crate) fn digest_of(folder: &Path) -> Option<String> {
    fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Option<()> {
        for entry in fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            let (path, name) = (entry.path(), entry.file_name());
            if name == "target" || name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if path.is_dir() {
                list(&path, files)?;
            } else {
                files.push(path);
            }
        }
        Some(())
    }
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut all = Vec::new();
    for path in files {
        all.extend(path.strip_prefix(folder).ok()?.as_os_str().as_encoded_bytes());
        all.push(0);
        all.extend(sha256(&fs::read(&path).ok()?).into_bytes());
    }
    Some(sha256(&all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Setting;

    #[test]
    fn builds_are_found_until_their_sources_change() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let out = scratch.path();
        let image = |elf: &[u8]| BuiltImage {
            path: out.join("thread.elf"),
            elf: elf.to_vec(),
            sha256: sha256(elf),
            compiler: Compiler { version: "gcc 1".into(), flags: vec!["-O2".into()] },
            settings: [
                ("lto".to_owned(), Setting::Switch(true)),
                ("opt".to_owned(), Setting::Text("2".into())),
                ("tick_hz".to_owned(), Setting::Number(1000)),
            ]
            .into(),
        };
        fs::write(out.join("thread.elf"), "one").expect("writable");
        note(out, "key", &[("thread".to_owned(), image(b"one"))].into());
        let found = find(out, "key").expect("known");
        assert_eq!(found["thread"].elf, b"one");
        assert_eq!(found["thread"].settings, image(b"one").settings);
        assert_eq!(found["thread"].compiler, image(b"one").compiler);
        assert!(find(out, "another").is_none());
        // Somebody has built another one since.
        fs::write(out.join("thread.elf"), "two").expect("writable");
        assert!(find(out, "key").is_none());
    }

    #[test]
    fn the_records_written_last_are_kept() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (out, images) = (scratch.path(), BTreeMap::new());
        let write = |number: usize| {
            note(out, &number.to_string(), &images);
            let file = fs::File::options().write(true).open(folder(out).join(number.to_string()));
            let age = std::time::Duration::from_hours(100 - number as u64);
            file.expect("written")
                .set_modified(std::time::SystemTime::now() - age)
                .expect("its own");
        };
        (0..MAX_RECORDS + 2).for_each(write);
        let is_kept = |number: usize| find(out, &number.to_string()).is_some();
        assert_eq!(crate::cache::below(&folder(out)).len(), MAX_RECORDS);
        assert!(!is_kept(0) && !is_kept(1) && (2..MAX_RECORDS + 2).all(is_kept));
    }

    #[test]
    fn digests_cover_every_source_and_no_build_output() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let write = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        };
        let digest = || digest_of(scratch.path()).expect("readable");
        write("k/main.c", "1");
        let first = digest();
        write("target/x", "1");
        write("k/target/x", "1");
        write(".git/x", "1");
        assert_eq!(digest(), first);
        write("k/main.c", "2");
        let second = digest();
        assert_ne!(second, first);
        write("k/more.c", "");
        assert_ne!(digest(), second);
    }
}
