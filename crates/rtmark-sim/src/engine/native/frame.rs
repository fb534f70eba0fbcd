//! The state's fields that native code reads and writes, as offsets from the registers.

use std::mem::offset_of;

use crate::arch::armm::registers::Cpu;
use crate::engine::native::assembler::Field;
use crate::state::State;

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

/// Returns the field of a register.
pub const fn register(register: u8) -> Field {
    of_cpu(offset_of!(Cpu, r) + 4 * (register as usize & 15))
}

const fn of_cpu(offset: usize) -> Field {
    Field(offset as i32)
}

const fn of_state(offset: usize) -> Field {
    Field(offset as i32 - BASE as i32)
}
