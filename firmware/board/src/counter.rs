//! Counting across tasks and interrupts.

use core::sync::atomic::{AtomicU32, Ordering};

/// A number that one task or handler increments and others read.
///
/// Read and written in two steps, because the smallest cores have no other way without
/// masking interrupts, and with a single writer none is needed.
#[derive(Debug, Default)]
pub struct Counter(AtomicU32);

impl Counter {
    /// Zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// What has been counted.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Begins anew from this number.
    pub fn set(&self, count: u32) {
        self.0.store(count, Ordering::Release);
    }

    /// Counts one more, and says how many that makes.
    pub fn increment(&self) -> u32 {
        let count = self.get().wrapping_add(1);
        self.0.store(count, Ordering::Release);
        count
    }
}
