//! Decodes bits into an [`Instruction`]. Everything that depends only on the encoding and the
//! address is resolved here.

use super::a32::{CONDITIONAL, UNCONDITIONAL};
use super::encoding::{Encoding, Form};
use super::op::{
    Address, Alu, Bank, Fit, Flags, Index, Instruction, Multiply, Offset, Op, Order, Rights,
    SecondOperand, Shift, Sign, WriteBack,
};
use super::t32::{NARROW, WIDE};
use crate::isa as thumb;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstructionSet {
    A32,
    T32,
}

/// The number of the stack pointer.
const SP: u8 = 13;

/// Returns the table line that matches an instruction, with the instruction's own bits and its
/// size. T32 has its first halfword in the upper half of `bits`.
pub fn find(set: InstructionSet, bits: u32) -> Option<(&'static Encoding, u32, u8)> {
    let (table, bits, size) = match set {
        InstructionSet::A32 if bits >> 28 == 15 => (UNCONDITIONAL, bits, 4),
        InstructionSet::A32 => (CONDITIONAL, bits, 4),
        InstructionSet::T32 if thumb::is_wide((bits >> 16) as u16) => (WIDE, bits, 4),
        InstructionSet::T32 => (NARROW, bits >> 16, 2),
    };
    let line = table.iter().find(|line| line.matches(bits))?;
    Some((line, bits, size))
}

/// Decodes the instruction at `address`; T32 has its first halfword in the upper half of `bits`.
pub fn decode(set: InstructionSet, address: u32, bits: u32) -> Instruction {
    if let Some(float) = decode_float(set, bits) {
        return float;
    }
    let Some((line, bits, size)) = find(set, bits) else {
        let narrow = set == InstructionSet::T32 && !thumb::is_wide((bits >> 16) as u16);
        return Instruction::undefined(if narrow { 2 } else { 4 });
    };
    let fields = Fields { line, bits, address, size, set };
    fields.instruction().unwrap_or(Instruction::undefined(size))
}

/// Returns the bits of a floating-point instruction in its T32 form, whichever set it is of.
pub fn float_bits(set: InstructionSet, bits: u32) -> Option<u32> {
    let coprocessor = bits >> 8 & 0xE == 0xA;
    let group = bits >> 24 & 0xF;
    let is_float = coprocessor && matches!(group, 0xC..=0xE);
    let conditional = match set {
        InstructionSet::A32 => bits >> 28 != 15,
        InstructionSet::T32 => bits >> 28 == 14,
    };
    (is_float && conditional).then_some(bits & 0x0FFF_FFFF | 0xE000_0000)
}

/// Decodes floating point. VFPv3-D16 has what FPv4 of Cortex-M has, and double precision, but no
/// fused operations.
fn decode_float(set: InstructionSet, bits: u32) -> Option<Instruction> {
    let has = |isa| matches!(isa, thumb::Isa::Fp | thumb::Isa::Double);
    let as_t32 = float_bits(set, bits)?;
    let (first, second) = ((as_t32 >> 16) as u16, as_t32 as u16);
    let condition = if set == InstructionSet::A32 { (bits >> 28) as u8 } else { 14 };
    // Access to the unit's status registers: of these, the other table contains only FPSCR.
    if as_t32 & 0xFFE0_0F10 == 0xEEE0_0A10 {
        let op = if as_t32 >> 20 & 1 == 1 { thumb::Op::Vmrs } else { thumb::Op::Vmsr };
        let n = (as_t32 >> 16 & 15) as u8;
        let d = (as_t32 >> 12 & 15) as u8;
        let op = Op::Float(op);
        return Some(Instruction { op, condition, d, n, ..Instruction::undefined(4) });
    }
    let slot = thumb::decode(0, first, second, has);
    let fused = matches!(
        slot.op,
        thumb::Op::Vfma
            | thumb::Op::Vfms
            | thumb::Op::Vfnma
            | thumb::Op::Vfnms
            | thumb::Op::VfmaD
            | thumb::Op::VfmsD
            | thumb::Op::VfnmaD
            | thumb::Op::VfnmsD
    );
    // Half precision belongs to an extension that the core lacks, and the rounding operations to
    // FPv5.
    let absent = matches!(
        slot.op,
        thumb::Op::VcvtHalf
            | thumb::Op::VcvtHalfD
            | thumb::Op::Vrint
            | thumb::Op::VrintD
            | thumb::Op::VcvtDirectedD
    );
    if slot.op == thumb::Op::Undefined || fused || absent {
        return Some(Instruction { condition, ..Instruction::undefined(4) });
    }
    // The other decoder resolved a literal for address 0; this recovers its offset.
    let (op, n, imm) = match slot.op {
        thumb::Op::VldrLit => (thumb::Op::Vldr, 15, slot.imm.wrapping_sub(4)),
        op => (op, slot.n, slot.imm),
    };
    Some(Instruction {
        op: Op::Float(op),
        size: 4,
        condition,
        d: slot.d,
        n,
        m: slot.m,
        a: slot.a,
        shift: Shift::NONE,
        imm,
        aux: slot.aux | transfers_doubles(slot.op, as_t32),
    })
}

