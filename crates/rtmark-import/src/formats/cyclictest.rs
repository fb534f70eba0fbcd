//! Reads output of cyclictest from rt-tests: histograms, the status line that it keeps updating, and
//! every sample with `-v`. It counts in microseconds unless told otherwise, which the output does not
//! show.

use std::collections::BTreeMap;

use rtmark_model::{Basis, Bin, Disturbance, FlagKind, Run, Samples, Summarised};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Figures, Number, Row};

form! {
    HISTOGRAM = r"^# Histogram$";
    BIN = r"^(\d+)((?:\s+\d+)+)$";
    TOTALS = r"^# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):((?:\s+-?\d+)+)$";
    STATUS = r"^#?\s*T:\s*(\d+)\s*\(\s*\d+\)\s*P:\s*(\d+)\s+I:\s*(\d+)\s+C:\s*(\d+)\s+Min:\s*(-?\d+)\s+Act:\s*(-?\d+)\s+Avg:\s*(-?\d+)\s+Max:\s*(-?\d+)";
    VERBOSE = r"^(\d+):\s+(\d+):\s+(-?\d+)$";
    /// The first output of a run.
    START = r"^#?\s*/dev/cpu_dma_latency set to|^(?:.*[$#>]\s*)?(?:sudo\s+)?(?:\S*/)?cyclictest\s+-";
    /// The prompt of NuttX, which has a port of the program.
    NUTTX = r"^nsh> ";
    SIGN = r"^#?\s*(?:/dev/cpu_dma_latency set to|policy: (?:fifo|rr|other)|Max CPUs = )|\bcyclictest\b";
    LIKE = r"^#?\s*T:\s*\d+\s*\(|^# (?:Min|Avg|Max) Latencies|^# Histogram Overflows:|^# Total:";
}

const TOO_MANY: &str = "it has more threads than are kept";

/// The number of threads, and of bins over all of them, that are kept.
const MAX_THREADS: usize = 1024;
const MAX_BINS: usize = 1 << 20;
const MAX_RUNS: usize = 1 << 20;

/// The short options that take an argument, which is what follows in the same word or the next word.
const WITH_ARGUMENT: &str = "aAbcdDeFhHiloOptTy";

/// Options that change what the output means.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// `-N`: latencies are in nanoseconds.
    nanoseconds: bool,
    /// `-H`: a histogram has another column, the sum over all threads.
    sums: bool,
}

impl Shown {
    /// Parses a command line, or a text that contains none. Short options may share a word, as in
    /// `-mNp99`, and long ones may be shortened.
    fn of(text: &str) -> Self {
        let mut shown = Self::default();
        let mut words = text.split_whitespace();
        if !words.any(|word| word.ends_with("cyclictest")) {
            return shown;
        }
        for word in words {
            if let Some(long) = word.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or_default();
                shown.nanoseconds |= name.len() >= 2 && "nsecs".starts_with(name);
                shown.sums |= name.len() >= 6 && "histofall".starts_with(name);
            } else if let Some(short) = word.strip_prefix('-') {
                let argument = short.find(|option| WITH_ARGUMENT.contains(option));
                let options = argument.and_then(|at| short.get(..=at)).unwrap_or(short);
                shown.nanoseconds |= options.contains('N');
                shown.sums |= options.ends_with('H');
            }
        }
        shown
    }
}

#[derive(Debug, Default)]
struct Thread {
    summary: Summarised,
    samples: Samples,
    overflows: u64,
    total: Option<u64>,
    facts: BTreeMap<String, String>,
    incomplete: bool,
    negative: bool,
    /// The values of its last status line: within one run, the count and the maximum only grow, and the
    /// minimum only shrinks.
    status: Option<[f64; 3]>,
    /// The number of its next sample printed with `-v`.
    next: u64,
}

/// The reader.
#[derive(Debug, Default)]
pub struct Cyclictest {
    threads: BTreeMap<usize, Thread>,
    line: u64,
    section: usize,
    /// The command that started the run, if it is in the log.
    command: Option<String>,
    bins: usize,
    in_histogram: bool,
    seen: bool,
    shown: Shown,
    /// The number of columns of a histogram, which `-H` adds up, and of smallest and average latencies, which
    /// it does not.
    columns: usize,
    threads_shown: usize,
}

