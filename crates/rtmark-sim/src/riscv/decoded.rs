//! Instructions decoded once, found again by their place and their bits.

use super::isa::{Instruction, decode};
use super::rules::Extensions;

/// How many are kept: a power of two.
const KEPT: usize = 4096;

/// Decoded instructions. Each is known with its bits, so that code which changes needs no notice.
#[derive(Clone, Debug)]
pub struct Decoded {
    instructions: Vec<(u32, Instruction)>,
    extensions: Extensions,
}

impl Decoded {
    /// None yet, of a core that has these extensions.
    pub fn new(extensions: Extensions) -> Self {
        Self { instructions: vec![(0, decode(0, extensions)); KEPT], extensions }
    }

    /// One that is never asked, in the place of this one, which is elsewhere.
    pub const fn hollow(&self) -> Self {
        Self { instructions: Vec::new(), extensions: self.extensions }
    }

    /// The instruction that stands at an address.
    #[inline]
    pub fn get(&mut self, address: u32, bits: u32) -> Instruction {
        let entry = &mut self.instructions[address as usize / 2 % KEPT];
        if entry.0 != bits {
            *entry = (bits, decode(bits, self.extensions));
        }
        entry.1
    }
}
