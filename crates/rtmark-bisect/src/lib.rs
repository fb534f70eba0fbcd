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
    /// It cannot be run, or a signal ended it.
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
    /// Only commits that cannot be judged are left, so that each of them may be the first bad one.
    #[error("{candidates}")]
    Undecided {
        /// Git's words, with the candidates.
        candidates: String,
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

/// The variables with which a hook tells the repository that it runs for; they override `-C`.
const HOOK_VARIABLES: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"];

fn git(folder: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let mut command = Command::new("git");
    for variable in HOOK_VARIABLES {
        command.env_remove(variable);
    }
    // Messages are read here, and translated ones would not be understood.
    let output = command.env("LC_ALL", "C").arg("-C").arg(folder).args(arguments).output()?;
    let message = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(message(&output.stdout));
    }
    if output.status.code().is_none() {
        return Err(GitError::Run(std::io::ErrorKind::Interrupted.into()));
    }
    // `git bisect skip` names the remaining commits on its standard output.
    let texts = [message(&output.stderr), message(&output.stdout)];
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    Err(GitError::Refused { arguments: arguments.join(" "), message: texts.join("\n") })
}

/// Tells a refusal because every commit that is left was skipped from others.
fn undecided(error: GitError) -> GitError {
    match error {
        GitError::Refused { message, .. } if message.contains("only 'skip'ped commits left") => {
            GitError::Undecided { candidates: message }
        }
        other => other,
    }
}

/// Reports whether git's message names the first bad commit, rather than the next one to be judged, whose
/// subject may say anything.
fn is_conclusion(message: &str) -> bool {
    let first = message.lines().next().unwrap_or_default();
    first.split_once(' ').is_some_and(|(_, rest)| rest == "is the first bad commit")
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

    /// Checks a commit out into a new folder, with the submodules that the repository has initialised.
    ///
    /// # Errors
    ///
    /// If git refuses the folder or the commit.
    pub fn check_out(&self, commit: &str, folder: PathBuf) -> Result<Checkout<'_>, GitError> {
        let path = folder.display().to_string();
        git(&self.top, &["worktree", "add", "--quiet", "--detach", &path, commit])?;
        let checkout = Checkout { repository: self, folder };
        checkout.update_submodules()?;
        Ok(checkout)
    }
}

impl Checkout<'_> {
    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks another commit out, with the submodules that the repository itself has initialised; changed
    /// files are overwritten.
    ///
    /// # Errors
    ///
    /// If git refuses.
    pub fn switch(&self, commit: &str) -> Result<(), GitError> {
        git(&self.folder, &["checkout", "--quiet", "--force", "--detach", commit])?;
        self.update_submodules()
    }

    /// Checks the submodules out. Without `--init`, those that the user does without are left out.
    fn update_submodules(&self) -> Result<(), GitError> {
        if self.folder.join(".gitmodules").is_file() {
            git(&self.folder, &["submodule", "update", "--quiet", "--force", "--recursive"])?;
        }
        Ok(())
    }

    /// Lets git choose commits between a good one and a bad one until it names the first bad one;
    /// returns git's report. The judge has to check each commit out first, with [`Checkout::switch`].
    ///
    /// # Errors
    ///
    /// When git fails, when only skipped commits are left ([`GitError::Undecided`]), and the first error of
    /// the judge.
    pub fn search<E: From<GitError>>(
        &self,
        good: &str,
        bad: &str,
        mut judge: impl FnMut(&str) -> Result<Judgement, E>,
    ) -> Result<String, E> {
        git(&self.folder, &["bisect", "start", "--no-checkout", bad, good])?;
        loop {
            let commit = git(&self.folder, &["rev-parse", "BISECT_HEAD"])?;
            let word = match judge(&commit)? {
                Judgement::Good => "good",
                Judgement::Bad => "bad",
                Judgement::Skip => "skip",
            };
            let message = git(&self.folder, &["bisect", word]).map_err(undecided)?;
            if is_conclusion(&message) {
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
