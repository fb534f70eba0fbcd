//! Branches (DDI 0403, A7.7): direct, by a register, by a loaded address or through a table.
//!
//! The engine may follow a branch to its expected target; [`Executing`] tells whether it does.

#![expect(clippy::unnecessary_wraps, reason = "all bodies of a kind have one signature")]

use super::datum::Datum;
use super::transfer::Address;
use super::{ExecContext, Executing, Flow, Outcome, Standalone};
use crate::arch::armm::registers::Cpu;
use crate::arch::armm::trap::Trap;
use crate::isa::Slot;
use crate::state::State;

/// The conditions of branches, as they are encoded.
pub mod condition {
    use crate::arch::armm::registers::Cpu;

    macro_rules! conditions {
        ($($name:ident $number:literal)*) => {
            $(#[inline(always)]
            pub fn $name(cpu: &Cpu) -> bool {
                cpu.holds($number)
            })*
        };
    }

    conditions! { eq 0 ne 1 cs 2 cc 3 mi 4 pl 5 vs 6 vc 7 hi 8 ls 9 ge 10 lt 11 gt 12 le 13 }

    #[inline(always)]
    pub fn always(_: &Cpu) -> bool {
        true
    }

    pub const fn is_zero(value: u32) -> bool {
        value == 0
    }

    pub const fn is_nonzero(value: u32) -> bool {
        value != 0
    }
}

/// B, in all conditions.
#[inline(always)]
pub fn branch_if<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    condition: impl Fn(&Cpu) -> bool,
) -> Outcome {
    Ok(if condition(&state.cpu) { state.branch_direct(s, at) } else { at.not_taken() })
}

/// CBZ and CBNZ.
#[inline(always)]
pub fn compare_and_branch<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    condition: impl Fn(u32) -> bool,
) -> Outcome {
    let is_taken = condition(state.cpu.get(s.n));
    Ok(if is_taken { state.branch_direct(s, at) } else { at.not_taken() })
}

#[inline(always)]
pub fn bl<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    state.link(at.context());
    Ok(state.branch_direct(s, at))
}

#[inline(always)]
pub fn bx<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let target = state.cpu.get(s.n);
    if at.follows(target) {
        return Ok(Flow::Next);
    }
    state.branch_exchange(at.context(), target)
}

#[inline(always)]
pub fn blx<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let target = state.cpu.get(s.n);
    state.link(at.context());
    if at.follows(target) {
        return Ok(Flow::Next);
    }
    state.branch_linked(at.context(), target)
}

/// MOV of a register to the program counter.
#[inline(always)]
pub fn mov_pc<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    Ok(state.branch(at.context(), state.cpu.get(s.m)))
}

/// ADD of a register to the program counter, whose value is the immediate.
#[inline(always)]
pub fn add_pc<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    Ok(state.branch(at.context(), s.imm.wrapping_add(state.cpu.get(s.m))))
}

/// LDR to the program counter.
pub fn load_pc(state: &mut State, s: &Slot, mode: impl Fn(&Cpu, &Slot) -> Address) -> Outcome {
    state.within(|state, at| {
        let address = mode(&state.cpu, s);
        let target = state.read::<u32>(at, address.at)?;
        address.write_back_any(&mut state.cpu, s);
        state.branch_loaded(at, target)
    })
}

/// TBB and TBH: branches forward by twice the entry of a table of bytes or halfwords.
pub fn table_branch<D: Datum>(state: &mut State, s: &Slot) -> Outcome {
    state.within(|state, at| {
        let base = if s.n == 15 { at.next_address() } else { state.cpu.get(s.n) };
        let index = state.cpu.get(s.m).wrapping_mul(D::SIZE);
        let halfwords = state.read::<D>(at, base.wrapping_add(index))?;
        let target = at.next_address().wrapping_add(halfwords * 2);
        Ok(state.branch(at, target))
    })
}

impl State {
    /// Branches to the address in the immediate, unless execution continues there anyway.
    #[inline(always)]
    fn branch_direct(&mut self, s: &Slot, at: &mut impl Executing) -> Flow {
        if at.follows(s.imm | 1) {
            return Flow::Next;
        }
        self.branch(at.context(), s.imm)
    }

    /// Writes the return address to the link register.
    #[inline(always)]
    pub(super) fn link(&mut self, at: &mut impl ExecContext) {
        self.cpu.set(14, at.next_address() | 1);
    }

    /// Branches to an address whose bit 0 is ignored.
    #[inline(always)]
    pub(crate) fn branch(&self, at: &mut impl ExecContext, target: u32) -> Flow {
        at.jumps(self, target & !1);
        Flow::Jump
    }

    /// BX: selects the instruction set by bit 0; in handler mode, an EXC_RETURN value returns from the
    /// exception.
    #[inline(always)]
    pub(crate) fn branch_exchange(&mut self, at: &mut impl ExecContext, target: u32) -> Outcome {
        if target >= 0xF000_0000 && self.cpu.ipsr != 0 && self.is_exception_return(target) {
            self.trap_value = target;
            return Err(Trap::ExceptionReturn);
        }
        self.branch_linked(at, target)
    }

    /// Returns whether an address is an EXC_RETURN value, which only counts in handler mode (DDI 0403,
    /// B1.5.8; DDI 0553, B3.20).
    const fn is_exception_return(&self, target: u32) -> bool {
        target >= 0xFF00_0000 || !self.features.v8m
    }

    /// BLX: selects the instruction set by bit 0, and never returns from an exception.
    #[inline(always)]
    pub(crate) fn branch_linked(&mut self, at: &mut impl ExecContext, target: u32) -> Outcome {
        let flow = self.branch(at, target);
        if target & 1 == 0 { Err(Trap::InvalidState) } else { Ok(flow) }
    }

    /// Branches to a program counter loaded from memory: as BX, but with the pipeline refill of a load.
    #[inline(always)]
    pub(crate) fn branch_loaded(&mut self, at: &mut impl ExecContext, target: u32) -> Outcome {
        at.has_loaded_target(self);
        self.branch_exchange(at, target)
    }
}
