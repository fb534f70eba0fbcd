//! Which commit made something worse: a search by `git bisect` in a checkout aside.
//!
//! A [`Repository`] is only asked for commits. A [`Checkout`] of it, a worktree of git's in a folder
//! of its own, holds one commit after the other while [`Checkout::search`] asks whether each is bad;
//! the repository's own files are left alone, and the folder goes away with the checkout. Git chooses
//! the commits (`git-bisect(1)`: it halves what is left, merges included).
//!
//! This crate runs `git` and nothing else. What makes a commit bad is not known here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Why git did not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// It cannot be run.
    #[error(transparent)]
    Run(#[from] std::io::Error),
    /// It refused; what it said.
    #[error("git {arguments}: {said}")]
    Refused {
        /// What it was asked.
        arguments: String,
        /// Its error stream.
        said: String,
    },
}

/// What is to be said of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// As it was before.
    Good,
    /// As it is since.
    Bad,
    /// It cannot be told.
    Skip,
}

/// A repository of git's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    top: PathBuf,
}

/// A folder with a checkout of its own, which goes away with this.
#[derive(Debug)]
pub struct Checkout<'a> {
    repository: &'a Repository,
    folder: PathBuf,
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output()?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(said(&output.stdout));
    }
    Err(GitError::Refused { arguments: arguments.join(" "), said: said(&output.stderr) })
}

impl Repository {
    /// The repository that a folder is in.
    ///
    /// # Errors
    ///
    /// If it is in none, or there is no git.
    pub fn around(folder: &Path) -> Result<Self, GitError> {
        Ok(Self { top: PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"])?) })
    }

    /// Its top folder.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The full hash of a commit that a name, tag or short hash means.
    ///
    /// # Errors
    ///
    /// If it means none.
    pub fn commit(&self, name: &str) -> Result<String, GitError> {
        let commit = format!("{name}^{{commit}}");
        git(&self.top, &["rev-parse", "--verify", "--end-of-options", &commit])
    }

    /// Checks a commit out into a folder that is not there yet.
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
    /// Where it is.
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
    /// what it then says. Whoever judges a commit checks it out first, with [`Checkout::switch`].
    ///
    /// # Errors
    ///
    /// If git refuses, also as only skipped commits are left, which it names.
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
            let said = git(&self.folder, &["bisect", word])?;
            if said.contains("is the first") {
                return Ok(said);
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
