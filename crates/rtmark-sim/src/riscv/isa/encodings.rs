//! Every encoding known to any of the cores, one line each, by extension.
//!
//! A pattern reads like the diagrams of the RISC-V specifications, most significant bit first. `0`
//! and `1` must match, a letter names a field, `x` is ignored, and spaces are only for readability.
//! The first line that matches wins, so special cases precede the general one.
//!
//! Fields: `d a b` the destination and the two sources, `D A B` the same in three bits (x8 to x15),
//! `i` the immediate, whose bits [`Form`] puts in order, `r` a register list, `z` a size.
//!
//! Sources: the RISC-V Instruction Set Manual, volume I; the Zc extension, 1.0; bit-manipulation,
//! 1.0; scalar cryptography, 1.0 (Zbkb); Hazard3's documentation, "Custom Extensions". If a
//! specification reserves an encoding but the core executes it, a comment says so.

use super::super::rules::Extension;
use super::op::{Alu, Condition, CsrSource, CsrWrite, Divide, Op, Second, Width};
use Form as F;

/// How an encoding's fields become operands, and its syntax in assembly language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// No operands.
    Bare,
    /// `d, a, b`
    Register,
    /// `d, a`
    Unary,
    /// `d, a, i` with a signed immediate of 12 bits.
    Immediate,
    /// `d, a, i` with an unsigned immediate of 5 bits.
    Shift,
    /// `d, i` with the upper 20 bits.
    Upper,
    /// `d, target`
    Jump,
    /// `a, b, target`
    Branch,
    /// `d, i(a)`
    Load,
    /// `b, i(a)`
    Store,
    /// `d, (a)`
    Reserved,
    /// `d, b, (a)`
    Atomic,
    /// `d, csr, a`
    Csr,
    /// `d, a, b, bits` and `d, a, i, bits`
    Extract,
    ExtractImmediate,
    /// 16 bits: the destination is also the first operand.
    Same,
    SameImmediate,
    SameShift,
    SameUnary,
    /// `d, sp, i`
    AddToSp,
    /// `sp, sp, i`
    AdjustSp,
    /// `d, zero, i`
    Constant,
    UpperSix,
    /// `d, zero, b`
    Move,
    JumpEleven,
    /// A link to `ra`, or none.
    JumpTo(u8),
    /// `a, zero, target`
    BranchZero,
    LoadWord,
    StoreWord,
    LoadSp,
    StoreSp,
    /// Offsets of one and two bits.
    LoadByte,
    StoreByte,
    LoadHalf,
    StoreHalf,
    /// Complements and masks: the immediate is this constant.
    With(i32),
    /// A register list and a stack adjustment.
    List,
    /// Two saved registers.
    Pair,
}

/// The positions of the immediate's bits, in the order of the encoding from the most significant
/// one, and whether the first is the sign.
pub struct Layout(pub &'static [u8], pub Signed);

/// Whether an immediate is signed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    No,
    Yes,
}

const TWELVE: &[u8] = &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
const FIVE: &[u8] = &[4, 3, 2, 1, 0];
const SIX: &[u8] = &[5, 4, 3, 2, 1, 0];
const TWENTY: &[u8] =
    &[31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12];
const JUMP: &[u8] = &[20, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 11, 19, 18, 17, 16, 15, 14, 13, 12];

