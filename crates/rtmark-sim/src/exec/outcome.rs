//! How the execution of an instruction ends.

use crate::arch::armm::trap::Trap;

/// Where execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Flow {
    /// At the next instruction, to which the program counter already points.
    Next,
    /// At the next instruction, but this pass ends.
    Leave,
    /// Nothing has been done: the fast path cannot complete the operation, and the slow path must.
    SlowPath,
    /// At the address to which the program counter now points.
    Jump,
}

/// The result of executing one instruction.
pub type Outcome = Result<Flow, Trap>;

/// How a sequence of operations ends, in a single register, so that the compiler can turn calls that return
/// it into jumps. It fills the register: WebAssembly has none for a byte, so that callers would extend it
/// after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Next,
    Jump,
    Trap(Trap),
}

const _: () = assert!(size_of::<Ending>() == 4);

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
