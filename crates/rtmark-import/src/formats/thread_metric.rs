//! Reads Thread-Metric: how many operations were done in thirty seconds, reported repeatedly.

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Number, Row};

form! {
    TEST = r"^\*{3,4} Thread-Metric (.+?) Test \*{3,4} Relative Time:\s*(\S+)";
    TOTAL = r"^Time Period Total:\s*(\S+)";
    ERROR = r"^(ERROR: .*)";
    LIKE = r"Thread-Metric .*Relative Time|Time Period Total";
}

/// The reader.
#[derive(Debug, Default)]
pub struct ThreadMetric {
    test: Option<Test>,
}

#[derive(Debug)]
struct Test {
    name: String,
    line: u64,
    section: usize,
    /// The time in seconds before the current period.
    before: f64,
    now: f64,
    open: bool,
    periods: u64,
    seconds: f64,
    iterations: f64,
    errors: Vec<String>,
    /// The flag for impossible totals.
    bad: Option<FlagKind>,
}

impl Reader for ThreadMetric {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = TEST.find(text) {
            let Some(now) = Number::read(found.at(2)).and_then(|n| n.value) else {
                log.report_unreadable(line, Suite::ThreadMetric, "its time is not a number");
                return LineMatch::Consumed;
            };
            let here = (log.current(), log.in_use());
            let continues_test = |test: &Test| {
                test.name == found.at(1) && now > test.now && (test.section, true) == here
            };
            if !self.test.as_ref().is_some_and(continues_test) {
                self.end(log);
                let name = found.at(1).to_owned();
                self.test = Some(Test {
                    name,
                    line: line.number,
                    section: log.reserve(),
                    before: 0.0,
                    now: 0.0,
                    open: false,
                    periods: 0,
                    seconds: 0.0,
                    iterations: 0.0,
                    errors: Vec::new(),
                    bad: None,
                });
            }
            if let Some(test) = &mut self.test {
                test.before = test.now;
                test.now = now;
                test.open = true;
            }
            return LineMatch::Consumed;
        }
        let Some(test) = &mut self.test else {
            if LIKE.fits(text) {
                log.report_unreadable(
                    line,
                    Suite::ThreadMetric,
                    "the line with test and time is missing",
                );
                return LineMatch::Consumed;
            }
            return LineMatch::NotMine;
        };
        if let Some(found) = TOTAL.find(text) {
            match Number::read(found.at(1)) {
                Some(Number { value: Some(total), flag, .. }) if test.open => {
                    test.open = false;
                    test.periods += 1;
                    test.seconds += test.now - test.before;
                    test.iterations += total;
                    test.bad = test.bad.or(flag);
                }
                _ => log.report_unreadable(
                    line,
                    Suite::ThreadMetric,
                    "its total is not a number, or has no test",
                ),
            }
            return LineMatch::Consumed;
        }
        if let Some(found) = ERROR.find(text) {
            if test.errors.len() < 4 {
                test.errors.push(found.at(1).chars().take(160).collect());
            }
            return LineMatch::Consumed;
        }
        if LIKE.fits(text) {
            log.report_unreadable(line, Suite::ThreadMetric, "test, time or total are missing");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        let Some(test) = self.test.take() else { return };
        let mut row = Row::new(Suite::ThreadMetric, test.name, test.line, Basis::Ns);
        if test.iterations > 0.0 && test.seconds > 0.0 {
            row = row.mean(&Number::of(test.seconds * 1e9 / test.iterations));
        } else if test.periods > 0 {
            row.flag(FlagKind::Zero, "nothing was counted");
        } else {
            row.flag(FlagKind::Incomplete, "the log ends before the first total");
        }
        for error in test.errors {
            row.flag(FlagKind::Failed, format!("the suite says: {error}"));
        }
        if let Some(flag) = test.bad {
            row.flag(flag, "a total is impossible");
        }
        if let Some(summary) = row.summary_mut() {
            let count = test.iterations;
            summary.count = (1.0..1e18).contains(&count).then_some(count as u64);
        }
        row.facts.insert("periods".into(), test.periods.to_string());
        row.facts.insert("seconds".into(), test.seconds.to_string());
        log.row_of(test.section, row);
    }
}
