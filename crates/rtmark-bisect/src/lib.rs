//! Finds the commit that made something worse, by `git bisect` in a separate checkout.
//!
//! A [`Repository`] is only queried for commits. A [`Checkout`] of it, a git worktree in a folder of
//! its own, contains one commit after another while [`Checkout::search`] asks whether each is bad; the
//! repository's own files are left alone, and the folder is removed with the checkout. Git chooses the
//! commits (`git-bisect(1)`: it halves what is left, merges included).
//!
//! This crate runs `git` and nothing else. It does not know what makes a commit bad.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The reason why git failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// It cannot be run.
    #[error(transparent)]
    Run(#[from] std::io::Error),
    /// It reported an error.
    #[error("git {arguments}: {message}")]
    Refused {
        /// The arguments.
        arguments: String,
        /// Its error output.
        message: String,
    },
}

/// The verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The change is not there yet.
    Good,
    /// The change is there.
    Bad,
    /// It cannot be determined.
    Skip,
}

/// A git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    top: PathBuf,
}

/// A folder with a separate checkout, removed when this is dropped.
#[derive(Debug)]
pub struct Checkout<'a> {
    repository: &'a Repository,
    folder: PathBuf,
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output()?;
    let message = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(message(&output.stdout));
    }
    Err(GitError::Refused { arguments: arguments.join(" "), message: message(&output.stderr) })
}

impl Repository {
    /// Finds the repository that contains a folder.
    ///
    /// # Errors
    ///
    /// When there is none, or git is not installed.
    pub fn around(folder: &Path) -> Result<Self, GitError> {
        Ok(Self { top: PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"])?) })
    }

    /// Returns its top folder.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Resolves a name, tag or short hash to the full hash of a commit.
    ///
    /// # Errors
    ///
    /// When it does not denote a commit.
    pub fn commit(&self, name: &str) -> Result<String, GitError> {
        let commit = format!("{name}^{{commit}}");
        git(&self.top, &["rev-parse", "--verify", "--end-of-options", &commit])
    }

    /// Checks a commit out into a new folder.
    ///
    /// # Errors
    ///
    /// If git refuses the folder or the commit.
    pub fn check_out(&self, commit: &str, folder: PathBuf) -> Result<Checkout<'_>, GitError> {
        let path = folder.display().to_string();
        git(&self.top, &["worktree", "add", "--quiet", "--detach", &path, commit])?;
        Ok(Checkout { repository: self, folder })
    }
}

impl Checkout<'_> {
    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks another commit out; changed files are overwritten.
    ///
    /// # Errors
    ///
    /// If git refuses.
    pub fn switch(&self, commit: &str) -> Result<(), GitError> {
        git(&self.folder, &["checkout", "--quiet", "--force", "--detach", commit]).map(drop)
    }

    /// Lets git choose commits between a good one and a bad one until it names the first bad one;
    /// returns git's report. The judge has to check each commit out first, with [`Checkout::switch`].
    ///
    /// # Errors
    ///
    /// When git fails, including the case that only skipped commits are left, which it names.
    pub fn search(
        &self,
        good: &str,
        bad: &str,
        mut judge: impl FnMut(&str) -> Judgement,
    ) -> Result<String, GitError> {
        git(&self.folder, &["bisect", "start", "--no-checkout", bad, good])?;
        loop {
            let commit = git(&self.folder, &["rev-parse", "BISECT_HEAD"])?;
            let word = match judge(&commit) {
                Judgement::Good => "good",
                Judgement::Bad => "bad",
                Judgement::Skip => "skip",
            };
            let message = git(&self.folder, &["bisect", word])?;
            if message.contains("is the first") {
                return Ok(message);
            }
        }
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        let folder = self.folder.display().to_string();
        let _ = git(&self.repository.top, &["worktree", "remove", "--force", &folder]);
    }
}

#[cfg(test)]
mod tests;
