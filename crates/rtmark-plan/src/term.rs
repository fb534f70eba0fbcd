//! The terms of a bound, and the origin of their cycles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a term is in a bound.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The job's own execution time.
    Work,
    /// Execution of tasks with precedence over it.
    Preemption,
    /// Execution of tasks that take turns with it.
    Turns,
    /// Execution of a lower-priority task that holds a lock.
    Blocking,
    /// An interval in which the kernel lets nothing begin.
    HeldBack,
    /// The timer's interrupts.
    Tick,
    /// Making tasks ready in the timer's interrupt.
    Release,
    /// From the interrupt that releases a task to the task's first instruction.
    Start,
    /// From a job's end to the next task.
    End,
    /// Taking and releasing locks.
    Lock,
    /// Sending and receiving messages.
    Message,
    /// Interrupt handlers.
    Interrupt,
    /// Earlier jobs of the same task that are not finished.
    Earlier,
    /// Late releases.
    Jitter,
    /// The time that had passed before the release of a later job of the busy period (negative).
    BeforeRelease,
}

impl Kind {
    /// All kinds, in display order.
    pub const ALL: [Self; 15] = [
        Self::Work,
        Self::Preemption,
        Self::Turns,
        Self::Blocking,
        Self::HeldBack,
        Self::Tick,
        Self::Release,
        Self::Start,
        Self::End,
        Self::Lock,
        Self::Message,
        Self::Interrupt,
        Self::Earlier,
        Self::Jitter,
        Self::BeforeRelease,
    ];

    /// Returns its display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Work => "own work",
            Self::Preemption => "tasks that go before",
            Self::Turns => "turns of other tasks",
            Self::Blocking => "blocking by locks",
            Self::HeldBack => "held back by the kernel",
            Self::Tick => "ticks",
            Self::Release => "releases in the tick",
            Self::Start => "switches to jobs",
            Self::End => "switches from jobs",
            Self::Lock => "lock and unlock",
            Self::Message => "send and receive",
            Self::Interrupt => "interrupts",
            Self::Earlier => "earlier jobs",
            Self::Jitter => "late release",
            Self::BeforeRelease => "before the release",
        }
    }

    /// Returns the publication or section that the term comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Work | Self::Preemption => "Joseph and Pandya 1986",
            Self::Turns => "docs/plan.md, executors",
            Self::Blocking => "Sha, Rajkumar and Lehoczky 1990; Baker 1991",
            Self::HeldBack | Self::Jitter => {
                "Audsley, Burns, Richardson, Tindell and Wellings 1993"
            }
            Self::Tick | Self::Release => "Burns, Tindell and Wellings 1995",
            Self::Start | Self::End => "Burns, Tindell and Wellings 1995; Brandenburg 2011",
            Self::Lock | Self::Message => "Brandenburg 2011",
            Self::Interrupt => "Tindell, Burns and Wellings 1994",
            Self::Earlier | Self::BeforeRelease => "Lehoczky 1990",
        }
    }
}

/// The origin of a part's cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The system's file states them.
    Stated,
    /// They were measured.
    Measured {
        /// The scenario, or how the cost is computed from several.
        scenario: String,
        /// The least sample.
        least: u64,
        /// The largest sample, which the bound uses.
        worst: u64,
        /// The number of samples.
        samples: u64,
    },
}

/// Something that takes cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Why it is in the bound.
    pub kind: Kind,
    /// What it belongs to: a task, an interrupt, a lock or the kernel.
    pub of: String,
    /// Cycles per occurrence.
    pub cycles: u64,
    /// The origin of these cycles.
    pub origin: Origin,
}

impl Part {
    /// Returns a part whose cycles the system's file states.
    pub fn stated(kind: Kind, of: &str, cycles: u64) -> Self {
        Self { kind, of: of.to_owned(), cycles, origin: Origin::Stated }
    }
}

/// A term of a bound: a part, and how often it occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Term {
    /// Why the term is in the bound.
    pub kind: Kind,
    /// What it belongs to: a task, an interrupt, a lock or the kernel.
    pub of: String,
    /// Cycles per occurrence.
    pub each: u64,
    /// The number of occurrences.
    pub times: u64,
    /// Cycles in total; negative for time that had passed before the release.
    pub cycles: i64,
    /// The publication or section that the term comes from.
    pub source: String,
    /// The origin of its cycles.
    pub origin: Origin,
}

impl Term {
    /// Returns the term for `times` occurrences of a part.
    pub fn of(part: &Part, times: u64) -> Self {
        let cycles = part.cycles.saturating_mul(times);
        Self {
            kind: part.kind,
            of: part.of.clone(),
            each: part.cycles,
            times,
            cycles: i64::try_from(cycles).unwrap_or(i64::MAX),
            source: part.kind.source().to_owned(),
            origin: part.origin.clone(),
        }
    }

    /// Returns the (negative) term for time that had passed when a job was released.
    pub fn before_release(cycles: u64) -> Self {
        let mut term = Self::of(&Part::stated(Kind::BeforeRelease, "the job", cycles), 1);
        term.cycles = -term.cycles;
        term
    }
}
