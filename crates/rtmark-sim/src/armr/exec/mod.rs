//! The effect of each operation on registers, flags and memory, close to the pseudocode of DDI
//! 0406.
//!
//! Nothing here knows about time: [`Effects`] describes to the timing model what an instruction did.

mod alu;
mod control_flow;
mod float;
mod media;
mod memory;
mod status;

pub use alu::{extended, product, results, with_bits};

use super::control::{AccessFault, Control, CounterValues, Kind, Maintenance};
use super::cpu::{Cpu, Mode, psr};
use super::isa::op::{Hint, Instruction, Op};
use super::system::System;
use crate::soc::Soc;

/// The architectural state.
#[derive(Clone, Debug)]
pub struct Arch {
    pub cpu: Cpu,
    pub control: Control,
    pub system: System,
}

/// Why an instruction does not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// An undefined instruction, one not permitted now, or floating point while it is disabled.
    Undefined {
        float: bool,
    },
    /// SVC, with its number.
    Call(u32),
    /// BKPT.
    Breakpoint,
    Code {
        address: u32,
        why: AccessFault,
    },
    Data {
        address: u32,
        why: AccessFault,
        writes: bool,
    },
    /// IRQ and FIQ.
    Interrupt,
    FastInterrupt,
}

pub const UNDEFINED: Exception = Exception::Undefined { float: false };

/// The memory traffic of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub address: u32,
    pub bytes: u32,
    pub reads: bool,
    pub writes: bool,
    pub kind: Kind,
}

/// The effects of an instruction that may influence its timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Whether its condition failed.
    pub skipped: bool,
    /// The target, if it branched. CPSR holds the instruction set.
    pub jump: Option<u32>,
    pub traffic: Option<Traffic>,
    /// The dividend and divisor of a division.
    pub quotient: Option<(u32, u32)>,
    pub maintenance: Option<Maintenance>,
    /// Whether it was WFI or WFE.
    pub sleeps: bool,
    /// ITSTATE restored by an exception return, which is not advanced.
    pub returns: Option<u8>,
}

pub type Result<T> = std::result::Result<T, Exception>;

impl Arch {
    pub fn new(soc: &Soc, pc: u32) -> Self {
        Self {
            cpu: Cpu::new(pc),
            control: Control::new(soc.mpu_regions(), soc.vectors != Some(0)),
            system: System::new(soc),
        }
    }

    /// Executes the instruction at the program counter, and moves to the next one.
    ///
    /// # Errors
    /// The exception that it raises; registers are unchanged then.
    pub fn execute(&mut self, it: &Instruction, now: CounterValues) -> Result<Effects> {
        let condition = self.cpu.block_condition().unwrap_or(it.condition);
        let mut done = Effects::default();
        let inside_it = self.cpu.it != 0;
        if self.cpu.holds(condition) {
            self.perform(it, now, inside_it, &mut done)?;
        } else {
            done.skipped = true;
        }
        // IT sets the state of the block that it begins.
        if self.cpu.it != 0
            && (!matches!(it.op, Op::IfThen) || done.skipped)
            && done.returns.is_none()
        {
            self.cpu.advance_it();
        }
        self.cpu.pc = done.jump.unwrap_or(self.cpu.pc.wrapping_add(it.size.into()));
        Ok(done)
    }

