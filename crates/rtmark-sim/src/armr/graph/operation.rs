//! The operations of blocks: the function of each, and what it does to the flags.

use super::access::{self, AddressForm};
use super::data::{self, Operand};
use super::steps::{self, GraphCode, guard, node};
use crate::armr::isa::op::{Alu, Bits, Multiply, Narrow, Sign, Width};
use crate::armr::timing::key;
use crate::superblock::{LastOperand, StepFn, by_last, threaded};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Ends the block.
    End,
    Nothing,
    Constant,
    /// Executes an operation; the last field is whether it sets the flags.
    Data(Alu, Operand, bool),
    /// Executes an operation that sets the flags, and a branch that depends on them.
    DataAndBranch(Alu, Operand, Branch),
    Multiply(Multiply),
    Extend(Narrow, Sign),
    Bits(Bits),
    Load(Width, AddressForm),
    LoadConstant,
    Store(Width, AddressForm),
    LoadDual(AddressForm),
    StoreDual(AddressForm),
    LoadList,
    LoadListAndReturn,
    StoreList,
    /// Executes the next steps, as many as its value, only if a condition holds.
    Guard(u8),
    /// Continues only if a condition holds, and otherwise ends the block with the key in its value.
    Expect(u8),
    Branch(Branch),
    /// CBZ or CBNZ, with whether its register is expected to be zero.
    CompareWithZero(bool),
    /// BL, or BLX with an encoded target.
    Call(CallKind),
    /// BLX with a register; continues only at the expected address.
    CallRegister,
    /// BX with a condition; continues only with the expected outcome and at the expected address.
    Return(u8),
    /// Executes the function of its node. If it branches to an address that it does not encode, the block
    /// continues only if that is the step's value.
    Node,
}

/// A conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The condition that holds if it goes as expected.
    pub condition: u8,
    pub backwards: bool,
}

/// Whether a call changes the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    Same,
    Exchanging,
}

/// Sets of condition flags.
pub const NEGATIVE_ZERO: u8 = 1;
pub const CARRY: u8 = 2;
pub const OVERFLOW: u8 = 4;
pub const ALL_FLAGS: u8 = NEGATIVE_ZERO | CARRY | OVERFLOW;

/// What an operation does to the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagUse {
    /// Those that it reads: all if the block may end at it.
    pub reads: u8,
    /// Those that it sets.
    pub sets: u8,
}

impl FlagUse {
    const NONE: Self = Self { reads: 0, sets: 0 };
    const READS_ALL: Self = Self { reads: ALL_FLAGS, ..Self::NONE };

    /// Returns those of an operation that sets the flags, or not.
    const fn of_data(alu: Alu, operand: Operand, sets: bool) -> Self {
        let adds_carry = matches!(alu, Alu::Adc | Alu::Sbc | Alu::Rsc);
        let passes = matches!(operand, Operand::Extended) || sets && operand.passes_carry();
        let reads = if adds_carry || passes { CARRY } else { 0 };
        let sets = match (sets, alu.adds(), operand.carries()) {
            (false, ..) => 0,
            (true, true, _) => ALL_FLAGS,
            (true, false, true) => NEGATIVE_ZERO | CARRY,
            (true, false, false) => NEGATIVE_ZERO,
        };
        Self { reads, sets }
    }
}

impl Operation {
    /// Returns what it does to the flags.
    pub const fn flags(self) -> FlagUse {
        match self {
            Self::Data(alu, operand, sets) => FlagUse::of_data(alu, operand, sets),
            Self::DataAndBranch(alu, operand, _) => {
                // The block may end after it, and then reads the flags that it does not set.
                let flags = FlagUse::of_data(alu, operand, true);
                FlagUse { reads: flags.reads | ALL_FLAGS & !flags.sets, ..flags }
            }
            Self::Nothing
            | Self::Constant
            | Self::Multiply(_)
            | Self::Extend(..)
            | Self::Bits(_)
            | Self::Call(_) => FlagUse::NONE,
            _ => FlagUse::READS_ALL,
        }
    }

    /// Returns whether it may set flags.
    pub const fn may_set_flags(self) -> bool {
        self.flags().sets != 0 || matches!(self, Self::Node)
    }

    /// Returns the operation with the same effect except on the flags.
    pub const fn without_flags(self) -> Self {
        match self {
            Self::Data(alu, ..) if alu.compares() => Self::Nothing,
            Self::Data(alu, operand, _) => Self::Data(alu, operand, false),
            other => other,
        }
    }

    /// Returns the operation that executes it and a branch that depends on it, if there is one.
    pub const fn and_branch(self, branch: Branch) -> Option<Self> {
        match self {
            Self::Data(
                alu @ (Alu::Cmp | Alu::Sub | Alu::Tst),
                operand @ Operand::Immediate,
                true,
            )
            | Self::Data(alu @ Alu::Cmp, operand @ Operand::Register, true) => {
                Some(Self::DataAndBranch(alu, operand, branch))
            }
            _ => None,
        }
    }
}

