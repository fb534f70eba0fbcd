//! Reuses what Cargo has compiled for the host in another build.
//!
//! Each build has a separate folder, so that builds for several socs can run in parallel. The macros
//! and build scripts are the same in all of them, and take longer than the firmware. Cargo itself
//! decides which of them are still valid, by the records beside them and by file times; those are
//! preserved.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::cache::{all_builds, lock_of};

/// Cargo's folder in a build's folder.
pub const CARGO: &str = "cargo";
/// The folder for host code in Cargo's folder. Target code is elsewhere.
const HOST: &str = "release";

/// Copies host code into a new build from another build in the cache, if there is one: preferably of
/// the same kernel. A build in progress is left alone.
///
/// # Errors
/// When files cannot be copied. Nothing is left behind then.
pub fn take_over(folder: &Path, out: &Path) -> io::Result<()> {
    let ours = out.join(CARGO).join(HOST);
    if ours.exists() {
        return Ok(());
    }
    let mut others = all_builds(folder);
    others.retain(|other| other != out && other.join(CARGO).join(HOST).is_dir());
    others.sort_by_key(|other| (other.file_name() != out.file_name(), other.clone()));
    for other in others {
        // While the lock is held, nobody builds there.
        let Ok(lock) = File::open(lock_of(&other)) else { continue };
        if lock.try_lock_shared().is_err() {
            continue;
        }
        let part = out.join(CARGO).join(format!("{HOST}.part"));
        // Left over from an interrupted run.
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

    /// Creates a build that compiled one thing an hour ago.
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
    fn files_of_another_build_are_copied_with_their_times() {
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

        // The same kernel's build is preferred, unless it is in progress.
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

        // An existing folder is left alone.
        take_over(scratch.path(), &second).expect("nothing to do");
        assert_eq!(taken(&second).expect("there"), "rtic's");
    }
}
