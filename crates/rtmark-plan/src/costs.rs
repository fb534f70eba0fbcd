//! The costs of kernel operations: measured figures, keyed by the purpose they serve in a bound.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::term::{Kind, Origin, Part};

/// A cost of the kernel that bounds depend on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// A tick that releases no task, or the timer interrupt that releases a task which does not preempt.
    Tick,
    /// Each further task that a tick makes ready.
    Release,
    /// From the timer interrupt to the released task, without the tick itself.
    Start,
    /// From the end of a job that then waits for its next release, to the next task.
    End,
    /// From the end of a job that then waits for its next interrupt, to the next task.
    Wait,
    /// The longest interval in which the kernel holds back interrupts that may call it.
    HeldBack,
    /// Taking and releasing a lock.
    Lock,
    /// The overhead of waiting for a lock: the switches to the holder and back.
    Contended,
    /// An interrupt whose handler wakes no task.
    Interrupt,
    /// From an interrupt to the first instruction of the task that its handler wakes.
    Wake,
    /// Sending a message.
    Send,
    /// Receiving an available message.
    Receive,
    /// Looking into an empty queue.
    Look,
}

impl Cost {
    /// All costs.
    pub const ALL: [Self; 13] = [
        Self::Tick,
        Self::Release,
        Self::Start,
        Self::End,
        Self::Wait,
        Self::HeldBack,
        Self::Lock,
        Self::Contended,
        Self::Interrupt,
        Self::Wake,
        Self::Send,
        Self::Receive,
        Self::Look,
    ];

    /// Returns a short description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tick => "a tick",
            Self::Release => "one more release in a tick",
            Self::Start => "from the tick to the released task",
            Self::End => "from a job's end to the next task",
            Self::Wait => "from a job's end to the next task, waiting for an interrupt",
            Self::HeldBack => "the longest stretch held back",
            Self::Lock => "lock and unlock",
            Self::Contended => "to a lock's holder and back",
            Self::Interrupt => "an interrupt",
            Self::Wake => "from an interrupt to the task that it wakes",
            Self::Send => "a send",
            Self::Receive => "a receive",
            Self::Look => "a look into an empty queue",
        }
    }

    /// Returns the kind of term to which this cost contributes.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Tick => Kind::Tick,
            Self::Release => Kind::Release,
            Self::Start => Kind::Start,
            Self::End | Self::Wait => Kind::End,
            Self::HeldBack => Kind::HeldBack,
            Self::Lock => Kind::Lock,
            Self::Contended => Kind::Blocking,
            Self::Interrupt | Self::Wake => Kind::Interrupt,
            Self::Send | Self::Receive | Self::Look => Kind::Message,
        }
    }
}

/// A measured cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The cycles that bounds use: the largest sample.
    pub cycles: u64,
    /// The measured scenario, or how the cost is computed from several.
    pub scenario: String,
    /// The least sample.
    pub least: u64,
    /// The number of samples.
    pub samples: u64,
}

/// A cost that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{} is not available: {why}", cost.name())]
pub struct Missing {
    /// The cost.
    pub cost: Cost,
    /// Which scenario would have it, and why there is none.
    pub why: String,
}

/// The costs of one kernel on one soc.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// Those that are known.
    pub known: BTreeMap<Cost, Figure>,
    /// Those that are not, and why.
    pub missing: Vec<Missing>,
}

impl Costs {
    /// Returns the costs of a kernel that costs nothing.
    pub fn zero() -> Self {
        let nothing = Figure { cycles: 0, scenario: "nothing".to_owned(), least: 0, samples: 0 };
        let known = Cost::ALL.into_iter().map(|cost| (cost, nothing.clone())).collect();
        Self { known, missing: Vec::new() }
    }

    /// Returns these costs with one of them set to zero, to see what it contributes.
    #[must_use]
    pub fn without(&self, cost: Cost) -> Self {
        let mut costs = self.clone();
        if let Some(figure) = costs.known.get_mut(&cost) {
            figure.cycles = 0;
        }
        costs
    }

    /// Returns the part of a bound for `times` occurrences of a cost, attributed to `of`.
    ///
    /// # Errors
    /// When the cost is unknown.
    pub fn part(&self, cost: Cost, of: &str, times: u64) -> Result<Part, Missing> {
        let Some(figure) = self.known.get(&cost) else {
            let known = self.missing.iter().find(|missing| missing.cost == cost).cloned();
            return Err(known.unwrap_or_else(|| {
                let why = "no scenario was measured for it".to_owned();
                Missing { cost, why }
            }));
        };
        Ok(Part {
            kind: cost.kind(),
            of: of.to_owned(),
            cycles: figure.cycles.saturating_mul(times),
            origin: Origin::Measured {
                scenario: figure.scenario.clone(),
                least: figure.least,
                worst: figure.cycles,
                samples: figure.samples,
            },
        })
    }
}
