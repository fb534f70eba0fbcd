//! What native code can do for a step.
//!
//! Each action has the effect of the step's operation on its fast path ([`crate::exec`]), or none at all.

use crate::engine::native::Way;
use crate::engine::native::assembler::{Datum, Shift};
use crate::engine::native::flags::Flags;
use crate::isa::Slot;

/// A second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Immediate,
    Register,
    /// A register shifted by 1 to 31.
    Shifted(Shift, u8),
}

/// A calculation with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calc {
    Mov,
    Mvn,
    And,
    Bic,
    Orr,
    Orn,
    Eor,
    Add,
    Adc,
    Sub,
    Sbc,
    Rsb,
}

impl Calc {
    /// Whether it is an addition or subtraction, which defines all flags.
    pub const fn is_sum(self) -> bool {
        matches!(self, Self::Add | Self::Adc | Self::Sub | Self::Sbc | Self::Rsb)
    }

    /// Returns the flags that its result defines, if it sets flags.
    pub const fn result_flags(self) -> Flags {
        if self.is_sum() { Flags::all() } else { Flags::NZ }
    }
}

/// How a single load or store forms its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Offset,
    Indexed,
    PreIndexed,
    PostIndexed,
}

impl Mode {
    pub const fn moves_base(self) -> bool {
        matches!(self, Self::PreIndexed | Self::PostIndexed)
    }
}

/// An action of native code. Those that *may leave* do so before they have any effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Nothing,
    Calculate {
        calc: Calc,
        form: Form,
        sets_flags: bool,
        writes: bool,
    },
    ShiftByRegister {
        shift: Shift,
        sets_flags: bool,
    },
    Multiply {
        sets_flags: bool,
    },
    /// MLA, or MLS.
    MultiplyAccumulate {
        subtracts: bool,
    },
    /// Extends a byte or half, which may be added to a register.
    Extend {
        datum: Datum,
        adds: bool,
    },
    CountLeadingZeros,
    SwapBytes,
    MoveTop,
    ExtractField {
        signed: bool,
    },
    /// BFI, or BFC.
    InsertField {
        clears: bool,
    },
    /// UMULL, SMULL, UMLAL, or SMLAL.
    MultiplyLong {
        signed: bool,
        accumulates: bool,
    },
    /// SMULxy, or SMLAxy unless the sum overflows.
    MultiplyHalves {
        accumulates: bool,
    },
    /// UDIV, or SDIV of numbers that are not negative, if it takes so many cycles more than the least.
    Divide {
        signed: bool,
        extra_cycles: u8,
    },
    /// Loads a literal that never changes.
    Constant(u32),
    /// The same, if a line of the memory from which code comes is among those of data that this caches.
    CachedConstant {
        value: u32,
        line: u32,
    },
    Load {
        datum: Datum,
        mode: Mode,
    },
    /// Loads from the memory from which code comes, which shows the pipeline what is expected.
    LoadCode {
        datum: Datum,
        mode: Mode,
    },
    /// Follows such a load.
    Checked,
    Store {
        datum: Datum,
        mode: Mode,
    },
    /// LDREX, LDREXB, and LDREXH.
    LoadExclusive {
        datum: Datum,
    },
    /// STREX, STREXB, and STREXH, if the monitor is set.
    StoreExclusive {
        datum: Datum,
    },
    LoadPair {
        mode: Mode,
    },
    StorePair {
        mode: Mode,
    },
    /// LDM and POP. If they load the program counter, the pass continues only if it is this one.
    LoadList {
        follows: Option<u32>,
    },
    /// LDM and POP that load the program counter, and end the pass.
    LoadTarget,
    /// STM and PUSH; these and STMDB store below the base.
    StoreList {
        before: bool,
    },
    /// Continues only if a condition holds.
    Expect {
        condition: u8,
        otherwise: Way,
    },
    /// Continues only if a register is zero, or is not.
    ExpectZero {
        zero: bool,
        otherwise: Way,
    },
    /// Continues only if a register holds this address. A call then sets the link register.
    ExpectTarget {
        target: u32,
        links: bool,
    },
    /// Ends the pass with a jump to the address in a register. A call sets the link register.
    JumpTo,
    /// Sets the link register.
    Link,
    /// Skips steps unless a condition holds.
    If {
        condition: u8,
    },
    /// Skips steps.
    Hop,
    /// Fetches the next instruction from another line of a memory that never waits.
    EnterLine,
}

