//! Runs random programs for an Ibex on the simulator and on its RTL, compared cycle by cycle.
//!
//! The RTL is built by `scripts/rtl` from a package, and is not part of the project. Both run the same
//! image with the same wait states and the same interrupt lines; the model is not given the path. The
//! comparison covers each instruction's address and cycles, the register that it writes, traps, the
//! cycle of each jump to an interrupt handler, and the data at the end.

mod bench;
mod generate;
mod replay;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bench::Bench;
pub use bench::BenchError;
pub use generate::Kind;
use generate::Program;
use replay::Match;

/// The wait states of instruction fetches and of data, for each run of a program.
const WAITS: [(u8, u8); 7] = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 3), (3, 2)];
const KINDS: [Kind; 3] = [Kind::Plain, Kind::Traps, Kind::Interrupts];
/// The number of blocks in a program.
const BLOCKS: usize = 400;
/// The maximum duration of a program.
const MOST_CYCLES: u64 = 400_000;

/// The numbers of items that agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The number of programs run.
    pub programs: u64,
    /// The number of programs without any difference.
    pub whole: u64,
    /// The number of instructions on the RTL.
    pub instructions: u64,
    /// Those that take as many cycles on the model.
    pub exact: u64,
    /// Those with the same effect.
    pub equal: u64,
    /// The number of interrupts taken by the RTL.
    pub entries: u64,
    /// Those with the jump to the handler in the same cycle.
    pub exact_entries: u64,
    /// The number of programs with the same final data.
    pub memory: u64,
}

impl Tally {
    fn add(&mut self, agreement: &Match) {
        self.programs += 1;
        self.whole += u64::from(agreement.is_whole());
        self.instructions += agreement.instructions;
        self.exact += agreement.exact;
        self.equal += agreement.equal;
        self.entries += agreement.entries;
        self.exact_entries += agreement.exact_entries;
        self.memory += u64::from(agreement.memory);
    }
}

impl Match {
    const fn is_whole(&self) -> bool {
        self.exact == self.instructions
            && self.equal == self.instructions
            && self.exact_entries == self.entries
            && self.memory
    }
}

/// The scores by kind of program and wait states, with the first differing program of each.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    rows: BTreeMap<(Kind, (u8, u8)), Row>,
}

/// The score of programs of a kind with certain wait states, and how the first differing one differs.
#[derive(Clone, Debug, Default)]
struct Row {
    score: Tally,
    first: Option<String>,
}

impl Tallies {
    /// Returns the number of all compared instructions.
    pub fn instructions(&self) -> u64 {
        self.rows.values().map(|row| row.score.instructions).sum()
    }

    /// Tells whether any program differs.
    pub fn differ(&self) -> bool {
        self.rows.values().any(|row| row.score.whole != row.score.programs)
    }
}

/// Formats a share in per cent, rounded down, so that nothing that is missing looks complete.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let thousandths = part * 100_000 / whole;
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

impl fmt::Display for Tallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12}{:>7}{:>9}{:>8}{:>13}{:>10}{:>10}{:>10}{:>10}{:>9}",
            "programs",
            "waits",
            "number",
            "whole",
            "instructions",
            "cycles %",
            "effects %",
            "entries",
            "cycles %",
            "data %"
        )?;
        for ((kind, (instruction, data)), Row { score, first }) in &self.rows {
            writeln!(
                f,
                "{:<12}{:>7}{:>9}{:>8}{:>13}{:>10}{:>10}{:>10}{:>10}{:>9}",
                format!("{kind:?}").to_lowercase(),
                format!("{instruction}/{data}"),
                score.programs,
                score.whole,
                score.instructions,
                share(score.exact, score.instructions),
                share(score.equal, score.instructions),
                score.entries,
                share(score.exact_entries, score.entries),
                share(score.memory, score.programs),
            )?;
            if let Some(first) = first {
                writeln!(f, "  {first}")?;
            }
        }
        Ok(())
    }
}

/// What went wrong, apart from differences.
#[derive(Debug, thiserror::Error)]
pub enum RtlError {
    /// The testbench failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A program did not reach its end on the RTL.
    #[error(
        "seed {seed}, {kind:?}: the RTL does not end within {MOST_CYCLES} cycles; this is a mistake in how programs are made"
    )]
    Endless {
        /// The program's seed.
        seed: u64,
        /// Its kind.
        kind: Kind,
    },
}

/// Runs random programs until at least this many instructions have been compared.
///
/// # Errors
/// When the testbench fails, or a program does not end.
pub fn run(path: &Path, instructions: u64, seed: u64) -> Result<Tallies, RtlError> {
    let mut bench = Bench::start(path)?;
    let mut scores = Tallies::default();
    let mut seed = seed;
    while scores.instructions() < instructions {
        for kind in KINDS {
            let program = Program::new(seed, kind, BLOCKS, MOST_CYCLES);
            for waits in WAITS {
                let trace = bench.run(&program, waits, MOST_CYCLES)?;
                if !trace.ended {
                    return Err(RtlError::Endless { seed, kind });
                }
                let agreement = replay::compare(&program, waits, &trace);
                let row = scores.rows.entry((kind, waits)).or_default();
                row.score.add(&agreement);
                if let Some(text) = agreement.first {
                    row.first.get_or_insert(format!("seed {seed}: {text}"));
                }
            }
        }
        seed += 1;
    }
    Ok(scores)
}
