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
pub use time::{Function, Time, Work};

/// An example with every key, printed by `rtmark plan --init`.
pub const EXAMPLE: &str = include_str!("example.toml");

/// A system: tasks with deadlines, what they share, and where they are to run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The soc, by name or by the path of its file; times in units are cycles of its clock.
    #[schemars(with = "String")]
    pub soc: Spanned<String>,
    /// The kernels to consider.
    #[schemars(with = "Vec<String>")]
    pub kernels: Vec<Spanned<String>>,
    /// The set of build settings: `product` without.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// From one tick to the next, where the kernel has a tick: a millisecond without.
    #[schemars(with = "Option<Time>")]
    pub tick: Option<Spanned<Time>>,
    /// How much of each deadline must be left, in percent: a plan that leaves less is refused.
    #[schemars(with = "Option<f64>")]
    pub slack_percent: Option<Spanned<f64>>,
    /// What tasks lock.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub locks: Vec<Spanned<String>>,
    /// The tasks.
    #[serde(default)]
    pub task: Vec<TaskFile>,
    /// The interrupts besides the kernel's own.
    #[serde(default)]
    pub interrupt: Vec<InterruptFile>,
    /// Queues between tasks.
    #[serde(default)]
    pub queue: Vec<QueueFile>,
    /// The text, to find lines in.
    #[serde(skip)]
    text: String,
    /// What the file is called.
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
    /// From one job to the next, where the clock releases them.
    #[schemars(with = "Option<Time>")]
    pub period: Option<Spanned<Time>>,
    /// The interrupt that releases them instead.
    #[schemars(with = "Option<String>")]
    pub on: Option<Spanned<String>>,
    /// From a release to when its job must be done: the period without.
    #[schemars(with = "Option<Time>")]
    pub deadline: Option<Spanned<Time>>,
    /// How urgent it is, larger being more urgent, or `assign`.
    #[schemars(with = "Priority")]
    pub priority: Spanned<Priority>,
    /// What a job executes, the kernel's own doings apart.
    #[schemars(with = "Work")]
    pub work: Spanned<Work>,
    /// From the start to the first release.
    #[schemars(with = "Option<Time>")]
    pub offset: Option<Spanned<Time>>,
    /// By how much a release may be late for reasons outside the system.
    #[schemars(with = "Option<Time>")]
    pub jitter: Option<Spanned<Time>>,
    /// Bytes of its stack: 512 without.
    #[schemars(with = "Option<u64>")]
    pub stack: Option<Spanned<u64>>,
    /// For how much of its work it holds locks.
    #[serde(default)]
    pub lock: Vec<LockFile>,
}

/// A task's priority.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number from 0 to 4294967295, or \"assign\"")]
pub enum Priority {
    /// This one.
    Level(u32),
    /// `assign`: one with which all deadlines are met, if there is any.
    Word(String),
}

/// A stretch of a job in which it holds a lock.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    /// Which.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// For how much of the job's work.
    #[serde(rename = "for")]
    #[schemars(with = "Time")]
    pub length: Spanned<Time>,
    /// The lock that it holds already.
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
    /// From one to the next, at least.
    #[schemars(with = "Time")]
    pub distance: Spanned<Time>,
    /// What its handler executes, the kernel's own doings apart.
    #[schemars(with = "Work")]
    pub work: Spanned<Work>,
}

/// A queue: each job of one task sends a message, each of another receives what has gathered.
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
    /// How many messages it holds.
    #[schemars(with = "u64")]
    pub items: Spanned<u64>,
}

impl System {
    /// Returns the JSON schema of system files, for editors that validate TOML.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }
}
