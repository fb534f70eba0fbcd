//! Reports the failures of a run, each distinct one once.

use rtmark_model::{Answer, Failure, Key};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};

/// How many failures are shown in full: the first ones tend to explain the others.
const SHOWN_FAILURES: usize = 10;

/// Prints each distinct failure once.
///
/// Returns the exit code of the root cause: a bug in rtmark before a missing tool before a failed build
/// before a failed run.
pub fn show_failures(answers: &[Answer]) -> Exit {
    let mut shown: Vec<(Vec<&Key>, &Failure)> = Vec::new();
    for answer in answers {
        let Answer::Failed { key, failure } = answer else { continue };
        match shown.iter_mut().find(|(_, known)| *known == failure) {
            Some((keys, _)) => keys.push(key),
            None => shown.push((vec![key], failure)),
        }
    }
    let first = shown.iter().map(|(_, failure)| failure.kind).min();
    let more = shown.len().saturating_sub(SHOWN_FAILURES);
    for (keys, failure) in shown.into_iter().take(SHOWN_FAILURES) {
        let mut message = format!("{}: {failure}", named(&keys));
        if !failure.console.is_empty() {
            message.push_str("\nthe end of its output:\n");
            message.push_str(&last_lines(&failure.console, 10));
        }
        CliError::new(failure.kind.into(), message, failure.hint.clone()).show();
    }
    if more > 0 {
        say(format!("{} not shown here; see the results", output::count(more, "more failure")));
    }
    first.map_or(Exit::Fine, Exit::from)
}

/// Describes the answers that share a failure: by name if they are few, else by their number.
fn named(keys: &[&Key]) -> String {
    let full = |key: &&Key| format!("{} {} on {}", key.kernel, key.scenario, key.soc);
    if keys.len() <= 3 {
        return keys.iter().map(full).collect::<Vec<_>>().join(", ");
    }
    let each = |part: fn(&Key) -> &str| {
        let mut words: Vec<&str> = keys.iter().map(|key| part(key)).collect();
        words.sort_unstable();
        words.dedup();
        words.join(", ")
    };
    let count = output::count(keys.len(), "scenario");
    format!("{} on {} ({count})", each(|key| key.kernel.as_str()), each(|key| &key.soc))
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
