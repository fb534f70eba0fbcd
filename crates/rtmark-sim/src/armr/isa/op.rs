//! The operations of Armv7-R instructions, independent of the instruction set.

/// ALU operations on two operands, numbered as in A32 (DDI 0406, A5.2.1), and ORN, which only T32
/// has.
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
    /// Returns the operation with a number in A32.
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

    /// Returns whether it only sets flags.
    pub const fn compares(self) -> bool {
        matches!(self, Self::Tst | Self::Teq | Self::Cmp | Self::Cmn)
    }

    /// Returns whether it uses only the second operand.
    pub const fn is_move(self) -> bool {
        matches!(self, Self::Mov | Self::Mvn)
    }

    /// Returns whether it is a sum or a difference, which determines carry and overflow itself.
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

    /// Returns its name in assembly language.
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

/// The form of the second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecondOperand {
    /// `imm`.
    Immediate,
    /// An immediate whose highest bit also becomes the carry flag.
    ImmediateCarry,
    /// Register `m`, shifted by `shift`.
    Shifted,
    /// Register `m`, shifted by the amount in register `a`.
    ByRegister,
}

/// Whether an instruction sets the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flags {
    Kept,
    Set,
    /// Set outside of IT blocks only, as 16-bit instructions do.
    SetOutsideIt,
}

/// A shift by an immediate amount: 0 LSL, 1 LSR, 2 ASR, 3 ROR, 4 RRX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    pub kind: u8,
    pub amount: u8,
}

impl Shift {
    pub const NONE: Self = Self { kind: 0, amount: 0 };

    /// Implements DecodeImmShift (DDI 0406, A8.4.3).
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

/// Multiplications. `d` is the result or its high half, `a` the accumulator or the low half.
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
    /// Halfword products: bit 0 of `imm` selects the top half of `m`, bit 1 that of `n`.
    SmulXy,
    SmlaXy,
    SmulWy,
    SmlaWy,
    SmlalXy,
    /// Dual halfword products: bit 0 of `imm` exchanges the halves of `m`.
    Smuad,
    Smusd,
    Smlad,
    Smlsd,
    Smlald,
    Smlsld,
    /// High words of products: bit 0 of `imm` rounds the result.
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

/// Operations on single bits and bit fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bits {
    Clz,
    Rbit,
    Rev,
    Rev16,
    Revsh,
    /// A field of `a` bits from bit `imm`.
    Insert,
    Clear,
    Extract(Sign),
    /// MOVT.
    Top,
}

/// The source of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Narrow {
    Byte,
    Half,
    /// Two bytes to two halfwords.
    Bytes,
}

/// Parallel sums, by the operation on each pair of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parallel {
    Add16,
    Asx,
    Sax,
    Sub16,
    Add8,
    Sub8,
}

/// How parallel results are fitted to their lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// Truncated; sets the GE bits.
    Plain,
    Saturating,
    Halving,
}

/// The size and extension of a load or store.
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

    /// Returns the value of a register into which bytes are loaded.
    #[inline(always)]
    pub const fn extend(self, value: u32) -> u32 {
        match self {
            Self::SignedByte => value as i8 as u32,
            Self::SignedHalf => value as i16 as u32,
            Self::Byte | Self::Half | Self::Word => value,
        }
    }
}

/// How the base register changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    Offset,
    Pre,
    Post,
}

/// The offset added to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offset {
    /// `imm`, with its sign.
    Immediate,
    /// Register `m` with its shift.
    Add,
    Subtract,
}

/// The privilege with which an access is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rights {
    Own,
    User,
}

/// An addressing mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub index: Index,
    pub offset: Offset,
}

/// The addressing mode of a register list: its lowest address relative to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    IncrementAfter,
    IncrementBefore,
    DecrementAfter,
    DecrementBefore,
}

impl Order {
    /// Returns the order that the bits P and U select.
    pub const fn of(before: bool, up: bool) -> Self {
        match (before, up) {
            (false, true) => Self::IncrementAfter,
            (true, true) => Self::IncrementBefore,
            (false, false) => Self::DecrementAfter,
            (true, false) => Self::DecrementBefore,
        }
    }

    /// Returns the lowest address, and the base that is written back.
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

/// Which registers LDM and STM transfer: bit S of A32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bank {
    /// Those of the current mode.
    Own,
    /// Those of user mode. A load of the program counter returns from an exception.
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

/// A program status register. For MSR, `imm` selects its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Current,
    Saved,
}

/// Instructions with no architectural effect except time.
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

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Undefined,
    Data(Alu, SecondOperand, Flags),
    /// ADR: the address in `imm`, resolved from the program counter.
    AddressOf,
    Multiply(Multiply, Flags),
    Divide(Sign),
    Bits(Bits),
    /// Register `m` rotated right by `imm` and extended, added to `n` unless `n` is 15.
    Extend(Narrow, Sign),
    /// Saturation to `imm` bits.
    Saturate(Sign),
    Saturate16(Sign),
    Parallel(Parallel, Fit, Sign),
    /// QADD, QSUB, QDADD, QDSUB, by their number in A32.
    Saturating(u8),
    Select,
    /// PKHBT, or PKHTB if the shift is ASR.
    Pack,
    /// USAD8 if `a` is 15, else USADA8.
    Differences,

    Load(Width, Address, Rights),
    Store(Width, Address, Rights),
    LoadDual(Address),
    StoreDual(Address),
    /// `imm` is the register list.
    LoadMultiple(Order, WriteBack, Bank),
    StoreMultiple(Order, WriteBack, Bank),
    Swap(Width),
    LoadExclusive(Exclusive),
    StoreExclusive(Exclusive),
    ClearExclusive,

    /// Branch to the address in `imm`. BL and BLX have in `d` whether they link, and in `a` whether
    /// they change the instruction set.
    Branch,
    BranchLink,
    BranchExchange,
    BranchLinkExchange,
    /// CBZ; CBNZ if `a` is 1.
    CompareBranch,
    /// TBB; TBH if `a` is 1.
    TableBranch,
    IfThen,

    ReadStatus(Status),
    /// Writes register `n`, or `imm` if `n` is 15. The mask is in `a`.
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
    /// Coprocessors 14 and 15: `imm` holds the register's fields (see `control::SystemRegister`).
    ReadCoprocessor,
    WriteCoprocessor,
    ReadCoprocessorPair,
    WriteCoprocessorPair,
    /// Operations of VFPv3-D16, with operands as in `crate::isa`.
    Float(crate::isa::Op),
}

/// One decoded instruction. The operation determines which operands have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub op: Op,
    /// The size of the encoding in bytes: 2 or 4.
    pub size: u8,
    /// The condition; 14 and 15 mean always. Within IT blocks of T32, the block's condition applies
    /// instead.
    pub condition: u8,
    /// The destination or transferred register.
    pub d: u8,
    /// The first operand or base.
    pub n: u8,
    /// The second operand or index.
    pub m: u8,
    /// The accumulator, second transferred register, low result, or distance of a shift.
    pub a: u8,
    pub shift: Shift,
    pub imm: u32,
    /// Additional data of floating-point operations.
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

    /// Returns whether the instruction sets the flags, not counting comparisons.
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
