//! Interruptible instructions: multi-cycle instructions that an interrupt can abandon.
//!
//! Each instruction is atomic, continuable or restartable ([`Interruptible`]).
//!
//! A core does not make an interrupt wait for the end of a division or of a long register list. Which
//! instructions it abandons, and whether they continue or restart, is one of its timing rules
//! ([`Interruptible`]); how a register list is suspended and continued is implemented in
//! [`crate::exec::partial`]. This module determines whether an exception will be taken while an instruction
//! executes. That is known when the instruction begins, so nothing is ever undone.
//!
//! Only an exception that will be taken counts: no mask holds it back, and it is urgent enough. Neither the
//! end of a run nor an observer makes an instruction give way. Blocks end a little before anything may
//! become pending: by the longest time that an instruction takes here, plus the maximum that its memories,
//! at their current settings, wait for its code and for one word (the machine's `lead`). From there on,
//! instructions are checked one by one. An instruction that began earlier and is still executing, because
//! memories made it wait repeatedly, completes.

use crate::arch::armm::nvic::SYSTICK;
use crate::arch::armm::registers::is_ici;
use crate::exec::partial::{Progress, Resumption, rest};
use crate::exec::{Flow, Standalone};
use crate::isa::{Op, Slot};
use crate::memory::Bus;
use crate::state::State;
use crate::state::stop::{FaultKind, Stop};
use crate::timing::{Interruptible, LineMemory, exceptions};

/// The state of the program at the start of an executing instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstructionStart {
    pub pc: u32,
    /// ITSTATE before the instruction.
    pub it: u8,
    /// The cycle in which it began.
    pub began: u64,
}

impl State {
    /// Recomputes the lead, after memories have changed their wait states.
    pub(crate) fn update_lead(&mut self) {
        let waits = self.lines.iter().map(LineMemory::wait_states).max().unwrap_or(0);
        self.lead = u64::from(self.rules.longest) + 2 * waits;
    }

    /// Returns the next cycle in which something may become pending other than by the executing
    /// instruction.
    fn next_pend(&self) -> u64 {
        let zero = self.system.systick.next_interrupt();
        let device = self.devices.next();
        let heard = device != u64::MAX && self.system.nvic.enables_interrupts();
        let first = zero.min(self.next_scheduled()).min(self.next_arrival());
        first.min(if heard { device } else { u64::MAX })
    }

    /// Returns the cycles from an interrupt becoming pending to the first in which the core can take its
    /// exception.
    pub fn interrupt_delay(&self) -> u64 {
        if self.rules.model_buses() { exceptions::FROM_SIGNAL } else { 0 }
    }

    /// Returns the cycle from which on instructions are checked one by one.
    pub(crate) fn first_checked_cycle(&self) -> u64 {
        match self.next_pend() {
            u64::MAX => u64::MAX,
            at => at.saturating_sub(self.lead),
        }
    }

    /// Returns whether the instruction at this boundary must be checked.
    pub(crate) fn expects_pend(&self) -> bool {
        self.cycles >= self.first_checked_cycle()
    }

