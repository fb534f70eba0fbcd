//! Reads Zephyr's `tests/benchmarks/app_kernel`: a table of average times in nanoseconds, then
//! mailboxes and pipes by message size. With user mode there are four such tables, one for each
//! direction.

use rtmark_model::{Basis, FlagKind};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Number, Row};

form! {
    TITLE = r"^\|\s*S I M P L E\s+S E R V I C E\s+M E A S U R E M E N T S\s*\|\s*nsec\s*\|";
    DIRECTION = r"^\|\s*(K E R N E L|U S E R)\s*- - >\s*(K E R N E L|U S E R)\s*\|";
    MAILBOX = r"^\|\s*M A I L B O X\s";
    PIPE = r"^\|\s*P I P E\s";
    SIZES = r"^\|\s*((?:non-)?matching sizes .*?)\s*\|$";
    REPEATS = r"^\| repeat for\s+(\d+) times";
    SIMPLE = r"^\| (.*?\S)\s*\|\s*(-?\d+)\s*\|$";
    MESSAGE = r"^\|\s*(\d+)\|\s*(-?\d+)\|\s*\d+\|$";
    PACKETS = r"^\|\s*(\d+)\|\s*(-?\d+)\|\s*(-?\d+)\|\s*(-?\d+)\|\s*(-?\d+)\|(?:\s*\d+\|){3}$";
    OVERHEAD = r"^\| message overhead:\s*(-?\d+)\s+nsec/packet";
    RATE = r"^\| raw transfer rate:";
    TICK = r"\bError: tick occurred$";
    ERROR = r"^\| (Error: .*?)\s*\|\s*(-?\d+)\s*\|$";
    LIKE = r"^\|.*\|\s*\S*\d\S*\s*\|$";
    OVER = r"^\|\s*END OF TESTS\s*\|$";
}

/// The reader.
#[derive(Debug, Default)]
pub struct ZephyrAppKernel {
    place: Place,
    section: usize,
    /// The sending and the receiving side, if either is in user mode.
    direction: String,
    /// The sizes of the pipes that follow.
    sizes: String,
    /// The number of iterations that are averaged.
    count: Option<u64>,
    /// The line of an error that applies to the next row.
    tick: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    Simple,
    Mailbox,
    Pipe,
}

impl Reader for ZephyrAppKernel {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if TITLE.fits(text) {
            // One boot may print four of these tables, with threads in either mode.
            let continues_run = self.place != Place::Outside && self.section == log.current();
            if !continues_run {
                log.open_section();
            }
            log.of_kernel("zephyr");
            *self = Self { place: Place::Simple, section: log.reserve(), ..Self::default() };
            return LineMatch::Consumed;
        }
        if self.place == Place::Outside {
            return LineMatch::NotMine;
        }
        if self.section != log.current() {
            self.place = Place::Outside;
            return LineMatch::NotMine;
        }
        if let Some(found) = DIRECTION.find(text) {
            let mode = |text: &str| if text.starts_with('K') { "kernel" } else { "user" };
            let (from, to) = (mode(found.at(1)), mode(found.at(2)));
            let plain = (from, to) == ("kernel", "kernel");
            self.direction = if plain { String::new() } else { format!(", {from} to {to}") };
        } else if MAILBOX.fits(text) {
            self.place = Place::Mailbox;
        } else if PIPE.fits(text) {
            self.place = Place::Pipe;
            self.count = None;
        } else if OVER.fits(text) {
            self.place = Place::Outside;
        } else if let Some(found) = REPEATS.find(text) {
            self.count = found.count(1);
        } else if let Some(found) = SIZES.find(text).filter(|_| self.place == Place::Pipe) {
            self.sizes = found.at(1).split_whitespace().collect::<Vec<_>>().join(" ");
        } else if TICK.fits(text) {
            self.tick = Some(line.number);
        } else if let Some(found) = ERROR.find(text) {
            let mut row =
                Row::new(Suite::ZephyrAppKernel, "a row that failed", line.number, Basis::Ns);
            row.flag(FlagKind::Failed, format!("the suite says: {} {}", found.at(1), found.at(2)));
            log.row(row);
        } else if !self.row(line, log) {
            return LineMatch::NotMine;
        }
        LineMatch::Consumed
    }
}

impl ZephyrAppKernel {
    /// Tells whether the line is a row, or looks like one.
    fn row(&mut self, line: &Line, log: &mut Log) -> bool {
        let text = line.text();
        if let Some(found) = SIMPLE.find(text).filter(|_| self.place == Place::Simple) {
            self.add_row(found.at(1).to_owned(), found.number(2), line, log);
        } else if let Some(found) = MESSAGE.find(text).filter(|_| self.place == Place::Mailbox) {
            self.add_row(format!("mailbox, {} bytes", found.at(1)), found.number(2), line, log);
        } else if let Some(found) = PACKETS.find(text).filter(|_| self.place == Place::Pipe) {
            let (put, get) = (found.at(1), found.at(2));
            for (pipe, group) in ["no buffer", "small buffer", "big buffer"].into_iter().zip(3..) {
                let name = format!("pipe, {}, {put} to {get} bytes, {pipe}", self.sizes);
                self.add_row(name, found.number(group), line, log);
            }
            self.tick = None;
        } else if let Some(found) = OVERHEAD.find(text) {
            self.add_row("mailbox, message overhead".to_owned(), found.number(1), line, log);
        } else if RATE.fits(text) {
            // Not a time, and derived from the rows above.
        } else if LIKE.fits(text) {
            log.report_unreadable(line, Suite::ZephyrAppKernel, "has no name and time");
        } else {
            return false;
        }
        true
    }

    fn add_row(&mut self, name: String, number: Option<Number>, line: &Line, log: &mut Log) {
        let Some(number) = number else { return };
        let name = name + &self.direction;
        let mut row = Row::new(Suite::ZephyrAppKernel, name, line.number, Basis::Ns).mean(&number);
        if let Some(summary) = row.summary_mut() {
            summary.count = self.count;
            summary.resolution = Some(1.0);
        }
        if let Some(tick) = self.tick {
            row.flag(
                FlagKind::Tick,
                format!("the suite reports in line {tick} that a tick occurred"),
            );
        }
        if self.place != Place::Pipe {
            self.tick = None;
        }
        log.row(row);
    }
}
