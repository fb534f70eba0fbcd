//! The run loop: executes blocks of decoded code and looks up when something else is due.
//!
//! A block's schedule says beforehand how many of its instructions come before the deadline:
//! the cycle in which anything but the next instruction is to be looked at, a clock, a
//! pending exception, an IT block, the end of the run. Whatever changes one of these moves
//! the deadline, and whatever takes longer than its schedule says looks at it retranslated. What
//! instruction fetches wait for is told by [`crate::engine::fetch`]; what a pipeline makes of it all is
//! told to [`crate::engine::pipeline_driver`].

use rtmark_units::Cycles;

use crate::arch::PAGE_BYTES;
use crate::arch::armm::nvic::{Masks, SYSTICK};
use crate::arch::armm::registers::after_it;
use crate::arch::armm::trap::Trap;
use crate::engine::block::{Block, Cursor, Schedule};
use crate::engine::code_cache::{Flash, Page};
use crate::exceptions::interruptible::Stand;
use crate::exec::{Ending, Flow};
use crate::host::semihosting::Reply;
use crate::isa::{Op, Slot};
use crate::machine::Machine;
use crate::state::Trial;
use crate::state::stop::{FaultKind, Stop};
use crate::state::{NOT_FETCHED, ProgramPoint, Sleep};
use crate::timing::exceptions;
use crate::timing::pipeline::Condition;

/// The operand of BKPT that asks for semihosting.
const SEMIHOSTING: u32 = 0xAB;

/// What is due at an instruction's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A plain instruction.
    Instruction,
    /// An instruction of an IT block.
    Conditional,
    /// Another look: something has happened that was none.
    Attention,
}

impl Machine {
    /// OpFns until the cycle count reaches `until` or something else ends the run.
    ///
    /// The count may pass `until` by what the last instruction or exception took.
    pub fn run(&mut self, until: Cycles) -> Stop {
        let stop = self.run_on(until);
        self.reason(stop)
    }

    /// Why a run really ends: a mistake of the simulator goes before whatever else is seen in
    /// the same instruction.
    pub(crate) fn reason(&self, stop: Stop) -> Stop {
        self.failed.clone().map_or(stop, Stop::Internal)
    }

    /// What a part of a run answers, unless a mistake of the simulator has ended it.
    pub(crate) fn unless_failed<T>(&self, result: Result<T, Stop>) -> Result<T, Stop> {
        match &self.failed {
            None => result,
            Some(error) => Err(Stop::Internal(error.clone())),
        }
    }

