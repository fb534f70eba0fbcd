//! The scoreboard: when the results of earlier instructions are available, and which instruction
//! may pair with the last one.
//!
//! It knows nothing of memory, branch prediction, or what instructions do: all of that comes with
//! the [`Outcome`]. An instruction's passage is therefore a function of the scoreboard, the
//! instruction and its outcome, which `memo` memoizes.

use super::demand::{COUNT, Class, Demand, Divides, FLAGS, Flow, Moves, Registers, Source};
use super::memory::Waits;
use super::pairs::may_pair;
use super::pipeline::Place;
use crate::armr::exec::Effects;

/// The cycles of a mispredicted branch, which resolves in the write stage (DDI 0363, 14.9, table
/// 14-10).
pub const MISPREDICTED: u64 = 8;
/// The cycles of a mispredicted return or of a branch that is never predicted: one stage later
/// (table 14-10, 5.3).
pub const UNPREDICTED: u64 = 9;

/// An instruction with which a second one may still pair.
#[derive(Clone, Copy, Debug)]
pub struct PairCandidate {
    pub issue: u64,
    pub class: Class,
    pub writes: Registers,
    pub thumb: bool,
    /// For the first instruction after a branch, the bytes of its 64 bits that are left for the
    /// second one.
    pub room: Option<u8>,
}

/// How well a branch was predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PredictionOutcome {
    /// Predicted correctly, or not a branch: it takes its own cycles.
    #[default]
    Correct,
    Mispredicted,
    /// With its own cycles beyond the first in addition.
    MispredictedAfter,
    Unpredicted,
    UnpredictedAfter,
}

impl PredictionOutcome {
    const fn cycles(self, own: u64) -> u64 {
        match self {
            Self::Correct => own,
            Self::Mispredicted => MISPREDICTED,
            Self::MispredictedAfter => MISPREDICTED + own - 1,
            Self::Unpredicted => UNPREDICTED,
            Self::UnpredictedAfter => UNPREDICTED + own - 1,
        }
    }
}

/// The memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAccess {
    pub address: u32,
    pub bytes: u32,
    pub reads: bool,
}

/// The outcome of an instruction, as far as it affects when others issue.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub skipped: bool,
    pub jumps: bool,
    pub moved: Option<DataAccess>,
    /// The dividend and divisor of a division.
    pub quotient: (u32, u32),
    pub prediction: PredictionOutcome,
    pub waits: Waits,
}

/// Keys: numbers for the effect of outcomes on a scoreboard without waits for memory. Outcomes with
/// the same effect have the same key, which fits into 16 bits.
pub mod key {
    use super::{Divides, PredictionOutcome};

    /// The condition failed.
    pub const SKIPPED: u32 = 1;
    /// The branch was taken.
    pub const JUMPS: u32 = 2;
    pub(super) const UPPER: u32 = 4;
    pub(super) const MOVED: u32 = 8;
    pub(super) const LEAD: u32 = 4;
    const LATENCY: u32 = 8;

    /// Returns the key of an access. `upper` means for one register that it crosses a boundary of
    /// 64 bits, for several that they begin in the upper half of a unit of 64 bits.
    #[inline]
    pub const fn access(upper: bool) -> u32 {
        MOVED | if upper { UPPER } else { 0 }
    }

    #[inline]
    pub const fn prediction(prediction: PredictionOutcome) -> u32 {
        (prediction as u32) << LEAD
    }

    /// Returns the key of a store that stalls the pipeline for fewer than 256 cycles.
    #[inline]
    pub const fn stalled(cycles: u64) -> u32 {
        (cycles as u32) << LATENCY
    }

    /// Returns the cycles in a key from [`stalled`].
    pub(super) const fn stalls(key: u32) -> u64 {
        (key >> LATENCY) as u64
    }

    /// Returns the key of a division of `n` by `m`.
    #[inline]
    pub const fn divided(divides: Divides, n: u32, m: u32) -> u32 {
        (divides.latency(n, m) as u32) << LATENCY
    }
}

/// Returns the key of an instruction's outcome.
#[inline]
pub fn key(demand: &Demand, done: &Effects, prediction: PredictionOutcome) -> u32 {
    let skipped = if done.skipped { key::SKIPPED } else { 0 };
    let jumps = if done.jump.is_some() { key::JUMPS } else { 0 };
    let moved = match (demand.moves, &done.traffic) {
        (Moves::Nothing, _) | (_, None) => 0,
        (Moves::One { .. }, Some(it)) => key::access(crosses(it.address, it.bytes)),
        (Moves::Many { .. }, Some(it)) => key::access(it.address >> 2 & 1 == 1),
    };
    let divided = demand.divides.map_or(0, |divides| {
        let (n, m) = done.quotient.unwrap_or((0, 0));
        key::divided(divides, n, m)
    });
    skipped | jumps | moved | key::prediction(prediction) | divided
}

