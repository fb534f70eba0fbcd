//! Decoded code, kept so that each instruction is decoded once.
//!
//! Code in flash cannot change while it runs: its slots are decoded a page at a
//! time and shared by every clone of a machine. Code in RAM is decoded slot by
//! slot into a cache of the machine's own and dropped when it is written over.

use std::sync::{Arc, OnceLock};

use crate::bus::Bus;
use crate::cpu::Features;
use crate::isa::{Op, Slot, decode, is_wide};
use crate::soc::{Memory, MemoryKind, Soc};
use crate::timing::Rules;

const PAGE_SHIFT: u32 = 9;
/// Bytes of code in a page. Pages are aligned to their size.
pub const PAGE_BYTES: u32 = 1 << PAGE_SHIFT;
/// Slots in a page, one a halfword.
pub const PAGE_SLOTS: usize = 1 << (PAGE_SHIFT - 1);

/// The decoded instructions that begin at each halfword of a piece of code.
pub type Page = [Slot; PAGE_SLOTS];

type SharedPages = Arc<[OnceLock<Box<Page>>]>;

#[derive(Debug)]
enum Pages {
    Shared(SharedPages),
    Own(Vec<Option<Box<[Option<Slot>; PAGE_SLOTS]>>>),
}

/// A range of addresses that code may run from.
#[derive(Debug)]
struct Window {
    base: u32,
    size: u32,
    /// The size of its memory's lines, if it matters when one is entered.
    line_bytes: Option<u32>,
    pages: Pages,
}

impl Window {
    fn new(base: u32, memory: &Memory) -> Self {
        let pages = (memory.size as usize).div_ceil(1 << PAGE_SHIFT);
        let pages = match memory.kind {
            MemoryKind::Flash => Pages::Shared((0..pages).map(|_| OnceLock::new()).collect()),
            MemoryKind::Ram => Pages::Own((0..pages).map(|_| None).collect()),
        };
        let line_bytes = u32::from(memory.timing.line_bytes);
        let line_bytes = Some(line_bytes).filter(|_| memory.timing.wait_states > 0);
        Self { base, size: memory.size, line_bytes, pages }
    }
}

impl Clone for Window {
    /// Code in RAM is decoded anew by each clone: its memory goes its own way.
    fn clone(&self) -> Self {
        let pages = match &self.pages {
            Pages::Shared(pages) => Pages::Shared(Arc::clone(pages)),
            Pages::Own(pages) => Pages::Own((0..pages.len()).map(|_| None).collect()),
        };
        Self { base: self.base, size: self.size, line_bytes: self.line_bytes, pages }
    }
}

/// Stands before an instruction at which the run is to stop. Its operand is none
/// that asks for semihosting.
const STOP: Slot = Slot { op: Op::Bkpt, cost: 0, ..Slot::undefined(2) };

/// What decoding depends on besides the bits.
#[derive(Clone, Debug)]
pub struct Decoder {
    pub rules: &'static Rules,
    pub features: Features,
    /// Addresses that are watched, in ascending order.
    pub watched: Vec<u32>,
    /// Addresses before which the run stops, in ascending order.
    pub stops: Vec<u32>,
}

impl Decoder {
    /// Decodes what stands at an address, or `None` where there is no memory.
    pub fn decode(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let mut bytes = [0; 4];
        let there = bus.peek(address, &mut bytes);
        let first = u16::from_le_bytes([bytes[0], bytes[1]]);
        if there < 2 || (is_wide(first) && there < 4) {
            return None;
        }
        let second = u16::from_le_bytes([bytes[2], bytes[3]]);
        let mut slot = decode(address, first, second, |isa| isa.is_part_of(self.features));
        slot.cost = (self.rules.cost)(&slot);
        Some(slot)
    }

    /// As `decode`, with a watch in the place of a watched instruction, and a
    /// breakpoint where the run is to stop.
    fn decode_watched(&self, bus: &Bus, address: u32) -> Option<Slot> {
        if self.stops.binary_search(&address).is_ok() {
            return Some(STOP);
        }
        let slot = self.decode(bus, address)?;
        let watched = self.watched.binary_search(&address).is_ok();
        Some(if watched { Slot { op: Op::Watch, cost: 0, ..slot } } else { slot })
    }
}

