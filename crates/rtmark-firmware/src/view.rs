//! Provides folders under names that make can handle.
//!
//! Make ends a name at a space, and gives several other characters a special meaning. If a folder's
//! path contains one, builds by make see it through a view: folders with plain names that contain a
//! symbolic link for each file. The view of a build's results is a single link, because make never
//! works inside it. Cargo needs none of this.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::FirmwareError;
use crate::builder::at;
use crate::cache::{Cache, lock, short};

/// Tells whether make and the shell take a path as one literal word.
fn is_plain(path: &Path) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte) || byte >= 0x80;
    path.as_os_str().as_encoded_bytes().iter().all(|byte| plain(*byte))
}

/// Returns the folder for views, which also works if the user's own folders have such names.
fn place(cache: &Cache) -> Result<PathBuf, FirmwareError> {
    let views = cache.views();
    if is_plain(&views) {
        fs::create_dir_all(&views).map_err(at(&views))?;
        return Ok(views);
    }
    let temporary = std::env::temp_dir();
    let named = format!("rtmark-{}", short(cache.folder().as_os_str().as_encoded_bytes()));
    let views = temporary.join(named);
    if !is_plain(&views) {
        let message = "make cannot work in a folder with such a name, nor in the folder for temporary \
                       files; set RTMARK_BUILD to a path of letters and digits";
        return Err(at(&views)(io::Error::other(message)));
    }
    make_private(&views, cache.folder()).map_err(at(&views))?;
    Ok(views)
}

/// Creates a folder in a location where everybody may create some, or checks that it has the same owner
/// as another folder.
#[cfg(unix)]
fn make_private(folder: &Path, like: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    fs::create_dir_all(like)?;
    let (there, ours) = (fs::symlink_metadata(folder)?, fs::metadata(like)?);
    if there.is_dir() && there.uid() == ours.uid() {
        return Ok(());
    }
    Err(io::Error::other("it belongs to somebody else; remove it, or set RTMARK_BUILD"))
}

#[cfg(not(unix))]
fn make_private(folder: &Path, _: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Returns the name by which make finds a folder that it only writes to or reads from.
pub(crate) fn name_of(cache: &Cache, folder: &Path) -> Result<PathBuf, FirmwareError> {
    if is_plain(folder) {
        return Ok(folder.to_owned());
    }
    let view = place(cache)?.join(short(folder.as_os_str().as_encoded_bytes()));
    fs::create_dir_all(folder).map_err(at(folder))?;
    link(folder, &view).map_err(at(&view))?;
    Ok(view)
}

/// Returns a folder in which make can work: the folder itself, or a view of it.
pub(crate) fn work_folder(cache: &Cache, folder: &Path) -> Result<PathBuf, FirmwareError> {
    if is_plain(folder) {
        return Ok(folder.to_owned());
    }
    // Files beside it must be accessible too, as in `include ../common.mk`.
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Ok(folder.to_owned());
    };
    let view = place(cache)?.join(short(folder.as_os_str().as_encoded_bytes()) + ".d");
    let name = if is_plain(Path::new(name)) { PathBuf::from(name) } else { "kernel".into() };
    fs::create_dir_all(&view).map_err(at(&view))?;
    // Parallel builds share a view.
    let _held = lock(&view)?;
    for entry in fs::read_dir(parent).map_err(at(parent))?.flatten() {
        if entry.path() != folder {
            let beside = view.join(entry.file_name());
            link(&entry.path(), &beside).map_err(at(&beside))?;
        }
    }
    let view = view.join(name);
    mirror(folder, &view).map_err(at(&view))?;
    Ok(view)
}

