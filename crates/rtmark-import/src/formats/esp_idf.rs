//! Reads what ESP-IDF programs print: `elapsed time[ms]:` lines, numbers of calls in a time, and the
//! `[Performance]` lines of ESP-IDF's own tests.

use std::collections::BTreeMap;

use rtmark_model::{Basis, Disturbance, Samples};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Figures, Number, Row};

form! {
    ELAPSED = r"(?i)\belapsed time\s*\[(s|ms|us|ns)\]\s*:\s*(\S+)$";
    CALLED = r"^'(.+?)' has been called (\d+) times in (\d+)us\. Period = (\d+)us";
    PERFORMANCE = r"^\[Performance\]\s*\[([^\]]+)\]:\s*(-?\d+(?:\.\d+)?)\s*(cycles|ns|us|ms|s)\b";
    LIKE = r"(?i)\belapsed time\s*\[|has been called .* times in|^\[Performance\]\s*\[.*(?:cycles|ns|us|ms|s)$";
    BOOT = r"^(?:ESP-ROM:|rst:0x[0-9a-f]+ |ets [A-Z][a-z]{2} +\d)";
    VERSION = r"\bESP-IDF:?\s+(v\d\S*)";
    CPU = r"(?i)\bcpu freq(?:uency)?:?\s*(\d+) ?(MHz|Hz)";
}

/// The reader.
#[derive(Debug, Default)]
pub struct EspIdf {
    /// The section of the rows that follow.
    section: Option<usize>,
    /// By printing function: line, samples in nanoseconds, the unit in nanoseconds.
    elapsed: BTreeMap<String, (u64, Samples, u64, bool)>,
    calls: BTreeMap<String, (u64, u64, u64)>,
}

/// The kernel that ESP-IDF is based on.
const KERNEL: &str = "freertos";

const TOO_MANY: &str = "too many functions were timed before";

/// The number of functions whose times are kept separately.
const MAX_FUNCTIONS: usize = 4096;

fn nanoseconds_of(unit: &str) -> u64 {
    match unit.to_lowercase().as_str() {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        _ => 1,
    }
}

impl Reader for EspIdf {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if BOOT.fits(text) {
            self.end(log);
            log.new_section();
            return LineMatch::NotMine;
        }
        if let Some(found) = VERSION.find(text) {
            // Both the boot loader and the application print it, with the clock in between.
            self.end(log);
            log.open_section();
            let version = format!("ESP-IDF {}", found.at(1));
            log.of_kernel(KERNEL).version = Some(version);
            return LineMatch::Consumed;
        }
        if let Some(found) = CPU.find(text).filter(|_| line.tag.is_some()) {
            let scale = if found.at(2).eq_ignore_ascii_case("mhz") { 1e6 } else { 1.0 };
            let clock = found.at(1).parse::<f64>().ok().map(|number| number * scale);
            log.section().clock = clock
                .filter(|clock| *clock < 1e10)
                .map(|clock| (clock, crate::row::Rounding::Exact));
            return LineMatch::Consumed;
        }
        if let Some(found) = ELAPSED.find(text) {
            let unit = nanoseconds_of(found.at(1));
            let whole = found.at(2).parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
            let Some(ns) = whole else {
                log.report_unreadable(line, Suite::EspIdf, "its time is not a possible number");
                return LineMatch::Consumed;
            };
            let name = line.tag.clone().unwrap_or_else(|| "elapsed time".into());
            self.start_run(log);
            let known = self.elapsed.contains_key(&name) || self.elapsed.len() < MAX_FUNCTIONS;
            if !known {
                log.report_unreadable(line, Suite::EspIdf, TOO_MANY);
            }
            if known {
                let entry = self
                    .elapsed
                    .entry(name)
                    .or_insert_with(|| (line.number, Samples::new(), unit, true));
                entry.1.push(ns, Disturbance::NONE);
                // FreeRTOS' tick is ten milliseconds here.
                entry.3 &= ns.is_multiple_of(10 * unit) && unit == 1_000_000;
            }
            return LineMatch::Consumed;
        }
        if let Some(found) = CALLED.find(text) {
            let (Some(times), Some(us)) = (found.count(2), found.count(3)) else {
                log.report_unreadable(line, Suite::EspIdf, "its numbers do not fit into 64 bits");
                return LineMatch::Consumed;
            };
            let name = found.at(1).to_owned();
            self.start_run(log);
            if !self.calls.contains_key(&name) && self.calls.len() >= MAX_FUNCTIONS {
                log.report_unreadable(line, Suite::EspIdf, TOO_MANY);
            } else {
                let entry = self.calls.entry(name).or_insert((line.number, 0, 0));
                entry.1 = entry.1.saturating_add(times);
                entry.2 = entry.2.saturating_add(us);
            }
            return LineMatch::Consumed;
        }
        if let Some(found) = PERFORMANCE.find(text) {
            let (basis, power) = match found.at(3) {
                "cycles" => (Basis::Cycles, 0),
                unit => (Basis::Ns, nanoseconds_of(unit).ilog10().cast_signed()),
            };
            let Some(number) = found.number(2) else { return LineMatch::NotMine };
            let row = Row::new(Suite::EspIdf, found.at(1), line.number, basis);
            log.of_kernel(KERNEL);
            log.row(row.mean(&number.shifted(power)));
            return LineMatch::Consumed;
        }
        if LIKE.fits(text) {
            log.report_unreadable(line, Suite::EspIdf, "its number is not valid");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        let section = self.section.take().unwrap_or_else(|| log.current());
        for (name, (line, samples, unit, ticks)) in std::mem::take(&mut self.elapsed) {
            let mut row = Row::new(Suite::EspIdf, name, line, Basis::Ns);
            let resolution = if ticks { 10 * unit } else { unit };
            row.figures = Figures::Samples(samples, resolution);
            log.row_of(section, row);
        }
        for (name, (line, times, us)) in std::mem::take(&mut self.calls) {
            let row = Row::new(Suite::EspIdf, name, line, Basis::Ns);
            let each = us as f64 * 1e3 / times.max(1) as f64;
            let mut row = row.mean(&Number::of(each));
            if let Some(summary) = row.summary_mut() {
                summary.count = Some(times);
            }
            log.row_of(section, row);
        }
    }
}

impl EspIdf {
    /// Rows made of several lines are placed where the first one is; those of another boot are
    /// separate.
    fn start_run(&mut self, log: &mut Log) {
        if self.section.is_some_and(|section| section != log.current() || !log.in_use()) {
            self.end(log);
        }
        if self.section.is_none() {
            log.of_kernel(KERNEL);
            self.section = Some(log.reserve());
        }
    }
}
