//! Reads the task-switch example of TI's MCU+ SDK: the time per switch over millions of switches.

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::Row;

form! {
    BANNER = r"^\[(FreeRTOS|THREADX|SAFERTOS)[^\]]*\] ping task \.\.\. (start|done)";
    TOTAL = r"^execution time for task (?:- ISR - task - task )?switches = (\d+) (us|ms)(?:, (\d+) cycles)?";
    COUNT = r"^number of (task switches|ISRs) = (\d+)";
    EACH = r"^time per task (?:- ISR - task )?switch \((.+?)\) = (-?\d+) ns(?:, (\d+) cycles)?";
    LIKE = r"^time per task .*switch";
}

/// The reader.
#[derive(Debug, Default)]
pub struct Ti {
    total_ns: Option<f64>,
    count: Option<u64>,
}

impl Reader for Ti {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = BANNER.find(text) {
            if found.at(2) == "start" {
                log.new_section();
                log.section().kernel = Some(found.at(1).to_lowercase());
            }
        } else if let Some(found) = TOTAL.find(text) {
            let scale = if found.at(2) == "ms" { 1e6 } else { 1e3 };
            self.total_ns = found.number(1).and_then(|n| n.value).map(|value| value * scale);
        } else if let Some(found) = COUNT.find(text) {
            self.count = found.count(2);
        } else if let Some(found) = EACH.find(text) {
            let Some(ns) = found.number(2) else { return LineMatch::NotMine };
            let name = text.split(" = ").next().unwrap_or(text).trim();
            let cycles = found.number(3).filter(|cycles| cycles.value.is_some_and(|c| c > 0.0));
            let (basis, number) = match cycles {
                Some(cycles) => (Basis::Cycles, cycles),
                None => (Basis::Ns, ns.clone()),
            };
            let mut row = Row::new(Suite::TiMcuPlusSdk, name, line.number, basis).mean(&number);
            row.twin = row.typical().zip(ns.value).filter(|_| basis == Basis::Cycles);
            if let Some(summary) = row.summary_mut() {
                summary.count = self.count;
            }
            let (count, total) = (self.count.take(), self.total_ns.take());
            let expected = total.zip(count).map(|(total, count)| total / count.max(1) as f64);
            if let Some((expected, stated)) = expected.zip(ns.value)
                && (expected - stated).abs() > 1.0 + expected * 0.01
            {
                let why =
                    format!("total and count give {expected:.0} ns, but the row says {stated:.0}");
                row.flag(FlagKind::Contradiction, why);
            }
            log.row(row);
        } else if LIKE.fits(text) {
            log.report_unreadable(line, Suite::TiMcuPlusSdk, "its time is not a number of ns");
        } else {
            return LineMatch::NotMine;
        }
        LineMatch::Consumed
    }
}
