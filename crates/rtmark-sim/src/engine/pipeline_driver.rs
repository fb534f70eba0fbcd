//! The pipeline driver: passes on to a core's pipeline model what only execution shows.
//!
//! Instructions enter the execute stage one after the other; the cost of each is known when the
//! next one enters ([`crate::timing::memo`]). The driver reports conditions, memory waits, split
//! accesses and slow operations to the model, and when the pipeline drains or refills. A model
//! without buses receives conditions and jumps only. Cores without a pipeline model do nothing
//! here.

use rtmark_units::Cycles;

use crate::arch::armm::registers::is_ici;
use crate::engine::block::{Block, Passage, lay_out};
use crate::engine::cursor::Cursor;
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::native::{NativeCode, NativePages};
use crate::exec::ExecContext;
use crate::exec::partial::rest;
use crate::isa::Slot;
use crate::memory::Place;
use crate::state::stop::InternalError;
use crate::state::{NOT_FETCHED, ProgramPoint, State, Trial};
use crate::timing::Classify;
use crate::timing::exceptions::EntryTiming;
use crate::timing::memo::{EntryResult, Incoming, ModelInstruction, PipeState};
use crate::timing::pipeline::{Condition, CoreBus, Stalled};

impl State {
    /// Waits for a literal in code memory.
    #[inline(always)]
    pub(crate) fn wait_for_literal(&mut self, at: &mut Cursor<'_>, place: Place) {
        let memory = &mut self.lines[place.memory];
        if memory.is_behind_core() {
            return self.wait_behind_caches(at, place);
        }
        let waits = memory.read(place.offset, at.progress().cycles);
        if waits > 0 {
            at.slow_path(self, |machine| machine.wait_at(place, waits));
        }
    }

    /// The same where the core's caches decide, which ask what is executing.
    #[inline(never)]
    fn wait_behind_caches(&mut self, at: &mut Cursor<'_>, place: Place) {
        at.slow_path(self, |machine| machine.wait_for_load(place));
    }

    /// The instruction stays in the execute stage for longer than usual.
    #[inline(always)]
    pub(crate) fn add_cycles(&self, at: &mut Cursor<'_>, cycles: u8) {
        if cycles == 0 {
            return;
        }
        if self.rules.model_buses() {
            at.leave_with_state(at.progress().pipe.with_extra_cycles(cycles));
        } else {
            at.add_cycles(cycles.into(), self.deadline);
        }
    }

