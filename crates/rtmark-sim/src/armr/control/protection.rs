//! The memory protection unit and the memory attributes of addresses (DDI 0406, B5: PMSAv7).

/// The cache policy of normal memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CachePolicy {
    Uncached,
    WriteThrough,
    /// Write-back; `allocates` says whether stores that miss fetch their line, too.
    WriteBack {
        allocates: bool,
    },
}

/// A memory type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    StronglyOrdered,
    Device,
    Normal(CachePolicy),
}

/// Why an access is refused, with its code in the fault status registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessFault {
    /// No region contains the address.
    Background = 0,
    Alignment = 1,
    /// Nothing responds at the address.
    External = 8,
    Permission = 13,
}

/// A region in the form of its registers: DRBAR, DRSR, DRACR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    pub base: u32,
    pub size: u32,
    pub access: u32,
}

const EXECUTE_NEVER: u32 = 1 << 12;

impl Region {
    /// Returns whether the region is enabled and contains an address. Regions below 256 bytes have
    /// no subregions.
    const fn contains(&self, address: u32) -> bool {
        let bits = (self.size >> 1 & 0x1F) + 1;
        if self.size & 1 == 0 || bits < 5 {
            return false;
        }
        if bits == 32 {
            return self.size >> (8 + (address >> 29)) & 1 == 0;
        }
        let offset = address.wrapping_sub(self.base & (u32::MAX << bits));
        if offset >> bits != 0 {
            return false;
        }
        bits < 8 || self.size >> (8 + (offset >> (bits - 3))) & 1 == 0
    }

    /// Returns the addresses at which the region or one of its subregions begins or ends.
    fn boundaries(&self) -> impl Iterator<Item = u64> + '_ {
        let bits = (self.size >> 1 & 0x1F) + 1;
        let on = self.size & 1 == 1 && bits >= 5;
        let base = if bits == 32 { 0 } else { u64::from(self.base & (u32::MAX << (bits & 31))) };
        let parts = if bits < 8 { 1 } else { 8 };
        (0..=parts).filter(move |_| on).map(move |part| base + (part << bits) / parts)
    }

    /// Returns the memory type (DDI 0406, B5.3.1 and table B5-7).
    const fn kind(&self) -> Kind {
        let (tex, c, b) = (self.access >> 3 & 7, self.access >> 1 & 1, self.access & 1);
        let shared = self.access >> 2 & 1 == 1;
        match (tex, c << 1 | b) {
            (0, 0) => Kind::StronglyOrdered,
            (0, 1) | (2, 0) => Kind::Device,
            (0, code) => inner_of(code, shared),
            (1, 3) => inner_of(1, shared),
            (1, _) => inner_of(0, shared),
            (4.., code) => inner_of(code, shared),
            _ => Kind::Normal(CachePolicy::Uncached),
        }
    }
}

/// Decodes the two bits of a cache policy. Shared normal memory is not cached (DDI 0460, 8.5).
const fn inner_of(code: u32, shared: bool) -> Kind {
    Kind::Normal(match code {
        _ if shared => CachePolicy::Uncached,
        1 => CachePolicy::WriteBack { allocates: true },
        2 => CachePolicy::WriteThrough,
        3 => CachePolicy::WriteBack { allocates: false },
        _ => CachePolicy::Uncached,
    })
}

/// The permitted accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rights {
    /// Read and write permission: privileged, user.
    reads: [bool; 2],
    writes: [bool; 2],
    executes: bool,
}

impl Rights {
    const NONE: Self = Self { reads: [false; 2], writes: [false; 2], executes: false };

    /// Decodes DRACR.AP (DDI 0406, table B5-5).
    const fn of(access: u32) -> Self {
        let (reads, writes) = match access >> 8 & 7 {
            1 => ([true, false], [true, false]),
            2 => ([true, true], [true, false]),
            3 => ([true, true], [true, true]),
            5 => ([true, false], [false, false]),
            6 => ([true, true], [false, false]),
            _ => ([false, false], [false, false]),
        };
        Self { reads, writes, executes: access & EXECUTE_NEVER == 0 }
    }
}

