use std::path::Path;
use std::time::Duration;

use rtmark_model::{Compiler, Settings};

use super::*;
use crate::{Tree, sha256};

fn builder(folder: &Path) -> Builder {
    let tree =
        Tree::find(Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware").as_path()));
    Builder::new(tree.expect("the firmware tree")).in_folder(folder)
}

fn image(elf: &[u8]) -> BuiltImage {
    BuiltImage {
        path: PathBuf::new(),
        elf: elf.to_vec(),
        sha256: sha256(elf),
        compiler: Compiler { version: String::new(), flags: Vec::new() },
        settings: Settings::new(),
    }
}

#[test]
fn an_image_is_found_by_its_digest_alone() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let builder = builder(scratch.path());
    let kept = image(b"an image");
    builder.keep(&kept);
    let cache = builder.cache();
    assert_eq!(cache.image(&kept.sha256), Some(kept.elf.clone()));
    assert_eq!(cache.image(&sha256(b"another")), None);
    // No other path, and no other contents.
    let folder = cache.kept();
    std::fs::write(folder.join("a.elf"), b"another").expect("writable");
    let beyond = format!("{}/../{}", &kept.sha256[..30], &kept.sha256[..30]);
    for path in ["a", "../kept/a", &kept.sha256[..63], &beyond] {
        assert_eq!(cache.image(path), None, "{path}");
    }
    std::fs::write(folder.join(&kept.sha256).with_extension("elf"), b"damaged").expect("writable");
    assert_eq!(cache.image(&kept.sha256), None);
}

/// Only as many are kept as were used last; to be built again is a use.
#[test]
fn the_images_used_last_are_kept() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let builder = builder(scratch.path());
    let folder = builder.cache().kept();
    std::fs::create_dir_all(&folder).expect("writable");
    let hour = Duration::from_hours(1);
    let old = |elf: &[u8], hours: u32| {
        let path = folder.join(sha256(elf)).with_extension("elf");
        std::fs::write(&path, elf).expect("writable");
        let file = std::fs::File::options().write(true).open(&path).expect("there");
        file.set_modified(SystemTime::now() - hour * hours).expect("its own");
    };
    (0..MAX_IMAGES - 2).for_each(|n| old(format!("filler {n}").as_bytes(), 2));
    old(b"oldest", 4);
    old(b"used again", 5);
    let count = || std::fs::read_dir(&folder).expect("there").count();
    let is_kept = |elf: &[u8]| builder.cache().image(&sha256(elf)).is_some();
    builder.keep(&image(b"used again"));
    assert_eq!(count(), MAX_IMAGES);
    builder.keep(&image(b"new"));
    assert_eq!(count(), MAX_IMAGES);
    assert!(is_kept(b"new") && is_kept(b"used again") && is_kept(b"filler 0"));
    assert!(!is_kept(b"oldest"));
}
