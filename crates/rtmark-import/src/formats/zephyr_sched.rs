//! Reads Zephyr's `tests/benchmarks/sched`: the steps of a handover to a waiting thread, one round a
//! line. The first ten rounds, for which it prints an average of 0, are warm-up.

use rtmark_model::{Basis, Disturbance, FlagKind, Samples};

use super::{LineMatch, Reader};
use crate::Suite;
use crate::form::form;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Figures, Row};

form! {
    ROUND = r"^unpend\s+(-?\d+) ready\s+(-?\d+) switch\s+(-?\d+) pend\s+(-?\d+) tot\s+(-?\d+) \(avg\s+(-?\d+)\)$";
    LIKE = r"^unpend\s.*\bready\b|\bpend\s.*\btot\s";
    END = r"^fin$";
}

/// The names of the columns.
const STEPS: [&str; 5] = ["unpend", "ready", "switch", "pend", "tot"];

/// The number of rounds kept.
const MAX_ROUNDS: usize = 1 << 20;

/// The reader.
#[derive(Debug, Default)]
pub struct ZephyrSched {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    line: u64,
    section: usize,
    steps: [Step; 5],
    warming: u64,
}

#[derive(Debug, Default)]
struct Step {
    samples: Samples,
    /// The number of impossible values, and of those that did not fit.
    negative: u64,
    beyond: u64,
}

impl Reader for ZephyrSched {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.text();
        if let Some(found) = ROUND.find(text) {
            let elsewhere = |open: &Open| open.section != log.current() || !log.in_use();
            let warming = found.at(6) == "0";
            // Warm-up rounds occur only at the beginning.
            let again = |open: &Open| warming && open.steps.iter().any(|s| !s.samples.is_empty());
            if self.open.as_ref().is_some_and(|open| elsewhere(open) || again(open)) {
                self.end(log);
            }
            let open = self.open.get_or_insert_with(|| {
                log.of_kernel("zephyr");
                let section = log.reserve();
                Open { line: line.number, section, steps: Default::default(), warming: 0 }
            });
            if warming {
                open.warming += 1;
                return LineMatch::Consumed;
            }
            for (step, group) in open.steps.iter_mut().zip(1..) {
                match found.at(group).parse::<u64>() {
                    Ok(_) if step.samples.runs().len() >= MAX_ROUNDS => step.beyond += 1,
                    Ok(cycles) => step.samples.push(cycles, Disturbance::NONE),
                    Err(_) => step.negative += 1,
                }
            }
            return LineMatch::Consumed;
        }
        if self.open.is_some() && END.fits(text) {
            self.end(log);
            log.end_section();
            return LineMatch::Consumed;
        }
        if LIKE.fits(text) {
            let problem = "is not `unpend N ready N switch N pend N tot N (avg N)`";
            log.report_unreadable(line, Suite::ZephyrSched, problem);
            return LineMatch::Consumed;
        }
        LineMatch::NotMine
    }

    fn end(&mut self, log: &mut Log) {
        let Some(open) = self.open.take() else { return };
        for (name, step) in STEPS.iter().zip(open.steps) {
            let mut row = Row::new(Suite::ZephyrSched, *name, open.line, Basis::Cycles);
            if step.negative > 0 {
                let why =
                    format!("negative in {} of the rounds, which are left out", step.negative);
                row.flag(FlagKind::Wrapped, why);
            }
            if step.beyond > 0 {
                row.flag(
                    FlagKind::Incomplete,
                    format!("{} rounds more than are kept", step.beyond),
                );
            }
            row.figures = Figures::Samples(step.samples, 1);
            row.facts.insert("rounds_to_warm_up".into(), open.warming.to_string());
            log.row_of(open.section, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(unpend: u64, total: &str) -> Line {
        let raw =
            format!("unpend {unpend:4} ready  257 switch  278 pend  321 tot {total:>4} (avg  988)");
        Line { number: 1, raw, ..Line::default() }
    }

    #[test]
    fn rounds_beyond_the_limit_are_counted() {
        let (mut reader, mut log) = (ZephyrSched::default(), Log::new());
        assert_eq!(reader.line(&round(100, "956"), &mut log), LineMatch::Consumed);
        let open = reader.open.as_mut().expect("begun");
        let unpend = &mut open.steps[0].samples;
        (1..MAX_ROUNDS as u64 - 1).for_each(|n| unpend.push(100 + n % 2, Disturbance::NONE));
        // One fits, two do not.
        for (unpend, total) in [(102, "958"), (103, "959"), (104, "960")] {
            reader.line(&round(unpend, total), &mut log);
        }
        reader.end(&mut log);
        let [unpend, .., total] = &log.rows[..] else { panic!("{log:?}") };
        let flags: Vec<_> = unpend.flags.iter().map(|flag| (flag.kind, &*flag.why)).collect();
        assert_eq!(flags, [(FlagKind::Incomplete, "2 rounds more than are kept")]);
        let count = |row: &Row| match &row.figures {
            Figures::Samples(samples, 1) => samples.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!((count(unpend), count(total), total.flags.len()), (MAX_ROUNDS as u64, 4, 0));
    }
}
