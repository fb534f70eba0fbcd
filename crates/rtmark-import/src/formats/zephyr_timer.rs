//! Reads Zephyr's `timer_behavior` test: the jitter of a periodic timer, as a line of JSON.

use rtmark_model::{Basis, FlagKind};
use serde::Deserialize;

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Number, Rounding, Row};

form! {
    RECORD = r"RECORD:\s*(\{.*)$";
    RATE = r"timer clock rate (\d+), kernel tick rate (\d+)";
}

#[derive(Debug, Deserialize)]
struct Record {
    testcase: String,
    #[serde(default)]
    mechanism: String,
    #[serde(default)]
    stats_count: Option<u64>,
    #[serde(default)]
    rollovers: u64,
    mean_cycles: Option<f64>,
    stddev_cycles: Option<f64>,
    min_cycles: Option<f64>,
    max_cycles: Option<f64>,
    mean_us: Option<f64>,
    stddev_us: Option<f64>,
    min_us: Option<f64>,
    max_us: Option<f64>,
}

/// The reader.
#[derive(Debug, Default)]
pub struct ZephyrTimer;

impl Reader for ZephyrTimer {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        if let Some(found) = RATE.find(line.text()) {
            log.open_section();
            let section = log.of_kernel("zephyr");
            section.clock = found.at(1).parse().ok().map(|rate| (rate, Rounding::Exact));
            section.facts.insert("tick_hz".into(), found.at(2).to_owned());
            return LineMatch::Consumed;
        }
        let Some(found) = RECORD.find(line.text()) else { return LineMatch::NotMine };
        match serde_json::from_str::<Record>(found.at(1)) {
            Ok(record) => {
                log.of_kernel("zephyr");
                log.row(record.row(line.number));
            }
            // Records of other tests belong to them.
            Err(error) if error.is_data() => return LineMatch::NotMine,
            Err(error) => {
                let problem = format!("its JSON is broken: {error}");
                log.report_unreadable(line, Suite::ZephyrTimerBehavior, &problem);
            }
        }
        LineMatch::Consumed
    }
}

impl Record {
    fn row(self, line: u64) -> Row {
        let name = [self.testcase.as_str(), self.mechanism.as_str()].join(".");
        let in_cycles = self.mean_cycles.is_some();
        let (basis, power) = if in_cycles { (Basis::Cycles, 0) } else { (Basis::Ns, 3) };
        let mut row = Row::new(Suite::ZephyrTimerBehavior, name.trim_end_matches('.'), line, basis);
        let figure = |cycles: Option<f64>, us: Option<f64>| {
            let chosen = if in_cycles { cycles } else { us };
            chosen.map_or(Number::of(f64::NAN), Number::of).shifted(power).value
        };
        if let Some(summary) = row.summary_mut() {
            summary.count = self.stats_count;
            summary.mean = figure(self.mean_cycles, self.mean_us);
            summary.min = figure(self.min_cycles, self.min_us);
            summary.max = figure(self.max_cycles, self.max_us);
            summary.sigma = figure(self.stddev_cycles, self.stddev_us);
        }
        row.twin = self.mean_cycles.zip(self.mean_us.map(|us| us * 1e3));
        if self.rollovers > 0 {
            let times = self.rollovers;
            row.flag(
                FlagKind::Wrapped,
                format!("the suite reports that its counter wrapped {times} times"),
            );
        }
        row
    }
}
