//! Lookahead: how long fetches from a memory will make the core wait, and how they change the
//! memory.
//!
//! Both depend on the state of the memory: on the line in its read buffer, on the line that it
//! reads ahead, and on some of the lines that it caches. In the same state, the same fetches have
//! the same outcome. The engine's fetch plans are built on this.

use super::{LineMemory, Prefetch};
use crate::timing::flash::cache::{
    CacheCondition, CacheUse, FewLines, LineCache, LineCondition, LineInserted,
};

/// The part of a memory's state that fetching code depends on.
#[derive(Debug)]
pub struct FetchState {
    mode: u32,
    buffered: u32,
    ahead: u32,
    /// The greatest and least number of cycles until the line ahead is ready for which fetches have
    /// the same outcome.
    pub(super) most: u64,
    pub(super) least: u64,
    kept: CacheCondition,
}

/// A memory's change since the lookahead began.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub buffered: u32,
    /// The lines of a cache of few.
    pub few: FewLines,
    /// The line that the memory has begun to read ahead, and the cycles until it is ready, counted
    /// from the beginning of the lookahead.
    pub ahead: Option<(u32, u64)>,
    /// The cycles that the core has waited.
    pub waited: u64,
}

/// A memory with its next fetches simulated in advance, and the conditions that they depend on.
#[derive(Debug)]
pub struct Lookahead {
    before: LineMemory,
    memory: LineMemory,
    began: u64,
    /// The `most` and `least` of [`FetchState`], which fetches determine while `is_open`.
    left: (u64, u64),
    is_open: bool,
    /// Whether the memory has begun to read another line ahead, be it the first one again in the end.
    reads_on: bool,
    needs: Vec<LineCondition>,
    few: FewLines,
}

impl LineMemory {
    /// Returns whether fetches make the core wait and depend only on what [`FetchState`] holds.
    #[inline(always)]
    pub const fn can_look_ahead(&self) -> bool {
        !self.fetches_without_wait() && !self.uses_shared && !self.has_bursts()
    }

    /// Returns whether the memory is in this state.
    #[inline(always)]
    pub fn matches(&self, fetch_state: &FetchState, now: u64) -> bool {
        let left = self.prefetch.ready.saturating_sub(now);
        self.prefetch.line == fetch_state.ahead
            && self.buffered == fetch_state.buffered
            && self.mode == fetch_state.mode
            && fetch_state.least <= left
            && left <= fetch_state.most
            && fetch_state.kept.holds(&self.instructions)
    }

    /// Gives the cached lines a number, if that saves time.
    #[inline(always)]
    pub fn number(&mut self, next: impl FnOnce() -> u64) {
        self.instructions.number(next);
    }

    /// Returns the cached lines of code.
    #[inline(always)]
    pub const fn cached_code(&self) -> &LineCache {
        &self.instructions
    }

    /// Begins a lookahead at the memory's fetches from cycle `now` on.
    pub fn look_ahead(&self, now: u64) -> Lookahead {
        Lookahead {
            before: self.clone(),
            memory: self.clone(),
            began: now,
            left: (u64::MAX, 0),
            is_open: true,
            reads_on: false,
            needs: Vec::new(),
            few: self.instructions.few(),
        }
    }

    /// Brings the memory to a state that a lookahead has found. `used` are the positions of cached
    /// lines used since the previous point of the same lookahead, up to which the core has waited
    /// `waited` cycles; the fetches began in cycle `began`.
    #[inline(always)]
    pub fn restore(&mut self, change: &Change, waited: u64, used: &[u8], began: u64) {
        self.buffered = change.buffered;
        self.instructions.follow(change.few, used);
        if let Some((line, ready)) = change.ahead {
            self.prefetch = Prefetch { line, ready: began + ready };
        }
        self.waited += change.waited - waited;
    }
}

