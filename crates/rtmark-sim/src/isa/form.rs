//! What a line of the encoding table states besides its bits: which cores have it, and how its fields
//! become operands.

use crate::isa::Features;

/// The oldest architecture, or the extension, that has an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// ARMv6-M and all later architectures.
    V6M,
    /// ARMv7-M.
    V7M,
    /// The DSP extension of ARMv7E-M.
    Dsp,
    /// Single-precision floating point, FPv4-SP.
    Fp,
    /// ARMv8-M Mainline with the Security Extension.
    V8M,
    /// The additions of FPv5 to FPv4-SP.
    Fp5,
    /// Double precision, FPv5-D16.
    Double,
    /// Instructions of the coprocessors that some chips add.
    Coprocessors,
}

impl Isa {
    /// Returns whether a core with these features has it.
    pub const fn is_part_of(self, features: Features) -> bool {
        match self {
            Self::V6M => true,
            Self::V7M => features.mainline,
            Self::Dsp => features.dsp,
            Self::Fp => features.fp,
            Self::V8M => features.v8m,
            Self::Fp5 => features.fp5,
            Self::Double => features.double,
            Self::Coprocessors => features.coprocessors,
        }
    }
}

/// How an encoding's fields become operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Registers as named, and the immediate unchanged.
    Plain,
    /// The immediate times 2 or 4.
    Times2,
    Times4,
    /// As `Plain` or `Times4`, with the first operand also being the destination.
    Same,
    /// As `Times4`, on the stack pointer.
    SpTimes4,
    /// `SP = SP ± 4 * i`.
    SpAdjust,
    /// Shift of `m` by an immediate; the number is the shift type.
    ShiftImmediate(u8),
    /// `RSBS d, n, #0`.
    Negate,
    /// Destination and operands may be any register, including the program counter.
    HighAdd,
    HighCompare,
    HighMove,
    /// `n` is the register branched to, in field `m`.
    Target,
    /// An aligned program-counter-relative address, added.
    PcRelative,
    /// 32-bit ADR with a 12-bit offset, added or subtracted.
    PcRelativeAdd,
    PcRelativeSub,
    /// Relative branches of each shape.
    BranchT1,
    BranchT2,
    BranchT3,
    BranchT4,
    CompareBranch,
    PushList,
    PopList,
    LowList,
    ChangeState,
    /// 32-bit: immediate expanded by ThumbExpandImm, without and with its carry.
    Expand,
    ExpandCarry,
    /// 32-bit: `m` shifted by `i`; `y` is the shift type.
    Shifted,
    /// 16-bit immediate of MOVW and MOVT.
    Wide,
    BitField,
    BitFieldInsert,
    Saturate,
    Saturate16,
    /// Rotation by `y` times 8.
    Extend,
    /// Load or store: 12-bit offset; 8-bit offset with index bits; register offset; literal.
    Offset12,
    Indexed,
    RegisterOffset,
    Literal,
    Dual,
    DualLiteral,
    Exclusive,
    /// An access of this many bytes, without offset.
    Ordered(u8),
    List,
    System,
    /// The operation's variant is in `y`.
    Variant,
    /// Floating point: single registers; see the decoder for the rest.
    FpThree,
    FpTwo,
    FpOne,
    FpImmediate,
    FpConvert,
    /// Rounding mode: `y`, plus this number, plus 8 with `j` (see `exec::float`).
    FpRounding(u8),
    FpFixed,
    FpCore,
    FpScalar,
    FpPair,
    FpPairDouble,
    FpMemory,
    FpMemoryDouble,
    FpList,
    FpListDouble,
    /// The immediate is the whole instruction.
    Whole,
    /// Permanently or deliberately undefined.
    Undefined,
}