/// Set in the `aux` of loads and stores of double registers: their words are swapped when data are
/// big-endian (DDI 0406, A8.8.333).
pub const DOUBLES: u32 = 1 << 16;

const fn transfers_doubles(op: thumb::Op, bits: u32) -> u32 {
    use thumb::Op;
    let transfers = matches!(op, Op::Vldr | Op::VldrLit | Op::Vstr | Op::Vldm | Op::Vstm);
    if transfers && bits >> 8 & 1 == 1 { DOUBLES } else { 0 }
}

/// An encoding and the bits that its fields are read from.
struct Fields {
    line: &'static Encoding,
    bits: u32,
    address: u32,
    size: u8,
    set: InstructionSet,
}

impl Fields {
    fn get(&self, letter: u8) -> u32 {
        self.line.field(letter, self.bits).unwrap_or(0)
    }

    fn register(&self, letter: u8) -> Option<u8> {
        self.line.field(letter, self.bits).map(|number| number as u8)
    }

    /// Returns the value that reading the program counter gives.
    fn pc(&self) -> u32 {
        self.address.wrapping_add(if self.set == InstructionSet::A32 { 8 } else { 4 })
    }

    /// Returns the instruction, or `None` if its fields form an invalid combination.
    fn instruction(&self) -> Option<Instruction> {
        let line = self.line;
        let condition = match self.set {
            InstructionSet::A32 if self.bits >> 28 == 15 => 14,
            _ => self.register(b'c').unwrap_or(14),
        };
        let mut it = Instruction {
            op: line.op,
            size: self.size,
            condition,
            d: self.register(b't').or_else(|| self.register(b'd')).unwrap_or(0),
            n: self.register(b'n').unwrap_or(if line.form == Form::Extend { 15 } else { 0 }),
            m: self.register(b'm').unwrap_or(0),
            a: self.register(b'a').unwrap_or(0),
            shift: Shift::NONE,
            imm: self.get(b'i'),
            aux: 0,
        };
        if let (Op::Data(_, second, flags), Some(number)) = (it.op, line.field(b'o', self.bits)) {
            it.op = Op::Data(Alu::of(number), second, flags);
        }
        if line.field(b's', self.bits) == Some(1) {
            it.op = match it.op {
                Op::Data(alu, second, _) => Op::Data(alu, second, Flags::Set),
                Op::Multiply(multiply, _) => Op::Multiply(multiply, Flags::Set),
                other => other,
            };
        }
        if let Op::Data(alu, second, _) = it.op
            && alu.compares()
        {
            it.op = Op::Data(alu, second, Flags::Set);
        }
        self.form(&mut it)?;
        Some(it)
    }

