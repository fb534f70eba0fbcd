//! Response-time analysis of task sets, with the measured costs of a kernel.
//!
//! Start with [`Set`]: tasks, locks and interrupts, in cycles. A [`Model`] describes a kernel as
//! the analysis sees it, and [`Costs`] holds what that kernel was measured to cost.
//! [`Model::bounds`] computes the worst-case response time of each task; each [`Bound`] lists the
//! [`Term`]s it is made of. [`search`] answers further questions, such as which priorities work.
//!
//! This crate runs nothing, reads no files and knows no simulator: the caller supplies all figures.

mod answer;
mod blocking;
mod bound;
mod costs;
mod curves;
pub mod draw;
mod model;
mod no_bound;
mod page;
mod recipes;
pub mod search;
mod set;
mod sweep;
mod system;
mod term;
mod text;
mod timeline;
mod turns;

pub use answer::{
    CostFigure, CostsOf, Document, Gain, KernelPlan, Outcome, QueueRun, RunPlan, SCHEMA_VERSION,
    SuitePlan, TaskPlan, TaskRun, Verdict, WakePlan, WitnessPlan,
};
pub use blocking::{Blocker, Chain, LockCycles, Protocol, blockers};
pub use bound::{Arrivals, Bound, Question, Stream, Unbounded};
pub use costs::{Cost, Costs, Figure, Missing};
pub use curves::{Curves, PeriodPoint, TasksPoint};
pub use model::{Model, Order, Timer};
pub use no_bound::NoBound;
pub use recipes::Spans;
pub use set::{Granule, Interrupt, Queue, Release, Section, Set, Task};
pub use sweep::{JoinError, Sweep};
pub use system::{
    Chip, EXAMPLE, Function, InterruptFile, LockFile, Priority, QueueFile, Rounding, System,
    SystemError, TaskFile, Time, Work,
};
pub use term::{Kind, Origin, Part, Term};
pub use text::Form;
pub use timeline::{Actor, ReleasePlan, SlicePlan, Timeline};
