//! The translation of operations to Cranelift's intermediate form.
//!
//! Registers and flags are values; memory receives them where the function may be left. Each operation that may
//! leave does so before it has changed anything.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

use crate::Memory;
use crate::flags::{Carry, Flags, Kept, Overflow, Result};
use crate::native::context;
use crate::operation::{
    Accumulate, Bitwise, FlagEffect, Operand, Operation, Part, Register, STACK_POINTER, Shift,
    Step, Sum, Unary,
};

/// The number of registers.
const REGISTERS: usize = 16;

/// The function that is being translated.
pub struct Translation<'b, 'f> {
    pub builder: &'b mut FunctionBuilder<'f>,
    pub arguments: Arguments,
    pub memory: Memory,
    state: State,
}

/// Its arguments: pointers to registers, memory and the rest.
#[derive(Clone, Copy)]
pub struct Arguments {
    pub registers: Value,
    pub memory: Value,
    pub context: Value,
}

/// What is known of registers and flags.
#[derive(Clone, Copy)]
struct State {
    registers: [Option<Value>; REGISTERS],
    /// The registers whose values are not in memory yet.
    changed: u16,
    flags: Flags,
}

/// Accesses to what the caller passes: always mapped, and aligned.
pub const fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl Kept for Arguments {
    fn result(&mut self, b: &mut FunctionBuilder<'_>) -> Value {
        let at = b.ins().load(types::I64, trusted(), self.context, context::RESULT);
        b.ins().load(types::I64, trusted(), at, 0)
    }

    fn carry(&mut self, b: &mut FunctionBuilder<'_>) -> Value {
        let at = b.ins().load(types::I64, trusted(), self.context, context::CARRY);
        b.ins().load(types::I8, trusted(), at, 0)
    }

    fn overflow(&mut self, b: &mut FunctionBuilder<'_>) -> Value {
        let at = b.ins().load(types::I64, trusted(), self.context, context::OVERFLOW);
        b.ins().load(types::I32, trusted(), at, 0)
    }
}

impl<'b, 'f> Translation<'b, 'f> {
    pub fn new(builder: &'b mut FunctionBuilder<'f>, arguments: Arguments, memory: Memory) -> Self {
        let state = State { registers: [None; REGISTERS], changed: 0, flags: Flags::KEPT };
        Self { builder, arguments, memory, state }
    }

    /// Translates steps, and a return of `end` after them.
    pub fn run(mut self, steps: &[Step], end: u32) {
        let mut rest = steps;
        while let [step, behind @ ..] = rest {
            rest = behind;
            if let Operation::Select { condition, then, otherwise } = step.operation {
                let (first, others) = behind.split_at(usize::from(then).min(behind.len()));
                let (second, others) = others.split_at(usize::from(otherwise).min(others.len()));
                self.select(condition, first, second);
                rest = others;
            } else {
                self.step(step);
            }
        }
        self.write_registers();
        self.leave(end);
    }

    pub fn get(&mut self, register: Register) -> Value {
        let at = usize::from(register) % REGISTERS;
        if let Some(value) = self.state.registers[at] {
            return value;
        }
        let pointer = self.arguments.registers;
        let value = self.builder.ins().load(types::I32, trusted(), pointer, 4 * at as i32);
        self.state.registers[at] = Some(value);
        value
    }

    pub fn set(&mut self, register: Register, value: Value) {
        let at = usize::from(register) % REGISTERS;
        let value = if register == STACK_POINTER {
            self.builder.ins().band_imm_s(value, !3)
        } else {
            value
        };
        self.state.registers[at] = Some(value);
        self.state.changed |= 1 << at;
    }

    pub fn constant(&mut self, value: u32) -> Value {
        self.builder.ins().iconst(types::I32, i64::from(value))
    }

    /// Writes changed registers to memory.
    fn write_registers(&mut self) {
        let changed = std::mem::take(&mut self.state.changed);
        let pointer = self.arguments.registers;
        for (at, value) in self.state.registers.iter().enumerate() {
            if let Some(value) = value
                && changed >> at & 1 == 1
            {
                self.builder.ins().store(trusted(), *value, pointer, 4 * at as i32);
            }
        }
    }

