//! The execute stage.

use super::{Executing, Pipeline, Unit, has};

impl Pipeline {
    /// One cycle of an instruction; answers whether the decode stage is to forget its own.
    pub(super) fn execute(
        &mut self,
        at: &mut Executing,
        pc: u32,
        jump: &mut Option<u32>,
        disable: &mut bool,
    ) -> bool {
        let first = at.cycle == 0;
        if at.is_skipped() {
            at.next_dirty = 0;
            at.done = true;
            return false;
        }
        let step = at.step;
        match step.unit {
            Unit::Alu | Unit::Nop => {
                at.next_dirty = 0;
                at.done = true;
                false
            }
            Unit::Long => {
                let last = at.cycles() - 1;
                if step.is(has::MULL | has::MLAL) && at.cycle + 1 == last {
                    at.next_dirty &= !(1 << step.low);
                }
                if at.cycle >= last {
                    at.next_dirty = 0;
                    at.done = true;
                }
                false
            }
            Unit::Branch | Unit::Conditional | Unit::Return | Unit::Late | Unit::Barrier => {
                at.next_dirty = 0;
                at.done = true;
                if !at.facts.taken && step.unit != Unit::Barrier {
                    return false;
                }
                if at.table == 1 || matches!(step.unit, Unit::Late | Unit::Barrier) {
                    *jump = Some(pc);
                }
                true
            }
            Unit::Computed => {
                at.next_dirty = 0;
                at.done = true;
                *disable = true;
                self.delayed = Some(pc);
                true
            }
            Unit::Table => {
                if first {
                    *disable = true;
                    self.data_address = Some(at.transfer(self.slow.line_bytes));
                    at.table = 0;
                } else if at.table == 1 {
                    at.table = 2;
                } else if at.table == 2 {
                    at.next_dirty = 0;
                    at.done = true;
                    *jump = Some(pc);
                }
                true
            }
            Unit::Load | Unit::Store => {
                if first {
                    if step.is(has::TO_PC) {
                        *disable = true;
                    }
                    self.data_address = Some(at.transfer(self.slow.line_bytes));
                }
                step.is(has::TO_PC)
            }
            Unit::LoadMany | Unit::StoreMany => {
                if first {
                    if step.is(has::TO_PC) {
                        *disable = true;
                    }
                    if step.is(has::WRITEBACK) {
                        at.next_dirty &= !step.address;
                    }
                }
                if self.data_address.is_none() && at.issued < at.step.words {
                    at.issued += 1;
                    self.data_address = Some(at.transfer(self.slow.line_bytes));
                }
                step.is(has::TO_PC)
            }
        }
    }
}
