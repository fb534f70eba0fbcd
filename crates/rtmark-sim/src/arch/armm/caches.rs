//! The Cortex-M7's registers for caches and tightly coupled memories (DDI 0489, 3.3 and 5; DDI 0403, B4.8).
//!
//! The modelled caches track lines and not their contents: whatever is cleaned or invalidated, loads read
//! what was stored last. So of all maintenance operations, those that invalidate lines have an effect, which is
//! on timing, and those that only clean them have none.

use crate::soc::{CACHE_LINE_BYTES, CacheSizes, Soc};

/// CCR bits: the data cache, the instruction cache and branch prediction are enabled.
pub const CCR_DC: u32 = 1 << 16;
pub const CCR_IC: u32 = 1 << 17;
pub const CCR_BP: u32 = 1 << 18;

/// The effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheWriteEffect {
    /// There is no such register.
    Nowhere,
    /// Nothing except that the value is kept.
    Kept,
    /// The instruction cache loses all lines.
    ForgetCode,
    /// The instruction cache loses the line of this address.
    ForgetCodeAt(u32),
    /// The data cache loses the line of this address.
    ForgetDataAt(u32),
    /// The data cache loses this line.
    ForgetDataIn { set: u32, way: u32 },
}

/// The registers whose values are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    sizes: CacheSizes,
    /// CSSELR.
    selected: u32,
    /// ITCMCR, DTCMCR, AHBPCR, CACR and AHBSCR.
    control: [u32; 5],
}

/// The writable bits of those registers.
const WRITABLE: [u32; 5] = [0x7, 0x7, 0x1, 0x7, 0xFFFF];

impl Caches {
    /// Creates the registers of a soc. Its memories at the addresses of the tightly coupled memories are these.
    pub fn of(soc: &Soc) -> Self {
        let covers = |address: u32| {
            soc.memories.iter().find(|memory| memory.range().contains(&u64::from(address)))
        };
        // SZ: 3 for 4 KiB, one more for each doubling (DDI 0489, 3.3.6).
        let enabled = |address: u32| {
            covers(address).map_or(0, |memory| (memory.size.max(1024).ilog2() - 9) << 3 | 1)
        };
        Self {
            sizes: soc.caches,
            selected: 0,
            control: [enabled(0), enabled(0x2000_0000), 0, 0, 0],
        }
    }

    /// Returns the writable bits of CCR that switch the caches.
    pub const fn switches(&self) -> u32 {
        let CacheSizes { instruction_bytes, data_bytes } = self.sizes;
        let instructions = if instruction_bytes > 0 { CCR_IC } else { 0 };
        instructions | if data_bytes > 0 { CCR_DC } else { 0 }
    }

    /// CACR.SIWT: shared data is cached, write-through (DDI 0489, 3.3.9).
    pub const fn caches_shared(&self) -> bool {
        self.control[3] & 1 != 0
    }

    /// CACR.FORCEWT: all data is written through.
    pub const fn forces_write_through(&self) -> bool {
        self.control[3] & 4 != 0
    }

    /// Reads the register at an address, if it is one of these.
    pub fn read(&self, address: u32) -> Option<u32> {
        Some(match address {
            // CLIDR: one level at most, with separate caches.
            0xE000_ED78 if !self.sizes.has_any() => 0,
            0xE000_ED78 => {
                let CacheSizes { instruction_bytes, data_bytes } = self.sizes;
                0x0900_0000 | u32::from(data_bytes > 0) << 1 | u32::from(instruction_bytes > 0)
            }
            // CTR.
            0xE000_ED7C => 0x8303_C003,
            0xE000_ED80 => self.size(),
            0xE000_ED84 => self.selected,
            0xE000_EF90..=0xE000_EFA0 => self.control[((address - 0xE000_EF90) / 4) as usize],
            // ABFSR: no bus fault was imprecise.
            0xE000_EFA8 => 0,
            // Registers that perform operations read as zero.
            0xE000_EF50..=0xE000_EF78 => 0,
            _ => return None,
        })
    }

    /// CCSIDR: two ways for instructions, four for data, in lines of eight words.
    const fn size(&self) -> u32 {
        let CacheSizes { instruction_bytes, data_bytes } = self.sizes;
        let (bytes, ways) =
            if self.selected & 1 == 1 { (instruction_bytes, 2) } else { (data_bytes, 4) };
        if bytes == 0 {
            return 0;
        }
        let sets = bytes / CACHE_LINE_BYTES / ways;
        0xF000_0000 | (sets - 1) << 13 | (ways - 1) << 3 | 1
    }

