//! Predecoded instructions: each is decoded once, together with the requests to observe it.
//!
//! Watches, stops and stack limits take the place of the instructions that they concern. The engine forms
//! blocks from these slots, and learns from this module what has been invalidated.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::arch::PAGE_BYTES;
use crate::isa::{Features, Group, Op, Slot, decode, is_wide};
use crate::memory::Bus;
use crate::memory::pages::{CodePage, PAGE_HALFWORDS, Window};
use crate::soc::Soc;
use crate::state::Landmarks;
use crate::timing::Rules;

/// The slot that replaces an instruction before which the run is to stop. It is in no block.
const STOP: Slot = Slot { op: Op::Stop, cost: 0, ..Slot::undefined(2) };

/// What decoding depends on besides the instruction's bits.
#[derive(Clone, Debug)]
pub struct Decoder {
    pub rules: &'static Rules,
    pub features: Features,
    /// Watched addresses, in ascending order.
    pub watched: Vec<u32>,
    /// Addresses before which the run stops, in ascending order.
    pub stops: Vec<u32>,
    /// The landmarks, if a run is observed at landmarks; landmark instructions are executed one by one.
    pub landmarks: Option<Landmarks>,
    /// Whether the engine needs to know the distance of jumps that were not predicted: see
    /// [`crate::engine::slow`].
    pub stops_at_jumps: bool,
}

impl Decoder {
    /// Returns whether an instruction is in no block.
    pub fn is_standalone(&self, slot: &Slot) -> bool {
        self.stops_at_jumps && slot.is_indirect_jump() || slot.is_landmark()
    }

    /// Marks the slot at an address if it is a landmark.
    fn observed(&self, address: u32, slot: Slot) -> Slot {
        let Some(landmarks) = &self.landmarks else { return slot };
        let unguarded = slot.unguarded();
        let by_itself = match unguarded.op.group() {
            Group::Branch => landmarks.is_crossed(address, unguarded.imm),
            Group::Special | Group::Security | Group::Call | Group::Raise | Group::Wait => true,
            Group::ChangeState | Group::Coprocessor => true,
            Group::SpecialRegister => unguarded.op == Op::Msr,
            _ => unguarded.is_indirect_jump(),
        };
        slot.observed(by_itself, landmarks.begins(address))
    }

    /// Decodes the instruction at an address, or returns `None` where there is no memory.
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

    /// Decodes an instruction, and adds the checks that the core makes before the operation.
    pub fn decode_guarded(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let slot = self.decode(bus, address)?;
        Some(if self.features.v8m { slot.guarded() } else { slot })
    }

    /// Decodes an instruction with its checks, replaced by a watch if it is watched, and by a stop if the
    /// run is to stop before it.
    fn decode_watched(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let slot = self.decode_guarded(bus, address);
        if self.stops.binary_search(&address).is_ok() {
            // As wide as the instruction that it replaces, because it waits for the same code.
            return Some(slot.map_or(STOP, |slot| Slot { extent: slot.extent, ..STOP }));
        }
        let slot = slot?;
        let watched = self.watched.binary_search(&address).is_ok();
        let slot = if watched { Slot { op: Op::Watch, cost: 0, ..slot } } else { slot };
        Some(self.observed(address, slot))
    }
}

/// The slots that begin at each halfword of a page.
#[derive(Debug)]
struct SlotPage {
    /// Unset until decoded; `None` inside where an instruction would extend past the end of memory.
    slots: [OnceLock<Option<Slot>>; PAGE_HALFWORDS],
}

impl CodePage for SlotPage {
    #[expect(clippy::large_stack_arrays, reason = "on its way to the heap, once a page")]
    fn empty() -> Self {
        Self { slots: [const { OnceLock::new() }; PAGE_HALFWORDS] }
    }
}

/// Code in RAM that has been overwritten since the engine last asked.
#[derive(Debug, Default)]
pub struct OverwrittenCode {
    /// Not every overwritten halfword is listed: any code in RAM may have changed.
    pub any: bool,
    /// The addresses of overwritten halfwords.
    pub halfwords: Vec<u32>,
}

/// The maximum number of halfwords listed individually.
const MAX_LISTED: usize = 64;

impl OverwrittenCode {
    /// Returns whether nothing was overwritten.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        !self.any && self.halfwords.is_empty()
    }

    fn add(&mut self, halfword: u32) {
        if self.any || self.halfwords.contains(&halfword) {
            return;
        }
        self.halfwords.push(halfword);
        if self.halfwords.len() > MAX_LISTED {
            self.add_all();
        }
    }

    fn add_all(&mut self) {
        self.any = true;
        self.halfwords.clear();
    }
}

/// The instructions of all memories decoded so far.
#[derive(Debug)]
pub struct Predecoded {
    windows: Vec<Window<SlotPage>>,
    pub decoder: Decoder,
    /// The instructions that watches replace, as far as they have been reached.
    watched_instructions: BTreeMap<u32, Slot>,
    /// How often everything has been invalidated.
    epoch: u32,
    pub overwritten: OverwrittenCode,
}

impl Clone for Predecoded {
    /// Clones do not share decoded code in RAM: each decodes its own.
    fn clone(&self) -> Self {
        Self {
            windows: self.windows.clone(),
            decoder: self.decoder.clone(),
            watched_instructions: self.watched_instructions.clone(),
            epoch: self.epoch,
            overwritten: OverwrittenCode::default(),
        }
    }
}

