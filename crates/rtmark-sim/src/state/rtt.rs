//! The state of an RTT buffer into which firmware prints: see [`crate::host`].

use crate::image::Image;
use crate::memory::Bus;

pub const IDENTIFIER: &[u8; 16] = b"SEGGER RTT\0\0\0\0\0\0";
const SYMBOL: &str = "_SEGGER_RTT";
/// Cycles from reset to the first search for a control block; the interval doubles with each further
/// search.
const FIRST_SEARCH: u64 = 20_000;

/// Where a control block may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    #[default]
    Nowhere,
    At(u32),
    Anywhere,
}

/// What is known of the firmware's RTT buffer.
#[derive(Clone, Debug)]
pub struct Rtt {
    pub search: Search,
    pub block: Option<u32>,
    /// The cycle in which the buffer is to be checked next.
    pub next: u64,
    pub pause: u64,
    /// The read offset that the firmware sees, which is how far the console has got.
    pub given: u32,
    pub shown: u32,
    /// Encoded defmt frames that nothing has taken yet.
    pub frames: Vec<u8>,
}

impl Default for Rtt {
    fn default() -> Self {
        Self {
            search: Search::Nowhere,
            block: None,
            next: u64::MAX,
            pause: FIRST_SEARCH,
            given: 0,
            shown: 0,
            frames: Vec::new(),
        }
    }
}

impl Rtt {
    /// Prepares the search for an image's buffer.
    pub fn expect(&mut self, image: &Image) {
        let symbols = image.symbols();
        self.search = match symbols.address_of(SYMBOL) {
            Some(address) => Search::At(address),
            None if symbols.iter().next().is_none() => Search::Anywhere,
            None => Search::Nowhere,
        };
    }

    pub fn reset(&mut self) {
        let next = if self.search == Search::Nowhere { u64::MAX } else { FIRST_SEARCH };
        *self = Self { search: self.search, next, ..Self::default() };
    }

    /// Returns the cycle in which the buffer is to be checked next.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    pub fn find(&self, bus: &Bus) -> Option<u32> {
        let is_block = |address: u32| {
            let mut bytes = [0; IDENTIFIER.len()];
            bus.peek(address, &mut bytes) == bytes.len() && bytes == *IDENTIFIER
        };
        match self.search {
            Search::Nowhere => None,
            Search::At(address) => is_block(address).then_some(address),
            Search::Anywhere => bus.find_in_ram(IDENTIFIER),
        }
    }
}
