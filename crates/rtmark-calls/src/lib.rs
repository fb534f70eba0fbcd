//! What an application pays its kernel.
//!
//! - [`Api`] tells by names which functions of an image are the kernel's: those that an
//!   application calls, those behind them, and those by which the kernel calls back;
//! - [`CallRecorder`] observes a run and times each call of the former;
//! - [`Paid`] is what comes of it: calls by function, by where they came from and by how they went
//!   on, and how the processor's time was shared;
//! - [`EqualCalls`] are those that have the span of a scenario of the catalogue: which do is data of
//!   the kernel's file, as conditions on arguments, results, the other threads, and the members of
//!   structures that debug information tells.
//!
//! A *call* begins with the instruction that calls, and ends before the first instruction behind
//! it. Only the outermost counts: what a kernel's function calls in its turn is part of it, and what
//! the kernel's own threads call is nobody's.
//!
//! This crate runs no machine, reads no file and prints nothing. What it knows of kernels are the
//! names in `kernels/*.toml`.

mod addresses;
mod api;
mod condition;
mod inlined;
mod matched;
mod paid;
mod recorder;
mod rules;

pub use api::{Api, ApiError, Kind};
pub use matched::{EqualCalls, Timed, Untold};
pub use paid::{Called, Cycles, InlinedCall, Origin, Outcome, Paid, Shares, Site};
pub use recorder::CallRecorder;