    /// Returns from the function, with the flags in memory, where the registers are already.
    fn leave(&mut self, number: u32) {
        let flags = self.state.flags;
        let (b, kept) = (&mut *self.builder, &mut self.arguments);
        let context = kept.context;
        if flags.result != Result::Kept {
            let wide = flags.wide_result(b, kept);
            let at = b.ins().load(types::I64, trusted(), context, context::RESULT);
            b.ins().store(trusted(), wide, at, 0);
        }
        if flags.carry != Carry::Kept {
            let carry = flags.carry_byte(b, kept);
            let at = b.ins().load(types::I64, trusted(), context, context::CARRY);
            b.ins().store(trusted(), carry, at, 0);
        }
        if flags.overflow != Overflow::Kept {
            let overflow = flags.overflow_word(b, kept);
            let at = b.ins().load(types::I64, trusted(), context, context::OVERFLOW);
            b.ins().store(trusted(), overflow, at, 0);
        }
        let number = b.ins().iconst(types::I32, i64::from(number));
        b.ins().return_(&[number]);
    }

    /// Continues if a condition holds, and leaves before the step otherwise.
    pub fn expect(&mut self, holds: Value, number: u32) {
        let (go_on, out) = self.branches();
        self.builder.ins().brif(holds, go_on, &[], out, &[]);
        self.fill(out, number, go_on);
    }

    /// Leaves before the step if a condition holds.
    pub fn leave_if(&mut self, holds: Value, number: u32) {
        let (go_on, out) = self.branches();
        self.builder.ins().brif(holds, out, &[], go_on, &[]);
        self.fill(out, number, go_on);
    }

    fn branches(&mut self) -> (Block, Block) {
        self.write_registers();
        (self.builder.create_block(), self.builder.create_block())
    }

    fn fill(&mut self, out: Block, number: u32, go_on: Block) {
        self.builder.set_cold_block(out);
        self.builder.switch_to_block(out);
        self.builder.seal_block(out);
        self.leave(number);
        self.builder.switch_to_block(go_on);
        self.builder.seal_block(go_on);
    }

    /// Executes one of two sequences of operations that only calculate.
    fn select(&mut self, condition: u8, then: &[Step], otherwise: &[Step]) {
        let holds = self.state.flags.holds(condition, self.builder, &mut self.arguments);
        let before = self.state;
        for step in then {
            self.step(step);
        }
        let first = std::mem::replace(&mut self.state, before);
        for step in otherwise {
            self.step(step);
        }
        let second = self.state;
        let mut registers = [None; REGISTERS];
        for (at, merged) in registers.iter_mut().enumerate() {
            let (one, other) = (first.registers[at], second.registers[at]);
            let is_changed = (first.changed | second.changed) >> at & 1 == 1;
            *merged = if one == other || !is_changed {
                one.or(other)
            } else {
                self.state = before;
                let one = one.unwrap_or_else(|| self.get(at as Register));
                let other = other.unwrap_or_else(|| self.get(at as Register));
                Some(self.builder.ins().select(holds, one, other))
            };
        }
        let (one, other) = (first.flags, second.flags);
        let (b, kept) = (&mut *self.builder, &mut self.arguments);
        let flags = if one == other {
            one
        } else {
            let result = {
                let (one, other) = (one.wide_result(b, kept), other.wide_result(b, kept));
                Result::Wide(b.ins().select(holds, one, other))
            };
            let carry = {
                let (one, other) = (one.carry_byte(b, kept), other.carry_byte(b, kept));
                Carry::Byte(b.ins().select(holds, one, other))
            };
            let overflow = {
                let (one, other) = (one.overflow_word(b, kept), other.overflow_word(b, kept));
                Overflow::Word(b.ins().select(holds, one, other))
            };
            Flags::new(result, carry, overflow)
        };
        self.state = State { registers, changed: first.changed | second.changed, flags };
    }