    #[expect(clippy::too_many_lines, reason = "a table: an arm a form of encodings")]
    fn form(&self, it: &mut Instruction) -> Option<()> {
        match self.line.form {
            Form::Plain => self.plain(it)?,
            Form::Times(by) => {
                it.imm *= u32::from(by);
                immediate(it, SecondOperand::Immediate);
            }
            Form::Variant => {
                it.imm = self.get(b'y');
                // A32 names the half of `m` first, T32 that of `n`.
                let halves = matches!(
                    it.op,
                    Op::Multiply(Multiply::SmulXy | Multiply::SmlaXy | Multiply::SmlalXy, _)
                );
                if halves && self.set == InstructionSet::A32 {
                    it.imm = it.imm >> 1 & 1 | (it.imm & 1) << 1;
                }
            }
            Form::Rotated => {
                let rotation = 2 * self.get(b'j');
                it.imm = it.imm.rotate_right(rotation);
                let carries = rotation != 0;
                immediate(
                    it,
                    if carries { SecondOperand::ImmediateCarry } else { SecondOperand::Immediate },
                );
            }
            Form::Expanded => {
                let (imm, carries) = thumb::expand_immediate(it.imm);
                it.imm = imm;
                immediate(
                    it,
                    if carries { SecondOperand::ImmediateCarry } else { SecondOperand::Immediate },
                );
            }
            Form::Shifted => it.shift = Shift::of(self.get(b'y'), std::mem::take(&mut it.imm)),
            Form::ByRegister => {
                it.shift.kind = self.get(b'y') as u8;
                second(it, SecondOperand::ByRegister);
            }
            Form::Same => {
                (it.m, it.n) =
                    if matches!(it.op, Op::Multiply(..)) { (it.d, it.n) } else { (it.m, it.d) };
                if self.line.field(b'i', self.bits).is_some() {
                    immediate(it, SecondOperand::Immediate);
                }
            }
            Form::OnStack(by) => {
                (it.n, it.imm) = (SP, it.imm * u32::from(by));
                immediate(it, SecondOperand::Immediate);
            }
            Form::StackPointer => {
                (it.d, it.n, it.imm) = (SP, SP, it.imm * 4);
                immediate(it, SecondOperand::Immediate);
            }
            Form::ShiftBy(kind) => {
                it.shift = Shift::of(kind.into(), std::mem::take(&mut it.imm));
            }
            Form::ShiftRegister(kind) => {
                it.m = it.d;
                it.shift.kind = kind;
                second(it, SecondOperand::ByRegister);
            }
            Form::Negate => immediate(it, SecondOperand::Immediate),
            Form::Wide => {
                it.imm |= self.get(b'j') << 12;
                immediate(it, SecondOperand::Immediate);
            }
            Form::Relative => {
                it.n = 15;
                it.imm *= 4;
                self.relative(it);
            }
            Form::RelativeBack => {
                it.imm = it.imm.wrapping_neg();
                self.relative(it);
            }
            Form::Literal => {
                if self.line.field(b'u', self.bits) == Some(0) {
                    it.imm = it.imm.wrapping_neg();
                }
                it.n = 15;
                self.relative(it);
            }
            Form::Extend => {
                it.imm = 8 * self.get(b'y');
            }
            Form::BitField => {
                it.a += 1;
                if it.imm + u32::from(it.a) > 32 {
                    it.a = (32 - it.imm) as u8;
                }
            }
            Form::BitFieldInsert => {
                it.a = u8::try_from((u32::from(it.a) + 1).checked_sub(it.imm)?).ok()?;
                if it.a == 0 {
                    return None;
                }
            }
            Form::Saturate => {
                it.shift = Shift::of(2 * self.get(b'y'), it.imm);
                it.imm = self.get(b'j') + u32::from(it.op == Op::Saturate(Sign::Signed));
            }
            Form::Saturate16 => {
                it.imm = self.get(b'j') + u32::from(it.op == Op::Saturate16(Sign::Signed));
            }
            Form::Pack(kind) => {
                it.aux = u32::from(kind);
                it.shift = Shift::of(kind.into(), std::mem::take(&mut it.imm));
            }
            _ => return self.memory_form(it),
        }
        Some(())
    }

