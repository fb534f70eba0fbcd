//! What the instructions before leave behind: when results are there, and who may join the last one.
//!
//! Nothing here knows memory, branches that are foreseen, or what instructions do: all that comes
//! with the [`Outcome`]. So how an instruction passes is a function of the scoreboard, the
//! instruction and its outcome, which `memo` remembers.

use super::demand::{COUNT, Class, Demand, Divides, FLAGS, Flow, Moves, Registers, Source};
use super::memory::Waits;
use super::pairs::may_pair;
use super::pipeline::Place;
use crate::armr::exec::Done;

/// A branch that was foreseen wrongly: seen in the write stage (DDI 0363, 14.9, table 14-10).
pub const MISTAKEN: u64 = 8;
/// A return that was, and what nothing foresees: one stage later (table 14-10, 5.3).
pub const UNFORESEEN: u64 = 9;

/// An instruction that a second one may still join.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub issue: u64,
    pub class: Class,
    pub writes: Registers,
    pub thumb: bool,
    /// The first behind a branch: so many bytes of its 64 bits are left for what joins it.
    pub room: Option<u8>,
}

/// How right what was foreseen of a branch has been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lead {
    /// It takes its own cycles: it was foreseen, or is none.
    #[default]
    Foreseen,
    Mistaken,
    /// With the cycles beyond the first that it takes itself.
    MistakenAfter,
    Unforeseen,
    UnforeseenAfter,
}

impl Lead {
    const fn cycles(self, own: u64) -> u64 {
        match self {
            Self::Foreseen => own,
            Self::Mistaken => MISTAKEN,
            Self::MistakenAfter => MISTAKEN + own - 1,
            Self::Unforeseen => UNFORESEEN,
            Self::UnforeseenAfter => UNFORESEEN + own - 1,
        }
    }
}

/// What an instruction moved to or from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub address: u32,
    pub bytes: u32,
    pub reads: bool,
}

/// What an instruction has done, as far as it decides when others issue.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub skipped: bool,
    pub jumps: bool,
    pub moved: Option<Moved>,
    /// What was divided by what.
    pub quotient: (u32, u32),
    pub lead: Lead,
    pub waits: Waits,
}

/// Keys: numbers for what outcomes make of a scoreboard, memory not being waited for. They are the
/// same for outcomes that make the same, and fit into 16 bits.
pub mod key {
    use super::{Divides, Lead};

    /// The condition failed.
    pub const SKIPPED: u32 = 1;
    /// It led elsewhere.
    pub const JUMPS: u32 = 2;
    pub(super) const UPPER: u32 = 4;
    pub(super) const MOVED: u32 = 8;
    pub(super) const LEAD: u32 = 4;
    const LATENCY: u32 = 8;

    /// Something was moved: of one register whether it lies in two units of 64 bits, of several
    /// whether they begin in the upper half of one.
    #[inline]
    pub const fn moved(upper: bool) -> u32 {
        MOVED | if upper { UPPER } else { 0 }
    }

    #[inline]
    pub const fn led(lead: Lead) -> u32 {
        (lead as u32) << LEAD
    }

    /// A store behind which nothing issues for so many cycles, of which there are less than 256.
    #[inline]
    pub const fn stalled(cycles: u64) -> u32 {
        (cycles as u32) << LATENCY
    }

    /// What [`stalled`] has made a key of.
    pub(super) const fn stalls(key: u32) -> u64 {
        (key >> LATENCY) as u64
    }

    /// A division of `n` by `m`.
    #[inline]
    pub const fn divided(divides: Divides, n: u32, m: u32) -> u32 {
        (divides.latency(n, m) as u32) << LATENCY
    }
}

/// The key of what an instruction has done.
#[inline]
pub fn key(demand: &Demand, done: &Done, lead: Lead) -> u32 {
    let skipped = if done.skipped { key::SKIPPED } else { 0 };
    let jumps = if done.jump.is_some() { key::JUMPS } else { 0 };
    let moved = match (demand.moves, &done.traffic) {
        (Moves::Nothing, _) | (_, None) => 0,
        (Moves::One { .. }, Some(it)) => key::moved(crosses(it.address, it.bytes)),
        (Moves::Many { .. }, Some(it)) => key::moved(it.address >> 2 & 1 == 1),
    };
    let divided = demand.divides.map_or(0, |divides| {
        let (n, m) = done.quotient.unwrap_or((0, 0));
        key::divided(divides, n, m)
    });
    skipped | jumps | moved | key::led(lead) | divided
}

impl Outcome {
    /// An outcome with a key, of an instruction that divides nothing and moves so many bytes.
    pub fn of(demand: &Demand, key: u32, bytes: u32, reads: bool) -> Self {
        let upper = key & key::UPPER != 0;
        let address = match demand.moves {
            Moves::One { .. } if upper => 7,
            Moves::Many { .. } if upper => 4,
            _ => 0,
        };
        let leads = [
            Lead::Foreseen,
            Lead::Mistaken,
            Lead::MistakenAfter,
            Lead::Unforeseen,
            Lead::UnforeseenAfter,
        ];
        let lead = leads.into_iter().find(|lead| *lead as u32 == key >> key::LEAD & 0xF);
        Self {
            skipped: key & key::SKIPPED != 0,
            jumps: key & key::JUMPS != 0,
            moved: (key & key::MOVED != 0).then_some(Moved { address, bytes, reads }),
            quotient: (0, 0),
            lead: lead.unwrap_or_default(),
            waits: Waits { stalls: key::stalls(key), ..Waits::default() },
        }
    }
}

