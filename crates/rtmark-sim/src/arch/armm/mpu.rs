//! The memory protection unit: its registers, and what its regions allow.
//!
//! PMSAv7 as defined in DDI 0403, B3.5 (ARMv6-M: DDI 0419, B3.5), and PMSAv8 as defined in DDI 0553, B10. A
//! value that decides about single addresses. It does not know which access it is asked about, nor whether
//! its decision applies at the moment; [`crate::exec::protect`] does.

use crate::arch::PAGE_BYTES;
use crate::isa::Features;

/// The smallest region of all architectures: rights are uniform within each aligned block of this size.
pub const GRAIN_BYTES: u32 = 32;
/// CTRL bits.
const ENABLE: u32 = 1;
const HFNMIENA: u32 = 1 << 1;
const PRIVDEFENA: u32 = 1 << 2;
/// RBAR of PMSAv7: the write also selects the region that its low bits name.
const VALID: u32 = 1 << 4;

/// The purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Write,
    Execute,
}

/// What an address may be used for, and at which privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rights(u16);

impl Rights {
    const NONE: Self = Self(0);
    const PRIVILEGED_READ: Self = Self(1);
    const PRIVILEGED_WRITE: Self = Self(1 << 1);
    const USER_READ: Self = Self(1 << 2);
    const USER_WRITE: Self = Self(1 << 3);
    const EXECUTE: Self = Self(1 << 4);
    /// Strongly-ordered memory, where accesses are never buffered.
    const ORDERED: Self = Self(1 << 5);

    /// Device memory.
    const DEVICE: Self = Self(1 << 6);
    const ALL: Self = Self(0x1F);
    /// The inner attributes of Normal memory, which a Cortex-M7's caches go by: cacheable, a store that misses
    /// brings the line, and shared with other masters.
    const CACHED: Self = Self(1 << 7);
    const ALLOCATES: Self = Self(1 << 8);
    const SHARED: Self = Self(1 << 9);

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn only_if(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }

    /// Returns whether an access is allowed. Code must also be readable to be executed.
    pub const fn allow(self, access: Purpose, privileged: bool) -> bool {
        let read = if privileged { Self::PRIVILEGED_READ } else { Self::USER_READ };
        let write = if privileged { Self::PRIVILEGED_WRITE } else { Self::USER_WRITE };
        self.has(match access {
            Purpose::Read => read,
            Purpose::Write => write,
            Purpose::Execute => read.with(Self::EXECUTE),
        })
    }

    /// Returns whether it is memory of the Device type, where ARMv8-M allows no unaligned access.
    pub const fn are_of_device(self) -> bool {
        self.has(Self::DEVICE)
    }

    /// Returns whether caches may hold what is there.
    pub const fn are_cached(self) -> bool {
        self.has(Self::CACHED)
    }

    /// Returns whether a store that misses a cache brings the line.
    pub const fn allocate_on_store(self) -> bool {
        self.has(Self::ALLOCATES)
    }

    /// Returns whether other masters share what is there.
    pub const fn are_shared(self) -> bool {
        self.has(Self::SHARED)
    }

    /// Returns the inner attributes of PMSAv7 (DDI 0403, table B3-13): `bits` are TEX, S, C and B of RASR.
    /// Combinations that are reserved or left to the implementation are assumed not to be cached.
    const fn caching(bits: u32) -> Self {
        let (tex, shared, policy) = (bits >> 3 & 7, bits >> 2 & 1 == 1, bits & 3);
        let cached = match (tex, policy) {
            // Write-through, and write-back without allocation on stores.
            (0 | 4..=7, 2 | 3) => Self::CACHED,
            (1, 3) | (4..=7, 1) => Self::CACHED.with(Self::ALLOCATES),
            _ => Self::NONE,
        };
        cached.with(Self::SHARED.only_if(shared))
    }

    /// Returns whether stores there may be buffered.
    pub const fn are_bufferable(self) -> bool {
        !self.has(Self::ORDERED)
    }
}