impl Lookahead {
    /// Begins to execute from a line of the memory. Returns the cycles that the core waits, and the
    /// position of the cached line that this uses, in a cache of many lines.
    ///
    /// # Errors
    ///
    /// Fails when a line enters a cache of many lines, which a lookahead does not cover.
    pub fn enter(&mut self, line: u32, now: u64) -> Result<(u64, Option<u8>), LineInserted> {
        let Self { memory, before, .. } = self;
        let kept = memory.instructions.clone();
        let is_ahead = memory.reads_ahead(line);
        if memory.keeps_instructions {
            let asks = !is_ahead && memory.buffered != line;
            self.needs.extend(asks.then(|| kept.condition_for(line)).flatten());
            self.needs.extend(kept.presence_condition(line + 1).filter(|_| memory.prefetches));
        }
        let waits = memory.enter(line, now);
        if is_ahead && self.is_open {
            let left = before.prefetch.ready.saturating_sub(self.began);
            self.left = if waits == 0 { (now - self.began, 0) } else { (left, left) };
        }
        self.reads_on |= memory.prefetch != before.prefetch;
        self.is_open &= !self.reads_on && !is_ahead;
        match memory.instructions.used_since(&kept)? {
            CacheUse::Few(few) => {
                self.few = few;
                Ok((waits, None))
            }
            CacheUse::One(used) => Ok((waits, used)),
        }
    }

    /// Reads data, and returns the cycles that the core waits, whenever that is.
    pub fn read(&mut self, offset: u32) -> u64 {
        self.memory.read(offset, self.began)
    }

    /// Returns the memory in its state after the fetches so far.
    pub const fn memory(&self) -> &LineMemory {
        &self.memory
    }

    /// Returns the memory's change so far.
    pub fn change(&self) -> Change {
        let Self { before, memory, began, reads_on, .. } = self;
        let Prefetch { line, ready } = memory.prefetch;
        Change {
            buffered: memory.buffered,
            few: self.few,
            ahead: reads_on.then(|| (line, ready.wrapping_sub(*began))),
            waited: memory.waited - before.waited,
        }
    }