/// The decoded pages of a flash.
pub struct Flash {
    base: u32,
    pages: SharedPages,
}

impl Flash {
    /// The page that holds an address, if it has been decoded.
    #[inline(always)]
    pub fn page(&self, address: u32) -> Option<&Page> {
        let at = address.wrapping_sub(self.base) >> PAGE_SHIFT;
        self.pages.get(at as usize)?.get().map(Box::as_ref)
    }
}

/// Every window of a soc, the most used first.
#[derive(Clone, Debug)]
pub struct Code {
    windows: Vec<Window>,
    pub decoder: Decoder,
}

impl Code {
    pub fn new(soc: &Soc, decoder: Decoder) -> Self {
        let mut code = Self { windows: Vec::new(), decoder };
        for memory in &soc.memories {
            for base in std::iter::once(memory.base).chain(memory.aliases.iter().copied()) {
                code.windows.push(Window::new(base, memory));
            }
        }
        code
    }

    /// The code of the first flash, for the run loop.
    pub fn flash(&self) -> Flash {
        let window = self.windows.first();
        let pages = window.and_then(|window| match &window.pages {
            Pages::Shared(pages) if window.base % PAGE_BYTES == 0 => Some(Arc::clone(pages)),
            _ => None,
        });
        Flash {
            base: window.map_or(0, |window| window.base),
            pages: pages.unwrap_or_else(|| Arc::new([])),
        }
    }

    /// The instruction at an address, decoded now if need be.
    pub fn slot(&mut self, bus: &mut Bus, address: u32) -> Option<Slot> {
        let decoder = &self.decoder;
        let Some(window) = self.windows.iter_mut().find(|w| address.wrapping_sub(w.base) < w.size)
        else {
            return decoder.stops.binary_search(&address).is_ok().then_some(STOP);
        };
        let offset = address - window.base;
        let at = (offset >> PAGE_SHIFT) as usize;
        let within = (offset >> 1) as usize % PAGE_SLOTS;
        let line_bytes = window.line_bytes;
        match &mut window.pages {
            Pages::Shared(pages) => {
                let start = window.base + (at << PAGE_SHIFT) as u32;
                let page = pages[at].get_or_init(|| {
                    // A slot that no memory backs is never reached: the window ends before it.
                    let mut page = Box::new([Slot::undefined(2); PAGE_SLOTS]);
                    for (slot, address) in page.iter_mut().zip((start..).step_by(2)) {
                        *slot = decoder.decode_watched(bus, address).unwrap_or(Slot::undefined(2));
                        if let Some(line_bytes) = line_bytes {
                            slot.place_in_lines(address, line_bytes);
                        }
                    }
                    page
                });
                // The last halfword may begin an instruction that the memory cuts off.
                (page[within].op != Op::Undefined || decoder.decode(bus, address).is_some())
                    .then_some(page[within])
            }
            Pages::Own(pages) => {
                let page = pages[at].get_or_insert_with(|| Box::new([None; PAGE_SLOTS]));
                if page[within].is_none() {
                    page[within] = decoder.decode_watched(bus, address);
                    bus.code_writes.cover(address);
                }
                page[within]
            }
        }
    }

    /// Forgets the instructions that a store of up to a word at `address` may have changed.
    pub fn forget(&mut self, address: u32) {
        for halfword in (address & !1).wrapping_sub(2)..=(address & !1).wrapping_add(2) {
            for window in &mut self.windows {
                let offset = halfword.wrapping_sub(window.base);
                if let Pages::Own(pages) = &mut window.pages
                    && let Some(Some(page)) = pages.get_mut((offset >> PAGE_SHIFT) as usize)
                {
                    page[(offset >> 1) as usize % PAGE_SLOTS] = None;
                }
            }
        }
    }

    /// Forgets the code in RAM, after a reset.
    pub fn forget_own(&mut self) {
        for window in &mut self.windows {
            if let Pages::Own(pages) = &mut window.pages {
                pages.fill_with(|| None);
            }
        }
    }

    /// Forgets everything, after flash has been programmed or watches have changed.
    pub fn forget_all(&mut self) {
        self.forget_own();
        for window in &mut self.windows {
            if let Pages::Shared(pages) = &mut window.pages {
                *pages = (0..pages.len()).map(|_| OnceLock::new()).collect();
            }
        }
    }
}
