//! The steps of data processing: for most operations one per kind of second operand.

#![expect(clippy::unnecessary_wraps, reason = "the functions of all steps have the same type")]

use super::steps::{Carry, GraphCode, Operands, branch, node};
use crate::armr::cpu::Cpu;
use crate::armr::exec::{Arch, extended, product, results, with_bits};
use crate::armr::isa::op::{Alu, Bits, Instruction, Multiply, Narrow, SecondOperand, Sign};
use crate::armr::timing::Pipeline;
use crate::exec::{shift, shift_some};
use crate::superblock::{FIRST, LastOperand, NEITHER, SECOND, StepFn, StepResult, threaded};

/// The operations, indexed by their numbers.
const ALUS: [Alu; 17] = {
    let mut all = [Alu::Orn; 17];
    let mut at = 0;
    while at < 16 {
        all[at] = Alu::of(at as u32);
        at += 1;
    }
    all
};

/// The kind of a second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operand {
    Immediate,
    /// An immediate whose highest bit is also the shifter's carry-out.
    Carrying,
    Register,
    /// A register shifted by an immediate distance.
    Left,
    Right,
    Arithmetic,
    Rotated,
    /// A register and the carry flag, shifted by one bit (RRX).
    Extended,
    /// A register shifted by another.
    LeftBy,
    RightBy,
    ArithmeticBy,
    RotatedBy,
}

impl Operand {
    const ALL: [Self; 12] = [
        Self::Immediate,
        Self::Carrying,
        Self::Register,
        Self::Left,
        Self::Right,
        Self::Arithmetic,
        Self::Rotated,
        Self::Extended,
        Self::LeftBy,
        Self::RightBy,
        Self::ArithmeticBy,
        Self::RotatedBy,
    ];

    /// Returns the kind of an instruction's second operand. `carries` is whether it matters what the
    /// shifter carries out.
    pub fn of(it: &Instruction, second: SecondOperand, carries: bool) -> Self {
        match (second, it.shift.kind) {
            (SecondOperand::ImmediateCarry, _) if carries => Self::Carrying,
            (SecondOperand::Immediate | SecondOperand::ImmediateCarry, _) => Self::Immediate,
            (SecondOperand::Shifted, _) if it.shift.is_none() => Self::Register,
            (SecondOperand::Shifted, kind @ 0..4) => {
                Self::ALL[Self::Left as usize + usize::from(kind)]
            }
            (SecondOperand::Shifted, _) => Self::Extended,
            (SecondOperand::ByRegister, kind) => {
                Self::ALL[Self::LeftBy as usize + usize::from(kind & 3)]
            }
        }
    }

    /// Returns whether the shifter's carry-out may differ from the carry flag.
    pub const fn carries(self) -> bool {
        !matches!(self, Self::Immediate | Self::Register)
    }

    /// Returns whether the shifter's carry-out is the carry flag for some distances.
    pub const fn passes_carry(self) -> bool {
        matches!(
            self,
            Self::Extended | Self::LeftBy | Self::RightBy | Self::ArithmeticBy | Self::RotatedBy
        )
    }

    /// Returns the second operand of a step whose second register has a value, and the shifter's
    /// carry-out.
    #[inline(always)]
    fn get(self, step: &Operands, register: u32, cpu: &Cpu) -> (u32, bool) {
        let (carry, distance) = (cpu.carry(), u32::from(step.d));
        let by = |kind| shift(register, kind, cpu.get(step.d) & 0xFF, carry);
        match self {
            Self::Immediate => (step.value, carry),
            Self::Carrying => (step.value, step.value >> 31 == 1),
            Self::Register => (register, carry),
            Self::Left => shift_some(register, 0, distance & 31, carry),
            Self::Right => shift_some(register, 1, distance & 63, carry),
            Self::Arithmetic => shift_some(register, 2, distance & 63, carry),
            Self::Rotated => shift_some(register, 3, distance & 31, carry),
            Self::Extended => shift_some(register, 4, 1, carry),
            Self::LeftBy => by(0),
            Self::RightBy => by(1),
            Self::ArithmeticBy => by(2),
            Self::RotatedBy => by(3),
        }
    }
}

/// Executes an operation on a register and a second operand.
#[inline(always)]
pub fn data<const ALU: usize, const OPERAND: usize, const SETS: bool, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    _: &mut Pipeline,
    carry: &mut Carry,
) -> StepResult {
    let (cpu, alu) = (&mut arch.cpu, const { ALUS[ALU] });
    let register = if LAST == SECOND { carry.last } else { cpu.get(step.c) };
    let (y, shifter) = const { Operand::ALL[OPERAND] }.get(step, register, cpu);
    let results = results(alu, step.first::<LAST>(cpu, carry), y, cpu.carry(), shifter);
    if SETS {
        cpu.note(alu, results);
    }
    if !alu.compares() {
        step.set(cpu, carry, results.0);
    }
    Ok(())
}

