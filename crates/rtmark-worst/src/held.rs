//! Stretches of a path in which the interrupt is held back, and what holds it.
//!
//! They are recorded in two ways: as the interrupt experiences them, from where it is held back to
//! where it is free again, whatever held it in between; and separately for each blocker. A piece of a
//! path records the stretches that begin in it, up to their ends.

use std::collections::BTreeMap;

use rtmark_sim::{BlockedInterval, Blocker};
use serde::{Deserialize, Serialize};

/// Merges blockers that need no distinction: whether a more urgent handler already runs or is about to
/// run, the blocker is its priority.
pub(crate) fn merged(blocker: Blocker) -> Blocker {
    blocker.exception().map_or(blocker, Blocker::Active)
}

/// Stretches of the path with the same ends: from the first instruction during which the interrupt is
/// held back to the first one before which it would be taken again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretches {
    /// The longest, with its blockers in order of first appearance and their cycles.
    pub longest: BlockedInterval<Vec<(Blocker, u64)>>,
    /// The number of such stretches.
    pub count: u64,
    /// Whether the interrupt was still held back where the run ended or was given up, which is then the
    /// end of the stretch.
    pub is_open: bool,
}

impl Stretches {
    const fn begin(began: u64, from: u32) -> Self {
        let longest = BlockedInterval { by: Vec::new(), from, to: from, cycles: 0, began };
        Self { longest, count: 1, is_open: false }
    }

    const fn ends(&self) -> Ends {
        (self.longest.from, self.longest.to, self.is_open)
    }

    fn add(&mut self, blocker: Blocker, cycles: u64) {
        self.longest.cycles += cycles;
        match self.longest.by.iter_mut().find(|(known, _)| *known == blocker) {
            Some((_, known)) => *known += cycles,
            None => self.longest.by.push((blocker, cycles)),
        }
    }

    /// Ends a stretch before an instruction, after one blocker has held the interrupt for this long.
    fn with_blocker(self, blocker: Blocker, cycles: u64, to: u32) -> Self {
        let longest = BlockedInterval { by: vec![(blocker, cycles)], cycles, to, ..self.longest };
        Self { longest, ..self }
    }

    /// Absorbs other stretches with the same ends.
    fn absorb(&mut self, other: Self) {
        self.count += other.count;
        let (known, new) = (&self.longest, &other.longest);
        if (new.cycles, known.began) > (known.cycles, new.began) {
            self.longest = other.longest;
        }
    }
}

/// Sorts stretches, the longest first, the earlier one among equals.
fn sorted<'a>(stretches: impl Iterator<Item = &'a Stretches>) -> Vec<&'a Stretches> {
    let mut stretches: Vec<_> = stretches.collect();
    stretches.sort_by_key(|Stretches { longest, .. }| {
        (std::cmp::Reverse(longest.cycles), longest.began)
    });
    stretches
}

/// All stretches found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    whole: BTreeMap<Ends, Stretches>,
    alone: BTreeMap<(Blocker, Ends), Stretches>,
}

/// The ends of a stretch, and whether it was still open at the second one.
type Ends = (u32, u32, bool);

/// Adds stretches to those with the same ends.
fn add<K: Ord>(known: &mut BTreeMap<K, Stretches>, key: K, more: Stretches) {
    match known.get_mut(&key) {
        Some(known) => known.absorb(more),
        None => {
            known.insert(key, more);
        }
    }
}

impl HeldBack {
    fn add_whole(&mut self, stretches: Stretches) {
        add(&mut self.whole, stretches.ends(), stretches);
    }

    fn add_alone(&mut self, stretches: Stretches) {
        if let Some(&(blocker, _)) = stretches.longest.by.first() {
            add(&mut self.alone, (blocker, stretches.ends()), stretches);
        }
    }

    /// Adds stretches found in other pieces of the same path.
    pub(crate) fn absorb(&mut self, other: Self) {
        other.whole.into_values().for_each(|each| self.add_whole(each));
        other.alone.into_values().for_each(|each| self.add_alone(each));
    }

    /// Returns the stretches by their ends, the longest first. Two that follow each other immediately
    /// are one.
    pub fn longest(&self) -> Vec<&Stretches> {
        sorted(self.whole.values())
    }

    /// Returns the stretches of each blocker alone, including those adjacent to other blockers; the
    /// longest first.
    pub fn longest_alone(&self) -> Vec<(Blocker, &Stretches)> {
        let longest = sorted(self.alone.values()).into_iter();
        longest.filter_map(|each| Some((each.longest.by.first()?.0, each))).collect()
    }
}

/// The blocker in effect.
#[derive(Clone, Copy, Debug)]
struct ActiveBlocker {
    blocker: Blocker,
    began: u64,
    from: u32,
    asleep: u64,
    /// Whether it began in this piece, rather than only the stretch that it belongs to.
    is_ours: bool,
}

/// Tracks what holds the interrupt back along a piece.
#[derive(Debug, Default)]
pub(crate) struct BlockerTracker {
    found: HeldBack,
    /// Whether nothing has been seen yet of a piece that follows another one: a blocker in effect at
    /// its beginning belongs to the preceding piece.
    awaits_first: bool,
    /// The blocker at the last boundary.
    last: Option<Blocker>,
    part: Option<ActiveBlocker>,
    whole: Option<Stretches>,
}

/// The piece to which something that begins at a boundary belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceOwner {
    /// The current piece.
    Current,
    /// The next piece, which records it.
    Next,
}

impl BlockerTracker {
    /// Starts at the beginning of a piece. If the piece directly follows another one, that one records
    /// what has begun earlier.
    pub(crate) fn new(follows: bool) -> Self {
        Self { awaits_first: follows, ..Self::default() }
    }

