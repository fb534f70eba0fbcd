//! What instructions of Armv7-R do, whichever set they are written in.

/// Operations of the arithmetic and logic unit on two operands, by their numbers in A32
/// (DDI 0406, A5.2.1), and ORN, which T32 has besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alu {
    And,
    Eor,
    Sub,
    Rsb,
    Add,
    Adc,
    Sbc,
    Rsc,
    Tst,
    Teq,
    Cmp,
    Cmn,
    Orr,
    Mov,
    Bic,
    Mvn,
    Orn,
}

impl Alu {
    /// By the number in A32.
    pub const fn of(number: u32) -> Self {
        const ALL: [Alu; 16] = [
            Alu::And,
            Alu::Eor,
            Alu::Sub,
            Alu::Rsb,
            Alu::Add,
            Alu::Adc,
            Alu::Sbc,
            Alu::Rsc,
            Alu::Tst,
            Alu::Teq,
            Alu::Cmp,
            Alu::Cmn,
            Alu::Orr,
            Alu::Mov,
            Alu::Bic,
            Alu::Mvn,
        ];
        ALL[number as usize & 15]
    }

    /// Whether it only sets flags.
    pub const fn compares(self) -> bool {
        matches!(self, Self::Tst | Self::Teq | Self::Cmp | Self::Cmn)
    }

    /// Whether it has one operand only, the second.
    pub const fn is_move(self) -> bool {
        matches!(self, Self::Mov | Self::Mvn)
    }

    /// Whether it is a sum or a difference, which says carry and overflow itself.
    pub const fn adds(self) -> bool {
        matches!(
            self,
            Self::Sub
                | Self::Rsb
                | Self::Add
                | Self::Adc
                | Self::Sbc
                | Self::Rsc
                | Self::Cmp
                | Self::Cmn
        )
    }

    /// Its name in assembly language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Eor => "eor",
            Self::Sub => "sub",
            Self::Rsb => "rsb",
            Self::Add => "add",
            Self::Adc => "adc",
            Self::Sbc => "sbc",
            Self::Rsc => "rsc",
            Self::Tst => "tst",
            Self::Teq => "teq",
            Self::Cmp => "cmp",
            Self::Cmn => "cmn",
            Self::Orr => "orr",
            Self::Mov => "mov",
            Self::Bic => "bic",
            Self::Mvn => "mvn",
            Self::Orn => "orn",
        }
    }
}

/// What the second operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Second {
    /// `imm`.
    Immediate,
    /// An immediate that gives the carry flag its highest bit, too.
    ImmediateCarry,
    /// Register `m`, shifted by `shift`.
    Shifted,
    /// Register `m`, shifted by what register `a` holds.
    ByRegister,
}

/// Whether the flags are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flags {
    Kept,
    Set,
    /// As 16-bit instructions do: outside of IT blocks.
    SetOutsideIt,
}

/// A shift by an immediate: 0 LSL, 1 LSR, 2 ASR, 3 ROR, 4 RRX, and by how many bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    pub kind: u8,
    pub amount: u8,
}

impl Shift {
    pub const NONE: Self = Self { kind: 0, amount: 0 };

    /// DecodeImmShift (DDI 0406, A8.4.3).
    pub const fn of(kind: u32, amount: u32) -> Self {
        let (kind, amount) = match (kind, amount) {
            (1 | 2, 0) => (kind, 32),
            (3, 0) => (4, 1),
            _ => (kind, amount),
        };
        Self { kind: kind as u8, amount: amount as u8 }
    }

    pub const fn is_none(self) -> bool {
        self.amount == 0
    }
}

/// Multiplications. `d` the result or its high half, `a` the accumulator or the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiply {
    Mul,
    Mla,
    Mls,
    Umull,
    Smull,
    Umlal,
    Smlal,
    Umaal,
    /// Halves: bit 0 of `imm` the top one of `m`, bit 1 of `n`.
    SmulXy,
    SmlaXy,
    SmulWy,
    SmlaWy,
    SmlalXy,
    /// Bit 0 of `imm`: the halves of `m` are exchanged.
    Smuad,
    Smusd,
    Smlad,
    Smlsd,
    Smlald,
    Smlsld,
    /// Bit 0 of `imm`: rounded.
    Smmul,
    Smmla,
    Smmls,
}

/// Signed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    Signed,
    Unsigned,
}

/// Single bits and fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bits {
    Clz,
    Rbit,
    Rev,
    Rev16,
    Revsh,
    /// From bit `imm`, `a` bits wide.
    Insert,
    Clear,
    Extract(Sign),
    /// MOVT.
    Top,
}

/// What an extension extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Narrow {
    Byte,
    Half,
    /// Two bytes to two halves.
    Bytes,
}

/// Parallel sums: what each pair of lanes does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parallel {
    Add16,
    Asx,
    Sax,
    Sub16,
    Add8,
    Sub8,
}

/// How parallel results fit their lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// Cut off; the GE bits tell.
    Plain,
    Saturating,
    Halving,
}

/// What a load brings or a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    Byte,
    SignedByte,
    Half,
    SignedHalf,
    Word,
}

impl Width {
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte | Self::SignedByte => 1,
            Self::Half | Self::SignedHalf => 2,
            Self::Word => 4,
        }
    }
}

/// What becomes of the base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    Offset,
    Pre,
    Post,
}

/// What is added to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offset {
    /// `imm`, with its sign.
    Immediate,
    /// Register `m` with its shift.
    Add,
    Subtract,
}

/// Whose rights count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rights {
    Own,
    User,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub index: Index,
    pub offset: Offset,
}

