//! Node functions of data processing: one per operation and kind of second operand.

use super::{LEAVE, Node, Run};
use crate::armr::exec::{Arch, results};
use crate::armr::isa::op::{Alu, Bits, Instruction, Multiply, Narrow, Op, SecondOperand, Sign};
use crate::armr::timing::{Divides, Pipeline, key};
use crate::exec::shift;

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

/// Kinds of second operands: an immediate without or with a carry, a register, a register shifted
/// by LSL, LSR, ASR or any shift, and a register shifted by a register.
const IMMEDIATE: u8 = 0;
const CARRYING: u8 = 1;
const PLAIN: u8 = 2;
const LEFT: u8 = 3;
const RIGHT: u8 = 4;
const ARITHMETIC: u8 = 5;
const SHIFTED: u8 = 6;
const BY_REGISTER: u8 = 7;

fn kind(it: &Instruction, second: SecondOperand) -> u8 {
    match (second, it.shift.kind) {
        (SecondOperand::Immediate, _) => IMMEDIATE,
        (SecondOperand::ImmediateCarry, _) => CARRYING,
        (SecondOperand::Shifted, _) if it.shift.is_none() => PLAIN,
        (SecondOperand::Shifted, 0) => LEFT,
        (SecondOperand::Shifted, 1) => RIGHT,
        (SecondOperand::Shifted, 2) => ARITHMETIC,
        (SecondOperand::Shifted, _) => SHIFTED,
        (SecondOperand::ByRegister, _) => BY_REGISTER,
    }
}

#[inline(always)]
fn second<const KIND: u8>(arch: &Arch, it: &Instruction) -> (u32, bool) {
    let (cpu, carry) = (&arch.cpu, arch.cpu.carry());
    let amount = it.shift.amount.into();
    match KIND {
        IMMEDIATE => (it.imm, carry),
        CARRYING => (it.imm, it.imm >> 31 == 1),
        PLAIN => (cpu.get(it.m), carry),
        LEFT => shift(cpu.get(it.m), 0, amount, carry),
        RIGHT => shift(cpu.get(it.m), 1, amount, carry),
        ARITHMETIC => shift(cpu.get(it.m), 2, amount, carry),
        SHIFTED => shift(cpu.get(it.m), it.shift.kind.into(), amount, carry),
        _ => shift(cpu.get(it.m), it.shift.kind.into(), cpu.get(it.a) & 0xFF, carry),
    }
}

fn alu<const ALU: usize, const KIND: u8, const SETS: bool>(
    arch: &mut Arch,
    _: &mut Pipeline,
    node: &Node,
    _: u64,
) -> u32 {
    let it = &node.it;
    let (alu, (y, shifter)) = (const { ALUS[ALU] }, second::<KIND>(arch, it));
    let results = results(alu, arch.cpu.get(it.n), y, arch.cpu.carry(), shifter);
    if SETS {
        arch.cpu.note(alu, results);
    }
    if !alu.compares() {
        arch.cpu.set(it.d, results.0);
    }
    0
}

macro_rules! by_number {
    ($name:ident, $with:ident, $number:expr, $($at:literal)*) => {
        match $number {
            $($at => $name::<$at>($with.0, $with.1),)*
            _ => return None,
        }
    };
}

macro_rules! kinds {
    ($alu:ident, $kind:expr, $sets:expr, $($at:literal)*) => {
        match ($kind, $sets) {
            $(($at, false) => alu::<$alu, $at, false>,)*
            $(($at, true) => alu::<$alu, $at, true>,)*
            _ => super::perform::leave,
        }
    };
}

fn of_kind<const ALU: usize>(kind: u8, sets: bool) -> Run {
    kinds!(ALU, kind, sets, 0 1 2 3 4 5 6 7)
}

