//! Observing and controlling a run from outside: watches, observers, single steps, trial interrupts.

mod bound;
mod checkpoint;
mod control;
mod core_model;
mod observe;
mod roles;
mod trial;

pub use self::bound::{Bound, Elapsed};
pub use self::control::RETURN;
pub use self::core_model::{Controlled, CoreModel, Roles, Trials};
pub use self::observe::{Access, AccessKind, BoundaryCounts, Instruction, Observed};
pub use self::roles::{ARM_INTEGERS, ARM_SINGLES};
pub use self::trial::{Advance, TrialOutcome};
