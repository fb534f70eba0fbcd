//! The micro-operation sequences of Zcmp instructions.
//!
//! Source: the Zc extension, 1.0, for what they do; Hazard3's documentation, "Instruction Cycle
//! Counts", for their steps: loads or stores in ascending order of registers, and the return before
//! the stack pointer moves.

use super::decode::Instruction;
use super::op::{Alu, Op, Second, Width};

const RA: u8 = 1;
const SP: u8 = 2;
const A0: u8 = 10;

/// One step of an instruction. Most instructions have just one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MicroOp {
    /// What it does, as an instruction of its own.
    pub instruction: Instruction,
    pub place: Sequence,
}

/// The position of a micro-operation in its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// The whole instruction.
    Whole,
    /// Others follow; an interrupt restarts the instruction.
    More,
    /// Others follow, and no interrupt is taken before this one.
    MoreUninterrupted,
    /// The last one.
    Last,
    /// The last one, before which no interrupt is taken.
    LastUninterrupted,
}

impl Sequence {
    pub const fn is_last(self) -> bool {
        matches!(self, Self::Whole | Self::Last | Self::LastUninterrupted)
    }

    pub const fn holds_interrupts(self) -> bool {
        matches!(self, Self::MoreUninterrupted | Self::LastUninterrupted)
    }
}

/// Returns how many registers a list contains, including `ra`.
const fn registers(list: i32) -> i32 {
    if list == 15 { 13 } else { list - 3 }
}

/// Returns how many registers a Zcmp instruction loads or stores.
pub const fn listed(whole: &Instruction) -> u32 {
    registers(whole.imm & 15) as u32
}

/// Returns the register at a position of a list.
const fn at_place(at: i32) -> u8 {
    match at {
        0 => RA,
        1 => 8,
        2 => 9,
        at => 15 + at as u8,
    }
}

/// Returns by how much the stack pointer moves.
const fn adjustment(imm: i32) -> i32 {
    let base = match imm & 15 {
        15 => 64,
        12..=14 => 48,
        8..=11 => 32,
        _ => 16,
    };
    base + (imm & 0x30)
}

const fn add(rd: u8, rs1: u8, imm: i32) -> Instruction {
    Instruction { op: Op::Alu(Alu::Add, Second::Immediate), rd, rs1, rs2: 0, imm, size: 2 }
}

/// Returns the micro-operation of an instruction with a number, counted from 0.
pub fn micro_op(whole: &Instruction, number: u8) -> MicroOp {
    let at = i32::from(number);
    match whole.op {
        Op::Push | Op::Pop | Op::PopReturn | Op::PopReturnZero => stack_op(whole, at),
        Op::MoveToSaved if at == 0 => step(add(whole.rs1, A0, 0), Sequence::More),
        Op::MoveToSaved => step(add(whole.rs2, A0 + 1, 0), Sequence::LastUninterrupted),
        Op::MoveFromSaved if at == 0 => step(add(A0, whole.rs1, 0), Sequence::More),
        Op::MoveFromSaved => step(add(A0 + 1, whole.rs2, 0), Sequence::LastUninterrupted),
        _ => step(*whole, Sequence::Whole),
    }
}

const fn step(instruction: Instruction, place: Sequence) -> MicroOp {
    MicroOp { instruction, place }
}

fn stack_op(whole: &Instruction, at: i32) -> MicroOp {
    let (count, adjust) = (registers(whole.imm & 15), adjustment(whole.imm));
    let moved = |op, base| {
        let (register, imm) = (at_place(at), base - 4 * (count - at));
        let instruction = match op {
            Op::Push => Instruction {
                op: Op::Store(Width::Word),
                rd: 0,
                rs1: SP,
                rs2: register,
                imm,
                size: 2,
            },
            _ => Instruction {
                op: Op::Load(Width::Word),
                rd: register,
                rs1: SP,
                rs2: 0,
                imm,
                size: 2,
            },
        };
        step(instruction, Sequence::More)
    };
    let back = Instruction { op: Op::JumpRegister, rd: 0, rs1: RA, rs2: 0, imm: 0, size: 2 };
    match (whole.op, at - count) {
        (Op::Push, ..0) => moved(whole.op, 0),
        (Op::Push, _) => step(add(SP, SP, -adjust), Sequence::Last),
        (_, ..0) => moved(whole.op, adjust),
        (Op::PopReturnZero, 0) => step(add(A0, 0, 0), Sequence::More),
        (Op::PopReturnZero, 1) => step(back, Sequence::MoreUninterrupted),
        (Op::PopReturn, 0) => step(back, Sequence::More),
        _ => step(add(SP, SP, adjust), Sequence::LastUninterrupted),
    }
}