    /// Performs an operation regardless of its condition.
    ///
    /// # Errors
    /// The exception that it raises; registers are unchanged then.
    pub fn perform(
        &mut self,
        it: &Instruction,
        now: CounterValues,
        inside_it: bool,
        done: &mut Effects,
    ) -> Result<()> {
        match it.op {
            Op::Undefined => return Err(UNDEFINED),
            Op::Data(alu, second, _) => return self.data(it, alu, second, inside_it, done),
            Op::AddressOf => self.cpu.set(it.d, it.imm),
            Op::Multiply(multiply, _) => self.multiply(it, multiply, inside_it),
            Op::Divide(sign) => return self.divide(it, sign, done),
            Op::Bits(bits) => self.bits(it, bits),
            Op::Extend(narrow, sign) => self.extend(it, narrow, sign),
            Op::Saturate(sign) => self.saturate(it, sign),
            Op::Saturate16(sign) => self.saturate_halves(it, sign),
            Op::Parallel(parallel, fit, sign) => self.parallel(it, parallel, fit, sign),
            Op::Saturating(number) => self.saturating(it, number),
            Op::Select => self.select(it),
            Op::Pack => self.pack(it),
            Op::Differences => self.differences(it),
            Op::Load(..)
            | Op::Store(..)
            | Op::LoadDual(_)
            | Op::StoreDual(_)
            | Op::LoadMultiple(..)
            | Op::StoreMultiple(..)
            | Op::Swap(_)
            | Op::LoadExclusive(_)
            | Op::StoreExclusive(_)
            | Op::StoreReturn(..)
            | Op::ReturnFrom(..) => return self.transfer(it, now.cycle, done),
            Op::ClearExclusive => self.cpu.exclusive = None,
            Op::Branch => done.jump = Some(it.imm),
            Op::BranchLink
            | Op::BranchExchange
            | Op::BranchLinkExchange
            | Op::CompareBranch
            | Op::TableBranch => return self.branch(it, now.cycle, done),
            Op::IfThen => self.cpu.it = it.imm as u8,
            Op::Call => return Err(Exception::Call(it.imm)),
            Op::Breakpoint => return Err(Exception::Breakpoint),
            // An event that has come is taken in place of the sleep (DDI 0406, B1.8.13).
            Op::Hint(Hint::WaitForEvent) => done.sleeps = !std::mem::take(&mut self.cpu.event),
            Op::Hint(Hint::WaitForInterrupt) => done.sleeps = true,
            Op::Hint(Hint::SendEvent) => self.cpu.event = true,
            Op::Hint(_) => {}
            Op::Barrier(barrier) => done.maintenance = Some(status::effect(barrier)),
            Op::Float(op) => return self.float(it, op, now.cycle, done),
            _ => return self.system_operation(it, now, done),
        }
        Ok(())
    }

    /// Writes the program counter, with the instruction set in the lowest bit (BXWritePC).
    pub fn exchange(&mut self, target: u32, done: &mut Effects) {
        let thumb = target & 1 == 1;
        self.cpu.set_thumb(thumb);
        done.jump = Some(target & if thumb { !1 } else { !3 });
    }

    /// Writes the program counter with an arithmetic result. In A32 it also selects the instruction
    /// set (ALUWritePC).
    fn write_pc(&mut self, target: u32, done: &mut Effects) {
        if self.cpu.is_thumb() {
            done.jump = Some(target & !1);
        } else {
            self.exchange(target, done);
        }
    }

    /// Takes an exception. Returns the address of its handler, which comes next.
    pub fn enter(&mut self, exception: Exception, size: u8) -> u32 {
        let (pc, thumb) = (self.cpu.pc, self.cpu.is_thumb());
        // DDI 0406, table B1-7: the value of the link register.
        let (mode, offset, vector) = match exception {
            Exception::Undefined { .. } => (Mode::Undefined, if thumb { 2 } else { 4 }, 0x04),
            Exception::Call(_) => (Mode::Supervisor, u32::from(size), 0x08),
            Exception::Breakpoint | Exception::Code { .. } => (Mode::Abort, 4, 0x0C),
            Exception::Data { .. } => (Mode::Abort, 8, 0x10),
            Exception::Interrupt => (Mode::Irq, 4, 0x18),
            Exception::FastInterrupt => (Mode::Fiq, 4, 0x1C),
        };
        match exception {
            Exception::Breakpoint => self.control.note_code_fault(pc, 2),
            Exception::Code { address, why } => self.control.note_code_fault(address, why as u32),
            Exception::Data { address, why, writes } => {
                self.control.note_data_fault(address, why as u32, writes);
            }
            Exception::Call(_) => self.cpu.advance_it(),
            _ => {}
        }
        self.cpu.enter(mode, pc.wrapping_add(offset));
        let sctlr = self.control.sctlr;
        self.cpu.set_bit(psr::I, true);
        let asynchronous = !matches!(exception, Exception::Undefined { .. } | Exception::Call(_));
        if asynchronous {
            self.cpu.set_bit(psr::A, true);
        }
        if exception == Exception::FastInterrupt {
            self.cpu.set_bit(psr::F, true);
        }
        self.cpu.set_thumb(sctlr & super::control::sctlr::TE != 0);
        self.cpu.set_bit(psr::E, sctlr & super::control::sctlr::EE != 0);
        self.cpu.pc = self.control.vectors() + vector;
        self.cpu.pc
    }
}
