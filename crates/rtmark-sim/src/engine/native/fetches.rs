//! Planned fetches: what the memory must be like before a pass, and how the pass leaves it.
//!
//! Which line a pass leaves in the read buffer, and in which order it leaves a few cached ones, follows from where it
//! ends. So all that need be checked before a pass to which another one is linked is what depends on more than that
//! one: when the line that is being read ahead can be used, and which of many lines are cached.

use crate::engine::cursor::Cursor;
use crate::engine::fetch_plan::PlannedFetches;
use crate::engine::native::assembler::{Alu, Cond, Label, Operand, Reg};
use crate::engine::native::frame;
use crate::engine::native::translator::Translator;
use crate::state::State;
use crate::timing::offsets;

/// What passes rely on that are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetching {
    /// Fetching code may take time, so passes are not linked.
    Unplanned,
    /// Fetching code takes no time, and nothing checks it.
    Immediate,
    /// Each pass begins in the state of the memory in which its fetches were planned.
    Planned { caches_many: bool, caches_many_of_data: bool },
}

impl Fetching {
    pub fn now(state: &State, planned: Option<&PlannedFetches>) -> Self {
        match planned {
            None if state.never_waits_for_code() => Self::Immediate,
            Some(fetches) if are_short(fetches) && state.can_plan_fetches() => {
                let near = state.lines.near();
                Self::Planned {
                    caches_many: near.cached_code().has_many(),
                    caches_many_of_data: near.caches_many_lines_of_data(),
                }
            }
            _ => Self::Unplanned,
        }
    }

    #[inline(always)]
    pub const fn holds(self, state: &State) -> bool {
        match self {
            Self::Unplanned => true,
            Self::Immediate => state.never_waits_for_code(),
            Self::Planned { caches_many, caches_many_of_data } => {
                let near = state.lines.near();
                state.can_plan_fetches()
                    && near.cached_code().has_many() == caches_many
                    && near.caches_many_lines_of_data() == caches_many_of_data
            }
        }
    }

    /// Returns whether passes may be linked.
    pub fn links_passes(self) -> bool {
        self != Self::Unplanned
    }

    pub const fn caches_many(self) -> bool {
        matches!(self, Self::Planned { caches_many: true, .. })
    }

    /// Returns whether lines of data are found among many.
    pub const fn caches_data(self) -> bool {
        matches!(self, Self::Planned { caches_many_of_data: true, .. })
    }

    pub const fn is_planned(self) -> bool {
        matches!(self, Self::Planned { .. })
    }
}

/// Returns whether all numbers of cycles can be operands.
fn are_short(fetches: &PlannedFetches) -> bool {
    let is_short = |cycles: u64| i32::try_from(cycles).is_ok();
    let (least, most) = fetches.state.cycles_to_ready();
    let after = |points| fetches.after(points).map(|point| point.change);
    is_short(least)
        && (most == u64::MAX || is_short(most))
        && (1..=u8::MAX).map_while(after).all(|change| {
            is_short(change.waited) && change.ahead.is_none_or(|(_, ready)| is_short(ready))
        })
}

impl State {
    /// Returns whether no prediction decides where code is fetched, and nothing checks that.
    #[inline(always)]
    const fn fetches_freely(&self) -> bool {
        let near = self.lines.near();
        !self.protected
            && self.line_mask == near.line_mask()
            && !self.slow.exists()
            && !self.rules.predicts_branches
    }

    /// Returns whether fetching code takes no time, no prediction decides where it is fetched, and nothing checks that.
    #[inline(always)]
    pub(super) const fn never_waits_for_code(&self) -> bool {
        let near = self.lines.near();
        self.fetches_freely() && near.fetches_without_wait() && !near.is_behind_core()
    }

    /// Prepares a pass that may follow a plan for native code, which settles the memory at once.
    #[inline(always)]
    pub(super) fn unsettle_memory(&mut self, at: &mut Cursor<'_>) {
        let Some(cursor) = &mut at.plan else { return };
        debug_assert!(cursor.is_on_time(at.from.cycles), "a late pass ends");
        if let Some(point) = cursor.plan.fetches.after(cursor.stood) {
            self.lines.near_mut().unwait(point.change.waited);
            cursor.stood = 0;
        }
    }

