//! Writes JUnit XML, which most continuous-integration services display: one test case for each series.

use std::fmt::Write as _;
use std::time::Duration;

use rtmark_model::Key;

use super::{describe, one_line};
use crate::gate::why;
use crate::{Comparison, Gate, Pair, Verdict};

/// Renders a comparison. With a gate, its regressions are failures; without one, everything that became
/// worse is. Incomparable series are errors. `took` returns the wall-clock time of the later
/// measurement, if known; otherwise a test case has no time.
pub fn junit(
    comparison: &Comparison,
    gate: Option<&Gate>,
    took: impl Fn(&Key) -> Option<Duration>,
) -> String {
    let failed = |pair: &Pair| match gate {
        None => (pair.verdict == Verdict::Worse).then(|| describe(pair)),
        Some(gate) => {
            let of_pair = gate.regressions.iter().filter(|finding| finding.key == pair.key);
            let texts: Vec<_> = of_pair
                .map(|finding| match &finding.cause {
                    Some(cause) => format!("{}, in {cause}", finding.text),
                    None => finding.text.clone(),
                })
                .collect();
            (!texts.is_empty()).then(|| texts.join("; "))
        }
    };
    let failures = comparison.pairs.iter().filter(|pair| failed(pair).is_some()).count();
    let errors = comparison.count(Verdict::Incomparable);
    let tests = comparison.pairs.len();
    let all: Duration = comparison.pairs.iter().filter_map(|pair| took(&pair.key)).sum();
    let all = seconds(all);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"rtmark\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"{all}>\n  \
         <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"{all}>",
        escaped(&format!("{} to {}", comparison.before, comparison.after))
    );
    for pair in &comparison.pairs {
        let key = &pair.key;
        let class = format!("{}.{}.{}.{}", key.soc, key.profile, key.backend, key.kernel);
        let name = escaped(key.scenario.as_str());
        let time = took(key).map_or_else(String::new, seconds);
        let class = escaped(&class);
        let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\"{time}");
        let child = match (failed(pair), pair.verdict) {
            (Some(message), _) => format!("<failure message=\"{}\"/>", escaped(&message)),
            (None, Verdict::Incomparable) => {
                format!("<error message=\"{}\"/>", escaped(&why(pair)))
            }
            (None, Verdict::Same) => String::new(),
            (None, _) => format!("<system-out>{}</system-out>", escaped(&describe(pair))),
        };
        if child.is_empty() {
            text.push_str("/>\n");
        } else {
            let _ = writeln!(text, ">{child}</testcase>");
        }
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Formats a time as an attribute.
fn seconds(time: Duration) -> String {
    format!(" time=\"{:.3}\"", time.as_secs_f64())
}

/// Escapes text from outside for XML 1.0, in attributes and between tags.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in one_line(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
