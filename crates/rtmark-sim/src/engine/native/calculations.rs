//! Native code of calculations.

use crate::arch::armm::registers::SP;
use crate::engine::native::action::{Action, Calc, Form};
use crate::engine::native::assembler::{Alu, Cond, Datum, Operand, Reg, Shift, Unary};
use crate::engine::native::flags::{self, Flags, HostFlags, Recipe, Value};
use crate::engine::native::frame;
use crate::engine::native::translator::Translator;
use crate::isa::Slot;

impl Translator<'_> {
    /// Appends the code of a calculation.
    pub(super) fn calculate(&mut self, at: usize, action: Action, expects: Option<u8>) {
        let slot = self.steps[at].slot;
        match action {
            Action::Calculate { calc, form, sets_flags, writes } => {
                let written = action.written_flags(&slot);
                let live = self.live[at + 1] & written;
                let of_operand = written & !calc.result_flags();
                let alu = self.combine(&slot, calc, form, live & of_operand);
                self.pending.set(of_operand, None);
                if writes {
                    if slot.d == SP as u8 {
                        self.asm.alu_immediate(Alu::And, Operand::Reg(Reg::RAX), !3);
                    }
                    self.write(slot.d, Reg::RAX);
                }
                if sets_flags {
                    self.set_flags(&slot, (calc, form, writes), alu, live, expects);
                }
                return;
            }
            Action::ShiftByRegister { shift, sets_flags } => {
                let carry = sets_flags && self.live[at + 1].contains(Flags::C);
                self.shift_by_register(&slot, shift, carry);
            }
            Action::Multiply { .. } => {
                let (x, y) = (self.read(slot.n), self.read(slot.m));
                self.asm.mov(Reg::RAX, Operand::Reg(x));
                self.asm.multiply(Reg::RAX, Operand::Reg(y));
            }
            Action::MultiplyAccumulate { subtracts } => {
                let (x, y, sum) = (self.read(slot.n), self.read(slot.m), self.read(slot.a));
                self.asm.mov(Reg::RCX, Operand::Reg(x));
                self.asm.multiply(Reg::RCX, Operand::Reg(y));
                self.asm.mov(Reg::RAX, Operand::Reg(sum));
                let alu = if subtracts { Alu::Sub } else { Alu::Add };
                self.asm.alu(alu, Reg::RAX, Operand::Reg(Reg::RCX));
            }
            Action::Extend { datum, adds } => self.extend(&slot, datum, adds),
            Action::CountLeadingZeros => {
                let x = self.read(slot.m);
                // 63 - 31 zeros above no bit at all.
                self.asm.mov_immediate(Reg::RCX, 63);
                self.asm.highest_bit(Reg::RAX, x);
                self.asm.mov_if(Cond::EQUAL, Reg::RAX, Reg::RCX);
                self.asm.alu_immediate(Alu::Xor, Operand::Reg(Reg::RAX), 31);
            }
            Action::SwapBytes => {
                self.copy(Reg::RAX, slot.m);
                self.asm.swap_bytes(Reg::RAX);
            }
            Action::MoveTop => {
                self.copy(Reg::RAX, slot.d);
                self.asm.alu_immediate(Alu::And, Operand::Reg(Reg::RAX), 0xFFFF);
                self.asm.alu_immediate(Alu::Or, Operand::Reg(Reg::RAX), slot.imm << 16);
            }
            Action::ExtractField { signed } => self.extract_field(&slot, signed),
            Action::InsertField { clears } => self.insert_field(&slot, clears),
            Action::Constant(value) => self.asm.mov_immediate(Reg::RAX, value),
            Action::MultiplyLong { signed, accumulates } => {
                self.multiply_long(&slot, signed, accumulates);
            }
            Action::MultiplyHalves { accumulates } => {
                self.half(Reg::RAX, slot.n, slot.aux & 2 != 0);
                self.half(Reg::RCX, slot.m, slot.aux & 1 != 0);
                self.asm.multiply(Reg::RAX, Operand::Reg(Reg::RCX));
                if accumulates {
                    let exit = self.exit_at(at);
                    let sum = self.read(slot.a);
                    self.asm.alu(Alu::Add, Reg::RAX, Operand::Reg(sum));
                    // Q is set by the function.
                    self.asm.jump_if(Cond::OVERFLOW, exit);
                }
            }
            Action::Divide { signed, extra_cycles } => {
                self.divide(at, &slot, signed, extra_cycles);
            }
            _ => return,
        }
        self.write(slot.d, Reg::RAX);
        // What other operations than these set is only the result's sign and whether it is zero.
        if action.written_flags(&slot).contains(Flags::NZ) {
            self.pending.set(Flags::NZ, Some(Recipe::Result(slot.d)));
        }
    }

    /// Copies a register of the program.
    fn copy(&mut self, to: Reg, register: u8) {
        let from = self.read(register);
        self.asm.mov(to, Operand::Reg(from));
    }

    /// Puts the second operand of a calculation where it can be read once. Writes the carry flag that this
    /// defines, if it is live.
    fn second(&mut self, slot: &Slot, form: Form, live: Flags) -> Operand {
        let carry = live.contains(Flags::C);
        match form {
            Form::Immediate => {
                if carry {
                    self.asm.store_byte(frame::C, (slot.imm >> 31) as u8);
                }
                self.asm.mov_immediate(Reg::RCX, slot.imm);
                Operand::Reg(Reg::RCX)
            }
            Form::Register => Operand::Reg(self.read(slot.m)),
            Form::Shifted(shift, count) => {
                self.copy(Reg::RCX, slot.m);
                self.asm.shift(shift, Reg::RCX, count);
                if carry {
                    self.asm.set_field(Cond::BELOW, frame::C);
                }
                Operand::Reg(Reg::RCX)
            }
        }
    }

    /// Calculates into RAX. Returns the operation after which the host's flags are those of the result, if they
    /// are. Writes the flags that the second operand defines, if they are live.
    fn combine(&mut self, slot: &Slot, calc: Calc, form: Form, live: Flags) -> Option<Alu> {
        let alu = match calc {
            Calc::Mov | Calc::Mvn => {
                let y = self.second(slot, form, live);
                self.asm.mov(Reg::RAX, y);
                if calc == Calc::Mvn {
                    self.asm.unary(Unary::Not, Reg::RAX);
                }
                return None;
            }
            Calc::Bic | Calc::Orn => {
                let y = self.second(slot, form, live);
                self.asm.mov(Reg::RCX, y);
                self.asm.unary(Unary::Not, Reg::RCX);
                self.copy(Reg::RAX, slot.n);
                let alu = if calc == Calc::Bic { Alu::And } else { Alu::Or };
                self.asm.alu(alu, Reg::RAX, Operand::Reg(Reg::RCX));
                return Some(alu);
            }
            Calc::Rsb => {
                let y = self.second(slot, form, live);
                self.asm.mov(Reg::RAX, y);
                let x = self.read(slot.n);
                self.asm.alu(Alu::Sub, Reg::RAX, Operand::Reg(x));
                return Some(Alu::Sub);
            }
            Calc::And => Alu::And,
            Calc::Orr => Alu::Or,
            Calc::Eor => Alu::Xor,
            Calc::Add => Alu::Add,
            Calc::Adc => Alu::Adc,
            Calc::Sub => Alu::Sub,
            Calc::Sbc => Alu::Sbb,
        };
        if form == Form::Immediate {
            if live.contains(Flags::C) {
                self.asm.store_byte(frame::C, (slot.imm >> 31) as u8);
            }
            self.copy(Reg::RAX, slot.n);
            self.carry_in(alu);
            self.asm.alu_immediate(alu, Operand::Reg(Reg::RAX), slot.imm);
        } else {
            let y = self.second(slot, form, live);
            self.copy(Reg::RAX, slot.n);
            self.carry_in(alu);
            self.asm.alu(alu, Reg::RAX, y);
        }
        Some(alu)
    }

    /// Makes the carry flag the host's, for an operation that reads it.
    fn carry_in(&mut self, alu: Alu) {
        if matches!(alu, Alu::Adc | Alu::Sbb) {
            // Below 1 is clear, which is a borrow.
            self.asm.compare_byte(frame::C, 1);
            if alu == Alu::Adc {
                self.asm.complement_carry();
            }
        }
    }

    /// Makes flags those of the result in RAX, or remembers from which registers they follow.
    fn set_flags(
        &mut self,
        slot: &Slot,
        (calc, form, writes): (Calc, Form, bool),
        alu: Option<Alu>,
        live: Flags,
        expects: Option<u8>,
    ) {
        let (nz, carries) = recipes(slot, calc, form, writes, alu);
        self.pending.set(Flags::NZ, nz);
        if calc.is_sum() {
            self.pending.set(Flags::C | Flags::V, carries);
        }
        let mut now = Flags::empty();
        if nz.is_none() {
            now |= live & Flags::NZ;
        }
        if calc.is_sum() && carries.is_none() {
            now |= live & (Flags::C | Flags::V);
        }
        let host = alu.map_or(HostFlags::Logic, HostFlags::after);
        if !now.is_empty() {
            flags::write(&mut self.asm, host, now);
        }
        let is_intact = !now.contains(Flags::V);
        if is_intact && expects.is_some_and(|condition| host.condition(condition).is_some()) {
            if alu.is_none() {
                self.asm.test(Reg::RAX);
            }
            self.host = Some(host);
        }
    }

    /// Shifts or rotates by the low byte of a register, into RAX.
    fn shift_by_register(&mut self, slot: &Slot, shift: Shift, carry: bool) {
        let (x, y) = (self.read(slot.n), self.read(slot.m));
        self.asm.mov(Reg::RCX, Operand::Reg(y));
        self.asm.mov(Reg::RAX, Operand::Reg(x));
        // What is shifted out last stays next to the result: above it, or below it in a value of twice the width. What
        // is rotated last is its highest bit.
        let carry_bit = if shift == Shift::Shl { 32 } else { 31 };
        let is_above = matches!(shift, Shift::Shr | Shift::Sar);
        if shift == Shift::Ror {
            self.asm.rotate_by_rcx(Reg::RAX);
        } else {
            let few = self.asm.label();
            // With 63, everything has been shifted out as with any more.
            self.asm.test_byte(Reg::RCX, 0xC0);
            self.asm.jump_if(Cond::EQUAL, few);
            self.asm.mov_immediate(Reg::RCX, 63);
            self.asm.bind(few);
            if is_above {
                self.asm.shift_wide(Shift::Shl, Reg::RAX, 32);
            }
            self.asm.shift_wide_by_rcx(shift, Reg::RAX);
        }
        if carry {
            let done = self.asm.label();
            self.asm.test_byte(Reg::RCX, 0xFF);
            self.asm.jump_if(Cond::EQUAL, done);
            self.asm.test_bit_wide(Reg::RAX, carry_bit);
            self.asm.set_field(Cond::BELOW, frame::C);
            self.asm.bind(done);
        }
        if is_above {
            self.asm.shift_wide(Shift::Shr, Reg::RAX, 32);
        }
    }

    fn extend(&mut self, slot: &Slot, datum: Datum, adds: bool) {
        let x = self.read(slot.m);
        let from = if slot.imm.is_multiple_of(32) {
            x
        } else {
            self.asm.mov(Reg::RAX, Operand::Reg(x));
            self.asm.shift(Shift::Ror, Reg::RAX, (slot.imm % 32) as u8);
            Reg::RAX
        };
        self.asm.extend(Reg::RAX, from, datum);
        if adds {
            let sum = self.read(slot.n);
            self.asm.alu(Alu::Add, Reg::RAX, Operand::Reg(sum));
        }
    }

    /// Copies the low or the high half of a register, with its sign.
    fn half(&mut self, to: Reg, register: u8, high: bool) {
        let x = self.read(register);
        if high {
            self.asm.mov(to, Operand::Reg(x));
            self.asm.shift(Shift::Sar, to, 16);
        } else {
            self.asm.extend(to, x, Datum::SIGNED_HALF);
        }
    }

    /// Multiplies, adds if need be, and writes the low half of the result. Leaves the high half in RAX.
    fn multiply_long(&mut self, slot: &Slot, signed: bool, accumulates: bool) {
        for (to, register) in [(Reg::RAX, slot.n), (Reg::RCX, slot.m)] {
            let x = self.read(register);
            if signed {
                self.asm.extend_sign(to, x);
            } else {
                self.asm.mov(to, Operand::Reg(x));
            }
        }
        self.asm.multiply_wide(Reg::RAX, Reg::RCX);
        if accumulates {
            self.copy(Reg::RCX, slot.a);
            self.asm.add_wide_register(Reg::RAX, Reg::RCX);
            self.copy(Reg::RCX, slot.d);
            self.asm.shift_wide(Shift::Shl, Reg::RCX, 32);
            self.asm.add_wide_register(Reg::RAX, Reg::RCX);
        }
        self.write(slot.a, Reg::RAX);
        self.asm.shift_wide(Shift::Shr, Reg::RAX, 32);
    }

    /// Divides into RAX, if that takes so many cycles more than the least.
    fn divide(&mut self, at: usize, slot: &Slot, signed: bool, extra_cycles: u8) {
        let exit = self.exit_at(at);
        let digits = self.rules.divider.and_then(|divider| divider.digits_for(extra_cycles));
        let Some((least, count)) = digits else { return self.asm.jump(exit) };
        for (to, register) in [(Reg::RAX, slot.n), (Reg::RCX, slot.m)] {
            let x = self.read(register);
            if signed {
                self.asm.test(x);
                self.asm.jump_if(Cond::SIGN, exit);
            }
            self.asm.highest_bit(to, x);
            // There is none.
            self.asm.jump_if(Cond::EQUAL, exit);
        }
        self.asm.alu(Alu::Sub, Reg::RAX, Operand::Reg(Reg::RCX));
        self.asm.alu_immediate(Alu::Sub, Operand::Reg(Reg::RAX), least.cast_unsigned());
        self.asm.alu_immediate(Alu::Cmp, Operand::Reg(Reg::RAX), count);
        self.asm.jump_if(Cond::NOT_BELOW, exit);
        self.copy(Reg::RAX, slot.n);
        self.copy(Reg::RCX, slot.m);
        self.registers.release(Reg::RDX);
        self.asm.mov_immediate(Reg::RDX, 0);
        self.asm.divide(Reg::RCX);
    }

    fn extract_field(&mut self, slot: &Slot, signed: bool) {
        self.copy(Reg::RAX, slot.n);
        let above = (32 - slot.imm - slot.aux) as u8;
        let shift = if signed { Shift::Sar } else { Shift::Shr };
        if above > 0 {
            self.asm.shift(Shift::Shl, Reg::RAX, above);
        }
        if slot.aux < 32 {
            self.asm.shift(shift, Reg::RAX, (32 - slot.aux) as u8);
        }
    }

    fn insert_field(&mut self, slot: &Slot, clears: bool) {
        let mask = (u32::MAX >> (32 - slot.aux)) << slot.imm;
        self.copy(Reg::RAX, slot.d);
        self.asm.alu_immediate(Alu::And, Operand::Reg(Reg::RAX), !mask);
        if !clears {
            self.copy(Reg::RCX, slot.n);
            if slot.imm > 0 {
                self.asm.shift(Shift::Shl, Reg::RCX, slot.imm as u8);
            }
            self.asm.alu_immediate(Alu::And, Operand::Reg(Reg::RCX), mask);
            self.asm.alu(Alu::Or, Reg::RAX, Operand::Reg(Reg::RCX));
        }
    }
}