/// Returns what the default memory map allows: execution everywhere except in the ranges of devices and of
/// the system. The other ranges are cached: write-through at the code's addresses and from 0x80000000 on, write-back
/// with allocation on stores elsewhere (DDI 0403, B3.1; DDI 0419, B3.1; DDI 0553, B8.2).
pub const fn default_rights(address: u32) -> Rights {
    let all = Rights(0xF);
    let cached = all.with(Rights::EXECUTE).with(Rights::CACHED);
    match address >> 29 {
        2 | 5 | 6 => all.with(Rights::DEVICE),
        7 => all.with(Rights::ORDERED).with(Rights::DEVICE),
        1 | 3 => cached.with(Rights::ALLOCATES),
        _ => cached,
    }
}

/// The architecture, which decides which registers exist and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Architecture {
    V6,
    V7,
    V8,
}

/// A region as programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Region {
    /// RBAR, without the region selection.
    base: u32,
    /// RASR, or RLAR of PMSAv8.
    attributes: u32,
}

impl Region {
    /// Returns what the region allows at an address under PMSAv7, if it applies there.
    const fn v7(self, address: u32, least_size: u32) -> Option<Rights> {
        let size = self.attributes >> 1 & 31;
        if self.attributes & 1 == 0 || size < least_size {
            return None;
        }
        let mask = u32::MAX.unbounded_shl(size + 1);
        let subregion = if size >= 7 { address >> (size - 2) & 7 } else { 0 };
        let enabled = size < 7 || self.attributes >> (8 + subregion) & 1 == 0;
        if (address ^ self.base) & mask != 0 || !enabled {
            return None;
        }
        let (privileged_read, privileged_write) =
            (Rights::PRIVILEGED_READ, Rights::PRIVILEGED_READ.with(Rights::PRIVILEGED_WRITE));
        let (user_read, user_write) =
            (Rights::USER_READ, Rights::USER_READ.with(Rights::USER_WRITE));
        // Table B3-15; the reserved value 4 is assumed to allow nothing.
        let rights = match self.attributes >> 24 & 7 {
            1 => privileged_write,
            2 => privileged_write.with(user_read),
            3 => privileged_write.with(user_write),
            5 => privileged_read,
            6 | 7 => privileged_read.with(user_read),
            _ => Rights::NONE,
        };
        let execute = Rights::EXECUTE.only_if(self.attributes >> 28 & 1 == 0);
        // TEX, C and B are all zero.
        let ordered = Rights::ORDERED.only_if(self.attributes & 0x003B_0000 == 0);
        let caching = Rights::caching(self.attributes >> 16 & 0x3F);
        Some(rights.with(execute).with(ordered).with(caching))
    }

    /// Returns what the region allows at an address under PMSAv8, given MAIR0 and MAIR1.
    const fn v8(self, address: u32, attributes: u64) -> Option<Rights> {
        let (base, limit) = (self.base & !31, self.attributes | 31);
        if self.attributes & 1 == 0 || address < base || address > limit {
            return None;
        }
        let read = Rights::PRIVILEGED_READ.with(Rights::USER_READ.only_if(self.base >> 1 & 1 == 1));
        let write =
            Rights::PRIVILEGED_WRITE.with(Rights::USER_WRITE.only_if(self.base >> 1 & 1 == 1));
        let execute = Rights::EXECUTE.only_if(self.base & 1 == 0);
        let write = write.only_if(self.base >> 2 & 1 == 0);
        // MAIR: one byte for each index. Device memory has zeros in the upper half, and is Device-nGnRnE,
        // formerly called Strongly-ordered, if all bits are zero.
        let kind = attributes >> (8 * (self.attributes >> 1 & 7)) & 0xFF;
        let device = Rights::DEVICE.only_if(kind >> 4 == 0);
        let ordered = Rights::ORDERED.only_if(kind == 0);
        Some(read.with(write).with(execute).with(device).with(ordered))
    }
}