impl Predecoded {
    pub fn new(soc: &Soc, decoder: Decoder) -> Self {
        Self {
            windows: Window::of(soc),
            decoder,
            watched_instructions: BTreeMap::new(),
            epoch: 0,
            overwritten: OverwrittenCode::default(),
        }
    }

    /// Creates a placeholder for instructions that have been moved elsewhere, with a copy of what
    /// decoding depends on.
    pub fn placeholder(&self) -> Self {
        Self {
            windows: Vec::new(),
            decoder: self.decoder.clone(),
            watched_instructions: BTreeMap::new(),
            epoch: self.epoch,
            overwritten: OverwrittenCode::default(),
        }
    }

    /// Returns the instruction at an address as the program has it, without watches, stops and checks.
    pub fn instruction(&self, bus: &Bus, address: u32) -> Option<Slot> {
        self.known_instruction(address).or_else(|| self.decoder.decode(bus, address))
    }

    /// Returns the instruction at an address if it has been decoded and nothing takes its place.
    fn known_instruction(&self, address: u32) -> Option<Slot> {
        let window = self.windows.iter().find(|window| window.covers(address))?;
        let (_, within) = window.place(address);
        let slot = (*window.known_page(address)?.slots[within].get()?)?;
        let is_replaced = matches!(slot.op, Op::Watch | Op::Stop);
        (!is_replaced).then(|| slot.unguarded().bare())
    }

    /// Returns whether an instruction has been decoded that may contain a byte of the word at an address, or whose
    /// decoding may have depended on one.
    pub fn knows_code_at(&self, address: u32) -> bool {
        (0..4).any(|half| {
            let at = address.wrapping_sub(4).wrapping_add(2 * half);
            let window = self.windows.iter().find(|window| window.covers(at));
            window.is_some_and(|window| {
                let page = window.known_page(at);
                page.is_some_and(|page| page.slots[window.place(at).1].get().is_some())
            })
        })
    }

    /// Returns whether an instruction has been decoded that loads a byte of the word at an address as a literal: its
    /// value may have been taken for granted.
    pub fn knows_literal_at(&self, address: u32) -> bool {
        // Literals are at most 4,095 bytes from the program counter (DDI 0403, A7.7.43), and instructions not longer
        // than they are.
        const REACH: u32 = 0x1000 + 8;
        let loads = |slot: &OnceLock<Option<Slot>>| {
            let slot = slot.get().copied().flatten().map(|slot| slot.unguarded());
            slot.is_some_and(|it| it.op.is_literal() && address.wrapping_sub(it.imm & !3) < 8)
        };
        let first = address.saturating_sub(REACH);
        (0..=2 * REACH).step_by(PAGE_BYTES as usize).chain([2 * REACH]).any(|offset| {
            let at = first.saturating_add(offset);
            let window = self.windows.iter().find(|window| window.covers(at));
            let page = window.and_then(|window| window.known_page(at));
            page.is_some_and(|page| page.slots.iter().any(loads))
        })
    }

    /// Returns the instruction that a watch replaces.
    pub fn watched_instruction(&mut self, bus: &Bus, address: u32) -> Slot {
        if let Some(known) = self.watched_instructions.get(&address) {
            return *known;
        }
        let slot = self.decoder.decode_guarded(bus, address).unwrap_or(Slot::undefined(2));
        self.watched_instructions.insert(address, slot);
        slot
    }

    /// Returns the instruction at an address, decoding it if necessary.
    pub fn slot(&mut self, bus: &mut Bus, address: u32) -> Option<Slot> {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return self.decoder.stops.binary_search(&address).is_ok().then_some(STOP);
        };
        let (line_bytes, own) = (window.line_bytes, window.is_own());
        let (_, within) = window.place(address);
        let is_first_in_ram = own && bus.code_writes.is_empty();
        if is_first_in_ram {
            // Code translated before does not expect stores to code.
            self.epoch = self.epoch.wrapping_add(1);
        }
        *window.page(address).slots[within].get_or_init(|| {
            if own {
                // A store of a word may begin before the instruction.
                bus.code_writes.cover(address & !3);
                bus.code_writes.cover(address);
            }
            let mut slot = self.decoder.decode_watched(bus, address)?;
            if let Some(line_bytes) = line_bytes {
                slot.place_in_lines(address, line_bytes);
            }
            Some(slot)
        })
    }

    /// Invalidates what a store of up to a word at `address` may have changed: the instructions that
    /// contain one of its bytes, and those before them, whose decoding may have depended on what follows.
    /// Returns whether anything was invalidated.
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
            self.watched_instructions.clear();
        }
        forgot
    }

    /// Invalidates the code in RAM, after a reset.
    pub fn forget_own(&mut self) {
        self.watched_instructions.clear();
        self.windows.iter_mut().for_each(Window::forget_own);
        self.overwritten.add_all();
    }

    /// Invalidates everything, after flash has been programmed or watches have changed.
    pub fn forget_all(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.overwritten = OverwrittenCode::default();
        self.watched_instructions.clear();
        self.windows.iter_mut().for_each(Window::forget);
    }

    /// Makes exactly these landmarks stand outside blocks.
    pub fn observe_at(&mut self, landmarks: Option<&Landmarks>) {
        if Landmarks::replace(&mut self.decoder.landmarks, landmarks) {
            self.forget_all();
        }
    }

    /// Returns how often everything has been invalidated.
    #[inline(always)]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }
}
