//! Instructions of RV32 as Hazard3 has them: what each encoding means, apart from time.

mod decode;
mod encodings;
mod micro;
pub mod op;
mod text;

pub use decode::{Instruction, decode};
pub use micro::{MicroOp, Sequence, listed, micro_op};
pub use op::Op;
pub use text::disassemble;
