//! The operations of a block, of eight bytes each, and the loop that executes them.

use super::super::exec::alu as results;
use super::super::hart::Hart;
use super::super::isa::Instruction;
use super::super::isa::op::{Alu, Condition, Op, Second, Width};
use super::super::system::System;
use super::perform;

/// One operation of a block.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub code: Code,
    /// The destination, never 0; or the wait states that a store must have.
    pub a: u8,
    /// The first source, or the base register of an address.
    pub b: u8,
    /// The second source, or the wait states that a load must have.
    pub c: u8,
    /// The immediate, a constant, an expected value, or an index into `Blocks::rare`.
    pub value: u32,
}

/// An instruction without a code of its own, and the key of the edge that its block follows.
#[derive(Clone, Copy, Debug)]
pub struct RareStep {
    pub it: Instruction,
    pub key: u32,
}

impl Step {
    /// Returns a step that sets a register to a constant.
    pub const fn constant(register: u8, value: u32) -> Self {
        Self { code: Code::Constant, a: register, b: 0, c: 0, value }
    }

    #[inline(always)]
    fn set(self, hart: &mut Hart, value: u32) -> bool {
        hart.set_any(self.a, value);
        true
    }

    #[inline(always)]
    fn holds(self, hart: &Hart, condition: Condition) -> bool {
        results::holds(condition, hart.get(self.b), hart.get(self.c))
    }

    /// Loads `N` bytes, if they are aligned and have the wait states that the block expects.
    /// Returns whether it did.
    #[inline(always)]
    fn load<const N: usize>(
        self,
        hart: &mut Hart,
        system: &mut System,
        extend: fn([u8; N]) -> u32,
    ) -> bool {
        let address = hart.get(self.b).wrapping_add(self.value);
        if address & (N as u32 - 1) != 0 {
            return false;
        }
        let found = match system.bus.ram_load(address) {
            Some(bytes) if system.ports.data == self.c => Some(bytes),
            Some(_) => None,
            None => load_elsewhere(system, address, self.c),
        };
        match found {
            Some(bytes) => self.set(hart, extend(bytes)),
            None => false,
        }
    }

    /// Stores `N` bytes, if they are aligned, have the wait states that the block expects, and hold
    /// no code. Returns whether it did.
    #[inline(always)]
    fn store<const N: usize>(
        self,
        hart: &Hart,
        system: &mut System,
        take: fn([u8; 4]) -> [u8; N],
    ) -> bool {
        let address = hart.get(self.b).wrapping_add(self.value);
        let bytes = take(hart.get(self.c).to_le_bytes());
        if address & (N as u32 - 1) != 0 {
            return false;
        }
        let is_quick = system.ports.data == self.a && system.bus.ram_store(address, bytes);
        is_quick || store_elsewhere(system, address, bytes, self.a)
    }
}

#[inline(never)]
fn load_elsewhere<const N: usize>(
    system: &mut System,
    address: u32,
    expected: u8,
) -> Option<[u8; N]> {
    let (bytes, waits) = perform::read_slow(system, address)?;
    (waits == expected).then_some(bytes)
}

#[inline(never)]
fn store_elsewhere<const N: usize>(
    system: &mut System,
    address: u32,
    bytes: [u8; N],
    expected: u8,
) -> bool {
    perform::write_slow(system, address, bytes, |waits| waits == expected)
}

/// Executes an instruction without a code of its own, if it takes the cycles that the block
/// expects. Returns whether it did.
#[inline(never)]
fn perform_rare(rare: Option<&RareStep>, hart: &mut Hart) -> bool {
    rare.is_some_and(|RareStep { it, key }| perform::calculate(hart, it, |cycles| cycles == *key))
}