/// Earlier decisions, each at the position that the low bits of its key give.
#[derive(Clone, Debug)]
struct Memo([(u32, Rights); 64]);

impl Memo {
    /// A key that never occurs.
    const NOTHING: u32 = u32::MAX;

    const fn new() -> Self {
        Self([(Self::NOTHING, Rights::NONE); 64])
    }

    fn get_or(&mut self, question: u32, answer: impl FnOnce() -> Rights) -> Rights {
        let entry = &mut self.0[question as usize % 64];
        if entry.0 != question {
            *entry = (question, answer());
        }
        entry.1
    }
}

/// The registers that decide about an address.
#[derive(Clone, Copy)]
struct Registers<'a> {
    architecture: Architecture,
    control: u32,
    regions: &'a [Region],
    /// MAIR0 and MAIR1.
    attributes: u64,
}

/// Finds the region that contains an address, and returns what it allows.
fn find(unit: Registers<'_>, address: u32) -> Rights {
    let Registers { architecture, control, regions, attributes } = unit;
    // The private peripheral bus has the default memory map's rights (B3.5.1).
    if address >> 20 == 0xE00 {
        return default_rights(address);
    }
    let found = match architecture {
        // The region with the highest number applies.
        Architecture::V6 => regions.iter().rev().find_map(|region| region.v7(address, 7)),
        Architecture::V7 => regions.iter().rev().find_map(|region| region.v7(address, 4)),
        Architecture::V8 => {
            let mut hits = regions.iter().filter_map(|region| region.v8(address, attributes));
            match (hits.next(), hits.next()) {
                // Where regions overlap, nothing is allowed (DDI 0553, B10.1).
                (Some(_), Some(_)) => Some(Rights::NONE),
                (first, _) => first,
            }
        }
    };
    let background = default_rights(address)
        .without(Rights::USER_READ.with(Rights::USER_WRITE))
        .only_if(control & PRIVDEFENA != 0);
    let rights = found.unwrap_or(background);
    // The system's range is never executable.
    if address >> 29 == 7 { rights.without(Rights::EXECUTE) } else { rights }
}

/// The state of the unit.
#[derive(Clone, Debug)]
pub struct Mpu {
    architecture: Architecture,
    control: u32,
    /// RNR.
    selected: u32,
    regions: Vec<Region>,
    /// MAIR0 and MAIR1 of PMSAv8, of which only the memory type matters here.
    attributes: [u32; 2],
    grains: Memo,
    pages: Memo,
}

impl Mpu {
    /// Creates a unit that is off. Without regions it reads as zero and ignores writes.
    pub fn new(features: Features, regions: u8) -> Self {
        let architecture = match features {
            Features { v8m: true, .. } => Architecture::V8,
            Features { mainline: true, .. } => Architecture::V7,
            _ => Architecture::V6,
        };
        Self {
            architecture,
            control: 0,
            selected: 0,
            regions: vec![Region::default(); regions.into()],
            attributes: [0; 2],
            grains: Memo::new(),
            pages: Memo::new(),
        }
    }

    /// Returns whether it checks accesses at an execution priority (DDI 0403, B3.5.3).
    pub const fn checks_at(&self, priority: i16) -> bool {
        self.is_enabled() && (priority >= 0 || self.control & HFNMIENA != 0)
    }

    pub const fn is_enabled(&self) -> bool {
        self.control & ENABLE != 0
    }

    /// Returns what an address may be used for while the unit checks accesses.
    pub fn rights(&mut self, address: u32) -> Rights {
        let (unit, memos) = self.parts();
        memos.0.get_or(address / GRAIN_BYTES, || find(unit, address))
    }

    /// Returns the number of the PMSAv8 region that contains an address, if it is the only one, as TT
    /// reports it.
    pub fn region_at(&self, address: u32) -> Option<u8> {
        let mut hits =
            (0..).zip(&self.regions).filter(|(_, region)| region.v8(address, 0).is_some());
        match (hits.next(), hits.next()) {
            (Some((number, _)), None) => Some(number),
            _ => None,
        }
    }

