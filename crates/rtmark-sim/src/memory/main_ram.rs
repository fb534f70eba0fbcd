//! What native code knows of the memory that has the fast path.

use super::{Bus, Contents};

/// The memory that has the fast path, at one of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainRam {
    memory: usize,
    /// Its first address.
    pub base: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

impl Bus {
    /// Returns the memory that has the fast path, or will have it when that is open.
    pub fn main_ram(&self) -> Option<MainRam> {
        let memory = self.main_ram;
        let bytes = if memory == self.ram_memory { &self.ram } else { self.own(memory)? };
        Some(MainRam { memory, base: self.ram_base, bytes: u32::try_from(bytes.len()).ok()? })
    }

    fn own(&self, memory: usize) -> Option<&Vec<u8>> {
        match self.contents.get(memory)? {
            Contents::Own(bytes) => Some(bytes),
            Contents::Shared(_) => None,
        }
    }

    /// Returns whether a memory has the fast path now.
    #[inline(always)]
    pub const fn is_main_ram(&self, ram: MainRam) -> bool {
        self.ram_memory == ram.memory && self.ram_base == ram.base
    }

    /// Returns where the contents of the main RAM begin.
    #[inline(always)]
    pub const fn main_ram_start(&mut self) -> *mut u8 {
        self.ram.as_mut_ptr()
    }
}
