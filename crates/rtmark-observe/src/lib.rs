//! Observers, and what they conclude from a run.
//!
//! - [`ExceptionNames`] names an exception, also after its handler's symbol;
//! - [`Map`], [`Functions`] and [`Lines`] translate an address into the program's own terms: its
//!   function from the symbols, its source line and the functions inlined there from the debug
//!   information;
//! - [`missing_debug_info`] reports which of these a file lacks, and why;
//! - [`member_of`] locates a structure's member by the debug information;
//! - [`Calls`] tracks the call stack of each task and each handler;
//! - [`landmarks`] are the only places at which a run needs to be examined for that: the rest of it
//!   executes at full speed;
//! - [`Profile`] sums up where the cycles went, by function and call stack;
//! - [`SpanRecorder`] and [`Pairing`] pair the begins and ends of spans into samples;
//! - [`Attribution`] splits the cycles of one span, and [`Difference`] shows where those of two spans
//!   differ;
//! - [`HeldBackRecorder`] lists the intervals in which an interrupt would have been held back;
//! - [`sizes`] tells which symbols, files and crates an image's flash and RAM belong to;
//! - [`RunClock`] is the clock by which a run's cycles become times;
//! - [`Stacks`] measures how much of their stacks tasks and interrupts have used;
//! - [`watch_main_stack`] lets a machine look for its main stack to grow into other data, and [`uncleared`] looks for
//!   data that start-up code has not cleared.
//!
//! ```
//! use rtmark_observe::Profile;
//! use rtmark_sim::{Cycles, Image, Machine, Soc};
//!
//! # fn firmware() -> Vec<u8> {
//! #     let words = [0x2000_1000_u32, 0x0800_0009, 0xE7FE_BF00];
//! #     words.map(u32::to_le_bytes).concat()
//! # }
//! let soc = Soc::from_toml(include_str!("../../../socs/stm32c031.toml"))?;
//! let image = Image::from_bytes(&firmware(), 0x0800_0000)?;
//! let mut machine = Machine::new(&soc);
//! machine.load(&image)?;
//! let mut profile = Profile::new(&machine, image.symbols());
//! machine.run_observed(Cycles(10_000), &mut profile);
//! for function in profile.report(&machine, None).functions {
//!     println!("{:8} {}", function.exclusive_cycles, function.name);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows no kernel's structures and no benchmark. It works on bytes and machines, reads no file and
//! prints nothing: presentation is left to its users.

mod attribution;
mod author;
mod calls;
mod debug_info;
mod difference;
mod exceptions;
mod functions;
mod hash;
mod held;
mod landmarks;
mod lines;
mod live;
mod main_stack;
mod members;
mod pair;
mod place;
mod profile;
mod role;
mod run_clock;
mod sizes;
mod stacks;
mod stated_clock;
mod uncleared;
mod without_model;

pub use attribution::{Attribution, Part, Share, SpanCost};
pub use calls::{Calls, Node};
pub use debug_info::missing_debug_info;
pub use difference::{Difference, Inclusive, Row};
pub use exceptions::{ExceptionNames, handler_note};
pub use functions::{Functions, shared_name};
pub use held::{HeldBackRecorder, HeldInterrupt};
pub use landmarks::landmarks;
pub use lines::Lines;
pub use main_stack::{stack_overflow, watch_main_stack};
pub use members::{Member, member_of, offset_of};
pub use pair::{Edge, Moment, Pairing, SpanRecorder};
pub use place::Map;
pub use profile::{Cost, FunctionCost, Profile, Report};
pub use role::Role;
pub use run_clock::{ClockNote, ClockOrigin, RunClock, clock_control, ignored_clock};
pub use sizes::{Size, SizeGroup, sizes};
pub use stacks::{StackKind, StackUse, Stacks, ThreadNames};
pub use uncleared::uncleared;
pub use without_model::{Unmodelled, core_and_dma_notes, list_unmodelled, model_notes, unmodelled};
