//! Loads and stores.

use super::{Arch, Effects, Exception, Result, Traffic, UNDEFINED};
use crate::armr::control::{AccessFault, Kind, sctlr};
use crate::armr::cpu::{Mode, psr};
use crate::armr::isa::op::{
    Address, Bank, Exclusive, Index, Instruction, Offset, Op, Order, Rights, Width, WriteBack,
};
use crate::exec::shift;

/// The alignment that an access requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alignment {
    /// None, unless SCTLR.A or the memory type requires it.
    Any,
    Word,
    /// The access's own size.
    Own,
}

/// An access about to be made.
#[derive(Clone, Copy, Debug)]
struct Access {
    address: u32,
    bytes: u32,
    writes: bool,
    alignment: Alignment,
    rights: Rights,
}

impl Access {
    const fn load(address: u32, bytes: u32) -> Self {
        Self { address, bytes, writes: false, alignment: Alignment::Any, rights: Rights::Own }
    }

    const fn store(address: u32, bytes: u32) -> Self {
        Self { writes: true, ..Self::load(address, bytes) }
    }

    const fn words(address: u32, words: u32, writes: bool) -> Self {
        let alignment = Alignment::Word;
        Self { address, bytes: 4 * words, writes, alignment, rights: Rights::Own }
    }
}

impl Arch {
    /// Checks an access, and records it in `done`.
    fn check(&mut self, access: Access, done: &mut Effects) -> Result<()> {
        let Access { address, bytes, writes, alignment, rights } = access;
        let refuse = |address, why| Err(Exception::Data { address, why, writes });
        let privileged = self.cpu.is_privileged() && rights == Rights::Own;
        let found = self.control.protection.data(address, writes, privileged);
        let unit = match alignment {
            Alignment::Word => 4,
            Alignment::Any | Alignment::Own => bytes,
        };
        let strict = alignment != Alignment::Any || self.control.sctlr & sctlr::A != 0;
        let aligned = address & (unit - 1) == 0;
        if strict && !aligned {
            return refuse(address, AccessFault::Alignment);
        }
        let kind = match found {
            Ok(kind) => kind,
            Err(why) => return refuse(address, why),
        };
        if !aligned && !matches!(kind, Kind::Normal(_)) {
            return refuse(address, AccessFault::Alignment);
        }
        let last = address.wrapping_add(bytes - 1);
        if last >> 5 != address >> 5 {
            // The smallest regions are 32 bytes.
            let mut line = (address | 31).wrapping_add(1);
            while line.wrapping_sub(address) < bytes {
                if let Err(why) = self.control.protection.data(line, writes, privileged) {
                    return refuse(line, why);
                }
                line = line.wrapping_add(32);
            }
        }
        done.traffic = Some(match done.traffic {
            Some(before) => Traffic { writes: before.writes || writes, ..before },
            None => Traffic { address, bytes, reads: !writes, writes, kind },
        });
        Ok(())
    }

    pub(super) fn is_big(&self) -> bool {
        self.cpu.bit(psr::E)
    }

    /// Reads up to four bytes that have been checked.
    fn read(&mut self, address: u32, bytes: u32, cycle: u64) -> Result<u32> {
        let value = match self.system.load(address, bytes, cycle) {
            Some(value) => value,
            None if address & (bytes - 1) != 0 => {
                // The access crosses the end of a memory.
                let mut word = 0;
                for at in 0..bytes {
                    let byte = self.system.load(address.wrapping_add(at), 1, cycle);
                    word |= byte.ok_or(external(address, false))? << (8 * at);
                }
                word
            }
            None => return Err(external(address, false)),
        };
        Ok(if self.is_big() { value.swap_bytes() >> (32 - 8 * bytes) } else { value })
    }

    fn write(&mut self, address: u32, bytes: u32, value: u32, cycle: u64) -> Result<()> {
        let value = if self.is_big() { value.swap_bytes() >> (32 - 8 * bytes) } else { value };
        if self.system.store(address, bytes, value, cycle).is_some() {
            return Ok(());
        }
        if address & (bytes - 1) == 0 {
            return Err(external(address, true));
        }
        for at in 0..bytes {
            let byte = value >> (8 * at) & 0xFF;
            let stored = self.system.store(address.wrapping_add(at), 1, byte, cycle);
            stored.ok_or(external(address, true))?;
        }
        Ok(())
    }

