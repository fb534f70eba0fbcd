//! Reads all versions of Zephyr's `latency_measure`, `timing_info`, `sched_queues`, and the
//! `recording.csv` that its test runner makes of them.
//!
//! Rows were tables in `tcs` up to 2.2, sentences up to 3.5, and have been dotted tags since.

use std::collections::BTreeSet;

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::{Found, form};
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Number, Rounding, Row, Section};

form! {
    BOOT = r"(?i)\*{3,5} ?booting zephyr os(?: build| version)? (?:zephyr-)?(\S+)";
    CLOCK = r"(?i)^timing results: clock frequency: (\d+) MHz";
    START = r"^(?:START|starting test) - Time Measurement";
    END = r"^PROJECT EXECUTION (SUCCESSFUL|FAILED)";
    ROW = r"^(.*?\S)\s*:\s*(-?\d+)\s*cycles\s*,\s*(-?\d+)\s*ns\s*(?::\s*(.*))?$";
    FAILED = r"^(.*?\S)\s*:\s*(?:FAILED|-?\d+)\s*(?:cycles)?\s*,\s*(?:FAILED|-?\d+)\s*(?:ns)?\s*(?::\s*(.*))?$";
    LIKE_ROW = r"\bcycles\s*,|,\s*-?\d+\s*ns\b|\bFAILED\s*,";
    /// Lines that look like a row among rows that could be read.
    LIKE_AMID = r":\s*-?\d+\s*cycles\b|\d\s*cycles\b.*\d\s*ns\b";
    TAG = r"^([a-z][a-z0-9_+]*(?:\.[A-Za-z0-9_+]+)+)\s+-\s+(.*)$";
    THREAD = r"^([A-Z]+) ([a-z_.+]+?)\.?\(([KU]) -> ([KU])\)$";
    TAGGED_CSV = r"^([a-z][a-z0-9_+]*(?:\.[A-Za-z0-9_+]+)+)\s+-\s+(.*?)\s*,\s*(-?\d+|FAILED)\s*,\s*(-?\d+|FAILED)\s*(?:,\s*(.*))?$";
    SENTENCE_CSV = r"^([A-Za-z][^,:|=]*?)\s*,\s*(-?\d+|FAILED)\s*,\s*(-?\d+|FAILED)\s*(?:,\s*(.*))?$";
    RECORDING = r#"^"?metric"?,"?cycles"?,"?nanoseconds"?"#;
    TABLE_CLOCK = r"tcs = timer clock cycles: 1 tcs is (\d+) nsec";
    TABLE_TITLE = r"^\|\s*\d+\s*-\s*(Measure .*?)\s*\|?$";
    TABLE_ROW = r"^\|?\s*(\S.*?)\s+(?:is\s+|=\s+)?(-?\d+)\s+tcs\s*=\s*(-?\d+)\s*nsec\s*\|?$";
    LIKE_TABLE_ROW = r"\btcs\s*=|\d\s*nsec\b";
    ERROR = r"^\|?\s*(Error: .*?)\s*\|?$";
    STATISTIC = r"^(.*?)\.(min|max|avg|mean|stddev|stdev)$";
}

/// The kernel of these suites.
const KERNEL: &str = "zephyr";

const SUITES: [Suite; 3] =
    [Suite::ZephyrLatencyMeasure, Suite::ZephyrTimingInfo, Suite::ZephyrSchedQueues];

/// No suite has this many rows.
const MAX_NAMES: usize = 4096;

/// The reader.
#[derive(Debug, Default)]
pub struct Zephyr {
    place: Place,
    /// The title of the table above the rows.
    title: String,
    last_name: String,
    /// The section being read, and the names of its rows: no suite prints one twice.
    section: usize,
    names: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    Latency,
    TimingInfo,
    Table,
    Recording,
}

impl Reader for Zephyr {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = BOOT.find(text) {
            let section = log.new_section();
            section.kernel = Some("zephyr".into());
            section.version = Some(found.at(1).trim_end_matches('*').trim_matches('v').to_owned());
            *self = Self::default();
            return LineMatch::Consumed;
        }
        if let Some(found) = CLOCK.find(text) {
            let mhz = found.at(1).parse::<f64>().ok();
            let clock = mhz.map(|mhz| (mhz * 1e6, Rounding::WholeMegahertz));
            section_of(clock, log).clock = clock;
            if text.starts_with("Timing Results") {
                self.place = Place::TimingInfo;
            }
            return LineMatch::Consumed;
        }
        if START.fits(text) {
            // Without a boot in between, it is another log, about which nothing is known yet.
            log.open_section();
            let timing_info = text.starts_with("starting");
            self.place = if timing_info { Place::TimingInfo } else { Place::Latency };
            return LineMatch::Consumed;
        }
        if let Some(found) = END.find(text) {
            if found.at(1) == "FAILED" && self.place != Place::Outside {
                log.warn(line.number, "the suite says that it failed as a whole");
            }
            self.place = Place::Outside;
            log.end_section();
            return LineMatch::Consumed;
        }
        if RECORDING.fits(text) {
            log.open_section();
            self.place = Place::Recording;
            return LineMatch::Consumed;
        }
        self.table(line, log).or_else(|| self.row(line, log)).unwrap_or(LineMatch::NotMine)
    }

    fn unmatched(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        let last = log.rows.last().map(|row| row.suite);
        let amid = last.is_some_and(|suite| SUITES.contains(&suite));
        let like = LIKE_ROW.fits(text) && !text.contains("switch (");
        if like || (amid && (TAG.fits(text) || LIKE_AMID.fits(text))) {
            let suite = last.filter(|_| amid).unwrap_or_else(|| self.suite(text));
            log.report_unreadable(line, suite, "is not `name : N cycles , M ns`");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }
}

