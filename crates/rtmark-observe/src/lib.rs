//! What observers make of a run.
//!
//! - [`exception_name`] says what an exception is called;
//! - [`Place`], [`Functions`] and [`Lines`] tell an address in the program's own words: its
//!   function by the symbols, its source line and the functions inlined there by the
//!   debug information;
//! - [`Calls`] follows a run and knows at any moment which functions have called each
//!   other, for each task and each handler apart;
//! - [`Profile`] adds up by them where the cycles went.
//!
//! This crate knows no kernel and no benchmark. It is given bytes and machines, reads
//! no file and prints nothing: what is shown, and how, is its users' affair.

mod calls;
mod exceptions;
mod functions;
mod lines;
mod place;
mod profile;

pub use calls::{Calls, Node};
pub use exceptions::exception_name;
pub use functions::Functions;
pub use lines::{Inlined, Line, Lines};
pub use place::Place;
pub use profile::{Cost, FunctionCost, Profile, Report};