    fn step(&mut self, step: &Step) {
        let number = step.number;
        match step.operation {
            Operation::Nothing | Operation::Select { .. } => {}
            Operation::Load { datum, to, address } => self.load(datum, to, address, number),
            Operation::Store { datum, from, address } => self.store(datum, from, address, number),
            Operation::LoadList(list) => {
                self.load_list(list, None, number);
            }
            Operation::LoadListThen { list, value } => self.load_list(list, Some(value), number),
            Operation::StoreList(list) => self.store_list(list, number),
            Operation::LoadPair { to, address } => self.load_pair(to, address, number),
            Operation::StorePair { from, address } => self.store_pair(from, address, number),
            Operation::Expect { condition } => {
                if condition >> 1 != 7 {
                    let flags = self.state.flags;
                    let holds = flags.holds(condition, self.builder, &mut self.arguments);
                    self.expect(holds, number);
                }
            }
            Operation::ExpectZero { register, is_zero } => {
                let value = self.get(register);
                let condition = if is_zero { IntCC::Equal } else { IntCC::NotEqual };
                let holds = self.builder.ins().icmp_imm_u(condition, value, 0);
                self.expect(holds, number);
            }
            Operation::ExpectValue { register, value } => {
                let found = self.get(register);
                let value = self.constant(value);
                let holds = self.builder.ins().icmp(IntCC::Equal, found, value);
                self.expect(holds, number);
            }
            operation => self.calculate(operation),
        }
    }

    /// Translates what only calculates.
    fn calculate(&mut self, operation: Operation) {
        match operation {
            Operation::Bitwise { of, to, first, second, flags } => {
                self.bitwise(of, to, first, second, flags);
            }
            Operation::Sum { of, to, first, second, flags } => {
                self.sum(of, to, first, second, flags);
            }
            Operation::ShiftBy { shift, to, value, amount, flags } => {
                self.shift_by(shift, to, value, amount, flags);
            }
            Operation::Unary { of, to, from } => {
                let value = self.get(from);
                let result = match of {
                    Unary::LeadingZeros => self.builder.ins().clz(value),
                    Unary::ReverseBits => self.builder.ins().bitrev(value),
                    Unary::ReverseBytes => self.builder.ins().bswap(value),
                };
                self.set(to, result);
            }
            Operation::Multiply { .. } | Operation::MultiplyLong { .. } => self.multiply(operation),
            _ => self.change_bits(operation),
        }
    }

    /// Translates extensions and changes of bit fields.
    fn change_bits(&mut self, operation: Operation) {
        match operation {
            Operation::Extend { part, to, from, rotation, added_to } => {
                let mut value = self.get(from);
                if rotation != 0 {
                    value = self.builder.ins().rotr_imm_u(value, i64::from(rotation));
                }
                let mut result = self.extend(part, value);
                if let Some(term) = added_to {
                    let term = self.get(term);
                    result = self.builder.ins().iadd(term, result);
                }
                self.set(to, result);
            }
            Operation::SetUpperHalf { to, value } => {
                let old = self.get(to);
                let low = self.builder.ins().band_imm_u(old, 0xFFFF);
                let high = self.constant(u32::from(value) << 16);
                let result = self.builder.ins().bor(low, high);
                self.set(to, result);
            }
            Operation::InsertField { to, from, low, width } => {
                let mask = (u32::MAX >> (32 - u32::from(width.clamp(1, 32)))) << (low & 31);
                let old = self.get(to);
                let mut result = self.builder.ins().band_imm_s(old, i64::from(!mask as i32));
                if let Some(from) = from {
                    let value = self.get(from);
                    let moved = self.builder.ins().ishl_imm_u(value, i64::from(low & 31));
                    let field = self.builder.ins().band_imm_s(moved, i64::from(mask as i32));
                    result = self.builder.ins().bor(result, field);
                }
                self.set(to, result);
            }
            Operation::ExtractField { to, from, low, width, signed } => {
                let value = self.get(from);
                let (low, width) = (i64::from(low), i64::from(width));
                let up = self.builder.ins().ishl_imm_u(value, 32 - low - width);
                let result = if signed {
                    self.builder.ins().sshr_imm_u(up, 32 - width)
                } else {
                    self.builder.ins().ushr_imm_u(up, 32 - width)
                };
                self.set(to, result);
            }
            _ => {}
        }
    }

