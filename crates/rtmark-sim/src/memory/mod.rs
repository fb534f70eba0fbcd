//! The memories of a soc, by address.
//!
//! Memories respond here; the system control space is implemented in [`crate::arch::armm::scs`]. The
//! contents of flash are shared between clones of a machine; each machine has its own contents of RAM.

#[cfg(all(feature = "native-code", target_arch = "x86_64", target_os = "linux"))]
mod main_ram;
pub mod pages;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::soc::{Memory, MemoryKind, Soc};

#[cfg(all(feature = "native-code", target_arch = "x86_64", target_os = "linux"))]
pub use self::main_ram::{CodeData, MainRam};

/// The contents of one memory.
#[derive(Clone, Debug)]
enum Contents {
    Shared(Arc<Vec<u8>>),
    Own(Vec<u8>),
}

/// A range of addresses, with the memory behind it.
#[derive(Clone, Copy, Debug)]
struct Range {
    base: u32,
    size: u32,
    memory: usize,
}

/// A location in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The memory's number, in the order of the soc file.
    pub memory: usize,
    /// The offset from its beginning in bytes.
    pub offset: u32,
}

/// The memories of a soc.
#[derive(Clone, Debug)]
pub struct Bus {
    /// The contents of the main RAM, in which accesses take the fast path. Empty while the fast path is
    /// closed.
    ram: Vec<u8>,
    ram_base: u32,
    /// Which memory `ram` holds; none while the fast path is closed.
    ram_memory: usize,
    main_ram: usize,
    /// For each memory, whether it may become the main RAM.
    quick: Vec<bool>,
    /// Accesses to other such memories since the main RAM last changed.
    astray: u32,
    /// The contents of the other memories. The main RAM's entry is empty while `ram` holds it.
    contents: Vec<Contents>,
    ranges: Vec<Range>,
    /// The range from which code was last fetched.
    code_range: Range,
    /// The addresses of RAM that hold decoded code, and whether they have been written.
    pub code_writes: CodeWrites,
    /// What has been overwritten since [`Bus::begin_trial`].
    journal: Option<Journal>,
}

/// What stores have overwritten, in their order.
#[derive(Clone, Debug, Default)]
struct Journal {
    /// Each store's place, with the number of its bytes in `bytes`.
    stores: Vec<(Place, usize)>,
    bytes: Vec<u8>,
}

impl Journal {
    fn note(&mut self, memory: usize, offset: usize, overwritten: &[u8]) {
        self.stores.push((Place { memory, offset: offset as u32 }, overwritten.len()));
        self.bytes.extend_from_slice(overwritten);
    }
}

/// What [`Bus::end_trial`] restores besides contents.
#[derive(Clone, Copy, Debug)]
pub struct BusBeforeTrial {
    ram_base: u32,
    main_ram: usize,
    astray: u32,
    code_range: Range,
    dirty: bool,
}

/// Records which RAM addresses hold decoded code, so that stores to them are noticed.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodeWrites {
    /// The lowest address of RAM from which code ran, and one past the highest.
    pub low: u32,
    pub high: u32,
    pub dirty: bool,
}

impl CodeWrites {
    /// Returns whether a store to an address may change decoded code.
    #[inline(always)]
    pub const fn covers(&self, address: u32) -> bool {
        address.wrapping_sub(self.low) < self.high.wrapping_sub(self.low)
    }

    /// Returns whether no code has run from RAM.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.high == 0
    }

    /// Extends the covered range by an instruction.
    pub fn cover(&mut self, address: u32) {
        if self.low == self.high {
            (self.low, self.high) = (address, address.saturating_add(4));
        } else {
            self.low = self.low.min(address);
            self.high = self.high.max(address.saturating_add(4));
        }
    }
}

/// The number of accesses to another RAM after which that one becomes the main RAM.
const ASTRAY: u32 = 64;

/// The value of every RAM byte at reset. Real RAM holds arbitrary values; a fixed value keeps runs
/// identical, and this one is neither a valid address nor zero.
pub const RAM_AT_RESET: u8 = 0xA5;

