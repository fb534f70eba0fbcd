//! The build cache: one folder for all projects of a user.
//!
//! ```text
//! builds/<sources>/<soc>/<settings>/<kernel>   a build, and beside it its lock
//! firmware/<digest>                            firmware sources that came with the program
//! kept/<digest>.elf                            images, by what is in them
//! linker                                       a wrapper for the linker
//! host/<sources>                               programs for this computer that builds run
//! host/<kernel>.<target>.<lto>.lock            held while a kernel's host code is compiled at first
//! views/<digest>                               folders under names that make can read
//! ```
//!
//! The folder's name reflects what a build was made of: the content of sources that came with the
//! program, which nobody changes, or the location of sources that are edited, so that an edited tree is
//! built in the same folder as before. Everything can be rebuilt except the kept images, which the gate
//! examines.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::builder::at;
use crate::{FirmwareError, sha256};

/// The environment variable that sets the folder.
pub const BUILD_VARIABLE: &str = "RTMARK_BUILD";

/// How long an unused build is kept.
pub const UNUSED: Duration = Duration::from_hours(30 * 24);
/// The interval between searches for unused builds.
const TIDY_INTERVAL: Duration = Duration::from_hours(24);

/// The location of builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// The disk usage of one part of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its folder.
    pub folder: PathBuf,
    /// The number of builds, source trees or images.
    pub count: usize,
    /// Their size, in bytes.
    pub bytes: u64,
}

/// The result of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of builds and source trees removed.
    pub folders: usize,
    /// Their size, in bytes.
    pub bytes: u64,
    /// The number of builds that were in use and remain.
    pub busy: usize,
}

impl Default for Cache {
    /// Returns the cache set by the environment: `$RTMARK_BUILD`, or else `rtmark` in the user's cache
    /// folder.
    fn default() -> Self {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        Self::at(&place(variable).unwrap_or_else(|| std::env::temp_dir().join("rtmark")))
    }
}

fn place(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(folder) = variable(BUILD_VARIABLE) {
        return Some(folder);
    }
    // According to the XDG specification, a relative path there is to be ignored.
    let cache = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".cache"));
    let windows = || variable("LOCALAPPDATA");
    cache.or_else(home).or_else(windows).map(|folder| folder.join("rtmark"))
}

/// Returns the first digits of a digest, as used in folder names.
pub(crate) fn short(bytes: &[u8]) -> String {
    let mut digest = sha256(bytes);
    digest.truncate(12);
    digest
}

impl Cache {
    /// Creates a cache in a folder, which need not exist yet.
    pub fn at(folder: &Path) -> Self {
        // Must be absolute, as builds run in the kernels' own folders.
        Self { folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()) }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn builds(&self) -> PathBuf {
        self.folder.join("builds")
    }

    pub(crate) fn kept(&self) -> PathBuf {
        self.folder.join("kept")
    }

    /// Returns the folder for host programs that builds of some sources run.
    pub(crate) fn host(&self, source: &str) -> PathBuf {
        self.folder.join("host").join(source)
    }

    fn sources(&self) -> PathBuf {
        self.folder.join("firmware")
    }

    pub(crate) fn views(&self) -> PathBuf {
        self.folder.join("views")
    }

    /// Unpacks sources that came with the program, or finds them unpacked, and returns the folder that
    /// contains the kernels' folders. Changes made to the unpacked files are undone.
    pub(crate) fn unpack(&self, files: &[(&str, &[u8])]) -> Result<PathBuf, FirmwareError> {
        let files = || files.iter().filter(|(path, _)| path.starts_with("firmware/"));
        let named = |listed: Vec<u8>, (path, bytes): &(&str, &[u8])| {
            [listed, path.as_bytes().to_vec(), vec![0], sha256(bytes).into_bytes()].concat()
        };
        let key = short(&files().fold(Vec::new(), named));
        let folder = self.sources().join(key);
        for (path, bytes) in files() {
            crate::builder::write_if_changed(&folder.join(path), bytes)?;
        }
        touch(&folder.join(USED));
        Ok(folder)
    }

    /// Returns the disk usage by part: builds, sources, images.
    pub fn parts(&self) -> Vec<Part> {
        let part = |folder: PathBuf, entries: &[PathBuf]| {
            let bytes = entries.iter().map(|entry| size(entry)).sum();
            Part { folder, count: entries.len(), bytes }
        };
        let kept = below(&self.kept());
        let images: Vec<_> = kept.into_iter().filter(|path| path.is_file()).collect();
        vec![
            part(self.builds(), &all_builds(&self.builds())),
            part(self.sources(), &below(&self.sources())),
            part(self.kept(), &images),
        ]
    }

