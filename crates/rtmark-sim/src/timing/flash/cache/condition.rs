//! Conditions on cached lines, under which the same fetches have the same outcome again.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{FewLines, LineCache, ManyLines};

/// The condition on the cached lines under which fetches go as a lookahead has found.
#[derive(Debug)]
pub enum CacheCondition {
    /// The cache has exactly these contents.
    Few(FewLines),
    /// Some lines are cached, and some others are not.
    Many { needs: Box<[LineCondition]>, verdict: ConditionMemo },
}

/// A condition on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCondition {
    line: u32,
    place: Place,
}

/// Where a line has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    At(u8),
    Anywhere,
    Nowhere,
}

impl LineCondition {
    fn is_met(self, kept: &ManyLines) -> bool {
        match (self.place, kept.position(self.line)) {
            (Place::At(wanted), Some(at)) => at == usize::from(wanted),
            (Place::At(_), None) => false,
            (Place::Anywhere, at) => at.is_some(),
            (Place::Nowhere, at) => at.is_none(),
        }
    }
}

/// The numbers of the contents for which a condition was last found to hold, and to fail. Machines
/// that share code share it, so another machine may overwrite a number, after which the condition
/// is checked again.
#[derive(Debug, Default)]
pub struct ConditionMemo {
    holds: AtomicU64,
    fails: AtomicU64,
}

impl CacheCondition {
    /// Returns whether the condition holds.
    #[inline(always)]
    pub fn holds(&self, kept: &LineCache) -> bool {
        match (self, &kept.many) {
            (Self::Few(few), None) => few.lines == kept.few.lines,
            (Self::Many { needs, verdict }, Some(kept)) => {
                kept.number != 0 && verdict.holds.load(Ordering::Relaxed) == kept.number
                    || verdict.find(kept, needs)
            }
            _ => false,
        }
    }
}

impl ConditionMemo {
    #[inline(never)]
    fn find(&self, kept: &ManyLines, needs: &[LineCondition]) -> bool {
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

/// The effect of a fetch on the cached lines.
#[derive(Clone, Copy, Debug)]
pub enum CacheUse {
    /// The new contents of a cache of few lines.
    Few(FewLines),
    /// The position of the line that was used, in a cache of many.
    One(Option<u8>),
}

/// The error when a line enters a cache of many lines, which a lookahead does not cover.
#[derive(Clone, Copy, Debug)]
pub struct LineInserted;

impl LineCache {
    /// Gives the contents of a cache of many lines a number, unless they have one or changed only
    /// recently.
    #[inline(always)]
    pub fn number(&mut self, next: impl FnOnce() -> u64) {
        if let Some(many) = &mut self.many
            && many.number == 0
            && many.uses - many.prediction >= CALM
        {
            many.number = next();
        }
    }

    /// Returns the condition for a line to be found, or missed, as it is now. Returns `None` for a
    /// cache of few lines, whose condition always covers all lines.
    pub fn condition_for(&self, line: u32) -> Option<LineCondition> {
        let many = self.many.as_deref()?;
        let place = many.position(line).map_or(Place::Nowhere, |at| Place::At(at as u8));
        Some(LineCondition { line, place })
    }

    /// Returns the condition for a line of which only its presence matters.
    pub fn presence_condition(&self, line: u32) -> Option<LineCondition> {
        let need = self.condition_for(line)?;
        let place = if need.place == Place::Nowhere { Place::Nowhere } else { Place::Anywhere };
        Some(LineCondition { line, place })
    }

    /// Returns the contents of a cache of few lines, or an empty list for a cache of many.
    pub const fn few(&self) -> FewLines {
        self.few
    }

    /// Returns the condition that these needs are met; with few lines, that the contents are as
    /// they are now.
    pub fn condition(&self, needs: Vec<LineCondition>) -> CacheCondition {
        if self.has_many() {
            CacheCondition::Many { needs: needs.into(), verdict: ConditionMemo::default() }
        } else {
            CacheCondition::Few(self.few)
        }
    }

    /// Returns the effect of one fetch, since the lines were as in `before`.
    ///
    /// # Errors
    ///
    /// Fails when a line has entered a cache of many.
    pub fn used_since(&self, before: &Self) -> Result<CacheUse, LineInserted> {
        match (&self.many, &before.many) {
            (None, _) => Ok(CacheUse::Few(self.few)),
            (Some(many), Some(before)) if many.prediction == before.prediction => {
                let used = many.last_uses.iter().position(|&last| last == many.uses);
                Ok(CacheUse::One(used.filter(|_| many.uses != before.uses).map(|at| at as u8)))
            }
            _ => Err(LineInserted),
        }
    }

    /// Applies the effect of fetches: `few` are the new contents of a cache of few lines; in a
    /// cache of many, the lines at the positions in `used` have been used.
    #[inline(always)]
    pub fn follow(&mut self, few: FewLines, used: &[u8]) {
        match &mut self.many {
            None => self.few = few,
            Some(many) => used.iter().for_each(|&at| many.note_use(at)),
        }
    }
}

/// The number of uses without a new line after which a number saves more time than it takes.
const CALM: u64 = 64;