impl Reader for Cyclictest {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if SIGN.fits(text) {
            if START.fits(text) {
                // Command and device are printed one after the other, so the second one ends nothing.
                self.end(log);
                if text.contains("cyclictest") {
                    self.command = Some(text.chars().take(200).collect());
                }
            }
            self.seen = true;
            let shown = Shown::of(text);
            self.shown.nanoseconds |= shown.nanoseconds;
            self.shown.sums |= shown.sums;
            return LineMatch::NotMine;
        }
        if HISTOGRAM.fits(text) {
            // The status lines of the same run precede it, those of another one do not.
            if self.threads.values().any(|thread| !thread.summary.histogram.is_empty()) {
                self.end(log);
            }
            (self.in_histogram, self.seen) = (true, true);
            self.start_run(line, log);
            return LineMatch::Consumed;
        }
        if let Some(found) = TOTALS.find(text) {
            self.start_run(line, log);
            self.totals(found.at(1), found.at(2), line, log);
            return LineMatch::Consumed;
        }
        if let Some(found) = STATUS.find(text) {
            let index = found.count(1).and_then(|index| usize::try_from(index).ok());
            let value = |group| found.number(group).and_then(|n| n.value);
            let status = value(4).zip(value(5)).zip(value(8));
            let status = status.map(|((count, min), max)| [count, min, max]);
            let known = index.and_then(|index| self.threads.get(&index)?.status);
            let continues_run = |[count, min, max]: [f64; 3]| {
                status.is_none_or(|is| is[0] >= count && is[1] <= min && is[2] >= max)
            };
            let options = index.and_then(|index| self.threads.get(&index)).map(|t| &t.facts);
            let same = |(fact, group): (&str, usize)| {
                options.and_then(|f| f.get(fact)).is_none_or(|was| was == found.at(group))
            };
            let alike = [("priority", 2), ("interval_us", 3)].into_iter().all(same);
            if !alike || !known.is_none_or(continues_run) {
                self.end(log);
            }
            self.start_run(line, log);
            let Some(thread) = index.and_then(|index| self.thread(index)) else {
                log.report_unreadable(line, Suite::Cyclictest, TOO_MANY);
                return LineMatch::Consumed;
            };
            thread.status = status;
            thread.facts.insert("priority".into(), found.at(2).to_owned());
            thread.facts.insert("interval_us".into(), found.at(3).to_owned());
            thread.summary.count = found.count(4);
            let figures = [value(5), value(7), value(8)];
            thread.negative |= figures.iter().flatten().any(|value| *value < 0.0);
            [thread.summary.min, thread.summary.mean, thread.summary.max] = figures;
            return LineMatch::Consumed;
        }
        if self.in_histogram {
            if let Some(found) = BIN.find(text) {
                self.bin(found.at(1), found.at(2), line, log);
                return LineMatch::Consumed;
            }
            if text.starts_with(|c: char| c.is_ascii_digit()) {
                log.report_unreadable(
                    line,
                    Suite::Cyclictest,
                    "is not a latency and how often it occurred",
                );
                return LineMatch::Consumed;
            }
        }
        if let Some(found) = VERBOSE.find(text) {
            let first = found.at(1) == "0" && matches!(found.at(2), "0" | "1");
            if self.seen || first {
                self.seen = true;
                let index = found.count(1).and_then(|index| usize::try_from(index).ok());
                let number = found.count(2).unwrap_or(u64::MAX);
                let known = index.and_then(|index| self.threads.get(&index));
                if known.is_some_and(|thread| number < thread.next) {
                    self.end(log);
                }
                self.start_run(line, log);
                if !self.sample(index, number, found.at(3)) {
                    log.report_unreadable(line, Suite::Cyclictest, TOO_MANY);
                }
                return LineMatch::Consumed;
            }
        }
        if LIKE.fits(text) {
            log.report_unreadable(line, Suite::Cyclictest, "its numbers are not valid");
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        if self.threads.is_empty() {
            return;
        }
        self.drop_sums();
        let Self { shown, section, line: first, in_histogram, ref command, .. } = *self;
        let (scale, unit) = if shown.nanoseconds { (1, "ns") } else { (1000, "us") };
        for (index, thread) in std::mem::take(&mut self.threads) {
            let row = Row::new(Suite::Cyclictest, format!("thread {index}"), first, Basis::Ns);
            let ends_in_bins = in_histogram && thread.total.is_none();
            let mut row = thread.row(row, scale, unit);
            if ends_in_bins {
                let why = "the log ends in the histogram: the longest latencies may be missing";
                row.flag(FlagKind::Incomplete, why);
            }
            row.facts.extend(command.clone().map(|command| ("command".to_owned(), command)));
            log.row_of(section, row);
        }
        // The next run was started by another or an unknown command.
        *self = Self::default();
    }
}

