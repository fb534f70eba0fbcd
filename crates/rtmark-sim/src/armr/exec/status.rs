//! Status registers, modes and coprocessors.

use super::{Arch, CounterValues, Effects, Result, UNDEFINED};
use crate::armr::control::{Maintenance, SystemRegister};
use crate::armr::cpu::psr;
use crate::armr::isa::op::{Barrier, Instruction, Op, Status};

/// Returns the effect of a barrier on the memory system and on instruction fetch.
pub const fn effect(barrier: Barrier) -> Maintenance {
    match barrier {
        Barrier::Memory | Barrier::Synchronization => Maintenance::Synchronize,
        Barrier::Instruction => Maintenance::Flush,
    }
}

/// Returns the bits of a status register that the byte mask of an MSR selects.
const fn byte_mask(bytes: u8) -> u32 {
    let mut mask = 0;
    let mut at = 0;
    while at < 4 {
        if bytes >> at & 1 == 1 {
            mask |= 0xFF << (8 * at);
        }
        at += 1;
    }
    mask
}

impl Arch {
    pub(super) fn system_operation(
        &mut self,
        it: &Instruction,
        now: CounterValues,
        done: &mut Effects,
    ) -> Result<()> {
        let privileged = self.cpu.is_privileged();
        match it.op {
            Op::ReadStatus(Status::Current) => {
                // Execution state reads as zero (DDI 0406, B9.3.8). Masks and mode may read as
                // anything in user mode; here they read as they are.
                let hidden = psr::IT | psr::JAZELLE | psr::T;
                self.cpu.set(it.d, self.cpu.cpsr() & !hidden);
            }
            Op::ReadStatus(Status::Saved) => {
                let saved = self.cpu.saved_status().ok_or(UNDEFINED)?;
                self.cpu.set(it.d, saved);
            }
            Op::WriteStatus(which) => {
                let value = if it.n == 15 { it.imm } else { self.cpu.get(it.n) };
                let mask = byte_mask(it.a);
                if which == Status::Saved {
                    let saved = self.cpu.saved_status().ok_or(UNDEFINED)?;
                    let mask = mask & !0x00F0_0000;
                    self.cpu.set_saved_status(saved & !mask | value & mask);
                } else {
                    let open = if privileged { u32::MAX } else { 0xF80F_0000 | psr::E };
                    self.cpu.write_cpsr(value, mask & open & !0x00F0_0000);
                }
            }
            Op::ChangeState => self.change_state(it),
            Op::SetEndian => self.cpu.set_bit(psr::E, it.imm & 1 == 1),
            Op::SubtractReturn => {
                let target = self.cpu.get(14).wrapping_sub(it.imm);
                return self.return_to(target, done);
            }
            Op::ReadCoprocessor => {
                let place = SystemRegister::of(it.imm);
                let value = self.control.read(place, privileged, now).ok_or(UNDEFINED)?;
                if it.d == 15 {
                    self.cpu.set_flags(value);
                } else {
                    self.cpu.set(it.d, value);
                }
            }
            Op::WriteCoprocessor => {
                let value = self.cpu.get(it.d);
                let place = SystemRegister::of(it.imm);
                let written = self.control.write(place, value, privileged, now);
                done.maintenance = Some(written.ok_or(UNDEFINED)?);
                // WFI of older architectures.
                done.sleeps = (place.n, place.m, place.opc2) == (7, 0, 4);
            }
            _ => return Err(UNDEFINED),
        }
        Ok(())
    }

    /// Executes CPS: `a` = imod and M, `d` = A, I and F, `imm` the mode. No effect in user mode.
    fn change_state(&mut self, it: &Instruction) {
        if !self.cpu.is_privileged() {
            return;
        }
        let bits = u32::from(it.d & 7) << 6;
        let (imod, changes_mode) = (it.a >> 1, it.a & 1 == 1);
        let mut status = self.cpu.cpsr();
        match imod {
            2 => status &= !bits,
            3 => status |= bits,
            _ => {}
        }
        let mut mask = psr::A | psr::I | psr::F;
        if changes_mode {
            status = status & !psr::MODE | it.imm & psr::MODE;
            mask |= psr::MODE;
        }
        self.cpu.write_cpsr(status, mask);
    }
}
