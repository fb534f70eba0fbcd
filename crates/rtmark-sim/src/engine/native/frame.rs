//! The state's fields that native code reads and writes, as offsets from the registers.

use std::mem::offset_of;

use crate::arch::armm::registers::Cpu;
use crate::engine::native::assembler::Field;
use crate::state::State;
use crate::timing::offsets;

/// Where the pointer that native code receives points, in the state.
pub const BASE: usize = offset_of!(State, cpu);

/// N and Z.
pub const NZ: Field = of_cpu(offset_of!(Cpu, nz));
pub const C: Field = of_cpu(offset_of!(Cpu, c));
pub const V: Field = of_cpu(offset_of!(Cpu, v));
/// The exception being handled, 16 bits.
pub const IPSR: Field = of_cpu(offset_of!(Cpu, ipsr));
/// The lowest byte of CONTROL.
pub const CONTROL: Field = of_cpu(offset_of!(Cpu, control));
/// The addresses of RAM that hold decoded code: the lowest one, and one past the highest.
pub const CODE_LOW: Field = of_state(offset_of!(State, bus.code_writes.low));
pub const CODE_HIGH: Field = of_state(offset_of!(State, bus.code_writes.high));
/// The end of the main stack, if that is watched; otherwise zero.
pub const STACK_END: Field = of_state(offset_of!(State, watches.stack.end));
/// Whether the local monitor is set, as a byte.
pub const EXCLUSIVE: Field = of_state(offset_of!(State, exclusive));
/// Where the links are, 64 bits.
pub const LINKS: Field = of_state(offset_of!(State, chain.links));
/// The target of a jump to an address that is not known in advance.
pub const TARGET: Field = of_state(offset_of!(State, chain.target));
/// Where it continues after the current instruction, 64 bits.
pub const NEXT: Field = of_state(offset_of!(State, chain.next));
/// Where the contents of the memory from which code comes are, 64 bits.
pub const CODE: Field = of_state(offset_of!(State, chain.code));
/// The cycle in which the current pass began, and the instructions executed before it, 64 bits each.
pub const CYCLES: Field = of_state(offset_of!(State, chain.cycles));
pub const INSTRUCTIONS: Field = of_state(offset_of!(State, chain.instructions));
/// The cycle before which all steps of a pass must begin, 64 bits.
pub const DEADLINE: Field = of_state(offset_of!(State, chain.deadline));
/// Which schedule the current pass executes.
pub const CURRENT: Field = of_state(offset_of!(State, chain.current));
/// An address in the line from which code comes.
pub const LINE: Field = of_state(offset_of!(State, line));

/// What the memory from which code comes has in its read buffer.
pub const BUFFERED: Field = of_lines(offsets::BUFFERED);
/// What it reads ahead, and when that can be used, 64 bits.
pub const AHEAD: Field = of_lines(offsets::AHEAD);
pub const READY: Field = of_lines(offsets::READY);
/// How long the core has waited for it, 64 bits.
pub const WAITED: Field = of_lines(offsets::WAITED);
/// Which two lines it caches, if these are few.
pub const FEW: Field = of_lines(offsets::FEW);
pub const OTHER_OF_FEW: Field = of_lines(offsets::FEW + 4);
/// Where the lines of code and of data are that it caches, if these are many, 64 bits each.
pub const CODE_LINES: Field = of_state(offset_of!(State, chain.code_lines));
pub const DATA_LINES: Field = of_state(offset_of!(State, chain.data_lines));
/// The number of those lines of code, 64 bits.
pub const CONTENTS: Field = of_state(offset_of!(State, chain.contents));

/// Returns the field of a register.
pub const fn register(register: u8) -> Field {
    of_cpu(offset_of!(Cpu, r) + 4 * (register as usize & 15))
}

const fn of_cpu(offset: usize) -> Field {
    Field(offset as i32)
}

const fn of_lines(offset: usize) -> Field {
    of_state(offset_of!(State, lines) + offset)
}

const fn of_state(offset: usize) -> Field {
    Field(offset as i32 - BASE as i32)
}