    fn memory_form(&self, it: &mut Instruction) -> Option<()> {
        match self.line.form {
            Form::Indexed | Form::Halves => self.indexed(it, Offset::Immediate)?,
            Form::IndexedRegister => {
                it.shift = Shift::of(self.get(b'y'), std::mem::take(&mut it.imm));
                self.indexed(it, self.direction())?;
            }
            Form::HalvesRegister => self.indexed(it, self.direction())?,
            Form::Offset12 => {}
            Form::Indexed8 => {
                let (p, w) = (self.get(b'p') == 1, self.get(b'w') == 1);
                if !p && !w {
                    return None;
                }
                if p && self.get(b'u') == 1 && !w {
                    access(it, Index::Offset, Offset::Immediate, Rights::User);
                } else {
                    self.indexed(it, Offset::Immediate)?;
                    rights(it, Rights::Own);
                }
            }
            Form::RegisterOffset => {
                it.shift = Shift { kind: 0, amount: std::mem::take(&mut it.imm) as u8 };
                access(it, Index::Offset, Offset::Add, Rights::Own);
            }
            Form::Dual | Form::DualRegister => {
                if it.d & 1 == 1 {
                    return None;
                }
                it.a = it.d + 1;
                let register = self.line.form == Form::DualRegister;
                let offset = if register { self.direction() } else { Offset::Immediate };
                // With P clear and W set, the encoding is not a valid access.
                if self.get(b'p') == 0 && self.get(b'w') == 1 {
                    return None;
                }
                self.indexed(it, offset)?;
            }
            Form::Dual8 => {
                it.imm *= 4;
                if self.get(b'p') == 0 && self.get(b'w') == 0 {
                    return None;
                }
                if it.n == 15 {
                    if self.get(b'u') == 0 {
                        it.imm = it.imm.wrapping_neg();
                    }
                    self.relative(it);
                } else {
                    let post = self.get(b'p') == 0;
                    self.indexed(it, Offset::Immediate)?;
                    if post {
                        access(it, Index::Post, Offset::Immediate, Rights::Own);
                    }
                }
            }
            Form::List => {
                it.imm = self.get(b'r');
                let bank = if self.get(b'y') == 1 { Bank::User } else { Bank::Own };
                self.list(it, Order::of(self.get(b'p') == 1, self.get(b'u') == 1), bank)?;
            }
            Form::ListUp | Form::ListDown => {
                it.imm = self.get(b'r');
                let down = self.line.form == Form::ListDown;
                self.list(it, Order::of(down, !down), Bank::Own)?;
            }
            Form::LowList => {
                it.imm = self.get(b'r');
                let keeps = matches!(it.op, Op::LoadMultiple(..)) && it.imm >> it.n & 1 == 1;
                lists(it, Order::IncrementAfter, write_back(!keeps), Bank::Own);
                if it.imm == 0 {
                    return None;
                }
            }
            Form::PushList => {
                let list = self.get(b'r');
                (it.n, it.imm) = (SP, list & 0xFF | (list >> 8) << 14);
                lists(it, Order::DecrementBefore, WriteBack::Yes, Bank::Own);
            }
            Form::PopList => {
                let list = self.get(b'r');
                (it.n, it.imm) = (SP, list & 0xFF | (list >> 8) << 15);
                lists(it, Order::IncrementAfter, WriteBack::Yes, Bank::Own);
            }
            Form::Return | Form::ReturnUp | Form::ReturnDown => {
                let order = match self.line.form {
                    Form::Return => Order::of(self.get(b'p') == 1, self.get(b'u') == 1),
                    Form::ReturnUp => Order::IncrementAfter,
                    _ => Order::DecrementBefore,
                };
                let back = write_back(self.get(b'w') == 1);
                it.op = match it.op {
                    Op::StoreReturn(..) => Op::StoreReturn(order, back),
                    _ => Op::ReturnFrom(order, back),
                };
            }
            _ => self.control_form(it),
        }
        Some(())
    }

    fn control_form(&self, it: &mut Instruction) {
        let pc = self.pc();
        match self.line.form {
            Form::Branch24 => {
                it.imm = pc.wrapping_add(thumb::sign_extend(it.imm, 24) << 2);
                it.d = 1;
            }
            Form::Exchange24 => {
                let half = self.get(b'j') << 1;
                it.imm = pc.wrapping_add(thumb::sign_extend(it.imm, 24) << 2).wrapping_add(half);
                it.a = 1;
            }
            Form::BranchT1 => it.imm = pc.wrapping_add(thumb::sign_extend(it.imm, 8) << 1),
            Form::BranchT2 => it.imm = pc.wrapping_add(thumb::sign_extend(it.imm, 11) << 1),
            Form::BranchT3 => {
                let (j, imm) = (self.get(b'j'), it.imm);
                let (sign, high, low) = (imm >> 17 & 1, imm >> 11 & 0x3F, imm & 0x7FF);
                let offset = sign << 19 | (j & 1) << 18 | (j >> 1) << 17 | high << 11 | low;
                it.imm = pc.wrapping_add(thumb::sign_extend(offset, 20) << 1);
            }
            Form::BranchT4 | Form::LinkT4 | Form::ExchangeT4 => {
                let exchanges = self.line.form == Form::ExchangeT4;
                // The targets of BLX are words, so its lowest bit is not part of the offset.
                let (j, imm) = (self.get(b'j'), it.imm << u32::from(exchanges));
                let sign = imm >> 21 & 1;
                let bit = |which: u32| (!(j >> which ^ sign)) & 1;
                let offset = sign << 23 | bit(1) << 22 | bit(0) << 21 | imm & 0x1F_FFFF;
                let offset = thumb::sign_extend(offset, 24) << 1;
                it.imm = if exchanges {
                    it.a = 1;
                    (pc & !3).wrapping_add(offset & !3)
                } else {
                    pc.wrapping_add(offset)
                };
            }
            Form::Compare => {
                it.imm = pc.wrapping_add(it.imm << 1);
                it.a = u8::from(self.line.name == "cbnz");
            }
            Form::IfThen => it.imm &= 0xFF,
            Form::StatusRegister => it.imm = 0,
            Form::StatusImmediate => {
                it.imm = it.imm.rotate_right(2 * self.get(b'j'));
                it.n = 15;
            }
            Form::ChangeState if self.size == 2 => {
                // Only enables or disables; the mode does not change.
                it.a = 0b100 | (self.get(b'j') as u8) << 1;
            }
            Form::ChangeState => {}
            Form::Coprocessor => {
                let (opc1, opc2) = (self.get(b'j'), self.get(b'y'));
                let (n, m) = (u32::from(it.n), u32::from(it.m));
                it.imm = self.get(b'p') << 16 | opc1 << 12 | n << 8 | m << 4 | opc2;
            }
            Form::CoprocessorPair => {
                it.imm = self.get(b'p') << 16 | self.get(b'j') << 12 | u32::from(it.m) << 4;
            }
            Form::High => it.n = it.d,
            Form::HighMove => {}
            _ => {}
        }
    }