impl Form {
    /// Returns the layout of the immediate, if there is one.
    pub const fn immediate(self) -> Option<Layout> {
        Some(match self {
            Self::Immediate | Self::Load | Self::Store => Layout(TWELVE, Signed::Yes),
            Self::Csr => Layout(TWELVE, Signed::No),
            Self::Shift | Self::SameShift | Self::ExtractImmediate => Layout(FIVE, Signed::No),
            Self::Upper => Layout(TWENTY, Signed::No),
            Self::Jump => Layout(JUMP, Signed::Yes),
            Self::Branch => Layout(&[12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 11], Signed::Yes),
            Self::SameImmediate | Self::Constant => Layout(SIX, Signed::Yes),
            Self::AddToSp => Layout(&[5, 4, 9, 8, 7, 6, 2, 3], Signed::No),
            Self::AdjustSp => Layout(&[9, 4, 6, 8, 7, 5], Signed::Yes),
            Self::UpperSix => Layout(&[17, 16, 15, 14, 13, 12], Signed::Yes),
            Self::JumpEleven => Layout(&[11, 4, 9, 8, 10, 6, 7, 3, 2, 1, 5], Signed::Yes),
            Self::BranchZero => Layout(&[8, 4, 3, 7, 6, 2, 1, 5], Signed::Yes),
            Self::LoadWord | Self::StoreWord => Layout(&[5, 4, 3, 2, 6], Signed::No),
            Self::LoadSp => Layout(&[5, 4, 3, 2, 7, 6], Signed::No),
            Self::StoreSp => Layout(&[5, 4, 3, 2, 7, 6], Signed::No),
            Self::LoadByte | Self::StoreByte => Layout(&[0, 1], Signed::No),
            Self::LoadHalf | Self::StoreHalf => Layout(&[1], Signed::No),
            Self::List => Layout(&[5, 4], Signed::No),
            _ => return None,
        })
    }
}

/// One table line.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub pattern: &'static str,
    pub mask: u32,
    pub value: u32,
    /// Its name in assembly language.
    pub name: &'static str,
    pub op: Op,
    pub form: Form,
    pub extension: Extension,
}

const fn line(pattern: &'static str, name: &'static str, op: Op, form: Form) -> Encoding {
    let text = pattern.as_bytes();
    let (mut mask, mut value, mut at) = (0_u32, 0_u32, 0);
    while at < text.len() {
        if text[at] != b' ' {
            mask = (mask << 1) | (text[at] == b'0' || text[at] == b'1') as u32;
            value = (value << 1) | (text[at] == b'1') as u32;
        }
        at += 1;
    }
    Encoding { pattern, mask, value, name, op, form, extension: Extension::Base }
}

impl Encoding {
    const fn of(self, extension: Extension) -> Self {
        Self { extension, ..self }
    }

    /// Returns whether the encoding matches `bits`.
    pub const fn matches(&self, bits: u32) -> bool {
        bits & self.mask == self.value
    }

    /// Returns the bits of a field, gathered most significant first, or `None` if the encoding has
    /// no such field.
    pub fn field(&self, letter: u8, bits: u32) -> Option<u32> {
        let text = self.pattern.bytes().filter(|&b| b != b' ');
        let width = text.clone().count();
        let places = text.enumerate().filter(|&(_, b)| b == letter).map(|(at, _)| width - 1 - at);
        places.fold(None, |gathered, place| Some(gathered.unwrap_or(0) << 1 | (bits >> place) & 1))
    }
}

const fn register(alu: Alu) -> Op {
    Op::Alu(alu, Second::Register)
}

const fn immediate(alu: Alu) -> Op {
    Op::Alu(alu, Second::Immediate)
}

const fn csr(write: CsrWrite, source: CsrSource) -> Op {
    Op::Csr(write, source)
}

/// Builds a table with one line per encoding, grouped by extension.
macro_rules! table {
    ($($extension:ident: [$($line:expr),* $(,)?]),* $(,)?) => {
        &[$($($line.of(Extension::$extension)),*),*]
    };
}

