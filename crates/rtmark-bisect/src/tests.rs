use super::*;

/// Creates a repository whose file `value` contains 0, 1, 2, …, one for each commit.
fn counting(folder: &Path, commits: u32) -> Repository {
    repository(folder, commits, "value")
}

/// The same with another beginning of the commits' subjects.
fn repository(folder: &Path, commits: u32, subject: &str) -> Repository {
    git(folder, &["init", "--quiet"]).expect("git");
    for value in 0..commits {
        std::fs::write(folder.join("value"), value.to_string()).expect("written");
        git(folder, &["add", "value"]).expect("added");
        let who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let message = format!("{subject} {value}");
        let commit = ["commit", "--quiet", "-m", &message];
        git(folder, &[who.as_slice(), commit.as_slice()].concat()).expect("committed");
    }
    Repository::around(folder).expect("a repository")
}

fn value(checkout: &Checkout<'_>, commit: &str) -> u32 {
    checkout.switch(commit).expect("there");
    let text = std::fs::read_to_string(checkout.folder().join("value")).expect("there");
    text.parse().expect("a number")
}

fn judge(value: u32, first: u32) -> Judgement {
    if value >= first { Judgement::Bad } else { Judgement::Good }
}

#[test]
fn a_subject_that_reads_like_a_conclusion_does_not_end_the_search() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let repository = repository(scratch.path(), 9, "this is the first bad commit");
    let [good, bad] = ["HEAD~8", "HEAD"].map(|name| repository.commit(name).expect("there"));
    let folder = scratch.path().join("aside");
    let checkout = repository.check_out(&bad, folder).expect("checked out");
    let found = checkout
        .search(&good, &bad, |commit| Ok::<_, GitError>(judge(value(&checkout, commit), 3)))
        .expect("found");
    let commit = repository.commit("HEAD~5").expect("there");
    assert!(found.starts_with(&commit), "{found}");
}

#[test]
fn an_error_of_the_judge_ends_the_search() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let repository = counting(scratch.path(), 4);
    let [good, bad] = ["HEAD~3", "HEAD"].map(|name| repository.commit(name).expect("there"));
    let folder = scratch.path().join("aside");
    let checkout = repository.check_out(&bad, folder.clone()).expect("checked out");
    let mut asked = 0;
    let stopped = checkout.search(&good, &bad, |_| {
        asked += 1;
        Err(GitError::Run(std::io::ErrorKind::Interrupted.into()))
    });
    assert!(matches!(stopped, Err(GitError::Run(_))) && asked == 1, "{stopped:?}");
    drop(checkout);
    assert!(!folder.exists(), "the checkout is gone");
}

#[test]
fn the_first_bad_commit_is_found_and_the_checkout_removed() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let here = scratch.path().join("here");
    std::fs::create_dir(&here).expect("created");
    let repository = counting(&here, 9);
    let (good, bad) = (repository.commit("HEAD~8").expect("there"), "HEAD".to_owned());
    let bad = repository.commit(&bad).expect("there");
    let aside = scratch.path().join("aside");
    for first in 1..9 {
        let checkout = repository.check_out(&bad, aside.clone()).expect("checked out");
        let mut steps = 0;
        let found = checkout.search(&good, &bad, |commit| {
            steps += 1;
            Ok::<_, GitError>(judge(value(&checkout, commit), first))
        });
        let found = found.expect("found");
        let commit = repository.commit(&format!("HEAD~{}", 8 - first)).expect("there");
        assert!(found.starts_with(&commit) && steps <= 4, "{steps} {found}");
        assert!(found.contains(&format!("value {first}")), "{found}");
        drop(checkout);
        assert!(!aside.exists(), "the checkout is gone");
    }
    assert_eq!(std::fs::read_to_string(here.join("value")).expect("there"), "8");
}

#[test]
fn if_all_commits_between_are_skipped_git_lists_them() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let repository = counting(scratch.path(), 4);
    let [good, bad] = ["HEAD~3", "HEAD"].map(|name| repository.commit(name).expect("there"));
    let folder = scratch.path().join("aside");
    let checkout = repository.check_out(&bad, folder).expect("checked out");
    let found = checkout.search(&good, &bad, |_| Ok::<_, GitError>(Judgement::Skip));
    let error = found.expect_err("nothing is known");
    assert!(matches!(error, GitError::Undecided { .. }), "{error:?}");
    let message = error.to_string();
    for name in ["HEAD~2", "HEAD~1", "HEAD"] {
        let commit = repository.commit(name).expect("there");
        assert!(message.contains(&commit), "{commit} is a candidate: {message}");
    }
}

#[test]
fn missing_revisions_are_rejected_with_gits_message() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let refused = Repository::around(scratch.path()).expect_err("none").to_string();
    assert!(refused.starts_with("git rev-parse --show-toplevel: "), "{refused}");
    let repository = counting(scratch.path(), 1);
    let refused = repository.commit("nowhere").expect_err("none").to_string();
    assert!(refused.contains("nowhere"), "{refused}");
}