macro_rules! codes {
    ($($registers:ident $immediate:ident $alu:expr;)*) => {
        /// The operation of a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Code {
            $($registers, $immediate,)*
            Constant,
            LoadByte,
            LoadByteUnsigned,
            LoadHalf,
            LoadHalfUnsigned,
            LoadWord,
            StoreByte,
            StoreHalf,
            StoreWord,
            /// Continues only if the condition holds.
            ExpectEqual,
            ExpectNotEqual,
            ExpectLess,
            ExpectGreaterEqual,
            ExpectLessUnsigned,
            ExpectGreaterEqualUnsigned,
            /// Continues only if the register has the value.
            ExpectValue,
            /// Ends the block with one of two outcomes.
            ForkEqual,
            ForkNotEqual,
            ForkLess,
            ForkGreaterEqual,
            ForkLessUnsigned,
            ForkGreaterEqualUnsigned,
            Rare,
        }

        impl Code {
            /// Returns the code of an operation, if it has one.
            fn of_alu(alu: Alu, second: Second) -> Option<Self> {
                $(
                    if alu == $alu {
                        return Some(match second {
                            Second::Register => Self::$registers,
                            Second::Immediate => Self::$immediate,
                        });
                    }
                )*
                None
            }
        }

        /// Executes a block's steps. Returns their number if all were executed, plus one if the
        /// block ends in a branch that is taken. Otherwise returns the index of the first step
        /// whose check failed, which has had no effect.
        #[inline(never)]
        pub fn run(steps: &[Step], rare: &[RareStep], hart: &mut Hart, system: &mut System) -> usize {
            let mut left = steps.iter();
            while let Some(step) = left.next() {
                let fork = |holds: bool| steps.len() + usize::from(holds);
                let continues = match step.code {
                    $(
                        Code::$registers => {
                            let (a, b) = (hart.get(step.b), hart.get(step.c));
                            step.set(hart, results::alu(const { $alu }, a, b))
                        }
                        Code::$immediate => {
                            let a = hart.get(step.b);
                            step.set(hart, results::alu(const { $alu }, a, step.value))
                        }
                    )*
                    Code::Constant => step.set(hart, step.value),
                    Code::LoadByte => {
                        step.load(hart, system, |[byte]| byte.cast_signed() as u32)
                    }
                    Code::LoadByteUnsigned => step.load(hart, system, |[byte]| byte.into()),
                    Code::LoadHalf => {
                        step.load(hart, system, |half| i16::from_le_bytes(half) as u32)
                    }
                    Code::LoadHalfUnsigned => {
                        step.load(hart, system, |half| u16::from_le_bytes(half).into())
                    }
                    Code::LoadWord => step.load(hart, system, u32::from_le_bytes),
                    Code::StoreByte => step.store(hart, system, |[a, ..]| [a]),
                    Code::StoreHalf => step.store(hart, system, |[a, b, ..]| [a, b]),
                    Code::StoreWord => step.store(hart, system, |word| word),
                    Code::ExpectEqual => step.holds(hart, Condition::Equal),
                    Code::ExpectNotEqual => step.holds(hart, Condition::NotEqual),
                    Code::ExpectLess => step.holds(hart, Condition::Less),
                    Code::ExpectGreaterEqual => step.holds(hart, Condition::GreaterEqual),
                    Code::ExpectLessUnsigned => step.holds(hart, Condition::LessUnsigned),
                    Code::ExpectGreaterEqualUnsigned => {
                        step.holds(hart, Condition::GreaterEqualUnsigned)
                    }
                    Code::ExpectValue => hart.get(step.b) == step.value,
                    Code::ForkEqual => return fork(step.holds(hart, Condition::Equal)),
                    Code::ForkNotEqual => return fork(step.holds(hart, Condition::NotEqual)),
                    Code::ForkLess => return fork(step.holds(hart, Condition::Less)),
                    Code::ForkGreaterEqual => {
                        return fork(step.holds(hart, Condition::GreaterEqual));
                    }
                    Code::ForkLessUnsigned => {
                        return fork(step.holds(hart, Condition::LessUnsigned));
                    }
                    Code::ForkGreaterEqualUnsigned => {
                        return fork(step.holds(hart, Condition::GreaterEqualUnsigned));
                    }
                    Code::Rare => perform_rare(rare.get(step.value as usize), hart),
                };
                if !continues {
                    return steps.len() - left.len() - 1;
                }
            }
            steps.len()
        }
    };
}

codes! {
    Add AddImmediate Alu::Add;
    Sub SubImmediate Alu::Sub;
    ShiftLeft ShiftLeftImmediate Alu::ShiftLeft;
    ShiftRight ShiftRightImmediate Alu::ShiftRight;
    ShiftRightArithmetic ShiftRightArithmeticImmediate Alu::ShiftRightArithmetic;
    Less LessImmediate Alu::Less;
    LessUnsigned LessUnsignedImmediate Alu::LessUnsigned;
    And AndImmediate Alu::And;
    Or OrImmediate Alu::Or;
    Xor XorImmediate Alu::Xor;
    Multiply MultiplyImmediate Alu::Multiply;
    MultiplyHigh MultiplyHighImmediate Alu::MultiplyHigh;
    MultiplyHighUnsigned MultiplyHighUnsignedImmediate Alu::MultiplyHighUnsigned;
    ShiftAdd1 ShiftAdd1Immediate Alu::ShiftAdd(1);
    ShiftAdd2 ShiftAdd2Immediate Alu::ShiftAdd(2);
    ShiftAdd3 ShiftAdd3Immediate Alu::ShiftAdd(3);
    RotateRight RotateRightImmediate Alu::RotateRight;
    ZeroExtendHalf ZeroExtendHalfImmediate Alu::ZeroExtendHalf;
}

