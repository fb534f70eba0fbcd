//! Single steps: instructions executed outside of blocks, near a watch, a stop or an exception, and
//! where there is no block.
//!
//! They use the same operations as blocks, so the two cannot differ in meaning.

use crate::arch::armm::trap::Trap;
use crate::engine::cursor::Cursor;
use crate::engine::events::Due;
use crate::exceptions::interruptible::InstructionStart;
use crate::exec::{Flow, Standalone};
use crate::host::semihosting::Reply;
use crate::isa::{Op, Slot};
use crate::state::stop::{FaultKind, Stop};
use crate::state::{CoreState, Sleep, State, Trial};
use crate::timing::pipeline::Condition;
use crate::timing::{NOT_TAKEN, exceptions};

/// The operand of BKPT that requests semihosting.
const SEMIHOSTING: u32 = 0xAB;

impl State {
    /// Executes one instruction where there is no block.
    #[inline(never)]
    pub(super) fn step_slow_path(&mut self) -> Result<(), Stop> {
        self.reach_next();
        if self.cycles >= self.deadline {
            return Ok(());
        }
        self.step_due(Due::Instruction)
    }

    /// Executes the next instruction, unless the run is to stop before it.
    pub(super) fn step_due(&mut self, due: Due) -> Result<(), Stop> {
        let pc = self.cpu.pc;
        match self.next_slot()? {
            Some(slot) if due == Due::Conditional => self.step_in_it_block(pc, slot),
            Some(slot) => self.step_decoded(pc, slot),
            None => self.fetch_fault(pc),
        }
    }

    /// Returns the instruction at the program counter, which has not been fetched yet.
    pub(crate) fn next_slot(&mut self) -> Result<Option<Slot>, Stop> {
        let pc = self.cpu.pc;
        match self.slot_at(pc) {
            Some(slot) if slot.op == Op::Stop => {
                if self.condition_of_next() != Condition::Failed {
                    self.stay();
                    return Err(Stop::Breakpoint(pc));
                }
                Ok(self.slot_past_stop(pc))
            }
            slot => Ok(slot),
        }
    }

