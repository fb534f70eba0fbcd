//! What went wrong in a run, told once each.

use rtmark_model::{Answer, Failure, Key};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};

/// How many failures are told at length: the first ones tend to explain the others.
const SHOWN_FAILURES: usize = 10;

/// Says what went wrong, each thing once, and returns the code of the first
/// cause: a mistake of rtmark's before a missing tool before a failed build before a failed run.
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
            message.push_str("\nit printed:\n");
            message.push_str(&last_lines(&failure.console, 10));
        }
        CliError::new(failure.kind.into(), message, failure.hint.clone()).show();
    }
    if more > 0 {
        say(format!("and {}, with the results", output::count(more, "more failure")));
    }
    first.map_or(Exit::Fine, Exit::from)
}

/// The answers that share a failure: by name where they are few, else how many of what.
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
