//! The operations of blocks, as steps of threaded code.

#![expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    reason = "the functions of all steps have the same type"
)]

use super::super::exec::{self, alu as results};
use super::super::hart::Hart;
use super::super::isa::op::{Alu, Condition, Divide, Width};
use super::super::system::System;
use super::super::timing::CachedLine;
use super::perform;
use crate::superblock::{END, FIRST, LEAVE, LastOperand, SECOND, StepResult, Threaded};

/// Hazard3 and Ibex.
#[derive(Clone, Copy, Debug)]
pub enum GraphCode {}

impl Threaded for GraphCode {
    type Registers = Hart;
    type System = System;
    /// The value that was last written to a register.
    type Carry = u32;
    type Operands = Operands;
    type Point = Point;
    type Condition = ();
    /// The number of a list of lines that caches must hold: see `Memo::lines`.
    type Needs = u32;
}

/// The progress of a run at some point of a block, counted from the block's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The next node.
    pub node: u32,
    pub cycles: u32,
    /// The wait states of loads and stores.
    pub waited: u32,
    /// The number of instructions.
    pub count: u32,
}

/// The operands of a step.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The destination, never 0.
    pub a: u8,
    /// The first source, or the base register of an address.
    pub b: u8,
    /// The second source.
    pub c: u8,
    /// The wait states that a load or store must have, or the cycles of a division beyond the first.
    pub waits: u8,
    /// The immediate, a constant, the key of an outcome that ends the block, or an expected target.
    pub value: u32,
}

impl Operands {
    #[inline(always)]
    const fn first<const LAST: LastOperand>(self, hart: &Hart, last: u32) -> u32 {
        if LAST == FIRST { last } else { hart.get(self.b) }
    }

    #[inline(always)]
    const fn second<const LAST: LastOperand>(self, hart: &Hart, last: u32) -> u32 {
        if LAST == SECOND { last } else { hart.get(self.c) }
    }

    /// Sets the destination.
    #[inline(always)]
    const fn set(self, hart: &mut Hart, last: &mut u32, value: u32) {
        hart.set_any(self.a, value);
        *last = value;
    }

    /// Returns the line of a cache that they are about.
    #[inline(always)]
    const fn line(self) -> CachedLine {
        CachedLine { memory: self.a, offset: self.value }
    }
}

/// Continues only if a cache holds a line.
#[inline(always)]
pub fn find(step: &Operands, _: &mut Hart, system: &mut System, _: &mut u32) -> StepResult {
    if system.holds(step.line()) { Ok(()) } else { Err(LEAVE) }
}

/// Continues only if a cache holds a line as the latest of its set, so that using it changes nothing.
#[inline(always)]
pub fn fetch_latest(step: &Operands, _: &mut Hart, system: &mut System, _: &mut u32) -> StepResult {
    if system.has_latest(step.line()) { Ok(()) } else { Err(LEAVE) }
}

/// Continues only if a cache holds a line, which is used.
#[inline(always)]
pub fn fetch(step: &Operands, _: &mut Hart, system: &mut System, _: &mut u32) -> StepResult {
    if system.use_held(step.line()) { Ok(()) } else { Err(LEAVE) }
}

/// Executes an operation on two registers.
#[inline(always)]
pub fn alu<const ALU: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    let (a, b) = (step.first::<LAST>(hart, *last), step.second::<LAST>(hart, *last));
    step.set(hart, last, results::alu(const { Alu::ALL[ALU] }, a, b));
    Ok(())
}

/// Executes an operation on a register and an immediate.
#[inline(always)]
pub fn alu_immediate<const ALU: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    let a = step.first::<LAST>(hart, *last);
    step.set(hart, last, results::alu(const { Alu::ALL[ALU] }, a, step.value));
    Ok(())
}

/// Sets a register to a constant.
#[inline(always)]
pub const fn constant(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    step.set(hart, last, step.value);
    Ok(())
}

/// Executes a division that takes the cycles that the block expects.
#[inline(always)]
pub fn divide<const DIVIDE: usize>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    let operation = const { Divide::ALL[DIVIDE] };
    let (a, b) = (hart.get(step.b), hart.get(step.c));
    if exec::division(hart, operation, a, b) != step.waits {
        return Err(LEAVE);
    }
    step.set(hart, last, results::divide(operation, a, b));
    Ok(())
}

