//! The results of a search: counts, worst cases, and where they occurred.
//!
//! Findings add up: those of the pieces of a path, absorbed in any order, are those of the whole path.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::fork::{Outcome, Unserved, Verdict};
use crate::held::HeldBack;
use crate::meet::Interleaving;
use crate::path::Reach;

/// The number of slices into which the path is divided when it is plotted.
pub const SLICES: u64 = 480;

/// What is measured at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// From the pending interrupt to the first instruction of its handler.
    Handler,
    /// From the pending interrupt to the first instruction of the task that it wakes.
    Task,
    /// From the pending interrupt to the point where the interrupted code continues.
    Resume,
    /// How much later a span ends if the interrupt comes during it.
    Delay,
    /// Of two interrupts, the later one's latency: from pending to the first instruction of its
    /// handler.
    Second,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Handler, Self::Second, Self::Task, Self::Resume, Self::Delay];

    /// Describes what is timed.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Handler => "pend to the handler's first instruction",
            Self::Task => "pend to the woken task's first instruction",
            Self::Resume => "pend to where the interrupted code continues",
            Self::Delay => "extra time of the interrupted span",
            Self::Second => "second interrupt: pend to its handler's first instruction",
        }
    }

    /// Returns its name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Task => "task",
            Self::Resume => "resume",
            Self::Delay => "delay",
            Self::Second => "second",
        }
    }
}

/// A point and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Cycles.
    pub cycles: i64,
    /// The cycle since reset in which the interrupt becomes pending.
    pub point: u64,
    /// For two interrupts: how many cycles later the other one becomes pending; negative if earlier.
    pub distance: Option<i64>,
}

impl Case {
    /// Creates the case of a single interrupt.
    pub const fn new(cycles: i64, point: u64) -> Self {
        Self { cycles, point, distance: None }
    }

    /// Tells whether this case is worse, or equally bad and earlier.
    fn exceeds(self, other: Self) -> bool {
        (self.cycles, other.point, other.distance) > (other.cycles, self.point, self.distance)
    }
}

/// The distribution of one aspect over all points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    /// How many points took each number of cycles.
    pub counts: BTreeMap<i64, u64>,
    /// Points without an answer: the event did not occur before the program ended, or not in time.
    pub missing: u64,
    /// The first point without an answer.
    pub first_missing: Option<u64>,
    /// The reasons why there was none, with the number of points.
    pub unserved: BTreeMap<Unserved, u64>,
    /// The worst point for each address of an instruction before which the interrupt was served.
    pub cases: BTreeMap<u32, Case>,
    /// The minimum and maximum in each slice of the path.
    pub slices: BTreeMap<u32, Slice>,
}

/// A slice of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The minimum, in cycles.
    pub least: i64,
    /// The maximum, in cycles.
    pub most: i64,
}

impl Latencies {
    fn count(&mut self, cycles: i64, points: u64, slice: u32) {
        *self.counts.entry(cycles).or_default() += points;
        let slice = self.slices.entry(slice).or_insert(Slice { least: cycles, most: cycles });
        slice.least = slice.least.min(cycles);
        slice.most = slice.most.max(cycles);
    }

    fn case(&mut self, pc: u32, case: Case) {
        let known = self.cases.entry(pc).or_insert(case);
        if case.exceeds(*known) {
            *known = case;
        }
    }

    fn miss(&mut self, point: u64, points: u64, why: Option<Unserved>) {
        self.missing += points;
        if let Some(why) = why {
            *self.unserved.entry(why).or_default() += points;
        }
        self.first_missing = Some(self.first_missing.map_or(point, |first| first.min(point)));
    }

