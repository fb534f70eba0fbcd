//! Lookahead: how long fetches from a memory will make the core wait, and how they change the
//! memory.
//!
//! Both depend on the state of the memory: on the line in its read buffer, on the line that it
//! reads ahead, and on some of the lines that it caches. In the same state, the same fetches have
//! the same outcome. The engine's fetch plans are built on this.

use super::{LineMemory, Prefetch};
use crate::timing::flash::cache::{
    CacheCondition, CacheUse, FewLines, LineCondition, LineInserted,
};

/// The part of a memory's state that fetching code depends on.
#[derive(Debug)]
pub struct FetchState {
    mode: u32,
    buffered: u32,
    ahead: u32,
    /// The greatest and least number of cycles until the line ahead is ready for which fetches have
    /// the same outcome.
    most: u64,
    least: u64,
    kept: CacheCondition,
}

/// A memory's change since the lookahead began.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    buffered: u32,
    few: FewLines,
    /// The line that the memory has begun to read ahead, and the cycles until it is ready, counted
    /// from the beginning of the lookahead.
    ahead: Option<(u32, u64)>,
    /// The cycles that the core has waited.
    waited: u64,
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
    needs: Vec<LineCondition>,
    few: FewLines,
}

impl LineMemory {
    /// Returns whether fetches make the core wait and depend only on what [`FetchState`] holds.
    #[inline(always)]
    pub const fn can_look_ahead(&self) -> bool {
        !self.fetches_without_wait() && !self.uses_shared
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
    pub fn number(&mut self, next: impl FnOnce() -> u64) {
        self.instructions.number(next);
    }

    /// Begins a lookahead at the memory's fetches from cycle `now` on.
    pub fn look_ahead(&self, now: u64) -> Lookahead {
        Lookahead {
            before: self.clone(),
            memory: self.clone(),
            began: now,
            left: (u64::MAX, 0),
            is_open: true,
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

impl Change {
    /// Returns the cycles that the core has waited.
    pub const fn waited(&self) -> u64 {
        self.waited
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
        self.is_open &= memory.prefetch == before.prefetch && !is_ahead;
        match memory.instructions.used_since(&kept)? {
            CacheUse::Few(few) => {
                self.few = few;
                Ok((waits, None))
            }
            CacheUse::One(used) => Ok((waits, used)),
        }
    }

    /// Reads data, and returns the cycles that the core waits.
    pub fn read(&mut self, offset: u32) -> u64 {
        self.memory.read(offset)
    }

    /// Returns the memory in its state after the fetches so far.
    pub const fn memory(&self) -> &LineMemory {
        &self.memory
    }

    /// Returns the memory's change so far.
    pub fn change(&self) -> Change {
        let Self { before, memory, began, .. } = self;
        let Prefetch { line, ready } = memory.prefetch;
        Change {
            buffered: memory.buffered,
            few: self.few,
            ahead: (memory.prefetch != before.prefetch).then(|| (line, ready.wrapping_sub(*began))),
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