impl Bus {
    /// Creates the memories of a soc in their state at reset. One RAM at a time has the fast path, of those
    /// that `is_quick` admits; it must not admit a memory that has to be asked for its access time. The
    /// first one is the main RAM until another is accessed more often.
    pub fn new(soc: &Soc, is_quick: impl Fn(&Memory) -> bool) -> Self {
        let is_ram = |memory: &Memory| memory.kind == MemoryKind::Ram && is_quick(memory);
        let quick: Vec<bool> = soc.memories.iter().map(is_ram).collect();
        let ram_memory = quick.iter().position(|is_quick| *is_quick).unwrap_or(usize::MAX);
        let mut bus = Self {
            ram: Vec::new(),
            ram_base: 0,
            ram_memory,
            main_ram: ram_memory,
            quick,
            astray: 0,
            contents: Vec::new(),
            ranges: Vec::new(),
            code_range: Range { base: 0, size: 0, memory: 0 },
            code_writes: CodeWrites::default(),
            journal: None,
        };
        for (at, memory) in soc.memories.iter().enumerate() {
            let size = memory.size as usize;
            bus.contents.push(match memory.kind {
                MemoryKind::Flash => {
                    let mut bytes = vec![0xFF; size];
                    for (offset, part) in memory.contents.map_or(&[][..], |it| it.parts()) {
                        for (to, from) in bytes.iter_mut().skip(*offset).zip(*part) {
                            *to = *from;
                        }
                    }
                    Contents::Shared(Arc::new(bytes))
                }
                MemoryKind::Ram if at == ram_memory => {
                    bus.ram = vec![RAM_AT_RESET; size];
                    bus.ram_base = memory.base;
                    Contents::Own(Vec::new())
                }
                MemoryKind::Ram => Contents::Own(vec![RAM_AT_RESET; size]),
            });
            for base in std::iter::once(memory.base).chain(memory.aliases.iter().copied()) {
                bus.ranges.push(Range { base, size: memory.size, memory: at });
            }
        }
        bus
    }

    /// A placeholder for memories that have been moved elsewhere; it is never accessed.
    pub const fn placeholder() -> Self {
        Self {
            ram: Vec::new(),
            ram_base: 0,
            ram_memory: usize::MAX,
            main_ram: usize::MAX,
            quick: Vec::new(),
            astray: 0,
            contents: Vec::new(),
            ranges: Vec::new(),
            code_range: Range { base: 0, size: 0, memory: 0 },
            code_writes: CodeWrites { low: 0, high: 0, dirty: false },
            journal: None,
        }
    }

    /// Returns the place of an address of code. Optimised for code staying in the same range.
    #[inline(always)]
    pub fn code_place(&mut self, address: u32) -> Option<Place> {
        let offset = address.wrapping_sub(self.code_range.base);
        if offset < self.code_range.size {
            return Some(Place { memory: self.code_range.memory, offset });
        }
        self.change_code_range(address)
    }

    /// Returns whether code at an address comes from the same memory as the latest fetch.
    #[inline(always)]
    pub const fn is_near_code(&self, address: u32) -> bool {
        address.wrapping_sub(self.code_range.base) < self.code_range.size
    }

    #[inline(never)]
    fn change_code_range(&mut self, address: u32) -> Option<Place> {
        self.code_range =
            *self.ranges.iter().find(|range| address.wrapping_sub(range.base) < range.size)?;
        self.place(address)
    }

    /// Reads `N` bytes from the flash from which code was last fetched, or returns `None` if they are not
    /// all there.
    #[inline(always)]
    pub fn near_code<const N: usize>(&self, address: u32) -> Option<([u8; N], Place)> {
        let Range { base, memory, .. } = self.code_range;
        let offset = address.wrapping_sub(base);
        let Contents::Shared(bytes) = self.contents.get(memory)? else { return None };
        let (from, to) = (offset as usize, (offset as usize).checked_add(N)?);
        Some((bytes.get(from..to)?.try_into().ok()?, Place { memory, offset }))
    }

    /// Reads `N` bytes from the memory from which code was last fetched, or returns `None` if they are not
    /// all there or it is the main RAM.
    #[inline(always)]
    pub fn near_data<const N: usize>(&self, address: u32) -> Option<([u8; N], Place)> {
        let Range { base, size, memory } = self.code_range;
        let offset = address.wrapping_sub(base);
        if offset >= size {
            return None;
        }
        let bytes = match self.contents.get(memory)? {
            Contents::Shared(bytes) => bytes.as_slice(),
            Contents::Own(bytes) => bytes.as_slice(),
        };
        let from = offset as usize;
        Some((bytes.get(from..from + N)?.try_into().ok()?, Place { memory, offset }))
    }

    /// Returns the place of an address, if it is in a memory.
    pub fn place(&self, address: u32) -> Option<Place> {
        self.ranges
            .iter()
            .find(|range| address.wrapping_sub(range.base) < range.size)
            .map(|range| Place { memory: range.memory, offset: address - range.base })
    }

    /// Returns the size of a memory in bytes.
    pub fn size_of(&self, memory: usize) -> u32 {
        self.bytes(memory).len() as u32
    }

    #[inline(always)]
    fn bytes(&self, memory: usize) -> &[u8] {
        match &self.contents[memory] {
            _ if memory == self.ram_memory => &self.ram,
            Contents::Shared(bytes) => bytes,
            Contents::Own(bytes) => bytes,
        }
    }