/// A range of addresses with the same attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first: u32,
    last: u32,
    kind: Kind,
    rights: Rights,
    /// Whether no region contains it.
    background: bool,
}

/// The memory protection unit.
#[derive(Clone, Debug)]
pub struct Protection {
    regions: Vec<Region>,
    /// RGNR.
    pub number: u32,
    enabled: bool,
    background: bool,
    /// Spans that cover all addresses, in ascending order.
    map: Vec<Span>,
    /// The span found last, for data and for code.
    last: [usize; 2],
}

/// The memory map without the protection unit (DDI 0406, table B5-1): start address, memory type,
/// and whether code may execute there.
const DEFAULT: [(u32, Kind, bool); 7] = [
    (0x0000_0000, Kind::Normal(CachePolicy::WriteBack { allocates: true }), true),
    (0x4000_0000, Kind::Normal(CachePolicy::WriteThrough), true),
    (0x6000_0000, Kind::Normal(CachePolicy::Uncached), true),
    (0x8000_0000, Kind::Device, false),
    (0xC000_0000, Kind::StronglyOrdered, false),
    (0xF000_0000, Kind::StronglyOrdered, false),
    // High vectors are executable.
    (0xFFFF_0000, Kind::StronglyOrdered, true),
];

impl Protection {
    pub fn new(regions: u8) -> Self {
        let mut unit = Self {
            regions: vec![Region::default(); usize::from(regions)],
            number: 0,
            enabled: false,
            background: false,
            map: Vec::new(),
            last: [0; 2],
        };
        unit.rebuild();
        unit
    }

    pub fn regions(&self) -> u8 {
        self.regions.len() as u8
    }

    /// Returns the region that RGNR selects.
    pub fn selected(&self) -> Region {
        self.regions.get(self.number as usize).copied().unwrap_or_default()
    }

    pub fn write(&mut self, change: impl FnOnce(&mut Region)) {
        if let Some(region) = self.regions.get_mut(self.number as usize) {
            change(region);
        }
        self.rebuild();
    }

    /// Enables or disables the unit and the background region.
    pub fn set(&mut self, enabled: bool, background: bool) {
        if (self.enabled, self.background) != (enabled, background) {
            (self.enabled, self.background) = (enabled, background);
            self.rebuild();
        }
    }

    fn at(&self, address: u32) -> Span {
        let default = DEFAULT.iter().rev().find(|(first, ..)| *first <= address);
        let (kind, executes) =
            default.map_or((Kind::StronglyOrdered, false), |line| (line.1, line.2));
        let open = Rights { reads: [true; 2], writes: [true; 2], executes };
        let span = |kind, rights, background| Span {
            first: address,
            last: address,
            kind,
            rights,
            background,
        };
        if !self.enabled {
            return span(kind, open, false);
        }
        match self.regions.iter().rev().find(|region| region.contains(address)) {
            Some(region) => span(region.kind(), Rights::of(region.access), false),
            None if self.background => {
                let rights = Rights { reads: [true, false], writes: [true, false], executes };
                span(kind, rights, false)
            }
            None => span(kind, Rights::NONE, true),
        }
    }

    /// Rebuilds the map of spans.
    fn rebuild(&mut self) {
        let ends = self.regions.iter().flat_map(Region::boundaries);
        let mut starts: Vec<u64> = DEFAULT.iter().map(|line| line.0.into()).chain(ends).collect();
        starts.retain(|start| u32::try_from(*start).is_ok());
        starts.sort_unstable();
        starts.dedup();
        let lasts = starts.iter().skip(1).map(|next| (*next - 1) as u32).chain([u32::MAX]);
        let spans = starts.iter().zip(lasts);
        self.map = spans.map(|(first, last)| Span { last, ..self.at(*first as u32) }).collect();
        self.last = [0; 2];
    }

    #[inline]
    fn find(&mut self, address: u32, which: usize) -> Span {
        let last = self.map[self.last[which]];
        if address.wrapping_sub(last.first) <= last.last - last.first {
            return last;
        }
        let at = self.map.partition_point(|span| span.last < address);
        self.last[which] = at;
        self.map[at]
    }