    /// Removes builds and sources that have been unused for this long, and then the least recently used
    /// builds, until the rest takes no more than `most` bytes. Whatever is in use remains.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn prune(&self, unused: Duration, most: Option<u64>) -> Result<Removed, FirmwareError> {
        let now = SystemTime::now();
        let mut removed = Removed::default();
        let mut builds = all_builds(&self.builds());
        builds.sort_by_cached_key(|build| std::cmp::Reverse(used(build)));
        let mut left = 0;
        for build in builds {
            let idle = now.duration_since(used(&build)).unwrap_or_default();
            // If only age counts, skip computing all sizes.
            let bytes = if most.is_some() { size(&build) } else { 0 };
            if idle < unused && most.is_none_or(|most| left + bytes <= most) {
                left += bytes;
                continue;
            }
            let Some(_lock) = try_lock(&lock_of(&build)) else {
                removed.busy += 1;
                continue;
            };
            removed.bytes += if most.is_some() { bytes } else { size(&build) };
            removed.folders += 1;
            fs::remove_dir_all(&build).map_err(at(&build))?;
        }
        // Sources are used as long as anything is being built from them, which takes less than a day.
        for sources in below(&self.sources()) {
            let idle = now.duration_since(used(&sources)).unwrap_or_default();
            if idle >= unused.max(TIDY_INTERVAL) {
                removed.bytes += size(&sources);
                removed.folders += 1;
                fs::remove_dir_all(&sources).map_err(at(&sources))?;
            }
        }
        Ok(removed)
    }

    /// Removes what has been unused for a month, at most once a day. Failing to do so is not a build
    /// failure.
    pub(crate) fn tidy(&self) {
        let looked = self.folder.join("looked");
        let last = fs::metadata(&looked).and_then(|file| file.modified());
        let Ok(last) = last else { return touch(&looked) };
        if SystemTime::now().duration_since(last).is_ok_and(|since| since > TIDY_INTERVAL) {
            touch(&looked);
            let _ = self.prune(UNUSED, None);
        }
    }
}

/// The file in a build or source folder whose modification time is the folder's last use.
const USED: &str = ".used";

