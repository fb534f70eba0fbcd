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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher as _, Hash};

    use super::*;

    fn hash(value: impl Hash) -> u64 {
        FastBuildHasher::default().hash_one(value)
    }

    /// A table finds its place by the lowest bits and compares the highest ones first: of 128 keys at regular
    /// distances, 81 of 128 values would be taken if they were drawn at random.
    #[test]
    fn the_lowest_and_highest_bits_of_keys_differ() {
        for distance in [1, 2, 4, 256, 1024, 0x1_0000, 0x100_0000] {
            let keys = || (0..128_u32).map(|at| 0x0800_0000 ^ at.wrapping_mul(distance));
            let second: Vec<u64> = keys().map(|key| hash((7_u32, key))).collect();
            let first: Vec<u64> = keys().map(|key| hash((key, 0x0800_1234_u32))).collect();
            for hashes in [first, second] {
                let lowest: BTreeSet<u64> = hashes.iter().map(|hash| hash % 128).collect();
                let highest: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
                assert!(lowest.len() > 32, "{distance:#x}: {}", lowest.len());
                assert!(highest.len() > 32, "{distance:#x}: {}", highest.len());
            }
        }
    }

    #[test]
    fn every_byte_counts_in_its_place() {
        let texts = ["", "a", "b", "ab", "ba", "abc"];
        let hashes: BTreeSet<u64> = texts.map(|text| hash(text.as_bytes())).into();
        assert_eq!(hashes.len(), texts.len());
    }
}
