//! Flags that native code writes only where something may read them.
//!
//! Most instructions that set flags are followed by others that set them again. In between, native code only
//! remembers from which registers they follow. It writes them where it is left, and before such a register changes.

use bitflags::bitflags;

use crate::engine::native::assembler::{Alu, Assembler, Cond, Operand, Reg, Shift};
use crate::engine::native::frame;

bitflags! {
    /// Flags of the program, as far as they are kept in one place ([`crate::arch::armm::registers::Cpu`]).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u8 {
        const NZ = 1;
        const C = 2;
        const V = 4;
    }
}

impl Flags {
    /// Returns the flags on which a condition depends.
    pub const fn of_condition(condition: u8) -> Self {
        match condition >> 1 {
            0 | 2 => Self::NZ,
            1 => Self::C,
            3 => Self::V,
            4 => Self::NZ.union(Self::C),
            _ => Self::NZ.union(Self::V),
        }
    }
}

/// What the host's flags say after a calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFlags {
    /// Zero and sign of a result.
    Logic,
    /// Those of an addition, with the carry that an addition has.
    Sum,
    /// Those of a subtraction, whose carry is a borrow.
    Difference,
}

impl HostFlags {
    /// Returns the flags after an operation.
    pub const fn after(alu: Alu) -> Self {
        match alu {
            Alu::Add | Alu::Adc => Self::Sum,
            Alu::Sub | Alu::Sbb | Alu::Cmp => Self::Difference,
            Alu::And | Alu::Or | Alu::Xor => Self::Logic,
        }
    }

    /// Returns the host's condition for a condition of the program, if it has one.
    pub const fn condition(self, condition: u8) -> Option<Cond> {
        let is_sum = !matches!(self, Self::Logic);
        let cond = match (condition >> 1, self) {
            (0, _) => Cond::EQUAL,
            (1, Self::Sum) => Cond::BELOW,
            (1, Self::Difference) => Cond::NOT_BELOW,
            (2, _) => Cond::SIGN,
            (3, _) if is_sum => Cond::OVERFLOW,
            (4, Self::Difference) => Cond::ABOVE,
            (5, _) if is_sum => Cond::NOT_LESS,
            (6, _) if is_sum => Cond::GREATER,
            _ => return None,
        };
        Some(if condition & 1 == 1 { cond.inverse() } else { cond })
    }
}

/// A value from which flags follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Register(u8),
    Immediate(u32),
}

/// The calculation from which flags follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// They are zero and sign of a register.
    Result(u8),
    /// They are those of an operation.
    Operation { alu: Alu, x: Value, y: Value },
    /// They are those of an addition or subtraction of `y` with this result.
    Undone { alu: Alu, result: u8, y: Value },
}

impl Recipe {
    fn depends_on(self, register: u8) -> bool {
        let register = Value::Register(register);
        match self {
            Self::Result(result) => Value::Register(result) == register,
            Self::Operation { x, y, .. } => x == register || y == register,
            Self::Undone { result, y, .. } => Value::Register(result) == register || y == register,
        }
    }

    /// Repeats the calculation. Its result is in RAX then, and its flags are the host's.
    pub fn repeat(self, asm: &mut Assembler) -> HostFlags {
        let load = |asm: &mut Assembler, value| match value {
            Value::Register(register) => {
                asm.mov(Reg::RAX, Operand::Field(frame::register(register)));
            }
            Value::Immediate(value) => asm.mov_immediate(Reg::RAX, value),
        };
        let apply = |asm: &mut Assembler, alu, value| match value {
            Value::Register(register) => {
                asm.alu(alu, Reg::RAX, Operand::Field(frame::register(register)));
            }
            Value::Immediate(value) => asm.alu_immediate(alu, Operand::Reg(Reg::RAX), value),
        };
        match self {
            Self::Result(result) => {
                load(asm, Value::Register(result));
                asm.test(Reg::RAX);
                HostFlags::Logic
            }
            Self::Operation { alu, x, y } => {
                load(asm, x);
                apply(asm, alu, y);
                HostFlags::after(alu)
            }
            Self::Undone { alu, result, y } => {
                let undo = if alu == Alu::Add { Alu::Sub } else { Alu::Add };
                load(asm, Value::Register(result));
                apply(asm, undo, y);
                apply(asm, alu, y);
                HostFlags::after(alu)
            }
        }
    }
}

