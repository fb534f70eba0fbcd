//! What instructions and memories cost.
//!
//! Timing stands beside the meaning of instructions and never changes it. A core
//! is a small set of [`Rules`], each citing what shows it; a memory is a
//! [`LineMemory`], driven by what the soc file says of it.
//!
//! A change here changes published figures: raise [`TIMING_MODEL`] with it.

mod classify;
mod cores;
mod dual;
pub mod exceptions;
mod flash;
mod issue;
pub mod memo;
pub mod pipeline;
mod score;

pub use dual::{NOT_TAKEN, Predictor};
pub use flash::{
    Change, FetchState, LineCame, LineMemories, LineMemory, Lookahead, Setting, SlowLines, Switch,
};
pub use pipeline::Rule;
pub use score::Score;

use self::issue::IssueInstruction;
use self::pipeline::Step;

use crate::isa::{Op, Slot};
use crate::soc::CoreKind;

/// The version of the timing rules. Equal versions give equal cycles for ever.
pub const TIMING_MODEL: &str = "13";

/// What an instruction means for the model of a core.
#[derive(Clone, Copy, Debug)]
pub enum Classify {
    /// For one of its pipeline, cycle by cycle, given the halfword behind the instruction.
    Pipeline(fn(&Slot, u16) -> Step),
    /// For one of what is issued when, given the instruction's own halfwords.
    Issue(fn(&Slot, [u16; 2]) -> IssueInstruction),
    /// For one of what is issued two at a time, given its own halfwords.
    Dual(fn(&Slot, [u16; 2]) -> dual::DualInstruction),
}

/// What becomes of an instruction of several cycles into which an interrupt comes. Where the
/// manuals say no more than that, the core is taken to leave off at once: an interrupt then
/// waits no longer for such an instruction than for one of a single cycle, which is what the
/// "worst case latency of one cycle" of a division (DDI 0439, table 3-1) comes to. A word that
/// has been asked for is moved; when the last one has been, the instruction ends as ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptible {
    /// It does not: the interrupt waits.
    Atomic,
    /// It is left off between two words, and goes on with the next one.
    Continuable,
    /// It is left off between two words, and begins anew.
    RestartableAtWord,
    /// It is given up in any cycle before this one beyond what its operands add, and begins
    /// anew.
    Restartable(u8),
    /// It ends while the handler is entered.
    EndsInEntry(u8),
}

/// The timing rules of one core. All figures are cycles on memories without wait states.
#[derive(Debug)]
pub struct Rules {
    /// What instructions mean for a core that is modelled by more than a table, whose costs and
    /// refills are nothing then.
    pub classify: Option<Classify>,
    /// What an instruction takes at least, branches not taken.
    pub cost: fn(&Slot) -> u8,
    /// What an instruction takes whose condition in an IT block fails.
    pub skip: u8,
    /// What a division takes beyond its `cost`, by its operands.
    pub divide: fn(dividend: u32, divisor: u32, signed: bool) -> u8,
    /// What a long multiply takes beyond its `cost`, by its operands.
    pub long_multiply: fn(op: Op, n: u32, m: u32) -> u8,
    /// What arithmetic in double precision takes beyond its cycles, by its operands: the register
    /// that is written, and the first and second one that is read.
    pub double_extra: fn(op: Op, operands: [u64; 3]) -> u8,
    /// What a load takes more whose address is not aligned, where no model has the buses in it.
    pub unaligned_load: u8,
    /// Whether branches are foreseen by what they have done, which is the machine's state then.
    pub foresees: bool,
    /// Refilling the pipeline after a branch.
    pub refill: u8,
    /// What it takes more when the target was loaded from memory.
    pub refill_loaded: u8,
    /// From the recognition of an exception to its handler's first instruction.
    pub entry: u8,
    /// The part of `entry` within which a more urgent exception comes too late to take it over.
    pub late_arrival: u8,
    /// From the returning instruction to the next one of the interrupted code.
    pub exit: u8,
    /// From the returning instruction to the first one of the next handler.
    pub tail_chain: u8,
    /// More on `entry` or `exit` when floating-point registers are moved at once.
    pub fp_frame: u8,
    /// What instructions do when an interrupt comes into them.
    pub interruptible: fn(&Slot) -> Interruptible,
    /// The longest that an instruction which is interruptible takes, where no memory waits.
    pub longest: u8,
}

impl Rules {
    /// Whether the model has the core's buses in it, and is told what happens on them. What
    /// memories wait for is added to what others say.
    pub const fn model_buses(&self) -> bool {
        matches!(self.classify, Some(Classify::Pipeline(_)))
    }

    /// Whether the target of a jump is fetched while the pipeline is refilled, rather than when
    /// its turn comes.
    pub const fn fetches_targets(&self) -> bool {
        self.model_buses()
    }

    /// The rules of a core.
    pub const fn of(core: CoreKind) -> &'static Self {
        match core {
            // The others have rules of their own kind: see `armr` and `riscv`.
            CoreKind::CortexM0 | CoreKind::CortexR5 | CoreKind::Hazard3 | CoreKind::Ibex => {
                &cores::CORTEX_M0
            }
            CoreKind::CortexM0Plus => &cores::CORTEX_M0PLUS,
            CoreKind::CortexM3 => &cores::CORTEX_M3,
            CoreKind::CortexM4 | CoreKind::CortexM4F => &cores::CORTEX_M4,
            CoreKind::CortexM7 => &cores::CORTEX_M7,
            CoreKind::CortexM33 => &cores::CORTEX_M33,
        }
    }
}
