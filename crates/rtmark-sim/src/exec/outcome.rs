//! How executing an instruction ends.

use crate::arch::armm::trap::Trap;

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// At the next instruction, to which the program counter already points.
    Next,
    /// There too, but not within this pass.
    Leave,
    /// Nothing has been done: the fast path does not lead to the end, and the slow one is to.
    SlowPath,
    /// Where the program counter points now.
    Jump,
}

/// The result of executing one instruction.
pub type Outcome = Result<Flow, Trap>;

/// How a run of operations ends, in a single register, so that the compiler makes jumps of calls that answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Next,
    Jump,
    Trap(Trap),
}

const _: () = assert!(size_of::<Ending>() == 1);

impl From<Outcome> for Ending {
    #[inline(always)]
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Ok(Flow::Jump) => Self::Jump,
            Ok(_) => Self::Next,
            Err(trap) => Self::Trap(trap),
        }
    }
}

impl From<Ending> for Outcome {
    #[inline(always)]
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Next => Ok(Flow::Next),
            Ending::Jump => Ok(Flow::Jump),
            Ending::Trap(trap) => Err(trap),
        }
    }
}