    /// Computes the schedule of a block with these micro-operations, from the pipeline state at
    /// `from`. `facts` are those to expect of the instruction at an address. Returns `None` when no more
    /// states can be numbered.
    #[inline(never)]
    pub(crate) fn make_schedule<'a>(
        &mut self,
        block: &'a Block,
        slots: &[MicroOp],
        from: ProgramPoint,
        pages: &NativePages,
        mut facts: impl FnMut(u32) -> u32,
    ) -> Option<&'a Passage> {
        let classify = self.rules.classify?;
        let models_buses = self.rules.model_buses();
        let fetches_targets = self.rules.fetches_targets();
        let mut steps = Vec::with_capacity(slots.len());
        let mut entered = EntryResult { pipe: from.pipe, cost: 0 };
        let mut cycles = 0;
        let mut has_begun = false;
        let mut count = 0;
        for (at, mut step) in lay_out(block.address, slots, self.rules).into_iter().enumerate() {
            let begin = &mut step.begin;
            let precedes = begin.kind.is_before_instruction();
            // The target of a jump is fetched while the pipeline is refilled.
            let is_target = begin.kind == Kind::Line && fetches_targets && entered.pipe.is_taken();
            if begin.kind.is_check() || is_target {
                // After an instruction, before the next one enters.
                (begin.cycles, begin.pipe, begin.cost) = (cycles, entered.pipe, 0);
                begin.count = count;
                steps.push(step);
                continue;
            }
            // Any other instruction enters before its line is fetched.
            if !has_begun && !entered.pipe.has_entered() {
                let pc = from.pc.wrapping_add_signed(begin.offset.into());
                let condition = match block.it_before(at) {
                    0 => Condition::None,
                    _ if slots[at + usize::from(precedes)].kind == Kind::Skip => Condition::Failed,
                    _ => Condition::Passed,
                };
                let pipe = entered.pipe.with_condition(condition);
                entered = self.enter(classify, pc, pipe)?;
                cycles += entered.cost;
            }
            entered.pipe = entered.pipe.executing();
            (begin.cycles, begin.pipe, begin.cost) = (cycles, entered.pipe, 0);
            (has_begun, count) = (precedes, begin.count);
            if begin.kind == Kind::Followed {
                entered.pipe = entered.pipe.taken();
            }
            steps.push(step);
            if models_buses && step.micro().may_show_facts() && at + 1 < slots.len() {
                let expected = entered.pipe.with_shown(facts(step.address(from.pc)));
                if expected != entered.pipe {
                    steps.push(step.check_facts(expected));
                    entered.pipe = expected;
                }
            }
        }
        let native = if block.is_profiled() {
            None
        } else {
            NativeCode::of(self, pages, block.address, &steps, None)
        };
        Some(block.keep(from.pipe, steps, native))
    }

    /// Advances the pipeline so that the instruction at `pc` enters the execute stage. Returns
    /// `None` when no more states can be numbered.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        classify: Classify,
        pc: u32,
        pipe: PipeState,
    ) -> Option<EntryResult> {
        let ici = self.cpu.ici();
        let known = if ici.is_none() { self.memo.recall(pc, pipe) } else { None };
        known.or_else(|| self.compute_entry(classify, pc, pipe, ici))
    }

    #[inline(never)]
    fn compute_entry(
        &mut self,
        classify: Classify,
        pc: u32,
        pipe: PipeState,
        ici: Option<u8>,
    ) -> Option<EntryResult> {
        let place = self.bus.place(pc).filter(|_| ici.is_none());
        let stays = place.is_some_and(|place| !self.bus.is_writable(place.memory));
        if stays && let Some(entered) = self.memo.recall_shared(pc, pipe) {
            return Some(entered);
        }
        let incoming = self.classify_next(classify, pc, pipe, ici);
        let entered = match ici {
            None => self.memo.enter(pc, pipe, &incoming),
            Some(_) => self.memo.enter_rest(pc, pipe, &incoming),
        };
        let entered = entered.unwrap_or_else(|stalled| {
            self.record_stall(pc, &stalled);
            None
        });
        if stays && let Some(entered) = entered {
            self.memo.memoize_shared(pc, pipe, entered);
        }
        entered
    }

    /// Classifies the instruction at `pc` for the core's model.
    fn classify_next(
        &self,
        classify: Classify,
        pc: u32,
        pipe: PipeState,
        ici: Option<u8>,
    ) -> ModelInstruction {
        let bus = &self.bus;
        let mut slot = self.predecoded.instruction(bus, pc).unwrap_or(Slot::undefined(2));
        if let Some(ici) = ici {
            slot = rest(&slot, ici);
        }
        let half = |offset: u32| {
            let mut half = [0; 2];
            bus.peek(pc.wrapping_add(offset), &mut half);
            u16::from_le_bytes(half)
        };
        match classify {
            Classify::Pipeline(classify) => {
                let mut step = classify(&slot, half(slot.size().into()));
                if slot.op.is_literal() {
                    step.bus = CoreBus::of(slot.imm);
                }
                ModelInstruction::Step(Incoming {
                    step,
                    size: slot.size().into(),
                    target: slot.imm,
                })
            }
            Classify::Issue(classify) => {
                if pipe.is_in_it_block() {
                    slot = slot.inside_it();
                }
                ModelInstruction::Instruction(classify(&slot, [half(0), half(2)]))
            }
            Classify::Dual(classify) => {
                if pipe.is_in_it_block() {
                    slot = slot.inside_it();
                }
                ModelInstruction::Dual(classify(&slot, [half(0), half(2)]))
            }
        }
    }

    /// Records that the pipeline model is stuck. Its cycles are meaningless from here on, so the
    /// run ends with an internal error at the next boundary, which is due at once.
    #[cold]
    #[inline(never)]
    fn record_stall(&mut self, pc: u32, stalled: &Stalled) {
        if self.trial != Trial::Inactive {
            self.trial = Trial::Failed;
        }
        if self.failed.is_none() {
            self.failed = Some(Box::new(InternalError {
                pc,
                instruction: self.disassembly(pc).map(|text| {
                    format!("{} {}", text.mnemonic, text.operands).trim_end().to_owned()
                }),
                cycle: Cycles(self.cycles),
                state: format!("the pipeline model is stuck: {stalled}"),
            }));
        }
        self.request_attention();
    }

    /// Returns the cycles, or records that the pipeline model is stuck.
    #[inline(always)]
    fn or_record_stall(&mut self, pc: u32, cycles: Result<u64, Stalled>) -> u64 {
        cycles.unwrap_or_else(|stalled| {
            self.record_stall(pc, &stalled);
            0
        })
    }

    /// Advances the pipeline so that the next instruction enters the execute stage.
    pub(crate) fn enter_under(&mut self, condition: Condition) {
        let Some(classify) = self.rules.classify else {
            return;
        };
        if self.pipe.has_entered() {
            self.pipe = self.pipe.executing();
            return;
        }
        self.fetch_target();
        let entered = self.enter_next(classify, condition);
        self.cycles += u64::from(entered.cost);
        self.pipe = entered.pipe;
    }

    /// The target of a jump is fetched while the pipeline is refilled.
    fn fetch_target(&mut self) {
        let is_target = self.pipe.is_taken() && self.rules.fetches_targets();
        let pc = self.cpu.pc;
        let slot = if is_target { self.predecoded.slot(&mut self.bus, pc) } else { None };
        self.fetch_as_target(slot);
    }

    /// Fetches the instruction at the program counter as a jump's target, if there is one.
    fn fetch_as_target(&mut self, slot: Option<Slot>) {
        let pc = self.cpu.pc;
        self.fetched = NOT_FETCHED;
        if let Some(slot) = slot {
            self.fetch(pc, slot.size());
            self.fetched = pc;
        }
    }

    /// Advances the pipeline so that the next instruction enters, renumbering the states if their
    /// table is full.
    fn enter_next(&mut self, classify: Classify, condition: Condition) -> EntryResult {
        let pc = self.cpu.pc;
        let pipe = self.pipe.with_condition(condition);
        self.enter(classify, pc, pipe).unwrap_or_else(|| {
            self.renumber_pipe_states();
            let pipe = self.pipe.with_condition(condition);
            // The table has just been emptied, so this succeeds, except in a trial or run that has
            // already failed and whose cycles are not used.
            self.enter(classify, pc, pipe).unwrap_or(EntryResult { pipe, cost: 1 })
        })
    }

    /// Returns after how many cycles the next instruction enters, if nothing else happens first. Returns
    /// `None` if no more states can be numbered.
    pub(crate) fn cost_of_next(&mut self) -> Option<u64> {
        let Some(classify) = self.rules.classify else { return Some(0) };
        let pipe = self.pipe.with_condition(self.condition_of_next());
        self.enter(classify, self.cpu.pc, pipe).map(|entered| entered.cost.into())
    }

    /// Renumbers the pipeline's states, and forgets the schedules that contain old numbers.
    pub(crate) fn renumber_pipe_states(&mut self) {
        if self.failed.is_some() {
            return;
        }
        if self.trial != Trial::Inactive {
            // The state at its beginning has an old number, too.
            self.trial = Trial::Failed;
            return;
        }
        self.pipe = self.memo.renew(self.pipe);
        self.predecoded.forget_all();
    }

    /// Returns the condition of the next instruction, by its place in an IT block.
    pub(crate) fn condition_of_next(&self) -> Condition {
        match self.cpu.it {
            0 => Condition::None,
            it if is_ici(it) => Condition::None,
            it if self.cpu.condition(it >> 4) => Condition::Passed,
            _ => Condition::Failed,
        }
    }

    /// Records that the entered instruction waits in the execute stage.
    pub(crate) fn stay(&mut self) {
        let has_entered = self.rules.model_buses() || self.pipe != PipeState::EMPTY;
        if self.rules.classify.is_some() && has_entered {
            self.pipe = self.pipe.entered();
        }
    }

    /// Drains the pipeline: the newest instruction leaves the execute stage before an exception.
    pub(crate) fn drain(&mut self) {
        if self.rules.classify.is_some() {
            let pc = self.cpu.pc;
            self.note_float_unit(self.cycles, self.pipe);
            let drained = self.memo.drain(pc, self.pipe);
            self.cycles += self.or_record_stall(pc, drained);
            if !self.rules.model_buses() {
                self.pipe = PipeState::EMPTY;
            }
        }
    }

    /// Completes the first instruction of a dual-issued pair when an exception comes before the
    /// second.
    pub(crate) fn finish_first(&mut self) {
        if self.rules.classify.is_some() && self.pipe.has_entered() {
            self.cycles += self.memo.first_remaining_cycles(self.pipe);
        }
    }

    /// Returns the cycle of the current instruction's data access.
    #[inline(always)]
    pub(crate) fn data_phase(&mut self) -> u64 {
        let pc = self.cpu.pc;
        let taken = match self.rules.classify {
            Some(_) => self.memo.data_phase(pc, self.pipe),
            None => Ok(1),
        };
        self.cycles + self.or_record_stall(pc, taken)
    }

    /// Advances to the cycle in which the next instruction enters the execute stage.
    pub(crate) fn reach_next(&mut self) {
        let Some(classify) = self.rules.classify else { return };
        if self.pipe.has_entered() || self.sleeping.is_some() {
            return;
        }
        let condition = self.condition_of_next();
        if self.rules.model_buses() && self.may_be_interrupted() {
            self.reach_interrupted(classify, condition);
        } else {
            self.enter_under(condition);
        }
        self.pipe = self.pipe.entered();
    }

    /// Returns whether an exception might be taken before the next instruction enters. One that
    /// becomes pending during an instruction that began long before waits for the next one to
    /// enter: see [`crate::exceptions::interruptible`].
    fn may_be_interrupted(&self) -> bool {
        self.expects_pend() || self.system.nvic.exception_to_take(self.masks()).is_some()
    }

    /// Advances until the next instruction enters, or to the cycle in which an exception begins
    /// instead.
    #[inline(never)]
    fn reach_interrupted(&mut self, classify: Classify, condition: Condition) {
        let (pc, left) = (self.cpu.pc, self.cycles);
        self.fetch_target();
        let began = self.cycles;
        let entered = self.enter_next(classify, condition);
        // States may have been renumbered meanwhile.
        let before = self.pipe;
        self.pipe = entered.pipe;
        self.cycles += u64::from(entered.cost);
        let Some(at) = self.first_exception_within(left, self.cycles + 1) else { return };
        let drained = self.memo.drain(pc, before);
        let free = left + self.or_record_stall(pc, drained);
        self.cycles = at.max(free.min(self.cycles));
        self.note_fetches((began, before.with_condition(condition)), self.cycles);
    }

    /// Records the fetches still on the Code bus when an exception begins in cycle `at` instead of
    /// the next instruction; `entered` is the cycle and state in which the previous instruction
    /// entered. No further fetch is requested from the cycle before on: measured on a CC2650.
    pub(crate) fn note_fetches(&mut self, (entered, pipe): (u64, PipeState), at: u64) {
        let pc = self.cpu.pc;
        self.note_float_unit(entered, pipe);
        self.code_free = 0;
        if let Some(classify) = self.rules.classify
            && self.trial != Trial::Failed
            && CoreBus::of(pc) == CoreBus::Code
        {
            let clocks = at.saturating_sub(entered + 1) as u32;
            let ici = self.cpu.ici();
            let known = self.memo.recall_fetches_left(pc, pipe, clocks).filter(|_| ici.is_none());
            let left = known.unwrap_or_else(|| {
                let incoming = self.classify_next(classify, pc, pipe, ici);
                let left = self.memo.fetches_left(pc, pipe, &incoming, clocks);
                let left = self.or_record_stall(pc, left);
                if ici.is_none() {
                    self.memo.memoize_fetches_left(pc, pipe, clocks, left);
                }
                left
            });
            self.code_free = entered + u64::from(clocks) + left;
        }
    }

    /// Records what the floating-point unit still does for the program that an exception interrupts or a return
    /// leaves, whose newest instruction has entered in a cycle.
    fn note_float_unit(&mut self, entered: u64, pipe: PipeState) {
        if self.features.fp && self.rules.model_buses() {
            self.float_unit = (entered, self.memo.float_unit(pipe));
        }
    }

    /// Returns the state of a pipeline whose refill begins.
    pub(crate) const fn refilling(&self) -> PipeState {
        if self.rules.fetches_targets() {
            PipeState::refilling(!self.system.has_no_write_buffer())
        } else {
            PipeState::EMPTY
        }
    }

    /// Refills the pipeline after an exception entry or return that began in a cycle: the first
    /// instruction enters.
    pub(crate) fn refill(&mut self, began: u64, schedule: EntryTiming) {
        let Some(classify) = self.rules.classify.filter(|_| self.rules.model_buses()) else {
            self.pipe = self.refilling();
            return;
        };
        let pc = self.cpu.pc;
        self.cycles = began + schedule.through;
        let mut refilled = schedule.refilled();
        let slot = self.predecoded.slot(&mut self.bus, pc);
        if let Some(slot) = slot {
            let asked = began + schedule.asked;
            let waits = self.wait_for_code(pc, slot.size(), asked) - asked;
            self.cycles += waits.saturating_sub(refilled);
            refilled = refilled.saturating_sub(waits);
        }
        let buffers = !self.system.has_no_write_buffer();
        let refilled = refilled.min(u8::MAX.into());
        let (entered, float_unit) = self.float_unit;
        let float_unit = float_unit.after(self.cycles.saturating_sub(refilled + entered));
        self.pipe = self.memo.refilled(buffers, refilled as u8, float_unit);
        self.fetch_as_target(slot);
        let entered = self.enter_next(classify, self.condition_of_next());
        self.cycles += u64::from(entered.cost);
        self.pipe = entered.pipe.entered();
    }
}