    /// Returns the first cycle in `from..to` in which an exception would be taken, as far as the core, the
    /// clocks and the devices determine it.
    pub(crate) fn first_exception_within(&mut self, from: u64, to: u64) -> Option<u64> {
        let (nvic, masks) = (&self.system.nvic, self.masks());
        if nvic.exception_to_take(masks).is_some() {
            return (from < to).then_some(from);
        }
        let way = self.interrupt_delay();
        let takes =
            |exception| nvic.enabled().contains(exception) && nvic.could_take(exception, masks);
        let mut first = to;
        let zero = self.system.systick.next_interrupt().saturating_add(way);
        if zero < first && takes(SYSTICK) {
            first = zero;
        }
        for &(at, exception) in &self.scheduled {
            let at = at.saturating_add(way);
            if at >= first {
                break;
            }
            if takes(exception) {
                first = at;
            }
        }
        // An exception that is on its way to the core is pending when it arrives, unless that has been
        // undone.
        let pends = |exception| {
            nvic.pending().contains(exception)
                || self.scheduled.iter().any(|&(_, scheduled)| scheduled == exception)
        };
        for &(at, exception) in &self.arrivals {
            if at >= first {
                break;
            }
            if takes(exception) && pends(exception) {
                first = at;
            }
        }
        if self.devices.next().saturating_add(way) < first && nvic.enables_interrupts() {
            // What a device will do is found out by running it ahead, on a clone. Its interrupts do not depend on
            // memories, which may be large.
            let bus = std::mem::replace(&mut self.bus, Bus::placeholder());
            let mut ahead = self.clone();
            self.bus = bus;
            while ahead.devices.next().saturating_add(way) < first {
                let at = ahead.devices.next();
                ahead.pass_time(at);
                ahead.receive(at + way);
                if ahead.system.nvic.exception_to_take(masks).is_some() {
                    first = at + way;
                }
            }
        }
        (first < to).then_some(first.max(from))
    }

    /// Returns the instruction behind a watch or a guard.
    fn unwatched_slot(&self, pc: u32, slot: &Slot) -> Option<Slot> {
        match slot.op {
            Op::Watch => self.predecoded.decoder.decode_guarded(&self.bus, pc),
            _ => Some(*slot),
        }
    }

    /// Returns how an instruction reacts to an interrupt, if it is not atomic.
    fn interruptibility(&self, pc: u32, slot: &Slot) -> Option<(Slot, Interruptible)> {
        let guarded = self.unwatched_slot(pc, slot)?;
        let real = guarded.unguarded();
        let way = (self.rules.interruptible)(&real);
        let waits = way == Interruptible::Atomic
            || self.system.completes_instructions()
            || self.passes_stack_limit(&guarded);
        (!waits).then_some((real, way))
    }

    /// Returns whether an interrupt may abandon the instruction at the program counter.
    pub(crate) fn may_abandon(&self, slot: &Slot) -> bool {
        self.interruptibility(self.cpu.pc, slot).is_some()
    }

    /// Executes an instruction that has been fetched, up to where an interrupt abandons it. Returns `None`,
    /// with nothing done, if no interrupt can.
    #[inline(never)]
    pub(crate) fn interrupt_instruction(
        &mut self,
        start: InstructionStart,
        slot: &Slot,
    ) -> Option<Result<(), Stop>> {
        let pc = start.pc;
        let (real, way) = self.interruptibility(pc, slot)?;
        let (n, m) = (self.cpu.get(real.n), self.cpu.get(real.m));
        let now = self.cycles;
        let to = match way {
            Interruptible::Restartable(_) if matches!(real.op, Op::Udiv | Op::Sdiv) && m == 0 => {
                return None;
            }
            Interruptible::Restartable(cycles) => {
                let more = match real.op {
                    Op::Udiv | Op::Sdiv => self.rules.divide(n, m, real.op == Op::Sdiv),
                    Op::Umull | Op::Smull | Op::Umlal | Op::Smlal => {
                        self.rules.multiply_long(real.op, n, m)
                    }
                    _ => 0,
                };
                now + u64::from(cycles) + u64::from(more)
            }
            Interruptible::EndsInEntry(cycles) => now + u64::from(cycles),
            _ => now + self.lead,
        };
        let at = self.first_exception_within(now + 1, to)?;
        let float = matches!(real.op, Op::Vldm | Op::Vstm | Op::Vdiv | Op::Vsqrt);
        if float && !self.has_live_fp() {
            return None;
        }
        match way {
            Interruptible::Atomic => None,
            Interruptible::Restartable(_) => {
                self.leave(start, at);
                Some(Ok(()))
            }
            Interruptible::EndsInEntry(_) => {
                if slot.op == Op::Watch {
                    self.hit_watch(pc);
                }
                let behind = InstructionStart { pc: self.cpu.pc, it: self.cpu.it, ..start };
                // This instruction cannot trap.
                let flow = self.execute_alone(&real).unwrap_or(Flow::Next);
                self.complete(pc, &real, flow);
                self.leave(behind, at);
                Some(Ok(()))
            }
            // ITSTATE and EPSR.ICI share their bits, so inside an IT block the instruction restarts (DDI
            // 0337, 3.9.1).
            Interruptible::Continuable if start.it == 0 => {
                Some(self.move_until(start, slot, &real, (at, Resumption::Continued)))
            }
            Interruptible::Continuable | Interruptible::RestartableAtWord => {
                Some(self.move_until(start, slot, &real, (at, Resumption::Restarted)))
            }
        }
    }

