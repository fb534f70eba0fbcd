//! A chip's memories.

use std::ops::Range;

use serde::Deserialize;

use super::{ClockFactor, MemoryTiming, Tier};

/// The kind of a memory, which decides whether stores reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// Read-only for the program; a store to it is a bus error.
    Flash,
    /// Readable, writable and executable.
    Ram,
}

/// A memory of a soc.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its name in messages and in linker scripts (`FLASH`, `RAM`).
    pub name: String,
    /// Its kind.
    pub kind: MemoryKind,
    /// Its first address.
    pub base: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Other addresses at which the same memory appears.
    #[serde(default)]
    pub aliases: Vec<u32>,
    /// Whether only the core reaches it, and no DMA controller.
    #[serde(default)]
    pub core_only: bool,
    /// How long it takes to respond.
    #[serde(default)]
    pub timing: MemoryTiming,
    /// The factors whose product its wait states are, at most 255, by what registers hold, if the core's clock
    /// follows its registers, too; empty if no register changes them, or one `controls` them.
    #[serde(default)]
    pub wait_states_by: Vec<ClockFactor>,
    /// How well founded its timing is; if not given, [`Memory::tier`] decides.
    #[serde(default)]
    pub timing_basis: Option<Tier>,
    /// Its contents before an image is loaded, if the chip comes with any.
    #[serde(default)]
    pub contents: Option<Contents>,
}

/// Code that chips come with, replaced by rtmark's own substitute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// The boot ROM of RP2040: its tables, and the routines that firmware calls.
    Rp2040Bootrom,
    /// The boot ROM of RP2350, of which most routines have nothing to do here.
    Rp2350Bootrom,
    /// The same, as RP2350's RISC-V cores find it.
    Rp2350RiscvBootrom,
}

impl Contents {
    /// Returns its parts, each with its offset in the memory.
    pub const fn parts(self) -> &'static [(usize, &'static [u8])] {
        match self {
            Self::Rp2040Bootrom => &[(0, include_bytes!("rp2040_rom.bin"))],
            Self::Rp2350Bootrom => &[(0, include_bytes!("rp2350_rom.bin"))],
            // Where the functions are that find the others (datasheet, 5.5.1): LOOKUP and LOOKUP_ENTRY of the source.
            Self::Rp2350RiscvBootrom => {
                &[(0, include_bytes!("rp2350_riscv_rom.bin")), (0x7DF8, &[0xC4, 0x01, 0xD0, 0x01])]
            }
        }
    }
}

impl Memory {
    /// Returns the addresses that it covers, without its aliases.
    pub fn range(&self) -> Range<u64> {
        u64::from(self.base)..u64::from(self.base) + u64::from(self.size)
    }

    /// Returns the addresses at which it appears.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        std::iter::once(self.base)
            .chain(self.aliases.iter().copied())
            .map(|base| u64::from(base)..u64::from(base) + u64::from(self.size))
    }
}
