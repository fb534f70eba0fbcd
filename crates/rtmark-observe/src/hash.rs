//! A fast hash for maps that are consulted at every instruction.

use std::hash::{BuildHasherDefault, Hasher};

/// The builder of such hashes.
pub type FastBuildHasher = BuildHasherDefault<FastHasher>;

/// A hash of a few numbers that no attacker chooses.
#[derive(Debug, Default)]
pub struct FastHasher(u64);

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32((*byte).into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        // The multiplier of Knuth's multiplicative hashing: 2^64 divided by the golden ratio.
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}