    /// Returns to the boundary before an instruction, in a given cycle, so that an exception can be taken.
    fn leave(&mut self, start: InstructionStart, cycle: u64) {
        self.note_fetches((start.began, self.pipe), cycle);
        (self.cpu.pc, self.cpu.it) = (start.pc, start.it);
        self.cycles = cycle;
        self.abandoned_instructions += 1;
        // If the exception is not taken after all, because the part that was executed has prevented it, the
        // program stays at this instruction.
        self.stay();
        self.request_attention();
    }

    /// Executes a load or store of several words, from the word that EPSR.ICI gives, as long as the next
    /// word is requested before a given cycle.
    fn move_until(
        &mut self,
        start: InstructionStart,
        slot: &Slot,
        real: &Slot,
        (until, then): (u64, Resumption),
    ) -> Result<(), Stop> {
        let InstructionStart { pc, it, .. } = start;
        let (hits, pipe) = (self.watches.hits.len(), self.pipe);
        let ici = if is_ici(it) { it >> 4 } else { 0 };
        if slot.op == Op::Watch && ici == 0 {
            self.hit_watch(pc);
        }
        match self.move_words(real, ici, until, then) {
            Ok(Progress::Whole(flow)) => {
                let cost = if ici == 0 { real.cost } else { (self.rules.cost)(&rest(real, ici)) };
                self.complete(pc, &Slot { cost, ..*real }, flow);
                Ok(())
            }
            Ok(Progress::Partial { cycle, ici }) => {
                if ici == 0 {
                    // The instruction will begin again, and counts as reached at that time.
                    self.watches.hits.truncate(hits);
                }
                self.pipe = pipe;
                let it = if then == Resumption::Continued { ici << 4 } else { it };
                self.leave(InstructionStart { it, ..start }, cycle);
                Ok(())
            }
            Err(trap) => {
                // A faulting instruction has not executed, and is still in its IT block.
                if trap.undoes_instruction() && ici == 0 {
                    self.cpu.it = it;
                }
                self.end_trapped(trap, pc, *real)
            }
        }
    }

    /// Continues an instruction that was suspended.
    pub(crate) fn resume_instruction(&mut self, pc: u32, slot: &Slot, ici: u8) -> Result<(), Stop> {
        let real = self.unwatched_slot(pc, slot).map(|slot| slot.unguarded());
        let Some(real) = real.filter(|real| self.continues(real, ici)) else {
            // EPSR.ICI does not fit this instruction (100230, C.5; elsewhere UNPREDICTABLE).
            self.drain();
            return self.fault(FaultKind::InvalidState, None, pc);
        };
        self.enter_under(self.condition_of_next());
        let alert = self.expects_pend() && !self.system.completes_instructions();
        self.fetch(pc, slot.size());
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size()));
        let beginning = self.begin_instruction(pc);
        let to = self.cycles + self.lead;
        let taken = if alert { self.first_exception_within(self.cycles + 1, to) } else { None };
        let it = std::mem::take(&mut self.cpu.it);
        let start = InstructionStart { pc, it, began: self.cycles };
        let until = taken.unwrap_or(u64::MAX);
        let result = self.move_until(start, slot, &real, (until, Resumption::Continued));
        self.end_instruction(beginning, slot, result)
    }
}