    fn plain(&self, it: &mut Instruction) -> Option<()> {
        match it.op {
            Op::TableBranch => it.a = u8::from(self.line.name == "tbh"),
            // A pair is named by its first register.
            Op::LoadExclusive(super::op::Exclusive::Double) if self.set == InstructionSet::A32 => {
                it.a = (it.d & 1 == 0).then(|| it.d + 1)?;
            }
            Op::StoreExclusive(super::op::Exclusive::Double) if self.set == InstructionSet::A32 => {
                it.a = (it.m & 1 == 0).then(|| it.m + 1)?;
            }
            Op::Parallel(parallel, ..) => {
                let sign = if self.get(b'y') == 1 { Sign::Unsigned } else { Sign::Signed };
                let number = self.get(b'j');
                let number =
                    if self.set == InstructionSet::A32 { number.checked_sub(1)? } else { number };
                let fit = match number {
                    0 => Fit::Plain,
                    1 => Fit::Saturating,
                    2 => Fit::Halving,
                    _ => return None,
                };
                it.op = Op::Parallel(parallel, fit, sign);
            }
            _ => {}
        }
        Some(())
    }

    fn direction(&self) -> Offset {
        if self.get(b'u') == 1 { Offset::Add } else { Offset::Subtract }
    }

    /// Applies the bits P, U and W to an offset.
    fn indexed(&self, it: &mut Instruction, offset: Offset) -> Option<()> {
        if offset == Offset::Immediate && self.get(b'u') == 0 {
            it.imm = it.imm.wrapping_neg();
        }
        let (index, rights) = match (self.get(b'p'), self.get(b'w')) {
            (1, 0) => (Index::Offset, Rights::Own),
            (1, _) => (Index::Pre, Rights::Own),
            (_, 0) => (Index::Post, Rights::Own),
            _ => (Index::Post, Rights::User),
        };
        // The written-back register must not be the transferred one.
        if index != Index::Offset && it.n == 15 {
            return None;
        }
        access(it, index, offset, rights);
        Some(())
    }

    /// Resolves an immediate that is added to the aligned program counter, also where A32 names
    /// register 15 as base.
    fn relative(&self, it: &mut Instruction) {
        it.imm = (self.pc() & !3).wrapping_add(it.imm);
        it.aux = 1;
    }

    fn list(&self, it: &mut Instruction, order: Order, bank: Bank) -> Option<()> {
        lists(it, order, write_back(self.get(b'w') == 1), bank);
        (it.imm != 0 && it.n != 15).then_some(())
    }
}

const fn write_back(yes: bool) -> WriteBack {
    if yes { WriteBack::Yes } else { WriteBack::No }
}

const fn second(it: &mut Instruction, second: SecondOperand) {
    if let Op::Data(alu, _, flags) = it.op {
        it.op = Op::Data(alu, second, flags);
    }
}

const fn immediate(it: &mut Instruction, kind: SecondOperand) {
    second(it, kind);
}

const fn access(it: &mut Instruction, index: Index, offset: Offset, rights: Rights) {
    let address = Address { index, offset };
    it.op = match it.op {
        Op::Load(width, ..) => Op::Load(width, address, rights),
        Op::Store(width, ..) => Op::Store(width, address, rights),
        Op::LoadDual(_) => Op::LoadDual(address),
        Op::StoreDual(_) => Op::StoreDual(address),
        other => other,
    };
}

const fn rights(it: &mut Instruction, rights: Rights) {
    it.op = match it.op {
        Op::Load(width, address, _) => Op::Load(width, address, rights),
        Op::Store(width, address, _) => Op::Store(width, address, rights),
        other => other,
    };
}

const fn lists(it: &mut Instruction, order: Order, back: WriteBack, bank: Bank) {
    it.op = match it.op {
        Op::LoadMultiple(..) => Op::LoadMultiple(order, back, bank),
        Op::StoreMultiple(..) => Op::StoreMultiple(order, back, bank),
        other => other,
    };
}