    /// Translates multiplications.
    fn multiply(&mut self, operation: Operation) {
        match operation {
            Operation::Multiply { to, factors: [n, m], accumulate, flags } => {
                let (n, m) = (self.get(n), self.get(m));
                let product = self.builder.ins().imul(n, m);
                let result = match accumulate {
                    Accumulate::Nothing => product,
                    Accumulate::AddedTo(term) => {
                        let term = self.get(term);
                        self.builder.ins().iadd(term, product)
                    }
                    Accumulate::SubtractedFrom(term) => {
                        let term = self.get(term);
                        self.builder.ins().isub(term, product)
                    }
                };
                self.set(to, result);
                if flags == FlagEffect::Set {
                    self.set_result(result, None);
                }
            }
            Operation::MultiplyLong { to: [low, high], factors: [n, m], signed, accumulates } => {
                let (n, m) = (self.get(n), self.get(m));
                let start = accumulates.then(|| (self.get(low), self.get(high)));
                let b = &mut *self.builder;
                let [n, m] = [n, m].map(|word| {
                    if signed {
                        b.ins().sextend(types::I64, word)
                    } else {
                        b.ins().uextend(types::I64, word)
                    }
                });
                let mut product = b.ins().imul(n, m);
                if let Some((low, high)) = start {
                    let low = b.ins().uextend(types::I64, low);
                    let high = b.ins().uextend(types::I64, high);
                    let high = b.ins().ishl_imm_u(high, 32);
                    let start = b.ins().bor(low, high);
                    product = b.ins().iadd(product, start);
                }
                let low_word = b.ins().ireduce(types::I32, product);
                let upper = b.ins().ushr_imm_u(product, 32);
                let high_word = b.ins().ireduce(types::I32, upper);
                self.set(low, low_word);
                self.set(high, high_word);
            }
            _ => {}
        }
    }

    fn extend(&mut self, part: Part, value: Value) -> Value {
        let b = &mut *self.builder;
        match part {
            Part::UnsignedByte => b.ins().band_imm_u(value, 0xFF),
            Part::UnsignedHalf => b.ins().band_imm_u(value, 0xFFFF),
            Part::SignedByte => {
                let byte = b.ins().ireduce(types::I8, value);
                b.ins().sextend(types::I32, byte)
            }
            Part::SignedHalf => {
                let half = b.ins().ireduce(types::I16, value);
                b.ins().sextend(types::I32, half)
            }
        }
    }

    /// Returns the value of a second operand, and the carry flag that its evaluation defines.
    fn operand(&mut self, operand: Operand) -> (Value, Option<Carry>) {
        match operand {
            Operand::Register(register) => (self.get(register), None),
            Operand::Immediate(value) => (self.constant(value), None),
            Operand::ImmediateWithCarry(value) => {
                (self.constant(value), Some(Carry::Known(value >> 31 == 1)))
            }
            Operand::Shifted(register, shift, amount) => {
                let value = self.get(register);
                let by = i64::from(amount);
                let b = &mut *self.builder;
                match shift {
                    Shift::Left => {
                        (b.ins().ishl_imm_u(value, by), Some(Carry::Bit(value, 32 - amount)))
                    }
                    Shift::Right => {
                        (b.ins().ushr_imm_u(value, by), Some(Carry::Bit(value, amount - 1)))
                    }
                    Shift::Arithmetic => {
                        (b.ins().sshr_imm_u(value, by), Some(Carry::Bit(value, amount - 1)))
                    }
                    Shift::Rotate => {
                        (b.ins().rotr_imm_u(value, by), Some(Carry::Bit(value, amount - 1)))
                    }
                }
            }
        }
    }

    /// Sets N and Z by a result, and C if it is defined.
    fn set_result(&mut self, result: Value, carry: Option<Carry>) {
        let Flags { carry: old, overflow, .. } = self.state.flags;
        self.state.flags = Flags::new(Result::Word(result), carry.unwrap_or(old), overflow);
    }

    fn bitwise(
        &mut self,
        of: Bitwise,
        to: Option<Register>,
        first: Register,
        second: Operand,
        flags: FlagEffect,
    ) {
        let (y, carry) = self.operand(second);
        let result = match of {
            Bitwise::Move => y,
            Bitwise::Not => self.builder.ins().bnot(y),
            _ => {
                let x = self.get(first);
                let b = &mut *self.builder;
                match of {
                    Bitwise::And => b.ins().band(x, y),
                    Bitwise::Or => b.ins().bor(x, y),
                    Bitwise::ExclusiveOr => b.ins().bxor(x, y),
                    Bitwise::AndNot => b.ins().band_not(x, y),
                    _ => b.ins().bor_not(x, y),
                }
            }
        };
        if let Some(to) = to {
            self.set(to, result);
        }
        if flags == FlagEffect::Set {
            self.set_result(result, carry);
        }
    }

