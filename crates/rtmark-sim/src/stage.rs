//! The pipeline of a core that is modelled cycle by cycle, as the machine drives it.
//!
//! Instructions enter the execute stage one after the other, and what each costs is known
//! when the next one enters ([`crate::timing::pace`]). Here the machine tells what only
//! execution shows: conditions, waits of memories, accesses in parts, slow operations,
//! and when the pipeline runs empty or begins anew. Other cores pass by.

use crate::bus::Place;
use crate::isa::{Slot, is_wide};
use crate::machine::{Machine, Progress};
use crate::timing::pace::{self, CONDITIONAL, ENTERED, Incoming, SKIPPED, TAKEN};
use crate::timing::pipeline::Condition;

impl Machine {
    /// Waits for a memory that takes longer than the core to answer a data access.
    #[inline(always)]
    pub(crate) fn wait_for_data(&mut self, place: Place) {
        let waits = self.lines[place.memory].read(place.offset);
        if waits > 0 && self.rules.describe.is_some() {
            let (word, rest) = pace::with_waits(self.word, waits);
            self.word = word;
            self.cycles += rest;
        } else {
            self.cycles += waits;
        }
    }

    /// An access that is not aligned goes over the bus in parts (DDI 0337, 12.7).
    pub(crate) fn pass_in_parts(&mut self, address: u32, size: u32) {
        let parts = if size == 4 && address & 1 != 0 { 2 } else { 1 };
        self.word = pace::with_parts(self.word, parts);
    }

    /// The instruction stays in the execute stage for longer than usual.
    #[inline(always)]
    pub(crate) fn take_longer(&self, at: &mut Progress, cycles: u8) {
        if self.rules.describe.is_some() {
            at.word = pace::with_longer(at.word, cycles);
        } else {
            at.cycles += u64::from(cycles);
        }
    }

    /// Lets the next instruction enter the execute stage, unless something else is due
    /// before it does: then it waits there.
    #[inline(always)]
    pub(crate) fn enter(&mut self, slot: &Slot, at: &mut Progress) -> bool {
        if slot.is_special() && slot.it != 0 {
            let skipped = !self.cpu.may_execute(slot.it);
            at.word |= if skipped { CONDITIONAL | SKIPPED } else { CONDITIONAL };
        }
        let key = u64::from(at.pc) << 32 | u64::from(at.word);
        let entered = self.pace.recent(at.pc);
        if entered.key != key {
            return self.enter_slowly(at);
        }
        at.cycles += u64::from(entered.cost);
        at.word = entered.word;
        if at.cycles >= self.deadline {
            at.word |= ENTERED;
            return false;
        }
        true
    }

    #[inline(always)]
    fn enter_slowly(&mut self, at: &mut Progress) -> bool {
        self.aside(at, Self::enter_unknown)
    }

    #[inline(never)]
    fn enter_unknown(&mut self) -> bool {
        if self.word & ENTERED != 0 {
            self.word &= !ENTERED;
            return true;
        }
        self.enter_under(Condition::None);
        if self.cycles >= self.deadline {
            self.word |= ENTERED;
            return false;
        }
        true
    }

    /// Lets the next instruction enter the execute stage, wherever it is from.
    pub(crate) fn enter_under(&mut self, condition: Condition) {
        let Some(describe) = self.rules.describe else {
            return;
        };
        if self.word & ENTERED != 0 {
            self.word &= !ENTERED;
            return;
        }
        let pc = self.cpu.pc;
        if self.word & TAKEN != 0 {
            let mut first = [0; 2];
            self.bus.peek(pc, &mut first);
            let size = if is_wide(u16::from_le_bytes(first)) { 4 } else { 2 };
            self.within(|machine, at| machine.fetch(at, size));
        }
        let word = pace::with_condition(self.word, condition);
        let (decoder, bus) = (&self.code.decoder, &self.bus);
        let entered = self.pace.enter(pc, word, || {
            let slot = decoder.decode(bus, pc).unwrap_or(Slot::undefined(2));
            let mut behind = [0; 2];
            bus.peek(pc.wrapping_add(slot.size().into()), &mut behind);
            Incoming {
                step: describe(&slot, u16::from_le_bytes(behind)),
                size: slot.size().into(),
                target: slot.imm,
            }
        });
        self.cycles += u64::from(entered.cost);
        self.word = entered.word;
    }

    /// The place of the next instruction in an IT block.
    pub(crate) fn condition_of_next(&self) -> Condition {
        match self.cpu.it {
            0 => Condition::None,
            it if self.cpu.condition(it >> 4) => Condition::Passed,
            _ => Condition::Failed,
        }
    }

    /// The instruction that has entered is to wait there.
    pub(crate) fn stay(&mut self) {
        if self.rules.describe.is_some() {
            self.word |= ENTERED;
        }
    }

    /// Lets the newest instruction leave the execute stage before an exception.
    pub(crate) fn drain(&mut self) {
        if self.rules.describe.is_some() {
            self.cycles += self.pace.drain(self.word);
        }
    }

    /// Brings the cycle count to where the next instruction enters the execute stage.
    pub(crate) fn reach_next(&mut self) {
        if self.rules.describe.is_some() && self.word & ENTERED == 0 && self.sleeping.is_none() {
            self.enter_under(self.condition_of_next());
            self.word |= ENTERED;
        }
    }

    /// The word of a pipeline that begins to be refilled.
    pub(crate) const fn refilling(&self) -> u32 {
        pace::refilling(!self.system.has_no_write_buffer())
    }

    /// After ACTLR.DISDEFWBUF has been written.
    pub(crate) fn update_write_buffer(&mut self) {
        if self.rules.describe.is_some() {
            self.word = self.pace.with_buffer(self.word, !self.system.has_no_write_buffer());
        }
    }

    /// After an exception has been entered or left, whose figures end with the first
    /// instruction's execution.
    pub(crate) fn refill(&mut self) {
        self.word = self.refilling();
    }
}
