//! The core in its system: executes cycle by cycle, and connects execution with the pipeline.

use super::csr::{Cause, Interrupt, Lines};
use super::decoded::Decoded;
use super::exec::{self, Exception, Prepared, Trap};
use super::graph::Graph;
use super::hart::Hart;
use super::inputs::Inputs;
use super::isa::op::{CsrWrite, Width};
use super::isa::{Instruction, MicroOp, Op, Sequence, decode, micro_op};
use super::rules::Rules;
use super::system::{CachedFetches, System};
use super::timing::cycle::{CycleOutcome, Event};
use super::timing::{CycleInputs, Flow, Memo, PassageResult, Pipeline};
use super::trial::Trial;

/// The kind of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrapKind {
    /// An exception, by its MCAUSE code.
    Exception(u8),
    /// An interrupt, by its MCAUSE code.
    Interrupt(u8),
    /// MRET.
    Return,
}

/// An observer of a run. All methods do nothing by default.
pub trait PipelineObserver {
    /// Called when an instruction leaves stage X: it has been decoded and executed, but may still
    /// wait for memory.
    fn left(&mut self, _pc: u32, _cycle: u64) {}
    /// Called when a register is written, in program order, with the cycle in which stage M has the
    /// value.
    fn wrote(&mut self, _register: u8, _value: u32, _cycle: u64) {}
    /// Called when the jump to or from a trap's handler is made, with the address that it returns
    /// to.
    fn trapped(&mut self, _what: TrapKind, _cycle: u64, _return_to: u32) {}
    /// Returns whether the run is to end.
    fn is_done(&self) -> bool {
        false
    }
}

/// An observer that ignores everything.
pub struct NullObserver;

impl PipelineObserver for NullObserver {}

/// The instruction in stage X, or on its way there.
#[derive(Clone, Copy, Debug)]
struct Current {
    whole: Instruction,
    op: MicroOp,
    prepared: Prepared,
}

/// An exception that stage M is about to take.
#[derive(Clone, Copy, Debug)]
struct PendingException {
    exception: Exception,
    pc: u32,
}

/// The result of a cycle, as far as a run may end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleResult {
    /// No event.
    Cycle,
    /// The instruction at this address has left stage X for good.
    Instruction(u32),
    /// A trap has been entered.
    Trap,
    /// The instruction at the program counter faults, and the run is to end before it.
    Refused,
}

/// Which exceptions end a run before they are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// None: all are taken, as on the chip.
    #[default]
    Nothing,
    /// Faults and breakpoints, but not calls and returns, which working programs use.
    Faults,
}

impl Refusal {
    const fn refuses(self, exception: &Exception) -> bool {
        let works = matches!(
            exception.kind,
            Trap::Return | Trap::Cause(Cause::UserCall | Cause::MachineCall, _)
        );
        matches!(self, Self::Faults) && !works
    }
}

/// The core in its system.
#[derive(Clone, Debug)]
pub struct Core {
    pub hart: Hart,
    pub system: System,
    pub inputs: Inputs,
    /// The state as of the last cycle that was simulated individually; outdated while `number` is
    /// set.
    pipeline: Pipeline,
    pub(super) number: Option<u32>,
    pub(super) memo: Memo,
    pub(super) graph: Graph,
    pub(super) decoded: Decoded,
    /// The next cycle to simulate, counted from the reset.
    pub cycle: u64,
    pub instructions: u64,
    /// The wait states of loads and stores so far.
    pub waited: u64,
    current: Option<Current>,
    /// How many micro-operations of the instruction have left stage X.
    step: u8,
    pending_exception: Option<PendingException>,
    /// Where an interrupt returns to, if not to the instruction in stage X.
    resumes_at: Option<u32>,
    /// The interrupt inputs when last sampled, and the cycle until which they cannot change.
    pub(super) lines: Lines,
    pub(super) lines_stable_until: u64,
    /// Whether the last cycle changed nothing in the pipeline.
    still: bool,
    /// The external interrupt taken last.
    last_external_interrupt: Option<u16>,
    /// Whether the instruction that has left is a host call.
    calls: bool,
    /// The external interrupt whose number the instruction has read in MEINEXT.
    served: Option<u16>,
    pub refusal: Refusal,
    refused: Option<Exception>,
    pub(super) trial: Trial,
}

