//! The interface through which an operation learns where it executes.
//!
//! Operations know nothing of blocks, schedules or their own cost. They see their slot, report the events
//! that timing depends on, and ask for the slow path where they need it.

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
pub trait Executing<'a> {
    type Position: ExecContext;

    /// Returns the instruction's slot.
    fn slot(&self) -> &'a Slot;
    /// Returns the context in which it executes.
    fn context(&mut self) -> &mut Self::Position;
    /// Reads a literal from code memory if a quick check shows how long that takes and that the pass need
    /// not end for it. Returns whether the literal was read.
    fn reads_literal_fast(&mut self, state: &mut State, place: Place) -> bool;
    /// Returns whether the next instruction must not be executed without further checks.
    fn needs_check(&self) -> bool;
}

/// The path by which an operation is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// The common case: touches only nearby state, and makes no calls, for which registers would have to be
    /// saved.
    Fast,
    Slow,
}
