//! The cycle costs of instructions and memories.
//!
//! Timing is separate from the semantics of instructions and never changes it. A core is a small
//! set of [`Rules`], each with its source; a memory is a [`LineMemory`], driven by its description
//! in the soc file.
//!
//! A change here changes published figures: raise [`TIMING_MODEL`] with it.

mod classify;
mod cores;
#[cfg_attr(
    not(all(feature = "native-code", target_arch = "x86_64", target_os = "linux")),
    expect(dead_code, reason = "only native code asks for some of it")
)]
mod divider;
mod dual;
pub mod exceptions;
mod flash;
mod issue;
pub mod memo;
mod operands;
pub mod pipeline;
mod score;

pub use divider::Divider;
pub use dual::{NOT_TAKEN, Predictor};
#[cfg(all(feature = "native-code", target_arch = "x86_64", target_os = "linux"))]
pub use flash::offsets;
pub use flash::{
    Change, CoreCaches, FetchState, LineInserted, LineMemories, LineMemory, Lookahead, Setting,
    SlowLines, Switch,
};
pub use pipeline::Rule;
pub use score::Score;

use self::issue::IssueInstruction;
use self::pipeline::Step;

use crate::isa::{Op, Slot};
use crate::soc::CoreKind;

/// The version of the timing rules. Equal versions always give equal cycles.
pub const TIMING_MODEL: &str = "23";

/// The function that classifies an instruction for the model of a core.
#[derive(Clone, Copy, Debug)]
pub enum Classify {
    /// For a cycle-by-cycle model of the pipeline, given the halfword after the instruction.
    Pipeline(fn(&Slot, u16) -> Step),
    /// For a model of in-order issue, given the instruction's own halfwords.
    Issue(fn(&Slot, [u16; 2]) -> IssueInstruction),
    /// For a model of dual issue, given the instruction's own halfwords.
    Dual(fn(&Slot, [u16; 2]) -> dual::DualInstruction),
}

/// The effect of an interrupt on an instruction of several cycles.
///
/// Where the manuals state no more than that an instruction can be interrupted, the core is taken
/// to abandon it at once: an interrupt then waits no longer for such an instruction than for one of
/// a single cycle, which matches the "worst case latency of one cycle" of a division (DDI 0439,
/// table 3-1). A word whose transfer has been requested is transferred; if that is the last one,
/// the instruction completes normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptible {
    /// The instruction completes, and the interrupt waits.
    Atomic,
    /// The instruction is suspended between two words, and continues with the next one.
    Continuable,
    /// The instruction is abandoned between two words, and restarts.
    RestartableAtWord,
    /// The instruction is abandoned in any cycle before this one, to which its operands' extra
    /// cycles are added, and restarts.
    Restartable(u8),
    /// The instruction completes during the entry to the handler.
    EndsInEntry(u8),
}

/// The timing rules of one core. All figures are cycles on memories without wait states.
#[derive(Debug)]
pub struct Rules {
    /// The classification of instructions for a core that is modelled by more than a table. The
    /// costs and refills below are zero for such a core.
    pub classify: Option<Classify>,
    /// The minimum cycles of an instruction, with branches not taken.
    pub cost: fn(&Slot) -> u8,
    /// The cycles of an instruction whose condition in an IT block fails.
    pub skip: u8,
    /// The divider, if there is one.
    pub divider: Option<Divider>,
    /// The cycles of a long multiply beyond its `cost`, from its operands, if it depends on them.
    pub long_multiply: Option<fn(op: Op, n: u32, m: u32) -> u8>,
    /// The cycles of double-precision arithmetic beyond its usual ones, from its operands: the
    /// register that is written, and the first and second one that is read.
    pub double_extra: fn(op: Op, operands: [u64; 3]) -> u8,
    /// The extra cycles of an unaligned load on a core whose model has no buses.
    pub unaligned_load: u8,
    /// Whether branches are predicted from their history, which is then part of the machine's
    /// state.
    pub predicts_branches: bool,
    /// The cycles of a pipeline refill after a branch.
    pub refill: u8,
    /// The extra cycles of a refill whose target was loaded from memory.
    pub refill_loaded: u8,
    /// The cycles from the recognition of an exception to its handler's first instruction.
    pub entry: u8,
    /// The last cycles of `entry`, in which a more urgent exception comes too late to take it over.
    pub late_arrival: u8,
    /// The cycles from the returning instruction to the next one of the interrupted code.
    pub exit: u8,
    /// The cycles from the returning instruction to the first one of the next handler.
    pub tail_chain: u8,
    /// The extra cycles of `entry` or `exit` if floating-point registers are stacked or unstacked
    /// at once.
    pub fp_frame: u8,
    /// The effect of an interrupt on an executing instruction.
    pub interruptible: fn(&Slot) -> Interruptible,
    /// The maximum cycles of an interruptible instruction on memories without wait states.
    pub longest: u8,
}

impl Rules {
    /// Returns the cycles of a division beyond its `cost`.
    pub fn divide(&self, dividend: u32, divisor: u32, signed: bool) -> u8 {
        self.divider.map_or(0, |divider| divider.extra_cycles(dividend, divisor, signed))
    }

    /// Returns the cycles of a long multiply beyond its `cost`.
    pub fn multiply_long(&self, op: Op, n: u32, m: u32) -> u8 {
        self.long_multiply.map_or(0, |cycles| cycles(op, n, m))
    }

    /// Returns whether the model includes the core's buses, and thus must be given their events.
    /// For other models, the wait states of memories are added to the model's cycles.
    pub const fn model_buses(&self) -> bool {
        matches!(self.classify, Some(Classify::Pipeline(_)))
    }

    /// Returns whether the target of a jump is fetched during the pipeline refill, and not only
    /// when it is about to execute.
    pub const fn fetches_targets(&self) -> bool {
        self.model_buses()
    }

    /// Returns the rules of a core.
    pub const fn of(core: CoreKind) -> &'static Self {
        match core {
            // Cores of other architectures have their own kind of rules: see `armr` and `riscv`.
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
