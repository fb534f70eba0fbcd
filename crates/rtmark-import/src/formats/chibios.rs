//! Reads reports of the ChibiOS test suites: how many operations were done in a second, after a list of
//! all settings of the kernel, the compiler and the board.

use rtmark_model::{Basis, FlagKind, Setting};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Number, Row};

form! {
    BANNER = r"^\*\*\* ChibiOS/(\w+)(?: Test Suite| test suite)";
    OTHER_BANNER = r"^\*\*\* ChibiOS .*(?:Test Suite|test suite)";
    HEAD = r"^\*\*\* ([A-Za-z][\w ./]*?):\s+(\S.*)$";
    CASE = r"^--- Test Case (\d+(?:\.\d+)*) \((.+)\)$";
    INFO = r"^--- (Architecture|Core Variant|Compiler|Version String|Product|Port Info):\s+(\S.*)$";
    SETTING = r"^--- ((?:CH|NIL|OSLIB)_[A-Z0-9_]+):\s+(-?\d+)$";
    SCORE = r"^--- Score ?:\s*(\d+) ([^\s,]+?)(?:/S)?(?:\s*,\s*(\d+) (\S+?)/S)?$";
    RESULT = r"^--- Result: (\w+)";
    LIKE = r"^--- Score\b";
}

/// The reader.
#[derive(Debug, Default)]
pub struct Chibios {
    inside: bool,
    case: Option<String>,
    library: bool,
}

impl Reader for Chibios {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = BANNER.find(text) {
            *self = Self { inside: true, ..Self::default() };
            log.new_section();
            let product = found.at(1).to_lowercase();
            let kernel =
                if product == "rt" { "chibios".into() } else { format!("chibios-{product}") };
            log.section().kernel = Some(kernel);
            return LineMatch::Consumed;
        }
        if OTHER_BANNER.fits(text) {
            *self = Self { inside: true, library: true, ..Self::default() };
            log.new_section();
            log.section().kernel = Some("chibios".into());
            return LineMatch::Consumed;
        }
        if !self.inside {
            return LineMatch::NotMine;
        }
        let section = log.section();
        if let Some(found) = CASE.find(text) {
            self.case = Some(found.at(2).to_owned());
        } else if let Some(found) = SETTING.find(text) {
            let value = found
                .at(2)
                .parse()
                .map_or_else(|_| Setting::Text(found.at(2).into()), Setting::Number);
            if section.settings.len() < 512 {
                section.settings.insert(found.at(1).to_owned(), value);
            }
        } else if let Some(found) = INFO.find(text).or_else(|| HEAD.find(text)) {
            let value = found.at(2).trim().to_owned();
            match found.at(1) {
                "Core Variant" => section.core = Some(value.to_lowercase()),
                "Compiler" => section.compiler.version = value,
                "Version String" | "Kernel" if !self.library => section.version = Some(value),
                "Test Board" => section.soc = Some(value),
                "Platform" => {
                    section.soc.get_or_insert(value);
                }
                _ => {}
            }
        } else if let Some(found) = SCORE.find(text) {
            let Some(score) = found.number(1) else { return LineMatch::NotMine };
            let case = self.case.clone().unwrap_or_else(|| "without a title".into());
            log.row(row_from_score(case, found.at(2), &score, line));
        } else if let Some(found) = RESULT.find(text) {
            if found.at(1) != "SUCCESS"
                && let Some(row) = log.last(Suite::Chibios)
                && self.case.as_deref() == Some(row.name.as_str())
            {
                row.flag(FlagKind::Failed, format!("the suite says {}", found.at(1)));
            }
            self.case = None;
        } else if LIKE.fits(text) {
            log.report_unreadable(line, Suite::Chibios, "its score is not a number with a unit");
        } else {
            return LineMatch::NotMine;
        }
        LineMatch::Consumed
    }
}

/// Converts a score in operations per second.
fn row_from_score(case: String, unit: &str, score: &Number, line: &Line) -> Row {
    let row = Row::new(Suite::Chibios, case, line.number, Basis::Ns);
    let count = score.value.filter(|score| *score >= 1.0);
    let mut row = match count {
        Some(count) => row.mean(&Number::of(1e9 / count)),
        None => row,
    };
    row.facts.insert("one_is".into(), unit.to_owned());
    match count {
        None => row.flag(FlagKind::Zero, "nothing was counted in a second"),
        Some(count) => {
            if let Some(summary) = row.summary_mut() {
                summary.count = (count < 1e15).then_some(count as u64);
            }
            if let Some(flag) = score.flag {
                row.flag(flag, "the score is impossible");
            }
        }
    }
    row
}
