//! What an operation is told of where it executes, by whoever executes it.
//!
//! Operations know neither blocks nor schedules: they see the slot that they are of, tell where
//! they jump, and ask for the slow path.

use crate::isa::Slot;
use crate::memory::Place;
use crate::state::State;

/// The point in a program at which an operation executes.
pub trait ExecContext {
    /// The address behind the instruction.
    fn behind(&self) -> u32;
    /// Notes where a jump leads.
    fn jump_to(&mut self, target: u32);
    /// Takes a refill that a jump brings with it.
    fn refill(&mut self, cycles: u8);
    /// Takes more cycles than was known beforehand.
    fn take_longer(&mut self, cycles: u64, deadline: u64);
    /// Stays in the execute stage for longer than usual.
    fn stay(&mut self, state: &State, cycles: u8);
    /// Has the memory of the code stand as it does now.
    fn settle_memory(&mut self, state: &mut State);
    /// Waits for a word among the code.
    fn wait_for_literal(&mut self, state: &mut State, place: Place);
    /// Does something that needs the whole state, which is brought to this point for it.
    fn slow_path<T>(&mut self, state: &mut State, act: impl FnOnce(&mut State) -> T) -> T;
}

/// An operation that executes.
pub trait Executing<'a> {
    type At: ExecContext;

    /// The instruction.
    fn slot(&self) -> &'a Slot;
    /// Where it is.
    fn context(&mut self) -> &mut Self::At;
    /// Whether what the fetches wait for is known.
    fn has_fetch_plan(&self) -> bool;
    /// Waits before the next instruction, unless that is a reason to go no further; answers
    /// whether it waits.
    fn wait(&mut self, cycles: u64, deadline: u64) -> bool;
    /// Whether the next instruction may not be executed just like that.
    fn halts(&self) -> bool;
}

/// How an operation is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// As most are: without a look at anything that is far away, and without calls, for which
    /// registers would have to be saved.
    Fast,
    Slow,
}
