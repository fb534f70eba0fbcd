//! Timelines of a run, for Perfetto.
//!
//! A [`Recorder`] observes a machine and records when handlers run and how they nest, when interrupts
//! are masked, when the core sleeps, when spans begin and end, and which task runs or is ready. The
//! resulting [`Timeline`] consists of slices and moments on named tracks. [`Timeline::to_perfetto`]
//! writes it as Perfetto's protobuf, which ui.perfetto.dev and its trace processor open.
//!
//! Only kernels know what a task is. [`Tasks`] reads the structures of FreeRTOS, ThreadX, Zephyr,
//! ChibiOS, RTX, RIOT and NuttX ([`ControlBlocks`]) with the help of their debug information, and knows the functions through which Embassy, lilos, RTIC
//! and the ring of closures run theirs; for other programs it reports the outermost function of each stack. Nothing
//! here runs a machine, reads a file or prints.

mod control_blocks;
mod perfetto;
mod polls;
mod recorder;
mod schema;
mod tasks;
mod thread_lists;
mod timeline;

pub use control_blocks::ControlBlocks;
pub use recorder::Recorder;
pub use tasks::Tasks;
pub use timeline::{Mark, Slice, SpanEdge, Timeline, Track};