/// Whether something lies in two of the units of 64 bits that memory is read by.
pub const fn crosses(address: u32, bytes: u32) -> bool {
    (address & 7) + bytes > 8
}

/// What the instructions before leave behind.
#[derive(Clone, Copy, Debug)]
pub struct Scoreboard {
    /// The next cycle in which something may issue.
    pub next: u64,
    pub first: Option<First>,
    pub ready: [u64; COUNT],
    pub source: [Source; COUNT],
    /// A multiplication has set the flags last.
    pub flags_late: bool,
    /// When a division writes its result, for which nothing else issues.
    pub division: u64,
    /// The instruction that comes next is the target of a branch.
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
    /// The first cycle in which what an instruction reads is at hand.
    fn operands(&self, demand: &Demand) -> u64 {
        let mut earliest = 0;
        for at in each(demand.very_early) {
            let more = match self.source[at] {
                // From a load one less (DDI 0363, table 14-2); from the address generator to
                // itself nothing (14.11.1).
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
        // DDI 0460, B.7: what follows a multiplication that sets flags.
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

    /// The cycle in which an instruction issues whose code is there in a cycle.
    pub fn issue(&mut self, demand: &Demand, place: &Place, fetched: u64, actlr: u32) -> u64 {
        let earliest = self.operands(demand);
        let first = self.first.take();
        if let Some(first) = first.filter(|first| joins(first, demand, place, fetched, actlr)) {
            let issue = first.issue.max(earliest);
            // If one of them waits, both do (DDI 0363, 14.23.1).
            let later = issue - first.issue;
            self.next += later;
            for at in each(first.writes) {
                self.ready[at] += later;
            }
            return issue;
        }
        let mut issue = self.next.max(earliest).max(fetched);
        // A division ends by taking an issue cycle (14.8).
        if self.division != 0 && issue + 1 >= self.division {
            issue += u64::from(issue + 1 == self.division);
            self.division = 0;
        }
        let may_be_first = demand.flow == Flow::On
            && !demand.serializes
            && !demand.sets_flags_late
            && !matches!(demand.class, Class::Alone | Class::Accesses);
        self.first = may_be_first.then_some(First {
            issue,
            class: demand.class,
            writes: demand.writes | demand.base | demand.list,
            thumb: place.thumb,
            room: self.fresh.then_some(8_u8.saturating_sub((place.pc & 7) as u8 + place.size)),
        });
        self.fresh = false;
        issue
    }

    /// Notes what an instruction that issued in a cycle has done.
    pub fn finish(&mut self, demand: &Demand, outcome: &Outcome, issue: u64) {
        let cycles = Self::own_cycles(demand, outcome);
        self.results(demand, outcome, issue, cycles);
        if outcome.jumps {
            self.first = None;
            self.fresh = true;
        }
        let taken = outcome.lead.cycles(cycles);
        self.next = self.next.max(issue + taken + outcome.waits.stalls);
    }

    /// The cycles for which an instruction issues, apart from where it leads and what it waits for.
    fn own_cycles(demand: &Demand, outcome: &Outcome) -> u64 {
        match demand.moves {
            Moves::Nothing => demand.cycles.into(),
            Moves::One { slow } => {
                let crosses =
                    outcome.moved.is_some_and(|moved| crosses(moved.address, moved.bytes));
                u64::from(demand.cycles) + 2 * u64::from(slow) + u64::from(crosses)
            }
            Moves::Many { slow } => {
                // Two words a cycle, from addresses that are aligned to both.
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

    /// When results are there.
    fn results(&mut self, demand: &Demand, outcome: &Outcome, issue: u64, cycles: u64) {
        let waits = &outcome.waits;
        let loads = demand.moves != Moves::Nothing && outcome.moved.is_some_and(|it| it.reads);
        let extra = match demand.moves {
            Moves::One { .. } => {
                cycles - u64::from(demand.cycles) + waits.late[0].max(waits.late[1])
            }
            _ => 0,
        };
        // Where a condition fails, operations are as if their result were the old one (14.1.2).
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

/// Whether an instruction issues together with the one before.
fn joins(first: &First, demand: &Demand, place: &Place, fetched: u64, actlr: u32) -> bool {
    let reads = demand.very_early | demand.early | demand.normal | demand.late | demand.accumulated;
    let both_there = first.room.is_none_or(|room| place.size <= room) && fetched <= first.issue;
    both_there
        && first.thumb == place.thumb
        && first.writes & reads == 0
        && !demand.serializes
        && may_pair(first.class, demand.class, actlr)
}
