//! Stretches of a path in which the interrupt is held back, and by what.
//!
//! They are told twice: as the interrupt sees them, from where it is held back to where it is
//! not any more, whatever held it back in between; and by each thing alone. A piece of a path
//! tells of what begins in it, to its end.

use std::collections::BTreeMap;

use rtmark_sim::Blocker;
use serde::{Deserialize, Serialize};

/// What held an interrupt back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// PRIMASK.
    Primask,
    /// FAULTMASK.
    Faultmask,
    /// BASEPRI.
    Basepri,
    /// MSTATUS.MIE of a RISC-V core.
    Mstatus,
    /// The handler of this exception, of the same priority or a more urgent one.
    Priority(u16),
    /// The interrupt was not enabled.
    Disabled,
    /// One instruction, which does not give way, or not any more.
    Instruction,
}

impl From<Blocker> for Held {
    fn from(holder: Blocker) -> Self {
        match holder {
            Blocker::Primask => Self::Primask,
            Blocker::Faultmask => Self::Faultmask,
            Blocker::Basepri => Self::Basepri,
            Blocker::MachineMask => Self::Mstatus,
            Blocker::Active(exception) | Blocker::Pending(exception) => Self::Priority(exception),
            _ => Self::Disabled,
        }
    }
}

/// A stretch of the path in which the interrupt is held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// What held it back in the longest one, in the order in which it first did, and for how
    /// many cycles.
    pub by: Vec<(Held, u64)>,
    /// The first instruction during which it was.
    pub from: u32,
    /// The first one before which it would have been taken again.
    pub to: u32,
    /// The longest between these two, in cycles; without those asleep, in which it would have
    /// woken the core.
    pub cycles: u64,
    /// When that one began.
    pub began: u64,
    /// How many there were.
    pub count: u64,
}

impl Interval {
    const fn begin(began: u64, from: u32) -> Self {
        Self { by: Vec::new(), from, to: from, cycles: 0, began, count: 1 }
    }

    fn add(&mut self, held: Held, cycles: u64) {
        self.cycles += cycles;
        match self.by.iter_mut().find(|(known, _)| *known == held) {
            Some((_, known)) => *known += cycles,
            None => self.by.push((held, cycles)),
        }
    }

    /// Ended before an instruction, after one thing has held it back for so long.
    fn by_one(self, held: Held, cycles: u64, to: u32) -> Self {
        Self { by: vec![(held, cycles)], cycles, to, ..self }
    }

    /// Takes another one between the same two places.
    fn absorb(&mut self, other: Self) {
        let count = self.count + other.count;
        if (other.cycles, self.began) > (self.cycles, other.began) {
            *self = other;
        }
        self.count = count;
    }
}

/// The longest first, the earlier one of equals.
fn sorted<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Vec<&'a Interval> {
    let mut intervals: Vec<_> = intervals.collect();
    intervals.sort_by_key(|interval| (std::cmp::Reverse(interval.cycles), interval.began));
    intervals
}

/// What has been found of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    whole: BTreeMap<(u32, u32), Interval>,
    alone: BTreeMap<(Held, u32, u32), Interval>,
}

/// Adds one to those between the same two places.
fn add<K: Ord>(known: &mut BTreeMap<K, Interval>, key: K, interval: Interval) {
    match known.get_mut(&key) {
        Some(known) => known.absorb(interval),
        None => {
            known.insert(key, interval);
        }
    }
}

impl HeldBack {
    fn add_whole(&mut self, interval: Interval) {
        add(&mut self.whole, (interval.from, interval.to), interval);
    }

    fn add_alone(&mut self, interval: Interval) {
        if let Some(&(held, _)) = interval.by.first() {
            add(&mut self.alone, (held, interval.from, interval.to), interval);
        }
    }

    /// Adds what was found elsewhere on the same path.
    pub(crate) fn absorb(&mut self, other: Self) {
        other.whole.into_values().for_each(|interval| self.add_whole(interval));
        other.alone.into_values().for_each(|interval| self.add_alone(interval));
    }

    /// The stretches by where they begin and end, the longest first. Two that follow each
    /// other at once are one.
    pub fn longest(&self) -> Vec<&Interval> {
        sorted(self.whole.values())
    }

    /// Those in which one thing held the interrupt back, also where something else did before
    /// or behind; the longest first.
    pub fn longest_alone(&self) -> Vec<(Held, &Interval)> {
        let longest = sorted(self.alone.values()).into_iter();
        longest.filter_map(|interval| Some((interval.by.first()?.0, interval))).collect()
    }
}

/// What holds the interrupt back now.
#[derive(Clone, Copy, Debug)]
struct Part {
    held: Held,
    began: u64,
    from: u32,
    asleep: u64,
    /// Whether it began in the piece, and not only the stretch that it belongs to.
    is_ours: bool,
}

