//! Reads Zephyr's ztest benchmarks of 2026: percentiles, with the cold sample reported separately.

use rtmark_model::{Basis, Percentile};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::Row;

form! {
    GROUP = r"^([\w.+-]+) #{8,}$";
    NAME = r"^([\w.+-]+) ={8,}$";
    SIZE = r"^Sample size:\s*(\d+), total cycles: ([\d.]+)$";
    MEAN = r"^Mean(?:\(u\))?: ([\d.]+)$";
    SIGMA = r"^Standard deviation(?:\(s\))?: ([\d.]+)$";
    OUTLIERS = r"^Outliers: (\d+) / \d+";
    MIN = r"^Min: (-?[\d.]+)(?: \(run #\d+\))?$";
    MAX = r"^Max: (-?[\d.]+)(?: \(run #\d+\))?$";
    PERCENTILE = r"^p(\d+(?:\.\d+)?): (-?[\d.]+)$";
    COLD = r"^Cold: (-?[\d.]+)(?:, after (\d+) warmup iterations)?$";
    LIKE = r"^(?:Sample size|Mean\(u\)|Standard deviation\(s\)|Min|Max|p\d+(?:\.\d+)?|Cold):";
}

/// The reader.
#[derive(Debug, Default)]
pub struct Ztest {
    group: String,
    /// The row being read, and the section of its first figure.
    row: Option<(Option<usize>, Row)>,
}

impl Reader for Ztest {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = GROUP.find(text) {
            self.end(log);
            found.at(1).clone_into(&mut self.group);
            return LineMatch::Consumed;
        }
        if let Some(found) = NAME.find(text) {
            self.end(log);
            // A suite that begins without a title is one whose title was cut off.
            let name = match self.group.as_str() {
                "" => found.at(1).to_owned(),
                group => format!("{group}.{}", found.at(1)),
            };
            let row = Row::new(Suite::ZephyrZtest, name, line.number, Basis::Cycles);
            self.row = Some((None, row));
            return LineMatch::Consumed;
        }
        if text == "[...]" {
            self.end(log);
            self.group.clear();
            return LineMatch::NotMine;
        }
        if self.row.is_none() {
            return LineMatch::NotMine;
        }
        if self.read(line) {
            if let Some((section @ None, _)) = &mut self.row {
                log.of_kernel("zephyr");
                *section = Some(log.reserve());
            }
            return LineMatch::Consumed;
        }
        if LIKE.fits(text) {
            log.report_unreadable(line, Suite::ZephyrZtest, "its number is not valid");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        let Some((section, row)) = self.row.take() else { return };
        // A heading alone may belong to anything.
        if row.summary().is_some_and(|summary| summary.typical().is_some()) {
            log.row_of(section.unwrap_or_else(|| log.current()), row);
        }
    }
}

impl Ztest {
    fn read(&mut self, line: &Line) -> bool {
        let text = line.text();
        let Some((_, row)) = &mut self.row else { return false };
        if let Some(found) = SIZE.find(text) {
            let Some(count) = found.count(1) else { return false };
            if let Some(summary) = row.summary_mut() {
                summary.count = Some(count);
            }
            return true;
        }
        if let Some(found) = OUTLIERS.find(text) {
            row.facts.insert("outliers".into(), found.at(1).to_owned());
            return true;
        }
        if let Some(found) = PERCENTILE.find(text) {
            let (Ok(per_cent), Some(number)) = (found.at(1).parse::<f64>(), found.number(2)) else {
                return false;
            };
            if !(0.0..=100.0).contains(&per_cent) {
                return false;
            }
            row.set(
                |summary, value| {
                    let value = value.map(|value| Percentile { per_cent, value });
                    if summary.percentiles.len() < 64 {
                        summary.percentiles.extend(value);
                    }
                },
                &number,
            );
            return true;
        }
        if let Some(found) = COLD.find(text) {
            let Some(number) = found.number(1) else { return false };
            row.set(|summary, value| summary.first = value, &number);
            if !found.at(2).is_empty() {
                row.facts.insert("warmup".into(), found.at(2).to_owned());
            }
            return true;
        }
        if let Some(number) = MEAN.find(text).and_then(|found| found.number(1)) {
            row.set(|summary, value| summary.mean = value, &number);
        } else if let Some(number) = SIGMA.find(text).and_then(|found| found.number(1)) {
            row.set(|summary, value| summary.sigma = value, &number);
        } else if let Some(number) = MIN.find(text).and_then(|found| found.number(1)) {
            row.set(|summary, value| summary.min = value, &number);
        } else if let Some(number) = MAX.find(text).and_then(|found| found.number(1)) {
            row.set(|summary, value| summary.max = value, &number);
        } else {
            return false;
        }
        true
    }
}
