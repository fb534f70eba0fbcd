//! Task sets with deadlines, and whether they hold with what a kernel costs.
//!
//! Start with [`Set`]: tasks, locks and interrupts in cycles. A [`Model`] is a kernel as analysis sees
//! it, [`Costs`] are what it was measured to cost, and [`Model::bounds`] says how long each task's jobs take
//! at the worst, each [`Bound`] with the [`Term`]s that it is made of. [`search`] has the questions behind that one.
//!
//! Nothing here runs anything, reads a file or knows a simulator: whoever asks brings the figures.

mod answer;
mod blocking;
mod bound;
mod costs;
mod curves;
pub mod draw;
mod model;
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
pub use blocking::{Blocker, Chain, Protocol, blockers};
pub use bound::{Arrivals, Bound, Question, Stream, Unbounded};
pub use costs::{Cost, Costs, Figure, Missing};
pub use curves::{Curves, PeriodPoint, TasksPoint};
pub use model::{Model, NoBound, Order, Timer};
pub use recipes::Spans;
pub use set::{Interrupt, Queue, Release, Section, Set, Task};
pub use sweep::{JoinError, Sweep};
pub use system::{
    Chip, EXAMPLE, Function, InterruptFile, LockFile, Priority, QueueFile, System, SystemError,
    TaskFile, Time, Work,
};
pub use term::{Kind, Origin, Part, Term};
pub use text::Form;
pub use timeline::{RanPlan, ReleasePlan, Timeline, Who};
