//! The operations of instructions, as far as the encoding determines them.

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An invalid instruction, which raises its exception.
    Illegal,
    /// A result of two registers, or of one register and the immediate.
    Alu(Alu, Second),
    /// The unmodified immediate.
    LoadUpper,
    /// The immediate added to the program counter.
    AddUpperToPc,
    /// A jump and link relative to the program counter.
    Jump,
    /// A jump and link to a register plus the immediate.
    JumpRegister,
    Branch(Condition),
    Load(Width),
    Store(Width),
    LoadReserved,
    StoreConditional,
    Atomic(Alu),
    Divide(Divide),
    Csr(CsrWrite, CsrSource),
    Fence,
    FenceInstructions,
    EnvironmentCall,
    Breakpoint,
    MachineReturn,
    WaitForInterrupt,
    /// Sleep until another core's `Unblock` (Xh3power).
    Block,
    Unblock,
    /// Zcmp instructions, which are sequences of the operations above.
    Push,
    Pop,
    PopReturn,
    PopReturnZero,
    /// `cm.mvsa01` and `cm.mva01s`.
    MoveToSaved,
    MoveFromSaved,
}

impl Op {
    /// Returns whether it loads or stores.
    pub const fn is_access(self) -> bool {
        matches!(
            self,
            Self::Load(_)
                | Self::Store(_)
                | Self::LoadReserved
                | Self::StoreConditional
                | Self::Atomic(_)
        )
    }
}

/// The second operand of an [`Op::Alu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Second {
    Register,
    Immediate,
}

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alu {
    Add,
    Sub,
    ShiftLeft,
    ShiftRight,
    ShiftRightArithmetic,
    Less,
    LessUnsigned,
    And,
    Or,
    Xor,
    /// The second operand unchanged (AMOSWAP).
    Second,
    Multiply,
    MultiplyHigh,
    MultiplyHighSignedUnsigned,
    MultiplyHighUnsigned,
    /// Zba: the first operand, shifted left by this many bits, plus the second.
    ShiftAdd(u8),
    /// Zbb.
    AndNot,
    OrNot,
    XorNot,
    LeadingZeros,
    TrailingZeros,
    Population,
    Max,
    MaxUnsigned,
    Min,
    MinUnsigned,
    OrCombine,
    ReverseBytes,
    RotateLeft,
    RotateRight,
    SignExtendByte,
    SignExtendHalf,
    ZeroExtendHalf,
    /// Zbs.
    BitClear,
    BitExtract,
    BitInvert,
    BitSet,
    /// Zbkb.
    Pack,
    PackHigh,
    ReverseBits,
    Zip,
    Unzip,
    /// Xh3bextm: this many bits from a bit position on.
    ExtractBits(u8),
}

impl Alu {
    /// The operations of instructions.
    pub const ALL: [Self; 51] = [
        Self::Add,
        Self::Sub,
        Self::ShiftLeft,
        Self::ShiftRight,
        Self::ShiftRightArithmetic,
        Self::Less,
        Self::LessUnsigned,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Multiply,
        Self::MultiplyHigh,
        Self::MultiplyHighSignedUnsigned,
        Self::MultiplyHighUnsigned,
        Self::ShiftAdd(1),
        Self::ShiftAdd(2),
        Self::ShiftAdd(3),
        Self::AndNot,
        Self::OrNot,
        Self::XorNot,
        Self::LeadingZeros,
        Self::TrailingZeros,
        Self::Population,
        Self::Max,
        Self::MaxUnsigned,
        Self::Min,
        Self::MinUnsigned,
        Self::OrCombine,
        Self::ReverseBytes,
        Self::RotateLeft,
        Self::RotateRight,
        Self::SignExtendByte,
        Self::SignExtendHalf,
        Self::ZeroExtendHalf,
        Self::BitClear,
        Self::BitExtract,
        Self::BitInvert,
        Self::BitSet,
        Self::Pack,
        Self::PackHigh,
        Self::ReverseBits,
        Self::Zip,
        Self::Unzip,
        Self::ExtractBits(1),
        Self::ExtractBits(2),
        Self::ExtractBits(3),
        Self::ExtractBits(4),
        Self::ExtractBits(5),
        Self::ExtractBits(6),
        Self::ExtractBits(7),
        Self::ExtractBits(8),
    ];

    /// Returns its index in [`Self::ALL`].
    pub fn number(self) -> Option<usize> {
        Self::ALL.iter().position(|alu| *alu == self)
    }
}

/// The condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    Equal,
    NotEqual,
    Less,
    GreaterEqual,
    LessUnsigned,
    GreaterEqualUnsigned,
}

impl Condition {
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::GreaterEqual,
        Self::LessUnsigned,
        Self::GreaterEqualUnsigned,
    ];

    /// Returns the condition that holds where this one does not.
    pub const fn not(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterEqual,
            Self::GreaterEqual => Self::Less,
            Self::LessUnsigned => Self::GreaterEqualUnsigned,
            Self::GreaterEqualUnsigned => Self::LessUnsigned,
        }
    }
}

/// The size of a load or store, and the extension of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    Byte,
    ByteUnsigned,
    Half,
    HalfUnsigned,
    Word,
}

impl Width {
    pub const ALL: [Self; 5] =
        [Self::Byte, Self::ByteUnsigned, Self::Half, Self::HalfUnsigned, Self::Word];

    /// Returns the size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte | Self::ByteUnsigned => 1,
            Self::Half | Self::HalfUnsigned => 2,
            Self::Word => 4,
        }
    }

    /// Returns the value of a load of the first bytes.
    #[inline(always)]
    pub const fn extend(self, [a, b, c, d]: [u8; 4]) -> u32 {
        match self {
            Self::Byte => a as i8 as u32,
            Self::ByteUnsigned => a as u32,
            Self::Half => i16::from_le_bytes([a, b]) as u32,
            Self::HalfUnsigned => u16::from_le_bytes([a, b]) as u32,
            Self::Word => u32::from_le_bytes([a, b, c, d]),
        }
    }
}

/// The results of the sequential divider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Divide {
    Quotient,
    QuotientUnsigned,
    Remainder,
    RemainderUnsigned,
}

impl Divide {
    pub const ALL: [Self; 4] =
        [Self::Quotient, Self::QuotientUnsigned, Self::Remainder, Self::RemainderUnsigned];

    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Quotient | Self::Remainder)
    }
}

/// How a CSR instruction changes its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrWrite {
    Write,
    Set,
    Clear,
}

/// The source operand of a CSR instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrSource {
    /// The register `rs1`.
    Register,
    /// The number in the `rs1` field itself.
    Immediate,
}
