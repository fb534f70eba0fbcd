//! Decoded code, kept so that each instruction is decoded once.
//!
//! The run loop executes *blocks*: the instructions from one address up to the
//! first one that always goes elsewhere, one after the other in memory, so that
//! the next one is found without looking at this one. Code in flash cannot change
//! while it runs: what is known of it is shared by every clone of a machine. Code
//! in RAM is each machine's own, and forgotten a page at a time when it is
//! written over.

use std::sync::atomic::{AtomicI8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::arch::armm::registers::after_it;
use crate::engine::block::Block;
use crate::engine::fetch_plan::SharedCounts;
use crate::engine::micro_op::MicroOp;
use crate::isa::Features;
use crate::isa::{Group, Op, Slot, decode, is_wide};
use crate::memory::Bus;
use crate::soc::{Control, Memory, MemoryKind, Soc};
use crate::timing::Rules;

const PAGE_SHIFT: u32 = PAGE_BYTES.trailing_zeros();
/// Halfwords in a page.
const PAGE_HALFWORDS: usize = 1 << (PAGE_SHIFT - 1);
/// The most instructions in a block: blocks may overlap.
const BLOCK_SLOTS: usize = 32;
/// The most instructions in a block that is executed often, of which there are few.
const OFTEN_SLOTS: usize = 192;

/// What is known of a piece of code: what begins at each halfword.
#[derive(Debug)]
pub struct Page {
    /// `None` within where memory ends.
    slots: [OnceLock<Option<Slot>>; PAGE_HALFWORDS],
    blocks: [OnceLock<Box<Block>>; PAGE_HALFWORDS],
    /// Behind an IT: the block where its condition does not hold, and where it does.
    it_blocks: [OnceLock<Box<[Block; 2]>>; PAGE_HALFWORDS],
    /// How much more often each branch has been seen to be taken than not.
    taken: [AtomicI8; PAGE_HALFWORDS],
    /// Where each indirect jump has been seen to lead last; zero before that.
    leads: [AtomicU32; PAGE_HALFWORDS],
}

impl Page {
    // Too large for the stack of whoever only asks for a page.
    #[inline(never)]
    fn boxed() -> Box<Self> {
        Box::new(Self::new())
    }

    #[inline(never)]
    fn shared() -> Arc<Self> {
        Arc::new(Self::new())
    }

    #[expect(clippy::large_stack_arrays, reason = "on its way to the heap, once a page")]
    fn new() -> Self {
        Self {
            slots: [const { OnceLock::new() }; PAGE_HALFWORDS],
            blocks: [const { OnceLock::new() }; PAGE_HALFWORDS],
            it_blocks: [const { OnceLock::new() }; PAGE_HALFWORDS],
            taken: [const { AtomicI8::new(0) }; PAGE_HALFWORDS],
            leads: [const { AtomicU32::new(0) }; PAGE_HALFWORDS],
        }
    }

    /// The block that begins at an offset from the page's first address, if that lies in
    /// the page and the block is known.
    #[inline(always)]
    pub fn block(&self, offset: u32) -> Option<&Block> {
        self.blocks.get((offset / 2) as usize)?.get().map(|block| block.latest())
    }

    /// Notes what the jump at a halfword of the page has done.
    fn note(&self, halfword: usize, seen: BranchOutcome) {
        let taken = &self.taken[halfword];
        let more = taken.load(Ordering::Relaxed);
        match seen {
            BranchOutcome::Taken => taken.store(more.saturating_add(1), Ordering::Relaxed),
            BranchOutcome::NotTaken => taken.store(more.saturating_sub(1), Ordering::Relaxed),
            BranchOutcome::LedTo(target) => self.leads[halfword].store(target, Ordering::Relaxed),
        }
    }

    /// The block behind an IT whose condition holds, or does not.
    #[inline(always)]
    pub fn it_outcome(&self, offset: u32, holds: bool) -> Option<&Block> {
        Some(self.it_blocks.get((offset / 2) as usize)?.get()?[usize::from(holds)].latest())
    }
}

/// What a jump has done, by which blocks are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// A branch; of an IT, that its condition held.
    Taken,
    NotTaken,
    /// An indirect jump.
    LedTo(u32),
}

/// How a block that stands behind an IT is conditional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItOutcome {
    /// ITSTATE before its first instruction.
    pub it: u8,
    /// Whether the condition holds.
    pub holds: bool,
}

