//! The result of timing the calls of a run.

use rtmark_model::Place;
use rtmark_observe::shared_name;
use schemars::JsonSchema;
use serde::Serialize;

use crate::matcher::{AmbiguousScenarios, EqualCalls};

/// The origin of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A thread, or the program before there were any.
    Thread,
    /// A handler.
    Interrupt,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It returned, and no other thread ran in between: timed until its return.
    Returned,
    /// Another thread ran, or the kernel's idle thread: timed until that thread's first instruction
    /// outside the kernel. The caller has blocked, yielded, or woken a thread of higher priority.
    Switched,
}

/// The cycles of several calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cycles {
    /// The minimum.
    pub min: u64,
    /// The median; of an even number, the lower of the two middle ones.
    pub median: u64,
    /// The maximum.
    pub max: u64,
    /// The sum.
    pub total: u64,
}

impl Cycles {
    /// Summarises at least one call.
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
    /// The calling instruction.
    pub place: Place,
    /// The number of its calls.
    pub calls: u64,
    /// The most cycles of one of them; `None` if all were interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// The calls of one function with the same origin and outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalledFunction {
    /// The function, as applications write it.
    pub function: String,
    /// Its symbol.
    pub symbol: String,
    /// The origin of the calls.
    pub from: Origin,
    /// The outcome of the calls.
    pub outcome: Outcome,
    /// The number of calls.
    pub calls: u64,
    /// How many of them were interrupted by another handler, or by a thread of the kernel's own: they
    /// are not included in `cycles`.
    pub hit: u64,
    /// Their cycles; `None` if all were interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
    /// The cycle in which the longest began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_began: Option<u64>,
    /// The calling places, the most frequent first.
    pub sites: Vec<Site>,
    /// Where the functions begin that have this symbol and ran, if there are several: the figures are
    /// those of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namesakes: Vec<u32>,
}

impl CalledFunction {
    /// Returns the function's name for a table of all functions, of which this is one: its symbol if
    /// another one has the same name, as a wrapper does that the compiler has not inlined.
    pub fn label(&self, all: &[Self]) -> &str {
        let is_same = |other: &&Self| {
            (&other.function, other.from, other.outcome)
                == (&self.function, self.from, self.outcome)
        };
        if all.iter().filter(is_same).count() > 1 { &self.symbol } else { &self.function }
    }

    /// Returns the label for a row of a table: with the number of functions that have the symbol, if
    /// there are several.
    pub fn row_label(&self, all: &[Self]) -> String {
        shared_name(self.label(all), &self.namesakes)
    }
}

/// A kernel function whose code the compiler has inlined into its caller. Its calls cannot be
/// distinguished from each other, but its instructions can, by the debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InlinedCall {
    /// The function's name in the debug information.
    pub function: String,
    /// The function that contains its code.
    pub caller: String,
    /// The cycles of its instructions there during the run, without the functions that they call.
    pub cycles: u64,
}

/// What the processor's cycles were spent on. They add up to those of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shares {
    /// The application's threads, and the program before there were any.
    pub application: u64,
    /// The application's handlers, including their entries.
    pub interrupts: u64,
    /// The kernel: its functions with everything that they call, its threads, its handlers.
    pub kernel: u64,
    /// Sleep, and the kernel's idle thread.
    pub idle: u64,
}

impl Shares {
    /// Returns the sum.
    pub const fn cycles(&self) -> u64 {
        self.application + self.interrupts + self.kernel + self.idle
    }
}

/// What an application spent in its kernel during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KernelCost {
    /// The calls by function, the most cycles first.
    pub called: Vec<CalledFunction>,
    /// The number of calls by function that had not ended when the run did.
    pub open: Vec<(String, u64)>,
    /// Functions executed in inlined form, the most cycles first.
    pub inlined: Vec<InlinedCall>,
    /// API functions in the image that the application did not call in this run.
    pub never: Vec<String>,
    /// How the cycles were shared.
    pub shares: Shares,
    /// The calls that have a scenario's span, if requested.
    #[serde(skip)]
    pub equal: Vec<EqualCalls>,
    /// The scenarios that could not be distinguished from others.
    #[serde(skip)]
    pub ambiguous: AmbiguousScenarios,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_same_name_are_called_by_their_symbols() {
        let called = |function: &str, symbol: &str, outcome| CalledFunction {
            function: function.to_owned(),
            symbol: symbol.to_owned(),
            from: Origin::Thread,
            outcome,
            calls: 1,
            hit: 1,
            cycles: None,
            longest_began: None,
            sites: Vec::new(),
            namesakes: Vec::new(),
        };
        let all = [
            called("k_sem_give", "z_impl_k_sem_give", Outcome::Returned),
            called("k_sem_give", "k_sem_give.constprop.0", Outcome::Returned),
            called("k_sem_give", "z_impl_k_sem_give", Outcome::Switched),
        ];
        let labels = all.each_ref().map(|one| one.label(&all));
        assert_eq!(labels, ["z_impl_k_sem_give", "k_sem_give.constprop.0", "k_sem_give"]);
    }

    #[test]
    fn a_row_says_how_many_functions_have_its_symbol() {
        let one = CalledFunction {
            function: "step".to_owned(),
            symbol: "step".to_owned(),
            from: Origin::Thread,
            outcome: Outcome::Returned,
            calls: 2,
            hit: 2,
            cycles: None,
            longest_began: None,
            sites: Vec::new(),
            namesakes: vec![0x0800_0040, 0x0800_00A8],
        };
        assert_eq!(one.row_label(std::slice::from_ref(&one)), "step (2 functions)");
        assert_eq!(one.label(std::slice::from_ref(&one)), "step");
    }
}