    /// Returns whether the same attributes hold from one address to another.
    pub fn is_uniform(&mut self, first: u32, last: u32) -> bool {
        self.find(first, 0).last >= last
    }

    /// Returns the memory type for a load or store.
    ///
    /// # Errors
    /// Why the access is refused.
    #[inline]
    pub fn data(
        &mut self,
        address: u32,
        writes: bool,
        privileged: bool,
    ) -> Result<Kind, AccessFault> {
        let span = self.find(address, 0);
        let rights = if writes { span.rights.writes } else { span.rights.reads };
        match rights[usize::from(!privileged)] {
            true => Ok(span.kind),
            false if span.background => Err(AccessFault::Background),
            false => Err(AccessFault::Permission),
        }
    }

    /// Returns the memory type for an instruction fetch.
    ///
    /// # Errors
    /// Why the fetch is refused.
    #[inline]
    pub fn code(&mut self, address: u32, privileged: bool) -> Result<Kind, AccessFault> {
        let span = self.find(address, 1);
        match span.rights.executes && span.rights.reads[usize::from(!privileged)] {
            true => Ok(span.kind),
            false if span.background => Err(AccessFault::Background),
            false => Err(AccessFault::Permission),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(regions: &[Region]) -> Protection {
        let mut unit = Protection::new(16);
        for (number, region) in regions.iter().enumerate() {
            unit.number = number as u32;
            unit.write(|place| *place = *region);
        }
        unit.set(true, false);
        unit
    }

    /// Returns the DRSR of a region whose size is two to the power of `bits`.
    const fn size(bits: u32) -> u32 {
        (bits - 1) << 1 | 1
    }

    #[test]
    fn without_regions_the_default_memory_map_applies() {
        let mut off = Protection::new(16);
        let back = Kind::Normal(CachePolicy::WriteBack { allocates: true });
        assert_eq!(off.data(0x10_0000, true, false), Ok(back));
        assert_eq!(off.data(0x4000_0000, true, false), Ok(Kind::Normal(CachePolicy::WriteThrough)));
        assert_eq!(off.data(0xFF00_0000, true, false), Ok(Kind::StronglyOrdered));
        assert_eq!(off.code(0x8000_0000, true), Err(AccessFault::Permission));
        assert_eq!(off.code(0xFFFF_0000, true), Ok(Kind::StronglyOrdered));
    }

    #[test]
    fn the_highest_region_wins_and_disabled_subregions_leave_gaps() {
        let all = Region { base: 0, size: size(32), access: 0x30C };
        // 1 MiB without its second eighth, read-only for users.
        let part = Region { base: 0x10_0000, size: size(20) | 2 << 8, access: 0x20B };
        let mut unit = unit(&[all, part]);
        let open = Kind::Normal(CachePolicy::Uncached);
        assert_eq!(unit.data(0, true, false), Ok(open));
        let back = Kind::Normal(CachePolicy::WriteBack { allocates: true });
        assert_eq!(unit.data(0x10_0000, false, false), Ok(back));
        assert_eq!(unit.data(0x10_0000, true, false), Err(AccessFault::Permission));
        assert_eq!(unit.data(0x12_0000, true, false), Ok(open));
        assert_eq!(unit.data(0x14_0000, true, true), Ok(back));
        assert_eq!(unit.data(0x20_0000, true, false), Ok(open));
    }

    #[test]
    fn accesses_outside_all_regions_are_refused() {
        let mut unit = unit(&[Region { base: 0x2000, size: size(5), access: 0x1300 }]);
        assert_eq!(unit.data(0x2000, true, false), Ok(Kind::StronglyOrdered));
        assert_eq!(unit.data(0x201F, true, false), Ok(Kind::StronglyOrdered));
        assert_eq!(unit.data(0x2020, true, true), Err(AccessFault::Background));
        assert_eq!(unit.code(0x2000, true), Err(AccessFault::Permission));
        unit.set(true, true);
        assert!(unit.data(0x2020, true, true).is_ok());
        assert_eq!(unit.data(0x2020, true, false), Err(AccessFault::Permission));
    }
}
