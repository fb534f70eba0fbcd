//! What micro-operations do.
//!
//! The meaning of instructions is told by [`crate::exec`]; here stands only what the engine adds
//! to it: whether a pass goes on, and where.

use crate::engine::dispatch::{OpCursor, Path};
use crate::engine::micro_op::Does;
use crate::exec::{Base, Flow, Outcome, Side};
use crate::isa::Op;
use crate::machine::Machine;

impl Machine {
    /// Executes a micro-operation. It is inlined for each of them, where only what that one does
    /// remains: see [`crate::engine::dispatch`].
    #[inline(always)]
    pub(crate) fn perform_micro(
        &mut self,
        does: Does,
        path: Path,
        sp: bool,
        at: &mut OpCursor<'_, '_>,
    ) -> Outcome {
        match does {
            Does::Operation(op) => return self.perform(op, None, path, sp, at),
            Does::Shifted(op, shift) => return self.perform(op, Some(shift), path, sp, at),
            Does::Followed(op) => return self.follow(op, path, at),
            Does::ExpectedIt => {
                if !self.cpu.condition_of(at.slot().imm as u8) {
                    return Ok(Flow::Leave);
                }
            }
            Does::If(condition) => {
                if !self.cpu.holds(condition) {
                    at.hop(at.slot().aux);
                }
            }
            Does::Hop => at.hop(at.slot().aux),
            Does::Skip => {}
            Does::Line => {
                if !self.fetch_next_at_once(at) {
                    if path == Path::Fast {
                        return Ok(Flow::SlowPath);
                    }
                    let waits = self.fetch_next(at.now(), at.slot());
                    if waits > 0 {
                        at.pass().wait_for_next(waits, self.deadline);
                        if at.halts() {
                            return Ok(Flow::Leave);
                        }
                    }
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Executes a branch behind which the block goes on at the target that is expected.
    #[inline(always)]
    fn follow(&mut self, op: Op, path: Path, at: &mut OpCursor<'_, '_>) -> Outcome {
        let s = at.slot();
        let is_taken = match op {
            Op::Bl => {
                self.cpu.set(14, at.pass().behind() | 1);
                true
            }
            Op::Bx => {
                let target = self.cpu.get(s.n);
                if target != s.imm | 1 {
                    return self.branch_exchange(at.pass(), target);
                }
                true
            }
            Op::BlxR => {
                let target = self.cpu.get(s.n);
                self.cpu.set(14, at.pass().behind() | 1);
                if target != s.imm | 1 {
                    return self.branch_linked(at.pass(), target);
                }
                true
            }
            Op::Pop | Op::Ldm => {
                let base = Base { moves: true, ..Base::of(s, Side::From) };
                if let Some(last) = self.load_registers(s.imm, base) {
                    if last != s.aux | 1 || at.is_over() {
                        return self.branch_loaded(at.pass(), last);
                    }
                    return Ok(Flow::Next);
                }
                if path == Path::Fast {
                    return Ok(Flow::SlowPath);
                }
                let flow = self.slow_path(at.pass(), |machine| machine.load_multiple(s, base))?;
                if flow == Flow::Jump {
                    return Ok(flow);
                }
                return Ok(if at.halts() { Flow::Leave } else { Flow::Next });
            }
            _ => self.is_branch_taken(op, s),
        };
        if !is_taken {
            return Ok(Flow::Leave);
        }
        if at.is_over() {
            return Ok(self.branch(at.pass(), s.imm));
        }
        Ok(Flow::Next)
    }
}
