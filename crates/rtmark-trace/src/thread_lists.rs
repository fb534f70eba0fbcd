//! Finds the threads in a kernel's lists, also those that have not run yet.
//!
//! Where the lists are and how they are linked is from symbols and debug information. Whatever memory holds, a search
//! ends.

use std::ops::Range;

use rtmark_observe::{member_of, offset_of};
use rtmark_sim::Machine;

use crate::control_blocks::word;

/// The most threads found in one list.
const LONGEST: usize = 256;
/// The most lists: FreeRTOS has one for each priority.
const MOST_LISTS: usize = 256;

/// The lists of a kernel.
#[derive(Clone, Debug)]
pub enum ThreadLists {
    /// An array of lists of ready threads, each a ring of items that begins and ends with one in the list itself.
    Rings {
        array: Range<u32>,
        /// The size of a list, and the offset of its own item.
        list: (u32, u32),
        /// The offsets of the next item and of the thread in an item.
        item: (u32, u32),
    },
    /// All threads, each of which leads to the next one.
    Chain {
        /// The address of the pointer to the first one.
        first: u32,
        /// The offset of the pointer to the next one.
        next: u32,
    },
}

impl ThreadLists {
    /// FreeRTOS 10 and 11 (`list.h`), with the lists of ready threads at these addresses. The item of the list itself
    /// begins like any other.
    pub fn free_rtos(elf: &[u8], array: Range<u32>) -> Option<Self> {
        let end = member_of(elf, "xLIST", "xListEnd")?;
        let checked = offset_of(elf, "xLIST", "xListIntegrityValue2").is_some();
        let size = end.offset + end.size? + if checked { 4 } else { 0 };
        let of_item = |member| offset_of(elf, "xLIST_ITEM", member);
        let item = (of_item("pxNext")?, of_item("pvOwner")?);
        (size > 0).then_some(Self::Rings { array, list: (size, end.offset), item })
    }

    /// A chain, if its beginning and the offset of its pointers are known.
    pub fn chain(first: Option<u32>, next: Option<u32>) -> Option<Self> {
        Some(Self::Chain { first: first?, next: next? })
    }

    /// Returns the control blocks of the threads in the lists.
    pub fn blocks(&self, machine: &Machine) -> Vec<u32> {
        // What follows a place along pointers at an offset in each, until they lead back to it or nowhere.
        let ring = |from: u32, next: u32| {
            let follow = move |place: u32| word(machine, place.wrapping_add(next));
            let places = std::iter::successors(Some(follow(from)), move |it| Some(follow(*it)));
            places.take_while(move |place| *place != from && *place != 0).take(LONGEST)
        };
        match self {
            Self::Rings { array, list: (size, end), item: (next, owner) } => {
                let lists = array.clone().step_by(*size as usize).take(MOST_LISTS);
                let items = lists.flat_map(|list| ring(list.wrapping_add(*end), *next));
                items.map(|item| word(machine, item.wrapping_add(*owner))).collect()
            }
            Self::Chain { first, next } => {
                let first = word(machine, *first);
                std::iter::once(first).chain(ring(first, *next)).collect()
            }
        }
    }
}
