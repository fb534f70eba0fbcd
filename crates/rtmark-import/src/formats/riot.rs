//! Reads RIOT's `bench_*` tests: how many operations were done in a second, or how long a call took.

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Number, Row};

form! {
    BANNER = r"This is RIOT! \(Version:\s*([^)]*)\)";
    NAME = r"\b(?:tests[/_])?bench[_/]((?:mutex|msg|sched|thread|ptrace|xtimer|ztimer|timers|runtime|nimble|spi|uart|gpio|sys|periph)\w*)";
    FILE = r"(?:^|[/_])((?:mutex|msg|sched|thread|runtime)_[a-z_]+)(?:\.\w+)?$";
    RESULT = r#"^\{\s*"result"\s*:\s*(\d+)\s*(?:,\s*"ticks"\s*:\s*(\d+)\s*)?\}$"#;
    OLD_RESULT = r"^Test complete\. n=(\d+)$";
    CALLS = r"^(\S.*?):\s+(\d+)us\s+---\s+(\d*\.?\d+)us per call\s+---\s+(\d+) calls per sec";
    RS = r"^took (\d+) (?:ticks )?per iteration";
    LIKE = r#"^\{\s*"result"\s*:|us per call\s+---"#;
    BOARD = r"(?i)^(?:export )?BOARD=(\S+)";
}

/// The kernel of these tests.
const KERNEL: &str = "riot";

/// The reader.
#[derive(Debug, Default)]
pub struct Riot {
    name: Option<String>,
    riot: bool,
}

impl Reader for Riot {
    /// The tests do not print their names, but their files have them: `tests_mutex_pingpong.elf`.
    fn named(&mut self, name: &str) {
        let name = name.rsplit('/').next().unwrap_or(name);
        self.name =
            FILE.find(name.strip_prefix("tests_").unwrap_or(name)).map(|it| it.at(1).to_owned());
    }

    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        // RIOT's terminal prefixes the board's output with this.
        let text = line.text().trim_start_matches("# ");
        if let Some(found) = NAME.find(text) {
            self.name = Some(found.at(1).to_owned());
        }
        if let Some(found) = BOARD.find(text) {
            log.open_section().soc = Some(found.at(1).to_owned());
        }
        if let Some(found) = BANNER.find(text) {
            // The terminal names the board before it boots.
            let board = log.open_section().soc.take();
            let section = log.new_section();
            section.soc = board;
            section.kernel = Some(KERNEL.into());
            section.version = Some(found.at(1).to_owned());
            self.riot = true;
            return LineMatch::Consumed;
        }
        let name = || self.name.clone().unwrap_or_else(|| "bench".to_owned());
        if let Some(found) = RESULT.find(text) {
            let (Some(result), ticks) = (found.number(1), found.number(2)) else {
                return LineMatch::NotMine;
            };
            log.of_kernel(KERNEL);
            log.row(per_second_row(name(), line, &result, ticks.as_ref()));
            return LineMatch::Consumed;
        }
        if let Some(found) = OLD_RESULT.find(text).filter(|_| self.riot) {
            let Some(result) = found.number(1) else { return LineMatch::NotMine };
            log.of_kernel(KERNEL);
            log.row(per_second_row(name(), line, &result, None));
            return LineMatch::Consumed;
        }
        if let Some(found) = CALLS.find(text) {
            let (Some(total), Some(each)) = (found.number(2), found.number(3)) else {
                log.report_unreadable(line, Suite::Riot, "its numbers are not valid");
                return LineMatch::Consumed;
            };
            let calls = total.value.zip(each.value).map(|(total, each)| (total / each).round());
            let row =
                Row::new(Suite::Riot, format!("runtime: {}", found.at(1)), line.number, Basis::Ns);
            let mut row = row.mean(&each.shifted(3));
            if let Some(summary) = row.summary_mut() {
                summary.count = calls.filter(|calls| (1.0..1e15).contains(calls)).map(|n| n as u64);
            }
            log.of_kernel(KERNEL);
            log.row(row);
            return LineMatch::Consumed;
        }
        if let Some(found) = RS.find(text) {
            let Some(ticks) = found.number(1) else { return LineMatch::NotMine };
            log.of_kernel(KERNEL);
            log.row(Row::new(Suite::Riot, name(), line.number, Basis::Cycles).mean(&ticks));
            return LineMatch::Consumed;
        }
        if LIKE.fits(text) {
            log.report_unreadable(line, Suite::Riot, "its numbers are not valid");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }
}

/// Converts the result of a loop that counted for a second; the ticks are clock ticks per iteration.
fn per_second_row(name: String, line: &Line, result: &Number, ticks: Option<&Number>) -> Row {
    let count = result.value.filter(|count| *count >= 1.0 && *count < 1e15);
    let each = count.map(|count| 1e9 / count);
    let mut row = match ticks {
        Some(ticks) => Row::new(Suite::Riot, name, line.number, Basis::Cycles).mean(ticks),
        None => Row::new(Suite::Riot, name, line.number, Basis::Ns)
            .mean(&Number::of(each.unwrap_or(f64::NAN))),
    };
    if row.basis == Basis::Cycles {
        row.twin = row.typical().zip(each);
        if let Some((count, ticks)) = count.zip(row.typical()) {
            row.facts.insert("clock_about".into(), format!("{:.0} Hz", count * ticks));
        }
    }
    match count {
        Some(count) => {
            if let Some(summary) = row.summary_mut() {
                summary.count = Some(count as u64);
            }
        }
        None => row.flag(FlagKind::Zero, "nothing was counted in a second"),
    }
    row
}
