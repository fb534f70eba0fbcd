//! Sets of code addresses, queried at every instruction.

use std::collections::HashMap;

/// A set of addresses of halfwords.
#[derive(Debug, Default)]
pub struct Addresses {
    /// Blocks of 64 halfwords by their number, a bit for each halfword.
    blocks: HashMap<u32, u64>,
    /// The last block queried.
    last: (u32, u64),
}

impl Addresses {
    fn block(&mut self, address: u32) -> u64 {
        let number = address >> 7;
        if self.last.0 != number {
            self.last = (number, self.blocks.get(&number).copied().unwrap_or(0));
        }
        self.last.1
    }

    const fn bit(address: u32) -> u64 {
        1 << (address >> 1 & 63)
    }

    /// Adds an address; returns whether it is new.
    pub fn insert(&mut self, address: u32) -> bool {
        let is_new = !self.contains(address);
        if is_new {
            self.last.1 |= Self::bit(address);
            self.blocks.insert(self.last.0, self.last.1);
        }
        is_new
    }

    /// Tells whether the set contains an address.
    pub fn contains(&mut self, address: u32) -> bool {
        self.block(address) & Self::bit(address) != 0
    }

    /// Returns all addresses in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let mut blocks: Vec<(u32, u64)> =
            self.blocks.iter().map(|(at, bits)| (*at, *bits)).collect();
        blocks.sort_unstable();
        blocks.into_iter().flat_map(|(block, bits)| {
            (0..64).filter(move |at| bits >> at & 1 == 1).map(move |at| block << 7 | at << 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_contains_exactly_the_inserted_addresses() {
        let mut set = Addresses::default();
        let some = [0x0800_0000, 0x0800_0002, 0x0800_007E, 0x0800_0080, 0x2000_0100, 0];
        for address in some {
            assert!(!set.contains(address));
            assert!(set.insert(address) && !set.insert(address));
        }
        let mut sorted = some;
        sorted.sort_unstable();
        assert_eq!(set.iter().collect::<Vec<_>>(), sorted);
        assert!(!set.contains(0x0800_0004) && !set.contains(0x2000_0102));
    }
}
