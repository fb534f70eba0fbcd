//! Reuses what Cargo has compiled in another build: for the host, and packages of a registry for the target.
//!
//! Each build has a separate folder, so that builds for several socs can run in parallel. The macros
//! and build scripts are the same in many of them, and take longer than the firmware; what the firmware uses
//! from a registry is the same in builds with the same profile. Cargo itself decides what of all that is still
//! valid, by the records beside it and by file times; those are preserved.

use std::collections::BTreeSet;
use std::fs::{DirEntry, File};
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
/// The file in a build's folder that contains all of its profile.
const PROFILE: &str = "profile";
/// The folders in which Cargo keeps what belongs to a package, by its name and a digest.
const OF_PACKAGES: [&str; 3] = ["deps", ".fingerprint", "build"];
/// Where Cargo unpacks the packages of registries.
const REGISTRY: &str = "/registry/src/";

/// What a build's code that others can reuse depends on besides its sources.
#[derive(Clone, Debug)]
pub struct CargoCode {
    /// The profile's link-time optimisation. Cargo compiles host code anew for each value, and has no
    /// override of it for host code, as it has for the other keys of a profile.
    lto: String,
    /// The whole profile, with which Cargo compiles the target's code.
    profile: String,
    /// The target, which decides about some of the macro crates, too.
    triple: &'static str,
}

impl CargoCode {
    /// Returns what the reusable code of a build depends on.
    pub fn of(kernel: &Kernel, target: &Target, changes: &SettingChanges) -> Self {
        let profile = changes.cargo_profile(&kernel.manifest);
        let lto = profile.iter().find(|(key, _)| *key == "lto");
        Self {
            lto: lto.map_or_else(String::new, |(_, value)| value.trim_matches('"').to_owned()),
            profile: profile
                .iter()
                .fold(String::new(), |text, (key, value)| text + key + " = " + value + "\n"),
            triple: rust_target(&target.core).unwrap_or_default(),
        }
    }
}

/// Copies compiled code into a new build from another build in the cache: preferably of the same kernel for
/// the same target with the same profile, in which case packages of a registry are copied, too. A build in
/// progress is left alone, but of several new builds of a kernel only one compiles the host code that no other
/// build has: the others wait for it.
///
/// Returns the lock that makes them wait, for the caller to hold until its build has ended; none if the
/// build need not be waited for.
///
/// # Errors
/// When files cannot be copied. Nothing is left behind then.
pub fn take_over(cache: &Cache, out: &Path, code: &CargoCode) -> io::Result<Option<File>> {
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join(LTO), &code.lto)?;
    std::fs::write(out.join(PROFILE), &code.profile)?;
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
    let has_same_profile = |other: &Path| {
        std::fs::read(other.join(PROFILE)).is_ok_and(|profile| profile == code.profile.as_bytes())
    };
    others.sort_by_cached_key(|other| {
        (std::cmp::Reverse((fits(other), has_same_profile(other))), other.clone())
    });
    for other in others {
        // While the lock is held, nobody builds there.
        let Ok(lock) = File::open(lock_of(&other)) else { continue };
        if lock.try_lock_shared().is_err() {
            continue;
        }
        let theirs = other.join(CARGO);
        let is_alike = fits(&other) == (true, true);
        if is_alike && has_same_profile(&other) {
            let of_target = Path::new(code.triple).join(HOST);
            let (from, to) = (theirs.join(&of_target), cargo.join(&of_target));
            // What is missing is compiled.
            let _ = complete(&to, |part| copy_registry_packages(&from, part));
        }
        complete(&cargo.join(HOST), |part| copy(&theirs.join(HOST), part))?;
        return Ok(if is_alike { None } else { Some(turn) });
    }
    Ok(Some(turn))
}

/// Fills a new folder that is seen either as a whole or not at all.
fn complete(folder: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let part = folder.with_extension("part");
    // Left over from an interrupted run.
    let _ = std::fs::remove_dir_all(&part);
    fill(&part).and_then(|()| std::fs::rename(&part, folder)).inspect_err(|_| {
        let _ = std::fs::remove_dir_all(&part);
    })
}

/// Copies from a build of the target's code what belongs to packages of a registry: nothing of the kernel's
/// own workspace, which depends on the soc.
fn copy_registry_packages(from: &Path, to: &Path) -> io::Result<()> {
    let packages = registry_packages(&from.join("deps"))?;
    for folder in OF_PACKAGES {
        std::fs::create_dir_all(to.join(folder))?;
        for entry in std::fs::read_dir(from.join(folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if packages.contains(package_of(&name).as_str()) {
                copy_entry(&entry, &to.join(folder).join(name))?;
            }
        }
    }
    Ok(())
}

/// Returns the crates in a folder of compiled ones that come from a registry, by the lists of sources beside
/// them.
fn registry_packages(deps: &Path) -> io::Result<BTreeSet<String>> {
    let (mut packages, mut own) = (BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(deps)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "d") {
            continue;
        }
        let name = package_of(&path.file_name().unwrap_or_default().to_string_lossy());
        let list = std::fs::read_to_string(&path)?;
        if is_of_registry(&list) {
            packages.insert(name)
        } else {
            own.insert(name)
        };
    }
    packages.retain(|name| !own.contains(name));
    Ok(packages)
}

