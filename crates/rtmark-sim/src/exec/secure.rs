//! What ARMv8-M adds to the core: stack limits, and the instructions of the Security Extension as executed
//! in Secure state (DDI 0553).
//!
//! All memory is Secure, and nothing leaves Secure state. So SG only ends an IT block; BXNS and BLXNS are
//! BX and BLX if the address selects Secure state, and a SecureFault otherwise; and TT finds everything
//! Secure.

#![expect(clippy::unnecessary_wraps, reason = "all bodies of a kind have one signature")]

use super::{Flow, Outcome, Standalone};
use crate::arch::armm::mpu::Purpose;
use crate::arch::armm::trap::Trap;
use crate::isa::{Group, Op, Slot};
use crate::state::State;

/// Bits of TT's result (DDI 0553, D1.2, TT_RESP): the address is Secure, may be written, may be read, and
/// is in the region whose number is in the lowest bits.
const SECURE: u32 = 1 << 22;
const WRITABLE: u32 = 1 << 19;
const READABLE: u32 = 1 << 18;
const IN_REGION: u32 = 1 << 16;

/// Executes an instruction that writes the stack pointer, unless that would take the pointer below its
/// limit; in that case neither registers nor memory change.
///
/// Where write-back moves the pointer up, it is implementation defined whether an old value below the limit
/// faults (DDI 0553, B3.21); here it does.
pub fn guarded(state: &mut State, slot: &Slot) -> Outcome {
    let slot = slot.unguarded();
    let limit = state.stack_limit();
    let (sp, flags) = (state.cpu.r[13], state.cpu.apsr());
    let arithmetic = matches!(slot.op.group(), Group::Immediate | Group::Register | Group::Shifted);
    if !arithmetic && sp.wrapping_sub(stack_decrement(&slot)) < limit {
        return Err(Trap::StackLimit);
    }
    let flow = state.execute_alone(&slot)?;
    if arithmetic && state.cpu.r[13] < limit {
        state.cpu.r[13] = sp;
        state.cpu.set_flags(flags);
        return Err(Trap::StackLimit);
    }
    Ok(flow)
}

/// SG, which ends an IT block.
pub fn sg(state: &mut State, _: &Slot) -> Outcome {
    state.cpu.it = 0;
    Ok(Flow::Next)
}

pub fn bxns(state: &mut State, s: &Slot) -> Outcome {
    let target = state.secure_target(s)?;
    state.within(|state, at| state.branch_exchange(at, target))
}

pub fn blxns(state: &mut State, s: &Slot) -> Outcome {
    let target = state.secure_target(s)?;
    state.within(|state, at| {
        state.link(at);
        state.branch_linked(at, target)
    })
}

/// TT, TTT, TTA and TTAT. `aux`: as unprivileged code (1), with the other state's MPU (2), which is always
/// off. Unprivileged code learns nothing of its own MPU.
pub fn tt(state: &mut State, s: &Slot) -> Outcome {
    let (as_user, other_state) = (s.aux & 1 != 0, s.aux & 2 != 0);
    let address = state.cpu.get(s.n);
    let privileged = state.cpu.privileged();
    let mut answer = SECURE;
    if state.guards.mpu && !other_state {
        if privileged {
            let rights = state.system.mpu.rights(address);
            let may = |access, bit| if rights.allow(access, !as_user) { bit } else { 0 };
            answer |= may(Purpose::Read, READABLE) | may(Purpose::Write, WRITABLE);
            let region = state.system.mpu.region_at(address);
            answer |= region.map_or(0, |number| IN_REGION | u32::from(number));
        }
    } else if privileged || other_state {
        answer |= READABLE | WRITABLE;
    }
    state.cpu.set(s.d, answer);
    Ok(Flow::Next)
}

impl State {
    /// Returns the target of a branch that may leave Secure state, which bit 0 selects.
    fn secure_target(&self, s: &Slot) -> Result<u32, Trap> {
        let target = self.cpu.get(s.n);
        if target & 1 == 1 { Ok(target) } else { Err(Trap::NonSecure) }
    }

    /// Returns whether a load or store takes the stack pointer below its limit.
    pub(crate) fn passes_stack_limit(&self, slot: &Slot) -> bool {
        slot.op == Op::Guarded
            && self.cpu.r[13].wrapping_sub(stack_decrement(&slot.unguarded())) < self.stack_limit()
    }

    /// Returns the limit of the current stack pointer.
    pub(crate) fn stack_limit(&self) -> u32 {
        let limit = self.cpu.stack_limit();
        let ignored =
            limit != 0 && self.system.ignores_stack_limits() && self.execution_priority() < 0;
        if ignored { 0 } else { limit }
    }
}

/// Returns by how much a load or store lowers the stack pointer.
fn stack_decrement(slot: &Slot) -> u32 {
    let down = |offset: u32| if offset >> 31 == 1 { offset.wrapping_neg() } else { 0 };
    match slot.op {
        Op::Push | Op::Ldmdb | Op::Stmdb => slot.imm.count_ones() * 4,
        Op::Pop | Op::Ldm | Op::Stm => 0,
        _ => down(slot.imm),
    }
}
