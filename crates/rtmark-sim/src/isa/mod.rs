//! The instruction set: from bits to operations.
//!
//! [`op`] lists what instructions do, [`encodings`] how they are encoded, [`decode`] turns an encoding into
//! an operation, and [`text`] prints it in assembly language. Nothing here executes or times anything.

pub mod check;
mod decode;
mod encodings;
mod features;
mod form;
mod op;
mod slot;
mod t32;
mod text;

pub use decode::decode;
pub use features::Features;
pub use form::Isa;
pub use op::{Group, Op};
pub use slot::Slot;
pub use t32::{expand_immediate, is_wide, sign_extend};
pub use text::Disassembly;