    /// Writes to the register at an address.
    pub fn write(&mut self, address: u32, value: u32) -> CacheWriteEffect {
        match address {
            0xE000_ED84 => self.selected = value & 0xF,
            // ICIALLU and ICIMVAU.
            0xE000_EF50 => return CacheWriteEffect::ForgetCode,
            0xE000_EF58 => return CacheWriteEffect::ForgetCodeAt(value),
            // DCIMVAC and DCCIMVAC.
            0xE000_EF5C | 0xE000_EF70 => return CacheWriteEffect::ForgetDataAt(value),
            // DCISW and DCCISW: the level in bits 3 to 1 can only be the first.
            0xE000_EF60 | 0xE000_EF74 => {
                let set = value >> 5 & 0x1FF;
                return CacheWriteEffect::ForgetDataIn { set, way: value >> 30 };
            }
            // The others clean lines, or concern branch prediction.
            0xE000_EF64..=0xE000_EF6C | 0xE000_EF78 => {}
            0xE000_EF90..=0xE000_EFA0 => {
                let at = ((address - 0xE000_EF90) / 4) as usize;
                self.control[at] = self.control[at] & !WRITABLE[at] | value & WRITABLE[at];
            }
            0xE000_EFA8 => {}
            _ => return CacheWriteEffect::Nowhere,
        }
        CacheWriteEffect::Kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(sizes: &str) -> Caches {
        let text = format!(
            "name = 'x'\ndescription = 'd'\ncore = 'cortex-m7'\nclock_hz = 1000\ninterrupts = 32\n\
             priority_bits = 4\n{sizes}\n[[memory]]\nname = 'FLASH'\nkind = 'flash'\nbase = 0\n\
             size = 0x10000\n[[memory]]\nname = 'RAM'\nkind = 'ram'\n\
             base = 0x20000000\nsize = 0x20000"
        );
        Caches::of(&Soc::from_toml(&text).expect("valid"))
    }

    #[test]
    fn cache_sizes_match_the_manual() {
        let mut caches = caches("caches = { instruction_bytes = 0x8000, data_bytes = 0x4000 }");
        // DDI 0489, table 3-7: 16 KiB for data and 32 KiB for instructions.
        assert_eq!(caches.read(0xE000_ED80), Some(0xF00F_E019));
        assert_eq!(caches.write(0xE000_ED84, 1), CacheWriteEffect::Kept);
        assert_eq!(caches.read(0xE000_ED80), Some(0xF03F_E009));
        assert_eq!(caches.read(0xE000_ED78), Some(0x0900_0003));
        assert_eq!(caches.switches(), CCR_IC | CCR_DC);
        // 64 and 128 KiB.
        assert_eq!(caches.read(0xE000_EF90), Some(7 << 3 | 1));
        assert_eq!(caches.read(0xE000_EF94), Some(8 << 3 | 1));
        assert_eq!(caches.write(0xE000_EF90, 0), CacheWriteEffect::Kept);
        assert_eq!(caches.read(0xE000_EF90), Some(7 << 3));
        assert_eq!(caches.write(0xE000_EFFC, 0), CacheWriteEffect::Nowhere);
    }

    #[test]
    fn maintenance_names_lines() {
        let mut caches = caches("caches = { instruction_bytes = 0x4000, data_bytes = 0x4000 }");
        let at = 0x2400_0020;
        assert_eq!(caches.write(0xE000_EF50, at), CacheWriteEffect::ForgetCode);
        assert_eq!(caches.write(0xE000_EF58, at), CacheWriteEffect::ForgetCodeAt(at));
        for operation in [0xE000_EF5C, 0xE000_EF70] {
            assert_eq!(caches.write(operation, at), CacheWriteEffect::ForgetDataAt(at));
        }
        for operation in [0xE000_EF60, 0xE000_EF74] {
            let effect = caches.write(operation, 2 << 30 | 77 << 5);
            assert_eq!(effect, CacheWriteEffect::ForgetDataIn { set: 77, way: 2 });
        }
        for clean in [0xE000_EF64, 0xE000_EF68, 0xE000_EF6C, 0xE000_EF78] {
            assert_eq!(caches.write(clean, at), CacheWriteEffect::Kept);
        }
    }

    #[test]
    fn registers_report_absent_caches() {
        let mut one = caches("caches = { data_bytes = 0x1000 }");
        assert_eq!(one.switches(), CCR_DC);
        assert_eq!(one.read(0xE000_ED78), Some(0x0900_0002));
        assert_eq!(one.write(0xE000_ED84, 1), CacheWriteEffect::Kept);
        assert_eq!(one.read(0xE000_ED80), Some(0));
        let none = caches("");
        assert_eq!(none.switches(), 0);
        assert_eq!(none.read(0xE000_ED78), Some(0));
        assert_eq!(none.read(0xE000_ED80), Some(0));
    }

    #[test]
    fn control_says_how_shared_data_is_cached() {
        let mut caches = caches("caches = { data_bytes = 0x1000 }");
        assert!(!caches.caches_shared() && !caches.forces_write_through());
        caches.write(0xE000_EF9C, 1);
        assert!(caches.caches_shared() && !caches.forces_write_through());
        caches.write(0xE000_EF9C, 4);
        assert!(!caches.caches_shared() && caches.forces_write_through());
    }
}