type SharedPages = Arc<[OnceLock<Box<Page>>]>;

#[derive(Debug)]
enum Pages {
    Shared(SharedPages),
    Own(Vec<Option<Arc<Page>>>),
}

impl Pages {
    fn new(kind: MemoryKind, count: usize) -> Self {
        match kind {
            MemoryKind::Flash => Self::Shared((0..count).map(|_| OnceLock::new()).collect()),
            MemoryKind::Ram => Self::Own(vec![None; count]),
        }
    }
}

/// Whether a memory ever makes the core wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Never,
    /// As its file says, or as a register says that the program writes.
    Sometimes,
}

impl Waits {
    fn of(memory: &Memory, soc: &Soc) -> Self {
        let registers = soc.peripherals.iter().flat_map(|peripheral| &peripheral.registers);
        let mut controls = registers.filter_map(|register| register.controls.as_ref());
        let is_set =
            |control: &Control| control.memory == memory.name && control.wait_states.is_some();
        if memory.timing.wait_states > 0 || controls.any(is_set) {
            Self::Sometimes
        } else {
            Self::Never
        }
    }
}

/// A range of addresses that code may run from.
#[derive(Debug)]
struct Window {
    base: u32,
    size: u32,
    /// The size of its memory's lines, if it matters when one is entered.
    line_bytes: Option<u32>,
    /// Their size whether it matters or not, as a power of two.
    line_shift: u32,
    pages: Pages,
}

impl Window {
    fn new(base: u32, memory: &Memory, waits: Waits) -> Self {
        let line_shift = memory.timing.line_bytes.trailing_zeros();
        let line_bytes = u32::from(memory.timing.line_bytes);
        let line_bytes = Some(line_bytes).filter(|_| waits == Waits::Sometimes);
        let pages = (base % PAGE_BYTES + memory.size).div_ceil(PAGE_BYTES) as usize;
        Self {
            base,
            size: memory.size,
            line_bytes,
            line_shift,
            pages: Pages::new(memory.kind, pages),
        }
    }

    const fn covers(&self, address: u32) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Where the first page begins, which may be before the window.
    const fn first_page(&self) -> u32 {
        self.base & !(PAGE_BYTES - 1)
    }

    /// The number of the page of an address, and of its halfword there.
    const fn place(&self, address: u32) -> (usize, usize) {
        let page = (address - self.first_page()) >> PAGE_SHIFT;
        (page as usize, (address % PAGE_BYTES / 2) as usize)
    }

    /// The page of an address, made now if need be.
    fn page(&mut self, address: u32) -> &Page {
        let (at, _) = self.place(address);
        match &mut self.pages {
            Pages::Shared(pages) => pages[at].get_or_init(Page::boxed),
            Pages::Own(pages) => pages[at].get_or_insert_with(Page::shared),
        }
    }

    /// The instruction at an address of the window.
    fn slot(&mut self, decoder: &Decoder, bus: &mut Bus, address: u32) -> Option<Slot> {
        let (line_bytes, own) = (self.line_bytes, matches!(self.pages, Pages::Own(_)));
        let (_, within) = self.place(address);
        *self.page(address).slots[within].get_or_init(|| {
            if own {
                bus.code_writes.cover(address);
            }
            let mut slot = decoder.decode_watched(bus, address)?;
            if let Some(line_bytes) = line_bytes {
                slot.place_in_lines(address, line_bytes);
            }
            Some(slot)
        })
    }

    /// Finds the instruction at any address.
    fn checked_slot(&mut self, decoder: &Decoder, bus: &mut Bus, address: u32) -> Option<Slot> {
        if self.covers(address) { self.slot(decoder, bus, address) } else { None }
    }

    /// The instructions that an IT instruction right before `address` makes conditional,
    /// each with ITSTATE before it; `None` when they do not all go together: when one is no
    /// plain instruction, may change the flags, or begins too far away.
    fn it_block(
        &mut self,
        decoder: &Decoder,
        bus: &mut Bus,
        mut address: u32,
        mut it: u8,
        reach: Reach,
    ) -> Option<Vec<(Slot, u8)>> {
        let mut slots = Vec::new();
        while it != 0 {
            let slot =
                self.checked_slot(decoder, bus, address).filter(|_| reach.covers(address))?;
            let last_of_block = after_it(it) == 0;
            address = address.wrapping_add(slot.size().into());
            let slot = slot.inside_it();
            let op = slot.unguarded().op;
            let (stands_alone, may_leave) = match op.group() {
                Group::Special | Group::Security | Group::Raise | Group::Wait => (true, true),
                Group::Branch => (false, true),
                _ if decoder.stands_alone(&slot) => (true, true),
                _ => (op == Op::It, slot.ends_block()),
            };
            let changes = may_leave || slot.writes_flags();
            if stands_alone || changes && !last_of_block || it >> 5 == 7 {
                return None;
            }
            slots.push((slot, it));
            it = after_it(it);
        }
        Some(slots)
    }

