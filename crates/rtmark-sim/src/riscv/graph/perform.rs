//! The functions that nodes run: one per operation, width and condition.

use super::{LEAVE, Node, Run};
use crate::riscv::exec::{self, alu as results};
use crate::riscv::hart::Hart;
use crate::riscv::isa::Instruction;
use crate::riscv::isa::op::{Alu, Condition, Op, Second, Width};
use crate::riscv::system::System;

/// Changes only the program counter.
fn nothing(_: &mut Hart, _: &mut System, _: &Node) -> usize {
    0
}

fn load_upper(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    hart.set(node.it.rd, node.it.imm as u32);
    0
}

fn add_upper_to_pc(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    hart.set(node.it.rd, node.pc.wrapping_add(node.it.imm as u32));
    0
}

fn link(hart: &mut Hart, node: &Node) {
    hart.set(node.it.rd, node.pc.wrapping_add(node.it.size.into()));
}

fn jump(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    link(hart, node);
    0
}

/// Returns the target of an indirect jump.
pub const fn target(hart: &Hart, it: &Instruction) -> u32 {
    hart.get(it.rs1).wrapping_add(it.imm as u32) & !1
}

fn jump_register(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let way = node.way(target(hart, &node.it));
    if way != LEAVE {
        link(hart, node);
    }
    way
}

const CONDITIONS: [Condition; 6] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::Less,
    Condition::GreaterEqual,
    Condition::LessUnsigned,
    Condition::GreaterEqualUnsigned,
];

fn branch<const WHICH: usize>(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let (a, b) = (hart.get(node.it.rs1), hart.get(node.it.rs2));
    node.branch(results::holds(const { CONDITIONS[WHICH] }, a, b))
}

/// The operations with functions of their own.
const ALUS: [Alu; 18] = [
    Alu::Add,
    Alu::Sub,
    Alu::ShiftLeft,
    Alu::ShiftRight,
    Alu::ShiftRightArithmetic,
    Alu::Less,
    Alu::LessUnsigned,
    Alu::And,
    Alu::Or,
    Alu::Xor,
    Alu::Multiply,
    Alu::MultiplyHigh,
    Alu::MultiplyHighUnsigned,
    Alu::ShiftAdd(1),
    Alu::ShiftAdd(2),
    Alu::ShiftAdd(3),
    Alu::RotateRight,
    Alu::ZeroExtendHalf,
];

fn by_registers<const WHICH: usize>(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let (a, b) = (hart.get(node.it.rs1), hart.get(node.it.rs2));
    hart.set(node.it.rd, results::alu(const { ALUS[WHICH] }, a, b));
    0
}

fn by_immediate<const WHICH: usize>(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let (a, b) = (hart.get(node.it.rs1), node.it.imm as u32);
    hart.set(node.it.rd, results::alu(const { ALUS[WHICH] }, a, b));
    0
}

/// Executes an operation without a function of its own.
fn any(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    if calculate(hart, &node.it, |_| true) { 0 } else { LEAVE }
}

/// Executes an operation on registers or a division, if `may` accepts its cycles beyond the first.
/// Returns whether it did.
pub fn calculate(hart: &mut Hart, it: &Instruction, may: impl FnOnce(u32) -> bool) -> bool {
    if !may(exec::calculation(hart, it).unwrap_or(0).into()) {
        return false;
    }
    let (a, b) = (hart.get(it.rs1), hart.get(it.rs2));
    let result = match it.op {
        Op::Alu(operation, Second::Register) => results::any(operation, a, b),
        Op::Alu(operation, Second::Immediate) => results::any(operation, a, it.imm as u32),
        Op::Divide(operation) => results::divide(operation, a, b),
        _ => return false,
    };
    hart.set(it.rd, result);
    true
}

/// Executes a division, if one of the same duration has an edge at this node.
fn divide(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let Op::Divide(operation) = node.it.op else { return LEAVE };
    let way = node.way(exec::calculation(hart, &node.it).unwrap_or(0).into());
    if way != LEAVE {
        let (a, b) = (hart.get(node.it.rs1), hart.get(node.it.rs2));
        hart.set(node.it.rd, results::divide(operation, a, b));
    }
    way
}

const WIDTHS: [Width; 5] =
    [Width::Byte, Width::ByteUnsigned, Width::Half, Width::HalfUnsigned, Width::Word];

/// Reads from a memory with constant wait states. Returns the bytes and the wait states.
#[inline(always)]
fn read<const BYTES: usize>(system: &mut System, address: u32) -> Option<([u8; BYTES], u8)> {
    match system.bus.ram_load(address) {
        Some(bytes) => Some((bytes, system.ports.data)),
        None => read_slow(system, address),
    }
}

/// Reads bytes outside the RAM that has the fast path. Returns them with their wait states.
#[inline(never)]
pub fn read_slow<const BYTES: usize>(
    system: &mut System,
    address: u32,
) -> Option<([u8; BYTES], u8)> {
    if let Some(found) = system.near_flash(address) {
        return Some(found);
    }
    let (place, waits) = system.steady_place(address)?;
    system.bus.note_slow(address, place);
    if !system.bus.is_writable(place.memory) {
        system.bus.code_place(address);
    }
    Some((system.bus.load_at(place.memory, place.offset as usize)?, waits))
}

