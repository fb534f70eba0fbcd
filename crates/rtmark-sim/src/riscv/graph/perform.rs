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

fn branch<const WHICH: usize>(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let (a, b) = (hart.get(node.it.rs1), hart.get(node.it.rs2));
    node.branch(results::holds(const { Condition::ALL[WHICH] }, a, b))
}

fn by_registers<const ALU: usize>(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let (a, b) = (hart.get(node.it.rs1), hart.get(node.it.rs2));
    hart.set(node.it.rd, results::alu(const { Alu::ALL[ALU] }, a, b));
    0
}

fn by_immediate<const ALU: usize>(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let (a, b) = (hart.get(node.it.rs1), node.it.imm as u32);
    hart.set(node.it.rd, results::alu(const { Alu::ALL[ALU] }, a, b));
    0
}

/// Executes a division, if one of the same duration has an edge at this node.
fn divide(hart: &mut Hart, _: &mut System, node: &Node) -> usize {
    let Op::Divide(operation) = node.it.op else { return LEAVE };
    let (a, b) = (hart.get(node.it.rs1), hart.get(node.it.rs2));
    let way = node.way(exec::division(hart, operation, a, b).into());
    if way != LEAVE {
        hart.set(node.it.rd, results::divide(operation, a, b));
    }
    way
}

/// Reads from the main RAM.
#[inline(always)]
pub fn read_ram(system: &System, address: u32, width: Width) -> Option<u32> {
    let bytes = match width.bytes() {
        1 => system.bus.ram_load(address).map(|[a]| [a, 0, 0, 0]),
        2 => system.bus.ram_load(address).map(|[a, b]| [a, b, 0, 0]),
        _ => system.bus.ram_load(address),
    };
    Some(width.extend(bytes?))
}

/// Reads from a memory with constant wait states, or from the latest line of a set of its cache. Returns the
/// value and the wait states.
#[inline(always)]
pub fn read(system: &mut System, address: u32, width: Width) -> Option<(u32, u8)> {
    if let Some(value) = read_ram(system, address, width) {
        return Some((value, system.ports.data));
    }
    let (bytes, waits) = match width.bytes() {
        1 => read_elsewhere(system, address).map(|([a], waits)| ([a, 0, 0, 0], waits)),
        2 => read_elsewhere(system, address).map(|([a, b], waits)| ([a, b, 0, 0], waits)),
        _ => read_elsewhere(system, address),
    }?;
    Some((width.extend(bytes), waits))
}

/// Reads bytes outside the main RAM. Returns them with their wait states.
#[inline(never)]
fn read_elsewhere<const BYTES: usize>(
    system: &mut System,
    address: u32,
) -> Option<([u8; BYTES], u8)> {
    if let Some(found) = system.near_flash(address) {
        return Some(found);
    }
    let Some((place, waits)) = system.steady_place(address) else {
        // The next read there finds it near.
        system.bus.code_place(address);
        return None;
    };
    system.bus.note_slow(address, place);
    if !system.bus.is_writable(place.memory) {
        system.bus.code_place(address);
    }
    Some((system.bus.load_at(place.memory, place.offset as usize)?, waits))
}

fn load<const WIDTH: usize>(hart: &mut Hart, system: &mut System, node: &Node) -> usize {
    let width = const { Width::ALL[WIDTH] };
    let address = hart.get(node.it.rs1).wrapping_add(node.it.imm as u32);
    if address & (width.bytes() - 1) != 0 {
        return LEAVE;
    }
    let Some((value, waits)) = read(system, address, width) else { return LEAVE };
    let way = node.way(waits.into());
    if way != LEAVE {
        hart.set(node.it.rd, value);
    }
    way
}

/// Writes the lower bytes of a word to the main RAM, if no code may have been executed from there.
/// Returns whether it did.
#[inline(always)]
pub fn write_ram<const BYTES: u32>(system: &mut System, address: u32, word: u32) -> bool {
    let [a, b, c, d] = word.to_le_bytes();
    match BYTES {
        1 => system.bus.ram_store(address, [a]),
        2 => system.bus.ram_store(address, [a, b]),
        _ => system.bus.ram_store(address, [a, b, c, d]),
    }
}

/// Writes the lower bytes of a word to a memory with constant wait states, if `may` accepts these and
/// no code may have been executed from there. Returns whether it did.
#[inline(always)]
pub fn write<const BYTES: u32>(
    system: &mut System,
    address: u32,
    word: u32,
    mut may: impl FnMut(u8) -> bool,
) -> bool {
    if may(system.ports.data) && write_ram::<BYTES>(system, address, word) {
        return true;
    }
    let [a, b, c, d] = word.to_le_bytes();
    match BYTES {
        1 => write_elsewhere(system, address, [a], may),
        2 => write_elsewhere(system, address, [a, b], may),
        _ => write_elsewhere(system, address, [a, b, c, d], may),
    }
}

/// Writes bytes outside the main RAM, if `may` accepts their wait states and no code may have been
/// executed from there. Returns whether it did.
#[inline(never)]
fn write_elsewhere<const BYTES: usize>(
    system: &mut System,
    address: u32,
    bytes: [u8; BYTES],
    mut may: impl FnMut(u8) -> bool,
) -> bool {
    let Some((place, waits)) = system.steady_place(address) else { return false };
    if !may(waits) || system.bus.code_writes.covers(address) {
        return false;
    }
    system.bus.note_slow(address, place);
    system.bus.store_at(place.memory, place.offset as usize, bytes)
}

fn store<const BYTES: u32>(hart: &mut Hart, system: &mut System, node: &Node) -> usize {
    let address = hart.get(node.it.rs1).wrapping_add(node.it.imm as u32);
    if address & (BYTES - 1) != 0 {
        return LEAVE;
    }
    let mut way = LEAVE;
    let is_written = write::<BYTES>(system, address, hart.get(node.it.rs2), |waits| {
        way = node.way(waits.into());
        way != LEAVE
    });
    if is_written { way } else { LEAVE }
}

/// Selects an instance of a function by the number of an operation.
macro_rules! by_alu {
    ($alu:expr, $at:ident => $of:expr, else $other:expr) => {
        by_alu!($alu, $at => $of, else $other,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
            36 37 38 39 40 41 42 43 44 45 46 47 48 49 50)
    };
    ($alu:expr, $at:ident => $of:expr, else $other:expr, $($number:literal)*) => {
        match $alu.number() {
            $(Some($number) => {
                const $at: usize = $number;
                $of
            })*
            _ => $other,
        }
    };
}
pub(super) use by_alu;

/// Returns the function of an instruction, or `None` if it is always executed on the slow path.
pub fn pick(it: &Instruction) -> Option<Run> {
    let run: Run = match it.op {
        Op::Alu(..) | Op::LoadUpper | Op::AddUpperToPc if it.rd == 0 => nothing,
        Op::Alu(alu, Second::Register) => {
            by_alu!(alu, ALU => by_registers::<ALU>, else return None)
        }
        Op::Alu(alu, Second::Immediate) => {
            by_alu!(alu, ALU => by_immediate::<ALU>, else return None)
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
        Op::Store(width) => match width.bytes() {
            1 => store::<1>,
            2 => store::<2>,
            _ => store::<4>,
        },
        Op::Divide(_) => divide,
        Op::Fence => nothing,
        _ => return None,
    };
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_list_has_a_function() {
        for alu in Alu::ALL {
            let number = by_alu!(alu, ALU => Some(ALU), else None);
            assert_eq!(number, alu.number(), "{alu:?}");
        }
    }
}