    /// The block at an address, which may stand behind an IT. It has so many slots at most.
    fn block(
        &mut self,
        decoder: &Decoder,
        bus: &mut Bus,
        address: u32,
        it_outcome: Option<ItOutcome>,
        most: usize,
    ) -> Option<Block> {
        let reach = Reach { block: address, only_page: matches!(self.pages, Pages::Own(_)) };
        let mut slots: Vec<MicroOp> = Vec::with_capacity(most);
        let (mut at, mut reached) = (address, address);
        let (base, line_bytes) = (self.base, self.line_bytes);
        let mut push = |slots: &mut Vec<MicroOp>, micro: MicroOp| {
            let slot = &micro.slot;
            let last = at.wrapping_add(u32::from(slot.size()) - 2);
            // Whoever enters a block fetches its first instruction.
            if let Some(bytes) = line_bytes
                && let Some(before) = slots.last()
                && if before.is_followed() {
                    (at ^ reached) & !(bytes - 1) != 0
                } else {
                    slot.enters_line()
                }
            {
                slots.push(MicroOp::line(slot, last, last.wrapping_sub(base) / bytes));
            }
            slots.push(micro);
            reached = last;
            at = if micro.is_followed() { micro.target() } else { last.wrapping_add(2) };
            at
        };
        let mut next = address;
        let mut returns = Vec::new();
        let (mut its, skip) = (Vec::new(), decoder.rules.skip);
        if let Some(ItOutcome { it, holds }) = it_outcome {
            let group = self.it_block(decoder, bus, address, it, reach)?;
            for (slot, before) in conditional(group, holds, skip) {
                next = push(&mut slots, slot);
                // A line has the same before it.
                its.resize(slots.len(), before);
            }
        }
        while slots.last().is_none_or(|last| !last.ends_block())
            && slots.len() < most
            && reach.covers(next)
            && let Some(slot) = self.checked_slot(decoder, bus, next)
            && slot.op != Op::Stop
            && !decoder.stands_alone(&slot)
        {
            if slot.op != Op::It {
                let followed = self.followed(decoder, bus, next, &slot, reach, &mut returns);
                next = push(&mut slots, followed.unwrap_or(MicroOp::plain(slot)));
                continue;
            }
            let (behind, it) = (next.wrapping_add(slot.size().into()), slot.imm as u8);
            let Some(group) = self.it_block(decoder, bus, behind, it, reach) else {
                if slots.is_empty() {
                    // Its block goes instruction by instruction.
                    push(&mut slots, MicroOp::plain(slot));
                }
                break;
            };
            let holds = self.taken(next) >= 0;
            push(&mut slots, MicroOp::expected_it(slot, holds));
            its.resize(slots.len(), 0);
            for (slot, before) in conditional(group, holds, skip) {
                next = push(&mut slots, slot);
                its.resize(slots.len(), before);
            }
        }
        let line = (address - base) >> self.line_shift;
        (!slots.is_empty())
            .then(|| Block::new(address, line, slots, its, it_outcome, decoder.rules))
    }

    /// How much more often the branch at an address has been seen to be taken than not.
    fn taken(&mut self, address: u32) -> i8 {
        let (_, within) = self.place(address);
        self.page(address).taken[within].load(Ordering::Relaxed)
    }

