//! Finds out what became slower, what became faster, and what cannot be compared.
//!
//! [`compare()`] pairs the answers of two runs and gives each pair a [`Verdict`]. Exact series are
//! compared exactly: every difference is real, however small. Sampled series are compared by their
//! medians, with an interval and a rank test ([`Estimate`]). If spans, bases, clocks or settings
//! differ, nothing is compared: the verdict is [`Verdict::Incomparable`], and each [`Difference`] is
//! named. [`gate()`] checks a comparison against budgets ([`Policy`]), [`validate()`] scores the
//! simulator against a board, and [`history()`] finds the runs at which a series changed.
//!
//! This crate runs nothing, opens no store and prints nothing.

mod change;
mod compare;
mod differences;
mod estimate;
mod gate;
mod history;
mod policy;
mod render;
mod validate;

pub use change::{Change, Measure};
pub use compare::{Comparison, Pair, RunLabel, Verdict, compare};
pub use differences::{Aspect, Difference};
pub use estimate::{DRAWS, Estimate, LEVEL, MIN_SAMPLES, SEED};
pub use gate::{Excess, Finding, Gate, gate};
pub use history::{Point, Step, chart, history};
pub use policy::{Acknowledged, Budget, Policy, PolicyError};
pub use render::{Rows, github, json, junit, markdown, table};
pub use validate::{OmittedScenario, Row, Score, Validation, validate};