impl Action {
    /// Returns whether it ends the pass with a jump to a target that is not known in advance.
    pub const fn jumps_anywhere(self) -> bool {
        matches!(self, Self::JumpTo | Self::LoadTarget)
    }

    /// Returns whether the check after it is executed with it.
    pub const fn is_checked(self) -> bool {
        matches!(self, Self::LoadCode { .. } | Self::Divide { .. })
    }

    /// Returns whether it may leave the native code, before it has any effect.
    pub const fn may_leave(self) -> bool {
        let is_transfer = matches!(
            self,
            Self::Load { .. }
                | Self::LoadCode { .. }
                | Self::Store { .. }
                | Self::LoadExclusive { .. }
                | Self::StoreExclusive { .. }
                | Self::LoadPair { .. }
                | Self::StorePair { .. }
                | Self::CachedConstant { .. }
                | Self::LoadList { .. }
                | Self::LoadTarget
                | Self::StoreList { .. }
        );
        is_transfer
            || matches!(
                self,
                Self::MultiplyHalves { accumulates: true }
                    | Self::Divide { .. }
                    | Self::Expect { .. }
                    | Self::ExpectZero { .. }
                    | Self::ExpectTarget { .. }
                    | Self::JumpTo
            )
    }

    /// Returns the flags that it writes.
    pub const fn written_flags(self, slot: &Slot) -> Flags {
        match self {
            Self::Calculate { sets_flags: true, calc, form, .. } => match form {
                _ if calc.is_sum() => Flags::all(),
                Form::Shifted(..) => Flags::NZ.union(Flags::C),
                Form::Immediate if slot.aux == 1 => Flags::NZ.union(Flags::C),
                _ => Flags::NZ,
            },
            // A shift by zero leaves the carry flag as it is.
            Self::ShiftByRegister { sets_flags: true, .. }
            | Self::Multiply { sets_flags: true } => Flags::NZ,
            _ => Flags::empty(),
        }
    }

    /// Returns the registers that it writes.
    pub fn written_registers(self, slot: &Slot) -> impl Iterator<Item = u8> + use<> {
        let base = |moves: bool| if moves { 1 << slot.n } else { 0 };
        let written: u32 = match self {
            Self::Calculate { writes: false, .. } => 0,
            Self::Calculate { .. }
            | Self::ShiftByRegister { .. }
            | Self::Multiply { .. }
            | Self::MultiplyAccumulate { .. }
            | Self::Extend { .. }
            | Self::CountLeadingZeros
            | Self::SwapBytes
            | Self::MoveTop
            | Self::ExtractField { .. }
            | Self::InsertField { .. }
            | Self::MultiplyHalves { .. }
            | Self::Divide { .. }
            | Self::LoadExclusive { .. }
            | Self::StoreExclusive { .. }
            | Self::CachedConstant { .. }
            | Self::Constant(_) => 1 << slot.d,
            Self::MultiplyLong { .. } => 1 << slot.d | 1 << slot.a,
            Self::Load { mode, .. } | Self::LoadCode { mode, .. } => {
                1 << slot.d | base(mode.moves_base())
            }
            Self::Store { mode, .. } => base(mode.moves_base()),
            Self::LoadPair { mode } => 1 << slot.d | 1 << slot.a | base(mode.moves_base()),
            Self::StorePair { mode } => base(mode.moves_base()),
            Self::LoadList { .. } => slot.imm | 1 << slot.n,
            Self::StoreList { .. } => base(slot.aux == 1),
            Self::ExpectTarget { links: true, .. } | Self::Link => 1 << 14,
            _ => 0,
        };
        (0..16).filter(move |register| written >> register & 1 == 1)
    }

    /// Returns the flags that it reads, or leaves as they are in some case.
    pub const fn read_flags(self) -> Flags {
        match self {
            Self::Calculate { calc: Calc::Adc | Calc::Sbc, .. } => Flags::C,
            Self::ShiftByRegister { sets_flags: true, .. } => Flags::C,
            Self::If { .. } | Self::Hop => Flags::all(),
            _ => Flags::empty(),
        }
    }
}
