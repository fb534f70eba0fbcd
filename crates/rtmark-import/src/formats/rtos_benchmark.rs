//! Reads the Zephyr project's `rtos-benchmark`, on any kernel it was ported to: groups of `name: avg,
//! min, max`.

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Figures, Number, Rounding, Row};

form! {
    GROUP = r"(?i)^\*\* (.+?) stats \[avg, min, max\] in (nanoseconds|microseconds|cycles) \*\*";
    ROW = r"^(\S.*?)\s*:\s*([^\s,:]+)\s*,\s*([^\s,:]+)\s*,\s*([^\s,:]+)$";
    LIKE_ROW = r"^\S.*:.*,.*,|^\S.*?\S\s*:\s*-?\d[\d.]*\s*(?:,|ns\b|us\b|cycles\b|$)|^\S.*?\S\s*:\s*-\s*,";
    FAILED = r"^(\S.*?)\s*:.*\bFAILED\b";
    /// Information about the system, which is not a row.
    CONFIGURATION = r"(?i)^CPU:|\bclock frequency\b|\btimer resolution\b|^Kernel:|^- |\bversion\b";
    BEGIN = r"^\*\*\* Starting! \*\*\*";
    END = r"^\*\*\* Done! \*\*\*";
    KERNEL = r"(?i)\b(FreeRTOS|VxWorks|NuttX|RTEMS|Zephyr|ThreadX)\b";
    VERSION = r"(?i)Kernel: .*version:? (\S+)";
    CPU = r"(?i)^CPU:\s*(\d+)\s*MHz";
    BOARD = r"(?i)VxWorks \(for ([^)]+)\)";
    TICK = r"(?i)tick clock frequency:\s*(\d+) Hz";
    RESOLUTION = r"(?i)timer resolution:\s*(\d+) ns";
}

/// The reader.
#[derive(Debug, Default)]
pub struct RtosBenchmark {
    /// Its name, the basis of its rows, and the unit of their figures as a power of ten in that basis.
    group: Option<(String, Basis, i32)>,
    section: usize,
    /// Information before the first group, which can only concern the configuration.
    before: Before,
}

#[derive(Debug, Default, PartialEq)]
struct Before {
    kernel: Option<String>,
    version: Option<String>,
    board: Option<String>,
    clock: Option<f64>,
    tick: Option<String>,
    resolution: Option<f64>,
}

impl Reader for RtosBenchmark {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = GROUP.find(text) {
            // Information since the last group, or a boot that another reader saw, begins another run.
            let continues_run = self.group.is_some()
                && self.before == Before::default()
                && self.section == log.current()
                && log.in_use();
            if !continues_run {
                self.begin(log);
            }
            let (basis, power) = match found.at(2).to_lowercase().as_str() {
                "cycles" => (Basis::Cycles, 0),
                "microseconds" => (Basis::Ns, 3),
                _ => (Basis::Ns, 0),
            };
            self.group = Some((found.at(1).trim().to_owned(), basis, power));
            return LineMatch::Consumed;
        }
        if END.fits(text) {
            *self = Self::default();
            log.end_section();
            return LineMatch::Consumed;
        }
        if BEGIN.fits(text) {
            // The lines before it belong to this run.
            self.group = None;
            return LineMatch::Consumed;
        }
        let Some((group, basis, power)) = &self.group else {
            self.remember(text);
            return LineMatch::NotMine;
        };
        if self.section != log.current() {
            // The rows belong to something else, after another boot.
            *self = Self::default();
            return LineMatch::NotMine;
        }
        if let Some(found) = ROW.find(text) {
            let name = found.at(1).split_whitespace().collect::<Vec<_>>().join(" ");
            let mut row =
                Row::new(Suite::RtosBenchmark, format!("{group}: {name}"), line.number, *basis);
            let numbers = [2, 3, 4].map(|group| found.number(group));
            if [2, 3, 4].iter().all(|&group| found.at(group).eq_ignore_ascii_case("n/a")) {
                row.figures = Figures::Absent;
                log.row(row);
                return LineMatch::Consumed;
            }
            if let [Some(mean), Some(min), Some(max)] = numbers {
                let scaled = |number: Number| number.shifted(*power);
                row.set(|summary, value| summary.mean = value, &scaled(mean));
                row.set(|summary, value| summary.min = value, &scaled(min));
                row.set(|summary, value| summary.max = value, &scaled(max));
                log.row(row);
                return LineMatch::Consumed;
            }
            if !text.contains("FAILED") {
                let problem = "not all of avg, min and max are numbers";
                log.report_unreadable(line, Suite::RtosBenchmark, problem);
                return LineMatch::Consumed;
            }
        }
        if let Some(found) = FAILED.find(text) {
            let name = found.at(1).split_whitespace().collect::<Vec<_>>().join(" ");
            let name = format!("{group}: {name}");
            let mut row = Row::new(Suite::RtosBenchmark, name, line.number, *basis);
            row.flag(FlagKind::Failed, "the suite prints FAILED instead of figures");
            log.row(row);
            return LineMatch::Consumed;
        }
        self.configure(text);
        LineMatch::NotMine
    }

    fn unmatched(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        let inside = self.group.is_some() && self.section == log.current();
        if inside && LIKE_ROW.fits(text) && !CONFIGURATION.fits(text) {
            log.report_unreadable(line, Suite::RtosBenchmark, "is not `name: avg, min, max`");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }
}

impl RtosBenchmark {
    fn remember(&mut self, text: &str) {
        if let Some(found) = KERNEL.find(text) {
            self.before.kernel.get_or_insert_with(|| found.at(1).to_lowercase());
        }
        self.configure(text);
    }

    /// Parses lines that can only be the beginning of another run.
    fn configure(&mut self, text: &str) {
        let before = &mut self.before;
        if let Some(found) = BOARD.find(text) {
            before.board = Some(found.at(1).to_owned());
        }
        if let Some(found) = VERSION.find(text) {
            before.kernel =
                KERNEL.find(text).map(|found| found.at(1).to_lowercase()).or(before.kernel.take());
            before.version = Some(found.at(1).to_owned());
        }
        if let Some(found) = CPU.find(text) {
            before.clock = found.at(1).parse::<f64>().ok().map(|mhz| mhz * 1e6);
        }
        if let Some(found) = TICK.find(text) {
            before.tick = Some(found.at(1).to_owned());
        }
        if let Some(found) = RESOLUTION.find(text) {
            before.resolution = found.at(1).parse().ok();
        }
    }

    fn begin(&mut self, log: &mut Log) {
        let before = std::mem::take(&mut self.before);
        // A boot message before the groups names the program and its version more reliably than
        // surrounding text.
        let section = log.open_section();
        let known = section.kernel.is_some();
        section.kernel = section.kernel.take().or(before.kernel);
        section.version =
            if known { section.version.take().or(before.version) } else { before.version };
        section.soc = section.soc.take().or(before.board);
        section.clock = before.clock.map(|clock| (clock, Rounding::Exact)).or(section.clock);
        section.resolution_ns = before.resolution;
        section.facts.extend(before.tick.map(|tick| ("tick_hz".to_owned(), tick)));
        self.section = log.reserve();
    }
}