/// Where several registers go: the lowest address in relation to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    IncrementAfter,
    IncrementBefore,
    DecrementAfter,
    DecrementBefore,
}

impl Order {
    /// By the bits P and U.
    pub const fn of(before: bool, up: bool) -> Self {
        match (before, up) {
            (false, true) => Self::IncrementAfter,
            (true, true) => Self::IncrementBefore,
            (false, false) => Self::DecrementAfter,
            (true, false) => Self::DecrementBefore,
        }
    }

    /// The lowest address, and the base that is written back.
    pub const fn addresses(self, base: u32, words: u32) -> (u32, u32) {
        let bytes = 4 * words;
        match self {
            Self::IncrementAfter => (base, base.wrapping_add(bytes)),
            Self::IncrementBefore => (base.wrapping_add(4), base.wrapping_add(bytes)),
            Self::DecrementAfter => {
                (base.wrapping_sub(bytes).wrapping_add(4), base.wrapping_sub(bytes))
            }
            Self::DecrementBefore => (base.wrapping_sub(bytes), base.wrapping_sub(bytes)),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::IncrementAfter => "",
            Self::IncrementBefore => "ib",
            Self::DecrementAfter => "da",
            Self::DecrementBefore => "db",
        }
    }
}

/// Whether the base is written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteBack {
    No,
    Yes,
}

/// Which registers LDM and STM mean, bit S of A32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bank {
    /// The mode's own.
    Own,
    /// Those of user mode; a load of the program counter returns from an exception.
    User,
}

/// Exclusive accesses, by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusive {
    Byte,
    Half,
    Word,
    Double,
}

impl Exclusive {
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }
}

/// Which of a program status register's bytes MSR writes is in `imm`; which register is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Current,
    Saved,
}

/// What does nothing that a program sees, besides time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    Nop,
    Yield,
    WaitForEvent,
    WaitForInterrupt,
    SendEvent,
    Debug,
    Preload,
}

/// Barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Barrier {
    Memory,
    Synchronization,
    Instruction,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Undefined,
    Data(Alu, Second, Flags),
    /// The address `imm`, which an instruction names relative to itself.
    AddressOf,
    Multiply(Multiply, Flags),
    Divide(Sign),
    Bits(Bits),
    /// `m` rotated right by `imm`, added to `n` unless that is 15.
    Extend(Narrow, Sign),
    /// To `imm` bits.
    Saturate(Sign),
    Saturate16(Sign),
    Parallel(Parallel, Fit, Sign),
    /// QADD, QSUB, QDADD, QDSUB, by their number in A32.
    Saturating(u8),
    Select,
    /// PKHBT; PKHTB with ASR.
    Pack,
    /// USAD8; USADA8 unless `a` is 15.
    Differences,

    Load(Width, Address, Rights),
    Store(Width, Address, Rights),
    LoadDual(Address),
    StoreDual(Address),
    /// `imm` the registers.
    LoadMultiple(Order, WriteBack, Bank),
    StoreMultiple(Order, WriteBack, Bank),
    Swap(Width),
    LoadExclusive(Exclusive),
    StoreExclusive(Exclusive),
    ClearExclusive,

    /// `imm` the address led to. BL and BLX say in `d` whether they link, and in `a` whether the
    /// other set is led to.
    Branch,
    BranchLink,
    BranchExchange,
    BranchLinkExchange,
    /// CBZ; CBNZ with `a` 1.
    CompareBranch,
    /// TBB; TBH with `a` 1.
    TableBranch,
    IfThen,

    ReadStatus(Status),
    /// From register `n`, or `imm` where that is 15. The mask is in `a`.
    WriteStatus(Status),
    /// `a` = imod and M, `d` = A, I and F, `imm` the mode.
    ChangeState,
    SetEndian,
    StoreReturn(Order, WriteBack),
    ReturnFrom(Order, WriteBack),
    /// SUBS PC, LR, #imm of T32.
    SubtractReturn,
    Call,
    Breakpoint,
    Hint(Hint),
    Barrier(Barrier),
    /// Coprocessors 14 and 15: `imm` holds their fields (see `control::Place`).
    ReadCoprocessor,
    WriteCoprocessor,
    ReadCoprocessorPair,
    WriteCoprocessorPair,
    /// Of VFPv3-D16, with the operands as `crate::isa` has them.
    Float(crate::isa::Op),
}

/// One decoded instruction. Which operands mean something is the operation's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub op: Op,
    /// Bits of the encoding, in bytes: 2 or 4.
    pub size: u8,
    /// 14 and 15: always. Within IT blocks of T32 the block's counts.
    pub condition: u8,
    /// Destination or transferred register.
    pub d: u8,
    /// First operand or base.
    pub n: u8,
    /// Second operand or index.
    pub m: u8,
    /// Accumulator, second transferred register, low result, distance of a shift.
    pub a: u8,
    pub shift: Shift,
    pub imm: u32,
    /// What floating-point operations need besides.
    pub aux: u32,
}

impl Instruction {
    pub const fn undefined(size: u8) -> Self {
        Self {
            op: Op::Undefined,
            size,
            condition: 14,
            d: 0,
            n: 0,
            m: 0,
            a: 0,
            shift: Shift::NONE,
            imm: 0,
            aux: 0,
        }
    }

    /// Whether flags are set, apart from comparisons' for which it is their purpose.
    pub const fn sets_flags(&self, inside_it: bool) -> bool {
        match self.op {
            Op::Data(_, _, flags) | Op::Multiply(_, flags) => match flags {
                Flags::Kept => false,
                Flags::Set => true,
                Flags::SetOutsideIt => !inside_it,
            },
            _ => false,
        }
    }
}