/// Records that something is used.
pub(crate) fn touch(path: &Path) {
    let options = File::options().create(true).append(true).open(path);
    let _ = options.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Records that a build is used.
pub(crate) fn touch_build(out: &Path) {
    touch(&out.join(USED));
}

fn used(folder: &Path) -> SystemTime {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let used = modified(&folder.join(USED)).or_else(|_| modified(folder));
    used.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns the file that is locked during a build. It is beside the build's folder and remains when
/// that is removed, so that two builds never lock different files of the same name.
pub(crate) fn lock_of(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    out.with_file_name(name)
}

/// Waits until nobody else builds there. In a folder without write permission nobody can build, so
/// there is nothing to lock.
pub(crate) fn lock(out: &Path) -> Result<Option<File>, FirmwareError> {
    let path = lock_of(out);
    match lock_file(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_write_protected(&error) => Ok(None),
        Err(error) => Err(at(&path)(error)),
    }
}

/// Waits until nobody else holds the lock of this file, which need not exist yet.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    let file = File::options().create(true).append(true).open(path)?;
    file.lock().map(|()| file)
}

/// Tells whether a file or folder belongs to somebody else, or is read-only.
pub(crate) fn is_write_protected(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn try_lock(path: &Path) -> Option<File> {
    let file = File::options().create(true).append(true).open(path).ok()?;
    file.try_lock().is_ok().then_some(file)
}

pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Returns the folders of builds, one for each combination of tree, soc, variant and kernel.
pub(crate) fn all_builds(folder: &Path) -> Vec<PathBuf> {
    let folders = |folder: PathBuf| {
        below(&folder).into_iter().filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    folders(folder.to_owned())
        .into_iter()
        .flat_map(folders)
        .flat_map(folders)
        .flat_map(folders)
        .collect()
}

/// Returns the size of a file or folder, in bytes.
fn size(path: &Path) -> u64 {
    let Ok(known) = fs::symlink_metadata(path) else { return 0 };
    if known.is_dir() { below(path).iter().map(|entry| size(entry)).sum() } else { known.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn build(cache: &Cache, name: &str, bytes: usize, days: u32) -> PathBuf {
        let out = cache.builds().join("key/soc/product").join(name);
        fs::create_dir_all(out.join("obj")).expect("writable");
        fs::write(out.join("obj/x.o"), vec![0; bytes]).expect("writable");
        let file = File::create(out.join(USED)).expect("writable");
        file.set_modified(SystemTime::now() - DAY * days).expect("its own");
        out
    }

    #[test]
    fn the_location_follows_the_environment() {
        let of = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| PathBuf::from(value))
            };
            place(find).map(|path| path.display().to_string())
        };
        let home = ("HOME", "/home/x");
        assert_eq!(of(&[home]).as_deref(), Some("/home/x/.cache/rtmark"));
        let of_xdg = of(&[home, ("XDG_CACHE_HOME", "/c")]);
        assert_eq!(of_xdg.as_deref(), Some("/c/rtmark"));
        let relative = of(&[home, ("XDG_CACHE_HOME", "c")]);
        assert_eq!(relative.as_deref(), Some("/home/x/.cache/rtmark"));
        let named = of(&[home, ("XDG_CACHE_HOME", "/c"), (BUILD_VARIABLE, "/b")]);
        assert_eq!(named.as_deref(), Some("/b"));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn pruning_removes_only_old_unused_builds() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = Cache::at(scratch.path());
        let old = build(&cache, "old", 1000, 40);
        let held = build(&cache, "held", 10, 40);
        let new = build(&cache, "new", 300, 1);
        let newer = build(&cache, "newer", 200, 0);
        let lock = lock(&held).expect("free").expect("writable");
        assert_eq!(cache.parts()[0].count, 4);
        assert_eq!(cache.parts()[0].bytes, 1510);

        let removed = cache.prune(UNUSED, None).expect("removed");
        assert_eq!(removed, Removed { folders: 1, bytes: 1000, busy: 1 });
        assert!(!old.exists() && held.exists() && new.exists());
        drop(lock);
        // The newest ones remain as far as there is room.
        let removed = cache.prune(UNUSED, Some(250)).expect("removed");
        assert_eq!(removed, Removed { folders: 2, bytes: 310, busy: 0 });
        assert!(newer.exists() && !new.exists() && !held.exists());
    }

    #[test]
    fn pruning_keeps_as_many_of_the_newest_builds_as_there_is_room_for() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = Cache::at(scratch.path());
        let builds = [3, 1, 2].map(|days| build(&cache, &format!("{days}"), 100, days));
        let kept = || [&builds[1], &builds[2], &builds[0]].map(|build| build.exists());
        assert_eq!(cache.prune(UNUSED, Some(300)).expect("nothing").folders, 0);
        // Just enough for two.
        let removed = cache.prune(UNUSED, Some(200)).expect("removed");
        assert_eq!((removed.folders, kept()), (1, [true, true, false]));
        assert_eq!(cache.prune(UNUSED, Some(199)).expect("removed").folders, 1);
        assert_eq!(kept(), [true, false, false]);
    }

    #[test]
    fn pruning_removes_old_sources_until_they_are_used_again() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = Cache::at(scratch.path());
        let unpack = |text: &'static str| {
            let unpacked = cache.unpack(&[("firmware/k/main.c", text.as_bytes())]);
            let folder = unpacked.expect("unpacked");
            let file = File::options().write(true).open(folder.join(USED)).expect("used");
            file.set_modified(SystemTime::now() - DAY * 40).expect("its own");
            folder
        };
        let (old, used) = (unpack("1234"), unpack("12"));
        cache.unpack(&[("firmware/k/main.c", b"12")]).expect("unpacked");
        let removed = cache.prune(UNUSED, None).expect("removed");
        assert_eq!(removed, Removed { folders: 1, bytes: 4, busy: 0 });
        assert!(!old.exists() && used.exists());
        // Something may just be being built from them.
        assert_eq!(cache.prune(Duration::ZERO, None).expect("nothing"), Removed::default());
    }

    #[test]
    fn a_lock_needs_a_folder() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        fs::write(scratch.path().join("file"), "").expect("writable");
        assert!(lock(&scratch.path().join("file/build")).is_err());
        assert!(lock(&scratch.path().join("folder/build")).expect("made").is_some());
    }

    #[test]
    fn unpacked_sources_match_the_embedded_ones() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = Cache::at(scratch.path());
        let unpack = |text: &'static str| {
            cache.unpack(&[("firmware/k/kernel.toml", text.as_bytes())]).expect("unpacked")
        };
        let first = unpack("one");
        assert!(first.starts_with(cache.folder()), "{}", first.display());
        let file = first.join("firmware/k/kernel.toml");
        fs::write(&file, "spoilt").expect("writable");
        assert_eq!(unpack("one"), first);
        assert_eq!(fs::read_to_string(&file).expect("there"), "one");
        assert_ne!(unpack("two"), first, "other sources have another folder");
    }
}
