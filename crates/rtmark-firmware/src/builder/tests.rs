use super::*;

#[test]
fn a_package_takes_the_probes_from_rtmark_unless_it_says_from_where() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for (dependency, is_ours) in [
        ("rtmark-probe = \"1\"", true),
        ("rtmark-probe = { version = \"1\", features = [] }", true),
        ("rtmark-probe = { path = \"../probe\" }", false),
        ("rtmark-probe = { git = \"https://example.org/x\" }", false),
        ("cortex-m = \"0.7\"", false),
    ] {
        let manifest = format!("[dependencies]\n{dependency}\n");
        std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("writable");
        assert_eq!(uses_probe_crate(folder.path()), is_ours, "{dependency}");
    }
}

#[test]
fn a_command_is_shown_as_its_words() {
    assert_eq!(show(Command::new("make").args(["-j2", "thread.elf"])), "make -j2 thread.elf");
}

#[test]
fn unchanged_files_are_not_rewritten() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("a/b.h");
    write_if_changed(&file, b"x").expect("written");
    let written = || std::fs::metadata(&file).and_then(|m| m.modified()).expect("a time");
    let first = written();
    std::thread::sleep(std::time::Duration::from_millis(20));
    write_if_changed(&file, b"x").expect("left");
    assert_eq!(written(), first);
    write_if_changed(&file, b"y").expect("written");
    assert_ne!(written(), first);
    assert_eq!(std::fs::read_dir(folder.path().join("a")).expect("there").count(), 1);
}

/// The crate `rtmark-probe` reads these from the environment.
#[test]
fn counters_and_consoles_are_told_in_hexadecimal() {
    let soc = include_str!("../../../../socs/generic-cortex-m3.toml");
    let soc = rtmark_sim::Soc::from_toml(soc).expect("good");
    let plain = Target::from(&soc);
    assert_eq!(for_rust(&plain), Default::default());
    let start = vec![(0x4000_0000, 1), (0x4000_0004, 0x20)];
    let console = Console { start, data: 0x4000_0010, status: 0x4000_0014, mask: 0x80, ready: 0 };
    let target = Target { console: Some(console), ..plain.clocked(soc.core) };
    let (counter, writes, console) = for_rust(&target);
    assert_eq!(counter, "0xe0001004");
    assert_eq!(writes, "0xe000edfc=0x1000000,0xe0001004=0x0,0xe0001000=0x1");
    let expected = "0x40000010,0x40000014,0x80,0x0,0x40000000=0x1,0x40000004=0x20";
    assert_eq!(console, expected);
}

#[test]
fn another_folder_is_advised_where_this_one_may_not_be_written() {
    let hint = |kind: io::ErrorKind| at(Path::new("/x"))(kind.into()).hint();
    for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
        assert!(hint(kind).contains("--build-dir"), "{kind}");
    }
    assert!(hint(io::ErrorKind::StorageFull).contains("room on the disk"));
}