/// Returns how N and Z, and the other flags of a sum, follow from registers after a calculation.
fn recipes(
    slot: &Slot,
    calc: Calc,
    form: Form,
    writes: bool,
    alu: Option<Alu>,
) -> (Option<Recipe>, Option<Recipe>) {
    let second = match form {
        Form::Immediate => Some(Value::Immediate(slot.imm)),
        Form::Register => Some(Value::Register(slot.m)),
        Form::Shifted(..) => None,
    };
    let x = Value::Register(slot.n);
    let keeps = |value| !writes || value != Value::Register(slot.d);
    let whole = match (calc, alu, second) {
        (Calc::Rsb, _, Some(y)) if keeps(x) && keeps(y) => {
            Some(Recipe::Operation { alu: Alu::Sub, x: y, y: x })
        }
        (Calc::And | Calc::Eor | Calc::Add | Calc::Sub, Some(alu), Some(y)) if keeps(y) => {
            if keeps(x) {
                Some(Recipe::Operation { alu, x, y })
            } else if calc.is_sum() {
                Some(Recipe::Undone { alu, result: slot.d, y })
            } else {
                None
            }
        }
        _ => None,
    };
    (if writes { Some(Recipe::Result(slot.d)) } else { whole }, whole.filter(|_| calc.is_sum()))
}