fn load<const WIDTH: usize>(hart: &mut Hart, system: &mut System, node: &Node) -> usize {
    let width = const { WIDTHS[WIDTH] };
    let address = hart.get(node.it.rs1).wrapping_add(node.it.imm as u32);
    if address & (width.bytes() - 1) != 0 {
        return LEAVE;
    }
    let found = match width {
        Width::Byte => {
            read(system, address).map(|([byte], waits)| (byte.cast_signed() as u32, waits))
        }
        Width::ByteUnsigned => read(system, address).map(|([byte], waits)| (byte.into(), waits)),
        Width::Half => {
            read(system, address).map(|(half, waits)| (i16::from_le_bytes(half) as u32, waits))
        }
        Width::HalfUnsigned => {
            read(system, address).map(|(half, waits)| (u16::from_le_bytes(half).into(), waits))
        }
        Width::Word => read(system, address).map(|(word, waits)| (u32::from_le_bytes(word), waits)),
    };
    let Some((value, waits)) = found else { return LEAVE };
    let way = node.way(waits.into());
    if way != LEAVE {
        hart.set(node.it.rd, value);
    }
    way
}

/// Writes to a memory with constant wait states, if no code may have been executed from there.
/// Returns the node's edge, or [`LEAVE`].
#[inline(always)]
fn write<const BYTES: usize>(
    system: &mut System,
    node: &Node,
    address: u32,
    bytes: [u8; BYTES],
) -> usize {
    let way = node.way(system.ports.data.into());
    if way != LEAVE && system.bus.ram_store(address, bytes) {
        return way;
    }
    let mut way = LEAVE;
    let is_written = write_slow(system, address, bytes, |waits| {
        way = node.way(waits.into());
        way != LEAVE
    });
    if is_written { way } else { LEAVE }
}

/// Stores bytes outside the RAM that has the fast path, if `may` accepts their wait states and no
/// code may have been executed from there. Returns whether it did.
#[inline(never)]
pub fn write_slow<const BYTES: usize>(
    system: &mut System,
    address: u32,
    bytes: [u8; BYTES],
    may: impl FnOnce(u8) -> bool,
) -> bool {
    let Some((place, waits)) = system.steady_place(address) else { return false };
    if !may(waits) || system.bus.code_writes.covers(address) {
        return false;
    }
    system.bus.note_slow(address, place);
    system.bus.store_at(place.memory, place.offset as usize, bytes)
}

fn store<const WIDTH: usize>(hart: &mut Hart, system: &mut System, node: &Node) -> usize {
    let bytes = const { WIDTHS[WIDTH].bytes() };
    let address = hart.get(node.it.rs1).wrapping_add(node.it.imm as u32);
    if address & (bytes - 1) != 0 {
        return LEAVE;
    }
    let [a, b, c, d] = hart.get(node.it.rs2).to_le_bytes();
    match bytes {
        1 => write(system, node, address, [a]),
        2 => write(system, node, address, [a, b]),
        _ => write(system, node, address, [a, b, c, d]),
    }
}

macro_rules! by_number {
    ($name:ident, $number:expr, $($at:literal)*) => {
        match $number {
            $(Some($at) => $name::<$at>,)*
            _ => any,
        }
    };
}

/// Returns the function of an instruction, or `None` if it is always executed on the slow path.
pub fn pick(it: &Instruction) -> Option<Run> {
    let run: Run = match it.op {
        Op::Alu(..) | Op::LoadUpper | Op::AddUpperToPc if it.rd == 0 => nothing,
        Op::Alu(operation, second) => {
            let which = ALUS.iter().position(|alu| *alu == operation);
            match second {
                Second::Register => {
                    by_number!(by_registers, which, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17)
                }
                Second::Immediate => {
                    by_number!(by_immediate, which, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17)
                }
            }
        }
        Op::LoadUpper => load_upper,
        Op::AddUpperToPc => add_upper_to_pc,
        Op::Jump => jump,
        Op::JumpRegister => jump_register,
        Op::Branch(condition) => match condition {
            Condition::Equal => branch::<0>,
            Condition::NotEqual => branch::<1>,
            Condition::Less => branch::<2>,
            Condition::GreaterEqual => branch::<3>,
            Condition::LessUnsigned => branch::<4>,
            Condition::GreaterEqualUnsigned => branch::<5>,
        },
        Op::Load(width) => match width {
            Width::Byte => load::<0>,
            Width::ByteUnsigned => load::<1>,
            Width::Half => load::<2>,
            Width::HalfUnsigned => load::<3>,
            Width::Word => load::<4>,
        },
        Op::Store(width) => match width {
            Width::Byte | Width::ByteUnsigned => store::<0>,
            Width::Half | Width::HalfUnsigned => store::<2>,
            Width::Word => store::<4>,
        },
        Op::Divide(_) => divide,
        Op::Fence => nothing,
        _ => return None,
    };
    Some(run)
}