/// The 32-bit instructions.
pub static WIDE: &[Encoding] = table! {
    Base: [
        line("iiiiiiiiiiii iiiiiiii ddddd 0110111", "lui", Op::LoadUpper, F::Upper),
        line("iiiiiiiiiiii iiiiiiii ddddd 0010111", "auipc", Op::AddUpperToPc, F::Upper),
        line("iiiiiiiiiiii iiiiiiii ddddd 1101111", "jal", Op::Jump, F::Jump),
        line("iiiiiiiiiiii aaaaa 000 ddddd 1100111", "jalr", Op::JumpRegister, F::Load),
        line("iiiiiii bbbbb aaaaa 000 iiiii 1100011", "beq", Op::Branch(Condition::Equal), F::Branch),
        line("iiiiiii bbbbb aaaaa 001 iiiii 1100011", "bne", Op::Branch(Condition::NotEqual), F::Branch),
        line("iiiiiii bbbbb aaaaa 100 iiiii 1100011", "blt", Op::Branch(Condition::Less), F::Branch),
        line("iiiiiii bbbbb aaaaa 101 iiiii 1100011", "bge", Op::Branch(Condition::GreaterEqual), F::Branch),
        line("iiiiiii bbbbb aaaaa 110 iiiii 1100011", "bltu", Op::Branch(Condition::LessUnsigned), F::Branch),
        line("iiiiiii bbbbb aaaaa 111 iiiii 1100011", "bgeu", Op::Branch(Condition::GreaterEqualUnsigned), F::Branch),
        line("iiiiiiiiiiii aaaaa 000 ddddd 0000011", "lb", Op::Load(Width::Byte), F::Load),
        line("iiiiiiiiiiii aaaaa 001 ddddd 0000011", "lh", Op::Load(Width::Half), F::Load),
        line("iiiiiiiiiiii aaaaa 010 ddddd 0000011", "lw", Op::Load(Width::Word), F::Load),
        line("iiiiiiiiiiii aaaaa 100 ddddd 0000011", "lbu", Op::Load(Width::ByteUnsigned), F::Load),
        line("iiiiiiiiiiii aaaaa 101 ddddd 0000011", "lhu", Op::Load(Width::HalfUnsigned), F::Load),
        line("iiiiiii bbbbb aaaaa 000 iiiii 0100011", "sb", Op::Store(Width::Byte), F::Store),
        line("iiiiiii bbbbb aaaaa 001 iiiii 0100011", "sh", Op::Store(Width::Half), F::Store),
        line("iiiiiii bbbbb aaaaa 010 iiiii 0100011", "sw", Op::Store(Width::Word), F::Store),
        line("iiiiiiiiiiii aaaaa 000 ddddd 0010011", "addi", immediate(Alu::Add), F::Immediate),
        line("iiiiiiiiiiii aaaaa 010 ddddd 0010011", "slti", immediate(Alu::Less), F::Immediate),
        line("iiiiiiiiiiii aaaaa 011 ddddd 0010011", "sltiu", immediate(Alu::LessUnsigned), F::Immediate),
        line("iiiiiiiiiiii aaaaa 100 ddddd 0010011", "xori", immediate(Alu::Xor), F::Immediate),
        line("iiiiiiiiiiii aaaaa 110 ddddd 0010011", "ori", immediate(Alu::Or), F::Immediate),
        line("iiiiiiiiiiii aaaaa 111 ddddd 0010011", "andi", immediate(Alu::And), F::Immediate),
        line("0000000 iiiii aaaaa 001 ddddd 0010011", "slli", immediate(Alu::ShiftLeft), F::Shift),
        line("0000000 iiiii aaaaa 101 ddddd 0010011", "srli", immediate(Alu::ShiftRight), F::Shift),
        line("0100000 iiiii aaaaa 101 ddddd 0010011", "srai", immediate(Alu::ShiftRightArithmetic), F::Shift),
        line("0000000 bbbbb aaaaa 000 ddddd 0110011", "add", register(Alu::Add), F::Register),
        line("0100000 bbbbb aaaaa 000 ddddd 0110011", "sub", register(Alu::Sub), F::Register),
        line("0000000 bbbbb aaaaa 001 ddddd 0110011", "sll", register(Alu::ShiftLeft), F::Register),
    ],
    Xh3power: [
        // Encoded as hints, in the space of SLT.
        line("0000000 00000 00000 010 00000 0110011", "h3.block", Op::Block, F::Bare),
        line("0000000 00001 00000 010 00000 0110011", "h3.unblock", Op::Unblock, F::Bare),
    ],
    Base: [
        line("0000000 bbbbb aaaaa 010 ddddd 0110011", "slt", register(Alu::Less), F::Register),
        line("0000000 bbbbb aaaaa 011 ddddd 0110011", "sltu", register(Alu::LessUnsigned), F::Register),
        line("0000000 bbbbb aaaaa 100 ddddd 0110011", "xor", register(Alu::Xor), F::Register),
        line("0000000 bbbbb aaaaa 101 ddddd 0110011", "srl", register(Alu::ShiftRight), F::Register),
        line("0100000 bbbbb aaaaa 101 ddddd 0110011", "sra", register(Alu::ShiftRightArithmetic), F::Register),
        line("0000000 bbbbb aaaaa 110 ddddd 0110011", "or", register(Alu::Or), F::Register),
        line("0000000 bbbbb aaaaa 111 ddddd 0110011", "and", register(Alu::And), F::Register),
        line("xxxxxxxxxxxx 00000 000 00000 0001111", "fence", Op::Fence, F::Bare),
        line("000000000000 00000 000 00000 1110011", "ecall", Op::EnvironmentCall, F::Bare),
        line("000000000001 00000 000 00000 1110011", "ebreak", Op::Breakpoint, F::Bare),
        line("001100000010 00000 000 00000 1110011", "mret", Op::MachineReturn, F::Bare),
        line("000100000101 00000 000 00000 1110011", "wfi", Op::WaitForInterrupt, F::Bare),
        line("000000000000 00000 001 00000 0001111", "fence.i", Op::FenceInstructions, F::Bare),
        line("iiiiiiiiiiii aaaaa 001 ddddd 1110011", "csrrw", csr(CsrWrite::Write, CsrSource::Register), F::Csr),
        line("iiiiiiiiiiii aaaaa 010 ddddd 1110011", "csrrs", csr(CsrWrite::Set, CsrSource::Register), F::Csr),
        line("iiiiiiiiiiii aaaaa 011 ddddd 1110011", "csrrc", csr(CsrWrite::Clear, CsrSource::Register), F::Csr),
        line("iiiiiiiiiiii aaaaa 101 ddddd 1110011", "csrrwi", csr(CsrWrite::Write, CsrSource::Immediate), F::Csr),
        line("iiiiiiiiiiii aaaaa 110 ddddd 1110011", "csrrsi", csr(CsrWrite::Set, CsrSource::Immediate), F::Csr),
        line("iiiiiiiiiiii aaaaa 111 ddddd 1110011", "csrrci", csr(CsrWrite::Clear, CsrSource::Immediate), F::Csr),
    ],
    Fences: [
        line("xxxxxxxxxxxx xxxxx 000 xxxxx 0001111", "fence", Op::Fence, F::Bare),
        line("xxxxxxxxxxxx xxxxx 001 xxxxx 0001111", "fence.i", Op::FenceInstructions, F::Bare),
    ],
    M: [
        line("0000001 bbbbb aaaaa 000 ddddd 0110011", "mul", register(Alu::Multiply), F::Register),
        line("0000001 bbbbb aaaaa 001 ddddd 0110011", "mulh", register(Alu::MultiplyHigh), F::Register),
        line("0000001 bbbbb aaaaa 010 ddddd 0110011", "mulhsu", register(Alu::MultiplyHighSignedUnsigned), F::Register),
        line("0000001 bbbbb aaaaa 011 ddddd 0110011", "mulhu", register(Alu::MultiplyHighUnsigned), F::Register),
        line("0000001 bbbbb aaaaa 100 ddddd 0110011", "div", Op::Divide(Divide::Quotient), F::Register),
        line("0000001 bbbbb aaaaa 101 ddddd 0110011", "divu", Op::Divide(Divide::QuotientUnsigned), F::Register),
        line("0000001 bbbbb aaaaa 110 ddddd 0110011", "rem", Op::Divide(Divide::Remainder), F::Register),
        line("0000001 bbbbb aaaaa 111 ddddd 0110011", "remu", Op::Divide(Divide::RemainderUnsigned), F::Register),
    ],
    A: [
        line("00010 xx 00000 aaaaa 010 ddddd 0101111", "lr.w", Op::LoadReserved, F::Reserved),
        line("00011 xx bbbbb aaaaa 010 ddddd 0101111", "sc.w", Op::StoreConditional, F::Atomic),
        line("00001 xx bbbbb aaaaa 010 ddddd 0101111", "amoswap.w", Op::Atomic(Alu::Second), F::Atomic),
        line("00000 xx bbbbb aaaaa 010 ddddd 0101111", "amoadd.w", Op::Atomic(Alu::Add), F::Atomic),
        line("00100 xx bbbbb aaaaa 010 ddddd 0101111", "amoxor.w", Op::Atomic(Alu::Xor), F::Atomic),
        line("01100 xx bbbbb aaaaa 010 ddddd 0101111", "amoand.w", Op::Atomic(Alu::And), F::Atomic),
        line("01000 xx bbbbb aaaaa 010 ddddd 0101111", "amoor.w", Op::Atomic(Alu::Or), F::Atomic),
        line("10000 xx bbbbb aaaaa 010 ddddd 0101111", "amomin.w", Op::Atomic(Alu::Min), F::Atomic),
        line("10100 xx bbbbb aaaaa 010 ddddd 0101111", "amomax.w", Op::Atomic(Alu::Max), F::Atomic),
        line("11000 xx bbbbb aaaaa 010 ddddd 0101111", "amominu.w", Op::Atomic(Alu::MinUnsigned), F::Atomic),
        line("11100 xx bbbbb aaaaa 010 ddddd 0101111", "amomaxu.w", Op::Atomic(Alu::MaxUnsigned), F::Atomic),
    ],
    Zba: [
        line("0010000 bbbbb aaaaa 010 ddddd 0110011", "sh1add", register(Alu::ShiftAdd(1)), F::Register),
        line("0010000 bbbbb aaaaa 100 ddddd 0110011", "sh2add", register(Alu::ShiftAdd(2)), F::Register),
        line("0010000 bbbbb aaaaa 110 ddddd 0110011", "sh3add", register(Alu::ShiftAdd(3)), F::Register),
    ],
    Zbb: [
        line("0100000 bbbbb aaaaa 111 ddddd 0110011", "andn", register(Alu::AndNot), F::Register),
        line("0100000 bbbbb aaaaa 110 ddddd 0110011", "orn", register(Alu::OrNot), F::Register),
        line("0100000 bbbbb aaaaa 100 ddddd 0110011", "xnor", register(Alu::XorNot), F::Register),
        line("011000000000 aaaaa 001 ddddd 0010011", "clz", register(Alu::LeadingZeros), F::Unary),
        line("011000000001 aaaaa 001 ddddd 0010011", "ctz", register(Alu::TrailingZeros), F::Unary),
        line("011000000010 aaaaa 001 ddddd 0010011", "cpop", register(Alu::Population), F::Unary),
        line("0000101 bbbbb aaaaa 110 ddddd 0110011", "max", register(Alu::Max), F::Register),
        line("0000101 bbbbb aaaaa 111 ddddd 0110011", "maxu", register(Alu::MaxUnsigned), F::Register),
        line("0000101 bbbbb aaaaa 100 ddddd 0110011", "min", register(Alu::Min), F::Register),
        line("0000101 bbbbb aaaaa 101 ddddd 0110011", "minu", register(Alu::MinUnsigned), F::Register),
        line("011000000100 aaaaa 001 ddddd 0010011", "sext.b", register(Alu::SignExtendByte), F::Unary),
        line("011000000101 aaaaa 001 ddddd 0010011", "sext.h", register(Alu::SignExtendHalf), F::Unary),
        line("000010000000 aaaaa 100 ddddd 0110011", "zext.h", register(Alu::ZeroExtendHalf), F::Unary),
        line("0110000 bbbbb aaaaa 001 ddddd 0110011", "rol", register(Alu::RotateLeft), F::Register),
        line("0110000 bbbbb aaaaa 101 ddddd 0110011", "ror", register(Alu::RotateRight), F::Register),
        line("0110000 iiiii aaaaa 101 ddddd 0010011", "rori", immediate(Alu::RotateRight), F::Shift),
        line("001010000111 aaaaa 101 ddddd 0010011", "orc.b", register(Alu::OrCombine), F::Unary),
        line("011010011000 aaaaa 101 ddddd 0010011", "rev8", register(Alu::ReverseBytes), F::Unary),
    ],
    Zbs: [
        line("0100100 bbbbb aaaaa 001 ddddd 0110011", "bclr", register(Alu::BitClear), F::Register),
        line("0100100 iiiii aaaaa 001 ddddd 0010011", "bclri", immediate(Alu::BitClear), F::Shift),
        line("0100100 bbbbb aaaaa 101 ddddd 0110011", "bext", register(Alu::BitExtract), F::Register),
        line("0100100 iiiii aaaaa 101 ddddd 0010011", "bexti", immediate(Alu::BitExtract), F::Shift),
        line("0110100 bbbbb aaaaa 001 ddddd 0110011", "binv", register(Alu::BitInvert), F::Register),
        line("0110100 iiiii aaaaa 001 ddddd 0010011", "binvi", immediate(Alu::BitInvert), F::Shift),
        line("0010100 bbbbb aaaaa 001 ddddd 0110011", "bset", register(Alu::BitSet), F::Register),
        line("0010100 iiiii aaaaa 001 ddddd 0010011", "bseti", immediate(Alu::BitSet), F::Shift),
    ],
    Zbkb: [
        line("0000100 bbbbb aaaaa 100 ddddd 0110011", "pack", register(Alu::Pack), F::Register),
        line("0000100 bbbbb aaaaa 111 ddddd 0110011", "packh", register(Alu::PackHigh), F::Register),
        line("011010000111 aaaaa 101 ddddd 0010011", "brev8", register(Alu::ReverseBits), F::Unary),
        line("000010001111 aaaaa 001 ddddd 0010011", "zip", register(Alu::Zip), F::Unary),
        line("000010001111 aaaaa 101 ddddd 0010011", "unzip", register(Alu::Unzip), F::Unary),
    ],
    Xh3bextm: [
        // Decoding adds the size to the operation.
        line("000 zzz 0 bbbbb aaaaa 000 ddddd 0001011", "h3.bextm", register(Alu::ExtractBits(1)), F::Extract),
        line("000 zzz 0 iiiii aaaaa 100 ddddd 0001011", "h3.bextmi", immediate(Alu::ExtractBits(1)), F::ExtractImmediate),
    ],
};