    /// Returns the state that the memory must be in at the beginning for the same outcome.
    pub fn fetch_state(self) -> FetchState {
        let Self { before, left: (most, least), needs, .. } = self;
        FetchState {
            mode: before.mode,
            buffered: before.buffered,
            ahead: before.prefetch.line,
            most,
            least,
            kept: before.instructions.condition(needs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::MemoryTiming;
    use crate::timing::flash::{Setting, Switch};

    /// Marsaglia's xorshift64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u32) -> u32 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 20) as u32 % end
        }

        fn is_on(&mut self) -> Switch {
            if self.below(2) == 0 { Switch::On } else { Switch::Off }
        }
    }

    #[derive(Clone, Copy)]
    enum Step {
        Enter(u32),
        Read(u32),
    }

    /// What a block does, each step with the cycles before it: lines in their order, now and then a jump, and
    /// constants near the code.
    fn path(random: &mut Random) -> Vec<(Step, u64)> {
        let mut line = random.below(10);
        let steps = (0..2 + random.below(5)).map(|_| {
            let step = match random.below(8) {
                0 => Step::Read(16 * (line + random.below(2))),
                1 => {
                    line = random.below(10);
                    Step::Enter(line)
                }
                _ => {
                    line += 1;
                    Step::Enter(line)
                }
            };
            (step, random.below(5).into())
        });
        steps.collect()
    }

    /// Does all of that one after the other, and returns how long the core waits for each.
    fn go(memory: &mut LineMemory, path: &[(Step, u64)], mut now: u64) -> Vec<u64> {
        let waits = path.iter().map(|&(step, before)| {
            now += before;
            let waits = match step {
                Step::Enter(line) => memory.enter(line, now),
                Step::Read(offset) => memory.read(offset, now),
            };
            now += waits;
            waits
        });
        waits.collect()
    }

    struct Plan {
        of: usize,
        fetch_state: FetchState,
        waits: Vec<u64>,
        /// The change after each step, and the positions of the lines used by then.
        points: Vec<(Change, usize)>,
        used: Vec<u8>,
    }

    fn plan(memory: &LineMemory, of: usize, path: &[(Step, u64)], began: u64) -> Option<Plan> {
        let mut ahead = memory.look_ahead(began);
        let (mut waits, mut points, mut used) = (Vec::new(), Vec::new(), Vec::new());
        let mut now = began;
        for &(step, before) in path {
            now += before;
            let waited = match step {
                Step::Enter(line) => {
                    let (waited, place) = ahead.enter(line, now).ok()?;
                    used.extend(place);
                    waited
                }
                Step::Read(offset) => ahead.read(offset),
            };
            now += waited;
            waits.push(waited);
            points.push((ahead.change(), used.len()));
        }
        Some(Plan { of, fetch_state: ahead.fetch_state(), waits, points, used })
    }

    /// How often a plan was followed in a run of a memory with so many cached lines.
    fn follow_plans(instruction_lines: u8, random: &mut Random) -> u32 {
        let mut memory = LineMemory::new(MemoryTiming {
            wait_states: 1 + random.below(4) as u8,
            line_bytes: 16,
            prefetch: random.below(4) > 0,
            instruction_lines,
            ..MemoryTiming::default()
        });
        let paths: Vec<_> = (0..3).map(|_| path(random)).collect();
        let mut plans: Vec<Plan> = Vec::new();
        let (mut now, mut numbers, mut followed) = (0, 0, 0);
        for _ in 0..200 {
            match random.below(60) {
                0 => memory.set(Setting::Prefetch(random.is_on())),
                1 => memory.set(Setting::InstructionCache(random.is_on())),
                2 => memory.set(Setting::WaitStates(1 + random.below(4) as u8)),
                3 => memory.set(Setting::EmptyInstructionCache),
                _ => now += u64::from(random.below(3)),
            }
            memory.number(|| {
                numbers += 1;
                numbers
            });
            let of = random.below(3) as usize;
            let mut plainly = memory.clone();
            let waits = go(&mut plainly, &paths[of], now);
            let known = |plan: &&Plan| plan.of == of && memory.matches(&plan.fetch_state, now);
            if let Some(known) = plans.iter().find(known) {
                assert_eq!(known.waits, waits);
                // At once, or with a stop on the way.
                let (last, stop) = (waits.len() - 1, random.below(waits.len() as u32) as usize);
                let mut stood = (0, 0);
                for at in [stop, last] {
                    let (change, used) = known.points[at];
                    memory.restore(&change, stood.0, &known.used[stood.1..used], now);
                    stood = (change.waited, used);
                }
                followed += 1;
            } else {
                if let Some(plan) = plan(&memory, of, &paths[of], now) {
                    assert_eq!(plan.waits, waits);
                    assert!(memory.matches(&plan.fetch_state, now), "the state it was made in");
                    plans.push(plan);
                }
                go(&mut memory, &paths[of], now);
            }
            assert!(memory == plainly, "{instruction_lines} lines, path {of} in cycle {now}");
            now += waits.iter().sum::<u64>() + paths[of].iter().map(|step| step.1).sum::<u64>();
        }
        followed
    }

    /// What holds for fetch plans holds for every plan: in the state that a lookahead names, the same fetches
    /// make the core wait as long, and leave the memory as the lookahead says.
    #[test]
    fn in_the_same_state_fetches_have_the_same_outcome() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for instruction_lines in [0, 1, 2, 3, 6, 64] {
            let followed: u32 = (0..60).map(|_| follow_plans(instruction_lines, &mut random)).sum();
            assert!(followed > 2_000, "{instruction_lines} lines: {followed} of 12000");
        }
    }

    #[test]
    fn only_memories_whose_fetches_wait_look_ahead() {
        let can = |wait_states, cache_lines| {
            let timing = MemoryTiming { wait_states, line_bytes: 16, ..MemoryTiming::default() };
            LineMemory::new(MemoryTiming { cache_lines, cache_ways: 1, ..timing }).can_look_ahead()
        };
        // What a cache of code and data holds depends on data, too.
        assert_eq!([can(0, 0), can(3, 0), can(3, 4)], [false, true, false]);
    }
}
