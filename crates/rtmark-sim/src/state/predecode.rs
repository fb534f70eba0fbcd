//! Predecoded instructions: each is decoded once, with what a machine is asked to look at.
//!
//! Watches, stops and stack limits stand in the place of the instructions that they are about.
//! What blocks are formed of these is the engine's business, which is told what has been
//! forgotten.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::isa::{Features, Group, Op, Slot, decode, is_wide};
use crate::memory::Bus;
use crate::memory::pages::{CodePage, PAGE_HALFWORDS, Window};
use crate::soc::Soc;
use crate::state::Landmarks;
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
    /// What is observed by itself, if a run is observed at landmarks.
    pub landmarks: Option<Landmarks>,
    /// Whether it is to be told how far jumps lead that nobody foresaw: see [`crate::engine::slow`].
    pub tells_leaps: bool,
}

impl Decoder {
    /// Whether an instruction is in no block.
    pub fn stands_alone(&self, slot: &Slot) -> bool {
        self.tells_leaps && slot.leaps() || slot.is_landmark()
    }

    /// The slot at an address with what is observed of it.
    fn observed(&self, address: u32, slot: Slot) -> Slot {
        let Some(landmarks) = &self.landmarks else { return slot };
        let unguarded = slot.unguarded();
        let by_itself = match unguarded.op.group() {
            Group::Branch => landmarks.is_crossed(address, unguarded.imm),
            Group::Special | Group::Security | Group::Call | Group::Raise | Group::Wait => true,
            Group::ChangeState => true,
            Group::SpecialRegister => unguarded.op == Op::Msr,
            _ => unguarded.leaps(),
        };
        slot.observed(by_itself, landmarks.begins(address))
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
        let slot = if watched { Slot { op: Op::Watch, cost: 0, ..slot } } else { slot };
        Some(self.observed(address, slot))
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

/// Code in RAM that has been written over since the engine asked last.
#[derive(Debug, Default)]
pub struct Overwritten {
    /// Of which not all is known: any of it may have been.
    pub any: bool,
    /// Halfwords by their addresses.
    pub halfwords: Vec<u32>,
}

/// Halfwords that are told one by one.
const TOLD: usize = 64;

impl Overwritten {
    /// Whether there is none.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        !self.any && self.halfwords.is_empty()
    }

    fn add(&mut self, halfword: u32) {
        if self.any || self.halfwords.contains(&halfword) {
            return;
        }
        self.halfwords.push(halfword);
        if self.halfwords.len() > TOLD {
            self.add_all();
        }
    }

    fn add_all(&mut self) {
        self.any = true;
        self.halfwords.clear();
    }
}

/// The instructions of all memories, as far as they have been decoded.
#[derive(Debug)]
pub struct Predecoded {
    windows: Vec<Window<SlotPage>>,
    pub decoder: Decoder,
    /// Instructions in whose place watches stand, as far as they have been reached.
    beneath_watches: BTreeMap<u32, Slot>,
    /// How often everything has been forgotten.
    epoch: u32,
    pub overwritten: Overwritten,
}

impl Clone for Predecoded {
    /// Code in RAM is decoded anew by each clone.
    fn clone(&self) -> Self {
        Self {
            windows: self.windows.clone(),
            decoder: self.decoder.clone(),
            beneath_watches: self.beneath_watches.clone(),
            epoch: self.epoch,
            overwritten: Overwritten::default(),
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
            overwritten: Overwritten::default(),
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

    /// Forgets what a store of up to a word at `address` may have changed, which is nothing but
    /// the instructions that have a byte of it, and those in front of it, which may have looked at
    /// what they are followed by; answers whether anything had to be forgotten.
    pub fn forget(&mut self, address: u32) -> bool {
        let mut forgot = false;
        for before in [4, 2, 0, u32::MAX - 1] {
            let halfword = (address & !1).wrapping_sub(before);
            for window in self.windows.iter_mut().filter(|window| window.covers(halfword)) {
                let (_, within) = window.place(halfword);
                let page = window.own_page(halfword);
                if page.and_then(|page| page.slots[within].take()).is_some() {
                    self.overwritten.add(halfword);
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
        self.windows.iter_mut().for_each(Window::forget_own);
        self.overwritten.add_all();
    }

    /// Forgets everything, after flash has been programmed or watches have changed.
    pub fn forget_all(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.overwritten = Overwritten::default();
        self.beneath_watches.clear();
        self.windows.iter_mut().for_each(Window::forget);
    }

    /// Has landmarks stand in no block, and no others.
    pub fn observe_at(&mut self, landmarks: Option<&Landmarks>) {
        if Landmarks::replace(&mut self.decoder.landmarks, landmarks) {
            self.forget_all();
        }
    }

    /// How often everything has been forgotten.
    #[inline(always)]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }
}
