//! Reads Thread-Metric: how many operations were done in a period, reported repeatedly with the time since
//! the test began. The length of a period is a constant of the suite's build.

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

/// The length of a period unless its constant is changed, in seconds.
const USUAL_PERIOD: u64 = 30;

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
    /// The time of the last report, in seconds since the test began.
    now: u64,
    /// The greatest common divisor of all reports' times.
    divisor: u64,
    reports: u64,
    open: bool,
    /// The number of periods whose total is known.
    periods: u64,
    iterations: f64,
    errors: Vec<String>,
    /// The flag for impossible totals.
    bad: Option<FlagKind>,
}

impl Reader for ThreadMetric {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = TEST.find(text) {
            let Some(now) = found.count(2).filter(|now| *now > 0) else {
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
                    now: 0,
                    divisor: 0,
                    reports: 0,
                    open: false,
                    periods: 0,
                    iterations: 0.0,
                    errors: Vec::new(),
                    bad: None,
                });
            }
            if let Some(test) = &mut self.test {
                test.now = now;
                test.divisor = common_divisor(now, test.divisor);
                test.reports += 1;
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
        // Another program's errors, after a boot, say nothing about this test.
        let is_current = test.section == log.current() && log.in_use();
        if let Some(found) = ERROR.find(text).filter(|_| is_current) {
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
        // A log that shows the boot shows the first period, too.
        let booted =
            log.sections.get(test.section).is_some_and(|section| section.version.is_some());
        let period = test.period(booted);
        let seconds = period.map(|period| period as f64 * test.periods as f64);
        let mut row = Row::new(Suite::ThreadMetric, test.name, test.line, Basis::Ns);
        if test.periods == 0 {
            row.flag(FlagKind::Incomplete, "the log ends before the first total");
        } else if test.iterations <= 0.0 {
            row.flag(FlagKind::Zero, "nothing was counted");
        } else if let Some(seconds) = seconds {
            row = row.mean(&Number::of(seconds * 1e9 / test.iterations));
        } else {
            let why = format!(
                "whether its only report, after {} s, is the first one is not known, nor how long it counted",
                test.now
            );
            row.flag(FlagKind::Incomplete, why);
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
        if let Some(seconds) = seconds {
            row.facts.insert("seconds".into(), seconds.to_string());
        }
        log.row_of(test.section, row);
    }
}

impl Test {
    /// Returns the length of a period in seconds, if the reports tell: the log may begin amid a test, and
    /// reports may be missing. An only report within the usual period is taken for the first one.
    fn period(&self, from_boot: bool) -> Option<u64> {
        let known = self.reports > 1 || self.now <= USUAL_PERIOD || from_boot;
        known.then_some(self.divisor)
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