    fn sum(
        &mut self,
        of: Sum,
        to: Option<Register>,
        first: Register,
        second: Operand,
        flags: FlagEffect,
    ) {
        let (y, _) = self.operand(second);
        let x = self.get(first);
        let (x, y) = if of == Sum::ReverseSubtract { (y, x) } else { (x, y) };
        let old = self.state.flags;
        let (result, new) = match of {
            Sum::Add => {
                let result = self.builder.ins().iadd(x, y);
                let overflow = Overflow::Sum(x, y, result);
                (result, Flags::new(Result::Word(result), Carry::Below(result, x), overflow))
            }
            Sum::Subtract | Sum::ReverseSubtract => {
                if to.is_none() {
                    self.state.flags = Flags::of_difference(x, y, Result::Difference(x, y));
                    return;
                }
                let result = self.builder.ins().isub(x, y);
                (result, Flags::of_difference(x, y, Result::Word(result)))
            }
            Sum::AddCarry | Sum::SubtractCarry => {
                let carry = old.carry_byte(self.builder, &mut self.arguments);
                let b = &mut *self.builder;
                let y = if of == Sum::SubtractCarry { b.ins().bnot(y) } else { y };
                if flags == FlagEffect::Set {
                    let [wide_x, wide_y] = [x, y].map(|word| b.ins().uextend(types::I64, word));
                    let carry = b.ins().uextend(types::I64, carry);
                    let sum = b.ins().iadd(wide_x, wide_y);
                    let sum = b.ins().iadd(sum, carry);
                    let result = b.ins().ireduce(types::I32, sum);
                    let overflow = Overflow::Sum(x, y, result);
                    (result, Flags::new(Result::Word(result), Carry::Upper(sum), overflow))
                } else {
                    let carry = b.ins().uextend(types::I32, carry);
                    let sum = b.ins().iadd(x, y);
                    (b.ins().iadd(sum, carry), old)
                }
            }
        };
        if let Some(to) = to {
            self.set(to, result);
        }
        if flags == FlagEffect::Set {
            self.state.flags = new;
        }
    }

    /// A shift of a word by 0 to 255, in twice the width.
    fn shift_by(
        &mut self,
        shift: Shift,
        to: Register,
        value: Register,
        amount: Register,
        flags: FlagEffect,
    ) {
        let (value, amount) = (self.get(value), self.get(amount));
        let b = &mut *self.builder;
        let amount = b.ins().band_imm_u(amount, 0xFF);
        let limit = b.ins().iconst(types::I32, 33);
        let few = if shift == Shift::Rotate { amount } else { b.ins().umin(amount, limit) };
        let (result, carry) = match shift {
            Shift::Left => {
                let wide = b.ins().uextend(types::I64, value);
                let wide = b.ins().ishl(wide, few);
                let upper = b.ins().ushr_imm_u(wide, 32);
                (b.ins().ireduce(types::I32, wide), b.ins().ireduce(types::I32, upper))
            }
            Shift::Right | Shift::Arithmetic => {
                let wide = b.ins().uextend(types::I64, value);
                let wide = b.ins().ishl_imm_u(wide, 32);
                let wide = if shift == Shift::Right {
                    b.ins().ushr(wide, few)
                } else {
                    b.ins().sshr(wide, few)
                };
                let upper = b.ins().ushr_imm_u(wide, 32);
                let carry = b.ins().ushr_imm_u(wide, 31);
                (b.ins().ireduce(types::I32, upper), b.ins().ireduce(types::I32, carry))
            }
            Shift::Rotate => {
                let result = b.ins().rotr(value, few);
                (result, b.ins().ushr_imm_u(result, 31))
            }
        };
        if flags == FlagEffect::Set {
            let old = self.state.flags.carry_byte(self.builder, &mut self.arguments);
            let b = &mut *self.builder;
            let one = b.ins().band_imm_u(carry, 1);
            let carry = b.ins().ireduce(types::I8, one);
            let is_zero = b.ins().icmp_imm_u(IntCC::Equal, amount, 0);
            let carry = b.ins().select(is_zero, old, carry);
            self.set(to, result);
            self.set_result(result, Some(Carry::Byte(carry)));
        } else {
            self.set(to, result);
        }
    }
}
