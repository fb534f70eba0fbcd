use super::*;

#[test]
fn files_are_written_read_and_removed() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let mut folder = Folder::new(scratch.path()).expect("there");
    let file = folder.open(b"a.txt", 4).expect("created");
    assert_eq!(folder.write(file, b"hello"), Some(5));
    assert_eq!(folder.length(file), Some(5));
    assert!(folder.close(file) && !folder.close(file));
    assert!(folder.rename(b"a.txt", b"b.txt"));
    let file = folder.open(b"b.txt", 0).expect("there");
    let mut bytes = [0; 8];
    assert!(folder.seek(file, 1));
    assert_eq!((folder.read(file, &mut bytes), &bytes[..4]), (Some(4), b"ello".as_slice()));
    assert_eq!(folder.write(file, b"x"), None, "it is for reading");
    assert!(folder.remove(b"b.txt") && folder.open(b"b.txt", 0).is_none());
    assert_eq!(folder.open(b"c.txt", 12), None);
}

#[test]
#[cfg(unix)]
fn paths_cannot_leave_the_folder() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let inside = scratch.path().join("inside");
    std::fs::create_dir(&inside).expect("created");
    std::fs::write(scratch.path().join("secret"), "s").expect("written");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, inside.join(name)).expect("linked");
    };
    link("../secret", "file");
    link("..", "up");
    link("/", "root");
    let mut folder = Folder::new(&inside).expect("there");
    for name in ["../secret", "file", "up/secret", "root/etc/passwd", "/etc/passwd", "", "."] {
        assert_eq!(folder.open(name.as_bytes(), 0), None, "{name}");
        assert_eq!(folder.open(name.as_bytes(), 4), None, "{name}");
    }
    for name in ["../secret", "up/secret", "/etc/hostname"] {
        assert!(!folder.remove(name.as_bytes()), "{name}");
        assert!(!folder.rename(b"file", name.as_bytes()), "{name}");
        assert!(!folder.rename(name.as_bytes(), b"here"), "{name}");
    }
    assert_eq!(folder.open(b"\xff", 4), None);
    assert_eq!(std::fs::read(scratch.path().join("secret")).expect("there"), b"s");
}
