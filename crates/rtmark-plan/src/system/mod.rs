//! System description files and their validation.
//!
//! [`System::from_toml`] reads a file and checks whatever can be checked without a soc;
//! [`System::set`] converts it to cycles and checks the rest. Every error names file, line and key.

mod check;
mod time;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub use check::{Chip, SystemError};
pub use time::{Function, Rounding, Time, Work};

/// An example with every key, printed by `rtmark plan --init`.
pub const EXAMPLE: &str = include_str!("example.toml");

/// A system: tasks with deadlines, what they share, and where they run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The soc, by name or by the path of its file. Its clock converts times with units to cycles.
    #[schemars(with = "String")]
    pub soc: Spanned<String>,
    /// The kernels to consider.
    #[schemars(with = "Vec<String>")]
    pub kernels: Vec<Spanned<String>>,
    /// The set of build settings; `product` by default.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// The time between ticks, if the kernel has a tick; one millisecond by default.
    #[schemars(with = "Option<Time>")]
    pub tick: Option<Spanned<Time>>,
    /// The slack that each deadline must leave, in percent. A plan that leaves less fails.
    #[schemars(with = "Option<f64>")]
    pub slack_percent: Option<Spanned<f64>>,
    /// The names of the locks.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub locks: Vec<Spanned<String>>,
    /// The tasks.
    #[serde(default)]
    pub task: Vec<TaskFile>,
    /// The interrupts other than the kernel's own.
    #[serde(default)]
    pub interrupt: Vec<InterruptFile>,
    /// Queues between tasks.
    #[serde(default)]
    pub queue: Vec<QueueFile>,
    /// The text of the file, to find the lines of errors.
    #[serde(skip)]
    text: String,
    /// The file's name.
    #[serde(skip)]
    file: String,
}

/// A task.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The time between jobs, if the clock releases them.
    #[schemars(with = "Option<Time>")]
    pub period: Option<Spanned<Time>>,
    /// The interrupt that releases jobs, instead of the clock.
    #[schemars(with = "Option<String>")]
    pub on: Option<Spanned<String>>,
    /// The time from a release to the deadline of its job; the period by default.
    #[schemars(with = "Option<Time>")]
    pub deadline: Option<Spanned<Time>>,
    /// The priority, a larger number being more urgent, or `assign`.
    #[schemars(with = "Priority")]
    pub priority: Spanned<Priority>,
    /// The execution time of a job, without the kernel's share.
    #[schemars(with = "Work")]
    pub work: Spanned<Work>,
    /// The time from the start to the first release.
    #[schemars(with = "Option<Time>")]
    pub offset: Option<Spanned<Time>>,
    /// The maximum delay of a release for reasons outside the system.
    #[schemars(with = "Option<Time>")]
    pub jitter: Option<Spanned<Time>>,
    /// The size of its stack in bytes; 512 by default.
    #[schemars(with = "Option<u64>")]
    pub stack: Option<Spanned<u64>>,
    /// The critical sections of a job.
    #[serde(default)]
    pub lock: Vec<LockFile>,
}

/// A task's priority.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number from 0 to 4294967295, or \"assign\"")]
pub enum Priority {
    /// This priority.
    Level(u32),
    /// `assign`: a priority with which all deadlines are met, if there is one.
    Word(String),
}

/// A critical section of a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    /// The lock.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The part of the job's work during which the lock is held.
    #[serde(rename = "for")]
    #[schemars(with = "Time")]
    pub length: Spanned<Time>,
    /// The lock that is already held, if the section is nested.
    #[schemars(with = "Option<String>")]
    pub inside: Option<Spanned<String>>,
}

/// An interrupt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterruptFile {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The minimum time between two of them.
    #[schemars(with = "Time")]
    pub distance: Spanned<Time>,
    /// The execution time of its handler, without the kernel's share.
    #[schemars(with = "Work")]
    pub work: Spanned<Work>,
}

/// A queue: each job of one task sends a message, and each job of another receives all messages that
/// have accumulated.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueFile {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The task that sends.
    #[schemars(with = "String")]
    pub from: Spanned<String>,
    /// The task that receives.
    #[schemars(with = "String")]
    pub to: Spanned<String>,
    /// The capacity in messages.
    #[schemars(with = "u64")]
    pub items: Spanned<u64>,
}

impl System {
    /// Returns the JSON schema of system files, for editors that validate TOML.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }
}
