//! Random numbers that are the same on every host, from a seed that messages state.

/// A xorshift generator (Marsaglia's xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator; every seed, including zero, gives another sequence.
    pub fn new(seed: u64) -> Self {
        // One step of splitmix64 keeps small seeds from giving similar beginnings.
        let mixed = (seed.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ seed >> 31)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self((mixed ^ mixed >> 27) | 1)
    }

    /// The next 32 bits.
    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(end)) >> 32) as u32
    }

    /// Returns true in `part` of `whole` cases.
    pub fn chance(&mut self, part: u32, whole: u32) -> bool {
        self.below(whole) < part
    }

    /// Chooses one of several items; there must be at least one.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u32) as usize]
    }
}