impl Core {
    /// Creates a core after a reset, with the vectors at an address.
    pub fn new(rules: &'static Rules, system: System, vectors: u32) -> Self {
        let pc = vectors.wrapping_add(rules.entry);
        Self {
            hart: Hart::new(rules, pc, vectors),
            system,
            inputs: Inputs::new(rules.interrupts),
            pipeline: Pipeline::new(rules.stages, pc),
            number: None,
            memo: Memo::default(),
            graph: Graph::default(),
            decoded: Decoded::new(rules.extensions),
            cycle: 0,
            instructions: 0,
            waited: 0,
            current: None,
            step: 0,
            pending_exception: None,
            resumes_at: None,
            lines: Lines::default(),
            lines_stable_until: 0,
            still: false,
            last_external_interrupt: None,
            calls: false,
            served: None,
            refusal: Refusal::default(),
            refused: None,
            trial: Trial::default(),
        }
    }

    /// Samples the interrupt inputs again, after a change outside the core.
    pub fn resample_interrupts(&mut self) {
        self.lines_stable_until = 0;
    }

    /// Samples the interrupt inputs for the next cycle.
    pub fn sample_interrupt_lines(&mut self) {
        if self.cycle < self.lines_stable_until {
            return;
        }
        let timer = self.system.timer.as_mut();
        let (outputs, external) = timer.map_or(((false, false), 0), |timer| {
            let outputs = timer.outputs(self.cycle);
            (outputs, if outputs.0 { timer.external() } else { 0 })
        });
        self.system.process_device_events(self.cycle);
        let before = self.lines;
        self.lines = self.inputs.sample(self.cycle, outputs, self.system.outputs | external);
        self.still &= self.lines == before;
        let next = self.cycle + 1;
        self.lines_stable_until = if self.inputs.is_changing(&self.lines) {
            next
        } else {
            let timer = self.system.timer.as_ref().and_then(|timer| timer.due(next));
            let others = timer.into_iter().chain(self.inputs.due());
            others.chain([self.system.devices.next]).min().unwrap_or(u64::MAX).max(next)
        };
    }

    fn fetch(&mut self) -> Current {
        let pc = self.hart.pc;
        let nothing = Instruction { op: Op::Illegal, rd: 0, rs1: 0, rs2: 0, imm: 0, size: 2 };
        let code = self.system.code(pc);
        let whole = code.map_or(nothing, |bits| self.decoded.get(pc, bits));
        let op = micro_op(&whole, self.step);
        let prepared = exec::prepare(&self.hart, &self.system, &op);
        Current { whole, op, prepared }
    }

    /// Materializes the pipeline's state, if only its number is known.
    fn materialize(&mut self) {
        if let Some(number) = self.number.take()
            && let Some(state) = self.memo.state(number)
        {
            self.pipeline = *state;
        }
    }

    /// Returns how a whole instruction will pass, if that is memoized and nothing else can happen
    /// before it ends, no later than `until`.
    fn recall_next(&mut self, until: u64) -> Option<(Current, PassageResult)> {
        if !self.is_at_boundary() || self.system.is_transferring(self.cycle) {
            return None;
        }
        self.sample_interrupt_lines();
        let csr = &self.hart.csr;
        if csr.takes_interrupts() && csr.wanted(&self.lines).is_some() {
            return None;
        }
        if self.system.bus.code_writes.dirty || self.memo.is_full() {
            self.materialize();
            self.memo.forget();
            self.graph.forget();
            self.system.bus.code_writes.dirty = false;
        }
        let number = match self.number {
            Some(number) => number,
            None if self.pipeline.has_sleep_or_trap() => return None,
            None => self.memo.number(&self.pipeline),
        };
        self.number = Some(number);
        self.system.now = self.cycle;
        let current = self.fetch();
        let demand = &current.prepared.demand;
        if current.prepared.exception.is_some() {
            return None;
        }
        let passed = self.memo.passage(number, demand, &mut CachedFetches::new(&mut self.system));
        self.system.cover(demand.pc);
        let result = passed?;
        if !self.system.holds_all(self.memo.lines(result.fetched)) {
            return None;
        }
        let end = self.cycle + u64::from(result.cycles);
        (end <= until.min(self.lines_stable_until)).then_some((current, result))
    }

