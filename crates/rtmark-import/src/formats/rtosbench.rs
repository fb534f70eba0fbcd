//! Reads RTOSBench: a title, followed by max, min and average, or every sample. The unit depends on the
//! port; on Linux it is nanoseconds.

use rtmark_model::Basis;

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::Row;

form! {
    TITLE = r"^--- ([^-\s](?:.*[^-\s])?) ---$";
    FIGURE = r"^(max|min|average)=(-?\d+)$";
    LIKE = r"^(?:max|min|average)=";
}

/// The reader.
#[derive(Debug, Default)]
pub struct Rtosbench {
    row: Option<Row>,
    /// The section of its first figure.
    section: Option<usize>,
}

impl Reader for Rtosbench {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = TITLE.find(text) {
            self.end(log);
            let mut row = Row::new(Suite::Rtosbench, found.at(1), line.number, Basis::Ns);
            row.facts.insert("unit".into(), "not stated; assumed to be ns".into());
            self.row = Some(row);
            // It may belong to any other program.
            return LineMatch::NotMine;
        }
        let Some(row) = &mut self.row else { return LineMatch::NotMine };
        if let Some(found) = FIGURE.find(text) {
            let Some(number) = found.number(2) else { return LineMatch::NotMine };
            let which = found.at(1);
            row.set(
                |summary, value| match which {
                    "max" => summary.max = value,
                    "min" => summary.min = value,
                    _ => summary.mean = value,
                },
                &number,
            );
            self.section.get_or_insert_with(|| log.reserve());
            return LineMatch::Consumed;
        }
        if LIKE.fits(text) {
            log.report_unreadable(line, Suite::Rtosbench, "its number is not valid");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        let section = self.section.take();
        if let Some((row, section)) = self.row.take().zip(section)
            && (row.typical().is_some() || !row.flags.is_empty())
        {
            log.row_of(section, row);
        }
    }
}