    /// Returns what every address of a page of code may be used for, including the address where the last
    /// instruction may end beyond the page.
    pub fn rights_in_page(&mut self, address: u32) -> Rights {
        let (unit, memos) = self.parts();
        let page = address / PAGE_BYTES;
        memos.1.get_or(page, || {
            (0..=PAGE_BYTES)
                .step_by(GRAIN_BYTES as usize)
                .map(|offset| find(unit, (page * PAGE_BYTES).wrapping_add(offset)))
                .fold(Rights::ALL, Rights::and)
        })
    }

    /// Returns the registers that decide, and the decisions made so far about grains and about pages.
    fn parts(&mut self) -> (Registers<'_>, (&mut Memo, &mut Memo)) {
        let registers = Registers {
            architecture: self.architecture,
            control: self.control,
            regions: &self.regions,
            attributes: u64::from(self.attributes[0]) | u64::from(self.attributes[1]) << 32,
        };
        (registers, (&mut self.grains, &mut self.pages))
    }

    /// Reads the register at an offset from MPU_TYPE.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x00 => (self.regions.len() as u32) << 8,
            0x04 => self.control,
            0x08 => self.selected,
            0x0C..=0x28 if self.has(offset) => {
                let number = self.number_at(offset);
                let region = self.regions.get(number as usize).copied().unwrap_or_default();
                match (offset & 4, self.architecture) {
                    (0, _) => region.attributes,
                    (_, Architecture::V8) => region.base,
                    _ => region.base | number & 0xF,
                }
            }
            0x30 | 0x34 if self.architecture == Architecture::V8 => {
                self.attributes[(offset >> 2 & 1) as usize]
            }
            _ => return None,
        })
    }

    /// Writes the register at an offset from MPU_TYPE; returns whether there is one.
    pub fn write(&mut self, offset: u32, value: u32) -> bool {
        if self.regions.is_empty() {
            return self.read(offset).is_some();
        }
        match offset {
            0x00 => {}
            0x04 => self.control = value & (ENABLE | HFNMIENA | PRIVDEFENA),
            0x08 => self.selected = value & 0xFF,
            0x0C..=0x28 if self.has(offset) => self.write_region(offset, value),
            0x30 | 0x34 if self.architecture == Architecture::V8 => {
                self.attributes[(offset >> 2 & 1) as usize] = value;
            }
            _ => return false,
        }
        (self.grains, self.pages) = (Memo::new(), Memo::new());
        true
    }

    /// ARMv6-M has no aliases of RBAR and RASR.
    const fn has(&self, offset: u32) -> bool {
        offset & 3 == 0 && (offset <= 0x10 || !matches!(self.architecture, Architecture::V6))
    }

    /// Returns the region whose registers are at an offset.
    const fn number_at(&self, offset: u32) -> u32 {
        let alias = (offset - 0x0C) / 8;
        match self.architecture {
            // The aliases are those of the four regions around RNR (DDI 0553, D1.2).
            Architecture::V8 if alias > 0 => self.selected & !3 | alias,
            _ => self.selected,
        }
    }

    fn write_region(&mut self, offset: u32, value: u32) {
        let is_base = offset & 4 != 0;
        if is_base && self.architecture != Architecture::V8 && value & VALID != 0 {
            self.selected = value & 0xF;
        }
        let number = self.number_at(offset) as usize;
        let Some(region) = self.regions.get_mut(number) else { return };
        match (is_base, self.architecture) {
            (true, Architecture::V6) => region.base = value & !0xFF,
            (true, Architecture::V7) => region.base = value & !0x1F,
            (true, Architecture::V8) => region.base = value,
            (false, Architecture::V6) => region.attributes = value & 0x1707_FF3F,
            (false, Architecture::V7) => region.attributes = value & 0x173F_FF3F,
            (false, Architecture::V8) => region.attributes = value & !0x10,
        }
    }
}
