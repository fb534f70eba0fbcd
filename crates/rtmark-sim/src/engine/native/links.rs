//! Links: which native code follows which.
//!
//! Native code that ends a pass continues with the code of the next pass by itself, if it has been linked to it.
//! A link is made when a pass has ended and the next one has native code: where a pass ends says which program
//! counter and pipeline state the next one has, so that it is always the same one. Links belong to the entries of a
//! machine, and end together with them.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::engine::entries::Entry;
#[cfg(test)]
use crate::engine::native::NativeCode;
use crate::engine::native::pages::Function;

/// The pairs of links that an indirect exit has: a target with bit 0 set, and the address of the code for it. Bits 1 to
/// 4 of a target tell which pair it has.
pub const TARGETS: u32 = 16;
/// The links of an indirect exit.
pub const INDIRECT_LINKS: u32 = 2 * TARGETS;

/// The links of a machine, by the number of the exit that they follow.
///
/// Each is zero, or the address of the code for a pass of an entry that is kept here, and with it the code. In pairs, a
/// target that is not zero has such an address beside it.
#[derive(Debug, Default)]
pub struct Links {
    addresses: Vec<usize>,
    /// By the number of the first exit of their code.
    entries: Vec<Option<Box<Entry>>>,
    are_used: bool,
    /// How often an exit was not linked, as far as that is counted.
    refused: AtomicU8,
}

/// An exit that may be linked, by its number among those of a machine and its clones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedExit {
    pub number: u32,
    /// Its links are a table of targets.
    pub is_indirect: bool,
}

impl NumberedExit {
    const fn index(self) -> usize {
        self.number as usize
    }
}

/// Returns where the pair of a target is among the links of an indirect exit.
const fn pair_of(target: u32) -> usize {
    2 * (target / 2 % TARGETS) as usize
}

/// How often another target is met in a pair before it is linked there.
const PATIENCE: u8 = 16;

impl Links {
    /// Returns whether an exit should be linked to a target now: not each time where several targets of an indirect
    /// one share a pair.
    pub fn want(&self, exit: NumberedExit, target: u32) -> bool {
        let pair = exit.index() + pair_of(target);
        if !exit.is_indirect || self.addresses.get(pair).is_none_or(|known| *known == 0) {
            return true;
        }
        let refused = self.refused.fetch_add(1, Ordering::Relaxed);
        refused.is_multiple_of(PATIENCE)
    }

    /// Makes room for the exits of an entry's code.
    pub fn make_room(&mut self, entry: &Entry) {
        let native = entry.plans.native.as_ref();
        let end = native.map_or(0, |native| native.function().exits.end as usize);
        if self.addresses.len() < end {
            self.addresses.resize(end, 0);
            self.entries.resize_with(end, || None);
        }
    }

    /// Returns links with room for the exits of code.
    #[cfg(test)]
    pub fn with_room(native: &NativeCode) -> Self {
        Self { addresses: vec![0; native.function().exits.end as usize], ..Self::default() }
    }

    /// Returns whether there is room for the exits of a function.
    #[inline(always)]
    pub const fn cover(&self, function: &Function) -> bool {
        function.exits.end as usize <= self.addresses.len()
    }

    /// Returns where they begin.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *const usize {
        self.addresses.as_ptr()
    }

    /// Links an exit to an entry.
    pub fn add(&mut self, exit: NumberedExit, entry: &Entry) {
        let Some(native) = &entry.plans.native else { return };
        let function = native.function();
        let (Some(begin), true) = (native.address(), self.cover(function)) else { return };
        let first = function.exits.start as usize;
        let link = if exit.is_indirect {
            let target = entry.block.address;
            let pair = exit.index() + pair_of(target);
            let Some([known, address]) = self.addresses.get_mut(pair..pair + 2) else { return };
            *known = (target | 1) as usize;
            Some(address)
        } else {
            self.addresses.get_mut(exit.index())
        };
        if let Some(link) = link {
            *link = begin;
            self.entries[first].get_or_insert_with(|| Box::new(entry.clone()));
            self.are_used = true;
        }
    }

    /// Returns the entry whose code has this first exit, if something is linked to it.
    pub fn entry(&self, first_exit: u32) -> Option<&Entry> {
        self.entries.get(first_exit as usize)?.as_deref()
    }

    /// Ends all links.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.are_used) {
            self.addresses.fill(0);
            self.entries.fill_with(|| None);
        }
    }
}