    fn absorb(&mut self, other: Self) {
        for (cycles, points) in other.counts {
            *self.counts.entry(cycles).or_default() += points;
        }
        self.missing += other.missing;
        for (why, points) in other.unserved {
            *self.unserved.entry(why).or_default() += points;
        }
        self.first_missing = match (self.first_missing, other.first_missing) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for (pc, case) in other.cases {
            self.case(pc, case);
        }
        for (at, slice) in other.slices {
            let known = self.slices.entry(at).or_insert(slice);
            known.least = known.least.min(slice.least);
            known.most = known.most.max(slice.most);
        }
    }

    /// Returns the number of points with an answer.
    pub fn points(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the minimum.
    pub fn least(&self) -> Option<i64> {
        self.counts.keys().next().copied()
    }

    /// Returns the worst point, the earliest one among equals.
    pub fn worst(&self) -> Option<Case> {
        self.cases.values().copied().reduce(|a, b| if b.exceeds(a) { b } else { a })
    }

    /// Returns the worst point of each address, the worst first.
    pub fn worst_places(&self) -> Vec<(u32, Case)> {
        let mut cases: Vec<_> = self.cases.iter().map(|(pc, case)| (*pc, *case)).collect();
        cases.sort_by_key(|(_, case)| (std::cmp::Reverse(case.cycles), case.point));
        cases
    }

    /// Returns the smallest value that at least this fraction of the points does not exceed; `part` is
    /// from 0 to 1.
    pub fn quantile(&self, part: f64) -> Option<i64> {
        let wanted = (part * self.points() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.counts.iter().find_map(|(cycles, points)| {
            seen += points;
            (seen >= wanted).then_some(*cycles)
        })
    }

    /// Returns the mean.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 =
            self.counts.iter().map(|(cycles, points)| *cycles as f64 * *points as f64).sum();
        (self.points() > 0).then(|| sum / self.points() as f64)
    }

    /// Returns the probability that this many measurements at random moments would have met the worst
    /// value at least once.
    pub fn chance_of_worst(&self, measurements: u32) -> Option<f64> {
        let (_, worst) = self.counts.last_key_value()?;
        let share = *worst as f64 / self.points() as f64;
        // 1 - (1 - share)^n, precise for small shares too.
        Some(-(f64::from(measurements) * (-share).ln_1p()).exp_m1())
    }
}

/// Points after which the program did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The verdict at the first of them.
    pub verdict: Verdict,
    /// The first of them.
    pub point: u64,
    /// The number of such points.
    pub points: u64,
}

/// The frame of reference for the findings of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// What is followed besides the handler.
    pub reach: Reach,
    pub looks_for_task: bool,
    /// The number of points in the preceding pieces.
    pub before: u64,
    /// The piece's first cycle, and its last.
    pub from: u64,
    pub to: u64,
    /// The number of points in all pieces.
    pub total: u64,
}

impl Scale {
    fn slice(self, point: u64) -> u32 {
        let within = point.clamp(self.from + 1, self.to) - self.from - 1;
        let at = u128::from(self.before + within) * u128::from(SLICES);
        (at / u128::from(self.total.max(1))) as u32
    }
}

/// The answer of a range of points.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// All of them are served at the same time.
    At(Outcome),
    /// Each is served this many cycles after it becomes pending.
    After(u64),
}

/// The results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The number of points searched.
    pub points: u64,
    /// The number of entries tried out.
    pub tried: u64,
    /// The number of points followed in a copy of the machine.
    pub followed: u64,
    /// For two interrupts, the number of pairs of moments.
    pub pairs: u64,
    /// The distribution of each aspect.
    pub aspects: BTreeMap<Aspect, Latencies>,
    /// The distributions of pairs, by how both interrupts met.
    pub meetings: BTreeMap<(Interleaving, Aspect), Latencies>,
    /// Stretches in which the interrupt is held back.
    pub held: HeldBack,
    /// Points after which the program ran to its end, whatever its check said.
    pub checked: u64,
    /// Points after which it did not succeed, by the instruction before which the interrupt was taken.
    pub failures: BTreeMap<u32, Failure>,
    /// The code that the path executes: one bit for each halfword of a 512-byte page.
    code: BTreeMap<u32, [u64; 4]>,
    /// The pieces that have been searched.
    pub pieces: BTreeSet<usize>,
    #[serde(skip)]
    scale: Option<ScaleOfPiece>,
}