fn multiply<const WHICH: u8>(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let which = const {
        match WHICH {
            0 => Some(Multiply::Mul),
            1 => Some(Multiply::Mla),
            2 => Some(Multiply::Umull),
            3 => Some(Multiply::Smull),
            4 => Some(Multiply::Umlal),
            5 => Some(Multiply::Smlal),
            _ => None,
        }
    };
    if let Op::Multiply(multiply, _) = node.it.op {
        arch.multiply(&node.it, which.unwrap_or(multiply), node.state != 0);
    }
    0
}

fn extend<const WHICH: u8>(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let (narrow, sign) = const {
        match WHICH {
            0 => (Narrow::Byte, Sign::Unsigned),
            1 => (Narrow::Byte, Sign::Signed),
            2 => (Narrow::Half, Sign::Unsigned),
            3 => (Narrow::Half, Sign::Signed),
            4 => (Narrow::Bytes, Sign::Unsigned),
            _ => (Narrow::Bytes, Sign::Signed),
        }
    };
    arch.extend(&node.it, narrow, sign);
    0
}

fn bits(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    if let Op::Bits(bits) = node.it.op {
        arch.bits(&node.it, bits);
    }
    0
}

fn extract(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    arch.bits(&node.it, Bits::Extract(Sign::Unsigned));
    0
}

fn address(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    arch.cpu.set(node.it.d, node.it.imm);
    0
}

/// Executes a division, if one of the same duration has an edge at this node.
fn divide(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let Op::Divide(sign) = node.it.op else { return LEAVE };
    let (n, m) = (arch.cpu.get(node.it.n), arch.cpu.get(node.it.m));
    let key = match sign {
        Sign::Unsigned => key::divided(Divides::Unsigned, n, m),
        Sign::Signed => {
            let (n, m) = (n as i32, m as i32);
            key::divided(Divides::Signed, n.unsigned_abs(), m.unsigned_abs())
        }
    };
    let is_known = node.edge(key).is_some() && m != 0;
    if is_known && arch.divide(&node.it, sign, &mut super::Effects::default()).is_ok() {
        key
    } else {
        LEAVE
    }
}

/// Returns the function of an operation on registers, if it has one of its own.
pub fn pick(it: &Instruction, inside_it: bool) -> Option<Run> {
    Some(match it.op {
        Op::Data(alu, with, _) => {
            let reads_pc = [it.n, it.m, it.a].contains(&15) && {
                let n = it.n == 15 && !alu.is_move();
                let m = it.m == 15
                    && matches!(with, SecondOperand::Shifted | SecondOperand::ByRegister);
                n || m || it.a == 15 && with == SecondOperand::ByRegister
            };
            if reads_pc || it.d == 15 && !alu.compares() {
                return None;
            }
            let sets = it.sets_flags(inside_it) || alu.compares();
            let with = (kind(it, with), sets);
            let number = ALUS.iter().position(|other| *other == alu)?;
            by_number!(of_kind, with, number, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
        }
        Op::Multiply(which, _) => match which {
            Multiply::Mul => multiply::<0>,
            Multiply::Mla => multiply::<1>,
            Multiply::Umull => multiply::<2>,
            Multiply::Smull => multiply::<3>,
            Multiply::Umlal => multiply::<4>,
            Multiply::Smlal => multiply::<5>,
            _ => multiply::<6>,
        },
        Op::Extend(Narrow::Byte, Sign::Unsigned) => extend::<0>,
        Op::Extend(Narrow::Byte, Sign::Signed) => extend::<1>,
        Op::Extend(Narrow::Half, Sign::Unsigned) => extend::<2>,
        Op::Extend(Narrow::Half, Sign::Signed) => extend::<3>,
        Op::Extend(Narrow::Bytes, Sign::Unsigned) => extend::<4>,
        Op::Extend(Narrow::Bytes, Sign::Signed) => extend::<5>,
        Op::Bits(Bits::Extract(Sign::Unsigned)) => extract,
        Op::Bits(_) => bits,
        Op::AddressOf => address,
        Op::Divide(_) => divide,
        _ => return None,
    })
}