    /// The branch at an address, if the block is to go on at its target: where it always
    /// leads there, or has mostly done so; before that is known, where it leads back, as loops
    /// do. A return leads to behind the call that was followed last.
    fn followed(
        &mut self,
        decoder: &Decoder,
        bus: &mut Bus,
        address: u32,
        slot: &Slot,
        reach: Reach,
        returns: &mut Vec<u32>,
    ) -> Option<MicroOp> {
        let (_, within) = self.place(address);
        let returning = slot.is_indirect() && slot.op != Op::BlxR;
        let target = if slot.is_indirect() {
            let caller = if returning { returns.pop() } else { None };
            let seen = self.page(address).leads[within].load(Ordering::Relaxed);
            caller.or(Some(seen).filter(|&seen| seen != 0))?
        } else {
            slot.imm
        };
        let followed = MicroOp::followed(slot, target)?;
        let expected = matches!(slot.op, Op::B | Op::Bl)
            || slot.is_indirect()
            || match self.taken(address) {
                0 => target <= address,
                more => more > 0,
            };
        if !expected || !reach.covers(target) {
            return None;
        }
        let size = self.checked_slot(decoder, bus, target)?.size();
        let last = target.wrapping_add(u32::from(size) - 2);
        // Whoever jumps fetches the lines of the target one by one.
        let one_line = self.line_bytes.is_none_or(|bytes| (target ^ last) & !(bytes - 1) == 0);
        if matches!(slot.op, Op::Bl | Op::BlxR) {
            returns.push(address.wrapping_add(slot.size().into()));
        }
        one_line.then_some(followed)
    }
}

/// Where the instructions of a block may be.
#[derive(Clone, Copy)]
struct Reach {
    block: u32,
    /// Code that may be written over is forgotten a page at a time.
    only_page: bool,
}

impl Reach {
    const fn covers(self, address: u32) -> bool {
        if self.only_page {
            (address ^ self.block) & !(PAGE_BYTES - 1) == 0
        } else {
            let distance = address.wrapping_sub(self.block) as i32;
            -FAR < distance && distance < FAR
        }
    }
}

/// Bytes that an instruction may be away from the beginning of its block.
const FAR: i32 = i16::MAX as i32 - 4;