/// The scale, which comparisons of findings ignore.
#[derive(Clone, Copy, Debug)]
struct ScaleOfPiece(Scale);

impl PartialEq for ScaleOfPiece {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScaleOfPiece {}

impl Findings {
    pub(crate) fn new(scale: Scale) -> Self {
        Self { scale: Some(ScaleOfPiece(scale)), ..Self::default() }
    }

    pub(crate) fn add(&mut self, from: u64, to: u64, answer: Answer, pc: u32) {
        let Some(ScaleOfPiece(scale)) = self.scale else { return };
        let points = to - from + 1;
        self.points += points;
        let latency = |at: u64, point: u64| at.cast_signed() - point.cast_signed();
        let outcome = match answer {
            Answer::After(cycles) => {
                let handler = self.aspects.entry(Aspect::Handler).or_default();
                let cycles = cycles.cast_signed();
                let (first, last) = (scale.slice(from), scale.slice(to));
                handler.count(cycles, points, first);
                for slice in (first..=last).skip(1) {
                    handler.count(cycles, 0, slice);
                }
                handler.case(pc, Case::new(cycles, from));
                return;
            }
            Answer::At(outcome) => outcome,
        };
        let moments = [
            (Aspect::Handler, outcome.entered),
            (Aspect::Task, outcome.woken),
            (Aspect::Resume, outcome.resumed),
        ];
        if let Some(verdict) = outcome.verdict {
            self.checked += points;
            if verdict != Verdict::Fine {
                self.failure(pc, Failure { verdict, point: from, points });
            }
        }
        let whole = scale.reach == Reach::Whole;
        for (aspect, at) in moments {
            let wanted = match aspect {
                Aspect::Handler => true,
                Aspect::Task => whole && scale.looks_for_task,
                _ => whole,
            };
            if !wanted {
                continue;
            }
            let found = self.aspects.entry(aspect).or_default();
            let Some(at) = at else {
                found.miss(from, points, outcome.unserved);
                continue;
            };
            for point in from..=to {
                found.count(latency(at, point), 1, scale.slice(point));
            }
            found.case(pc, Case::new(latency(at, from), from));
        }
        let Some(delay) = outcome.delay else { return };
        let found = self.aspects.entry(Aspect::Delay).or_default();
        match delay {
            Ok(delay) => {
                for point in from..=to {
                    found.count(delay, 1, scale.slice(point));
                }
                found.case(pc, Case::new(delay, from));
            }
            Err(why) => found.miss(from, points, Some(why)),
        }
    }

    /// Adds the answers of one of two interrupts in some pairs of moments. `case` is the worst of the
    /// pairs, apart from its cycles. In the plot all of them extend to `last`.
    #[expect(clippy::too_many_arguments, reason = "all arguments together identify the pairs")]
    pub(crate) fn add_pairs(
        &mut self,
        aspect: Aspect,
        served: Result<u64, Unserved>,
        how: Option<Interleaving>,
        case: Case,
        pairs: u64,
        pc: u32,
        last: u64,
    ) {
        let Some(ScaleOfPiece(scale)) = self.scale else { return };
        let all = self.aspects.entry(aspect).or_default();
        let served = match served {
            Ok(served) => served,
            Err(why) => return all.miss(case.point, pairs, Some(why)),
        };
        let cycles = served.cast_signed() - case.point.cast_signed();
        let case = Case { cycles, ..case };
        let slice = scale.slice(case.point.min(last));
        let kind = how.map(|how| self.meetings.entry((how, aspect)).or_default());
        for found in [Some(all), kind].into_iter().flatten() {
            found.count(cycles, pairs, slice);
            found.case(pc, case);
        }
    }

