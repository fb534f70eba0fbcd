//! Operations that compiled code rarely executes, kept apart from the frequent ones.

use super::{Flow, Outcome};
use crate::arch::armm::trap::Trap;
use crate::isa::{Group, Op, Slot};
use crate::state::State;

impl State {
    /// Executes an operation that is rare enough in compiled code to be kept apart.
    #[inline(never)]
    pub(super) fn execute_rare(&mut self, slot: &Slot) -> Outcome {
        match slot.op.group() {
            Group::Special if slot.op == Op::Watch => Err(Trap::Watched),
            Group::Security => {
                return self.within(|machine, at| machine.execute_security(slot, at));
            }
            Group::LoadPc | Group::BranchTable => {
                return self.within(|machine, at| machine.execute_branch(slot, at));
            }
            Group::Dual | Group::Ordered | Group::Exclusive => self.execute_memory(slot),
            Group::Load | Group::StoreImmediate => self.execute_unprivileged(slot),
            Group::Hint
            | Group::Wait
            | Group::Barrier
            | Group::SpecialRegister
            | Group::ChangeState
            | Group::Raise => self.execute_system(slot),
            Group::Float
            | Group::FloatMultiplyAdd
            | Group::FloatDivide
            | Group::Double
            | Group::DoubleMultiplyAdd
            | Group::DoubleDivide
            | Group::FloatTransfer
            | Group::FloatMemory
            | Group::FloatState => self.execute_fp(slot),
            _ => Err(Trap::Undefined),
        }
        .map(|()| Flow::Next)
    }
}
