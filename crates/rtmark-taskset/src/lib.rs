//! Task sets on the machine: a kernel's own binary, with the set written into it, beside its bounds.
//!
//! A [`Bench`] holds the image `plan` of a kernel for one soc. [`Bench::calibrate`] measures on that very image what
//! a round of its loop takes and what the kernel costs; [`Bench::run`] writes a set into the image, runs
//! it, and says how long each task's jobs took at the most, and where; [`Bench::search`] does so from many
//! offsets, and [`Bench::timeline`] shows who ran in the one that took longest.
//!
//! Nothing here knows how bounds are made, prints, or reads a file.

mod alarm;
mod calibrate;
mod image;
mod messages;
mod run;
mod search;
mod timeline;
mod turns;

pub use calibrate::Calibration;
pub use image::{
    Bench, MOST_INTERRUPTS, MOST_ITEMS, MOST_LOCKS, MOST_QUEUES, MOST_TASKS, SetError,
};
pub use run::{Observed, Ran, Traffic, Wake, Witness};
pub use search::{Effort, Found, Searched};