    fn failure(&mut self, pc: u32, failure: Failure) {
        let known = self.failures.entry(pc).or_insert(Failure { points: 0, ..failure });
        let points = known.points + failure.points;
        if failure.point < known.point {
            *known = failure;
        }
        known.points = points;
    }

    pub(crate) fn executed(&mut self, pc: u32) {
        let page = self.code.entry(pc >> 9).or_default();
        page[(pc >> 7 & 3) as usize] |= 1 << (pc >> 1 & 63);
    }

    /// Tells whether the path executed any instruction in an address range; `to` is not part of it.
    pub fn has_executed(&self, from: u32, to: u32) -> bool {
        let from = from & !1;
        let Some(last) = to.checked_sub(1).filter(|last| *last >= from) else { return false };
        // In halfwords: a page has four words of 64 bits.
        let (first, last) = (from >> 1, last >> 1);
        self.code.range(first >> 8..=last >> 8).any(|(&page, words)| {
            (page << 8..).step_by(64).zip(words).any(|(begin, word)| {
                let before = first.saturating_sub(begin).min(64);
                let behind = (begin + 63).saturating_sub(last).min(64);
                let wanted = u64::MAX.checked_shl(before).unwrap_or(0)
                    & u64::MAX.checked_shr(behind).unwrap_or(0);
                word & wanted != 0
            })
        })
    }

    /// Adds findings of other pieces of the same path.
    pub fn absorb(&mut self, other: Self) {
        self.points += other.points;
        self.tried += other.tried;
        self.followed += other.followed;
        self.pairs += other.pairs;
        for (how, found) in other.meetings {
            self.meetings.entry(how).or_default().absorb(found);
        }
        for (aspect, found) in other.aspects {
            self.aspects.entry(aspect).or_default().absorb(found);
        }
        self.held.absorb(other.held);
        for (page, bits) in other.code {
            let known = self.code.entry(page).or_default();
            known.iter_mut().zip(bits).for_each(|(known, bits)| *known |= bits);
        }
        self.checked += other.checked;
        for (pc, failure) in other.failures {
            self.failure(pc, failure);
        }
        self.pieces.extend(other.pieces);
    }

