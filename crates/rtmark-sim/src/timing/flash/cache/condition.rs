//! What has to be true of the lines that are kept for fetches to come to the same again.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{FEW, FewLines, LineCache, ManyLines, NO_LINE};

/// What has to be true of the cached lines for fetches to go as a lookahead has found.
#[derive(Debug)]
pub enum CacheCondition {
    /// These are the contents.
    Few(FewLines),
    /// Some lines are there, or are not.
    Many { needs: Box<[Need]>, verdict: Verdict },
}

/// What is needed of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    line: u32,
    place: Place,
}

/// Where a line is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    At(u8),
    Anywhere,
    Nowhere,
}

impl Need {
    fn is_met(self, kept: &ManyLines) -> bool {
        match (self.place, kept.position(self.line)) {
            (Place::At(wanted), Some(at)) => at == usize::from(wanted),
            (Place::At(_), None) => false,
            (Place::Anywhere, at) => at.is_some(),
            (Place::Nowhere, at) => at.is_none(),
        }
    }
}

/// The contents for which a condition was last found to hold, and to fail, by their numbers.
/// Machines that share code share it: whoever else looks meanwhile has to look closer again.
#[derive(Debug, Default)]
pub struct Verdict {
    holds: AtomicU64,
    fails: AtomicU64,
}

impl CacheCondition {
    /// Whether it holds.
    #[inline(always)]
    pub fn holds(&self, kept: &LineCache) -> bool {
        match (self, kept) {
            (Self::Few(few), LineCache::Few(kept)) => few.lines == kept.lines,
            (Self::Many { needs, verdict }, LineCache::Many(kept)) => {
                kept.number != 0 && verdict.holds.load(Ordering::Relaxed) == kept.number
                    || verdict.find(kept, needs)
            }
            _ => false,
        }
    }
}

impl Verdict {
    #[inline(never)]
    fn find(&self, kept: &ManyLines, needs: &[Need]) -> bool {
        let number = kept.number;
        if number != 0 && self.fails.load(Ordering::Relaxed) == number {
            return false;
        }
        let holds = needs.iter().all(|need| need.is_met(kept));
        if number != 0 {
            let verdict = if holds { &self.holds } else { &self.fails };
            verdict.store(number, Ordering::Relaxed);
        }
        holds
    }
}

/// What has become of the lines that are kept.
#[derive(Clone, Copy, Debug)]
pub enum Used {
    /// All of a few lines.
    Few(FewLines),
    /// The place of the one that was used of many.
    One(Option<u8>),
}

/// A line has come to many others, which is more than a lookahead tells.
#[derive(Clone, Copy, Debug)]
pub struct LineCame;

impl LineCache {
    /// Gives many lines a number, unless they have one or have only just become those that they
    /// are.
    pub fn number(&mut self, next: impl FnOnce() -> u64) {
        if let Self::Many(many) = self
            && many.number == 0
            && many.uses - many.came >= CALM
        {
            many.number = next();
        }
    }

    /// What is needed for a line to be found, or missed, as it is now; of few lines nothing but
    /// all of them.
    pub fn needs(&self, line: u32) -> Option<Need> {
        let Self::Many(many) = self else { return None };
        let place = many.position(line).map_or(Place::Nowhere, |at| Place::At(at as u8));
        Some(Need { line, place })
    }

    /// What is asked of a line of which only that it is there matters.
    pub fn needs_anywhere(&self, line: u32) -> Option<Need> {
        let need = self.needs(line)?;
        let place = if need.place == Place::Nowhere { Place::Nowhere } else { Place::Anywhere };
        Some(Need { line, place })
    }

    /// Few lines; none of many.
    pub fn few(&self) -> FewLines {
        match self {
            Self::Few(few) => *few,
            Self::Many(_) => FewLines { lines: [NO_LINE; FEW], capacity: 0 },
        }
    }

    /// The condition that these needs are met, with few lines that all lines are as they are now.
    pub fn condition(&self, needs: Vec<Need>) -> CacheCondition {
        match self {
            Self::Few(few) => CacheCondition::Few(*few),
            Self::Many(_) => {
                CacheCondition::Many { needs: needs.into(), verdict: Verdict::default() }
            }
        }
    }

    /// What has become of the lines since they were as `before`, by one fetch.
    pub fn used_since(&self, before: &Self) -> Result<Used, LineCame> {
        match (self, before) {
            (Self::Few(few), _) => Ok(Used::Few(*few)),
            (Self::Many(many), Self::Many(before)) if many.came == before.came => {
                let used = many.last_uses.iter().position(|&last| last == many.uses);
                Ok(Used::One(used.filter(|_| many.uses != before.uses).map(|at| at as u8)))
            }
            _ => Err(LineCame),
        }
    }

    /// Has become like this, and of many lines some have been used.
    #[inline(always)]
    pub fn follow(&mut self, few: FewLines, used: &[u8]) {
        match self {
            Self::Few(kept) => *kept = few,
            Self::Many(many) => used.iter().for_each(|&at| many.note_use(at)),
        }
    }
}

/// Uses of many lines since the last one came, after which a number saves more than it takes.
const CALM: u64 = 64;