impl Clone for Window {
    /// Code in RAM is decoded anew by each clone: its memory goes its own way.
    fn clone(&self) -> Self {
        let pages = match &self.pages {
            Pages::Shared(pages) => Pages::Shared(Arc::clone(pages)),
            Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
        };
        Self { pages, ..*self }
    }
}

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
    fn stands_alone(&self, slot: &Slot) -> bool {
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

/// The pages of code that does not change, held apart from the machine.
pub struct Flash {
    epoch: u32,
    base: u32,
    pages: SharedPages,
}

impl Flash {
    /// The page that holds an address and the page's first address, if anything is
    /// known of it.
    #[inline(always)]
    pub fn page(&self, address: u32) -> Option<(&Page, u32)> {
        let at = address.wrapping_sub(self.base) >> PAGE_SHIFT;
        let page = self.pages.get(at as usize)?.get()?;
        Some((page, address & !(PAGE_BYTES - 1)))
    }
}

/// Every window of a soc, the most used first.
#[derive(Clone, Debug)]
pub struct Code {
    windows: Vec<Window>,
    pub decoder: Decoder,
    /// How often everything has been forgotten.
    epoch: u32,
    pub counts: SharedCounts,
}

impl Code {
    pub fn new(soc: &Soc, decoder: Decoder) -> Self {
        let mut code =
            Self { windows: Vec::new(), decoder, epoch: 0, counts: SharedCounts::default() };
        for memory in &soc.memories {
            let waits = Waits::of(memory, soc);
            for base in std::iter::once(memory.base).chain(memory.aliases.iter().copied()) {
                code.windows.push(Window::new(base, memory, waits));
            }
        }
        code
    }

    /// The pages that an address belongs to, if nothing there can change; else none.
    pub fn flash(&self, address: u32) -> Flash {
        let shared = self.windows.iter().find_map(|window| match &window.pages {
            Pages::Shared(pages) if window.covers(address) => Some(Flash {
                epoch: self.epoch,
                base: window.first_page(),
                pages: Arc::clone(pages),
            }),
            _ => None,
        });
        shared.unwrap_or_else(|| Flash { epoch: self.epoch, base: 0, pages: Arc::new([]) })
    }

    /// The page of an address in RAM, which is this machine's own.
    pub fn own_page(&self, address: u32) -> Option<(Arc<Page>, u32)> {
        let window = self.windows.iter().find(|window| window.covers(address))?;
        let Pages::Own(pages) = &window.pages else { return None };
        let page = pages.get(window.place(address).0)?.as_ref()?;
        Some((Arc::clone(page), address & !(PAGE_BYTES - 1)))
    }

    /// Makes the block at an address known; answers whether there is one.
    pub fn make_block(&mut self, bus: &mut Bus, address: u32) -> bool {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return false;
        };
        let Some(block) = window.block(&self.decoder, bus, address, None, BLOCK_SLOTS) else {
            return false;
        };
        let (_, within) = window.place(address);
        window.page(address).blocks[within].get_or_init(|| Box::new(block));
        true
    }

    /// Notes what the jump at an address has done.
    pub fn note(&mut self, address: u32, seen: BranchOutcome) {
        if let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) {
            let (_, within) = window.place(address);
            window.page(address).note(within, seen);
        }
    }

    /// Forms the block at an address once more, by what has been seen of its branches.
    pub fn retranslate(&mut self, bus: &mut Bus, address: u32, it_outcome: Option<ItOutcome>) {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return;
        };
        let Some(retranslated) = window.block(&self.decoder, bus, address, it_outcome, OFTEN_SLOTS)
        else {
            return;
        };
        let (_, within) = window.place(address);
        let page = window.page(address);
        let block = match it_outcome {
            None => page.blocks[within].get().map(Box::as_ref),
            Some(ItOutcome { holds, .. }) => {
                page.it_blocks[within].get().map(|both| &both[usize::from(holds)])
            }
        };
        if let Some(block) = block {
            block.replace(retranslated);
        }
    }

    /// Makes the blocks known that begin behind an IT, which leaves this ITSTATE.
    pub fn make_it_blocks(&mut self, bus: &mut Bus, address: u32, it: u8) -> bool {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return false;
        };
        let mut block = |holds| {
            let it_outcome = Some(ItOutcome { it, holds });
            window.block(&self.decoder, bus, address, it_outcome, BLOCK_SLOTS)
        };
        let (Some(fails), Some(holds)) = (block(false), block(true)) else { return false };
        let (_, within) = window.place(address);
        window.page(address).it_blocks[within].get_or_init(|| Box::new([fails, holds]));
        true
    }

    /// The instruction at an address, decoded now if need be.
    pub fn slot(&mut self, bus: &mut Bus, address: u32) -> Option<Slot> {
        match self.windows.iter_mut().find(|window| window.covers(address)) {
            Some(window) => window.slot(&self.decoder, bus, address),
            None => self.decoder.stops.binary_search(&address).is_ok().then_some(STOP),
        }
    }

    /// Forgets what a store of up to a word at `address` may have changed; answers
    /// whether anything had to be forgotten.
    pub fn forget(&mut self, address: u32) -> bool {
        let mut forgot = false;
        for halfword in 0..5 {
            let halfword = (address & !1).wrapping_sub(2).wrapping_add(halfword);
            for window in self.windows.iter_mut().filter(|window| window.covers(halfword)) {
                let (at, within) = window.place(halfword);
                if let Pages::Own(pages) = &mut window.pages
                    && let Some(known) = pages.get_mut(at)
                    && known.as_ref().is_some_and(|page| page.slots[within].get().is_some())
                {
                    *known = None;
                    forgot = true;
                }
            }
        }
        forgot
    }

    /// Forgets the code in RAM, after a reset.
    pub fn forget_own(&mut self) {
        for window in &mut self.windows {
            if let Pages::Own(pages) = &mut window.pages {
                pages.fill(None);
            }
        }
    }

    /// Whether everything has been forgotten since.
    pub const fn has_forgotten(&self, flash: &Flash) -> bool {
        flash.epoch != self.epoch
    }

    /// Forgets everything, after flash has been programmed or watches have changed.
    pub fn forget_all(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.counts.forget_steps();
        for window in &mut self.windows {
            window.pages = match &window.pages {
                Pages::Shared(pages) => Pages::new(MemoryKind::Flash, pages.len()),
                Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
            };
        }
    }
}

/// The instructions of an IT block, each with ITSTATE before it, as the block's condition holds
/// or not. Passing over one takes `skip` cycles.
fn conditional(
    group: Vec<(Slot, u8)>,
    holds: bool,
    skip: u8,
) -> impl Iterator<Item = (MicroOp, u8)> {
    let first = group.first().map_or(0, |(_, it)| it >> 4);
    group.into_iter().map(move |(slot, it)| {
        let executes = (it >> 4 == first) == holds;
        (if executes { MicroOp::plain(slot) } else { MicroOp::skip(slot, skip) }, it)
    })
}
