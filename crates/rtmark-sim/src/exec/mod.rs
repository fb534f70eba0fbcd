//! What each operation does to registers, flags and memory.
//!
//! Each instruction's semantics are defined here, once, close to the pseudo-code of the Architecture
//! Reference Manual (DDI 0403; DDI 0419 for ARMv6-M, DDI 0553 for ARMv8-M), and never depend on the clock.
//! [`crate::timing`] defines what an instruction costs; the code here only reports what the cost depends
//! on: a branch that was taken, a memory that made the core wait, the operands of a division.

/// Writes a register that may be the stack pointer.
macro_rules! set_any {
    ($machine:expr, $sp:expr, $register:expr, $value:expr) => {
        if $sp {
            $machine.cpu.set_any($register, $value);
        } else {
            $machine.cpu.set($register, $value);
        }
    };
}

/// Code that only runs on the slow path.
macro_rules! slow_path {
    ($path:expr, $act:expr) => {{
        if $path == Path::Fast {
            return Ok(Flow::SlowPath);
        }
        $act
    }};
}

/// Code that may take longer than expected, after which the pass may have to end.
macro_rules! may_halt {
    ($at:expr, $act:expr) => {{
        $act;
        if $at.needs_check() {
            return Ok(Flow::Leave);
        }
    }};
}

/// Code that may jump.
macro_rules! flow {
    ($at:expr, $outcome:expr) => {
        may_halt!(
            $at,
            if $outcome? == Flow::Jump {
                return Ok(Flow::Jump);
            }
        )
    };
}

mod alu;
mod bit_band;
mod calculate;
mod context;
mod datum;
mod double;
mod dsp;
mod fp;
mod memory;
mod outcome;
pub mod partial;
mod peripherals;
mod protect;
mod rare;
mod secure;
mod system;
mod system_space;
#[cfg(test)]
mod tests;
mod transfer;

pub use self::alu::{saturate_signed, saturate_unsigned, shift, shift_some};
pub use self::context::{ExecContext, Executing, Path};
pub use self::memory::{Base, Side};
pub use self::outcome::{Ending, Flow, Outcome};
use crate::isa::{Op, Slot};
use crate::state::State;

impl State {
    /// Returns whether a branch that depends on flags or on a register is taken.
    #[inline(always)]
    pub(crate) fn is_branch_taken(&self, op: Op, s: &Slot) -> bool {
        match op {
            Op::Beq => self.cpu.holds(0),
            Op::Bne => self.cpu.holds(1),
            Op::Bcs => self.cpu.holds(2),
            Op::Bcc => self.cpu.holds(3),
            Op::Bmi => self.cpu.holds(4),
            Op::Bpl => self.cpu.holds(5),
            Op::Bvs => self.cpu.holds(6),
            Op::Bvc => self.cpu.holds(7),
            Op::Bhi => self.cpu.holds(8),
            Op::Bls => self.cpu.holds(9),
            Op::Bge => self.cpu.holds(10),
            Op::Blt => self.cpu.holds(11),
            Op::Bgt => self.cpu.holds(12),
            Op::Ble => self.cpu.holds(13),
            Op::Cbz => self.cpu.get(s.n) == 0,
            Op::Cbnz => self.cpu.get(s.n) != 0,
            _ => true,
        }
    }