/// Loads a value by a function that reads at an address.
#[inline(always)]
fn load_by<const WIDTH: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    last: &mut u32,
    read: impl FnOnce(u32, Width) -> Option<u32>,
) -> Option<StepResult> {
    let width = const { Width::ALL[WIDTH] };
    let address = step.first::<LAST>(hart, *last).wrapping_add(step.value);
    if address & (width.bytes() - 1) != 0 {
        return None;
    }
    step.set(hart, last, read(address, width)?);
    Some(Ok(()))
}

/// Loads from the main RAM, which waits as often as the block expects.
#[inline(always)]
pub fn load<const WIDTH: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    system: &mut System,
    last: &mut u32,
) -> Option<StepResult> {
    load_by::<WIDTH, LAST>(step, hart, last, |address, width| {
        perform::read_ram(system, address, width)
    })
}

/// Loads from memory that waits as often as the block expects.
#[inline(always)]
pub fn load_slowly<const WIDTH: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    system: &mut System,
    last: &mut u32,
) -> StepResult {
    let loaded = load_by::<WIDTH, LAST>(step, hart, last, |address, width| {
        let (value, waits) = perform::read(system, address, width)?;
        (waits == step.waits).then_some(value)
    });
    loaded.unwrap_or(Err(LEAVE))
}

/// Stores a value by a function that writes to an address.
#[inline(always)]
fn store_by<const BYTES: u32, const LAST: LastOperand>(
    step: &Operands,
    hart: &Hart,
    last: u32,
    write: impl FnOnce(u32, u32) -> bool,
) -> Option<StepResult> {
    let address = step.first::<LAST>(hart, last).wrapping_add(step.value);
    let value = step.second::<LAST>(hart, last);
    (address & (BYTES - 1) == 0 && write(address, value)).then_some(Ok(()))
}

/// Stores to the main RAM, which waits as often as the block expects.
#[inline(always)]
pub fn store<const BYTES: u32, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    system: &mut System,
    last: &mut u32,
) -> Option<StepResult> {
    store_by::<BYTES, LAST>(step, hart, *last, |address, value| {
        perform::write_ram::<BYTES>(system, address, value)
    })
}

/// Stores to memory that waits as often as the block expects.
#[inline(always)]
pub fn store_slowly<const BYTES: u32, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    system: &mut System,
    last: &mut u32,
) -> StepResult {
    let stored = store_by::<BYTES, LAST>(step, hart, *last, |address, value| {
        perform::write::<BYTES>(system, address, value, |waits| waits == step.waits)
    });
    stored.unwrap_or(Err(LEAVE))
}

/// Continues only if a condition holds, and otherwise ends the block with the key in the step's value.
#[inline(always)]
pub const fn expect<const CONDITION: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    let (a, b) = (step.first::<LAST>(hart, *last), step.second::<LAST>(hart, *last));
    if results::holds(const { Condition::ALL[CONDITION] }, a, b) { Ok(()) } else { Err(step.value) }
}

/// Ends the block with the outcome of a branch.
#[inline(always)]
pub const fn branch<const CONDITION: usize, const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    let (a, b) = (step.first::<LAST>(hart, *last), step.second::<LAST>(hart, *last));
    Err(results::holds(const { Condition::ALL[CONDITION] }, a, b) as u32)
}

/// Returns the address in a step's register plus its second one as a signed number.
#[inline(always)]
const fn target<const LAST: LastOperand>(step: &Operands, hart: &Hart, last: u32) -> u32 {
    step.first::<LAST>(hart, last).wrapping_add_signed(step.c as i8 as i32) & !1
}

/// Jumps to a register plus a small number. Continues only at the expected target, and otherwise ends
/// the block with the target.
#[inline(always)]
pub const fn jump_register<const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    let target = target::<LAST>(step, hart, *last);
    if target == step.value { Ok(()) } else { Err(target) }
}

/// Continues only if a jump to a register plus a small number leads to the expected target.
#[inline(always)]
pub const fn expect_target<const LAST: LastOperand>(
    step: &Operands,
    hart: &mut Hart,
    _: &mut System,
    last: &mut u32,
) -> StepResult {
    if target::<LAST>(step, hart, *last) == step.value { Ok(()) } else { Err(LEAVE) }
}

/// Ends the block.
pub const fn end(_: &Operands, _: &mut Hart, _: &mut System, _: &mut u32) -> StepResult {
    Err(END)
}

/// Ends the block before its instruction.
pub const fn leave(_: &Operands, _: &mut Hart, _: &mut System, _: &mut u32) -> StepResult {
    Err(LEAVE)
}