    /// Executes one instruction outside IT blocks.
    pub(crate) fn step_decoded(&mut self, pc: u32, slot: Slot) -> Result<(), Stop> {
        self.enter_under(Condition::None);
        let alert = self.expects_pend();
        self.fetch(pc, slot.size());
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size()));
        let beginning = self.begin_instruction(pc);
        if alert
            && let Some(result) = self
                .interrupt_instruction(InstructionStart { pc, it: 0, began: self.cycles }, &slot)
        {
            return self.end_instruction(beginning, &slot, result);
        }
        let result = self.finish(pc, &slot);
        self.end_instruction(beginning, &slot, result)
    }

    /// Executes or skips the next instruction of an IT block.
    pub(crate) fn step_in_it_block(&mut self, pc: u32, slot: Slot) -> Result<(), Stop> {
        if let Some(ici) = self.cpu.ici() {
            return self.resume_instruction(pc, &slot, ici);
        }
        let condition = self.condition_of_next();
        self.enter_under(condition);
        let alert = self.expects_pend();
        self.fetch(pc, slot.size());
        let slot = if slot.op == Op::Watch { self.hit_watch(pc) } else { slot };
        let beginning = self.begin_instruction(pc);
        let it = self.cpu.it;
        self.cpu.advance_it();
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size()));
        if condition == Condition::Failed {
            self.record_skipped_return(&slot);
            if self.rules.predicts_branches
                && slot.needs_prediction()
                && !self.predictor.learn(pc, NOT_TAKEN)
            {
                self.pipe = self.pipe.mispredicted();
            }
            self.cycles += u64::from(self.rules.skip);
            self.instructions += 1;
            return self.end_instruction(beginning, &Slot::undefined(slot.size()), Ok(()));
        }
        let slot = slot.inside_it();
        if alert
            && let Some(result) =
                self.interrupt_instruction(InstructionStart { pc, it, began: self.cycles }, &slot)
        {
            return self.end_instruction(beginning, &slot, result);
        }
        let result = match self.execute_alone(&slot) {
            Ok(flow) => {
                self.complete(pc, &slot, flow);
                Ok(())
            }
            Err(trap) => {
                // A faulting instruction has not executed, and is still inside the IT block.
                if trap.undoes_instruction() {
                    self.cpu.it = it;
                }
                self.end_trapped(trap, pc, slot)
            }
        };
        self.end_instruction(beginning, &slot, result)
    }

    /// Executes a slot outside of blocks, and handles its trap.
    #[inline(never)]
    fn finish(&mut self, pc: u32, slot: &Slot) -> Result<(), Stop> {
        match self.execute_alone(slot) {
            Ok(flow) => {
                self.complete(pc, slot, flow);
                Ok(())
            }
            Err(trap) => self.end_trapped(trap, pc, *slot),
        }
    }

    pub(crate) fn complete(&mut self, pc: u32, slot: &Slot, flow: Flow) {
        self.retire(slot);
        if self.rules.predicts_branches && slot.needs_prediction() {
            let target = if flow == Flow::Jump { self.cpu.pc } else { NOT_TAKEN };
            if !self.predictor.learn(pc, target) {
                self.pipe = self.pipe.mispredicted();
            }
        }
        if flow == Flow::Jump {
            self.pipe = self.pipe.taken();
        }
    }

    /// Trains the branch predictor with the branch that ends a pass. Returns whether it was
    /// mispredicted.
    #[inline(always)]
    pub(crate) fn train_at_exit(&mut self, at: &Cursor<'_>, flow: Flow) -> bool {
        self.rules.predicts_branches
            && at.last_branch(flow).is_some_and(|(pc, target)| !self.predictor.learn(pc, target))
    }

    /// Counts a completed instruction.
    fn retire(&mut self, slot: &Slot) {
        self.cycles += u64::from(slot.cost);
        self.instructions += 1;
    }

    /// Records that a watched address was reached, and returns the real instruction there.
    pub(crate) fn hit_watch(&mut self, pc: u32) -> Slot {
        self.watches.reach(pc, self.counts(self.cycles));
        self.empty_caches_if_asked();
        self.predecoded.watched_instruction(&self.bus, pc)
    }

    /// Ends an instruction that trapped.
    #[inline(never)]
    pub(crate) fn end_trapped(&mut self, trap: Trap, pc: u32, slot: Slot) -> Result<(), Stop> {
        if self.trial != Trial::Inactive {
            self.trial = Trial::Trapped;
            return Ok(());
        }
        match trap {
            Trap::Watched => {
                let slot = self.hit_watch(pc);
                return self.finish(pc, &slot);
            }
            Trap::Breakpoint if slot.imm == SEMIHOSTING => {
                self.retire(&slot);
                let reply = self.semihosting();
                if self.console.has_found() {
                    self.request_attention();
                }
                return match reply {
                    Reply::Value(value) => {
                        self.cpu.r[0] = value;
                        Ok(())
                    }
                    Reply::Exit(status) => Err(Stop::Exit(status)),
                    Reply::Host => Err(Stop::HostCall),
                };
            }
            Trap::WaitForInterrupt | Trap::WaitForEvent => {
                let event = trap == Trap::WaitForEvent;
                self.retire(&slot);
                if event && std::mem::take(&mut self.event) {
                    return Ok(());
                }
                self.drain();
                self.start_sleep(if event { Sleep::Event } else { Sleep::Interrupt });
                self.deadline = 0;
                return Ok(());
            }
            Trap::ExceptionReturn => {
                self.retire(&slot);
                self.drain();
                if self.rules.model_buses() && slot.loads_pc() {
                    self.cycles += exceptions::LOADED;
                }
                return self.return_from_exception(self.trap_value, pc);
            }
            Trap::InvalidState => {
                // The branch itself completes; its target is what faults.
                self.retire(&slot);
                self.drain();
                let target = self.cpu.pc;
                self.cpu.arm = true;
                return self.fault(FaultKind::InvalidState, None, target);
            }
            Trap::Breakpoint => return self.breakpoint(pc, &slot),
            Trap::LostStore => {
                let address = self.trap_value;
                // The instruction completes even though its stores are dropped.
                self.drops_stores = true;
                let done = self.execute_alone(&slot);
                self.drops_stores = false;
                return match done {
                    Ok(_) => {
                        self.retire(&slot);
                        self.imprecise_fault(address, pc)
                    }
                    Err(trap) => self.end_trapped(trap, pc, slot),
                };
            }
            Trap::LazyNoResponse | Trap::LazyForbidden => {
                return self.lazy_stacking_failed(trap, pc);
            }
            Trap::SupervisorCall => {
                self.retire(&slot);
                self.drain();
                return self.supervisor_call(pc);
            }
            _ => {}
        }
        let (kind, address) = match trap {
            Trap::NoCoprocessor => (FaultKind::NoCoprocessor, None),
            Trap::AbsentCoprocessor => (FaultKind::AbsentCoprocessor, None),
            Trap::UnmodelledCoprocessor => (FaultKind::UnmodelledCoprocessor, None),
            Trap::DivideByZero => (FaultKind::DivideByZero, None),
            Trap::StackLimit => (FaultKind::StackLimit, None),
            Trap::NonSecure => (FaultKind::NonSecure, None),
            Trap::LazyState => (FaultKind::LazyState, None),
            Trap::NoResponse => (FaultKind::DataAccess, Some(self.trap_value)),
            Trap::Forbidden => (FaultKind::DataProtection, Some(self.trap_value)),
            Trap::Unmodelled => (FaultKind::Unmodelled, Some(self.trap_value)),
            Trap::Unaligned => (FaultKind::Unaligned, Some(self.trap_value)),
            Trap::Undefined => (self.undefined(pc, &slot), None),
            _ => (FaultKind::UndefinedInstruction, None),
        };
        self.cycles += u64::from(slot.cost);
        self.drain();
        self.fault(kind, address, pc)
    }

    /// Returns the instruction at an address, whether or not a run would stop before it.
    pub(crate) fn slot_past_stop(&mut self, pc: u32) -> Option<Slot> {
        match self.predecoded.decoder.stops.binary_search(&pc) {
            Ok(_) if self.bus.place(pc).is_some() => Some(self.hit_watch(pc)),
            _ => self.slot_at(pc),
        }
    }
}
