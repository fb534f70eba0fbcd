//! Reads Zephyr's `tests/benchmarks/sys_kernel`: pairs of calls in a loop, each a test case with the
//! average time of an iteration in nanoseconds.

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::Row;

form! {
    MODULE = r"^MODULE: kernel API test";
    VERSION = r"^KERNEL VERSION: 0x([0-9a-fA-F]+)$";
    COUNT = r"^Each test below is repeated (\d+) times";
    CASE = r"^TEST CASE: (.+)$";
    RESULT = r"^TEST RESULT: (\w+)";
    TIME = r"^DETAILS: Average time for 1 iteration:\s*(-?\d+) nSec";
    DETAILS = r"^DETAILS: (.*)$";
    END_CASE = r"^END TEST CASE";
}

/// The reader.
#[derive(Debug, Default)]
pub struct ZephyrSysKernel {
    inside: bool,
    count: Option<u64>,
    case: Option<(usize, Row)>,
}

impl Reader for ZephyrSysKernel {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if MODULE.fits(text) {
            self.end(log);
            *self = Self { inside: true, ..Self::default() };
            log.open_section();
            log.of_kernel("zephyr");
            return LineMatch::Consumed;
        }
        if let Some(found) = CASE.find(text) {
            self.end(log);
            let row = Row::new(Suite::ZephyrSysKernel, found.at(1).trim(), line.number, Basis::Ns);
            if !self.inside {
                // Its beginning was cut off, or it belongs to something else: a time will show.
                self.case = Some((log.current(), row));
                return LineMatch::NotMine;
            }
            log.of_kernel("zephyr");
            self.case = Some((log.reserve(), row));
            return LineMatch::Consumed;
        }
        if self.inside && self.case.is_none() {
            if let Some(found) = VERSION.find(text) {
                let version = u32::from_str_radix(found.at(1), 16).ok();
                let version =
                    version.map(|v| format!("{}.{}.{}", v >> 24, v >> 16 & 255, v >> 8 & 255));
                let section = log.section();
                section.version = section.version.take().or(version);
                return LineMatch::Consumed;
            }
            if let Some(found) = COUNT.find(text) {
                self.count = found.count(1);
                return LineMatch::Consumed;
            }
        }
        let Some((section, row)) = &mut self.case else { return LineMatch::NotMine };
        if let Some(found) = TIME.find(text) {
            let Some(number) = found.number(1) else { return LineMatch::NotMine };
            if !self.inside {
                log.of_kernel("zephyr");
                *section = log.reserve();
                self.inside = true;
            }
            let count = self.count;
            row.set(
                |summary, value| {
                    summary.mean = value;
                    summary.count = count;
                    summary.resolution = Some(1.0);
                },
                &number,
            );
            return LineMatch::Consumed;
        }
        if !self.inside {
            return LineMatch::NotMine;
        }
        if let Some(found) = RESULT.find(text) {
            if found.at(1) != "SUCCESSFUL" {
                row.flag(FlagKind::Failed, format!("the suite says {}", found.at(1)));
            }
            return LineMatch::Consumed;
        }
        if let Some(found) = DETAILS.find(text) {
            let tick = found.at(1).contains("tick happened");
            let kind = if tick { FlagKind::Tick } else { FlagKind::Failed };
            row.flag(kind, format!("the suite says: {}", found.at(1)));
            return LineMatch::Consumed;
        }
        if END_CASE.fits(text) {
            self.end(log);
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        if let Some((section, row)) = self.case.take()
            && self.inside
        {
            log.row_of(section, row);
        }
    }
}