/// Selects an instance of a generic function by a condition other than "always".
macro_rules! by_condition {
    ($condition:expr, $at:ident => $of:expr) => {
        by_condition!($condition, $at => $of, 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    ($condition:expr, $at:ident => $of:expr, $($number:literal)*) => {
        match $condition {
            $($number => {
                const $at: u8 = $number;
                $of
            })*
            _ => threaded!(node),
        }
    };
}

/// Selects an instance of a generic function by a conditional branch.
macro_rules! by_branch {
    ($branch:expr, $at:ident $backwards:ident => $of:expr) => {
        if $branch.backwards {
            const $backwards: bool = true;
            by_condition!($branch.condition, $at => $of)
        } else {
            const $backwards: bool = false;
            by_condition!($branch.condition, $at => $of)
        }
    };
}

/// Selects an instance of a generic function by the form of an address.
macro_rules! by_form {
    ($form:expr, $at:ident => $of:expr) => {
        by_form!($form, $at => $of, Absolute Offset Before After Indexed)
    };
    ($form:expr, $at:ident => $of:expr, $($name:ident)*) => {
        match $form {
            $(AddressForm::$name => {
                const $at: usize = AddressForm::$name as usize;
                $of
            })*
        }
    };
}

impl Operation {
    /// Returns the function of steps that do this. `last` is the operand that is the result of the step
    /// before.
    pub fn function(self, last: LastOperand) -> StepFn<GraphCode> {
        match self {
            Self::End => threaded!(steps::end),
            Self::Nothing => threaded!(steps::nothing),
            Self::Constant => threaded!(data::constant),
            Self::Data(alu, operand, sets) => data::function(alu, operand, sets, last),
            Self::DataAndBranch(alu, operand, branch) => {
                data_and_branch(alu, operand, branch, last)
            }
            Self::Multiply(multiply) => data::multiplication(multiply),
            Self::Extend(narrow, sign) => data::extension(narrow, sign),
            Self::Bits(bits) => data::bit_operation(bits),
            Self::Load(width, form) => load(width, form, last),
            Self::LoadConstant => threaded!(access::load_constant, access::load_constant_slowly),
            Self::Store(width, form) => store(width, form, last),
            Self::LoadDual(form) => by_form!(form, AT => threaded!(access::load_dual::<AT>, node)),
            Self::StoreDual(form) => {
                by_form!(form, AT => threaded!(access::store_dual::<AT>, node))
            }
            Self::LoadList => threaded!(access::load_list::<false>, node),
            Self::LoadListAndReturn => threaded!(access::load_list::<true>, node),
            Self::StoreList => threaded!(access::store_list, node),
            Self::Guard(condition) => by_condition!(condition, AT => guard::<AT>),
            Self::Expect(condition) => {
                by_condition!(condition, AT => threaded!(steps::expect::<AT>))
            }
            Self::Branch(branch) => {
                by_branch!(branch, AT BACKWARDS => threaded!(
                    steps::branch::<AT, BACKWARDS>,
                    steps::branch_elsewhere::<BACKWARDS, { key::SKIPPED }>
                ))
            }
            Self::CompareWithZero(true) => {
                threaded!(steps::compare_with_zero::<true>, steps::branch_elsewhere::<false, 0>)
            }
            Self::CompareWithZero(false) => {
                threaded!(steps::compare_with_zero::<false>, steps::branch_elsewhere::<false, 0>)
            }
            Self::Call(CallKind::Same) => threaded!(steps::call::<false>),
            Self::Call(CallKind::Exchanging) => threaded!(steps::call::<true>),
            Self::CallRegister => threaded!(steps::call_register),
            Self::Return(14..) => threaded!(steps::return_if::<14>),
            Self::Return(condition) => {
                by_condition!(condition, AT => threaded!(steps::return_if::<AT>))
            }
            Self::Node => threaded!(node),
        }
    }
}

fn data_and_branch(
    alu: Alu,
    operand: Operand,
    branch: Branch,
    last: LastOperand,
) -> StepFn<GraphCode> {
    macro_rules! by_operation {
        ($($alu:ident $operand:ident)*) => {
            match (alu, operand) {
                $((Alu::$alu, Operand::$operand) => {
                    const ALU: usize = Alu::$alu as usize;
                    const OPERAND: usize = Operand::$operand as usize;
                    by_last!(last, LAST => by_branch!(branch, AT BACKWARDS => threaded!(
                        data::data_and_branch::<ALU, OPERAND, LAST, AT, BACKWARDS>,
                        steps::branch_elsewhere::<BACKWARDS, { key::SKIPPED }>
                    )), FIRST)
                })*
                _ => threaded!(node),
            }
        };
    }
    by_operation!(Cmp Immediate Cmp Register Sub Immediate Tst Immediate)
}

fn load(width: Width, form: AddressForm, last: LastOperand) -> StepFn<GraphCode> {
    macro_rules! by_width {
        ($($width:ident)*) => {
            match width {
                $(Width::$width => {
                    const WIDTH: usize = Width::$width as usize;
                    by_last!(last, LAST => by_form!(form, AT => threaded!(
                        access::load::<WIDTH, AT, LAST>,
                        access::load_slowly::<WIDTH, AT, LAST>
                    )), FIRST)
                })*
            }
        };
    }
    by_width!(Byte SignedByte Half SignedHalf Word)
}

fn store(width: Width, form: AddressForm, last: LastOperand) -> StepFn<GraphCode> {
    macro_rules! by_bytes {
        ($($bytes:literal)*) => {
            match width.bytes() {
                $($bytes => by_last!(last, LAST => by_form!(form, AT => threaded!(
                    access::store::<$bytes, AT, LAST>,
                    access::store_slowly::<$bytes, AT, LAST>
                ))),)*
                _ => threaded!(node),
            }
        };
    }
    by_bytes!(1 2 4)
}
