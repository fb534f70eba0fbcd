//! The interface through which an operation learns where it executes.
//!
//! Operations know nothing of blocks, schedules or their own cost. They see their slot, report the events
//! that timing depends on, and ask for the slow path where they need it.

use super::{Flow, Outcome};
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

/// The path by which an operation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The common case: touches only nearby state, makes no calls, for which registers would have to be
    /// saved, and does not write the stack pointer.
    Fast,
    /// The same for instructions that may write the stack pointer, whose low bits are always clear.
    FastWithSp,
    /// Every case.
    Slow,
}

/// The paths that an operation has. *With SP* adds a variant of the fast path that may write the stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// It always completes on the fast path.
    Fast,
    FastWithSp,
    /// The fast path completes it or changes nothing; then the slow path executes it.
    Both,
    BothWithSp,
    /// It always needs the slow path.
    Slow,
}

impl Paths {
    /// Returns whether there is a fast path.
    pub const fn has_fast(self) -> bool {
        !matches!(self, Self::Slow)
    }

    /// Returns whether there is a slow path.
    pub const fn has_slow(self) -> bool {
        !matches!(self, Self::Fast | Self::FastWithSp)
    }

    /// Returns whether the fast path has a variant that may write the stack pointer.
    pub const fn has_sp(self) -> bool {
        matches!(self, Self::FastWithSp | Self::BothWithSp)
    }
}
