//! Operations as types, and the paths by which they execute.

use super::{Executing, Outcome};
use crate::isa::{Op, Slot};
use crate::state::State;

/// What an operation does, as a type with which the engine's functions are parametrized.
pub trait Operation {
    const OP: Op;
    const PATHS: Paths;

    /// Executes the operation with the operands of a slot.
    fn execute<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome;
}

/// A family with one item for each operation.
pub trait PerOperation {
    type Item;

    /// Returns the item for an operation.
    fn of<O: Operation>(self) -> Self::Item;
}

/// The path by which an operation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The common case: touches only nearby state, makes no calls, for which registers would have to be
    /// saved, and does not write the stack pointer.
    Fast,
    /// The fast path of instructions that may write the stack pointer, whose low bits are always clear.
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