/// Returns whether a crate comes from a registry. Its list of sources is in the form of Make's rules, and begins
/// with the crate's root.
fn is_of_registry(list: &str) -> bool {
    let rules = list.lines().filter(|line| !line.starts_with('#'));
    let mut roots = rules
        .filter_map(|line| line.split_once(": "))
        .map(|(_, sources)| sources.split_once(".rs").map_or(sources, |(root, _)| root))
        .peekable();
    roots.peek().is_some() && roots.all(|root| root.replace('\\', "/").contains(REGISTRY))
}

/// Returns the name of the package or crate that a file or folder of Cargo's belongs to, in the form of a
/// crate's: `libcortex_m-f21cfe336d4f836e.rlib` and `cortex-m-42f34d0ad44e8a63` belong to `cortex_m`.
fn package_of(name: &str) -> String {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let named = stem.rsplit_once('-').map_or(stem, |(named, _)| named);
    let is_library = matches!(extension, "rlib" | "rmeta");
    let named = if is_library { named.strip_prefix("lib").unwrap_or(named) } else { named };
    named.replace('-', "_")
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy_entry(&entry, &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Copies a file with its time, or a folder with what is in it.
fn copy_entry(entry: &DirEntry, to: &Path) -> io::Result<()> {
    if entry.file_type()?.is_dir() {
        return copy(&entry.path(), to);
    }
    std::fs::copy(entry.path(), to)?;
    File::options().append(true).open(to)?.set_modified(entry.metadata()?.modified()?)
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

    fn with(lto: &str) -> CargoCode {
        CargoCode { lto: lto.to_owned(), profile: format!("lto = {lto}\n"), triple: "thumbv6m" }
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

    /// A list of sources as rustc writes it.
    fn sources(root: &str) -> String {
        format!(
            "/b/deps/libx-1.rmeta: {root}/src/lib.rs {root}/src/README.md\n\n/b/deps/x-1.d: {root}/src/lib.rs\n\n\
             {root}/src/lib.rs:\n\n# env-dep:CARGO_PKG_DESCRIPTION=of: /registry/src/ and more\n"
        )
    }

    #[test]
    fn crates_of_a_registry_are_known_by_their_sources() {
        let lists = [
            (sources("/home/me/.cargo/registry/src/index-1/cortex-m-0.7.10"), true),
            (sources("/home/my\\ self/.cargo/registry/src/index-1/cortex-m-0.7.10"), true),
            (sources("C:\\me\\.cargo\\registry\\src\\index-1\\cortex-m-0.7.10"), true),
            (sources("/home/me/rtmark/firmware/board"), false),
            // Root first: a file that is included does not decide.
            ("/b/x.d: own/src/main.rs /me/.cargo/registry/src/i/c/table.rs\n".to_owned(), false),
            (String::new(), false),
        ];
        for (list, expected) in lists {
            assert_eq!(is_of_registry(&list), expected, "{list}");
        }
        let names =
            ["libcortex_m-f21c.rlib", "cortex_m-f21c.d", "cortex-m-42f3", "libcortex_m-f2.rmeta"];
        assert_eq!(names.map(package_of), ["cortex_m"; 4]);
        assert_eq!(package_of("libm-12.rlib"), "m");
        assert_eq!(package_of("libm-12"), "libm");
    }

    #[test]
    fn target_code_of_a_registry_is_copied_from_a_build_with_the_same_profile() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = &Cache::at(scratch.path());
        let code = with("fat");
        let first = at(cache, "a", "embassy");
        build(&first, "syn");
        std::fs::write(first.join(PROFILE), &code.profile).expect("writable");
        let target = first.join("cargo/thumbv6m/release");
        let files = [
            ("deps/cortex_m-1.d", sources("/me/.cargo/registry/src/i/cortex-m-0.7.10")),
            ("deps/libcortex_m-1.rlib", "code".to_owned()),
            (".fingerprint/cortex-m-1/lib-cortex_m", "digest".to_owned()),
            ("build/cortex-m-2/output", "cargo:".to_owned()),
            ("deps/rtmark_board-3.d", sources("/home/me/rtmark/firmware/board")),
            ("deps/librtmark_board-3.rlib", "of this soc".to_owned()),
            (".fingerprint/rtmark-board-3/lib-rtmark_board", "digest".to_owned()),
            ("deps/boot-4", "an image".to_owned()),
        ];
        for (name, text) in &files {
            let path = target.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            std::fs::write(&path, text).expect("writable");
            let file = File::options().append(true).open(&path).expect("there");
            file.set_modified(an_hour_ago()).expect("its own");
        }

        let second = at(cache, "b", "embassy");
        assert!(take_over(cache, &second, &code).expect("copied").is_none());
        let there = second.join("cargo/thumbv6m/release");
        for (at, (name, _)) in files.iter().enumerate() {
            assert_eq!(there.join(name).is_file(), at < 4, "{name}");
        }
        let copied = std::fs::metadata(there.join("deps/libcortex_m-1.rlib"));
        assert_eq!(copied.and_then(|file| file.modified()).expect("told"), an_hour_ago());

        // With another level of optimisation, or for another kernel, only code for the host is the same.
        let other = CargoCode { profile: "opt-level = 3\n".to_owned(), ..code.clone() };
        for (soc, kernel, code) in [("c", "embassy", other), ("d", "rtic", code)] {
            let out = at(cache, soc, kernel);
            drop(take_over(cache, &out, &code).expect("copied"));
            assert_eq!(taken(&out), "syn");
            assert!(!out.join("cargo/thumbv6m").exists(), "{kernel}");
        }
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
