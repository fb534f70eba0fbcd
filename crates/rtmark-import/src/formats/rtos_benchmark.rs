//! `rtos-benchmark` of the Zephyr project, on whichever kernel it was ported to:
//! groups of `name: avg, min, max`.

use rtmark_model::Basis;

use super::{Reader, Took};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Figures, Number, Rounding, Row};

form! {
    GROUP = r"(?i)^\*\* (.+?) stats \[avg, min, max\] in (nanoseconds|microseconds|cycles) \*\*";
    ROW = r"^(\S.*?)\s*:\s*([^\s,:]+)\s*,\s*([^\s,:]+)\s*,\s*([^\s,:]+)$";
    LIKE_ROW = r"^\S.*:.*,.*,";
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
    group: Option<(String, Basis, f64)>,
    /// What was said before the first group, in which nothing else is sure to be meant.
    before: Before,
}

#[derive(Debug, Default)]
struct Before {
    kernel: Option<String>,
    version: Option<String>,
    board: Option<String>,
    clock: Option<f64>,
    tick: Option<String>,
    resolution: Option<f64>,
}

impl Reader for RtosBenchmark {
    fn line(&mut self, line: &Line, log: &mut Log) -> Took {
        let text = line.text();
        if let Some(found) = GROUP.find(text) {
            if self.group.is_none() {
                self.begin(log);
            }
            let (basis, scale) = match found.at(2).to_lowercase().as_str() {
                "cycles" => (Basis::Cycles, 1.0),
                "microseconds" => (Basis::Ns, 1e3),
                _ => (Basis::Ns, 1.0),
            };
            self.group = Some((found.at(1).trim().to_owned(), basis, scale));
            return Took::Line;
        }
        if END.fits(text) {
            *self = Self::default();
            return Took::Line;
        }
        let Some((group, basis, scale)) = &self.group else {
            self.remember(text);
            return Took::Nothing;
        };
        if let Some(found) = ROW.find(text) {
            let name = found.at(1).split_whitespace().collect::<Vec<_>>().join(" ");
            let mut row =
                Row::new(Suite::RtosBenchmark, format!("{group}: {name}"), line.number, *basis);
            let numbers = [2, 3, 4].map(|group| found.number(group));
            if [2, 3, 4].iter().all(|&group| found.at(group).eq_ignore_ascii_case("n/a")) {
                row.figures = Figures::Absent;
                log.row(row);
                return Took::Line;
            }
            if let [Some(mean), Some(min), Some(max)] = numbers {
                let scaled = |number: Number| number.scaled(*scale);
                row.set(|summary, value| summary.mean = value, &scaled(mean));
                row.set(|summary, value| summary.min = value, &scaled(min));
                row.set(|summary, value| summary.max = value, &scaled(max));
                log.row(row);
                return Took::Line;
            }
            if numbers.iter().any(Option::is_some) {
                log.unreadable(
                    line,
                    Suite::RtosBenchmark,
                    "not all of avg, min and max are numbers",
                );
                return Took::Line;
            }
            return Took::Nothing;
        }
        if LIKE_ROW.fits(text) && text.contains("context switch") {
            log.unreadable(line, Suite::RtosBenchmark, "is not `name: avg, min, max`");
            return Took::Line;
        }
        Took::Nothing
    }
}

impl RtosBenchmark {
    fn remember(&mut self, text: &str) {
        let before = &mut self.before;
        if BEGIN.fits(text) {
            return;
        }
        if let Some(found) = KERNEL.find(text) {
            before.kernel.get_or_insert_with(|| found.at(1).to_lowercase());
        }
        if let Some(found) = BOARD.find(text) {
            before.board = Some(found.at(1).to_owned());
        }
        if let Some(found) = VERSION.find(text) {
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
        log.new_section();
        let before = std::mem::take(&mut self.before);
        let section = log.section();
        section.kernel = before.kernel.or(section.kernel.take());
        section.version = before.version.or(section.version.take());
        section.soc = before.board;
        section.clock = before.clock.map(|clock| (clock, Rounding::Exact));
        section.resolution_ns = before.resolution;
        section.facts.extend(before.tick.map(|tick| ("tick_hz".to_owned(), tick)));
    }
}
