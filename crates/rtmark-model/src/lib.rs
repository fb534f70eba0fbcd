//! The vocabulary of rtmark as types.
//!
//! A [`Scenario`] of the [`Catalogue`] is one operation, timed over a [`Span`]. A kernel's [`Answer`]
//! to it is a [`Series`] of [`Samples`] with its [`Provenance`], or the reason why there is none.
//! Results are [`Exact`] or [`Sampled`], which are different types: the first need no statistics to be
//! compared, the second must not be compared without. Figures in a log whose samples are not available
//! are [`Summarised`], a third type.
//!
//! This crate reads no file, runs nothing and prints nothing. What is serialised here has a version
//! ([`SCHEMA_VERSION`]) and a JSON schema.

mod answer;
mod basis;
mod catalogue;
mod curve;
mod equal;
mod fairness;
mod fit;
mod held;
mod id;
mod masked;
mod place;
mod samples;
mod series;
mod settings;
mod span;
mod summarised;
mod text;

pub use answer::{Answer, Document, Failure, FailureKind, Reported, SCHEMA_VERSION};
pub use basis::{Backend, Basis};
pub use catalogue::{Catalogue, CatalogueError, HeldBack, Point, Scenario};
pub use curve::{Curve, CurvePoint, Missing};
pub use equal::{EqualRow, Suite};
pub use fairness::{Effect, FAIRNESS_VERSION, Fairness, Unequal, UnequalKind};
pub use fit::{Fit, Order, fit};
pub use held::{HeldInterval, Victim};
pub use id::{
    IdError, KernelId, LONGEST_ID, Pattern, PatternError, ScenarioId, current_kernel_name,
};
pub use masked::{MaskRegister, Masked};
pub use place::{Frame, Line, Owner, Place, Source};
pub use samples::{Disturbance, Mode, Run, Samples, SamplesError, Statistics, Summary};
pub use series::{
    Board, Compiler, Exact, Firmware, InstructionCounts, Key, LONE_ENDS_FACT, Placement,
    Provenance, Readings, SELECTED_CLOCK_FACT, Sampled, Series, Setting, Spread, Tier, TimingBasis,
    UNSTATED, Unpaired, WITHOUT_MODEL_FACT, clock_note,
};
pub use settings::{
    AbsentValue, DEFAULT_PROFILE, Difference, Form, SETTINGS, SettingInfo, Settings, Weight,
    differences, setting_info,
};
pub use span::{Counted, Expected, Overhead, PROBES_SECTION, SELECT_SYMBOL, Span};
pub use summarised::{Bin, Flag, FlagKind, LogSource, Near, Percentile, Statistic, Summarised};
pub use text::visible;