    /// Tells native code where the contents of the memory from which code comes are, and what that caches.
    #[inline(always)]
    pub(super) fn expose_code(&mut self, contents: bool, cached_lines: bool) {
        if contents {
            self.chain.code = self.bus.code_bytes().as_ptr().expose_provenance();
        }
        if !cached_lines {
            return;
        }
        let near = self.lines.near_mut();
        let contents = near.cached_code().contents();
        // Without a number nothing is known of them.
        self.chain.contents = if contents == 0 { u64::MAX } else { contents };
        let lines = near.expose_cached();
        (self.chain.code_lines, self.chain.data_lines) = (lines.code, lines.data);
    }

    /// Returns whether fetches wait as planned, and nothing else decides where code is fetched.
    #[inline(always)]
    const fn can_plan_fetches(&self) -> bool {
        self.fetches_freely() && self.lines.near().can_look_ahead()
    }
}

impl Translator<'_> {
    /// Jumps to `late` unless the memory is in the state in which fetches were planned, as far as that does not follow
    /// from the link.
    pub(super) fn check_memory(&mut self, fetches: &PlannedFetches, late: Label) {
        let (least, most) = fetches.state.cycles_to_ready();
        for (bound, is_outside) in [(most, Cond::BELOW), (least, Cond::ABOVE)] {
            if let Ok(bound) = i32::try_from(bound)
                && (bound > 0 || is_outside == Cond::BELOW)
            {
                self.asm.load_wide(Reg::R10, frame::CYCLES);
                self.asm.add_wide(Operand::Reg(Reg::R10), bound as u32);
                self.asm.alu_wide(Alu::Cmp, Reg::R10, frame::READY);
                self.asm.jump_if(is_outside, late);
            }
        }
        if self.fetching.caches_many() {
            let contents = self.exits;
            self.exits += 1;
            self.contents = Some(contents);
            self.asm.load_wide(Reg::R10, frame::CONTENTS);
            self.asm.load_wide(Reg::R11, frame::LINKS);
            self.asm.compare_link(Reg::R10, Reg::R11, contents);
            self.asm.jump_if(Cond::NOT_EQUAL, late);
        }
    }

    /// Brings the memory to its state after so many points.
    pub(super) fn leave_memory(&mut self, fetches: &PlannedFetches, points: u8) {
        let Some(point) = fetches.after(points) else { return };
        let change = &point.change;
        self.asm.store_immediate(frame::LINE, point.line);
        self.asm.store_immediate(frame::BUFFERED, change.buffered);
        if let Some((line, ready)) = change.ahead {
            self.asm.store_immediate(frame::AHEAD, line);
            self.asm.load_wide(Reg::R10, frame::CYCLES);
            self.asm.add_wide(Operand::Reg(Reg::R10), ready as u32);
            self.asm.store_wide(frame::READY, Reg::R10);
        }
        if change.waited > 0 {
            self.asm.add_wide(Operand::Field(frame::WAITED), change.waited as u32);
        }
        if !self.fetching.caches_many() {
            let [latest, other] = change.few.lines;
            self.asm.store_immediate(frame::FEW, latest);
            self.asm.store_immediate(frame::OTHER_OF_FEW, other);
            return;
        }
        let used = fetches.used(None, point);
        if used.is_empty() {
            return;
        }
        self.asm.load_wide(Reg::R10, frame::CODE_LINES);
        self.asm.load_wide_at(Reg::R11, Reg::R10, offsets::USES as u32);
        for &place in used {
            let last_use = offsets::LAST_USES + size_of::<u64>() * usize::from(place);
            self.asm.add_wide(Operand::Reg(Reg::R11), 1);
            self.asm.store_wide_at(Reg::R10, last_use as u32, Reg::R11);
        }
        self.asm.store_wide_at(Reg::R10, offsets::USES as u32, Reg::R11);
    }
}
