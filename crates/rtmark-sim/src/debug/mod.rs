//! Observing and controlling a run from outside: watches, observers, single steps, trial interrupts.

mod bound;
mod control;
mod core_model;
mod observe;
mod roles;
mod trial;

pub use self::bound::{Bound, Taken};
pub use self::control::RETURN;
pub use self::core_model::{Controlled, CoreModel, Roles, Trials};
pub use self::observe::{Access, AccessKind, Instruction, Marks, Observed};
pub use self::roles::{ARM_INTEGERS, ARM_SINGLES};
pub use self::trial::{Advance, Tried};
