//! The Armv7-R instructions of both sets: the meaning of each encoding, without timing.

mod a32;
mod decode;
mod encoding;
pub mod op;
mod t32;
mod text;

pub use decode::{DOUBLES, InstructionSet, decode};
pub use op::{Instruction, Op};
pub use text::disassemble;
