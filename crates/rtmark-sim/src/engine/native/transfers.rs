//! Native code of loads and stores.
//!
//! It accesses the main RAM, under the conditions of [`crate::memory::Bus::ram_load`] and the functions beside it, and
//! reads single data where code comes from, as [`crate::memory::Bus::near_data`] does. Otherwise it leaves the step to
//! its function.

use crate::arch::armm::registers::SP;
use crate::engine::micro_op::Kind;
use crate::engine::native::action::Mode;
use crate::engine::native::assembler::{Alu, Cond, Datum, Label, Operand, Reg, Shift};
use crate::engine::native::frame;
use crate::engine::native::translator::{CodeLoad, Translator};
use crate::isa::Slot;
use crate::timing::offsets;

impl Translator<'_> {
    /// Puts the offset of an access in a memory that begins at an address into RAX, without a check.
    fn offset(&mut self, slot: &Slot, mode: Mode, memory: u32) {
        let base = self.read(slot.n);
        let before = memory.wrapping_neg();
        match mode {
            Mode::Offset | Mode::PreIndexed => {
                self.asm.add_offset(Reg::RAX, base, slot.imm.wrapping_add(before));
            }
            Mode::PostIndexed => self.asm.add_offset(Reg::RAX, base, before),
            Mode::Indexed => {
                let index = self.read(slot.m);
                self.asm.mov(Reg::RAX, Operand::Reg(index));
                if slot.aux != 0 {
                    self.asm.shift(Shift::Shl, Reg::RAX, slot.aux as u8);
                }
                self.asm.alu(Alu::Add, Reg::RAX, Operand::Reg(base));
                self.asm.add_offset(Reg::RAX, Reg::RAX, before);
            }
        }
    }

    /// Divides the offset in RAX by the size of a datum, and jumps unless it is a multiple and that and further
    /// data are in a memory of some bytes.
    fn check_offset(&mut self, datum: Datum, bytes: u32, count: u32, exit: Label) {
        let scale = datum.scale();
        if scale > 0 {
            // A rest becomes the highest bits.
            self.asm.shift(Shift::Ror, Reg::RAX, scale);
        }
        let end = ((bytes >> scale) + 1).saturating_sub(count);
        self.asm.alu_immediate(Alu::Cmp, Operand::Reg(Reg::RAX), end);
        self.asm.jump_if(Cond::NOT_BELOW, exit);
    }

    /// Leaves if code may have run from the bytes from the offset in RAX on.
    fn check_code(&mut self, bytes: u32, exit: Label) {
        if self.no_code_in_ram {
            return;
        }
        let other = self.asm.label();
        self.asm.add_offset(Reg::RCX, Reg::RAX, self.ram.base);
        self.asm.alu(Alu::Cmp, Reg::RCX, Operand::Field(frame::CODE_HIGH));
        self.asm.jump_if(Cond::NOT_BELOW, other);
        if bytes > 1 {
            self.asm.add_offset(Reg::RCX, Reg::RCX, bytes - 1);
        }
        self.asm.alu(Alu::Cmp, Reg::RCX, Operand::Field(frame::CODE_LOW));
        self.asm.jump_if(Cond::NOT_BELOW, exit);
        self.asm.bind(other);
    }

    /// Moves the base register, if the access does.
    fn move_base(&mut self, slot: &Slot, mode: Mode) {
        if mode.moves_base() {
            let base = self.read(slot.n);
            self.asm.add_offset(Reg::RCX, base, slot.imm);
            self.write(slot.n, Reg::RCX);
        }
    }

    pub(super) fn load(&mut self, at: usize, slot: &Slot, datum: Datum, mode: Mode) {
        let exit = self.exit_at(at);
        self.offset(slot, mode, self.ram.base);
        if self.reads_plain_code {
            let (label, back) = (self.asm.label(), self.asm.label());
            self.check_offset(datum, self.ram.bytes, 1, label);
            self.asm.load_datum(Reg::RAX, datum, datum.scale(), 0);
            self.asm.bind(back);
            let (slot, registers) = (*slot, self.registers);
            self.code_loads.push(CodeLoad { label, back, exit, slot, datum, mode, registers });
        } else {
            self.check_offset(datum, self.ram.bytes, 1, exit);
            self.asm.load_datum(Reg::RAX, datum, datum.scale(), 0);
        }
        self.move_base(slot, mode);
        self.write(slot.d, Reg::RAX);
    }

    /// Appends the rest of a load from outside the main RAM.
    pub(super) fn finish_code_load(&mut self, load: &CodeLoad) {
        self.registers = load.registers;
        self.asm.bind(load.label);
        self.read_code(&load.slot, load.datum, load.mode, load.exit);
        self.asm.jump(load.back);
    }

    pub(super) fn load_code(&mut self, at: usize, slot: &Slot, datum: Datum, mode: Mode) {
        let exit = self.exit_at(at);
        self.read_code(slot, datum, mode, exit);
        self.move_base(slot, mode);
        self.write(slot.d, Reg::RAX);
    }

    /// Reads a datum from the memory from which code comes into RAX.
    fn read_code(&mut self, slot: &Slot, datum: Datum, mode: Mode, exit: Label) {
        let Some(code) = self.code else { return self.asm.jump(exit) };
        self.reads_code = true;
        self.offset(slot, mode, code.base);
        self.check_offset(datum, code.bytes, 1, exit);
        self.asm.load_wide(Reg::RCX, frame::CODE);
        self.asm.load_code_datum(Reg::RAX, datum, datum.scale());
    }

    pub(super) fn store(&mut self, at: usize, slot: &Slot, datum: Datum, mode: Mode) {
        let exit = self.exit_at(at);
        self.offset(slot, mode, self.ram.base);
        self.check_code(datum.size.into(), exit);
        self.check_offset(datum, self.ram.bytes, 1, exit);
        let value = self.read(slot.d);
        self.asm.store_datum(value, datum, datum.scale(), 0);
        self.move_base(slot, mode);
    }

    /// Loads a literal, if the memory from which code comes caches its line among those of data.
    pub(super) fn load_literal(&mut self, at: usize, slot: &Slot, value: u32, line: u32) {
        let exit = self.exit_at(at);
        let (line_found, place) = offsets::lookup_of(line);
        self.asm.load_wide(Reg::RAX, frame::DATA_LINES);
        self.asm.compare_at(Reg::RAX, line_found as u32, line);
        self.asm.jump_if(Cond::NOT_EQUAL, exit);
        self.asm.increment_wide_at(Reg::RAX, offsets::USES as u32);
        self.asm.load_byte_at(Reg::RCX, Reg::RAX, place as u32);
        self.asm.address_of_eighth(offsets::LAST_USES as u32);
        self.asm.load_wide_at(Reg::RAX, Reg::RAX, offsets::USES as u32);
        self.asm.store_wide_at(Reg::RCX, 0, Reg::RAX);
        self.asm.mov_immediate(Reg::RAX, value);
        self.write(slot.d, Reg::RAX);
    }

    /// Loads from the main RAM, and sets the monitor.
    pub(super) fn load_exclusive(&mut self, at: usize, slot: &Slot, datum: Datum) {
        let exit = self.exit_at(at);
        self.offset(slot, Mode::Offset, self.ram.base);
        self.check_offset(datum, self.ram.bytes, 1, exit);
        self.asm.load_datum(Reg::RAX, datum, datum.scale(), 0);
        self.write(slot.d, Reg::RAX);
        self.asm.store_byte(frame::EXCLUSIVE, 1);
    }

    /// Stores to the main RAM if the monitor is set, and clears it.
    pub(super) fn store_exclusive(&mut self, at: usize, slot: &Slot, datum: Datum) {
        let exit = self.exit_at(at);
        self.asm.compare_byte(frame::EXCLUSIVE, 1);
        self.asm.jump_if(Cond::NOT_EQUAL, exit);
        self.offset(slot, Mode::Offset, self.ram.base);
        self.check_code(datum.size.into(), exit);
        self.check_offset(datum, self.ram.bytes, 1, exit);
        let value = self.read(slot.a);
        self.asm.store_datum(value, datum, datum.scale(), 0);
        self.asm.mov_immediate(Reg::RAX, 0);
        self.write(slot.d, Reg::RAX);
        self.asm.store_byte(frame::EXCLUSIVE, 0);
    }

    pub(super) fn load_pair(&mut self, at: usize, slot: &Slot, mode: Mode) {
        let exit = self.exit_at(at);
        self.offset(slot, mode, self.ram.base);
        self.check_offset(Datum::WORD, self.ram.bytes, 2, exit);
        self.move_base(slot, mode);
        self.asm.load_datum(Reg::RCX, Datum::WORD, 2, 0);
        self.write(slot.d, Reg::RCX);
        self.asm.load_datum(Reg::RCX, Datum::WORD, 2, 4);
        self.write(slot.a, Reg::RCX);
    }

    pub(super) fn store_pair(&mut self, at: usize, slot: &Slot, mode: Mode) {
        let exit = self.exit_at(at);
        self.offset(slot, mode, self.ram.base);
        self.check_code(8, exit);
        self.check_offset(Datum::WORD, self.ram.bytes, 2, exit);
        for (register, offset) in [(slot.d, 0), (slot.a, 4)] {
            let value = self.read(register);
            self.asm.store_datum(value, Datum::WORD, 2, offset);
        }
        self.move_base(slot, mode);
    }

    /// LDM and POP.
    pub(super) fn load_list(&mut self, at: usize, slot: &Slot, follows: Option<u32>) {
        let exit = self.exit_at(at);
        let bytes = 4 * slot.imm.count_ones();
        self.offset(slot, Mode::PostIndexed, self.ram.base);
        self.check_offset(Datum::WORD, self.ram.bytes, bytes / 4, exit);
        if let Some(target) = follows {
            let other = self.indirect(at);
            self.asm.load_datum(Reg::RCX, Datum::WORD, 2, (bytes - 4) as u8);
            self.asm.alu_immediate(Alu::Cmp, Operand::Reg(Reg::RCX), target);
            self.asm.jump_if(Cond::NOT_EQUAL, other);
        }
        self.take_list(at, slot);
    }

    /// LDM and POP that end the pass.
    pub(super) fn load_target(&mut self, at: usize, slot: &Slot) {
        let exit = self.exit_at(at);
        self.offset(slot, Mode::PostIndexed, self.ram.base);
        self.check_offset(Datum::WORD, self.ram.bytes, slot.imm.count_ones(), exit);
        let there = self.indirect(at);
        self.asm.jump(there);
    }

    /// Puts the program counter in a list that is in the main RAM into RCX, and the list's index there into RAX.
    pub(super) fn target_of_list(&mut self, slot: &Slot) {
        self.offset(slot, Mode::PostIndexed, self.ram.base);
        self.asm.shift(Shift::Ror, Reg::RAX, Datum::WORD.scale());
        let before = 4 * slot.imm.count_ones() - 4;
        self.asm.load_datum(Reg::RCX, Datum::WORD, 2, before as u8);
    }

    /// Loads the list of a step, except for the program counter; its index in the main RAM is in RAX.
    pub(super) fn take_list(&mut self, at: usize, slot: &Slot) {
        // Lists that are followed write their base back, and have their target where others say so.
        let moves_base = slot.aux == 1 || self.steps[at].begin.kind == Kind::Followed;
        // A loaded base is not written back.
        if moves_base && slot.imm >> slot.n & 1 == 0 {
            let base = self.read(slot.n);
            self.asm.add_offset(Reg::RCX, base, 4 * slot.imm.count_ones());
            self.write(slot.n, Reg::RCX);
        }
        for (register, offset) in listed(slot.imm & 0x7FFF) {
            self.asm.load_datum(Reg::RCX, Datum::WORD, 2, offset);
            self.write(register, Reg::RCX);
        }
    }

    /// STM and PUSH.
    pub(super) fn store_list(&mut self, at: usize, slot: &Slot, before: bool) {
        let exit = self.exit_at(at);
        let bytes = 4 * slot.imm.count_ones();
        let below = if before { bytes.wrapping_neg() } else { 0 };
        let base = self.read(slot.n);
        self.asm.add_offset(Reg::RAX, base, below.wrapping_sub(self.ram.base));
        if slot.n == SP as u8 {
            self.asm.add_offset(Reg::RCX, Reg::RAX, self.ram.base);
            self.asm.alu(Alu::Cmp, Reg::RCX, Operand::Field(frame::STACK_END));
            self.below_stack(Cond::NOT_BELOW.inverse(), exit);
        }
        self.check_code(bytes, exit);
        self.check_offset(Datum::WORD, self.ram.bytes, bytes / 4, exit);
        for (register, offset) in listed(slot.imm) {
            let value = self.read(register);
            self.asm.store_datum(value, Datum::WORD, 2, offset);
        }
        if slot.aux == 1 {
            let base = self.read(slot.n);
            self.asm.add_offset(Reg::RCX, base, if before { below } else { bytes });
            self.write(slot.n, Reg::RCX);
        }
    }
}

/// Returns the registers of a list with the offsets of their words.
fn listed(list: u32) -> impl Iterator<Item = (u8, u8)> {
    (0..16).filter(move |register| list >> register & 1 == 1).zip((0..).step_by(4))
}
