//! What native code knows of the memory that has the fast path, and of the one that code comes from.

use super::{Bus, Contents, Range};

/// The memory that has the fast path, at one of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainRam {
    memory: usize,
    /// Its first address.
    pub base: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// The memory from which code comes, at one of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeData {
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

    /// Returns where the code at present is, if that can be read without looking up its address.
    pub fn code_data(&self) -> Option<CodeData> {
        let Range { base, size, memory } = self.code_range;
        (self.code_bytes().len() >= size as usize && size > 0).then_some(CodeData {
            memory,
            base,
            bytes: size,
        })
    }

    /// Returns the contents of the memory from which code comes; nothing if that is the main RAM.
    #[inline(always)]
    pub fn code_bytes(&self) -> &[u8] {
        match self.contents.get(self.code_range.memory) {
            Some(Contents::Own(bytes)) => bytes,
            Some(Contents::Shared(bytes)) => bytes,
            None => &[],
        }
    }

    /// Returns whether code comes from there.
    #[inline(always)]
    pub const fn is_code_data(&self, code: CodeData) -> bool {
        let Range { base, size, memory } = self.code_range;
        memory == code.memory && base == code.base && size == code.bytes
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
