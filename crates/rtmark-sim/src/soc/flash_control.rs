//! Registers that program and erase flash memories, and that set how fast memories are.

use serde::Deserialize;

use super::peripheral::one;

/// A field that unlocks a flash memory for stores, which then clear bits and take no time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The memory's name.
    pub memory: String,
    /// The lowest bit of the field.
    pub bit: u8,
    /// Its width in bits.
    #[serde(default = "one")]
    pub width: u8,
    /// The field's value while the memory is unlocked.
    #[serde(default = "one_in_a_word")]
    pub value: u32,
}

const fn one_in_a_word() -> u32 {
    1
}

/// A register that sets all bits of a page of a flash memory, in no time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// The memory's name.
    pub memory: String,
    /// The sizes of its pages in bytes, in order of address; the last one repeats.
    pub pages: Vec<u32>,
    /// The bit that must be written as one; if not given, any write erases.
    #[serde(default)]
    pub start: Option<u8>,
    /// The bit of this register that must be one for a page to be erased; if not given, none has to be.
    #[serde(default)]
    pub one: Option<u8>,
    /// The bit of this register that, if it is one, makes it all pages.
    #[serde(default)]
    pub all: Option<u8>,
    /// The field that holds the page's number: its lowest bit and its width. Without it, an address selects
    /// the page.
    #[serde(default)]
    pub number: Option<(u8, u8)>,
    /// The register that holds the address; if not given, the written value is the address.
    #[serde(default)]
    pub address: Option<String>,
}

impl Erase {
    /// Returns an endless sequence of the pages' offsets in the memory and sizes.
    fn each(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let last = self.pages.last().copied();
        let sizes =
            self.pages.iter().copied().chain(std::iter::repeat_with(move || last).flatten());
        sizes.scan(0_u32, |begin, size| {
            let page = (*begin, size);
            *begin = begin.checked_add(size)?;
            Some(page)
        })
    }

    /// Returns the offset in the memory and the size of the page with a number.
    pub(crate) fn numbered(&self, number: u32) -> Option<(u32, u32)> {
        self.each().nth(number as usize)
    }

    /// Returns the offset and the size of the page that contains an offset.
    pub(crate) fn around(&self, offset: u32) -> Option<(u32, u32)> {
        self.each().find(|(begin, size)| offset - begin < *size)
    }
}

/// The fields of a register that control a memory. What they do not control always stays as given by the
/// memory's own `timing`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The memory's name.
    pub memory: String,
    /// The field that holds the number of wait states: its lowest bit and its width.
    #[serde(default)]
    pub wait_states: Option<(u8, u8)>,
    /// The bit that enables prefetching.
    #[serde(default)]
    pub prefetch: Option<u8>,
    /// The bit that enables the instruction cache.
    #[serde(default)]
    pub instruction_cache: Option<u8>,
    /// The bit that enables the data cache.
    #[serde(default)]
    pub data_cache: Option<u8>,
    /// The bit that enables a unified cache.
    #[serde(default)]
    pub cache: Option<u8>,
    /// The bit that empties the instruction cache while it is set.
    #[serde(default)]
    pub empty_instruction_cache: Option<u8>,
    /// The bit that empties the data cache while it is set.
    #[serde(default)]
    pub empty_data_cache: Option<u8>,
    /// The bit that empties a unified cache.
    #[serde(default)]
    pub empty_cache: Option<u8>,
}