impl Code {
    /// Returns the code that checks that a branch is taken, or that it is not.
    const fn expecting(condition: Condition, taken: bool) -> Self {
        match (condition, taken) {
            (Condition::Equal, true) | (Condition::NotEqual, false) => Self::ExpectEqual,
            (Condition::NotEqual, true) | (Condition::Equal, false) => Self::ExpectNotEqual,
            (Condition::Less, true) | (Condition::GreaterEqual, false) => Self::ExpectLess,
            (Condition::GreaterEqual, true) | (Condition::Less, false) => Self::ExpectGreaterEqual,
            (Condition::LessUnsigned, true) | (Condition::GreaterEqualUnsigned, false) => {
                Self::ExpectLessUnsigned
            }
            (Condition::GreaterEqualUnsigned, true) | (Condition::LessUnsigned, false) => {
                Self::ExpectGreaterEqualUnsigned
            }
        }
    }

    const fn fork(condition: Condition) -> Self {
        match condition {
            Condition::Equal => Self::ForkEqual,
            Condition::NotEqual => Self::ForkNotEqual,
            Condition::Less => Self::ForkLess,
            Condition::GreaterEqual => Self::ForkGreaterEqual,
            Condition::LessUnsigned => Self::ForkLessUnsigned,
            Condition::GreaterEqualUnsigned => Self::ForkGreaterEqualUnsigned,
        }
    }
}

impl Step {
    /// Returns the branch that ends a block with either outcome.
    pub const fn fork(it: &Instruction, condition: Condition) -> Self {
        Self { code: Code::fork(condition), a: 0, b: it.rs1, c: it.rs2, value: 0 }
    }

    /// Returns the branch that continues with one outcome only.
    pub const fn branch(it: &Instruction, condition: Condition, taken: bool) -> Self {
        let code = Code::expecting(condition, taken);
        Self { code, a: 0, b: it.rs1, c: it.rs2, value: 0 }
    }

    /// Returns the indirect jump that continues only if it leads to a target.
    pub const fn jump_register(it: &Instruction, target: u32) -> Self {
        let value = target.wrapping_sub(it.imm as u32);
        Self { code: Code::ExpectValue, a: 0, b: it.rs1, c: 0, value }
    }

    /// Returns an operation on registers whose destination is not `x0`, if it has a code.
    pub fn alu(it: &Instruction, alu: Alu, second: Second) -> Option<Self> {
        let code = Code::of_alu(alu, second)?;
        Some(Self { code, a: it.rd, b: it.rs1, c: it.rs2, value: it.imm as u32 })
    }

    /// Returns a store, or a load into a register other than `x0`, with its wait states.
    pub fn access(it: &Instruction, waits: u8) -> Option<Self> {
        let value = it.imm as u32;
        let load = |code| Self { code, a: it.rd, b: it.rs1, c: waits, value };
        let store = |code| Self { code, a: waits, b: it.rs1, c: it.rs2, value };
        match it.op {
            Op::Load(_) if it.rd == 0 => None,
            Op::Load(Width::Byte) => Some(load(Code::LoadByte)),
            Op::Load(Width::ByteUnsigned) => Some(load(Code::LoadByteUnsigned)),
            Op::Load(Width::Half) => Some(load(Code::LoadHalf)),
            Op::Load(Width::HalfUnsigned) => Some(load(Code::LoadHalfUnsigned)),
            Op::Load(Width::Word) => Some(load(Code::LoadWord)),
            Op::Store(Width::Byte | Width::ByteUnsigned) => Some(store(Code::StoreByte)),
            Op::Store(Width::Half | Width::HalfUnsigned) => Some(store(Code::StoreHalf)),
            Op::Store(Width::Word) => Some(store(Code::StoreWord)),
            _ => None,
        }
    }
}
