//! Measures what an application pays its kernel.
//!
//! - [`Api`] decides by name which functions of an image are the kernel's: those that an application
//!   calls, those that these call, and those through which the kernel calls back;
//! - [`CallRecorder`] observes a run and times each call of an API function;
//! - [`KernelCost`] is the result: calls by function, origin and outcome, and how the processor's time was
//!   shared;
//! - [`EqualCalls`] are the calls that have the span of a scenario in the catalogue. The kernel's file
//!   defines which do, with conditions on arguments, results, the other threads, and members of
//!   structures that debug information describes.
//!
//! A *call* begins with the calling instruction and ends before the first instruction after it. Only
//! the outermost call counts: what a kernel function calls in turn is part of it, and calls by the
//! kernel's own threads do not count.
//!
//! This crate runs no machine, reads no file and prints nothing. Its only knowledge of kernels are the
//! names in `kernels/*.toml`.

mod addresses;
mod api;
mod carried;
mod classes;
mod condition;
mod cost;
mod inlined;
mod matcher;
mod open;
mod recorder;
mod roles;
mod rules;
mod wrappers;

pub use api::{Api, ApiError, Kind};
pub use cost::{CalledFunction, Cycles, InlinedCall, KernelCost, Origin, Outcome, Shares, Site};
pub use matcher::{AmbiguousScenarios, EqualCalls, Timed};
pub use recorder::CallRecorder;
