//! Reads Zephyr's `tests/benchmarks/sys_kernel`: pairs of calls in a loop, each a test case with the
//! average time of an iteration in nanoseconds.

use rtmark_model::{Basis, FlagKind};

use super::{Reader, Took};
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
    fn line(&mut self, line: &Line, log: &mut Log) -> Took {
        let text = line.text();
        if MODULE.fits(text) {
            self.end(log);
            *self = Self { inside: true, ..Self::default() };
            log.open_section();
            log.of_kernel("zephyr");
            return Took::Line;
        }
        if let Some(found) = CASE.find(text) {
            self.end(log);
            let row = Row::new(Suite::ZephyrSysKernel, found.at(1).trim(), line.number, Basis::Ns);
            if !self.inside {
                // Its beginning was cut off, or it belongs to something else: a time will show.
                self.case = Some((log.current(), row));
                return Took::Nothing;
            }
            log.of_kernel("zephyr");
            self.case = Some((log.claim(), row));
            return Took::Line;
        }
        if self.inside && self.case.is_none() {
            if let Some(found) = VERSION.find(text) {
                let version = u32::from_str_radix(found.at(1), 16).ok();
                let version =
                    version.map(|v| format!("{}.{}.{}", v >> 24, v >> 16 & 255, v >> 8 & 255));
                let section = log.section();
                section.version = section.version.take().or(version);
                return Took::Line;
            }
            if let Some(found) = COUNT.find(text) {
                self.count = found.count(1);
                return Took::Line;
            }
        }
        let Some((section, row)) = &mut self.case else { return Took::Nothing };
        if let Some(found) = TIME.find(text) {
            let Some(number) = found.number(1) else { return Took::Nothing };
            if !self.inside {
                log.of_kernel("zephyr");
                *section = log.claim();
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
            return Took::Line;
        }
        if !self.inside {
            return Took::Nothing;
        }
        if let Some(found) = RESULT.find(text) {
            if found.at(1) != "SUCCESSFUL" {
                row.flag(FlagKind::Failed, format!("the suite says {}", found.at(1)));
            }
            return Took::Line;
        }
        if let Some(found) = DETAILS.find(text) {
            let tick = found.at(1).contains("tick happened");
            let kind = if tick { FlagKind::Tick } else { FlagKind::Failed };
            row.flag(kind, format!("the suite says: {}", found.at(1)));
            return Took::Line;
        }
        if END_CASE.fits(text) {
            self.end(log);
            return Took::Line;
        }
        Took::Nothing
    }

    fn end(&mut self, log: &mut Log) {
        if let Some((section, row)) = self.case.take()
            && self.inside
        {
            log.row_of(section, row);
        }
    }
}