    /// Returns the cycle of the boundary after the next instruction, if its passage is memoized.
    pub fn next_boundary(&mut self) -> Option<u64> {
        let (_, result) = self.recall_next(u64::MAX)?;
        Some(self.cycle + u64::from(result.cycles))
    }

    /// Executes a whole instruction by its memoized passage, if nothing else can happen before it
    /// ends, no later than `until`. Otherwise returns `None` and does nothing.
    pub fn step_memoized(
        &mut self,
        until: u64,
        observer: &mut impl PipelineObserver,
    ) -> Option<CycleResult> {
        let (current, result) = self.recall_next(until)?;
        let end = self.cycle + u64::from(result.cycles);
        if let Some(from) = self.number.replace(result.to)
            && current.op.place == Sequence::Whole
        {
            self.graph.note(&current.whole, &current.prepared.demand, from, result);
        }
        self.system.used_all(self.memo.lines(result.fetched));
        self.cycle = end - 1;
        let counts = self.hart.csr.counts_retired();
        let passed = self.leave(&current, observer);
        self.hart.csr.retire(counts);
        self.cycle = end;
        Some(passed)
    }

    /// Advances the core by one cycle.
    pub fn step_cycle(&mut self, observer: &mut impl PipelineObserver) -> CycleResult {
        self.materialize();
        self.system.now = self.cycle;
        self.sample_interrupt_lines();
        let current = self.current.unwrap_or_else(|| self.fetch());
        self.current = Some(current);
        let wanted = self.hart.csr.wanted(&self.lines);
        let vector = match self.pending_exception {
            Some(PendingException { exception: Exception { kind: Trap::Return, .. }, .. }) => {
                self.hart.csr.mepc
            }
            Some(_) => self.hart.csr.vector(None),
            None => self.hart.csr.vector(wanted),
        };
        let cycle_inputs = CycleInputs {
            interrupt: wanted.is_some() && self.hart.csr.takes_interrupts(),
            wakes: wanted.is_some(),
            unblocked: false,
            vector,
            depth: self.hart.csr.depth(),
        };
        let asleep = self.pipeline.is_asleep();
        let before = asleep.then_some(self.pipeline);
        let outcome =
            self.pipeline.advance(&current.prepared.demand, &cycle_inputs, &mut self.system);
        self.still = before == Some(self.pipeline);
        let counts = outcome.retires && self.hart.csr.counts_retired();
        let passed = self.settle(&current, outcome, wanted, observer);
        self.hart.csr.retire(counts);
        self.cycle += 1;
        passed
    }

    fn settle(
        &mut self,
        current: &Current,
        outcome: CycleOutcome,
        wanted: Option<Interrupt>,
        observer: &mut impl PipelineObserver,
    ) -> CycleResult {
        match outcome.event {
            Event::Stays => CycleResult::Cycle,
            Event::JumpsAhead => {
                let alone = current.op.instruction.size == current.whole.size
                    && current.op.instruction == current.whole;
                if let (false, Flow::Jump(target)) = (alone, current.prepared.demand.flow) {
                    self.resumes_at = Some(target);
                }
                CycleResult::Cycle
            }
            Event::Again => {
                self.current = None;
                observer.left(self.hart.pc, self.cycle);
                CycleResult::Cycle
            }
            Event::Leaves => self.leave(current, observer),
            Event::Exception => self.take_exception(observer),
            Event::Interrupt => {
                if let Some(interrupt) = wanted {
                    self.take_interrupt(interrupt, observer);
                }
                CycleResult::Trap
            }
        }
    }

