//! The state of a machine: what it consists of besides the parts of other folders.
//!
//! Nothing here executes anything or knows how code is cached.

mod blocker;
mod masks;
pub mod stop;
mod watches;

pub use self::blocker::Blocker;
pub use self::masks::{MaskSite, MaskedInterval, OpenMask};
pub use self::watches::{Besides, Counts, Hit, Watch, WatchId, Watches};

use crate::timing::memo::PipeState;

/// How far the program has come: what every instruction changes. While a block executes,
/// this is known from its schedule and the machine's own copy rests.
#[derive(Clone, Copy, Debug)]
pub struct ProgramPoint {
    /// The address of the next instruction, while one executes, and of the current one between.
    pub pc: u32,
    /// Cycles since reset, up to the instruction that executes.
    pub cycles: u64,
    pub instructions: u64,
    /// How the pipeline stands: see [`crate::timing::memo`].
    pub pipe: PipeState,
}

/// The address of no instruction.
pub(crate) const NOT_FETCHED: u32 = 1;
/// The same for a line of no memory.
pub(crate) const NO_LINE: u32 = 1;

/// What a sleeping core waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    Interrupt,
    Event,
}

/// What wants to look, of all that closes the quick ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The memory protection unit, at everything.
    pub mpu: bool,
    /// Somebody else, at loads and stores, or at each instruction.
    pub data: bool,
    pub instructions: bool,
}

/// Whether what the machine does is tried out, and taken back then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trial {
    #[default]
    No,
    Goes,
    /// It came to where it could not have been taken back, and has gone no further: the states of
    /// the pipeline are to be numbered anew.
    Failed,
    /// The same, since an instruction has trapped.
    Trapped,
}
