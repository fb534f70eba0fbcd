//! Loads, stores and branches through memory (DDI 0403, A7.7 and B2.3).

use super::datum::{Datum, Loaded, is_aligned};
use super::{ExecContext, Executing, Flow, Outcome};
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::{Op, Slot};
use crate::state::State;

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
    pub(super) fn read_literal_fast<'a>(
        &mut self,
        at: &mut impl Executing<'a>,
        address: u32,
    ) -> Option<u32> {
        let (bytes, place) = self.bus.near_code(address)?;
        let is_read = !self.protected && at.reads_literal_fast(self, place);
        is_read.then_some(u32::from_le_bytes(bytes))
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

    /// Returns the address formed by a base and a shifted index.
    #[inline(always)]
    pub(super) fn indexed(&self, s: &Slot) -> u32 {
        self.cpu.get(s.n).wrapping_add(self.cpu.get(s.m) << s.aux)
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

    /// Reads a word at an address that must be aligned whatever the core allows elsewhere.
    pub(crate) fn read_aligned_word(&mut self, address: u32) -> Loaded {
        if is_aligned(address, 4) {
            self.within(|machine, at| machine.read::<u32>(at, address))
        } else {
            Err(self.unaligned(address))
        }
    }

    pub(crate) fn write_aligned_word(&mut self, address: u32, value: u32) -> Done {
        if is_aligned(address, 4) {
            self.within(|machine, at| machine.write::<u32>(at, address, value))
        } else {
            Err(self.unaligned(address))
        }
    }

    /// LDM and POP from anywhere. The base and the destinations change only after every word has been read.
    #[inline(never)]
    pub(crate) fn load_multiple(&mut self, s: &Slot, base: Base) -> Outcome {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), s.imm);
        if !is_aligned(start, 4) {
            return Err(self.unaligned(start));
        }
        let mut values = [0; 16];
        self.within(|machine, at| machine.read_list(at, s.imm, start, &mut values))?;
        if base.moves {
            self.cpu.set_any(base.register, moved);
        }
        for (register, &value) in (0..15).zip(&values) {
            if s.imm >> register & 1 == 1 {
                self.cpu.set_any(register, value);
            }
        }
        if s.imm >> 15 == 0 {
            return Ok(Flow::Next);
        }
        self.within(|machine, at| machine.branch_loaded(at, values[15]))
    }

    #[inline(never)]
    pub(super) fn store_multiple(&mut self, s: &Slot, base: Base) -> Done {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), s.imm);
        if !is_aligned(start, 4) {
            return Err(self.unaligned(start));
        }
        self.within(|machine, at| machine.write_list(at, s.imm, start))?;
        if base.moves {
            self.cpu.set_any(base.register, moved);
        }
        Ok(())
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
    pub(crate) fn load_registers(&mut self, list: u32, base: Base) -> Option<u32> {
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

    /// STM and PUSH to RAM; returns `false` without any effect if the words are not all in RAM.
    #[inline(never)]
    pub(super) fn store_registers(&mut self, list: u32, base: Base) -> bool {
        let ListSpan { start, moved } = base.extent(self.cpu.get(base.register), list);
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

    /// LDRD and STRD with both words in RAM; returns whether they are.
    #[inline(always)]
    pub(super) fn move_pair(&mut self, s: &Slot) -> bool {
        let base = self.cpu.get(s.n);
        let indexed = base.wrapping_add(s.imm);
        let address = if s.aux == 2 { base } else { indexed };
        if s.op == Op::Strd {
            let (first, second) = (self.cpu.get(s.d), self.cpu.get(s.a));
            let Some([one, two]) = self.bus.ram_words_mut(address, 2) else { return false };
            (*one, *two) = (first.to_le_bytes(), second.to_le_bytes());
        } else {
            let Some(&[one, two]) = self.bus.ram_words(address, 2) else { return false };
            self.cpu.set_any(s.d, u32::from_le_bytes(one));
            self.cpu.set_any(s.a, u32::from_le_bytes(two));
        }
        if s.aux != 0 {
            self.cpu.set_any(s.n, indexed);
        }
        true
    }

    /// Branches to an address whose bit 0 is ignored.
    #[inline(always)]
    pub(crate) fn branch(&self, at: &mut impl ExecContext, target: u32) -> Flow {
        at.jumps(self, target & !1);
        Flow::Jump
    }

    /// BX: selects the instruction set by bit 0; in handler mode, an EXC_RETURN value returns from the
    /// exception.
    #[inline(always)]
    pub(crate) fn branch_exchange(&mut self, at: &mut impl ExecContext, target: u32) -> Outcome {
        if target >= 0xF000_0000 && self.cpu.ipsr != 0 && self.is_exception_return(target) {
            self.trap_value = target;
            return Err(Trap::ExceptionReturn);
        }
        self.branch_linked(at, target)
    }

    /// Returns whether an address is an EXC_RETURN value, which only counts in handler mode (DDI 0403,
    /// B1.5.8; DDI 0553, B3.20).
    const fn is_exception_return(&self, target: u32) -> bool {
        target >= 0xFF00_0000 || !self.features.v8m
    }

    /// BLX: selects the instruction set by bit 0, and never returns from an exception.
    #[inline(always)]
    pub(crate) fn branch_linked(&mut self, at: &mut impl ExecContext, target: u32) -> Outcome {
        let flow = self.branch(at, target);
        if target & 1 == 0 { Err(Trap::InvalidState) } else { Ok(flow) }
    }

    /// Branches to a program counter loaded from memory: as BX, but with the pipeline refill of a load.
    #[inline(always)]
    pub(crate) fn branch_loaded(&mut self, at: &mut impl ExecContext, target: u32) -> Outcome {
        at.has_loaded_target(self);
        self.branch_exchange(at, target)
    }

    /// Executes a branch whose target comes from memory.
    pub(super) fn execute_branch(&mut self, s: &Slot, at: &mut impl ExecContext) -> Outcome {
        let base = self.cpu.get(s.n);
        match s.op {
            Op::LdrPcI | Op::LdrPcPre => {
                let address = base.wrapping_add(s.imm);
                let target = self.read::<u32>(at, address)?;
                if s.op == Op::LdrPcPre {
                    self.cpu.set_any(s.n, address);
                }
                self.branch_loaded(at, target)
            }
            Op::LdrPcPost => {
                let target = self.read::<u32>(at, base)?;
                self.cpu.set_any(s.n, base.wrapping_add(s.imm));
                self.branch_loaded(at, target)
            }
            Op::LdrPcR => {
                let target = self.read::<u32>(at, base.wrapping_add(self.cpu.get(s.m) << s.aux))?;
                self.branch_loaded(at, target)
            }
            Op::LdrPcLit => {
                let target = self.read::<u32>(at, s.imm)?;
                self.branch_loaded(at, target)
            }
            _ => {
                let base = if s.n == 15 { at.next_address() } else { base };
                let index = self.cpu.get(s.m);
                let halfwords = if s.op == Op::Tbb {
                    self.read::<u8>(at, base.wrapping_add(index))?
                } else {
                    self.read::<u16>(at, base.wrapping_add(index << 1))?
                };
                let target = at.next_address().wrapping_add(halfwords * 2);
                Ok(self.branch(at, target))
            }
        }
    }

    pub(super) fn execute_memory(&mut self, s: &Slot) -> Done {
        let base = self.cpu.get(s.n);
        match s.op {
            Op::Ldrd | Op::Strd | Op::LdrdLit => self.execute_dual(s, base),
            Op::Clrex => {
                self.exclusive = false;
                Ok(())
            }
            Op::Lda | Op::Stl => self.execute_ordered(s, base),
            _ => self.execute_exclusive(s, base),
        }
    }

    /// LDRT, STRT and the other unprivileged accesses, which are checked as unprivileged code's.
    pub(super) fn execute_unprivileged(&mut self, s: &Slot) -> Done {
        let address = self.cpu.get(s.n).wrapping_add(s.imm);
        let value = self.cpu.get(s.d);
        let loaded = self.access_as(true, |machine| {
            machine.within(|machine, at| {
                Ok(match s.op {
                    Op::Ldrt => Some(machine.read::<u32>(at, address)?),
                    Op::Ldrbt => Some(machine.read::<u8>(at, address)?),
                    Op::Ldrht => Some(machine.read::<u16>(at, address)?),
                    Op::Ldrsbt => Some(machine.read::<i8>(at, address)?),
                    Op::Ldrsht => Some(machine.read::<i16>(at, address)?),
                    Op::Strt => machine.write::<u32>(at, address, value).map(|()| None)?,
                    Op::Strbt => machine.write::<u8>(at, address, value).map(|()| None)?,
                    Op::Strht => machine.write::<u16>(at, address, value).map(|()| None)?,
                    _ => return Err(Trap::Undefined),
                })
            })
        })?;
        if let Some(value) = loaded {
            self.cpu.set_any(s.d, value);
        }
        Ok(())
    }

    fn execute_dual(&mut self, s: &Slot, base: u32) -> Done {
        let indexed = base.wrapping_add(s.imm);
        let address = match (s.op, s.aux) {
            (Op::LdrdLit, _) => s.imm,
            (_, 2) => base,
            _ => indexed,
        };
        if s.op == Op::Strd {
            self.write_aligned_word(address, self.cpu.get(s.d))?;
            self.write_aligned_word(address.wrapping_add(4), self.cpu.get(s.a))?;
        } else {
            let first = self.read_aligned_word(address)?;
            let second = self.read_aligned_word(address.wrapping_add(4))?;
            self.cpu.set_any(s.d, first);
            self.cpu.set_any(s.a, second);
        }
        if s.op != Op::LdrdLit && s.aux != 0 {
            self.cpu.set_any(s.n, indexed);
        }
        Ok(())
    }

    /// Load-acquire and store-release: with one core and memory in program order, these are ordinary
    /// accesses that must be aligned.
    fn execute_ordered(&mut self, s: &Slot, address: u32) -> Done {
        if !is_aligned(address, s.aux) {
            return Err(self.unaligned(address));
        }
        let value = self.cpu.get(s.d);
        if s.op == Op::Stl {
            return self.within(|machine, at| match s.aux {
                1 => machine.write::<u8>(at, address, value),
                2 => machine.write::<u16>(at, address, value),
                _ => machine.write::<u32>(at, address, value),
            });
        }
        let value = self.within(|machine, at| match s.aux {
            1 => machine.read::<u8>(at, address),
            2 => machine.read::<u16>(at, address),
            _ => machine.read::<u32>(at, address),
        })?;
        self.cpu.set_any(s.d, value);
        Ok(())
    }

    /// Exclusive accesses. The local monitor is a single flag (DDI 0403, A3.4).
    fn execute_exclusive(&mut self, s: &Slot, base: u32) -> Done {
        let address = base.wrapping_add(s.imm);
        let size = match s.op {
            Op::Ldrexb | Op::Strexb => 1,
            Op::Ldrexh | Op::Strexh => 2,
            _ => 4,
        };
        if !is_aligned(address, size) {
            return Err(self.unaligned(address));
        }
        match s.op {
            Op::Ldrex | Op::Ldrexb | Op::Ldrexh => {
                let value = self.within(|machine, at| match size {
                    1 => machine.read::<u8>(at, address),
                    2 => machine.read::<u16>(at, address),
                    _ => machine.read::<u32>(at, address),
                })?;
                self.cpu.set_any(s.d, value);
                self.exclusive = true;
            }
            Op::Strex | Op::Strexb | Op::Strexh => {
                let value = self.cpu.get(s.a);
                if self.exclusive {
                    self.within(|machine, at| match size {
                        1 => machine.write::<u8>(at, address, value),
                        2 => machine.write::<u16>(at, address, value),
                        _ => machine.write::<u32>(at, address, value),
                    })?;
                } else {
                    // A failed exclusive store takes the cycles of a successful one.
                    self.note_bus(address);
                }
                self.cpu.set(s.d, u32::from(!self.exclusive));
                self.exclusive = false;
            }
            _ => return Err(Trap::Undefined),
        }
        Ok(())
    }
}