impl Cyclictest {
    /// A run is placed where its first figures are, in a section for its own kernel.
    fn start_run(&mut self, line: &Line, log: &mut Log) {
        if self.line == 0 {
            self.line = line.number;
            let on_nuttx = self.command.as_deref().is_some_and(|command| NUTTX.fits(command));
            log.of_kernel(if on_nuttx { "nuttx" } else { "linux" });
            self.section = log.reserve();
        }
    }

    fn thread(&mut self, index: usize) -> Option<&mut Thread> {
        let room = self.threads.len() < MAX_THREADS || self.threads.contains_key(&index);
        room.then(|| self.threads.entry(index).or_default())
    }

    /// Removes what is no thread: the column that is the sum over all of them.
    fn drop_sums(&mut self) {
        let threads = match self.threads_shown {
            // There is no sum of a single thread.
            0 if self.shown.sums => self.columns.saturating_sub(1).max(1),
            0 => return,
            threads => threads,
        };
        if self.columns == threads + 1 {
            self.threads.remove(&threads);
        }
    }

    fn totals(&mut self, what: &str, numbers: &str, line: &Line, log: &mut Log) {
        // The totals of a run follow its bins, and its status lines may too.
        self.in_histogram = self.in_histogram && what == "Total";
        let columns = match what {
            "Min Latencies" | "Avg Latencies" => &mut self.threads_shown,
            _ => &mut self.columns,
        };
        *columns = numbers.split_whitespace().count().max(*columns);
        for (index, text) in numbers.split_whitespace().enumerate().take(MAX_THREADS) {
            let Some(number) = Number::read(text) else {
                log.report_unreadable(line, Suite::Cyclictest, "its numbers are not valid");
                return;
            };
            let Some(thread) = self.thread(index) else {
                log.report_unreadable(line, Suite::Cyclictest, TOO_MANY);
                return;
            };
            thread.negative |= number.value.is_some_and(|value| value < 0.0);
            match what {
                "Total" => thread.total = text.parse().ok(),
                "Min Latencies" => thread.summary.min = number.value,
                "Avg Latencies" => thread.summary.mean = number.value,
                "Max Latencies" => thread.summary.max = number.value,
                _ => thread.overflows = text.parse().unwrap_or(u64::MAX),
            }
        }
    }

    fn bin(&mut self, value: &str, counts: &str, line: &Line, log: &mut Log) {
        let Ok(value) = value.parse::<u64>() else {
            log.report_unreadable(line, Suite::Cyclictest, "its latency does not fit into 64 bits");
            return;
        };
        self.columns = counts.split_whitespace().count().max(self.columns);
        for (index, text) in counts.split_whitespace().enumerate().take(MAX_THREADS) {
            let Ok(times) = text.parse::<u64>() else {
                log.report_unreadable(line, Suite::Cyclictest, "a count does not fit into 64 bits");
                return;
            };
            if times == 0 {
                // The thread exists, even if none of its bins can be used.
                let _ = self.thread(index);
                continue;
            }
            let room = self.bins < MAX_BINS;
            let Some(thread) = self.thread(index) else { return };
            let ascending = thread.summary.histogram.last().is_none_or(|last| last.value < value);
            if room && ascending {
                thread.summary.histogram.push(Bin { value, times });
                self.bins += 1;
            } else {
                thread.incomplete = true;
            }
        }
    }

    /// Adds a sample; returns whether there is room for the thread.
    fn sample(&mut self, index: Option<usize>, number: u64, text: &str) -> bool {
        let Some(thread) = index.and_then(|index| self.thread(index)) else { return false };
        thread.next = number.saturating_add(1);
        match text.parse::<u64>() {
            Ok(value) if thread.samples.runs().len() < MAX_RUNS => {
                thread.samples.push(value, Disturbance::NONE);
            }
            Ok(_) => thread.incomplete = true,
            Err(_) => thread.negative = true,
        }
        true
    }
}