/// The 16-bit instructions: Zca, Zcb and Zcmp.
pub static NARROW: &[Encoding] = table! {
    C: [
        line("0000000000000000", "unimp", Op::Illegal, F::Bare),
    ],
    Strict: [
        // An immediate of zero is reserved.
        line("000 00000000 xxx 00", "unimp", Op::Illegal, F::Bare),
    ],
    C: [
        // An immediate of zero is reserved, but some cores execute it as an addition.
        line("000 iiiiiiii DDD 00", "addi", immediate(Alu::Add), F::AddToSp),
        line("010 iii AAA ii DDD 00", "lw", Op::Load(Width::Word), F::LoadWord),
        line("110 iii AAA ii BBB 00", "sw", Op::Store(Width::Word), F::StoreWord),
    ],
    Zcb: [
        line("100 000 AAA ii DDD 00", "lbu", Op::Load(Width::ByteUnsigned), F::LoadByte),
        line("100 001 AAA 0i DDD 00", "lhu", Op::Load(Width::HalfUnsigned), F::LoadHalf),
        line("100 001 AAA 1i DDD 00", "lh", Op::Load(Width::Half), F::LoadHalf),
        line("100 010 AAA ii BBB 00", "sb", Op::Store(Width::Byte), F::StoreByte),
        line("100 011 AAA 0i BBB 00", "sh", Op::Store(Width::Half), F::StoreHalf),
    ],
    C: [
        line("000 i ddddd iiiii 01", "addi", immediate(Alu::Add), F::SameImmediate),
        line("001 iiiiiiiiiii 01", "jal", Op::Jump, F::JumpEleven),
        line("010 i ddddd iiiii 01", "li", immediate(Alu::Add), F::Constant),
        line("011 0 xxxxx 00000 01", "unimp", Op::Illegal, F::Bare),
        line("011 i 00010 iiiii 01", "addi", immediate(Alu::Add), F::AdjustSp),
        line("011 i ddddd iiiii 01", "lui", Op::LoadUpper, F::UpperSix),
        line("100 0 00 DDD iiiii 01", "srli", immediate(Alu::ShiftRight), F::SameShift),
        line("100 0 01 DDD iiiii 01", "srai", immediate(Alu::ShiftRightArithmetic), F::SameShift),
        line("100 i 10 DDD iiiii 01", "andi", immediate(Alu::And), F::SameImmediate),
        line("100 0 11 DDD 00 BBB 01", "sub", register(Alu::Sub), F::Same),
        line("100 0 11 DDD 01 BBB 01", "xor", register(Alu::Xor), F::Same),
        line("100 0 11 DDD 10 BBB 01", "or", register(Alu::Or), F::Same),
        line("100 0 11 DDD 11 BBB 01", "and", register(Alu::And), F::Same),
    ],
    Zcb: [
        line("100 1 11 DDD 10 BBB 01", "mul", register(Alu::Multiply), F::Same),
        line("100 1 11 DDD 11 000 01", "andi", immediate(Alu::And), F::With(0xFF)),
        line("100 1 11 DDD 11 001 01", "sext.b", register(Alu::SignExtendByte), F::SameUnary),
        line("100 1 11 DDD 11 010 01", "zext.h", register(Alu::ZeroExtendHalf), F::SameUnary),
        line("100 1 11 DDD 11 011 01", "sext.h", register(Alu::SignExtendHalf), F::SameUnary),
        line("100 1 11 DDD 11 101 01", "xori", immediate(Alu::Xor), F::With(-1)),
    ],
    C: [
        line("101 iiiiiiiiiii 01", "j", Op::Jump, F::JumpEleven),
        line("110 iii AAA iiiii 01", "beq", Op::Branch(Condition::Equal), F::BranchZero),
        line("111 iii AAA iiiii 01", "bne", Op::Branch(Condition::NotEqual), F::BranchZero),
        line("000 0 ddddd iiiii 10", "slli", immediate(Alu::ShiftLeft), F::SameShift),
        line("010 x 00000 xxxxx 10", "unimp", Op::Illegal, F::Bare),
        line("010 i ddddd iiiii 10", "lw", Op::Load(Width::Word), F::LoadSp),
        line("110 iiiiii bbbbb 10", "sw", Op::Store(Width::Word), F::StoreSp),
        line("100 0 00000 00000 10", "unimp", Op::Illegal, F::Bare),
        line("100 0 aaaaa 00000 10", "jalr", Op::JumpRegister, F::JumpTo(0)),
        line("100 0 ddddd bbbbb 10", "add", register(Alu::Add), F::Move),
        line("100 1 00000 00000 10", "ebreak", Op::Breakpoint, F::Bare),
        line("100 1 aaaaa 00000 10", "jalr", Op::JumpRegister, F::JumpTo(1)),
        line("100 1 ddddd bbbbb 10", "add", register(Alu::Add), F::Same),
    ],
    Zcmp: [
        // Lists below 4 are reserved.
        line("101 11xx0 00xx xx 10", "unimp", Op::Illegal, F::Bare),
        line("101 11000 rrrr ii 10", "cm.push", Op::Push, F::List),
        line("101 11010 rrrr ii 10", "cm.pop", Op::Pop, F::List),
        line("101 11100 rrrr ii 10", "cm.popretz", Op::PopReturnZero, F::List),
        line("101 11110 rrrr ii 10", "cm.popret", Op::PopReturn, F::List),
        // Equal registers are reserved for cm.mvsa01; the core writes the register twice.
        line("101 011 AAA 01 BBB 10", "cm.mvsa01", Op::MoveToSaved, F::Pair),
        line("101 011 AAA 11 BBB 10", "cm.mva01s", Op::MoveFromSaved, F::Pair),
    ],
};
