//! Instructions decoded once, found again by their place and their bits.

use super::isa::{Instruction, decode};

/// How many are kept: a power of two.
const KEPT: usize = 4096;

/// Decoded instructions. Each is known with its bits, so that code which changes needs no notice.
#[derive(Clone, Debug)]
pub struct Decoded(Vec<(u32, Instruction)>);

impl Default for Decoded {
    fn default() -> Self {
        Self(vec![(0, decode(0)); KEPT])
    }
}

impl Decoded {
    /// One that is never asked, in the place of one that is elsewhere.
    pub const fn hollow() -> Self {
        Self(Vec::new())
    }

    /// The instruction that stands at an address.
    #[inline]
    pub fn get(&mut self, address: u32, bits: u32) -> Instruction {
        let entry = &mut self.0[address as usize / 2 % KEPT];
        if entry.0 != bits {
            *entry = (bits, decode(bits));
        }
        entry.1
    }
}