impl Zephyr {
    /// Records a row's name. A repeated name begins another run of the suite.
    fn start_row(&mut self, name: &str, log: &mut Log) {
        log.of_kernel(KERNEL);
        if self.section != log.current() {
            self.names.clear();
        }
        if self.names.contains(name) {
            self.names.clear();
            log.open_section();
            log.of_kernel(KERNEL);
        }
        self.section = log.current();
        if self.names.len() < MAX_NAMES {
            self.names.insert(name.to_owned());
        }
    }

    fn table(&mut self, line: &Line, log: &mut Log) -> Option<LineMatch> {
        let text = line.text();
        if let Some(found) = TABLE_CLOCK.find(text) {
            self.place = Place::Table;
            let step = found.at(1).parse::<f64>().ok().filter(|step| *step > 0.0);
            let clock = step.map(|step| (1e9 / step, Rounding::WholeNanoseconds));
            let section = section_of(clock, log);
            section.clock = clock;
            section.facts.insert("tcs_ns".into(), found.at(1).to_owned());
            return Some(LineMatch::Consumed);
        }
        if self.place == Place::Table
            && let Some(found) = TABLE_TITLE.find(text)
        {
            found.at(1).clone_into(&mut self.title);
            return Some(LineMatch::Consumed);
        }
        if let Some(found) = TABLE_ROW.find(text) {
            let name = found.at(1);
            // These two rows of a table have almost the same words.
            let name = match name {
                "switching time" => "Switch from ISR back to interrupted thread",
                "switch time" => "Time from ISR to executing a different thread",
                other => other.strip_suffix(" is").unwrap_or(other),
            };
            self.figures(name, &found, 2, line, log);
            return Some(LineMatch::Consumed);
        }
        if self.place != Place::Outside
            && let Some(found) = ERROR.find(text)
        {
            let (name, title) = (self.last_name.as_str(), self.title.as_str());
            let name = match (self.place, name) {
                (Place::Table, _) if !title.is_empty() => title.to_owned(),
                (_, "") => "the first row".to_owned(),
                _ => format!("after: {name}"),
            };
            let mut row = Row::new(self.suite(&name), name, line.number, Basis::Cycles);
            let tick = found.at(1).contains("tick occurred");
            let kind = if tick { FlagKind::Tick } else { FlagKind::Failed };
            row.flag(kind, format!("the suite says: {}", found.at(1)));
            log.of_kernel(KERNEL);
            log.row(row);
            return Some(LineMatch::Consumed);
        }
        if self.place == Place::Table && LIKE_TABLE_ROW.fits(text) {
            log.report_unreadable(line, Suite::ZephyrLatencyMeasure, "has no name, tcs and nsec");
            return Some(LineMatch::Consumed);
        }
        None
    }

    fn row(&mut self, line: &Line, log: &mut Log) -> Option<LineMatch> {
        let text = line.text();
        if let Some(found) = ROW.find(text) {
            self.figures(found.at(1), &found, 2, line, log);
            if !found.at(4).is_empty()
                && let Some(row) = log.rows.last_mut()
            {
                row.facts.insert("note".into(), found.at(4).to_owned());
            }
            return Some(LineMatch::Consumed);
        }
        if let Some(found) = FAILED.find(text).filter(|_| text.contains("FAILED")) {
            self.failed(found.at(1), found.at(2), line, log);
            return Some(LineMatch::Consumed);
        }
        let comma = match self.place {
            Place::Recording | Place::Latency | Place::TimingInfo => {
                TAGGED_CSV.find(text).map(|found| (found, 3)).or_else(|| {
                    let quoted = text.contains('"');
                    (!quoted).then(|| SENTENCE_CSV.find(text).map(|found| (found, 2))).flatten()
                })
            }
            _ => TAGGED_CSV.find(text).map(|found| (found, 3)),
        };
        if let Some((found, first)) = comma {
            let name = match first {
                3 => format!("{} - {}", found.at(1), found.at(2)),
                _ => found.at(1).to_owned(),
            };
            if found.at(first) == "FAILED" || found.at(first + 1) == "FAILED" {
                self.failed(&name, found.at(first + 2), line, log);
            } else {
                self.figures(&name, &found, first, line, log);
            }
            return Some(LineMatch::Consumed);
        }
        if self.place == Place::Recording && !text.is_empty() {
            if text.contains(',') {
                log.report_unreadable(
                    line,
                    Suite::ZephyrLatencyMeasure,
                    "is not metric,cycles,nanoseconds",
                );
                return Some(LineMatch::Consumed);
            }
            self.place = Place::Outside;
        }
        None
    }

