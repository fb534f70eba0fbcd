use std::fs;

use super::*;

/// Writes a kernel that has nothing but a `kernel.toml`, and returns its folder.
fn kernel(place: &Path, id: &str, language: &str) -> PathBuf {
    let folder = place.join(id);
    let text = format!(
        "id = '{id}'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
         language = '{language}'\nbuild = 'make'\nimages = ['thread']\ncores = ['cortex-m3']\n"
    );
    fs::create_dir_all(&folder).expect("writable");
    fs::write(folder.join("kernel.toml"), text).expect("writable");
    folder
}

fn tree(root: &Path) -> Tree {
    let cache = Cache::at(&root.with_file_name("cache"));
    Tree::find_or(Some(root), cache, None).expect("a tree")
}

#[test]
fn builds_of_each_tree_have_a_folder_of_their_own() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let [one, other] = ["my project", "other"].map(|name| {
        let root = scratch.path().join(name).join("firmware");
        kernel(&root, "k", "C");
        root
    });
    let found = tree(&one);
    assert_eq!(found.root(), one.canonicalize().expect("there"));
    assert_eq!(found.cache().folder(), scratch.path().join("my project/cache"));
    // Named after the project, as far as a file's name goes everywhere.
    assert!(found.key().starts_with("myproject-"), "{}", found.key());
    assert!(tree(&other).key().starts_with("other-"));
    assert_eq!(found.key(), tree(&one.join("../firmware")).key(), "the same folder");
    let moved = scratch.path().join("elsewhere/my project/firmware");
    kernel(&moved, "k", "C");
    assert_ne!(found.key(), tree(&moved).key(), "another folder");
}

#[test]
fn a_folder_without_kernels_is_no_tree() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let root = scratch.path().join("firmware");
    // A kernel itself, and files that are none.
    let folder = kernel(&root, "k", "C");
    fs::write(root.join("README"), "").expect("writable");
    let cache = || Cache::at(&scratch.path().join("cache"));
    for none in [folder.as_path(), &scratch.path().join("missing")] {
        let error = Tree::find_or(Some(none), cache(), None).expect_err("no tree");
        let FirmwareError::NoTree { looked_in } = error else { panic!("{error}") };
        assert_eq!(looked_in, [none]);
        assert!(!contains_kernels(none), "{}", none.display());
    }
    let project = FirmwareError::NoTree { looked_in: vec![scratch.path().to_owned()] };
    assert!(project.to_string().ends_with(&format!(" in {}", scratch.path().display())));
    assert_eq!(project.hint(), format!("name {}, which has some", root.display()));
    assert_eq!(within(scratch.path()).as_deref(), Some(root.as_path()));
    assert_eq!(within(&root), None);
}

#[test]
fn the_floor_comes_first_and_the_users_own_kernels_last() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let root = scratch.path().join("firmware");
    for (id, language) in [("a-rust", "Rust"), ("b-c", "C"), ("floor", "C"), ("z-c", "C")] {
        kernel(&root, id, language);
    }
    let (alone, several) = (scratch.path().join("alone"), scratch.path().join("several"));
    let own = [kernel(&alone, "own-rust", "Rust"), several.clone()];
    kernel(&several, "own-c", "C");
    let found = tree(&root).with_own(&own).expect("kernels");
    let kernels = found.kernels().expect("readable");
    let ids: Vec<_> = kernels.iter().map(|it| (it.manifest.id.as_str(), it.own)).collect();
    let expected = [
        ("floor", false),
        ("b-c", false),
        ("z-c", false),
        ("a-rust", false),
        ("own-c", true),
        ("own-rust", true),
    ];
    assert_eq!(ids, expected);
    assert_eq!(kernels[4].folder, several.canonicalize().expect("there").join("own-c"));
    let empty = scratch.path().join("cache");
    fs::create_dir_all(&empty).expect("writable");
    assert!(matches!(found.with_own(&[empty]), Err(FirmwareError::NoTree { .. })));
}

#[test]
fn two_kernels_of_the_same_name_are_refused() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let root = scratch.path().join("firmware");
    kernel(&root, "k", "C");
    let own = kernel(scratch.path(), "k", "C");
    let error = tree(&root)
        .with_own(std::slice::from_ref(&own))
        .expect("a kernel")
        .kernels()
        .expect_err("two");
    let FirmwareError::Manifest { path, problem } = error else { panic!("{error}") };
    assert_eq!(path, own.canonicalize().expect("there").join("kernel.toml"));
    assert!(problem.contains("another kernel is called k"), "{problem}");
}

#[test]
fn own_scenarios_are_beside_own_kernels_or_in_their_folder() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let [root, own] = ["firmware", "own"].map(|name| scratch.path().join(name));
    kernel(&root, "k", "C");
    let first = kernel(&own, "first", "C");
    kernel(&own, "second", "C");
    for (folder, text) in [(&root, "of the tree"), (&own, "of both"), (&first, "of the first")] {
        fs::write(folder.join(SCENARIOS), text).expect("writable");
    }
    // The first is given twice.
    let tree = tree(&root).with_own(std::slice::from_ref(&own)).expect("kernels");
    let found = tree.own_scenarios().expect("readable");
    let texts: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["of the first", "of both"]);
    assert!(found[0].0.ends_with("first/scenarios.toml"), "{found:?}");
}

#[test]
fn a_commit_has_a_plus_if_the_tree_differs_from_it() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let root = scratch.path().join("firmware");
    let folder = kernel(&root, "k", "C");
    let git = |arguments: &[&str]| {
        let names = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        let mut git = Command::new("git");
        git.arg("-C").arg(scratch.path()).args(names).args(arguments);
        let output = git.output().expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let commit = git(&["rev-parse", "HEAD"]);
    let found = tree(&root);
    // What is beside the tree does not matter.
    fs::write(scratch.path().join("notes"), "").expect("writable");
    assert_eq!(found.commit().as_ref(), Some(&commit));
    fs::write(folder.join("main.c"), "").expect("writable");
    assert_eq!(found.commit(), Some(commit + "+"));
    let unpacked = Tree { origin: Origin::Program, ..found };
    assert_eq!(unpacked.commit(), None, "another project's commit");
}

#[test]
fn a_tree_that_may_use_other_files_has_no_digest() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let root = scratch.path().join("firmware");
    let folder = kernel(&root, "k", "C");
    assert_eq!(tree(&root).digest(), None);
    assert!(!tree(&root).is_as_digested());
    fs::create_dir_all(root.join("c")).expect("writable");
    fs::write(root.join(LANDMARK), "").expect("writable");
    let ours = tree(&root);
    let digest = ours.digest().expect("a digest").to_owned();
    assert!(ours.is_as_digested());
    fs::write(folder.join("main.c"), "").expect("writable");
    assert_eq!(ours.digest(), Some(digest.as_str()), "as when it was asked first");
    assert!(!ours.is_as_digested());
}
