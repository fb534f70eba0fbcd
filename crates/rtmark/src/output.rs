//! The two output streams: stdout for data, stderr for messages.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use rtmark_stdout::stdout;
use serde::Serialize;

/// The program that writes a document, with its version.
pub const GENERATOR: &str = concat!("rtmark ", env!("CARGO_PKG_VERSION"));

/// Formats a document as JSON.
pub fn json(document: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// What options name for stdout. If it is closed, the device's names would be those of another file.
const STDOUT: [&str; 3] = ["-", "/dev/stdout", "/dev/fd/1"];

/// Returns the file that an option names, or `None` for stdout.
pub fn file(path: &Path) -> Option<&Path> {
    STDOUT.iter().all(|name| path != Path::new(name)).then_some(path)
}

/// Writes text to stdout, with colours only where they are wanted.
///
/// A closed pipe is not an error: the reader may stop at any time.
pub fn data(text: &str) -> io::Result<()> {
    let mut stdout = anstream::AutoStream::auto(stdout()?).lock();
    ignore_closed_pipe(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Writes bytes to stdout unchanged.
pub fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = stdout()?.lock();
    ignore_closed_pipe(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes a program's output to stderr, for when stdout carries other data.
pub fn raw_to_stderr(bytes: &[u8]) -> io::Result<()> {
    let shown = rtmark_model::visible(bytes);
    ignore_closed_pipe(anstream::stderr().lock().write_all(shown.as_bytes()))
}

fn ignore_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to stderr, ignoring errors: there is nowhere to report them.
pub fn say(line: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Returns the maximum width of tables: the terminal's width, `COLUMNS`, or 100.
pub fn width() -> usize {
    let terminal =
        || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal().or_else(variable).filter(|width| *width > 0).unwrap_or(100)
}

/// Returns whether stdout is a terminal, which must not receive a program's control characters.
pub fn to_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Formats a count with its noun: `1 answer`, `2 answers`.
pub fn count<N: Copy + Display + TryInto<u64>>(number: N, thing: &str) -> String {
    let is_one = matches!(number.try_into(), Ok(1));
    format!("{number} {thing}{}", if is_one { "" } else { "s" })
}
