//! What an operation is told of where it executes, by whoever executes it.
//!
//! Operations know neither blocks nor schedules nor what they cost: they see the slot that they are of,
//! tell what has happened as far as time depends on it, and ask for the slow path.

use crate::isa::{Op, Slot};
use crate::memory::Place;
use crate::state::State;

/// The point in a program at which an operation executes.
pub trait ExecContext {
    /// The address behind the instruction.
    fn behind(&self) -> u32;
    /// A jump leads to an address.
    fn jumps(&mut self, state: &State, target: u32);
    /// The target of the jump that follows has been loaded.
    fn has_loaded_target(&mut self, state: &State);
    /// A long multiplication has had these factors.
    fn multiplied_long(&mut self, state: &State, op: Op, factors: [u32; 2]);
    /// A division has had this dividend and this divisor.
    fn divided(&mut self, state: &State, op: Op, operands: [u32; 2]);
    /// A special register that raises the execution priority is given a value that is not zero.
    fn raises_priority(&mut self, state: &State);
    /// A word among the code is read, however long that takes.
    fn reads_literal(&mut self, state: &mut State, place: Place);
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
    /// A word among the code is read, if one look shows how long that takes and it is no reason to go no
    /// further; answers whether it is.
    fn reads_literal_at_once(&mut self, state: &mut State, place: Place) -> bool;
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
