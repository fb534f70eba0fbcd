//! Formats the longest intervals in which interrupts were held back.

use std::fmt::Write as _;

use rtmark_model::HeldInterval;

/// Formats a table: three lines per interval, with its length and cause, its start, and its end.
pub fn table(intervals: &[HeldInterval]) -> String {
    if intervals.is_empty() {
        return "interrupts were never held back\n".to_owned();
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>10} {:>9} {:>12} {:>12}  held back by",
        "cycles", "times", "total cycles", "at cycle"
    );
    for interval in intervals {
        let HeldInterval { cycles, began, times, total_cycles, by, from, to, open, .. } = interval;
        let _ = writeln!(
            text,
            "{cycles:>10} {times:>9} {total_cycles:>12} {began:>12}  {}",
            by.join(", ")
        );
        let _ = writeln!(text, "{:47}from {from}", "");
        let end = if *open { ", where the run ended: still held back" } else { "" };
        let _ = writeln!(text, "{:47}to {to}{end}", "");
    }
    text
}
