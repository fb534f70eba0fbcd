//! Carries out measurements: decides what to run and in which order, and collects the results.
//!
//! A [`Selection`] is resolved into a [`Plan`] before anything runs. A [`Suite`] builds the plan's
//! firmware and runs every scenario on a machine of its own. A [`SuiteObserver`] receives progress and
//! keeps the answers. If something goes wrong with one scenario, the failure becomes that scenario's
//! answer and stops no other.
//!
//! Begin with `plan` and [`Suite::run`]. From there one scenario goes to `measure` on the simulator,
//! `emulate` on QEMU, or [`boards`] on a board. Of probe hits `rtmark-observe` makes samples, and [`clocked`]
//! does so with printed logs.
//!
//! A [`ForeignImage`] image, built by somebody else, becomes a kernel's column as well: its calls and its
//! console output are measured.
//!
//! This crate parses no arguments, prints nothing and never ends the process.

#![expect(
    clippy::result_large_err,
    reason = "answers and failures are passed once per scenario, which takes a million times longer"
)]

pub mod boards;
pub mod clocked;
mod column;
mod description_file;
mod emulate;
mod explain;
pub mod fairness;
mod footprint;
mod held;
mod images;
pub mod input_file;
pub mod internal_error;
mod judge;
pub mod machines;
mod measure;
mod observer;
mod placed;
mod plan;
mod platform;
mod probe_watch;
pub mod recording;
mod run;
mod run_limit;
mod same;
pub mod socs;
mod suite;
#[cfg(test)]
mod tests;

pub use boards::{Bench, BoardFile, Rehearsal};
pub use column::{Column, ColumnError, ColumnOptions, ForeignImage, ImageFootprint};
pub use description_file::{FileError, FileKind, nearest};
pub use emulate::{DEADLINE, emulate};
pub use explain::{Explained, explain};
pub use footprint::{Object, ObjectCost, objects, stacks};
pub use judge::Clocked;
pub use machines::MachineFile;
pub use measure::{Measured, Probed, measure};
pub use observer::{Event, Origin, SuiteObserver};
pub use placed::Placements;
pub use plan::{NothingSelected, Plan, SETTINGS, Selection, Unit};
pub use platform::Platform;
pub use probe_watch::probe_watch;
pub use run::{Ending, SLICE, Session};
pub use run_limit::RunLimit;
pub use same::{Build, CodeChange, CodeDifference};
pub use suite::{Explanation, Footprint, Suite};
