//! Runs task sets on the simulator, in a kernel's own binary, for comparison with their bounds.
//!
//! A [`Bench`] holds a kernel's `plan` image for one soc. [`Bench::calibrate`] measures on that
//! very image how long a round of its loop takes and what the kernel costs. [`Bench::run`] writes a
//! set into the image, runs it, and returns each task's longest response and where it occurred;
//! [`Bench::search`] repeats this for many offsets, and [`Bench::timeline`] shows what ran during
//! the longest response.
//!
//! This crate does not know how bounds are computed, prints nothing, and reads no files.

mod alarm;
mod calibrate;
mod image;
mod messages;
mod run;
mod search;
mod timeline;
mod turns;

pub use calibrate::Calibration;
pub use image::{Bench, MAX_INTERRUPTS, MAX_ITEMS, MAX_LOCKS, MAX_QUEUES, MAX_TASKS, SetError};
pub use run::{Observed, SetRun, Traffic, Wake, Witness};
pub use search::{SearchEffort, SearchResult, TaskResult};
