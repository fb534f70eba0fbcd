//! What Cargo compiles for this computer, taken over from one build into another.
//!
//! Each build has a folder of its own, so that those for several socs can run side by side. The
//! macros and build scripts are the same in all of them, and take longer than the firmware.
//! Cargo itself tells what of them still holds, by what it has noted beside them and by the
//! times of files; those are kept here.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::cache::{all_builds, lock_of};

/// Where Cargo's folder is in that of a build.
pub const CARGO: &str = "cargo";
/// In Cargo's folder, what is for this computer. What is for the target is elsewhere.
const HOST: &str = "release";

/// Gives a build that is to begin what another one in the folder of builds has, if there is one:
/// one of the same kernel's, or else of any. One that is under way is left alone.
///
/// # Errors
/// When files cannot be copied. Nothing is there then, as if there had been none.
pub fn take_over(folder: &Path, out: &Path) -> io::Result<()> {
    let ours = out.join(CARGO).join(HOST);
    if ours.exists() {
        return Ok(());
    }
    let mut others = all_builds(folder);
    others.retain(|other| other != out && other.join(CARGO).join(HOST).is_dir());
    others.sort_by_key(|other| (other.file_name() != out.file_name(), other.clone()));
    for other in others {
        // As long as it is held, nobody builds there.
        let Ok(lock) = File::open(lock_of(&other)) else { continue };
        if lock.try_lock_shared().is_err() {
            continue;
        }
        let part = out.join(CARGO).join(format!("{HOST}.part"));
        // From a run that was broken off.
        let _ = std::fs::remove_dir_all(&part);
        let copied = copy(&other.join(CARGO).join(HOST), &part);
        return copied.and_then(|()| std::fs::rename(&part, &ours)).inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&part);
        });
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            std::fs::copy(&from, &to)?;
            let modified = entry.metadata()?.modified()?;
            File::options().append(true).open(&to)?.set_modified(modified)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// A build that has compiled one thing, an hour ago.
    fn build(out: &Path, compiled: &str) -> File {
        let folder = out.join(CARGO).join(HOST).join("deps");
        std::fs::create_dir_all(&folder).expect("writable");
        std::fs::write(folder.join("libsyn.rlib"), compiled).expect("writable");
        let file = File::options().append(true).open(folder.join("libsyn.rlib")).expect("there");
        file.set_modified(an_hour_ago()).expect("its own");
        File::create(lock_of(out)).expect("writable")
    }

    fn an_hour_ago() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
    }

    #[test]
    fn what_another_build_has_is_taken_over_with_its_times() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let at = |soc: &str, kernel: &str| {
            scratch.path().join("key").join(soc).join("documented").join(kernel)
        };
        let taken =
            |out: &Path| std::fs::read_to_string(out.join("cargo/release/deps/libsyn.rlib"));
        let first = at("a", "rtic");
        take_over(scratch.path(), &first).expect("nothing to do");
        assert!(!first.exists());
        build(&first, "rtic's");
        let busy = build(&at("b", "embassy"), "embassy's");

        // The same kernel's first, unless that is under way.
        busy.lock().expect("free");
        let second = at("c", "embassy");
        take_over(scratch.path(), &second).expect("copied");
        assert_eq!(taken(&second).expect("there"), "rtic's");
        busy.unlock().expect("ours");
        let third = at("d", "embassy");
        take_over(scratch.path(), &third).expect("copied");
        assert_eq!(taken(&third).expect("there"), "embassy's");
        let file = third.join("cargo/release/deps/libsyn.rlib");
        let modified = std::fs::metadata(file).and_then(|file| file.modified());
        assert_eq!(modified.expect("told"), an_hour_ago());

        // What is there is left alone.
        take_over(scratch.path(), &second).expect("nothing to do");
        assert_eq!(taken(&second).expect("there"), "rtic's");
    }
}
