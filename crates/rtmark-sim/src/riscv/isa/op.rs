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
    /// Returns the size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte | Self::ByteUnsigned => 1,
            Self::Half | Self::HalfUnsigned => 2,
            Self::Word => 4,
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