/// Executes an operation that sets the flags, and a branch that depends on them if that goes as expected.
#[inline(always)]
pub fn data_and_branch<
    const ALU: usize,
    const OPERAND: usize,
    const LAST: LastOperand,
    const CONDITION: u8,
    const BACKWARDS: bool,
>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    if let Err(key) = data::<ALU, OPERAND, true, LAST>(step, arch, pipeline, carry) {
        return Some(Err(key));
    }
    branch::<CONDITION, BACKWARDS>(step, arch, pipeline, carry)
}

/// Sets a register to a constant.
#[inline(always)]
pub const fn constant(
    step: &Operands,
    arch: &mut Arch,
    _: &mut Pipeline,
    carry: &mut Carry,
) -> StepResult {
    step.set(&mut arch.cpu, carry, step.value);
    Ok(())
}

/// Executes an operation on a register by a function of the operands.
macro_rules! registers {
    ($result:expr) => {
        threaded!(|step: &Operands, arch: &mut Arch, _: &mut Pipeline, carry: &mut Carry| {
            let result = $result(step, &arch.cpu);
            step.set(&mut arch.cpu, carry, result);
            Ok(())
        })
    };
}

/// Returns the function of a multiplication, or that of a node if it has none.
pub fn multiplication(multiply: Multiply) -> StepFn<GraphCode> {
    macro_rules! by_kind {
        ($($short:ident)*; $($long:ident)*) => {
            match multiply {
                $(Multiply::$short => registers!(|step: &Operands, cpu: &Cpu| {
                    let (n, m, a) = (cpu.get(step.b), cpu.get(step.c), cpu.get(step.d));
                    product(const { Multiply::$short }, n, m, a.into()) as u32
                }),)*
                $(Multiply::$long => {
                    threaded!(|step: &Operands, arch: &mut Arch, _: &mut Pipeline, _: &mut Carry| {
                        let cpu = &mut arch.cpu;
                        let (n, m) = (cpu.get(step.b), cpu.get(step.c));
                        let before = cpu.pair(step.a, step.d);
                        let value = product(const { Multiply::$long }, n, m, before);
                        cpu.set_pair(step.a, step.d, value);
                        Ok(())
                    })
                })*
                _ => threaded!(node),
            }
        };
    }
    by_kind!(Mul Mla Mls; Umull Smull Umlal Smlal)
}

/// Returns the function of an extension.
pub fn extension(narrow: Narrow, sign: Sign) -> StepFn<GraphCode> {
    macro_rules! by_kind {
        ($($narrow:ident $sign:ident)*) => {
            match (narrow, sign) {
                $((Narrow::$narrow, Sign::$sign) => registers!(|step: &Operands, cpu: &Cpu| {
                    let start = if step.b == 15 { 0 } else { cpu.get(step.b) };
                    let rotated = cpu.get(step.c).rotate_right(step.value);
                    extended(const { Narrow::$narrow }, const { Sign::$sign }, start, rotated)
                }),)*
            }
        };
    }
    by_kind!(Byte Unsigned Byte Signed Half Unsigned Half Signed Bytes Unsigned Bytes Signed)
}

/// Returns the function of an operation on bits.
pub fn bit_operation(bits: Bits) -> StepFn<GraphCode> {
    macro_rules! by_kind {
        ($($bits:ident $(($sign:ident))?)*) => {
            match bits {
                $(Bits::$bits $((Sign::$sign))? => registers!(|step: &Operands, cpu: &Cpu| {
                    let bits = const { Bits::$bits $((Sign::$sign))? };
                    let (d, n, m) = (cpu.get(step.a), cpu.get(step.b), cpu.get(step.c));
                    with_bits(bits, d, (n, m), (step.value, step.d))
                }),)*
            }
        };
    }
    by_kind!(
        Clz Rbit Rev Rev16 Revsh Insert Clear Extract(Unsigned) Extract(Signed) Top
    )
}

/// Returns the function of an operation. `last` is the operand that is the result of the step before.
pub fn function(alu: Alu, operand: Operand, sets: bool, last: LastOperand) -> StepFn<GraphCode> {
    macro_rules! operands {
        ($alu:literal: $($last:ident: $($with:literal)*;)* $($operand:literal)*) => {
            match (operand as usize, sets, last) {
                $($(
                    ($with, false, $last) => threaded!(data::<$alu, $with, false, $last>),
                    ($with, true, $last) => threaded!(data::<$alu, $with, true, $last>),
                )*)*
                $(
                    ($operand, false, _) => threaded!(data::<$alu, $operand, false, NEITHER>),
                    ($operand, true, _) => threaded!(data::<$alu, $operand, true, NEITHER>),
                )*
                _ => threaded!(node),
            }
        };
    }
    macro_rules! operations {
        ($($alu:literal)*) => {
            match alu as usize {
                $($alu => operands!(
                    $alu: FIRST: 0 2 3 4 5; SECOND: 2 3 4 5 6; 0 1 2 3 4 5 6 7 8 9 10 11
                ),)*
                _ => threaded!(node),
            }
        };
    }
    operations!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}