    fn leave(&mut self, current: &Current, observer: &mut impl PipelineObserver) -> CycleResult {
        let Current { whole, op, prepared } = current;
        let (pc, cycle) = (self.hart.pc, self.cycle);
        if self.trial.ends_before(&op.instruction) {
            return CycleResult::Refused;
        }
        self.current = None;
        self.waited += u64::from(prepared.demand.access.all_waits());
        if let Some(exception) = prepared.exception {
            if self.refusal.refuses(&exception) {
                self.refused = Some(exception);
                return CycleResult::Refused;
            }
            self.pending_exception = Some(PendingException { exception, pc });
        } else {
            let forced = self.hart.csr.controller.forced();
            let done =
                exec::commit(&mut self.hart, &mut self.system, op, &self.lines, cycle, prepared);
            self.note_forced(self.hart.csr.controller.forced() & !forced);
            if let Some(number) = done.served {
                self.served = Some(number);
                self.inputs.served(number);
                self.resample_interrupts();
            }
            if let Some((register, value)) = done.written {
                observer.wrote(register, value, done.ends);
            }
            self.calls |= op.instruction.op == Op::Breakpoint;
            if self.system.take_register_access() {
                self.lines_stable_until = 0;
            }
        }
        if !op.place.is_last() && prepared.exception.is_none() {
            self.step += 1;
            // The return of a sequence is its last step but one.
            if let Flow::Jump(target) = prepared.demand.flow {
                self.resumes_at = Some(target);
            }
            return CycleResult::Cycle;
        }
        let next = pc.wrapping_add(u32::from(whole.size));
        self.hart.pc = match prepared.demand.flow {
            Flow::Jump(target) | Flow::Branch { target, taken: true } => target,
            _ => self.resumes_at.unwrap_or(next),
        };
        self.resumes_at = None;
        self.step = 0;
        self.instructions += 1;
        observer.left(pc, cycle);
        CycleResult::Instruction(pc)
    }

    /// Records external interrupts that the program has raised; they are pending from the next
    /// cycle on.
    fn note_forced(&mut self, mut rising: u64) {
        while rising != 0 {
            self.inputs.forced(rising.trailing_zeros() as u16, self.cycle + 1);
            rising &= rising - 1;
        }
    }

    fn trap_to(&mut self, pc: u32) {
        if self.trial == Trial::Active {
            self.trial = Trial::Trapped;
        }
        self.hart.pc = pc;
        self.hart.reservation.open = false;
        self.current = None;
        self.step = 0;
        self.resumes_at = None;
    }

    fn take_exception(&mut self, observer: &mut impl PipelineObserver) -> CycleResult {
        let Some(PendingException { exception, pc }) = self.pending_exception.take() else {
            return CycleResult::Cycle;
        };
        match exception.kind {
            Trap::Return => {
                let target = self.hart.csr.leave();
                observer.trapped(TrapKind::Return, self.cycle, target);
                self.trap_to(target);
            }
            Trap::Cause(cause, _) => {
                let handler = self.hart.csr.vector(None);
                let value = exception.value(&self.system, pc);
                self.hart.csr.enter_exception(pc, cause, value, &self.lines);
                observer.trapped(TrapKind::Exception(cause as u8), self.cycle, pc);
                self.trap_to(handler);
            }
        }
        CycleResult::Trap
    }

    fn take_interrupt(&mut self, interrupt: Interrupt, observer: &mut impl PipelineObserver) {
        let pc = self.resumes_at.unwrap_or(self.hart.pc);
        let handler = self.hart.csr.vector(Some(interrupt));
        let number = self.hart.csr.taken_line(interrupt, &self.lines);
        self.hart.csr.enter_interrupt(pc, interrupt, &self.lines);
        self.inputs.taken(interrupt, number);
        self.last_external_interrupt = number.filter(|_| interrupt.is_external());
        self.resample_interrupts();
        observer.trapped(TrapKind::Interrupt(interrupt.code() as u8), self.cycle, pc);
        self.trap_to(handler);
    }

    /// Returns the exception of the instruction before which the run has ended.
    pub const fn refused(&self) -> Option<Exception> {
        self.refused
    }

    /// Returns the external interrupt taken last, if the last interrupt was external.
    pub const fn last_external_interrupt(&self) -> Option<u16> {
        self.last_external_interrupt
    }

    /// Returns whether the latest trap was an external interrupt.
    pub fn took_external_interrupt(&self) -> bool {
        self.hart.csr.is_in_external()
    }

    /// Returns the external interrupt whose number has been read in MEINEXT, once for each read.
    pub const fn take_served(&mut self) -> Option<u16> {
        self.served.take()
    }

