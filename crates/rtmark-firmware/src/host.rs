//! Reuses what Cargo has compiled for the host in another build.
//!
//! Each build has a separate folder, so that builds for several socs can run in parallel. The macros
//! and build scripts are the same in many of them, and take longer than the firmware. Cargo itself
//! decides which of them are still valid, by the records beside them and by file times; those are
//! preserved.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::cache::{all_builds, lock_file, lock_of};
use crate::tools::rust_target;
use crate::{Cache, Kernel, SettingChanges, Target};

/// Cargo's folder in a build's folder.
pub const CARGO: &str = "cargo";
/// The folder for host code in Cargo's folder. Target code is elsewhere.
const HOST: &str = "release";
/// The file in a build's folder that names the link-time optimisation of its profile.
const LTO: &str = "lto";

/// What a build's host code depends on besides its sources.
#[derive(Clone, Debug)]
pub struct HostCode {
    /// The profile's link-time optimisation. Cargo compiles host code anew for each value, and has no
    /// override of it for host code, as it has for the other keys of a profile.
    lto: String,
    /// The target, which decides about some of the macro crates.
    triple: &'static str,
}

impl HostCode {
    /// Returns what the host code of a build depends on.
    pub fn of(kernel: &Kernel, target: &Target, changes: &SettingChanges) -> Self {
        let profile = changes.cargo_profile(&kernel.manifest);
        let lto = profile.iter().find(|(key, _)| *key == "lto");
        Self {
            lto: lto.map_or_else(String::new, |(_, value)| value.trim_matches('"').to_owned()),
            triple: rust_target(&target.core).unwrap_or_default(),
        }
    }
}

/// Copies host code into a new build from another build in the cache: preferably of the same kernel for
/// the same target. A build in progress is left alone, but of several new builds of a kernel only one
/// compiles what no other build has: the others wait for it.
///
/// Returns the lock that makes them wait, for the caller to hold until its build has ended; none if the
/// build need not be waited for.
///
/// # Errors
/// When files cannot be copied. Nothing is left behind then.
pub fn take_over(cache: &Cache, out: &Path, code: &HostCode) -> io::Result<Option<File>> {
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join(LTO), &code.lto)?;
    let cargo = out.join(CARGO);
    if cargo.join(HOST).exists() {
        return Ok(None);
    }
    let kernel = out.file_name().unwrap_or_default().to_string_lossy();
    let turn = lock_file(&cache.host(&format!("{kernel}.{}.{}.lock", code.triple, code.lto)))?;

    let mut others = all_builds(&cache.builds());
    others.retain(|other| {
        let same = || std::fs::read(other.join(LTO)).is_ok_and(|lto| lto == code.lto.as_bytes());
        other != out && other.join(CARGO).join(HOST).is_dir() && same()
    });
    let fits = |other: &Path| {
        (other.file_name() == out.file_name(), other.join(CARGO).join(code.triple).is_dir())
    };
    others.sort_by_cached_key(|other| (std::cmp::Reverse(fits(other)), other.clone()));
    for other in others {
        // While the lock is held, nobody builds there.
        let Ok(lock) = File::open(lock_of(&other)) else { continue };
        if lock.try_lock_shared().is_err() {
            continue;
        }
        let part = cargo.join(format!("{HOST}.part"));
        // Left over from an interrupted run.
        let _ = std::fs::remove_dir_all(&part);
        let copied = copy(&other.join(CARGO).join(HOST), &part);
        copied.and_then(|()| std::fs::rename(&part, cargo.join(HOST))).inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&part);
        })?;
        return Ok(if fits(&other) == (true, true) { None } else { Some(turn) });
    }
    Ok(Some(turn))
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
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::*;

    /// Creates a build that compiled one thing an hour ago, for one target.
    fn build(out: &Path, compiled: &str) -> File {
        let folder = out.join(CARGO).join(HOST).join("deps");
        std::fs::create_dir_all(&folder).expect("writable");
        std::fs::create_dir_all(out.join(CARGO).join("thumbv6m")).expect("writable");
        std::fs::write(out.join(LTO), "fat").expect("writable");
        std::fs::write(folder.join("libsyn.rlib"), compiled).expect("writable");
        let file = File::options().append(true).open(folder.join("libsyn.rlib")).expect("there");
        file.set_modified(an_hour_ago()).expect("its own");
        File::create(lock_of(out)).expect("writable")
    }

    fn an_hour_ago() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
    }

    fn with(lto: &str) -> HostCode {
        HostCode { lto: lto.to_owned(), triple: "thumbv6m" }
    }

    fn at(cache: &Cache, soc: &str, kernel: &str) -> PathBuf {
        cache.builds().join("key").join(soc).join("documented").join(kernel)
    }

    fn taken(out: &Path) -> String {
        std::fs::read_to_string(out.join("cargo/release/deps/libsyn.rlib")).expect("there")
    }

    #[test]
    fn files_of_another_build_are_copied_with_their_times() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = &Cache::at(scratch.path());
        let first = at(cache, "a", "rtic");
        take_over(cache, &first, &with("fat")).expect("nothing to copy").expect("the first one");
        assert!(!first.join("cargo/release").exists());
        build(&first, "rtic's");
        let busy = build(&at(cache, "b", "embassy"), "embassy's");

        // The same kernel's build is preferred, unless it is in progress.
        busy.lock().expect("free");
        let second = at(cache, "c", "embassy");
        take_over(cache, &second, &with("fat")).expect("copied").expect("more to compile");
        assert_eq!(taken(&second), "rtic's");
        busy.unlock().expect("ours");
        let third = at(cache, "d", "embassy");
        assert!(take_over(cache, &third, &with("fat")).expect("copied").is_none());
        assert_eq!(taken(&third), "embassy's");
        let file = third.join("cargo/release/deps/libsyn.rlib");
        let modified = std::fs::metadata(file).and_then(|file| file.modified());
        assert_eq!(modified.expect("told"), an_hour_ago());

        // An existing folder is left alone.
        assert!(take_over(cache, &second, &with("fat")).expect("nothing to do").is_none());
        assert_eq!(taken(&second), "rtic's");
    }

    #[test]
    fn host_code_of_other_profiles_is_not_copied() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = &Cache::at(scratch.path());
        build(&at(cache, "a", "embassy"), "with LTO");
        let out = at(cache, "b", "embassy");
        take_over(cache, &out, &with("false")).expect("nothing to copy").expect("the first one");
        assert!(!out.join("cargo/release").exists());
    }

    #[test]
    fn new_builds_of_a_kernel_wait_for_the_first_one() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = &Cache::at(scratch.path());
        let first = at(cache, "a", "embassy");
        let turn = take_over(cache, &first, &with("fat"))
            .expect("nothing to copy")
            .expect("the first one");
        std::thread::scope(|scope| {
            let second = at(cache, "b", "embassy");
            let waiting = scope.spawn(move || {
                assert!(take_over(cache, &second, &with("fat")).expect("copied").is_none());
                taken(&second)
            });
            // Another kernel does not wait.
            let other = at(cache, "a", "rtic");
            take_over(cache, &other, &with("fat"))
                .expect("nothing to copy")
                .expect("the first one");
            std::thread::sleep(Duration::from_millis(50));
            assert!(!waiting.is_finished());
            build(&first, "embassy's");
            drop(turn);
            assert_eq!(waiting.join().expect("no panic"), "embassy's");
        });
    }
}
