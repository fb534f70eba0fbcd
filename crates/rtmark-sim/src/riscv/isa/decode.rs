//! Decodes instruction bits into operation and operands.

use super::super::rules::Extensions;
use super::encodings::{Encoding, Form, Layout, NARROW, Signed, WIDE};
use super::op::{Alu, CsrSource, CsrWrite, Op, Second};

/// A decoded instruction, or a micro-operation of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    pub op: Op,
    /// The destination; 0 for none.
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    /// The immediate, sign-extended; for CSR instructions the CSR's number; for lists the register
    /// list in the lowest 4 bits.
    pub imm: i32,
    /// The size in bytes: 2 or 4.
    pub size: u8,
}

/// Returns whether an instruction that begins with this halfword has a second one.
pub const fn is_wide(first: u16) -> bool {
    first & 3 == 3
}

/// Decodes an instruction for a core with these extensions. For 16-bit instructions, the upper half
/// of `bits` is ignored.
pub fn decode(bits: u32, extensions: Extensions) -> Instruction {
    let size = if is_wide(bits as u16) { 4 } else { 2 };
    let illegal = Instruction { op: Op::Illegal, rd: 0, rs1: 0, rs2: 0, imm: 0, size };
    find(bits, extensions).map_or(illegal, |(line, bits)| operands(line, bits, size))
}

/// Returns the table line that matches an instruction, with the instruction's own bits.
pub(super) fn find(bits: u32, extensions: Extensions) -> Option<(&'static Encoding, u32)> {
    let (table, bits) = if is_wide(bits as u16) { (WIDE, bits) } else { (NARROW, bits & 0xFFFF) };
    let stands = |line: &&Encoding| line.matches(bits) && extensions.has(line.extension);
    table.iter().find(stands).map(|line| (line, bits))
}

/// Returns the immediate, with its bits put in order.
fn immediate(line: &Encoding, bits: u32) -> i32 {
    let (Some(Layout(places, signed)), Some(field)) =
        (line.form.immediate(), line.field(b'i', bits))
    else {
        return 0;
    };
    let width = places.len();
    let value = places
        .iter()
        .enumerate()
        .fold(0, |value, (at, place)| value | (field >> (width - 1 - at) & 1) << place);
    let negative = signed == Signed::Yes && field >> (width - 1) & 1 == 1;
    let sign = places.first().filter(|_| negative).map_or(0, |top| u32::MAX << top);
    (value | sign) as i32
}

fn operands(line: &'static Encoding, bits: u32, size: u8) -> Instruction {
    let get = |wide: u8, narrow: u8| {
        let field = line.field(wide, bits);
        field.or_else(|| line.field(narrow, bits).map(|low| low + 8)).unwrap_or(0) as u8
    };
    let mut it = Instruction {
        op: line.op,
        rd: get(b'd', b'D'),
        rs1: get(b'a', b'A'),
        rs2: get(b'b', b'B'),
        imm: immediate(line, bits),
        size,
    };
    match line.form {
        Form::Same | Form::SameImmediate | Form::SameShift | Form::SameUnary => it.rs1 = it.rd,
        Form::With(value) => (it.rs1, it.imm) = (it.rd, value),
        Form::AddToSp | Form::LoadSp | Form::StoreSp => it.rs1 = 2,
        Form::AdjustSp => (it.rd, it.rs1) = (2, 2),
        Form::JumpEleven => it.rd = u8::from(line.name == "jal"),
        Form::JumpTo(link) => it.rd = link,
        Form::List => it.imm |= line.field(b'r', bits).unwrap_or(0) as i32,
        // Three bits encode s0, s1 and s2 to s7.
        Form::Pair => (it.rs1, it.rs2) = (saved(it.rs1), saved(it.rs2)),
        Form::Extract | Form::ExtractImmediate => {
            let size = line.field(b'z', bits).unwrap_or(0) as u8 + 1;
            let second =
                if line.form == Form::Extract { Second::Register } else { Second::Immediate };
            it.op = Op::Alu(Alu::ExtractBits(size), second);
        }
        _ => {}
    }
    it
}

/// Returns the saved register for a three-bit number to which 8 has been added.
const fn saved(number: u8) -> u8 {
    if number < 10 { number } else { number + 8 }
}

impl Instruction {
    /// Returns the registers for which the instruction waits while a load is pending. For CSR
    /// instructions both register fields of the encoding are compared, whatever they hold (RTL
    /// traces, README of the corpus).
    pub const fn reads(&self) -> [u8; 2] {
        match self.op {
            Op::Alu(_, Second::Register)
            | Op::Branch(_)
            | Op::Store(_)
            | Op::StoreConditional
            | Op::Atomic(_)
            | Op::Divide(_) => [self.rs1, self.rs2],
            Op::Alu(_, Second::Immediate) | Op::Load(_) | Op::LoadReserved | Op::JumpRegister => {
                [self.rs1, 0]
            }
            Op::Csr(..) => [self.rs1, self.imm as u8 & 31],
            _ => [0, 0],
        }
    }

    /// Returns whether a CSR instruction writes its register. A set or clear of no bits does not.
    pub const fn writes_csr(&self) -> bool {
        match self.op {
            Op::Csr(CsrWrite::Write, _) => true,
            Op::Csr(..) => self.rs1 != 0,
            _ => false,
        }
    }

    /// Returns whether a CSR instruction reads its register. A write without a destination does
    /// not.
    pub const fn reads_csr(&self) -> bool {
        match self.op {
            Op::Csr(CsrWrite::Write, _) => self.rd != 0,
            Op::Csr(..) => true,
            _ => false,
        }
    }

    /// Returns the operand of a CSR instruction, given the value of its source register.
    pub const fn csr_operand(&self, rs1: u32) -> u32 {
        match self.op {
            Op::Csr(_, CsrSource::Immediate) => self.rs1 as u32,
            _ => rs1,
        }
    }
}