    /// Returns whether stores reach a memory.
    pub fn is_writable(&self, memory: usize) -> bool {
        matches!(self.contents[memory], Contents::Own(_))
    }

    /// Copies bytes into memory as a programmer would, including flash. Returns how many bytes were in
    /// memory.
    pub fn program(&mut self, address: u32, bytes: &[u8]) -> usize {
        self.place(address).map_or(0, |place| self.program_at(place, bytes))
    }

    /// Does the same from a place on.
    pub fn program_at(&mut self, place: Place, bytes: &[u8]) -> usize {
        let target = match &mut self.contents[place.memory] {
            _ if place.memory == self.ram_memory => &mut self.ram,
            Contents::Shared(shared) => Arc::make_mut(shared),
            Contents::Own(own) => own,
        };
        let target = &mut target[place.offset as usize..];
        let count = bytes.len().min(target.len());
        if let Some(journal) = &mut self.journal {
            journal.note(place.memory, place.offset as usize, &target[..count]);
        }
        target[..count].copy_from_slice(&bytes[..count]);
        count
    }

    /// Begins to record what stores overwrite, so that [`Bus::end_trial`] can take them back. Until then the
    /// fast path stays closed.
    pub fn begin_trial(&mut self) -> BusBeforeTrial {
        self.open_main_ram(false);
        self.journal = Some(Journal::default());
        BusBeforeTrial {
            ram_base: self.ram_base,
            main_ram: self.main_ram,
            astray: self.astray,
            code_range: self.code_range,
            dirty: self.code_writes.dirty,
        }
    }

    /// Takes back all stores since [`Bus::begin_trial`]; returns whether they may have changed what has been
    /// decoded. The fast path remains closed until it is opened.
    pub fn end_trial(&mut self, before: BusBeforeTrial) -> bool {
        let Journal { stores, mut bytes } = self.journal.take().unwrap_or_default();
        let mut touches_code = false;
        for (place, count) in stores.into_iter().rev() {
            let overwritten = &bytes[bytes.len() - count..];
            let (from, to) = (place.offset as usize, place.offset as usize + count);
            match &mut self.contents[place.memory] {
                Contents::Own(own) => own[from..to].copy_from_slice(overwritten),
                Contents::Shared(shared) => {
                    Arc::make_mut(shared)[from..to].copy_from_slice(overwritten);
                }
            }
            bytes.truncate(bytes.len() - count);
            touches_code |= self.holds_code(place, count);
        }
        let BusBeforeTrial { ram_base, main_ram, astray, code_range, dirty } = before;
        (self.ram_base, self.main_ram, self.astray) = (ram_base, main_ram, astray);
        self.code_range = code_range;
        self.code_writes.dirty = dirty;
        touches_code
    }

    /// Returns how many bytes of memory follow an address without a gap.
    pub fn peek_len(&self, address: u32) -> usize {
        self.place(address)
            .map_or(0, |place| self.bytes(place.memory).len() - place.offset as usize)
    }

    /// Reads up to `into.len()` bytes without side effects; returns how many were read.
    pub fn peek(&self, address: u32, into: &mut [u8]) -> usize {
        let Some(place) = self.place(address) else { return 0 };
        let from = &self.bytes(place.memory)[place.offset as usize..];
        let count = into.len().min(from.len());
        into[..count].copy_from_slice(&from[..count]);
        count
    }

    /// Returns whether code may have been decoded from some bytes. Flash always counts as code.
    fn holds_code(&self, place: Place, count: usize) -> bool {
        let CodeWrites { low, high, .. } = self.code_writes;
        let mut addresses = self.ranges.iter().filter(|range| range.memory == place.memory);
        !self.is_writable(place.memory)
            || addresses.any(|range| {
                let from = range.base + place.offset;
                from < high && u64::from(from) + count as u64 > u64::from(low)
            })
    }

    /// Opens or closes the fast path to the main RAM, for accesses that nothing has to check.
    pub fn open_main_ram(&mut self, open: bool) {
        if open != (self.ram_memory == usize::MAX) || self.journal.is_some() {
            return;
        }
        if let Some(Contents::Own(bytes)) = self.contents.get_mut(self.main_ram) {
            std::mem::swap(bytes, &mut self.ram);
            self.ram_memory = if open { self.main_ram } else { usize::MAX };
        }
    }

    /// Notes an access that did not take the fast path. After many of them to another RAM, that one becomes
    /// the main RAM.
    #[inline(always)]
    pub fn note_slow(&mut self, address: u32, place: Place) {
        if place.memory != self.main_ram && self.quick[place.memory] {
            self.astray += 1;
            if self.astray >= ASTRAY {
                self.change_main_ram(address, place);
            }
        }
    }

