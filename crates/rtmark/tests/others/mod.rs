//! What others have made and tests want: a folder to keep it in, and commands that bring it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that lasts from one run of the tests to the next.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a writable target folder");
    folder
}

/// Whether a command did what it should.
pub fn run_checked(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| format!("{command:?}: {stderr}"))
}
