//! A cache of decoded instructions, by address and bits.

use super::isa::{Instruction, decode};
use super::rules::Extensions;

/// The number of entries: a power of two.
const KEPT: usize = 4096;

/// Decoded instructions. Each entry holds its bits, so that changes of code need no invalidation.
#[derive(Clone, Debug)]
pub struct Decoded {
    instructions: Vec<(u32, Instruction)>,
    extensions: Extensions,
}

impl Decoded {
    /// Creates an empty cache for a core with these extensions.
    pub fn new(extensions: Extensions) -> Self {
        Self { instructions: vec![(0, decode(0, extensions)); KEPT], extensions }
    }

    /// Returns a placeholder that is never queried, for while this cache is lent.
    pub const fn placeholder(&self) -> Self {
        Self { instructions: Vec::new(), extensions: self.extensions }
    }

    /// Returns the instruction at an address, which has these bits.
    #[inline]
    pub fn get(&mut self, address: u32, bits: u32) -> Instruction {
        let entry = &mut self.instructions[address as usize / 2 % KEPT];
        if entry.0 != bits {
            *entry = (bits, decode(bits, self.extensions));
        }
        entry.1
    }
}
