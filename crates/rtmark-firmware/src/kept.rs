//! Keeps images by their contents, so that one can find out later why a figure differed in an earlier
//! build.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::{Builder, BuiltImage, Cache};

/// The number of images kept: those that were used last.
const MAX_IMAGES: usize = 2048;

impl Builder {
    fn kept_folder(&self) -> PathBuf {
        self.cache().kept()
    }

    /// Keeps an image. Failing to do so is not a build failure.
    pub(crate) fn keep(&self, image: &BuiltImage) {
        let folder = self.kept_folder();
        let path = folder.join(&image.sha256).with_extension("elf");
        if path.is_file() {
            // A run that uses it anew may be compared with later ones.
            let file = std::fs::File::options().write(true).open(&path);
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
            return;
        }
        if std::fs::create_dir_all(&folder).is_err() {
            return;
        }
        // It gets its final name only when it is complete.
        let part = folder.join(format!("{}.{}.part", image.sha256, std::process::id()));
        let written =
            std::fs::write(&part, &image.elf).and_then(|()| std::fs::rename(&part, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        self.remove_old();
    }

    fn remove_old(&self) {
        let Ok(entries) = std::fs::read_dir(self.kept_folder()) else { return };
        let age = |entry: &std::fs::DirEntry| {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            std::cmp::Reverse(modified.unwrap_or(SystemTime::UNIX_EPOCH))
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        if entries.len() > MAX_IMAGES {
            entries.sort_by_cached_key(age);
            for old in &entries[MAX_IMAGES..] {
                let _ = std::fs::remove_file(old.path());
            }
        }
    }
}

impl Cache {
    /// Returns the image with this SHA-256 (in hexadecimal), if it was built here and is still kept.
    pub fn image(&self, sha256: &str) -> Option<Vec<u8>> {
        // The digest may come from a bundle, so make sure that it cannot be any other path.
        let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = self.kept().join(sha256).with_extension("elf");
        let elf = is_digest.then(|| std::fs::read(path).ok()).flatten()?;
        (crate::sha256(&elf) == sha256).then_some(elf)
    }
}

#[cfg(test)]
mod tests;