    /// Returns whether the instruction that has left was a host call, once for each call.
    pub const fn take_call(&mut self) -> bool {
        std::mem::replace(&mut self.calls, false)
    }

    /// Returns whether the next instruction reads which interrupts are pending.
    pub fn shows_pending(&self) -> bool {
        self.instruction_at(self.hart.pc).is_some_and(|it| exec::shows_pending(&it))
    }

    /// Returns the external interrupt that would be taken before `interrupt` if that became pending
    /// now.
    pub fn preceding_interrupt(&self, interrupt: u16) -> Option<u16> {
        self.hart.csr.preceding_interrupt(interrupt, &self.lines)
    }

    /// Returns the instruction at an address, if there is memory.
    pub fn instruction_at(&self, address: u32) -> Option<Instruction> {
        let extensions = self.hart.rules.extensions;
        self.system.code(address).map(|bits| decode(bits, extensions))
    }

    /// Returns whether the instruction at an address accesses a CSR.
    pub fn is_csr_access(&self, address: u32) -> bool {
        self.instruction_at(address).is_some_and(|it| matches!(it.op, Op::Csr(..)))
    }

    /// Returns the target of the instruction at an address, if it is encoded in the instruction.
    pub fn target_at(&self, address: u32) -> Option<u32> {
        let it = self.instruction_at(address)?;
        let names = matches!(it.op, Op::Jump | Op::Branch(_));
        names.then(|| address.wrapping_add(it.imm as u32))
    }

    /// Returns the memory access of the instruction at the program counter: the lowest address, the
    /// bytes, and whether it writes.
    pub fn next_access(&self) -> Option<(u32, u32, bool)> {
        exec::access_range(&self.hart, &self.instruction_at(self.hart.pc)?)
    }

    /// Stores a word without taking time. Returns whether anything accepts it.
    pub fn store_word(&mut self, address: u32, value: u32) -> bool {
        self.prepare_again();
        self.resample_interrupts();
        let stores = self.system.answers(address, true);
        stores && self.system.store(address, Width::Word, value, self.cycle).is_some()
    }

    /// Returns whether the input of an external interrupt is high.
    pub const fn is_pending(&self, interrupt: u16) -> bool {
        interrupt < 64 && self.lines.external >> interrupt & 1 == 1
    }

    /// Returns whether the next instruction has not begun.
    pub const fn is_at_boundary(&self) -> bool {
        self.current.is_none() && self.step == 0 && self.pending_exception.is_none()
    }

    /// Returns the value of a CSR, without the side effects of reading it.
    pub fn csr(&self, number: u16) -> u32 {
        self.hart.csr.read(number, 0, &self.lines, self.cycle)
    }

    /// Sets a CSR as a debugger would.
    pub fn set_csr(&mut self, number: u16, value: u32) {
        let lines = self.lines;
        self.hart.csr.write(number, (CsrWrite::Write, value), value, &lines, self.cycle);
        self.resample_interrupts();
        self.prepare_again();
    }

    /// Prepares the current instruction again, after registers have changed.
    pub const fn prepare_again(&mut self) {
        self.current = None;
    }

    /// Discards everything derived from code, after a change of code.
    pub fn forget_code(&mut self) {
        self.materialize();
        self.memo.forget();
        self.graph.forget();
        self.current = None;
    }

    /// Continues at an address, as after a reset.
    pub fn go_to(&mut self, pc: u32) {
        self.trap_to(pc);
        self.pending_exception = None;
        self.number = None;
        self.pipeline = Pipeline::new(self.hart.rules.stages, pc);
    }

    /// Returns whether the core sleeps.
    pub fn is_asleep(&self) -> bool {
        self.pipeline.is_asleep()
    }

    /// Returns whether the core sleeps or is about to.
    pub fn has_sleep(&self) -> bool {
        self.pipeline.has_sleep()
    }

    /// Returns the cycle until which the core sleeps, unless its state changes before.
    pub fn sleeps_until(&self) -> Option<u64> {
        let quiet = self.still && self.is_asleep() && self.cycle < self.lines_stable_until;
        quiet.then_some(self.lines_stable_until)
    }
}