    /// Tells whether a stretch that began in the piece is still open.
    pub(crate) const fn is_open(&self) -> bool {
        self.part.is_some() || self.whole.is_some()
    }

    /// Reaches a boundary before an instruction.
    pub(crate) fn reach(&mut self, blocker: Option<Blocker>, now: u64, pc: u32, owner: PieceOwner) {
        if std::mem::take(&mut self.awaits_first) {
            self.last = blocker;
            return;
        }
        let before = std::mem::replace(&mut self.last, blocker);
        if before == blocker {
            return;
        }
        self.end_part(now, pc, false);
        let Some(blocker) = blocker else { return self.end_whole(pc, false) };
        let is_ours = owner == PieceOwner::Current;
        if is_ours && before.is_none() {
            self.whole = Some(Stretches::begin(now, pc));
        }
        if is_ours || self.whole.is_some() {
            self.part = Some(ActiveBlocker { blocker, began: now, from: pc, asleep: 0, is_ours });
        }
    }

    /// Ends at the last boundary of the run. What holds the interrupt back there does so to the end.
    pub(crate) fn end(&mut self, now: u64, pc: u32) {
        self.end_part(now, pc, true);
        self.end_whole(pc, true);
    }

    fn end_part(&mut self, now: u64, pc: u32, is_open: bool) {
        let Some(part) = self.part.take() else { return };
        let cycles = (now - part.began).saturating_sub(part.asleep);
        if let Some(whole) = &mut self.whole {
            whole.add(part.blocker, cycles);
        }
        if part.is_ours {
            let alone = Stretches::begin(part.began, part.from);
            let mut alone = alone.with_blocker(part.blocker, cycles, pc);
            alone.is_open = is_open;
            self.found.add_alone(alone);
        }
    }

    fn end_whole(&mut self, pc: u32, is_open: bool) {
        if let Some(mut whole) = self.whole.take() {
            (whole.longest.to, whole.is_open) = (pc, is_open);
            self.found.add_whole(whole);
        }
    }

    /// Accounts for a sleep that the interrupt would have ended.
    pub(crate) fn sleep(&mut self, cycles: u64) {
        if let Some(part) = &mut self.part {
            part.asleep += cycles;
        }
    }

    /// Accounts for the cycles of an instruction during which it does not give way, and before which
    /// nothing held the interrupt back.
    pub(crate) fn execute(&mut self, from: u32, to: u32, began: u64, cycles: u64) {
        // A single cycle holds nothing back: what becomes pending in it is seen at its end.
        if cycles > 1 {
            let alone = Stretches::begin(began, from);
            self.found.add_alone(alone.with_blocker(Blocker::Instruction, cycles, to));
        }
    }

    pub(crate) fn found(self) -> HeldBack {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boundaries, each with its cycle, its address and the blocker there.
    const PATH: [(u64, Option<Blocker>); 8] = [
        (0, None),
        (3, Some(Blocker::Primask)),
        (5, Some(Blocker::Primask)),
        (8, Some(Blocker::Active(15))),
        (20, Some(Blocker::Primask)),
        (24, None),
        (30, Some(Blocker::Basepri)),
        (31, None),
    ];

    /// Returns what pieces record together if the path is cut before these boundaries.
    fn combined(cuts: &[usize]) -> HeldBack {
        let mut all = HeldBack::default();
        for (number, &first) in cuts.iter().enumerate() {
            let last = cuts.get(number + 1).copied().unwrap_or(PATH.len());
            let mut following = BlockerTracker::new(number > 0);
            for (index, &(now, held)) in PATH.iter().enumerate().skip(first) {
                let owner = if index <= last { PieceOwner::Current } else { PieceOwner::Next };
                following.reach(held, now, now as u32 * 2, owner);
                if index >= last && !following.is_open() {
                    break;
                }
            }
            all.absorb(following.found());
        }
        all
    }

    #[test]
    fn stretches_are_recorded_in_total_and_by_blocker() {
        let found = combined(&[0]);
        let whole: Vec<_> =
            found.longest().into_iter().map(|i| (i.longest.began, i.longest.cycles)).collect();
        assert_eq!(whole, [(3, 21), (30, 1)]);
        assert_eq!(
            found.longest()[0].longest.by,
            [(Blocker::Primask, 9), (Blocker::Active(15), 12)]
        );
        let alone = found.longest_alone();
        let alone: Vec<_> = alone.into_iter().map(|(by, i)| (by, i.longest.cycles)).collect();
        let primask = [(Blocker::Primask, 5), (Blocker::Primask, 4)];
        assert_eq!(
            alone,
            [(Blocker::Active(15), 12), primask[0], primask[1], (Blocker::Basepri, 1)]
        );
    }

    #[test]
    fn an_instruction_of_one_cycle_holds_nothing_back() {
        let executed = |cycles| {
            let mut tracker = BlockerTracker::default();
            tracker.execute(0x100, 0x102, 7, cycles);
            tracker
                .found()
                .longest_alone()
                .into_iter()
                .map(|(by, it)| (by, it.longest.cycles))
                .collect::<Vec<_>>()
        };
        assert_eq!(executed(1), []);
        assert_eq!(executed(2), [(Blocker::Instruction, 2)]);
    }

    #[test]
    fn results_do_not_depend_on_where_pieces_are_cut() {
        let whole = combined(&[0]);
        for cut in 1..PATH.len() {
            assert_eq!(combined(&[0, cut]), whole, "cut before {cut}");
            for second in cut + 1..PATH.len() {
                assert_eq!(combined(&[0, cut, second]), whole, "cut before {cut} and {second}");
            }
        }
    }
}
