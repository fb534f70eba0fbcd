//! Formats a profile as tables.

use std::fmt::Write as _;

use rtmark_observe::Report;

/// The maximum number of rows of a table.
const ROWS: usize = 20;

/// Formats the functions and source lines with the most cycles.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let percent = |cycles: u64| cycles as f64 * 100.0 / report.cycles.max(1) as f64;
    let _ = writeln!(
        text,
        "{:>14} {:>6} {:>14} {:>6} {:>12} {:>9}  function",
        "own cycles", "", "with callees", "", "instructions", "calls"
    );
    for function in report.functions.iter().take(ROWS) {
        let _ = writeln!(
            text,
            "{:>14} {:>5.1}% {:>14} {:>5.1}% {:>12} {:>9}  {}",
            function.exclusive_cycles,
            percent(function.exclusive_cycles),
            function.inclusive_cycles,
            percent(function.inclusive_cycles),
            function.instructions,
            function.calls,
            function.label()
        );
    }
    more(&mut text, report.functions.len(), "function");
    if !report.lines.is_empty() {
        let _ = writeln!(text, "{:>14} {:>6} {:>12}  line", "cycles", "", "instructions");
        for (line, cost) in report.lines.iter().take(ROWS) {
            let _ = writeln!(
                text,
                "{:>14} {:>5.1}% {:>12}  {line}",
                cost.cycles,
                percent(cost.cycles),
                cost.instructions,
            );
        }
        more(&mut text, report.lines.len(), "line");
    }
    text
}

fn more(text: &mut String, count: usize, thing: &str) {
    if count > ROWS {
        let _ = writeln!(
            text,
            "{:>14} {}",
            "and",
            crate::output::count(count - ROWS, &format!("more {thing}"))
        );
    }
}
