//! The format of a line in the encoding tables.
//!
//! A pattern reads like the diagrams of the Architecture Reference Manual (DDI 0406), most
//! significant bit first. `0` and `1` must match, a letter names a field (its bits need not be
//! adjacent), `x` is ignored, and spaces and `_` are only for readability. The first line that
//! matches wins.
//!
//! Fields: `d n m a t` registers (`e` a second transferred register, `h l` the high and low
//! result), `i j` immediates, `r` a register list, `c` a condition, `s` set flags, `o` the ALU's
//! operation, `y` a shift's type or a variant, `p u w` index, add, write-back.

use super::op::{Address, Alu, Flags, Index, Offset, Op, Rights, SecondOperand, Width};

/// How fields become operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Registers as named; the immediate unchanged.
    Plain,
    /// The immediate multiplied by this factor.
    Times(u8),
    /// `y` as the immediate.
    Variant,
    /// A modified immediate: `Rotated` is A32's eight rotated bits, `Expanded` the T32 form.
    Rotated,
    Expanded,
    /// `m` shifted by `i` bits; `y` is the type of the shift.
    Shifted,
    ByRegister,
    /// The first operand is also the destination; the second is a register or an immediate.
    Same,
    /// The stack pointer is the first operand, for `StackPointer` also the destination; the
    /// immediate is scaled.
    OnStack(u8),
    StackPointer,
    /// T32 shifts of this type by an immediate and by a register.
    ShiftBy(u8),
    ShiftRegister(u8),
    Negate,
    /// An immediate of sixteen bits.
    Wide,
    /// Relative to the aligned program counter.
    Relative,
    RelativeBack,
    /// A rotation by `y` bytes.
    Extend,
    BitField,
    BitFieldInsert,
    Saturate,
    Saturate16,
    Pack(u8),
    /// Loads and stores: an offset of 12 or 8 bits with index bits, split halves (A32), a shifted
    /// register, an unsigned offset (T32), or a literal.
    Indexed,
    Halves,
    IndexedRegister,
    HalvesRegister,
    Offset12,
    Indexed8,
    RegisterOffset,
    Literal,
    Dual,
    DualRegister,
    Dual8,
    /// A32's bits P, U, S, W.
    List,
    /// The T32 forms.
    ListUp,
    ListDown,
    LowList,
    PushList,
    PopList,
    /// SRS and RFE.
    Return,
    ReturnUp,
    ReturnDown,
    /// Branches.
    Branch24,
    Exchange24,
    BranchT1,
    BranchT2,
    BranchT3,
    BranchT4,
    LinkT4,
    ExchangeT4,
    Compare,
    IfThen,
    StatusRegister,
    StatusImmediate,
    ChangeState,
    Coprocessor,
    CoprocessorPair,
    High,
    HighMove,
}

/// One table line.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub pattern: &'static str,
    pub name: &'static str,
    pub mask: u32,
    pub value: u32,
    pub op: Op,
    pub form: Form,
}

impl Encoding {
    pub const fn new(pattern: &'static str, name: &'static str, op: Op, form: Form) -> Self {
        let text = pattern.as_bytes();
        let (mut mask, mut value, mut at) = (0u32, 0u32, 0);
        while at < text.len() {
            match text[at] {
                b' ' | b'_' => {}
                bit => {
                    mask = mask << 1 | (bit == b'0' || bit == b'1') as u32;
                    value = value << 1 | (bit == b'1') as u32;
                }
            }
            at += 1;
        }
        Self { pattern, name, mask, value, op, form }
    }

    /// Returns whether the encoding matches these bits.
    pub const fn matches(&self, bits: u32) -> bool {
        bits & self.mask == self.value
    }

    /// Returns the bits of a field, most significant first, or `None` if the encoding has no such
    /// field.
    pub fn field(&self, letter: u8, bits: u32) -> Option<u32> {
        let text = self.pattern.bytes().filter(|byte| !matches!(byte, b' ' | b'_'));
        let width = text.clone().count();
        let places = text.enumerate().filter(|(_, byte)| *byte == letter);
        places
            .map(|(at, _)| bits >> (width - 1 - at) & 1)
            .fold(None, |gathered, bit| Some(gathered.unwrap_or(0) << 1 | bit))
    }
}

/// A placeholder address, which the form replaces.
const PLACEHOLDER: Address = Address { index: Index::Offset, offset: Offset::Immediate };

pub const fn load(width: Width) -> Op {
    Op::Load(width, PLACEHOLDER, Rights::Own)
}

pub const fn store(width: Width) -> Op {
    Op::Store(width, PLACEHOLDER, Rights::Own)
}

pub const LOAD_DUAL: Op = Op::LoadDual(PLACEHOLDER);
pub const STORE_DUAL: Op = Op::StoreDual(PLACEHOLDER);

/// Returns an operation whose second operand and flags come from the form and the fields.
pub const fn alu(alu: Alu) -> Op {
    Op::Data(alu, SecondOperand::Shifted, Flags::Kept)
}

/// Returns an operation like [`alu`]'s that sets the flags outside of IT blocks.
pub const fn alus(alu: Alu) -> Op {
    Op::Data(alu, SecondOperand::Shifted, Flags::SetOutsideIt)
}

macro_rules! table {
    ($name:ident: $($pattern:literal $text:literal $op:expr, $form:expr;)*) => {
        pub static $name: &[Encoding] = &[$(Encoding::new($pattern, $text, $op, $form),)*];
    };
}
pub(super) use table;
