//! The Cortex-M7's registers for caches and tightly coupled memories (DDI 0489, 3.3 and 5; DDI 0403, B4.8).
//!
//! The modelled caches track lines and not their contents: whatever is cleaned or invalidated, loads read
//! what was stored last. So of all maintenance operations, only the one that empties the instruction cache
//! has an effect, which is on timing.

use crate::soc::Soc;

/// CCR bits: the data cache, the instruction cache and branch prediction are enabled.
pub const CCR_DC: u32 = 1 << 16;
pub const CCR_IC: u32 = 1 << 17;
pub const CCR_BP: u32 = 1 << 18;

const LINE_BYTES: u32 = 32;

/// The effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheWriteEffect {
    /// There is no such register.
    Nowhere,
    /// Nothing except that the value is kept.
    Kept,
    /// The instruction cache must be emptied.
    EmptyInstructions,
}

/// The registers whose values are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The size of each cache in bytes; 0 without caches.
    bytes: u32,
    /// CSSELR.
    selected: u32,
    /// ITCMCR, DTCMCR, AHBPCR, CACR and AHBSCR.
    control: [u32; 5],
}

/// The writable bits of those registers.
const WRITABLE: [u32; 5] = [0x7, 0x7, 0x1, 0x7, 0xFFFF];

impl Caches {
    /// Creates the registers of a soc. Its memories at the addresses of the tightly coupled memories are
    /// these, and the caches have the size of the one in front of its first cached memory.
    pub fn of(soc: &Soc) -> Self {
        let covers = |address: u32| {
            soc.memories.iter().find(|memory| memory.range().contains(&u64::from(address)))
        };
        // SZ: 3 for 4 KiB, one more for each doubling (DDI 0489, 3.3.6).
        let enabled = |address: u32| {
            covers(address).map_or(0, |memory| (memory.size.max(1024).ilog2() - 9) << 3 | 1)
        };
        let lines = soc.memories.iter().map(|memory| {
            let timing = &memory.timing;
            u32::from(timing.cache_lines.max(timing.instruction_lines.into()))
        });
        Self {
            bytes: lines.max().unwrap_or(0) * LINE_BYTES,
            selected: 0,
            control: [enabled(0), enabled(0x2000_0000), 0, 0, 0],
        }
    }

    /// Returns whether there are caches.
    pub const fn are_present(&self) -> bool {
        self.bytes > 0
    }

    /// Reads the register at an address, if it is one of these.
    pub fn read(&self, address: u32) -> Option<u32> {
        Some(match address {
            // CLIDR: one level, with separate caches.
            0xE000_ED78 if self.are_present() => 0x0900_0003,
            0xE000_ED78 => 0,
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
        if self.bytes == 0 {
            return 0;
        }
        let ways = if self.selected & 1 == 1 { 2 } else { 4 };
        let sets = self.bytes / LINE_BYTES / ways;
        0xF000_0000 | (sets - 1) << 13 | (ways - 1) << 3 | 1
    }

    /// Writes to the register at an address.
    pub fn write(&mut self, address: u32, value: u32) -> CacheWriteEffect {
        match address {
            0xE000_ED84 => self.selected = value & 0xF,
            // ICIALLU.
            0xE000_EF50 => return CacheWriteEffect::EmptyInstructions,
            0xE000_EF58..=0xE000_EF78 => {}
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

    fn caches(timing: &str) -> Caches {
        let text = format!(
            "name = 'x'\ndescription = 'd'\ncore = 'cortex-m7'\nclock_hz = 1000\ninterrupts = 32\n\
             priority_bits = 4\n[[memory]]\nname = 'FLASH'\nkind = 'flash'\nbase = 0\n\
             size = 0x10000\n{timing}\n[[memory]]\nname = 'RAM'\nkind = 'ram'\n\
             base = 0x20000000\nsize = 0x20000"
        );
        Caches::of(&Soc::from_toml(&text).expect("valid"))
    }

    #[test]
    fn cache_sizes_match_the_manual() {
        let timing =
            "timing = { wait_states = 4, line_bytes = 32, cache_lines = 512, cache_ways = 2 }";
        let mut caches = caches(timing);
        // DDI 0489, table 3-7: 16 KiB for data and for instructions.
        assert_eq!(caches.read(0xE000_ED80), Some(0xF00F_E019));
        assert_eq!(caches.write(0xE000_ED84, 1), CacheWriteEffect::Kept);
        assert_eq!(caches.read(0xE000_ED80), Some(0xF01F_E009));
        assert_eq!(caches.read(0xE000_ED78), Some(0x0900_0003));
        // 64 and 128 KiB.
        assert_eq!(caches.read(0xE000_EF90), Some(7 << 3 | 1));
        assert_eq!(caches.read(0xE000_EF94), Some(8 << 3 | 1));
        assert_eq!(caches.write(0xE000_EF90, 0), CacheWriteEffect::Kept);
        assert_eq!(caches.read(0xE000_EF90), Some(7 << 3));
        assert_eq!(caches.write(0xE000_EF50, 0), CacheWriteEffect::EmptyInstructions);
        assert_eq!(caches.write(0xE000_EFFC, 0), CacheWriteEffect::Nowhere);
    }

    #[test]
    fn registers_report_absent_caches() {
        let caches = caches("");
        assert!(!caches.are_present());
        assert_eq!(caches.read(0xE000_ED78), Some(0));
        assert_eq!(caches.read(0xE000_ED80), Some(0));
    }
}
