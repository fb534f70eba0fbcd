//! Accesses to memory, one by one and in lists (DDI 0403, A7.7 and B2.3).

use super::datum::{Datum, Loaded, is_aligned};
use super::{ExecContext, Executing, Flow, Outcome, Standalone};
use crate::arch::armm::registers;
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::Slot;
use crate::state::State;

const SP: u8 = registers::SP as u8;

/// The register that addresses several words.
#[derive(Clone, Copy)]
pub struct Base {
    pub register: u8,
    pub side: Side,
    /// Whether it is written back.
    pub moves: bool,
}

/// Where the words are relative to the base.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before,
    From,
}

/// Where the words of a list begin, and what the base becomes.
struct ListSpan {
    start: u32,
    moved: u32,
}

impl Base {
    /// Returns the base of an LDM or STM in any of its forms, including PUSH and POP.
    pub const fn of(slot: &Slot, side: Side) -> Self {
        Self { register: slot.n, side, moves: slot.aux == 1 }
    }

    const fn extent(self, value: u32, list: u32) -> ListSpan {
        let bytes = list.count_ones() * 4;
        match self.side {
            Side::Before => {
                let start = value.wrapping_sub(bytes);
                ListSpan { start, moved: start }
            }
            Side::From => ListSpan { start: value, moved: value.wrapping_add(bytes) },
        }
    }
}

impl State {
    /// Loads a datum from an address.
    #[inline(always)]
    pub(super) fn read<D: Datum>(&mut self, at: &mut impl ExecContext, address: u32) -> Loaded {
        match D::load_quickly(self, address) {
            Some(value) => Ok(value),
            None => at.slow_path(self, |machine| D::load(machine, address)),
        }
    }

    /// Stores a datum to an address.
    #[inline(always)]
    pub(super) fn write<D: Datum>(
        &mut self,
        at: &mut impl ExecContext,
        address: u32,
        value: u32,
    ) -> Done {
        if D::store_quickly(self, address, value) {
            return Ok(());
        }
        at.slow_path(self, |machine| D::store(machine, address, value))
    }

    /// Reads a literal if it is in flash, where most are, and a quick check shows how long the core waits
    /// for it; otherwise returns `None`.
    #[inline(always)]
    pub(super) fn read_literal_fast(
        &mut self,
        at: &mut impl Executing,
        address: u32,
    ) -> Option<u32> {
        let (bytes, place) = self.bus.near_code(address)?;
        let is_read = !self.protected && at.reads_literal_fast(self, place);
        is_read.then_some(u32::from_le_bytes(bytes))
    }

