//! What instructions do, as far as their encoding tells it.

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// No instruction: its exception is taken.
    Illegal,
    /// A result of two registers, or of one and the immediate.
    Alu(Alu, Second),
    /// The immediate, as it stands.
    LoadUpper,
    /// The immediate added to the program counter.
    AddUpperToPc,
    /// A jump relative to the program counter, with a link.
    Jump,
    /// A jump to a register plus the immediate, with a link.
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
    /// Zcmp, all of which are sequences of the above.
    Push,
    Pop,
    PopReturn,
    PopReturnZero,
    /// `cm.mvsa01` and `cm.mva01s`.
    MoveToSaved,
    MoveFromSaved,
}

impl Op {
    /// Whether it loads or stores.
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

/// What becomes of two operands.
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
    /// The second operand (AMOSWAP).
    Second,
    Multiply,
    MultiplyHigh,
    MultiplyHighSignedUnsigned,
    MultiplyHighUnsigned,
    /// Zba: the first operand, shifted by as many bits, and the second.
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
    /// Xh3bextm: as many bits from a place on.
    ExtractBits(u8),
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    Equal,
    NotEqual,
    Less,
    GreaterEqual,
    LessUnsigned,
    GreaterEqualUnsigned,
}

/// How much a load or store moves, and how a load extends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    Byte,
    ByteUnsigned,
    Half,
    HalfUnsigned,
    Word,
}

impl Width {
    /// In bytes.
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

/// What a CSR instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrSource {
    /// The register `rs1`.
    Register,
    /// The number of `rs1` itself.
    Immediate,
}
