//! Links: which native code follows which.
//!
//! Native code that ends a pass continues with the code of the next pass by itself, if it has been linked to it.
//! A link is made when a pass has ended and the next one has native code: where a pass ends says which program
//! counter and pipeline state the next one has, so that it is always the same one; if fetches are planned, it says what
//! state the memory is in, too, but for what [`fetches`](super::fetches) checks. Links belong to the entries of a
//! machine, and end together with them.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::engine::entries::Entry;
use crate::engine::fetch_plan::FetchPlan;
use crate::engine::native::pages::Function;
use crate::engine::native::{NativeCode, Unlinked};

/// The pairs of links that an indirect exit has: a target with bit 0 set, and the address of the code for it. Bits 1 to
/// 4 of a target tell which pair it has.
pub const TARGETS: u32 = 16;
/// The links of an indirect exit.
pub const INDIRECT_LINKS: u32 = 2 * TARGETS;

/// The links of a machine, by the number of the exit that they follow.
///
/// Each is zero, or the address of the code for a pass of an entry that is kept here, and with it the code. In pairs, a
/// target that is not zero has such an address beside it. Among them are numbers of cached lines, one for each code
/// that begins a pass only if these are cached.
#[derive(Debug, Default)]
pub struct Links {
    addresses: Vec<AtomicUsize>,
    /// By the number of the first exit of their code.
    entries: Vec<Option<Box<Entry>>>,
    are_used: bool,
    /// How often an exit was not linked, as far as that is counted.
    refused: AtomicU8,
}

/// A link to be made, to code of an entry.
#[derive(Debug)]
pub struct NewLink {
    pub exit: NumberedExit,
    entry: Entry,
    /// The number of the first exit of the code.
    first_exit: u32,
}

/// Native code that is kept.
#[derive(Clone, Copy, Debug)]
pub struct LinkedCode<'a> {
    pub entry: &'a Entry,
    /// The plan whose code it is; `None` if it is that of the entry itself.
    pub plan: Option<&'a FetchPlan>,
    pub native: &'a NativeCode,
}

/// Returns all native code of an entry.
fn all_code(entry: &Entry) -> impl Iterator<Item = LinkedCode<'_>> {
    let plans = std::iter::successors(entry.plans.first.get(), |plan| plan.next.get());
    let of_plans = plans.map(|plan| (Some(&**plan), &plan.native));
    std::iter::once((None, &entry.plans.native)).chain(of_plans).filter_map(|(plan, native)| {
        native.as_ref().map(|native| LinkedCode { entry, plan, native })
    })
}

/// Returns the native code of an entry that has this first exit.
fn code_of(entry: &Entry, first_exit: u32) -> Option<LinkedCode<'_>> {
    all_code(entry).find(|code| code.native.function().exits.start == first_exit)
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
    /// Returns the link from an exit to the native code that executes an entry's pass, if it should be made now: not
    /// each time where several targets of an indirect exit share a pair.
    pub fn wanted(
        &self,
        unlinked: Unlinked<'_>,
        entry: &Entry,
        native: &NativeCode,
    ) -> Option<NewLink> {
        let exit = unlinked.exit;
        let wants = native.may_follow(unlinked.native) && self.want(exit, entry.block.address);
        let first_exit = native.function().exits.start;
        wants.then(|| NewLink { exit, entry: entry.clone(), first_exit })
    }

    /// Returns whether an exit should be linked to a target now.
    pub fn want(&self, exit: NumberedExit, target: u32) -> bool {
        let pair = self.addresses.get(exit.index() + pair_of(target));
        if !exit.is_indirect || pair.is_none_or(|known| known.load(Ordering::Relaxed) == 0) {
            return true;
        }
        let refused = self.refused.fetch_add(1, Ordering::Relaxed);
        refused.is_multiple_of(PATIENCE)
    }

    /// Makes room for the links of all code of an entry.
    pub fn make_room(&mut self, entry: &Entry) {
        let ends = all_code(entry).map(|code| code.native.function().exits.end as usize);
        let end = ends.max().unwrap_or(0);
        if self.addresses.len() < end {
            self.addresses.resize_with(end, AtomicUsize::default);
            self.entries.resize_with(end, || None);
        }
    }

    /// Returns links with room for those of code.
    #[cfg(test)]
    pub fn with_room(native: &NativeCode) -> Self {
        let mut links = Self::default();
        links.addresses.resize_with(native.function().exits.end as usize, AtomicUsize::default);
        links
    }

    /// Returns whether there is room for the links of code.
    #[inline(always)]
    pub const fn have_room(&self, native: &NativeCode) -> bool {
        self.cover(native.function())
    }

    /// Returns whether there is room for the links of a function.
    #[inline(always)]
    pub const fn cover(&self, function: &Function) -> bool {
        function.exits.end as usize <= self.addresses.len() || function.has_no_links()
    }

    /// Returns where they begin.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *const AtomicUsize {
        self.addresses.as_ptr()
    }

    /// Records the number of the cached lines with which a planned pass begins.
    #[inline(always)]
    pub fn note_contents(&self, native: &NativeCode, contents: u64) {
        if let Some(place) = native.contents()
            && let Some(known) = self.addresses.get(place as usize)
            && known.load(Ordering::Relaxed) != contents as usize
        {
            known.store(contents as usize, Ordering::Relaxed);
        }
    }

    /// Makes a link.
    pub fn add(&mut self, NewLink { exit, entry, first_exit }: NewLink) {
        let Some(LinkedCode { native, .. }) = code_of(&entry, first_exit) else { return };
        let (Some(begin), true) = (native.address(), self.have_room(native)) else { return };
        let place = if exit.is_indirect {
            let target = entry.block.address;
            let pair = exit.index() + pair_of(target);
            let Some([known, _]) = self.addresses.get_mut(pair..pair + 2) else { return };
            *known.get_mut() = (target | 1) as usize;
            pair + 1
        } else {
            exit.index()
        };
        if let Some(link) = self.addresses.get_mut(place) {
            *link.get_mut() = begin;
            self.entries[first_exit as usize].get_or_insert_with(|| Box::new(entry));
            self.are_used = true;
        }
    }

    /// Returns the code that has this first exit, if something is linked to it.
    pub fn code(&self, first_exit: u32) -> Option<LinkedCode<'_>> {
        code_of(self.entries.get(first_exit as usize)?.as_deref()?, first_exit)
    }

    /// Ends all links.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.are_used) {
            self.addresses.fill_with(AtomicUsize::default);
            self.entries.fill_with(|| None);
        }
    }
}
