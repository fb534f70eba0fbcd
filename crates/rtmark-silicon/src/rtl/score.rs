//! Agreement with the RTL by kind of program and wait states.

use std::collections::BTreeMap;
use std::fmt;

use super::replay::Agreement;
use crate::score::{finished, table};
use crate::test::Half;

/// The kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Random,
    Micro,
    Interrupts,
    Compiled,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "random",
            Self::Micro => "micro",
            Self::Interrupts => "interrupts",
            Self::Compiled => "compiled",
        })
    }
}

/// How many items agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    pub runs: u64,
    pub whole: u64,
    pub instructions: u64,
    pub exact: u64,
    pub entries: u64,
    pub exact_entries: u64,
    /// Runs whose registers and memory at the end, register writes and traps equal the RTL's.
    pub registers: u64,
    pub memory: u64,
    pub writes: u64,
    pub traps: u64,
}

impl Agreement {
    /// Returns whether everything agrees.
    pub const fn is_whole(&self) -> bool {
        self.whole && self.registers && self.writes && self.memory && self.traps
    }
}

impl Score {
    fn add(&mut self, agreement: Agreement) {
        self.runs += 1;
        self.whole += u64::from(agreement.whole);
        self.instructions += agreement.instructions;
        self.exact += agreement.exact;
        self.entries += agreement.entries;
        self.exact_entries += agreement.exact_entries;
        self.registers += u64::from(agreement.registers);
        self.memory += u64::from(agreement.memory);
        self.writes += u64::from(agreement.writes);
        self.traps += u64::from(agreement.traps);
    }
}

/// The scores of both halves, by kind and wait states.
#[derive(Debug, Default)]
pub struct Scores(pub BTreeMap<(Kind, (u8, u8)), [Score; 2]>);

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        // Rounded down, so that a miss never reads as 100 %.
        _ => format!("{:.3} %", (part as f64 / whole as f64 * 1e5).floor() / 1e3),
    }
}

impl Scores {
    /// Adds a run.
    pub fn add(&mut self, kind: Kind, id: &str, waits: (u8, u8), agreement: Agreement) {
        let half = usize::from(Half::of(id) == Half::Scoring);
        self.0.entry((kind, waits)).or_default()[half].add(agreement);
    }

    /// Renders the scores as a table.
    pub fn table(&self) -> String {
        let mut table = table(&[
            "programs, wait states",
            "half",
            "runs",
            "wholly exact",
            "instructions",
            "exact",
            "entries exact",
            "registers",
            "memory",
            "writes",
            "traps",
        ]);
        for ((kind, (instruction, data)), halves) in &self.0 {
            for (half, score) in ["fitted on", "other"].into_iter().zip(halves) {
                table.add_row([
                    format!("{kind} {instruction}/{data}"),
                    half.to_owned(),
                    score.runs.to_string(),
                    score.whole.to_string(),
                    score.instructions.to_string(),
                    share(score.exact, score.instructions),
                    share(score.exact_entries, score.entries),
                    share(score.registers, score.runs),
                    share(score.memory, score.runs),
                    share(score.writes, score.runs),
                    share(score.traps, score.runs),
                ]);
            }
        }
        finished(table)
    }
}