    /// Executes an operation. `shift` gives the shift's type if it is known at compile time.
    ///
    /// The function is inlined for each operation, so that only the code of that operation remains: see
    /// [`dispatch`](crate::engine::dispatch). If the fast path cannot complete the operation, it has
    /// changed nothing.
    #[inline(always)]
    #[expect(clippy::too_many_lines, reason = "a table: an arm an operation")]
    pub(crate) fn perform<'a>(
        &mut self,
        op: Op,
        shift: Option<u32>,
        path: Path,
        sp: bool,
        at: &mut impl Executing<'a>,
    ) -> Outcome {
        let s = at.slot();
        match op {
            Op::B => return Ok(self.branch(at.context(), s.imm)),
            Op::Beq
            | Op::Bne
            | Op::Bcs
            | Op::Bcc
            | Op::Bmi
            | Op::Bpl
            | Op::Bvs
            | Op::Bvc
            | Op::Bhi
            | Op::Bls
            | Op::Bge
            | Op::Blt
            | Op::Bgt
            | Op::Ble
            | Op::Cbz
            | Op::Cbnz => {
                if self.is_branch_taken(op, s) {
                    return Ok(self.branch(at.context(), s.imm));
                }
            }
            Op::Bl => {
                self.cpu.set(14, at.context().next_address() | 1);
                return Ok(self.branch(at.context(), s.imm));
            }
            Op::Bx => return self.branch_exchange(at.context(), self.cpu.get(s.n)),
            Op::BlxR => {
                let target = self.cpu.get(s.n);
                self.cpu.set(14, at.context().next_address() | 1);
                return self.branch_linked(at.context(), target);
            }
            Op::MovPc => return Ok(self.branch(at.context(), self.cpu.get(s.m))),
            Op::AddPc => {
                return Ok(self.branch(at.context(), s.imm.wrapping_add(self.cpu.get(s.m))));
            }
            // With one core and strongly ordered memory, barriers only take time.
            Op::Nop | Op::Yield | Op::Pld | Op::Dmb | Op::Dsb | Op::Isb => {}
            Op::Mrs => self.cpu.set(s.d, self.read_special(s.imm)),
            Op::Msr => {
                let raises = self.raises_priority(s.imm, self.cpu.get(s.n));
                if !self.write_mask_fast(s.imm, self.cpu.get(s.n)) {
                    slow_path!(path, {
                        if raises {
                            at.context().raises_priority(self);
                        }
                        flow!(at, at.context().slow_path(self, |machine| machine.execute_rare(s)));
                    });
                } else if raises {
                    may_halt!(at, at.context().raises_priority(self));
                }
            }
            Op::Cps => {
                if !self.change_mask_fast(s) {
                    slow_path!(
                        path,
                        flow!(at, at.context().slow_path(self, |machine| machine.execute_rare(s)))
                    );
                }
            }
            Op::Vadd
            | Op::Vsub
            | Op::Vmul
            | Op::Vmla
            | Op::Vmls
            | Op::Vfma
            | Op::Vfms
            | Op::Vdiv
            | Op::Vabs
            | Op::Vneg
            | Op::Vcmp
            | Op::Vcmpe
            | Op::VcmpZ
            | Op::VcmpeZ
            | Op::VcvtFromInt
            | Op::VcvtToInt
            | Op::VmovI
            | Op::VmovR => {
                let is_live = self.has_live_fp();
                if !(is_live && self.fp_fast(op, s)) {
                    slow_path!(
                        path,
                        if is_live {
                            self.fp_arithmetic(s);
                        } else {
                            may_halt!(
                                at,
                                at.context().slow_path(self, |machine| machine.execute_fp(s))?
                            );
                        }
                    );
                }
            }
            Op::Vmrs | Op::VmovToCore | Op::VmovFromCore => {
                if self.has_live_fp() {
                    self.fp_transfer(op, s);
                } else {
                    slow_path!(
                        path,
                        may_halt!(
                            at,
                            at.context().slow_path(self, |machine| machine.execute_fp(s))?
                        )
                    );
                }
            }
            Op::Vldr => {
                let address = self.cpu.get(s.n).wrapping_add(s.imm);
                if !(self.has_live_fp() && self.load_float(s, address)) {
                    slow_path!(
                        path,
                        may_halt!(
                            at,
                            at.context().slow_path(self, |machine| machine.execute_fp(s))?
                        )
                    );
                }
            }
            Op::VldrLit => {
                if !(self.has_live_fp() && self.load_float_literal(at, s)) {
                    slow_path!(
                        path,
                        may_halt!(
                            at,
                            at.context().slow_path(self, |machine| machine.execute_fp(s))?
                        )
                    );
                }
            }
            Op::Vstr => {
                let address = self.cpu.get(s.n).wrapping_add(s.imm);
                if !(self.has_live_fp() && self.store_float(s, address)) {
                    slow_path!(
                        path,
                        may_halt!(
                            at,
                            at.context().slow_path(self, |machine| machine.execute_fp(s))?
                        )
                    );
                }
            }
            Op::Guarded => {
                slow_path!(
                    path,
                    flow!(at, at.context().slow_path(self, |machine| machine.execute_guarded(s)))
                );
            }
            _ => return self.perform_transfer(op, shift, path, sp, at),
        }
        Ok(Flow::Next)
    }
}
