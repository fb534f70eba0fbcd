//! Timelines of a run, for Perfetto.
//!
//! A [`Recorder`] observes a machine and notes when handlers run, and nested in what, when
//! interrupts are masked, when the core sleeps, when spans begin and end, and which task runs
//! or is ready. A [`Timeline`] is what it has noted: slices and moments on named tracks.
//! [`Timeline::to_perfetto`] writes it as Perfetto's protobuf, which ui.perfetto.dev and its
//! trace processor open.
//!
//! What a task is, only kernels know. [`Tasks`] reads the structures of FreeRTOS, ThreadX and Zephyr by
//! their debug information, and knows by which functions Embassy, lilos, RTIC and evloop run theirs; of
//! other programs it tells the outermost function of each stack. Nothing here runs a
//! machine, reads a file or prints.

mod control_blocks;
mod perfetto;
mod polls;
mod recorder;
mod schema;
mod tasks;
mod timeline;

pub use recorder::{Recorder, SpanProbe};
pub use tasks::Tasks;
pub use timeline::{Mark, Slice, Timeline, Track};