impl Outcome {
    /// Returns an outcome with a key, for an instruction that does not divide and accesses a number
    /// of bytes.
    pub fn of(demand: &Demand, key: u32, bytes: u32, reads: bool) -> Self {
        let upper = key & key::UPPER != 0;
        let address = match demand.moves {
            Moves::One { .. } if upper => 7,
            Moves::Many { .. } if upper => 4,
            _ => 0,
        };
        let predictions = [
            PredictionOutcome::Correct,
            PredictionOutcome::Mispredicted,
            PredictionOutcome::MispredictedAfter,
            PredictionOutcome::Unpredicted,
            PredictionOutcome::UnpredictedAfter,
        ];
        let prediction =
            predictions.into_iter().find(|prediction| *prediction as u32 == key >> key::LEAD & 0xF);
        Self {
            skipped: key & key::SKIPPED != 0,
            jumps: key & key::JUMPS != 0,
            moved: (key & key::MOVED != 0).then_some(DataAccess { address, bytes, reads }),
            quotient: (0, 0),
            prediction: prediction.unwrap_or_default(),
            waits: Waits { stalls: key::stalls(key), ..Waits::default() },
        }
    }
}

/// Returns whether an access crosses a boundary between units of 64 bits, in which memory is read.
pub const fn crosses(address: u32, bytes: u32) -> bool {
    (address & 7) + bytes > 8
}

/// The effects of earlier instructions.
#[derive(Clone, Copy, Debug)]
pub struct Scoreboard {
    /// The next cycle in which an instruction may issue.
    pub next: u64,
    pub first: Option<PairCandidate>,
    pub ready: [u64; COUNT],
    pub source: [Source; COUNT],
    /// Whether a multiplication was the last to set the flags.
    pub flags_late: bool,
    /// The cycle in which a division writes its result; nothing else issues then.
    pub division: u64,
    /// Whether the next instruction is the target of a branch.
    pub fresh: bool,
}

fn each(registers: Registers) -> impl Iterator<Item = usize> {
    let mut left = registers;
    std::iter::from_fn(move || {
        let at = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (at < COUNT).then_some(at)
    })
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            next: 0,
            first: None,
            ready: [0; COUNT],
            source: [Source::Usual; COUNT],
            flags_late: false,
            division: 0,
            fresh: true,
        }
    }
}

impl Scoreboard {
    /// Returns the first cycle in which an instruction's operands are available.
    fn operands(&self, demand: &Demand) -> u64 {
        let mut earliest = 0;
        for at in each(demand.very_early) {
            let more = match self.source[at] {
                // From a load, one less (DDI 0363, table 14-2); between address generators, none
                // (14.11.1).
                Source::Load => 1,
                Source::Address if demand.pre_indexed => 0,
                _ => 2,
            };
            earliest = earliest.max(self.ready[at] + more);
        }
        for at in each(demand.early) {
            earliest = earliest.max(self.ready[at] + 1);
        }
        for at in each(demand.normal) {
            let less = u64::from(self.is_accumulated(demand, at))
                * if demand.by == Source::FloatAccumulator { 3 } else { 1 };
            earliest = earliest.max(self.ready[at].saturating_sub(less));
        }
        for at in each(demand.late) {
            let less = 1 + u64::from(self.is_accumulated(demand, at));
            earliest = earliest.max(self.ready[at].saturating_sub(less));
        }
        // DDI 0460, B.7: instructions after a multiplication that sets flags.
        let flags = u64::from(demand.is_multiply && demand.normal >> FLAGS & 1 == 1);
        if self.flags_late && demand.sets_flags && !demand.sets_flags_late {
            earliest = earliest.max(self.ready[FLAGS as usize]);
        }
        if self.flags_late && flags == 1 {
            earliest = earliest.max(self.ready[FLAGS as usize] + 1);
        }
        if demand.serializes {
            earliest = earliest.max(self.ready.iter().max().copied().unwrap_or(0));
        }
        if demand.divides.is_some() {
            earliest = earliest.max(self.division);
        }
        earliest
    }

    fn is_accumulated(&self, demand: &Demand, at: usize) -> bool {
        demand.accumulated >> at & 1 == 1 && self.source[at] == demand.by
    }

    /// Returns the cycle in which an instruction issues whose code is available at `fetched`.
    pub fn issue(&mut self, demand: &Demand, place: &Place, fetched: u64, actlr: u32) -> u64 {
        let earliest = self.operands(demand);
        let first = self.first.take();
        if let Some(first) = first.filter(|first| joins(first, demand, place, fetched, actlr)) {
            let issue = first.issue.max(earliest);
            // If either instruction of a pair waits, both do (DDI 0363, 14.23.1).
            let later = issue - first.issue;
            self.next += later;
            for at in each(first.writes) {
                self.ready[at] += later;
            }
            return issue;
        }
        let mut issue = self.next.max(earliest).max(fetched);
        // A division takes an issue cycle at its end (14.8).
        if self.division != 0 && issue + 1 >= self.division {
            issue += u64::from(issue + 1 == self.division);
            self.division = 0;
        }
        let may_be_first = demand.flow == Flow::On
            && !demand.serializes
            && !demand.sets_flags_late
            && !matches!(demand.class, Class::Alone | Class::Accesses);
        self.first = may_be_first.then_some(PairCandidate {
            issue,
            class: demand.class,
            writes: demand.writes | demand.base | demand.list,
            thumb: place.thumb,
            room: self.fresh.then_some(8_u8.saturating_sub((place.pc & 7) as u8 + place.size)),
        });
        self.fresh = false;
        issue
    }

