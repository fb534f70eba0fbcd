//! The interface through which an operation learns where it executes.
//!
//! Operations know nothing of blocks, schedules or their own cost. They see their slot, report the events
//! that timing depends on, and ask for the slow path where they need it.

use super::{Flow, Outcome, Path};
use crate::arch::armm::registers::Cpu;
use crate::isa::{Op, Slot};
use crate::memory::Place;
use crate::state::State;

/// The point in a program at which an operation executes.
pub trait ExecContext {
    /// Returns the address after the instruction.
    fn next_address(&self) -> u32;
    /// Reports a jump to an address.
    fn jumps(&mut self, state: &State, target: u32);
    /// Reports that the target of the jump that follows has been loaded.
    fn has_loaded_target(&mut self, state: &State);
    /// Reports the factors of a long multiplication.
    fn multiplied_long(&mut self, state: &State, op: Op, factors: [u32; 2]);
    /// Reports the dividend and divisor of a division.
    fn divided(&mut self, state: &State, op: Op, operands: [u32; 2]);
    /// Reports that a special register that raises the execution priority receives a nonzero value.
    fn raises_priority(&mut self, state: &State);
    /// Reads a literal from code memory, however long that takes.
    fn reads_literal(&mut self, state: &mut State, place: Place);
    /// Performs an action that needs the complete state, after bringing the state to this point.
    fn slow_path<T>(&mut self, state: &mut State, act: impl FnOnce(&mut State) -> T) -> T;
}

/// A state that executes operations outside of any block, for operations that consist of others.
pub trait Standalone: Sized {
    /// The point in the program at which it executes them.
    type Position<'a>: ExecContext;

    /// Performs an action at the program counter.
    fn within<T>(&mut self, act: impl FnOnce(&mut Self, &mut Self::Position<'_>) -> T) -> T;
    /// Executes one decoded instruction. The program counter is after the instruction on entry, and at the
    /// next one on return.
    fn execute_alone(&mut self, slot: &Slot) -> Outcome;
}

/// An operation that is executing.
pub trait Executing {
    type Position: ExecContext;

    /// The path by which it executes.
    const PATH: Path;
    /// Whether it executes on the fast path.
    const IS_FAST: bool = matches!(Self::PATH, Path::Fast | Path::FastWithSp);

    /// Returns the context in which it executes.
    fn context(&mut self) -> &mut Self::Position;
    /// Reads a literal from code memory if a quick check shows how long that takes and that the pass need
    /// not end for it. Returns whether the literal was read.
    fn reads_literal_fast(&mut self, state: &mut State, place: Place) -> bool;
    /// Reads data from code memory at an address and place under the same conditions.
    fn reads_code_fast(&mut self, state: &mut State, address: u32, place: Place) -> bool;
    /// Returns whether the next instruction must not be executed without further checks.
    fn needs_check(&self) -> bool;
    /// Returns whether a branch to this target, with bit 0 set, goes where the pass continues anyway.
    fn follows(&self, target: u32) -> bool;
    /// Continues after a branch that is not taken.
    fn not_taken(&self) -> Flow;

    /// Continues after an instruction that may have taken longer than expected, or changed what is due.
    #[inline(always)]
    fn proceed(&self) -> Flow {
        if self.needs_check() { Flow::Leave } else { Flow::Next }
    }

    /// Writes a register. Only where the path allows it may that be the stack pointer.
    #[inline(always)]
    fn set(&self, cpu: &mut Cpu, register: u8, value: u32) {
        if matches!(Self::PATH, Path::Fast) {
            cpu.set(register, value);
        } else {
            cpu.set_any(register, value);
        }
    }

    /// Executes an operation on the slow path, with the state brought up to date.
    #[inline(always)]
    fn complete(
        &mut self,
        state: &mut State,
        s: &Slot,
        act: impl FnOnce(&mut State, &Slot) -> Outcome,
    ) -> Outcome {
        let flow = complete_at(self.context(), state, s, act)?;
        Ok(if flow == Flow::Jump { flow } else { self.proceed() })
    }
}

/// The part of [`Executing::complete`] that depends only on the position, so that operations share it.
#[inline(never)]
fn complete_at(
    at: &mut impl ExecContext,
    state: &mut State,
    s: &Slot,
    act: impl FnOnce(&mut State, &Slot) -> Outcome,
) -> Outcome {
    at.slow_path(state, |state| act(state, s))
}