    /// Returns the suite that a row belongs to.
    fn suite(&self, name: &str) -> Suite {
        match self.place {
            _ if name.starts_with("sched.") => Suite::ZephyrSchedQueues,
            _ if name.starts_with("waitq.") || name.starts_with("wait_queue") => {
                Suite::ZephyrSchedQueues
            }
            Place::TimingInfo => Suite::ZephyrTimingInfo,
            _ => Suite::ZephyrLatencyMeasure,
        }
    }

    fn figures(&mut self, name: &str, found: &Found<'_>, first: usize, line: &Line, log: &mut Log) {
        let (Some(cycles), Some(ns)) = (found.number(first), found.number(first + 1)) else {
            log.report_unreadable(line, self.suite(name), "its numbers are not valid");
            return;
        };
        let (tag, description) = tagged(name);
        let suite = self.suite(&tag);
        self.last_name.clone_from(&tag);
        let statistic = STATISTIC.find(&tag).filter(|_| suite == Suite::ZephyrSchedQueues);
        let base = statistic.as_ref().map_or(tag.as_str(), |found| found.at(1));
        let twin = cycles.value.zip(ns.value);
        self.start_row(&tag, log);
        let known = log.last(suite).filter(|row| statistic.is_some() && row.name == base);
        if let Some(row) = known {
            let statistic_name = statistic.as_ref().map_or("", |found| found.at(2));
            set_statistic(row, statistic_name, &cycles);
            if matches!(statistic_name, "avg" | "mean") || row.twin.is_none() {
                row.twin = twin;
            }
            if let Some(flag) = ns.flag {
                row.flag(flag, "the nanoseconds are impossible");
            }
            return;
        }
        let mut row = Row::new(suite, base, line.number, Basis::Cycles);
        match &statistic {
            Some(found) => set_statistic(&mut row, found.at(2), &cycles),
            None => row = row.mean(&cycles),
        }
        row.twin = twin;
        if let Some(flag) = ns.flag {
            row.flag(flag, "the nanoseconds are impossible");
        }
        if let Some(summary) = row.summary_mut() {
            summary.resolution = Some(1.0);
        }
        if !description.is_empty() {
            row.facts.insert("description".into(), description);
        }
        log.row(row);
    }

    fn failed(&mut self, name: &str, why: &str, line: &Line, log: &mut Log) {
        let (tag, _) = tagged(name);
        let mut row = Row::new(self.suite(&tag), tag.as_str(), line.number, Basis::Cycles);
        self.start_row(&tag, log);
        self.last_name = tag;
        let why = if why.is_empty() { "nothing more" } else { why };
        row.flag(FlagKind::Failed, format!("the suite says FAILED, and: {why}"));
        log.row(row);
    }
}

/// Returns the section of a clock: rows timed by another one are treated as another log.
fn section_of(clock: Option<(f64, Rounding)>, log: &mut Log) -> &mut Section {
    if log.section().clock.is_some_and(|known| Some(known) != clock) {
        log.open_section();
    }
    log.of_kernel(KERNEL)
}

fn set_statistic(row: &mut Row, statistic_name: &str, number: &Number) {
    row.set(
        |summary, value| match statistic_name {
            "min" => summary.min = value,
            "max" => summary.max = value,
            "stddev" | "stdev" => summary.sigma = value,
            _ => summary.mean = value,
        },
        number,
    );
}

/// Returns a row's tag and its description; a sentence is its own tag.
fn tagged(name: &str) -> (String, String) {
    let name = name.trim().trim_matches('"').trim();
    if let Some(found) = TAG.find(name) {
        return (found.at(1).to_owned(), found.at(2).to_owned());
    }
    if let Some(found) = THREAD.find(name) {
        let (object, verb) = (found.at(1).to_lowercase(), found.at(2));
        let (from, to) = (found.at(3).to_lowercase(), found.at(4).to_lowercase());
        return (format!("{object}.{verb}.{from}_to_{to}"), String::new());
    }
    (name.to_owned(), String::new())
}