    /// Loads up to four bytes.
    pub(super) fn load(
        &mut self,
        address: u32,
        bytes: u32,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<u32> {
        self.check(Access::load(address, bytes), done)?;
        self.read(address, bytes, cycle)
    }

    /// Loads or stores consecutive words from an aligned address: stores from `words`, or loads
    /// into it.
    pub(super) fn words(
        &mut self,
        address: u32,
        words: &mut [u32],
        writes: bool,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let count = words.len() as u32;
        self.check(Access::words(address, count, writes), done)?;
        if !self.is_big() && self.system.move_words(address, words, writes) {
            return Ok(());
        }
        let places = (0u32..).map(|at| address.wrapping_add(4 * at));
        for (word, place) in words.iter_mut().zip(places) {
            if writes {
                self.write(place, 4, *word, cycle)?;
            } else {
                *word = self.read(place, 4, cycle)?;
            }
        }
        Ok(())
    }

    /// Executes a load or store.
    ///
    /// # Errors
    /// The exception that it raises; registers are unchanged then.
    pub fn transfer(&mut self, it: &Instruction, cycle: u64, done: &mut Effects) -> Result<()> {
        match it.op {
            Op::Load(width, address, rights) => {
                self.load_one(it, width, address, rights, cycle, done)
            }
            Op::Store(width, address, rights) => {
                self.store_one(it, width, address, rights, cycle, done)
            }
            Op::LoadDual(address) => self.load_dual(it, address, cycle, done),
            Op::StoreDual(address) => self.store_dual(it, address, cycle, done),
            Op::LoadMultiple(order, back, bank) => {
                self.load_multiple(it, order, back, bank, cycle, done)
            }
            Op::StoreMultiple(order, back, bank) => {
                self.store_multiple(it, order, back, bank, cycle, done)
            }
            Op::Swap(width) => self.swap(it, width, cycle, done),
            Op::LoadExclusive(size) => self.load_exclusive(it, size, cycle, done),
            Op::StoreExclusive(size) => self.store_exclusive(it, size, cycle, done),
            Op::StoreReturn(order, back) => self.store_return(it, order, back, cycle, done),
            Op::ReturnFrom(order, back) => self.return_from(it, order, back, cycle, done),
            _ => Err(UNDEFINED),
        }
    }

    /// Returns the address of an access, and the base that is written back.
    #[inline(always)]
    pub fn addresses(&self, it: &Instruction, address: Address) -> (u32, u32) {
        // The address of a literal is known from decoding.
        if it.aux == 1 {
            return (it.imm, it.imm);
        }
        let base = self.cpu.operand(it.n);
        let offset = match address.offset {
            Offset::Immediate => it.imm,
            Offset::Add | Offset::Subtract => {
                let index = self.cpu.get(it.m);
                let (kind, amount) = (it.shift.kind.into(), it.shift.amount.into());
                let shifted = shift(index, kind, amount, self.cpu.carry()).0;
                if address.offset == Offset::Add { shifted } else { shifted.wrapping_neg() }
            }
        };
        let moved = base.wrapping_add(offset);
        match address.index {
            Index::Post => (base, moved),
            Index::Offset | Index::Pre => (moved, moved),
        }
    }

    fn write_back(&mut self, it: &Instruction, address: Address, base: u32) {
        if address.index != Index::Offset {
            self.cpu.set(it.n, base);
        }
    }

    fn load_one(
        &mut self,
        it: &Instruction,
        width: Width,
        address: Address,
        rights: Rights,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let (place, base) = self.addresses(it, address);
        let bytes = width.bytes();
        self.check(Access { rights, ..Access::load(place, bytes) }, done)?;
        let value = self.read(place, bytes, cycle)?;
        let value = width.extend(value);
        self.write_back(it, address, base);
        if it.d == 15 {
            self.exchange(value, done);
        } else {
            self.cpu.set(it.d, value);
        }
        Ok(())
    }

    fn store_one(
        &mut self,
        it: &Instruction,
        width: Width,
        address: Address,
        rights: Rights,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let (place, base) = self.addresses(it, address);
        let bytes = width.bytes();
        self.check(Access { rights, ..Access::store(place, bytes) }, done)?;
        let value = self.cpu.operand(it.d);
        let value = if bytes == 4 { value } else { value & (u32::MAX >> (32 - 8 * bytes)) };
        self.write(place, bytes, value, cycle)?;
        self.write_back(it, address, base);
        Ok(())
    }

    fn load_dual(
        &mut self,
        it: &Instruction,
        address: Address,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let (place, base) = self.addresses(it, address);
        let mut words = [0; 2];
        self.words(place, &mut words, false, cycle, done)?;
        self.write_back(it, address, base);
        self.cpu.set(it.d, words[0]);
        self.cpu.set(it.a, words[1]);
        Ok(())
    }

    fn store_dual(
        &mut self,
        it: &Instruction,
        address: Address,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let (place, base) = self.addresses(it, address);
        let mut words = [self.cpu.get(it.d), self.cpu.get(it.a)];
        self.words(place, &mut words, true, cycle, done)?;
        self.write_back(it, address, base);
        Ok(())
    }

    fn load_multiple(
        &mut self,
        it: &Instruction,
        order: Order,
        back: WriteBack,
        bank: Bank,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let list = it.imm;
        let count = list.count_ones();
        let (lowest, base) = order.addresses(self.cpu.get(it.n), count);
        let loads_pc = list >> 15 & 1 == 1;
        let users = bank == Bank::User && !loads_pc;
        if bank == Bank::User && !self.cpu.mode().has_saved_status() && loads_pc {
            return Err(UNDEFINED);
        }
        let mut words = [0; 16];
        let words = &mut words[..count as usize];
        self.words(lowest, words, false, cycle, done)?;
        if back == WriteBack::Yes {
            self.cpu.set(it.n, base);
        }
        let registers = (0..15).filter(|register| list >> register & 1 == 1);
        for (register, word) in registers.zip(words.iter()) {
            if users {
                self.cpu.set_user_register(register, *word);
            } else {
                self.cpu.set(register, *word);
            }
        }
        match (loads_pc, words.last()) {
            (true, Some(&target)) if bank == Bank::User => self.return_to(target, done),
            (true, Some(&target)) => {
                self.exchange(target, done);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn store_multiple(
        &mut self,
        it: &Instruction,
        order: Order,
        back: WriteBack,
        bank: Bank,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let list = it.imm;
        let count = list.count_ones();
        let (lowest, base) = order.addresses(self.cpu.get(it.n), count);
        let mut words = [0; 16];
        let registers = (0..16).filter(|register| list >> register & 1 == 1);
        for (register, word) in registers.zip(&mut words) {
            *word = match bank {
                Bank::User if register < 15 => self.cpu.user_register(register),
                _ => self.cpu.operand(register),
            };
        }
        self.words(lowest, &mut words[..count as usize], true, cycle, done)?;
        if back == WriteBack::Yes {
            self.cpu.set(it.n, base);
        }
        Ok(())
    }

    fn swap(
        &mut self,
        it: &Instruction,
        width: Width,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let (address, bytes) = (self.cpu.get(it.n), width.bytes());
        let access = Access { alignment: Alignment::Own, ..Access::load(address, bytes) };
        self.check(access, done)?;
        self.check(Access { writes: true, ..access }, done)?;
        let old = self.read(address, bytes, cycle)?;
        let new = self.cpu.get(it.m);
        let new = if bytes == 4 { new } else { new & 0xFF };
        self.write(address, bytes, new, cycle)?;
        self.cpu.set(it.d, old);
        Ok(())
    }

    fn load_exclusive(
        &mut self,
        it: &Instruction,
        size: Exclusive,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let address = self.cpu.get(it.n).wrapping_add(it.imm);
        let access = Access { alignment: Alignment::Own, ..Access::load(address, size.bytes()) };
        self.check(access, done)?;
        let low = self.read(address, size.bytes().min(4), cycle)?;
        if size == Exclusive::Double {
            let high = self.read(address.wrapping_add(4), 4, cycle)?;
            self.cpu.set(it.a, high);
        }
        self.cpu.set(it.d, low);
        self.cpu.exclusive = Some(address);
        Ok(())
    }

    fn store_exclusive(
        &mut self,
        it: &Instruction,
        size: Exclusive,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let address = self.cpu.get(it.n).wrapping_add(it.imm);
        let access = Access { alignment: Alignment::Own, ..Access::store(address, size.bytes()) };
        let passes = self.cpu.exclusive == Some(address);
        self.check(access, done)?;
        if passes {
            let low = self.cpu.get(it.m);
            let bytes = size.bytes().min(4);
            let low = if bytes == 4 { low } else { low & (u32::MAX >> (32 - 8 * bytes)) };
            self.write(address, bytes, low, cycle)?;
            if size == Exclusive::Double {
                self.write(address.wrapping_add(4), 4, self.cpu.get(it.a), cycle)?;
            }
        } else {
            done.traffic = None;
        }
        self.cpu.exclusive = None;
        self.cpu.set(it.d, u32::from(!passes));
        Ok(())
    }

    /// SRS: stores the link register and the saved status on the stack of the mode in `imm`.
    fn store_return(
        &mut self,
        it: &Instruction,
        order: Order,
        back: WriteBack,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let saved = self.cpu.saved_status().ok_or(UNDEFINED)?;
        let mode = Mode::of(it.imm).ok_or(UNDEFINED)?;
        let (lowest, base) = order.addresses(self.cpu.stack_pointer(mode), 2);
        let mut words = [self.cpu.get(14), saved];
        self.words(lowest, &mut words, true, cycle, done)?;
        if back == WriteBack::Yes {
            self.cpu.set_stack_pointer(mode, base);
        }
        Ok(())
    }

    fn return_from(
        &mut self,
        it: &Instruction,
        order: Order,
        back: WriteBack,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        if !self.cpu.is_privileged() {
            return Err(UNDEFINED);
        }
        let (lowest, base) = order.addresses(self.cpu.get(it.n), 2);
        let mut words = [0; 2];
        self.words(lowest, &mut words, false, cycle, done)?;
        if back == WriteBack::Yes {
            self.cpu.set(it.n, base);
        }
        self.return_with(words[1], words[0], done);
        Ok(())
    }
}

const fn external(address: u32, writes: bool) -> Exception {
    Exception::Data { address, why: AccessFault::External, writes }
}