    fn run_on(&mut self, until: Cycles) -> Stop {
        self.limit = until.0;
        self.deadline = 0;
        // Held apart from the machine, so that slots can be borrowed while it changes.
        let mut flash = self.code.flash(self.cpu.pc);
        loop {
            if self.cycles >= self.deadline
                && let Some(stop) = self.attend()
            {
                return stop;
            }
            if self.code.has_forgotten(&flash) {
                flash = self.code.flash(self.cpu.pc);
            }
            let pc = self.cpu.pc;
            let own;
            let mut page = flash.page(pc);
            if page.is_none() {
                own = self.code.own_page(pc);
                page = own.as_ref().map(|(page, base)| (page.as_ref(), *base));
            }
            let step = match page {
                _ if !self.may_execute_page(pc) => self.step_slowly(),
                Some((page, base)) if let Some(block) = page.block(pc.wrapping_sub(base)) => {
                    if !self.may_execute_block(block) {
                        self.step_slowly()
                    } else if self.rules.classify.is_some() {
                        self.run_in_pages::<true>(&flash, page, base)
                    } else {
                        self.run_in_pages::<false>(&flash, page, base)
                    }
                }
                _ if self.code.make_block(&mut self.bus, pc) => {
                    flash = self.code.flash(pc);
                    Ok(())
                }
                _ => self.step_slowly(),
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    /// Executes from one page, and if that is of flash from those to which it leads, until the
    /// program leaves them or something else is due.
    #[inline(always)]
    fn run_in_pages<'a, const PIPELINED: bool>(
        &mut self,
        flash: &'a Flash,
        mut page: &'a Page,
        mut base: u32,
    ) -> Result<(), Stop> {
        if let Some(place) = self.bus.code_place(self.cpu.pc) {
            self.lines.approach(place.memory);
        }
        // From RAM nothing leads on to flash, which is another memory to fetch from.
        let is_in_flash = flash.page(self.cpu.pc).is_some();
        let mut at = Cursor::from(self.progress());
        // ITSTATE before the next block.
        let mut it = 0;
        while at.from.cycles < self.deadline {
            let pc = at.from.pc;
            if pc.wrapping_sub(base) >= PAGE_BYTES {
                let Some(next) = flash.page(pc).filter(|_| is_in_flash) else { break };
                if !self.may_execute_page(pc) {
                    break;
                }
                (page, base) = next;
            }
            let offset = pc.wrapping_sub(base);
            let block =
                if it == 0 { page.block(offset) } else { self.it_outcome(page, offset, pc, it) };
            let Some(block) = block else { break };
            if !self.may_execute_block(block) {
                break;
            }
            let schedule = if PIPELINED {
                let known = block.schedule(at.from.pipe);
                let Some(schedule) = known.or_else(|| self.make_schedule(block, at.from)) else {
                    self.set_progress(at.from);
                    self.suspend(it);
                    self.renew_pace();
                    return Ok(());
                };
                schedule
            } else {
                &block.outline
            };
            let plan = if PIPELINED && self.has_fetched_elsewhere(block, at.from) {
                None
            } else {
                self.fetch_plan(block, schedule, at.from)
            };
            let (schedule, ending) = if let Some(plan) = plan
                && at.from.cycles + u64::from(plan.schedule.last) < self.deadline
            {
                at.enter_planned(plan);
                let ending = self.execute_from(plan.schedule.run, &mut at);
                self.settle_memory(&mut at);
                (&plan.schedule, ending)
            } else {
                let Some(ending) = self.pass_through::<PIPELINED>(block, schedule, &mut at) else {
                    break;
                };
                (schedule, ending)
            };
            let flow = match ending {
                Ending::Next => Flow::Next,
                Ending::Jump => Flow::Jump,
                Ending::Trap(trap) => return self.end_pass(block, schedule, &at, trap),
            };
            if block.is_profiled() {
                self.profile_exit(block, &at, flow);
            }
            at.advance();
            it = 0;
            if flow == Flow::Jump {
                at.from.pc = at.target;
                at.from.pipe = at.from.pipe.taken();
            } else if block.has_it() {
                it = block.it_before(at.place() + 1);
                if it != 0 && !at.is_behind_it() {
                    break;
                }
            }
        }
        self.set_progress(at.from);
        self.suspend(it);
        if PIPELINED && at.has_fetched_target() {
            // Whether an exception comes before it is a question of when its fetch began.
            self.enter_under(self.condition_of_next());
            self.stay();
        }
        Ok(())
    }

    /// Whether the next instruction, the first of a block, has entered the pipeline and was
    /// fetched from another line than the latest.
    #[inline(always)]
    fn has_fetched_elsewhere(&self, block: &Block, from: ProgramPoint) -> bool {
        let end = from.pc.wrapping_add(block.first_reach);
        from.pipe.has_entered() && self.fetched == from.pc && self.is_elsewhere(from.pc, end)
    }

    /// Executes a schedule of a block, of which the fetches are still to be done; `None` if its
    /// first instruction is not executed before something else is due.
    #[inline(always)]
    fn pass_through<'a, const PIPELINED: bool>(
        &mut self,
        block: &Block,
        schedule: &'a Schedule,
        at: &mut Cursor<'a>,
    ) -> Option<Ending> {
        let pc = at.from.pc;
        // Without a pipeline an instruction executes when it enters.
        let until_first = if PIPELINED { u64::from(schedule.first) } else { 0 };
        let end = pc.wrapping_add(block.first_reach);
        // The target of a jump is fetched while the pipeline is refilled.
        let is_target = PIPELINED && at.from.pipe.is_taken() && self.rules.fetches_targets();
        let is_fetched = !self.is_elsewhere(pc, end)
            || PIPELINED && at.from.pipe.has_entered() && self.fetched == pc;
        if is_target && self.is_elsewhere(pc, end) {
            at.from.cycles = self.fetch_first(block, pc, end, at.from.cycles);
        }
        if PIPELINED && at.from.cycles + until_first >= self.deadline {
            // It has entered, and waits for its turn.
            at.from.cycles += until_first;
            at.from.pipe = schedule.steps[0].begin.pipe.entered();
            self.fetched = if is_target { pc } else { NOT_FETCHED };
            return None;
        }
        if !is_target && !is_fetched {
            let began = at.from.cycles + until_first;
            at.from.cycles = self.fetch_first(block, pc, end, began) - until_first;
        }
        Some(if at.from.cycles + u64::from(schedule.last) < self.deadline {
            at.enter(schedule);
            self.execute_from(schedule.run, at)
        } else {
            at.enter_until(schedule, self.deadline);
            self.execute(at)
        })
    }

    /// Ends a pass at an instruction that did not simply complete.
    #[inline(never)]
    fn end_pass(
        &mut self,
        block: &Block,
        schedule: &Schedule,
        at: &Cursor<'_>,
        trap: Trap,
    ) -> Result<(), Stop> {
        if block.is_profiled() {
            self.profile_exit(block, at, Flow::Next);
        }
        self.set_progress(at.progress());
        let Some(slot) = schedule.steps.get(at.index()).map(|step| step.slot) else {
            return Ok(());
        };
        if trap == Trap::InvalidState {
            self.cpu.pc = at.target;
        }
        let it = block.it_before(at.place());
        self.cpu.it = if trap.undoes_instruction() { it } else { after_it(it) };
        self.end_trapped(trap, at.address(), slot)?;
        if self.cpu.it != 0 {
            self.attend_soon();
        }
        Ok(())
    }

    /// Looks at the branches of a pass that ends: blocks are to go on where they mostly lead.
    #[inline(never)]
    fn profile_exit(&mut self, block: &Block, at: &Cursor<'_>, flow: Flow) {
        for (address, seen) in at.jumps(flow) {
            self.code.note(address, seen);
        }
        if block.count_profiled() {
            self.code.retranslate(&mut self.bus, at.from.pc, block.it_outcome);
        }
    }

    /// The block behind an IT, as its condition holds or not.
    #[inline(always)]
    fn it_outcome<'a>(
        &mut self,
        page: &'a Page,
        offset: u32,
        pc: u32,
        it: u8,
    ) -> Option<&'a Block> {
        let holds = self.cpu.condition_of(it);
        let known = page.it_outcome(offset, holds);
        if known.is_some() || !self.code.make_it_blocks(&mut self.bus, pc, it) {
            return known;
        }
        page.it_outcome(offset, holds)
    }

    /// Stops where an instruction of an IT block may be next, which has to be looked at then.
    fn suspend(&mut self, it: u8) {
        if it != 0 {
            self.cpu.it = it;
            self.attend_soon();
        }
    }

    /// Executes one instruction where there is no block.
    #[inline(never)]
    fn step_slowly(&mut self) -> Result<(), Stop> {
        self.reach_next();
        if self.cycles >= self.deadline {
            return Ok(());
        }
        self.step_due(Due::Instruction)
    }

    /// Executes the next instruction, unless the run is to stop before it.
    fn step_due(&mut self, due: Due) -> Result<(), Stop> {
        let pc = self.cpu.pc;
        match self.next_slot()? {
            Some(slot) if due == Due::Conditional => self.step_in_it_block(pc, slot),
            Some(slot) => self.step_decoded(pc, slot),
            None => self.fetch_fault(pc),
        }
    }

    /// The instruction at the program counter, which has not even been fetched.
    ///
    /// # Errors
    /// When the run is to stop before it, and its condition holds.
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

    /// Executes one instruction outside IT blocks, away from the hot path.
    pub(crate) fn step_decoded(&mut self, pc: u32, slot: Slot) -> Result<(), Stop> {
        self.enter_under(Condition::None);
        let alert = self.expects_pend();
        self.fetch(pc, slot.size());
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size()));
        let beginning = self.begin_instruction(pc);
        if alert
            && let Some(result) =
                self.interrupt_instruction(Stand { pc, it: 0, began: self.cycles }, &slot)
        {
            return self.end_instruction(beginning, &slot, result);
        }
        let result = self.finish(pc, &slot);
        self.end_instruction(beginning, &slot, result)
    }

    /// Executes the next instruction of an IT block, or passes over it.
    pub(crate) fn step_in_it_block(&mut self, pc: u32, slot: Slot) -> Result<(), Stop> {
        if let Some(ici) = self.cpu.ici() {
            return self.go_on(pc, &slot, ici);
        }
        let condition = self.condition_of_next();
        self.enter_under(condition);
        let alert = self.expects_pend();
        self.fetch(pc, slot.size());
        let slot = if slot.op == Op::Watch { self.pass_watch(pc) } else { slot };
        let beginning = self.begin_instruction(pc);
        let it = self.cpu.it;
        self.cpu.advance_it();
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size()));
        if condition == Condition::Failed {
            self.cycles += u64::from(self.rules.skip);
            self.instructions += 1;
            return self.end_instruction(beginning, &Slot::undefined(slot.size()), Ok(()));
        }
        let slot = slot.inside_it();
        if alert
            && let Some(result) =
                self.interrupt_instruction(Stand { pc, it, began: self.cycles }, &slot)
        {
            return self.end_instruction(beginning, &slot, result);
        }
        let result = match self.execute_alone(&slot) {
            Ok(flow) => {
                self.complete(&slot, flow);
                Ok(())
            }
            Err(trap) => {
                // What faults has not executed, and is in the block still.
                if trap.undoes_instruction() {
                    self.cpu.it = it;
                }
                self.end_trapped(trap, pc, slot)
            }
        };
        self.end_instruction(beginning, &slot, result)
    }

    /// Executes a slot away from the hot path.
    #[inline(never)]
    fn finish(&mut self, pc: u32, slot: &Slot) -> Result<(), Stop> {
        match self.execute_alone(slot) {
            Ok(flow) => {
                self.complete(slot, flow);
                Ok(())
            }
            Err(trap) => self.end_trapped(trap, pc, *slot),
        }
    }

    pub(crate) fn complete(&mut self, slot: &Slot, flow: Flow) {
        self.retire(slot);
        if flow == Flow::Jump {
            self.pipe = self.pipe.taken();
        }
    }

    /// Counts an instruction that has completed.
    fn retire(&mut self, slot: &Slot) {
        self.cycles += u64::from(slot.cost);
        self.instructions += 1;
    }

    /// Notes that a watched address is reached; answers the real instruction there.
    pub(crate) fn pass_watch(&mut self, pc: u32) -> Slot {
        self.watches.reach(pc, self.counts());
        self.empty_caches_if_asked();
        self.code.decoder.decode_guarded(&self.bus, pc).unwrap_or(Slot::undefined(2))
    }

    /// Ends an instruction that did not simply complete.
    #[inline(never)]
    pub(crate) fn end_trapped(&mut self, trap: Trap, pc: u32, slot: Slot) -> Result<(), Stop> {
        if self.trial != Trial::No {
            self.trial = Trial::Trapped;
            return Ok(());
        }
        match trap {
            Trap::Watched => {
                let slot = self.pass_watch(pc);
                return self.finish(pc, &slot);
            }
            Trap::Breakpoint if slot.imm == SEMIHOSTING => {
                self.retire(&slot);
                return match self.semihosting() {
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
                self.fall_asleep(if event { Sleep::Event } else { Sleep::Interrupt });
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
                // The instruction completes, whatever becomes of its stores.
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
            Trap::LazyNoAnswer | Trap::LazyForbidden => {
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
            Trap::DivideByZero => (FaultKind::DivideByZero, None),
            Trap::StackLimit => (FaultKind::StackLimit, None),
            Trap::NonSecure => (FaultKind::NonSecure, None),
            Trap::LazyState => (FaultKind::LazyState, None),
            Trap::NoAnswer => (FaultKind::DataAccess, Some(self.trap_value)),
            Trap::Forbidden => (FaultKind::DataProtection, Some(self.trap_value)),
            Trap::Unmodelled => (FaultKind::Unmodelled, Some(self.trap_value)),
            Trap::Unaligned => (FaultKind::Unaligned, Some(self.trap_value)),
            Trap::Undefined if self.is_for_absent_coprocessor(pc, &slot) => {
                (FaultKind::NoCoprocessor, None)
            }
            _ => (FaultKind::UndefinedInstruction, None),
        };
        self.cycles += u64::from(slot.cost);
        self.drain();
        self.fault(kind, address, pc)
    }

    /// Looks after everything that is not a plain instruction, at an instruction's boundary.
    #[inline(never)]
    fn attend(&mut self) -> Option<Stop> {
        loop {
            self.reach_next();
            let step = match self.attend_once() {
                Ok(Due::Instruction) if self.cycles < self.deadline => return None,
                Ok(Due::Attention) => continue,
                Ok(due) => self.step_due(due),
                Err(stop) => Err(stop),
            };
            if let Err(stop) = step {
                return Some(stop);
            }
        }
    }

    /// Lets one thing happen that is no instruction, if one is due; answers what is due then.
    pub(crate) fn attend_once(&mut self) -> Result<Due, Stop> {
        if let Some(error) = &self.failed {
            return Err(Stop::Internal(error.clone()));
        }
        self.pass_time(self.cycles);
        if self.cycles >= self.rtt.next() {
            self.serve_rtt();
        }
        self.update_protection();
        self.look_at_masks();
        if self.reset_requested {
            self.reset_requested = false;
            return Err(Stop::ResetRequested);
        }
        if self.cycles >= self.limit {
            return Err(Stop::Limit);
        }
        if let Some(sleep) = self.sleeping {
            if self.wakes(sleep) {
                self.sleeping = None;
                self.stay();
            } else if let Some(at) = self.next_wake() {
                let woken = at.min(self.limit).max(self.cycles);
                self.spent.sleep += woken - self.cycles;
                self.cycles = woken;
            } else {
                return Err(Stop::Asleep);
            }
            return Ok(Due::Attention);
        }
        if let Some(exception) = self.system.nvic.to_take(self.masks()) {
            return self.take(exception).map(|()| Due::Attention);
        }
        if self.cpu.it != 0 {
            return Ok(Due::Conditional);
        }
        let systick = self.system.systick.next_zero();
        let devices = self.devices.next().min(self.rtt.next()).min(self.next_arrival());
        let due = systick.min(self.next_scheduled()).min(devices).min(self.limit);
        self.deadline = due.min(self.alert());
        Ok(Due::Instruction)
    }

    /// Lets everything happen that is due by `now`, in its order.
    #[inline(always)]
    pub(crate) fn pass_time(&mut self, now: u64) {
        let clocks = self.system.systick.next_zero().min(self.devices.next());
        if clocks.min(self.next_scheduled()).min(self.next_arrival()) <= now {
            self.let_happen(now);
        }
    }

    #[inline(never)]
    fn let_happen(&mut self, now: u64) {
        loop {
            let zero = self.system.systick.next_zero();
            let (scheduled, device) = (self.next_scheduled(), self.devices.next());
            let first = zero.min(scheduled).min(device);
            self.receive(first.min(now));
            if first > now {
                return;
            }
            if first == device {
                self.pass_devices(device);
            } else if zero <= scheduled {
                if self.system.systick.pass_zero(zero) {
                    self.signal(SYSTICK, zero);
                }
            } else {
                let (at, exception) = self.scheduled.remove(0);
                self.signal(exception, at);
            }
        }
    }

    pub(crate) fn next_scheduled(&self) -> u64 {
        self.scheduled.first().map_or(u64::MAX, |&(at, _)| at)
    }

    /// When a sleeping core could next be woken by a clock of its own or a scheduled interrupt.
    fn next_wake(&self) -> Option<u64> {
        let zero = self.system.systick.next_interrupt();
        let first = zero.min(self.next_scheduled()).min(self.devices.next());
        Some(first.min(self.next_arrival())).filter(|&at| at != u64::MAX)
    }

    fn wakes(&mut self, sleep: Sleep) -> bool {
        // PRIMASK holds the handler back, not the wake-up (DDI 0403, B1.5.19).
        let masks = Masks { primask: false, ..self.masks() };
        if self.system.nvic.to_take(masks).is_some() {
            return true;
        }
        match sleep {
            Sleep::Interrupt => false,
            Sleep::Event => std::mem::take(&mut self.event),
        }
    }
}