/// Writes flags that are the host's. Their result is in RAX; RCX is overwritten.
pub fn write(asm: &mut Assembler, host: HostFlags, flags: Flags) {
    match host {
        HostFlags::Sum if flags.contains(Flags::C) => asm.set_field(Cond::BELOW, frame::C),
        HostFlags::Difference if flags.contains(Flags::C) => {
            asm.set_field(Cond::NOT_BELOW, frame::C);
        }
        _ => {}
    }
    if flags.contains(Flags::NZ) {
        asm.store_wide(frame::NZ, Reg::RAX);
    }
    if flags.contains(Flags::V) && host != HostFlags::Logic {
        asm.set(Cond::OVERFLOW, Reg::RCX);
        asm.shift(Shift::Shl, Reg::RCX, 31);
        asm.store(frame::V, Reg::RCX);
    }
}

/// Flags that are not written yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pending {
    nz: Option<Recipe>,
    c: Option<Recipe>,
    v: Option<Recipe>,
}

const EACH: [Flags; 3] = [Flags::NZ, Flags::C, Flags::V];

impl Pending {
    const fn place(&mut self, flag: Flags) -> &mut Option<Recipe> {
        match flag {
            Flags::NZ => &mut self.nz,
            Flags::C => &mut self.c,
            _ => &mut self.v,
        }
    }

    /// Flags follow from a recipe, or have been written.
    pub fn set(&mut self, flags: Flags, recipe: Option<Recipe>) {
        for flag in EACH {
            if flags.contains(flag) {
                *self.place(flag) = recipe;
            }
        }
    }

    /// Returns the flags that follow from a register.
    pub fn depending_on(mut self, register: u8) -> Flags {
        let depends = |recipe: &Option<Recipe>| recipe.is_some_and(|it| it.depends_on(register));
        EACH.into_iter().filter(|flag| depends(self.place(*flag))).collect()
    }

    /// Returns the recipe of flags, if they have one in common.
    pub fn common(mut self, flags: Flags) -> Option<Recipe> {
        let mut recipes = EACH.into_iter().filter(|flag| flags.contains(*flag));
        let first = (*self.place(recipes.next()?))?;
        recipes.all(|flag| *self.place(flag) == Some(first)).then_some(first)
    }

    /// Writes those of some flags that have not been written. RAX and RCX are overwritten.
    pub fn write(&mut self, asm: &mut Assembler, flags: Flags) {
        for flag in EACH {
            let recipe = self.place(flag).filter(|_| flags.contains(flag));
            let Some(recipe) = recipe else { continue };
            let same = EACH.into_iter().filter(|it| flags.contains(*it));
            let same: Flags = same.filter(|it| *self.place(*it) == Some(recipe)).collect();
            let host = recipe.repeat(asm);
            write(asm, host, same);
            self.set(same, None);
        }
    }
}

/// Compares written flags so that a condition of the host tells whether one of the program holds. RAX and RCX are
/// overwritten.
pub fn compare_written(asm: &mut Assembler, condition: u8) -> Cond {
    let cond = match condition >> 1 {
        0 => {
            asm.alu_immediate(Alu::Cmp, Operand::Field(frame::NZ), 0);
            Cond::EQUAL
        }
        1 => {
            asm.compare_byte(frame::C, 0);
            Cond::NOT_EQUAL
        }
        2 => {
            asm.compare_wide(frame::NZ, i32::MAX as u32);
            Cond::ABOVE
        }
        3 => {
            asm.alu_immediate(Alu::Cmp, Operand::Field(frame::V), 0);
            Cond::SIGN
        }
        4 => {
            // C is set and Z is clear.
            asm.compare_byte(frame::C, 0);
            asm.set(Cond::NOT_EQUAL, Reg::RAX);
            clear_if_zero(asm);
            Cond::NOT_EQUAL
        }
        5 => {
            equal_signs(asm);
            asm.test_byte(Reg::RAX, 1);
            Cond::NOT_EQUAL
        }
        _ => {
            equal_signs(asm);
            clear_if_zero(asm);
            Cond::NOT_EQUAL
        }
    };
    if condition & 1 == 1 { cond.inverse() } else { cond }
}

/// Sets the lowest bit of RAX if N equals V.
fn equal_signs(asm: &mut Assembler) {
    asm.compare_wide(frame::NZ, i32::MAX as u32);
    asm.set(Cond::ABOVE.inverse(), Reg::RAX);
    asm.mov(Reg::RCX, Operand::Field(frame::V));
    asm.shift(Shift::Shr, Reg::RCX, 31);
    asm.alu(Alu::Xor, Reg::RAX, Operand::Reg(Reg::RCX));
}

/// Clears the lowest bit of RAX if Z is set, and tests it.
fn clear_if_zero(asm: &mut Assembler) {
    asm.alu_immediate(Alu::Cmp, Operand::Field(frame::NZ), 0);
    asm.set(Cond::NOT_EQUAL, Reg::RCX);
    asm.alu(Alu::And, Reg::RAX, Operand::Reg(Reg::RCX));
    asm.test_byte(Reg::RAX, 1);
}