impl Thread {
    fn row(self, mut row: Row, scale: u64, unit: &str) -> Row {
        let Self { mut summary, samples, overflows, total, facts, incomplete, negative, .. } = self;
        row.facts = facts;
        row.facts.insert("unit".into(), unit.to_owned());
        if incomplete {
            row.flag(FlagKind::Incomplete, "not all of its samples or bins could be kept");
        }
        if negative {
            row.flag(FlagKind::Wrapped, "some latencies are negative");
        }
        if overflows > 0 {
            let why = format!("{overflows} samples were beyond the histogram's end");
            row.flag(FlagKind::Incomplete, why);
        }
        let scaled = |value: Option<f64>| value.map(|value| value * scale as f64);
        if !samples.is_empty() {
            let in_ns = |run: &Run| Run { value: run.value.saturating_mul(scale), ..*run };
            let runs: Vec<_> = samples.runs().iter().map(in_ns).collect();
            row.figures = Figures::Samples(Samples::try_from(runs).unwrap_or_default(), scale);
            return row;
        }
        let binned: u128 = summary.histogram.iter().map(|bin| u128::from(bin.times)).sum();
        let expected = total.map(u128::from);
        if expected.is_some_and(|total| total != binned && total != binned + u128::from(overflows))
        {
            let why =
                format!("the bins hold {binned} samples, the total says {}", total.unwrap_or(0));
            row.flag(FlagKind::Contradiction, why);
        }
        if summary.count.is_none() && binned > 0 {
            summary.count = u64::try_from(binned + u128::from(overflows)).ok();
        }
        for bin in &mut summary.histogram {
            bin.value = bin.value.saturating_mul(scale);
        }
        summary.min = scaled(summary.min);
        summary.mean = scaled(summary.mean);
        summary.max = scaled(summary.max);
        summary.resolution = Some(scale as f64);
        row.figures = Figures::Summary(summary);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system whose latency never changes has all its samples in one run.
    #[test]
    fn all_of_many_equal_samples_are_kept() {
        let mut thread = Thread::default();
        let count = MAX_RUNS as u64 + 1;
        (0..count).for_each(|_| thread.samples.push(7, Disturbance::NONE));
        let row = thread.row(Row::new(Suite::Cyclictest, "thread 0", 1, Basis::Ns), 1000, "us");
        let Figures::Samples(samples, 1000) = &row.figures else { panic!("{row:?}") };
        let runs: Vec<_> = samples.runs().iter().map(|run| (run.value, run.times)).collect();
        assert_eq!((runs, row.flags.len()), (vec![(7000, count)], 0));
    }

    #[test]
    fn samples_beyond_the_limit_are_left_out_and_flagged() {
        let mut reader = Cyclictest::default();
        let mut samples = Samples::new();
        (0..MAX_RUNS as u64 - 1).for_each(|n| samples.push(5 + n % 2, Disturbance::NONE));
        reader.threads.insert(0, Thread { samples, ..Thread::default() });
        for (number, incomplete) in [(1, false), (2, true)] {
            assert!(reader.sample(Some(0), number, &(6 + number).to_string()));
            let thread = &reader.threads[&0];
            assert_eq!((thread.samples.len(), thread.incomplete), (MAX_RUNS as u64, incomplete));
        }
    }

    #[test]
    fn bins_beyond_the_limit_are_left_out_and_flagged() {
        let mut reader = Cyclictest { bins: MAX_BINS - 2, ..Cyclictest::default() };
        let mut log = Log::new();
        for text in ["# Histogram", "000003 000100\t000100", "000004 000200\t000000"] {
            let line = Line { number: 1, raw: text.to_owned(), ..Line::default() };
            assert_eq!(reader.line(&line, &mut log), LineMatch::Consumed, "{text}");
        }
        reader.in_histogram = false;
        reader.end(&mut log);
        let [cut, whole] = &log.rows[..] else { panic!("{log:?}") };
        let bins = |row: &Row| row.summary().map(|summary| summary.histogram.len());
        assert_eq!((bins(cut), bins(whole)), (Some(1), Some(1)));
        assert_eq!((cut.flags.len(), whole.flags.len()), (1, 0), "{cut:?} {whole:?}");
    }

    #[test]
    fn options_are_found_wherever_they_are() {
        for (command, nanoseconds, sums) in [
            ("cyclictest -m -N -p99", true, false),
            ("cyclictest -mNp99", true, false),
            ("# ./cyclictest -SmN -H400", true, true),
            ("sudo /usr/bin/cyclictest -mH 400 -q", false, true),
            ("cyclictest --nsecs --histofall=400", true, true),
            ("cyclictest --ns --histof 400", true, true),
            ("cyclictest -F/tmp/N -h400 -DH", false, false),
            ("cyclictest --histfile=N-H -h 400 --numa", false, false),
            ("other -N -H", false, false),
        ] {
            let Shown { nanoseconds: ns, sums: column } = Shown::of(command);
            assert_eq!((ns, column), (nanoseconds, sums), "{command}");
        }
    }
}
