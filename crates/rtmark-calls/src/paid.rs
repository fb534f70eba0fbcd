//! What the calls of a run came to.

use rtmark_model::Place;
use schemars::JsonSchema;
use serde::Serialize;

use crate::matched::{EqualCalls, Untold};

/// Where a call came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A thread, or the program before there were any.
    Thread,
    /// A handler.
    Interrupt,
}

/// How a call went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It came back, and no other thread ran in between: timed to its return.
    Returned,
    /// Another thread ran, or the kernel's idle one: timed to that one's first instruction outside
    /// the kernel. The caller has blocked, given way, or woken a thread that goes first.
    Switched,
}

/// Cycles of several calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cycles {
    /// The fewest.
    pub min: u64,
    /// The median; of an even number, the lower of the two in the middle.
    pub median: u64,
    /// The most.
    pub max: u64,
    /// All together.
    pub total: u64,
}

impl Cycles {
    /// Of at least one call.
    pub(crate) fn of(mut calls: Vec<u64>) -> Option<Self> {
        calls.sort_unstable();
        Some(Self {
            min: *calls.first()?,
            median: calls[(calls.len() - 1) / 2],
            max: *calls.last()?,
            total: calls.iter().sum(),
        })
    }
}

/// A place from which a function was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Site {
    /// The instruction that calls.
    pub place: Place,
    /// How often it did.
    pub calls: u64,
    /// The most cycles that one of them took; `None` if an interrupt came into all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// The calls of one function that came from the same kind of code and went on alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Called {
    /// The function, as applications write it.
    pub function: String,
    /// Its symbol.
    pub symbol: String,
    /// Where the calls came from.
    pub from: Origin,
    /// How they went on.
    pub outcome: Outcome,
    /// How many they are.
    pub calls: u64,
    /// Into how many of them another interrupt's handler came, or a thread of the kernel's own:
    /// they are not in `cycles`.
    pub hit: u64,
    /// What they took; `None` if all were hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
    /// The cycle in which the longest began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_began: Option<u64>,
    /// From where, the most frequent first.
    pub sites: Vec<Site>,
}

/// A function of the kernel's whose code the compiler has put into its caller's. Its calls cannot
/// be told from each other; its instructions can, by the debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InlinedCall {
    /// The function, by the debug information.
    pub function: String,
    /// The function that holds its code.
    pub caller: String,
    /// What its instructions there took in the run, without the functions that they call.
    pub cycles: u64,
}

/// What the processor's cycles were spent on. They add up to those of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shares {
    /// The application's threads, and the program before there were any.
    pub application: u64,
    /// The application's handlers, with the entries into them.
    pub interrupts: u64,
    /// The kernel: its functions with all that they call, its threads, its handlers.
    pub kernel: u64,
    /// Asleep, and the kernel's idle thread.
    pub idle: u64,
}

impl Shares {
    /// All of them.
    pub const fn cycles(&self) -> u64 {
        self.application + self.interrupts + self.kernel + self.idle
    }
}

/// What an application paid its kernel in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Paid {
    /// By function, the most cycles first.
    pub called: Vec<Called>,
    /// Calls that had not ended when the run did, by function.
    pub open: Vec<(String, u64)>,
    /// Functions that were executed where the compiler has inlined them, the most cycles first.
    pub inlined: Vec<InlinedCall>,
    /// Functions of the image that applications call, and this one did not in this run.
    pub never: Vec<String>,
    /// Where the cycles went.
    pub shares: Shares,
    /// Calls that have a scenario's span, where these were looked for.
    #[serde(skip)]
    pub equal: Vec<EqualCalls>,
    /// Scenarios that could not be told from others.
    #[serde(skip)]
    pub untold: Untold,
}