/// Follows along a piece what holds the interrupt back.
#[derive(Debug, Default)]
pub(crate) struct Following {
    found: HeldBack,
    /// Whether nothing has been seen yet of a piece that another one leads to: what holds the
    /// interrupt back then, that one tells of.
    leads_on: bool,
    /// What has held it back at the last boundary.
    last: Option<Held>,
    part: Option<Part>,
    whole: Option<Interval>,
}

/// To which piece belongs what begins at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// To the one that is followed.
    ToPiece,
    /// To the next one, which tells of it.
    ToNext,
}

impl Following {
    /// Begins with a piece. If it follows another one directly, that one tells of what has
    /// begun before.
    pub(crate) fn new(follows: bool) -> Self {
        Self { leads_on: follows, ..Self::default() }
    }

    /// Whether something has begun in the piece and goes on.
    pub(crate) const fn is_open(&self) -> bool {
        self.part.is_some() || self.whole.is_some()
    }

    /// Reaches a boundary before an instruction.
    pub(crate) fn reach(&mut self, held: Option<Held>, now: u64, pc: u32, belongs: Belongs) {
        if std::mem::take(&mut self.leads_on) {
            self.last = held;
            return;
        }
        let before = std::mem::replace(&mut self.last, held);
        if before == held {
            return;
        }
        if let Some(part) = self.part.take() {
            self.end(part, now, pc);
        }
        let Some(held) = held else {
            if let Some(whole) = self.whole.take() {
                self.found.add_whole(Interval { to: pc, ..whole });
            }
            return;
        };
        let is_ours = belongs == Belongs::ToPiece;
        if is_ours && before.is_none() {
            self.whole = Some(Interval::begin(now, pc));
        }
        if is_ours || self.whole.is_some() {
            self.part = Some(Part { held, began: now, from: pc, asleep: 0, is_ours });
        }
    }

    fn end(&mut self, part: Part, now: u64, pc: u32) {
        let cycles = (now - part.began).saturating_sub(part.asleep);
        if let Some(whole) = &mut self.whole {
            whole.add(part.held, cycles);
        }
        if part.is_ours {
            let alone = Interval::begin(part.began, part.from);
            self.found.add_alone(alone.by_one(part.held, cycles, pc));
        }
    }

    /// The core sleeps meanwhile.
    pub(crate) fn sleep(&mut self, cycles: u64) {
        if let Some(part) = &mut self.part {
            part.asleep += cycles;
        }
    }

    /// An instruction before which nothing held the interrupt back takes so many cycles in
    /// which it does not give way.
    pub(crate) fn execute(&mut self, from: u32, to: u32, began: u64, cycles: u64) {
        // One cycle holds nothing back: what becomes pending in it is seen at its end.
        if cycles > 1 {
            let alone = Interval::begin(began, from);
            self.found.add_alone(alone.by_one(Held::Instruction, cycles, to));
        }
    }

    pub(crate) fn found(self) -> HeldBack {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boundaries, each a cycle and an address, with what holds the interrupt back there.
    const PATH: [(u64, Option<Held>); 8] = [
        (0, None),
        (3, Some(Held::Primask)),
        (5, Some(Held::Primask)),
        (8, Some(Held::Priority(15))),
        (20, Some(Held::Primask)),
        (24, None),
        (30, Some(Held::Basepri)),
        (31, None),
    ];

    /// What pieces tell together that are cut before a boundary each.
    fn told(cuts: &[usize]) -> HeldBack {
        let mut all = HeldBack::default();
        for (number, &first) in cuts.iter().enumerate() {
            let last = cuts.get(number + 1).copied().unwrap_or(PATH.len());
            let mut following = Following::new(number > 0);
            for (index, &(now, held)) in PATH.iter().enumerate().skip(first) {
                let belongs = if index <= last { Belongs::ToPiece } else { Belongs::ToNext };
                following.reach(held, now, now as u32 * 2, belongs);
                if index >= last && !following.is_open() {
                    break;
                }
            }
            all.absorb(following.found());
        }
        all
    }

    #[test]
    fn stretches_are_told_whole_and_by_each_thing_alone() {
        let found = told(&[0]);
        let whole: Vec<_> = found.longest().into_iter().map(|i| (i.began, i.cycles)).collect();
        assert_eq!(whole, [(3, 21), (30, 1)]);
        assert_eq!(found.longest()[0].by, [(Held::Primask, 9), (Held::Priority(15), 12)]);
        let alone = found.longest_alone();
        let alone: Vec<_> = alone.into_iter().map(|(held, i)| (held, i.cycles)).collect();
        let primask = [(Held::Primask, 5), (Held::Primask, 4)];
        assert_eq!(alone, [(Held::Priority(15), 12), primask[0], primask[1], (Held::Basepri, 1)]);
    }

    #[test]
    fn where_pieces_are_cut_makes_no_difference() {
        let whole = told(&[0]);
        for cut in 1..PATH.len() {
            assert_eq!(told(&[0, cut]), whole, "cut before {cut}");
            for second in cut + 1..PATH.len() {
                assert_eq!(told(&[0, cut, second]), whole, "cut before {cut} and {second}");
            }
        }
    }
}
