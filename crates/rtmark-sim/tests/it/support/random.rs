//! Pseudo-random numbers that are the same on every host.

/// Marsaglia's xorshift64*. The state must not be zero.
pub struct Random(pub u64);

impl Random {
    /// Creates a generator whose first numbers differ well between small seeds.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    pub fn below(&mut self, end: u32) -> u32 {
        self.word() % end
    }

    pub fn half(&mut self, end: u16) -> u16 {
        self.below(end.into()) as u16
    }
}
