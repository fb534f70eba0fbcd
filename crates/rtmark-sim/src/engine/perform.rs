//! What micro-operations do.
//!
//! [`crate::exec`] defines the meaning of instructions. This module adds only what concerns the
//! engine: whether a pass continues, and where.

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::{OpCursor, OpFn};
use crate::engine::micro_op::DispatchKind;
use crate::exec::{Base, Ending, ExecContext, Executing, Flow, Outcome, Path, Side};
use crate::isa::{Op, Slot};
use crate::state::{ProgramPoint, State};

impl State {
    /// Executes one decoded instruction outside of any block. The program counter is after the
    /// instruction on entry, and at the next one on return.
    #[inline(never)]
    pub(crate) fn execute_alone(&mut self, slot: &Slot) -> Outcome {
        let step = ScheduledOp::alone(*slot);
        let mut at = Cursor::alone(&step, self.progress());
        let outcome = self.execute(&mut at).into();
        let ProgramPoint { pc, mut pipe, .. } = at.progress();
        if outcome == Ok(Flow::Jump) {
            pipe = self.record_jump_distance(slot, pipe, pc, at.target);
        }
        self.set_progress(ProgramPoint { pc: at.target, pipe, ..at.progress() });
        outcome
    }

    /// Executes the remaining steps of a pass, as far as they follow each other.
    #[inline(always)]
    pub(crate) fn execute(&mut self, at: &mut Cursor<'_>) -> Ending {
        at.resume();
        let Some(next) = at.next() else { return Ending::Next };
        self.execute_from(next.run(), at)
    }

    /// Executes the remaining steps of a pass, beginning with the function `run`.
    #[inline(always)]
    pub(crate) fn execute_from(&mut self, run: OpFn, at: &mut Cursor<'_>) -> Ending {
        let mut ending = run(self, at, at.rest());
        while at.resume() {
            let Some(next) = at.next() else { return Ending::Next };
            ending = next.run()(self, at, at.rest());
        }
        ending
    }

    /// Executes a micro-operation. It is inlined into the function of each, where only that one's
    /// code remains: see [`crate::engine::dispatch`].
    #[inline(always)]
    pub(crate) fn perform_micro(
        &mut self,
        kind: DispatchKind,
        path: Path,
        sp: bool,
        at: &mut OpCursor<'_, '_>,
    ) -> Outcome {
        match kind {
            DispatchKind::Operation(op) => return self.perform(op, None, path, sp, at),
            DispatchKind::Shifted(op, shift) => return self.perform(op, Some(shift), path, sp, at),
            DispatchKind::Followed(op) => return self.follow(op, path, at),
            DispatchKind::ExpectedIt => {
                if !self.cpu.condition_of(at.slot().imm as u8) {
                    return Ok(Flow::Leave);
                }
            }
            DispatchKind::If(condition) => {
                if !self.cpu.holds(condition) {
                    at.skip_steps(at.slot().aux);
                }
            }
            DispatchKind::Hop => at.skip_steps(at.slot().aux),
            DispatchKind::Skip => {}
            DispatchKind::CheckPrediction => {
                let Slot { imm: branch, aux: target, .. } = *at.slot();
                if !self.predictor.is_certain(branch, target) {
                    if path == Path::Fast {
                        return Ok(Flow::SlowPath);
                    }
                    if !self.predictor.learn(branch, target) {
                        let pipe = at.pass().progress().pipe;
                        at.pass().leave_with_state(pipe.mispredicted());
                        return Ok(Flow::Leave);
                    }
                }
            }
            DispatchKind::Line => {
                if !self.try_fetch_next_fast(at) {
                    if path == Path::Fast {
                        return Ok(Flow::SlowPath);
                    }
                    let waits = self.fetch_next(at.now(), at.slot());
                    if waits > 0 {
                        at.pass().wait_for_next(waits, self.deadline);
                        if at.needs_check() {
                            return Ok(Flow::Leave);
                        }
                    }
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Executes a branch that the block follows to its expected target.
    #[inline(always)]
    fn follow(&mut self, op: Op, path: Path, at: &mut OpCursor<'_, '_>) -> Outcome {
        let s = at.slot();
        let is_taken = match op {
            Op::Bl => {
                self.cpu.set(14, at.pass().next_address() | 1);
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
                self.cpu.set(14, at.pass().next_address() | 1);
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
                let flow = at.pass().slow_path(self, |machine| machine.load_multiple(s, base))?;
                if flow == Flow::Jump {
                    return Ok(flow);
                }
                return Ok(if at.needs_check() { Flow::Leave } else { Flow::Next });
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