    #[inline(never)]
    fn change_main_ram(&mut self, address: u32, place: Place) {
        self.astray = 0;
        let is_open = self.ram_memory != usize::MAX;
        self.open_main_ram(false);
        (self.main_ram, self.ram_base) = (place.memory, address - place.offset);
        self.open_main_ram(is_open);
    }

    /// Returns the first word-aligned address in RAM at which the given bytes occur.
    pub fn find_in_ram(&self, bytes: &[u8]) -> Option<u32> {
        self.ranges.iter().filter(|range| self.is_writable(range.memory)).find_map(|range| {
            let held = self.bytes(range.memory);
            let found = (0..held.len()).step_by(4).find(|at| held[*at..].starts_with(bytes));
            Some(range.base + found? as u32)
        })
    }

    /// Reads `N` bytes from the main RAM, or returns `None` if they are not all there.
    #[inline(always)]
    pub fn ram_load<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        let offset = address.wrapping_sub(self.ram_base) as usize;
        self.ram.get(offset..offset + N)?.try_into().ok()
    }

    /// Writes `N` bytes to the main RAM, if they are all there and no code may have run from them; returns
    /// whether it did.
    #[inline(always)]
    pub fn ram_store<const N: usize>(&mut self, address: u32, bytes: [u8; N]) -> bool {
        let offset = address.wrapping_sub(self.ram_base) as usize;
        match self.ram.get_mut(offset..offset + N) {
            Some(target) if !self.code_writes.covers(address) => {
                target.copy_from_slice(&bytes);
                true
            }
            _ => false,
        }
    }

    /// Returns words of the main RAM starting at an aligned address, or `None` if they are not all there.
    #[inline(always)]
    pub fn ram_words(&self, address: u32, count: u32) -> Option<&[[u8; 4]]> {
        if address & 3 != 0 {
            return None;
        }
        let offset = address.wrapping_sub(self.ram_base) as usize;
        Some(self.ram.get(offset..offset + 4 * count as usize)?.as_chunks().0)
    }

    /// Returns words of the main RAM for writing, or `None` if they are not all there or code may have run
    /// from them.
    #[inline(always)]
    pub fn ram_words_mut(&mut self, address: u32, count: u32) -> Option<&mut [[u8; 4]]> {
        let CodeWrites { low, high, .. } = self.code_writes;
        let end = address.wrapping_add(4 * count);
        if address & 3 != 0 || (low != high && address < high && end > low) {
            return None;
        }
        let offset = address.wrapping_sub(self.ram_base) as usize;
        Some(self.ram.get_mut(offset..offset + 4 * count as usize)?.as_chunks_mut().0)
    }

    /// Reads `N` bytes from any memory; returns them with their place.
    pub fn load<const N: usize>(&self, address: u32) -> Option<([u8; N], Place)> {
        let place = self.place(address)?;
        Some((self.load_at(place.memory, place.offset as usize)?, place))
    }

    /// Writes `N` bytes to any memory that accepts stores.
    pub fn store<const N: usize>(&mut self, address: u32, bytes: [u8; N]) -> Option<Place> {
        let place = self.place(address)?;
        if !self.store_at(place.memory, place.offset as usize, bytes) {
            return None;
        }
        self.code_writes.dirty |= self.code_writes.covers(address);
        Some(place)
    }

    /// Reads `N` bytes of a memory, or returns `None` if they are not all there.
    #[inline(always)]
    pub fn load_at<const N: usize>(&self, memory: usize, at: usize) -> Option<[u8; N]> {
        self.bytes(memory).get(at..at + N)?.try_into().ok()
    }

    /// Writes `N` bytes to a memory, if it accepts stores and they are all there; returns whether it did.
    /// Does not check whether code may have run from them.
    #[inline(always)]
    pub fn store_at<const N: usize>(&mut self, memory: usize, at: usize, bytes: [u8; N]) -> bool {
        let target = match &mut self.contents[memory] {
            _ if memory == self.ram_memory => &mut self.ram,
            Contents::Own(own) => own,
            Contents::Shared(_) => return false,
        };
        let Some(target) = target.get_mut(at..at + N) else { return false };
        if let Some(journal) = &mut self.journal {
            journal.note(memory, at, target);
        }
        target.copy_from_slice(&bytes);
        true
    }

    /// Fills every memory that accepts stores with its reset value.
    pub fn reset(&mut self) {
        self.ram.fill(RAM_AT_RESET);
        for (memory, contents) in self.contents.iter_mut().enumerate() {
            if let Contents::Own(bytes) = contents {
                if let Some(journal) = &mut self.journal {
                    journal.note(memory, 0, bytes);
                }
                bytes.fill(RAM_AT_RESET);
            }
        }
        self.code_writes = CodeWrites::default();
    }
}