/// Mirrors a folder: a link for each file, and a folder for each subfolder.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let path = entry?.path();
        let there = path.file_name().is_some_and(|name| from.join(name).exists());
        if !there && fs::symlink_metadata(&path).is_ok_and(|known| known.is_symlink()) {
            fs::remove_file(&path)?;
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let hidden = name.as_encoded_bytes().starts_with(b".");
        if path.is_dir() && !hidden && name != "target" {
            mirror(&path, &to.join(name))?;
        } else {
            link(&path, &to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(to: &Path, name: &Path) -> io::Result<()> {
    use std::os::unix::fs::symlink;
    if fs::read_link(name).is_ok_and(|known| known == to) {
        return Ok(());
    }
    // Through a temporary name, since somebody may be using it.
    let thread = std::thread::current().id();
    let part = name.with_extension(format!("{}.{thread:?}.part", std::process::id()));
    let _ = fs::remove_file(&part);
    symlink(to, &part).and_then(|()| fs::rename(&part, name))
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("make cannot work below a path with spaces here; use another path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_left_unchanged() {
        for path in ["/home/jürgen/a-b_c+d.e", "/測量/x"] {
            assert!(is_plain(Path::new(path)), "{path}");
        }
        for path in ["/a b", "/a:b", "/a$b", "/a#b", "/a'b", "/a%b", "/a=b", "/a;b", "/a\\b"] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_view_reflects_current_files() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = Cache::at(&scratch.path().join("cache"));
        let folder = scratch.path().join("my own/loop #1");
        fs::create_dir_all(folder.join("src/deep")).expect("writable");
        fs::write(folder.join("src/deep/a.c"), "a").expect("writable");
        fs::write(folder.join("old.c"), "old").expect("writable");
        for (left, file) in [(".git", ".git/x"), ("target", "target/x")] {
            fs::create_dir(folder.join(left)).expect("writable");
            fs::write(folder.join(file), "x").expect("writable");
        }
        fs::write(scratch.path().join("my own/common.mk"), "x").expect("writable");
        let view = work_folder(&cache, &folder).expect("a view");
        assert!(is_plain(&view), "{}", view.display());
        let read = |name: &str| fs::read_to_string(view.join(name)).ok();
        assert_eq!(read("src/deep/a.c").as_deref(), Some("a"));
        assert_eq!(read("../common.mk").as_deref(), Some("x"));
        assert_eq!(view.canonicalize().ok().as_deref(), Some(view.as_path()), "no link itself");
        let is_link = |name: &str| fs::symlink_metadata(view.join(name)).map(|it| it.is_symlink());
        // What Cargo and git write there is the user's.
        assert!([".git", "target"].iter().all(|name| is_link(name).expect("there")));
        assert!(!is_link("src").expect("there"));

        fs::remove_file(folder.join("old.c")).expect("there");
        fs::write(folder.join("new.c"), "new").expect("writable");
        assert_eq!(work_folder(&cache, &folder).expect("a view"), view);
        assert_eq!((is_link("old.c").ok(), read("new.c").as_deref()), (None, Some("new")));
        fs::remove_dir_all(folder.join("src")).expect("there");
        assert_eq!(work_folder(&cache, &folder).expect("a view"), view);
        let out = name_of(&cache, &scratch.path().join("out put")).expect("a link");
        fs::write(out.join("x.elf"), "elf").expect("writable");
        assert!(scratch.path().join("out put/x.elf").is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_cache_whose_name_make_cannot_read_has_its_views_elsewhere() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let cache = Cache::at(&scratch.path().join("my cache"));
        let view = name_of(&cache, &scratch.path().join("out put")).expect("a link");
        assert!(is_plain(&view), "{}", view.display());
        fs::write(view.join("x.elf"), "elf").expect("writable");
        assert!(scratch.path().join("out put/x.elf").is_file());
        fs::remove_dir_all(view.parent().expect("a folder")).expect("ours");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_leads_where_it_was_made_to_last() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let name = scratch.path().join("name");
        for to in ["/one", "/one", "/other"] {
            link(Path::new(to), &name).expect("made");
            assert_eq!(fs::read_link(&name).expect("a link"), Path::new(to));
        }
    }
}
