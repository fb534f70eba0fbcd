//! Instructions of Armv7-R, in both sets: what each encoding means, apart from time.

mod a32;
mod decode;
mod encoding;
pub mod op;
mod t32;
mod text;

pub use decode::{DOUBLES, Set, decode, is_wide};
pub use op::{Instruction, Op};
pub use text::disassemble;