    /// Returns the distribution of an aspect, if there is one.
    pub fn aspect(&self, aspect: Aspect) -> Option<&Latencies> {
        self.aspects.get(&aspect).filter(|found| !found.counts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executed_addresses_are_found_in_any_range() {
        let mut findings = Findings::default();
        let executed = [0x0800_0000_u32, 0x0800_007E, 0x0800_0080, 0x0800_03FE, 0x2000_0400];
        for pc in executed {
            findings.executed(pc);
        }
        let edges = executed.iter().flat_map(|pc| pc - 2..pc + 4).chain([0, 0x0800_0200, u32::MAX]);
        let edges: Vec<u32> = edges.collect();
        for from in &edges {
            for to in &edges {
                let among = executed.iter().any(|pc| (from & !1..*to).contains(pc));
                assert_eq!(findings.has_executed(*from, *to), among, "{from:#x} to {to:#x}");
            }
        }
    }

    /// A hundred points: ninety of 10 cycles, nine of 20, one of 50.
    fn hundred() -> Latencies {
        let counts = BTreeMap::from([(10, 90), (20, 9), (50, 1)]);
        Latencies { counts, ..Latencies::default() }
    }

    #[test]
    fn quantiles_are_values_of_the_sorted_points() {
        let found = hundred();
        // The value at place ceil(100 part) of the sorted points, counted from one.
        for (part, value) in
            [(0.0, 10), (0.5, 10), (0.9, 10), (0.901, 20), (0.99, 20), (0.991, 50), (1.0, 50)]
        {
            assert_eq!(found.quantile(part), Some(value), "{part}");
        }
        assert_eq!((found.points(), found.least()), (100, Some(10)));
        let mean = found.mean().expect("it has points");
        assert!((mean - 11.3).abs() < 1e-12, "(900 + 180 + 50) / 100, not {mean}");
    }

    #[test]
    fn the_chance_of_meeting_the_worst_is_that_of_one_hit_among_independent_draws() {
        let chance = |draws| hundred().chance_of_worst(draws).expect("it has points");
        // 1 - 0.99^n
        for (draws, expected) in [(1, 0.01), (2, 0.0199), (100, 0.633_967_658_726_77)] {
            assert!((chance(draws) - expected).abs() < 1e-12, "{draws}: {}", chance(draws));
        }
    }

    #[test]
    fn no_points_have_no_distribution() {
        let none = Latencies::default();
        assert_eq!((none.points(), none.least(), none.quantile(0.5)), (0, None, None));
        assert_eq!((none.mean(), none.chance_of_worst(1), none.worst()), (None, None, None));
        let mut findings = Findings::default();
        findings.aspects.insert(Aspect::Task, Latencies { missing: 1, ..none });
        findings.aspects.insert(Aspect::Handler, hundred());
        assert_eq!(findings.aspect(Aspect::Task), None);
        assert_eq!(findings.aspect(Aspect::Handler), Some(&hundred()));
    }

    #[test]
    fn worst_places_are_the_worst_first_and_the_earliest_among_equals() {
        let mut found = Latencies::default();
        for (pc, cycles, point) in
            [(0x10, 7, 30), (0x10, 9, 50), (0x10, 9, 40), (0x20, 12, 90), (0x30, 9, 10)]
        {
            found.case(pc, Case::new(cycles, point));
        }
        let expected = [(0x20, (12, 90)), (0x30, (9, 10)), (0x10, (9, 40))];
        let expected = expected.map(|(pc, (cycles, point))| (pc, Case::new(cycles, point)));
        assert_eq!(found.worst_places(), expected);
        assert_eq!(found.worst(), Some(expected[0].1));
        found.cases.remove(&0x20);
        assert_eq!(found.worst(), Some(expected[1].1));
    }

    #[test]
    fn distributions_of_parts_add_up_in_any_order() {
        let late = Some(Unserved::Late);
        let mut one = Latencies::default();
        one.count(10, 3, 0);
        one.count(14, 1, 1);
        one.miss(70, 2, late);
        let mut other = Latencies::default();
        other.count(10, 4, 1);
        other.miss(30, 5, late);
        other.miss(90, 1, Some(Unserved::Ended(None)));
        let mut joined = one.clone();
        joined.absorb(other.clone());
        other.absorb(one);
        assert_eq!(joined, other);
        assert_eq!(joined.counts, BTreeMap::from([(10, 7), (14, 1)]));
        let unserved = [(Unserved::Ended(None), 1), (Unserved::Late, 7)];
        assert_eq!(joined.unserved, BTreeMap::from(unserved));
        assert_eq!((joined.missing, joined.first_missing), (8, Some(30)));
        let slices = [(0, (10, 10)), (1, (10, 14))];
        let slices = slices.map(|(at, (least, most))| (at, Slice { least, most }));
        assert_eq!(joined.slices, BTreeMap::from(slices));
    }

    #[test]
    fn failures_of_parts_keep_the_first_and_count_all() {
        let mut findings = Findings::default();
        for (point, points, status) in [(50, 2, 2), (30, 1, 1), (40, 4, 3)] {
            let failure = Failure { verdict: Verdict::Status(status), point, points };
            let mut part = Findings { checked: points, ..Findings::default() };
            part.failures.insert(0x10, failure);
            findings.absorb(part);
        }
        let first = Failure { verdict: Verdict::Status(1), point: 30, points: 7 };
        assert_eq!((findings.checked, &findings.failures[&0x10]), (7, &first));
    }
}