    /// Loads a datum that is in one memory with the code, if a quick check shows how long the core waits for it;
    /// otherwise returns `None`.
    // One copy for each kind of load would make what a browser loads first too large.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn read_constant_fast<D: Datum>(
        &mut self,
        at: &mut impl Executing,
        address: u32,
    ) -> Option<u32> {
        let (value, place) = D::load_code(self, address)?;
        let is_read = !self.protected && at.reads_code_fast(self, address, place);
        is_read.then_some(value)
    }

    /// Reads a literal, however long the core waits for it.
    #[inline(always)]
    pub(super) fn read_literal(&mut self, at: &mut impl ExecContext, address: u32) -> Option<u32> {
        let (bytes, place) = self.bus.near_code(address)?;
        if self.protected {
            return None;
        }
        at.reads_literal(self, place);
        Some(u32::from_le_bytes(bytes))
    }

    /// Makes BFAR report the address that the instruction asked for, whichever part of the access fails
    /// (DDI 0403, B3.2.18).
    pub(super) fn with_requested_address<T>(
        &mut self,
        address: u32,
        result: Result<T, Trap>,
    ) -> Result<T, Trap> {
        if matches!(result, Err(Trap::NoResponse)) {
            self.trap_value = address;
        }
        result
    }

    /// Raises the trap for an access that is not aligned as required.
    #[cold]
    pub(crate) fn unaligned(&mut self, address: u32) -> Trap {
        self.trap_value = address;
        Trap::Unaligned
    }

    /// Raises the trap for an access to which nothing responds.
    #[cold]
    pub(crate) fn no_response(&mut self, address: u32) -> Trap {
        self.trap_value = address;
        Trap::NoResponse
    }

    /// Reads a datum at an address that must be aligned whatever the core allows elsewhere.
    pub(super) fn read_aligned<D: Datum>(&mut self, address: u32) -> Loaded {
        if is_aligned(address, D::SIZE) {
            self.within(|machine, at| machine.read::<D>(at, address))
        } else {
            Err(self.unaligned(address))
        }
    }

    /// Writes a datum to an address that must be aligned.
    pub(super) fn write_aligned<D: Datum>(&mut self, address: u32, value: u32) -> Done {
        if is_aligned(address, D::SIZE) {
            self.within(|machine, at| machine.write::<D>(at, address, value))
        } else {
            Err(self.unaligned(address))
        }
    }

    /// Reads a word at an address that must be aligned.
    pub(crate) fn read_aligned_word(&mut self, address: u32) -> Loaded {
        self.read_aligned::<u32>(address)
    }

    /// Writes a word to an address that must be aligned.
    pub(crate) fn write_aligned_word(&mut self, address: u32, value: u32) -> Done {
        self.write_aligned::<u32>(address, value)
    }

    /// LDM and POP from anywhere. The base and the destinations change only after every word has been read.
    #[inline(never)]
    pub(super) fn load_multiple(&mut self, list: u32, base: Base) -> Outcome {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), list);
        if !is_aligned(start, 4) {
            return Err(self.unaligned(start));
        }
        let mut values = [0; 16];
        self.within(|machine, at| machine.read_list(at, list, start, &mut values))?;
        if base.moves {
            self.cpu.set_any(base.register, moved);
        }
        for (register, &value) in (0..15).zip(&values) {
            if list >> register & 1 == 1 {
                self.cpu.set_any(register, value);
            }
        }
        if list >> 15 == 0 {
            return Ok(Flow::Next);
        }
        self.within(|machine, at| machine.branch_loaded(at, values[15]))
    }

    #[inline(never)]
    pub(super) fn store_multiple(&mut self, list: u32, base: Base) -> Outcome {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), list);
        if !is_aligned(start, 4) {
            return Err(self.unaligned(start));
        }
        let stored = self.within(|machine, at| machine.write_list(at, list, start));
        if base.register == SP && self.overflows_stack(start) {
            self.note_stack_overflow(start);
        }
        stored?;
        if base.moves {
            self.cpu.set_any(base.register, moved);
        }
        Ok(Flow::Next)
    }

    /// Reads a word for each register of a list, starting at an aligned address.
    #[inline(always)]
    fn read_list(
        &mut self,
        at: &mut impl ExecContext,
        list: u32,
        start: u32,
        values: &mut [u32; 16],
    ) -> Done {
        let (mut address, mut left) = (start, list);
        while left != 0 {
            let register = left.trailing_zeros();
            left &= left - 1;
            values[(register & 15) as usize] = self.read::<u32>(at, address)?;
            address = address.wrapping_add(4);
        }
        Ok(())
    }

    /// Writes each register of a list, starting at an aligned address.
    #[inline(always)]
    fn write_list(&mut self, at: &mut impl ExecContext, list: u32, start: u32) -> Done {
        let (mut address, mut left) = (start, list);
        while left != 0 {
            let register = left.trailing_zeros();
            left &= left - 1;
            self.write::<u32>(at, address, self.cpu.r[(register & 15) as usize])?;
            address = address.wrapping_add(4);
        }
        Ok(())
    }

    /// LDM and POP from RAM, for every register except the program counter. Returns the last word, or
    /// `None` without any effect if the words are not all in RAM.
    #[inline(never)]
    pub(super) fn load_registers(&mut self, list: u32, base: Base) -> Option<u32> {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), list);
        let words = self.bus.ram_words(start, list.count_ones())?;
        let mut left = list & 0x7FFF;
        let mut last = 0;
        for word in words {
            last = u32::from_le_bytes(*word);
            if left != 0 {
                self.cpu.set_any(left.trailing_zeros() as u8, last);
                left &= left - 1;
            }
        }
        // A loaded base is not written back.
        if base.moves && list >> base.register & 1 == 0 {
            self.cpu.set_any(base.register, moved);
        }
        Some(last)
    }

    /// STM and PUSH to RAM; returns `false` without any effect if the words are not all in RAM, or the main
    /// stack would grow beyond its end.
    #[inline(never)]
    pub(super) fn store_registers(&mut self, list: u32, base: Base) -> bool {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), list);
        if base.register == SP && self.overflows_stack(start) {
            return false;
        }
        let Some(words) = self.bus.ram_words_mut(start, list.count_ones()) else { return false };
        let mut left = list;
        for word in words {
            *word = self.cpu.get(left.trailing_zeros() as u8).to_le_bytes();
            left &= left.wrapping_sub(1);
        }
        if base.moves {
            self.cpu.set_any(base.register, moved);
        }
        true
    }
}
