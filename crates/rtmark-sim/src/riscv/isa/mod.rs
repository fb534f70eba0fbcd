//! The RV32 instructions of the cores: the meaning of each encoding, without timing.

mod decode;
mod encodings;
mod micro;
pub mod op;
mod text;

pub use decode::{Instruction, decode};
pub use micro::{MicroOp, Sequence, listed, micro_op};
pub use op::Op;
pub use text::disassemble;
