//! Host code in memory, and calls of it: the only unsafe code.

#![expect(unsafe_code, reason = "host code can only be called this way")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{Mmap, MmapMut};

use crate::Memory;

/// What a function receives besides registers and memory.
#[repr(C)]
struct Context {
    result: *mut u64,
    carry: *mut bool,
    overflow: *mut u32,
    code_low: u32,
    code_bytes: u32,
}

/// The offsets of the context's fields.
pub mod context {
    use std::mem::offset_of;

    use super::Context;

    pub const RESULT: i32 = offset_of!(Context, result) as i32;
    pub const CARRY: i32 = offset_of!(Context, carry) as i32;
    pub const OVERFLOW: i32 = offset_of!(Context, overflow) as i32;
    pub const CODE_LOW: i32 = offset_of!(Context, code_low) as i32;
    pub const CODE_BYTES: i32 = offset_of!(Context, code_bytes) as i32;
}

type Entry = unsafe extern "C" fn(*mut [u32; 16], *mut u8, *const Context) -> u32;

/// Registers and flags that a function reads and writes.
#[derive(Debug)]
pub struct Registers<'a> {
    /// Registers 0 to 14; the last word is not used.
    pub words: &'a mut [u32; 16],
    /// The N and Z flags: Z is set if the lower half is zero, N if bit 31 or the upper half is not.
    pub result: &'a mut u64,
    /// The C flag.
    pub carry: &'a mut bool,
    /// Bit 31 is the V flag.
    pub overflow: &'a mut u32,
}

/// A function of host code. Clones share the code.
#[derive(Clone, Debug)]
pub struct Function {
    entry: Entry,
    /// The code that begins at `entry`.
    _code: Arc<Code>,
    memory: Memory,
}

/// Code in memory, which counts until it is dropped.
#[derive(Debug)]
struct Code {
    mapping: Mmap,
    /// Bytes of all such mappings.
    in_use: Arc<AtomicUsize>,
}

impl Code {
    /// Returns the bytes that the mapping takes.
    fn bytes(&self) -> usize {
        self.mapping.len().next_multiple_of(PAGE)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        self.in_use.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

/// The granularity of mappings.
const PAGE: usize = 4096;

impl Function {
    /// Copies machine code, which [`crate::Generator`] has made for this memory, to where the host can execute it, at
    /// an offset. The mapping's size is added to `in_use` until it is dropped.
    pub(crate) fn new(
        code: &[u8],
        from: usize,
        memory: Memory,
        in_use: &Arc<AtomicUsize>,
    ) -> std::io::Result<Self> {
        let mut writable = MmapMut::map_anon(from + code.len())?;
        writable[from..].copy_from_slice(code);
        let code = Code { mapping: writable.make_exec()?, in_use: Arc::clone(in_use) };
        in_use.fetch_add(code.bytes(), Ordering::Relaxed);
        let at = code.mapping[from..].as_ptr();
        // SAFETY: a pointer to code, which is not null, becomes one to a function. Only `call` calls it.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(at) };
        Ok(Self { entry, _code: Arc::new(code), memory })
    }

    /// Calls the function, and returns the number of the step from which execution continues; `None` if this is
    /// not the memory that it was made for.
    #[inline(always)]
    pub fn call(
        &self,
        registers: Registers<'_>,
        memory: &mut [u8],
        code: (u32, u32),
    ) -> Option<u32> {
        if memory.len() != self.memory.bytes as usize {
            return None;
        }
        let Registers { words, result, carry, overflow } = registers;
        let context = Context { result, carry, overflow, code_low: code.0, code_bytes: code.1 };
        // SAFETY: `entry` is the first byte of a function of this type, because only `Function::new` makes a `Self`,
        // with code of `Generator::function`; its mapping lives as long as `self` is borrowed, is executable, and is
        // never written again. The pointers come from exclusive references that outlive the call. Generated code
        // reads and writes the sixteen words, the three flags, the context, and of the memory only bytes at offsets
        // that it has compared with `self.memory.bytes`, which is the length of the slice.
        let next = unsafe { (self.entry)(words, memory.as_mut_ptr(), &raw const context) };
        Some(next)
    }

    /// Returns the memory that it was made for.
    #[inline(always)]
    pub const fn memory(&self) -> Memory {
        self.memory
    }
}
