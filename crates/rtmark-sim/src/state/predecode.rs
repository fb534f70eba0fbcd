//! Predecoded instructions: each is decoded once, with what a machine is asked to look at.
//!
//! Watches, stops and stack limits stand in the place of the instructions that they are about.
//! What blocks are formed of these is the engine's business, which is told what has been
//! forgotten.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::isa::{Features, Op, Slot, decode, is_wide};
use crate::memory::Bus;
use crate::memory::pages::{CodePage, PAGE_HALFWORDS, Pages, Window};
use crate::soc::Soc;
use crate::timing::Rules;

/// Stands before an instruction at which the run is to stop: it is in no block.
const STOP: Slot = Slot { op: Op::Stop, cost: 0, ..Slot::undefined(2) };

/// What decoding depends on besides the bits.
#[derive(Clone, Debug)]
pub struct Decoder {
    pub rules: &'static Rules,
    pub features: Features,
    /// Addresses that are watched, in ascending order.
    pub watched: Vec<u32>,
    /// Addresses before which the run stops, in ascending order.
    pub stops: Vec<u32>,
    /// Whether it is to be told how far jumps lead that nobody foresaw: see [`crate::engine::slow`].
    pub tells_leaps: bool,
}

impl Decoder {
    /// Whether an instruction is in no block.
    pub fn stands_alone(&self, slot: &Slot) -> bool {
        self.tells_leaps && slot.leaps()
    }

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

    /// Decodes with what the core checks besides in front of the operation.
    pub fn decode_guarded(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let slot = self.decode(bus, address)?;
        Some(if self.features.v8m { slot.guarded() } else { slot })
    }

    /// Decodes with guards, and with a watch in the place of a watched instruction, and a
    /// breakpoint where the run is to stop.
    fn decode_watched(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let slot = self.decode_guarded(bus, address);
        if self.stops.binary_search(&address).is_ok() {
            // As wide as what it stands for: it waits for the same code.
            return Some(slot.map_or(STOP, |slot| Slot { extent: slot.extent, ..STOP }));
        }
        let slot = slot?;
        let watched = self.watched.binary_search(&address).is_ok();
        Some(if watched { Slot { op: Op::Watch, cost: 0, ..slot } } else { slot })
    }
}

/// What begins at each halfword of a page.
#[derive(Debug)]
struct SlotPage {
    /// `None` within where memory ends.
    slots: [OnceLock<Option<Slot>>; PAGE_HALFWORDS],
}

impl CodePage for SlotPage {
    #[expect(clippy::large_stack_arrays, reason = "on its way to the heap, once a page")]
    fn empty() -> Self {
        Self { slots: [const { OnceLock::new() }; PAGE_HALFWORDS] }
    }
}

/// A page of code in RAM: of which window it is, and which of its pages.
pub type OwnPage = (usize, usize);

/// The instructions of all memories, as far as they have been decoded.
#[derive(Debug)]
pub struct Predecoded {
    windows: Vec<Window<SlotPage>>,
    pub decoder: Decoder,
    /// Instructions in whose place watches stand, as far as they have been reached.
    beneath_watches: BTreeMap<u32, Slot>,
    /// How often everything has been forgotten.
    epoch: u32,
    /// Pages in RAM that have been forgotten since the engine asked last.
    forgotten: Vec<OwnPage>,
}

impl Clone for Predecoded {
    /// Code in RAM is decoded anew by each clone.
    fn clone(&self) -> Self {
        Self {
            windows: self.windows.clone(),
            decoder: self.decoder.clone(),
            beneath_watches: self.beneath_watches.clone(),
            epoch: self.epoch,
            forgotten: Vec::new(),
        }
    }
}

impl Predecoded {
    pub fn new(soc: &Soc, decoder: Decoder) -> Self {
        Self {
            windows: Window::of(soc),
            decoder,
            beneath_watches: BTreeMap::new(),
            epoch: 0,
            forgotten: Vec::new(),
        }
    }

    /// The instruction in whose place a watch stands.
    pub fn beneath_watch(&mut self, bus: &Bus, address: u32) -> Slot {
        if let Some(known) = self.beneath_watches.get(&address) {
            return *known;
        }
        let slot = self.decoder.decode_guarded(bus, address).unwrap_or(Slot::undefined(2));
        self.beneath_watches.insert(address, slot);
        slot
    }

    /// The instruction at an address, decoded now if need be.
    pub fn slot(&mut self, bus: &mut Bus, address: u32) -> Option<Slot> {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return self.decoder.stops.binary_search(&address).is_ok().then_some(STOP);
        };
        let (line_bytes, own) = (window.line_bytes, window.is_own());
        let (_, within) = window.place(address);
        *window.page(address).slots[within].get_or_init(|| {
            if own {
                bus.code_writes.cover(address);
            }
            let mut slot = self.decoder.decode_watched(bus, address)?;
            if let Some(line_bytes) = line_bytes {
                slot.place_in_lines(address, line_bytes);
            }
            Some(slot)
        })
    }

    /// Forgets what a store of up to a word at `address` may have changed; answers
    /// whether anything had to be forgotten.
    pub fn forget(&mut self, address: u32) -> bool {
        let mut forgot = false;
        for halfword in 0..5 {
            let halfword = (address & !1).wrapping_sub(2).wrapping_add(halfword);
            for (number, window) in self.windows.iter_mut().enumerate() {
                if !window.covers(halfword) {
                    continue;
                }
                let (at, within) = window.place(halfword);
                if let Pages::Own(pages) = &mut window.pages
                    && let Some(known) = pages.get_mut(at)
                    && known.as_ref().is_some_and(|page| page.slots[within].get().is_some())
                {
                    *known = None;
                    if !self.forgotten.contains(&(number, at)) {
                        self.forgotten.push((number, at));
                    }
                    forgot = true;
                }
            }
        }
        if forgot {
            self.beneath_watches.clear();
        }
        forgot
    }

    /// Forgets the code in RAM, after a reset.
    pub fn forget_own(&mut self) {
        self.beneath_watches.clear();
        for (number, window) in self.windows.iter_mut().enumerate() {
            if let Pages::Own(pages) = &mut window.pages {
                for (at, page) in pages.iter_mut().enumerate() {
                    if page.take().is_some() && !self.forgotten.contains(&(number, at)) {
                        self.forgotten.push((number, at));
                    }
                }
            }
        }
    }

    /// Forgets everything, after flash has been programmed or watches have changed.
    pub fn forget_all(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.forgotten.clear();
        self.beneath_watches.clear();
        self.windows.iter_mut().for_each(Window::forget);
    }

    /// How often everything has been forgotten.
    #[inline(always)]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Pages in RAM that have been forgotten since this was last asked.
    #[inline(always)]
    pub fn take_forgotten(&mut self) -> Vec<OwnPage> {
        std::mem::take(&mut self.forgotten)
    }
}
