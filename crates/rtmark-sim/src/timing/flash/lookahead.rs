//! Lookahead: what fetches from a memory will make the core wait, and make of the memory.
//!
//! That depends on how the memory stands: on the line in its read buffer, on the line that it
//! reads ahead, and on some of the lines that it caches. Where it stands the same again, the
//! same fetches come to the same. The engine's fetch plans are made of this.

use super::{LineMemory, Prefetch};
use crate::timing::flash::cache::{CacheCondition, FewLines, LineCame, Need, Used};

/// How a memory stands, as far as fetching code from it depends on it.
#[derive(Debug)]
pub struct FetchState {
    mode: u32,
    buffered: u32,
    ahead: u32,
    /// The cycles that are left until the line ahead can be used: the most and the least that
    /// make no difference.
    most: u64,
    least: u64,
    kept: CacheCondition,
}

/// How a memory has come to stand, counted from when it stood otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    buffered: u32,
    few: FewLines,
    /// The line that has begun to be read ahead since, and the cycles until it can be used.
    ahead: Option<(u32, u64)>,
    /// The cycles for which the core has been made to wait.
    waited: u64,
}

/// A memory whose next fetches are looked ahead at: what they will wait for, and why.
#[derive(Debug)]
pub struct Lookahead {
    before: LineMemory,
    memory: LineMemory,
    began: u64,
    /// The most and the least of [`FetchState`], while it is open what difference they make.
    left: (u64, u64),
    is_open: bool,
    needs: Vec<Need>,
    few: FewLines,
}

impl LineMemory {
    /// Whether fetches depend on nothing but what [`FetchState`] tells, and make the core wait.
    #[inline(always)]
    pub const fn can_look_ahead(&self) -> bool {
        !self.fetches_at_once() && !self.uses_shared
    }

    /// Whether the memory stands like this.
    #[inline(always)]
    pub fn stands(&self, fetch_state: &FetchState, now: u64) -> bool {
        let left = self.prefetch.ready.saturating_sub(now);
        self.prefetch.line == fetch_state.ahead
            && self.buffered == fetch_state.buffered
            && self.mode == fetch_state.mode
            && fetch_state.least <= left
            && left <= fetch_state.most
            && fetch_state.kept.holds(&self.instructions)
    }

    /// Has the lines that are kept numbered, if that saves something.
    pub fn number(&mut self, next: impl FnOnce() -> u64) {
        self.instructions.number(next);
    }

    /// Foretells what fetches from `now` on make of the memory.
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

    /// Stands as was found by looking ahead, `used` being the kept lines used since it stood as it does, of
    /// which it has `waited` so long.
    #[inline(always)]
    pub fn stand(&mut self, change: &Change, waited: u64, used: &[u8], began: u64) {
        self.buffered = change.buffered;
        self.instructions.follow(change.few, used);
        if let Some((line, ready)) = change.ahead {
            self.prefetch = Prefetch { line, ready: began + ready };
        }
        self.waited += change.waited - waited;
    }
}

impl Change {
    /// The cycles for which the core has been made to wait.
    pub const fn waited(&self) -> u64 {
        self.waited
    }
}

impl Lookahead {
    /// Begins to execute from a line of the memory: the cycles that the core waits, and the
    /// place of a kept line that this uses; an error where a line comes of which that is
    /// more than is looked ahead at.
    pub fn enter(&mut self, line: u32, now: u64) -> Result<(u64, Option<u8>), LineCame> {
        let Self { memory, before, .. } = self;
        let kept = memory.instructions.clone();
        let is_ahead = memory.reads_ahead(line);
        if memory.keeps_instructions {
            let asks = !is_ahead && memory.buffered != line;
            self.needs.extend(asks.then(|| kept.needs(line)).flatten());
            self.needs.extend(kept.needs_anywhere(line + 1).filter(|_| memory.prefetches));
        }
        let waits = memory.enter(line, now);
        if is_ahead && self.is_open {
            let left = before.prefetch.ready.saturating_sub(self.began);
            self.left = if waits == 0 { (now - self.began, 0) } else { (left, left) };
        }
        self.is_open &= memory.prefetch == before.prefetch && !is_ahead;
        match memory.instructions.used_since(&kept)? {
            Used::Few(few) => {
                self.few = few;
                Ok((waits, None))
            }
            Used::One(used) => Ok((waits, used)),
        }
    }

    /// Reads data: the cycles that the core waits.
    pub fn read(&mut self, offset: u32) -> u64 {
        self.memory.read(offset)
    }

    /// The memory as it stands then.
    pub const fn memory(&self) -> &LineMemory {
        &self.memory
    }

    /// What has become of the memory.
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

    /// How the memory has to stand at first.
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
