//! The decode stage: whether its instruction may go on.

use super::{Pipeline, Piping, Step, Unit, has};

impl Pipeline {
    pub(super) fn empty(&mut self) {
        self.flush_queue();
        self.emptied = true;
        self.head = 0;
    }

    pub(super) fn may_pipe(&self, next: &Step, skipped: bool, folds: bool) -> Piping {
        let Some(pre) = self.piped.as_ref().or(self.main.as_ref()).or(self.last.as_ref()) else {
            return Piping::No;
        };
        if !pre.is_transfer() {
            return Piping::No;
        }
        let unaligned = self.unaligned_now;
        // `unaligned_now` was set in the cycle before; the transfer's own first data cycle blocks.
        let open = if self.data_advanced && self.data_data.is_some_and(|data| data.unaligned) {
            false
        } else if unaligned {
            true
        } else {
            self.data_advanced
                || (self.data_ready && self.data_data.is_none() && self.data_address.is_none())
        };
        if !open || matches!(pre.step.unit, Unit::LoadMany | Unit::StoreMany) {
            return Piping::No;
        }
        let store = pre.step.unit == Unit::Store;
        let nop = next.unit == Unit::Nop;
        let idle = nop || skipped;
        let next_transfer = next.is_transfer();
        let late = self.main.is_none();
        let stack = pre.step.first == 13 || pre.step.first == 15 || pre.step.unit == Unit::Table;
        let writeback = pre.step.is(has::WRITEBACK);
        let indexed = pre.step.is(has::INDEXED);
        let before = (store && (writeback || indexed)) || (!store && stack);
        let after = !next_transfer
            || matches!(next.unit, Unit::LoadMany | Unit::StoreMany | Unit::Table)
            || next.is(has::WRITEBACK)
            || next.address & pre.dirty != 0;
        let blocked = before || after;
        let gated = next_transfer && late;
        if (!nop && store && indexed)
            || (store && writeback && unaligned)
            || (!gated && blocked && folds)
            || (gated && idle && store && after && stack)
            || (late && idle && store && !next_transfer && stack)
        {
            return Piping::No;
        }
        if idle && !nop && store && late {
            return if self.idle { Piping::No } else { Piping::Late };
        }
        if (stack || !idle) && blocked {
            return Piping::No;
        }
        Piping::Yes
    }

    pub(super) fn ready(&self, next: &Step, skipped: bool, folds: bool) -> bool {
        if self.piped.is_some() {
            return false;
        }
        let Some(main) = &self.main else { return true };
        if !skipped && next.is(has::MLA) && !main.is_skipped() {
            let addend = next.high;
            let clear = next.factors & (1 << addend) == 0;
            if main.step.is(has::MULL)
                && main.step.high == addend
                && clear
                && main.cycle + 1 == main.cycles()
            {
                return true;
            }
            if main.step.is(has::MLA)
                && main.was_piped
                && !main.done
                && self.last.is_some_and(|last| last.step.is(has::MULL))
                && main.step.first == addend
                && clear
            {
                return true;
            }
        }
        self.may_pipe(next, skipped, folds) == Piping::Yes
    }
}