    /// Records the outcome of an instruction that issued in a cycle.
    pub fn finish(&mut self, demand: &Demand, outcome: &Outcome, issue: u64) {
        let cycles = Self::own_cycles(demand, outcome);
        self.results(demand, outcome, issue, cycles);
        if outcome.jumps {
            self.first = None;
            self.fresh = true;
        }
        let taken = outcome.prediction.cycles(cycles);
        self.next = self.next.max(issue + taken + outcome.waits.stalls);
    }

    /// Returns the cycles for which an instruction issues, without those of branches and waits.
    fn own_cycles(demand: &Demand, outcome: &Outcome) -> u64 {
        match demand.moves {
            Moves::Nothing => demand.cycles.into(),
            Moves::One { slow } => {
                let crosses =
                    outcome.moved.is_some_and(|moved| crosses(moved.address, moved.bytes));
                u64::from(demand.cycles) + 2 * u64::from(slow) + u64::from(crosses)
            }
            Moves::Many { slow } => {
                // Two words per cycle, from addresses aligned to both.
                let half = u64::from(outcome.moved.map_or(0, |moved| moved.address >> 2 & 1));
                let words = match outcome.moved {
                    Some(moved) => u64::from(moved.bytes / 4),
                    None => (demand.list | demand.late).count_ones().into(),
                };
                let least = if demand.base != 0 { 2 } else { 1 };
                (words + half).div_ceil(2).max(least) + 2 * u64::from(slow)
            }
        }
    }

    const fn result(&mut self, at: usize, ready: u64, source: Source) {
        self.ready[at] = ready;
        self.source[at] = source;
    }

    /// Records when results are available.
    fn results(&mut self, demand: &Demand, outcome: &Outcome, issue: u64, cycles: u64) {
        let waits = &outcome.waits;
        let loads = demand.moves != Moves::Nothing && outcome.moved.is_some_and(|it| it.reads);
        let extra = match demand.moves {
            Moves::One { .. } => {
                cycles - u64::from(demand.cycles) + waits.late[0].max(waits.late[1])
            }
            _ => 0,
        };
        // If the condition fails, operations take as long as if they wrote the old value (14.1.2).
        let latency = match demand.divides {
            Some(divides) => {
                let (n, m) = outcome.quotient;
                let latency = divides.latency(n, m);
                self.division = if outcome.skipped { 0 } else { issue + latency };
                latency
            }
            None if outcome.skipped && demand.moves == Moves::Nothing => 1,
            None => u64::from(demand.latency) + extra,
        };
        let source = match demand.moves {
            Moves::Nothing => demand.by,
            _ if loads => Source::Load,
            _ => Source::Usual,
        };
        for at in each(demand.writes & !(1 << FLAGS)) {
            self.result(at, issue + latency, source);
        }
        if demand.writes >> FLAGS & 1 == 1 {
            let late = if demand.sets_flags_late { u64::from(demand.cycles) + 1 } else { 1 };
            self.flags_late = demand.sets_flags_late;
            self.result(FLAGS.into(), issue + late, Source::Usual);
        }
        let slow = matches!(demand.moves, Moves::Many { slow: true });
        let address = outcome.moved.map_or(0, |moved| moved.address);
        for (word, at) in each(demand.list).enumerate() {
            let place = address.wrapping_add(4 * word as u32);
            let half = u64::from(address >> 2 & 1);
            let line = (place / 32).wrapping_sub(address / 32) as usize;
            let late = waits.late.get(line).copied().unwrap_or(0);
            let latency = u64::from(demand.latency)
                + 2 * u64::from(slow)
                + ((word as u64 + half) >> 1)
                + late;
            self.result(at, issue + latency, Source::Load);
        }
        for at in each(demand.base & !demand.list) {
            let source = if demand.pre_indexed { Source::Address } else { Source::Usual };
            self.result(at, issue + cycles, source);
        }
    }
}

/// Returns whether an instruction issues together with the one before.
fn joins(first: &PairCandidate, demand: &Demand, place: &Place, fetched: u64, actlr: u32) -> bool {
    let reads = demand.very_early | demand.early | demand.normal | demand.late | demand.accumulated;
    let both_there = first.room.is_none_or(|room| place.size <= room) && fetched <= first.issue;
    both_there
        && first.thumb == place.thumb
        && first.writes & reads == 0
        && !demand.serializes
        && may_pair(first.class, demand.class, actlr)
}
