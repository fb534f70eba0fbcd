//! What the steps of blocks do, and the function of each.

use super::perform::by_alu;
use super::steps::{self, GraphCode, Operands};
use crate::riscv::isa::Instruction;
use crate::riscv::isa::op::{Alu, Condition, Divide, Second, Width};
use crate::riscv::timing::CachedLine;
use crate::superblock::{LastOperand, NEITHER, StepFn, by_last, last_operand, threaded};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Ends the block.
    End,
    /// Continues only if a cache holds a line.
    Find,
    /// Likewise, and uses the line.
    Fetch,
    /// Continues only if a cache holds a line as the latest of its set.
    FetchLatest,
    Constant,
    Alu(Alu, Second),
    Divide(Divide),
    /// Loads from the main RAM, or else from any memory with the wait states that the step states.
    Load(Width),
    /// Loads from a memory whose wait states are not the main RAM's.
    LoadElsewhere(Width),
    Store(Width),
    StoreElsewhere(Width),
    /// Continues only if a condition holds, and otherwise ends the block with the key in its value.
    Expect(Condition),
    /// Ends the block with the outcome of a branch.
    Branch(Condition),
    /// Continues only if a jump leads to an address, and otherwise ends the block with the target.
    JumpRegister,
    /// Continues only if a jump leads to an address, and otherwise ends the block before the jump.
    ExpectTarget,
}

/// A step of a block under construction.
#[derive(Clone, Copy, Debug)]
pub struct Draft {
    pub operation: Operation,
    pub operands: Operands,
}

impl Draft {
    /// Returns a step with the registers of an instruction.
    pub const fn new(operation: Operation, it: &Instruction, waits: u8, value: u32) -> Self {
        Self { operation, operands: Operands { a: it.rd, b: it.rs1, c: it.rs2, waits, value } }
    }

    /// Returns a step that sets a register to a constant.
    pub const fn constant(register: u8, value: u32) -> Self {
        let operands = Operands { a: register, b: 0, c: 0, waits: 0, value };
        Self { operation: Operation::Constant, operands }
    }

    /// Returns a step about a line of a cache.
    pub const fn line(operation: Operation, line: CachedLine) -> Self {
        let operands = Operands { a: line.memory, b: 0, c: 0, waits: 0, value: line.offset };
        Self { operation, operands }
    }

    pub const END: Self = Self { operation: Operation::End, ..Self::constant(0, 0) };

    /// Returns the registers that it reads as its operands, if it can have them from the step before.
    const fn reads(&self) -> [Option<u8>; 2] {
        let Operands { b, c, .. } = self.operands;
        match self.operation {
            Operation::Alu(_, Second::Register)
            | Operation::Store(_)
            | Operation::Expect(_)
            | Operation::Branch(_) => [Some(b), Some(c)],
            Operation::Alu(_, Second::Immediate)
            | Operation::Load(_)
            | Operation::JumpRegister
            | Operation::ExpectTarget => [Some(b), None],
            _ => [None, None],
        }
    }

    /// Returns whether it writes its destination, which becomes the last result.
    const fn writes(&self) -> bool {
        matches!(
            self.operation,
            Operation::Constant
                | Operation::Alu(..)
                | Operation::Divide(_)
                | Operation::Load(_)
                | Operation::LoadElsewhere(_)
        )
    }

    /// Returns its function. `last` is the register with the last result before it, and then the one
    /// after it.
    pub fn function(&self, last: &mut Option<u8>) -> StepFn<GraphCode> {
        let function = self.operation.function(last_operand(*last, self.reads()));
        if self.writes() {
            *last = Some(self.operands.a);
        }
        function
    }
}

/// Selects an instance of a generic function by a condition.
macro_rules! by_condition {
    ($condition:expr, $at:ident => $of:expr) => {
        by_condition!($condition, $at => $of,
            Equal NotEqual Less GreaterEqual LessUnsigned GreaterEqualUnsigned)
    };
    ($condition:expr, $at:ident => $of:expr, $($name:ident)*) => {
        match $condition {
            $(Condition::$name => {
                const $at: usize = Condition::$name as usize;
                $of
            })*
        }
    };
}

/// Selects an instance of a generic function by the width of an access.
macro_rules! by_width {
    ($width:expr, $at:ident => $of:expr) => {
        by_width!($width, $at => $of, Byte ByteUnsigned Half HalfUnsigned Word)
    };
    ($width:expr, $at:ident => $of:expr, $($name:ident)*) => {
        match $width {
            $(Width::$name => {
                const $at: usize = Width::$name as usize;
                $of
            })*
        }
    };
}

/// Selects an instance of a generic function by the number of bytes of a store.
macro_rules! by_bytes {
    ($width:expr, $at:ident => $of:expr) => {
        match $width.bytes() {
            1 => {
                const $at: u32 = 1;
                $of
            }
            2 => {
                const $at: u32 = 2;
                $of
            }
            _ => {
                const $at: u32 = 4;
                $of
            }
        }
    };
}

impl Operation {
    /// Returns the function of steps that do this. `last` is the operand that is the last result.
    fn function(self, last: LastOperand) -> StepFn<GraphCode> {
        match self {
            Self::End => threaded!(steps::end),
            Self::Find => threaded!(steps::find),
            Self::Fetch => threaded!(steps::fetch),
            Self::FetchLatest => threaded!(steps::fetch_latest),
            Self::Constant => threaded!(steps::constant),
            Self::Alu(alu, Second::Immediate) => by_last!(last, LAST => by_alu!(
                alu,
                ALU => threaded!(steps::alu_immediate::<ALU, LAST>),
                else threaded!(steps::leave)
            ), FIRST),
            Self::Alu(alu, Second::Register) => by_last!(last, LAST => by_alu!(
                alu,
                ALU => threaded!(steps::alu::<ALU, LAST>),
                else threaded!(steps::leave)
            )),
            Self::Divide(Divide::Quotient) => threaded!(steps::divide::<0>),
            Self::Divide(Divide::QuotientUnsigned) => threaded!(steps::divide::<1>),
            Self::Divide(Divide::Remainder) => threaded!(steps::divide::<2>),
            Self::Divide(Divide::RemainderUnsigned) => threaded!(steps::divide::<3>),
            Self::Load(width) => by_last!(last, LAST => by_width!(width, WIDTH => {
                threaded!(steps::load::<WIDTH, LAST>, steps::load_slowly::<WIDTH, LAST>)
            }), FIRST),
            Self::LoadElsewhere(width) => by_width!(width, WIDTH => {
                threaded!(steps::load_slowly::<WIDTH, NEITHER>)
            }),
            Self::Store(width) => by_last!(last, LAST => by_bytes!(width, BYTES => {
                threaded!(steps::store::<BYTES, LAST>, steps::store_slowly::<BYTES, LAST>)
            })),
            Self::StoreElsewhere(width) => by_bytes!(width, BYTES => {
                threaded!(steps::store_slowly::<BYTES, NEITHER>)
            }),
            Self::Expect(condition) => by_last!(last, LAST => {
                by_condition!(condition, AT => threaded!(steps::expect::<AT, LAST>))
            }),
            Self::Branch(condition) => by_last!(last, LAST => {
                by_condition!(condition, AT => threaded!(steps::branch::<AT, LAST>))
            }),
            Self::JumpRegister => {
                by_last!(last, LAST => threaded!(steps::jump_register::<LAST>), FIRST)
            }
            Self::ExpectTarget => {
                by_last!(last, LAST => threaded!(steps::expect_target::<LAST>), FIRST)
            }
        }
    }
}
