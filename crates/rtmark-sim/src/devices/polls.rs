//! Detection of a program that polls a register which never changes by itself.

use std::collections::BTreeMap;

/// Successive reads of the same value after which a program counts as polling.
const POLLED: u32 = 1_000;
/// The maximum number of cycles between two of those reads.
const APART: u64 = 2_000;
/// The maximum number of registers that are tracked.
const MOST: usize = 64;

/// The value that a register was last read as, and how often.
#[derive(Clone, Copy, Debug)]
struct Poll {
    value: u32,
    times: u32,
    cycle: u64,
}

/// The tracked registers by address.
#[derive(Clone, Debug, Default)]
pub struct Polls(BTreeMap<u32, Poll>);

impl Polls {
    /// Returns whether the program is polling this register, which it has just read.
    pub fn read(&mut self, address: u32, value: u32, now: u64) -> bool {
        if self.0.len() >= MOST && !self.0.contains_key(&address) {
            self.0.clear();
        }
        let poll = self.0.entry(address).or_insert(Poll { value, times: 0, cycle: now });
        let continues = poll.value == value && now.saturating_sub(poll.cycle) <= APART;
        let times = if continues { poll.times.saturating_add(1) } else { 1 };
        *poll = Poll { value, times, cycle: now };
        times > POLLED
    }

    /// Forgets the registers in a range of addresses, because something was written there.
    pub fn forget(&mut self, base: u32, size: u32) {
        if !self.0.is_empty() {
            self.0.retain(|address, _| address.wrapping_sub(base) >= size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_polling_loops_are_detected_as_waiting() {
        let mut polls = Polls::default();
        let mut read = |address, value, now| polls.read(address, value, now);
        assert!((0..1_000).all(|turn| !read(0x4000_0000, 7, 10 * turn)));
        assert!(read(0x4000_0000, 7, 10_000) && read(0x4000_0000, 7, 10_010));
        // Another value, a later time, another register.
        assert!(!read(0x4000_0000, 8, 10_020));
        assert!((0..3_000).all(|turn| !read(0x4000_0004, 0, 3_000 * turn)));
        let mut polls = Polls::default();
        assert!((0..3_000_u64).all(|turn| {
            polls.forget(0x4000_0000, if turn % 500 == 0 { 0x1000 } else { 0 });
            !polls.read(0x4000_0008, 0, turn)
        }));
    }
}
