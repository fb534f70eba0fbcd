//! Interrupts tried at each moment of a run.
//!
//! A search that asks, for every instruction, when an interrupt's handler would begin, steps along a run
//! ([`Machine::advance`](crate::Machine::advance)), asks what would hold the interrupt back
//! ([`Machine::interrupt_blocker`](crate::Machine::interrupt_blocker)), and tries the entry and takes it back
//! ([`Machine::try_entry`](crate::Machine::try_entry)). A trial takes the interrupt with the regular code,
//! and then restores what that changed, which is cheaper than copying the machine.

use crate::state::{Blocker, CoreState, Irq, StackWatch, Trial};
use crate::timing::memo::PipeState;
use crate::timing::pipeline::FloatUnit;
use rtmark_units::Cycles;

use crate::arch::armm::nvic::Masks;
use crate::debug::checkpoint::Checkpoint;
use crate::debug::core_model::{Controlled, Trials};
use crate::debug::observe::{Access, AccessKind};
use crate::engine::CortexM;
use crate::engine::events::Due;
use crate::isa::{Group, Op};
use crate::state::stop::Stop;

/// More cycles than any entry takes. Where an entry is tried, nothing else may be due within them.
const LONGEST_ENTRY: u64 = 128;
/// The most words that an entry stacks: eight, all floating-point registers with FPSCR and a reserved word,
/// and one for alignment.
const LONGEST_FRAME: usize = 8 + 34 + 1;
/// The most words that an instruction stores.
const MAX_WORDS: usize = 32;
/// The registers in which a program sees what is pending: ISPR and ICPR, besides ICSR.
const PENDING_REGISTERS: std::ops::Range<u32> = 0xE000_E200..0xE000_E300;
const ICSR: u32 = 0xE000_ED04;
/// The maximum number of cycles from an instruction entering the pipeline to the end of its data phase,
/// where no memory makes it wait.
const LOOK: u64 = 8;

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// One instruction, during which no exception was taken or left.
    Instruction,
    /// Something else: an exception was taken or left, or the core slept.
    Other,
}

/// The result of trying an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The handler's first instruction executes in this cycle.
    Entered(Cycles),
    /// Only a run on a copy of the machine can tell: something else happens at about this time.
    Unclear,
}

impl Trials for CortexM {
    fn arm_interrupt(&mut self, interrupt: Irq, priority: u8) -> bool {
        if interrupt.external().is_some_and(|external| external >= self.state.soc.interrupts) {
            return false;
        }
        let exception = interrupt.exception();
        self.state.system.nvic.enable(exception, true);
        self.state.system.nvic.set_priority(exception, priority);
        self.state.request_attention();
        true
    }

    fn interrupt_priority(&self, interrupt: Irq) -> u8 {
        self.state.system.nvic.priority_register(interrupt.exception())
    }

    fn vector_table(&self) -> u32 {
        self.state.system.vector_table
    }

    fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        let result = self.advance_before_issue(until)?;
        self.state.reach_next();
        self.or_internal_error(Ok(result))
    }

    fn advance_before_issue(&mut self, until: Cycles) -> Result<Advance, Stop> {
        let result = self.advance_once(until);
        self.or_internal_error(result)
    }

    fn settle(&mut self) {
        self.state.reach_next();
        self.state.pass_time(self.state.cycles);
    }

    fn interrupt_blocker(&self, interrupt: Irq) -> Option<Blocker> {
        let exception = interrupt.exception();
        let (nvic, masks) = (&self.state.system.nvic, self.state.masks());
        if !nvic.enabled().contains(exception) {
            return Some(Blocker::Disabled);
        }
        if !nvic.could_take(exception, masks) {
            return Some(if masks.faultmask {
                Blocker::Faultmask
            } else if masks.primask {
                Blocker::Primask
            } else if nvic.could_take(exception, Masks { basepri: 0, ..masks }) {
                Blocker::Basepri
            } else {
                Blocker::Active(self.state.cpu.ipsr)
            });
        }
        let first = nvic.first_pending_with(exception);
        (first != exception).then_some(Blocker::Pending(first))
    }

    fn can_observe_pending(&self, interrupt: Irq) -> bool {
        let observes = |access: Access| {
            let scs = PENDING_REGISTERS.contains(&access.address) || access.touches(ICSR, 4);
            // A store to ICPR clears an external interrupt's pending state; one to ICSR can only set it,
            // and clear that of the core's own (DDI 0403, B3.2.4).
            let is_external = interrupt.external().is_some();
            scs && (access.kind == AccessKind::Read || !(is_external && access.touches(ICSR, 4)))
        };
        self.state.sleeping.is_some()
            || self.state.system.events_on_pend()
            || self.next_access().is_some_and(observes)
    }

    fn observes_pending_until(&self, interrupt: Irq) -> Option<Cycles> {
        let waits = self.state.lead - u64::from(self.state.rules.longest);
        (self.can_observe_pending(interrupt) && !self.is_asleep())
            .then(|| Cycles(self.state.cycles + LOOK + waits))
    }

    fn is_asleep(&self) -> bool {
        self.state.sleeping.is_some()
    }

    fn is_pending_or_active(&self, interrupt: Irq) -> bool {
        let (nvic, exception) = (&self.state.system.nvic, interrupt.exception());
        nvic.pending().contains(exception) || nvic.active().contains(exception)
    }

    fn has_arrived(&self, interrupt: Irq) -> bool {
        self.state.system.nvic.has_arrived(interrupt.exception())
    }

    fn is_active(&self, interrupt: Irq) -> bool {
        self.state.system.nvic.active().contains(interrupt.exception())
    }

    fn is_pending_again(&self, interrupt: Irq) -> bool {
        let (nvic, exception) = (&self.state.system.nvic, interrupt.exception());
        nvic.pending().contains(exception) && nvic.active().contains(exception)
    }

    fn least_latency(&self) -> u64 {
        let rules = self.state.rules;
        let least = rules.entry.min(rules.late_arrival).min(rules.tail_chain);
        self.state.interrupt_delay() + u64::from(least)
    }

    fn interrupt_delay(&self) -> u64 {
        self.state.interrupt_delay()
    }

    fn checkpoint(&mut self) -> Option<Checkpoint> {
        Some(Checkpoint::of(self))
    }

    fn restore(&mut self, checkpoint: Checkpoint) {
        checkpoint.restore(self);
    }

    fn try_entry(&mut self, interrupt: Irq) -> TrialOutcome {
        let exception = interrupt.exception();
        match self.begin_entry(exception) {
            Some(before) => self.enter_and_return(exception, before),
            None => TrialOutcome::Unclear,
        }
    }

    fn next_entry(&mut self) -> Cycles {
        loop {
            let saved = SavedState::of(self);
            self.state.reach_next();
            let at = self.state.cycles;
            // If the step could not be computed for lack of room, `restore` has made room, so the next
            // attempt succeeds.
            if saved.restore(self) {
                return Cycles(at);
            }
        }
    }

    fn try_entry_early(&mut self, interrupt: Irq, at: Cycles) -> TrialOutcome {
        let exception = interrupt.exception();
        let Some(before) = self.begin_entry(exception) else { return TrialOutcome::Unclear };
        self.state.system.nvic.send(exception);
        self.state.arrivals.push((at.0 + self.state.interrupt_delay(), exception));
        self.state.reach_next();
        self.state.arrivals.clear();
        self.state.system.nvic.arrive(exception);
        self.enter_and_return(exception, before)
    }

    fn try_entry_within(&mut self, interrupt: Irq, at: Cycles) -> Option<TrialOutcome> {
        let exception = interrupt.exception();
        let slot = self.state.slot_at(self.state.cpu.pc)?;
        let is_taken = self.state.system.nvic.exception_to_take(self.state.masks()).is_some();
        if self.state.sleeping.is_some() || is_taken || !self.state.may_abandon(&slot) {
            return None;
        }
        let before = self.state.abandoned_instructions;
        let (next, lowest) = (self.next_event(), self.below_stack(LONGEST_FRAME + MAX_WORDS));
        // An exception return could not be taken back. Such a return loads the program counter last of all.
        let may_return = self.state.cpu.ipsr != 0 && slot.imm & 1 << 15 != 0;
        // Registers whose saving exception entry deferred are saved far away from here.
        let group = slot.unguarded().op.group();
        let saves =
            matches!(group, Group::FloatMemory | Group::FloatDivide) && !self.state.has_live_fp();
        let is_plain = slot.op != Op::Watch && !may_return && !saves;
        let clear = is_plain && !self.needs_full_run(exception, next, lowest);
        let stack = if clear { self.copy_words(lowest, LONGEST_FRAME + MAX_WORDS) } else { None };
        let accessed = match self.next_access() {
            Some(access) => self.copy_accessed(access),
            None => Some((lowest, Vec::new())),
        };
        let (Some(stack), Some((address, words))) = (stack, accessed) else {
            let checkpoint = Checkpoint::of(self);
            self.state.pend_interrupt(interrupt, at);
            let _ = self.advance(Cycles(u64::MAX));
            let failed = self.state.failed.take();
            let was_abandoned = self.state.abandoned_instructions != before;
            checkpoint.restore(self);
            if failed.is_some() {
                self.state.failed = failed;
                self.state.request_attention();
            }
            return was_abandoned.then_some(TrialOutcome::Unclear);
        };
        let saved = SavedState::of(self);
        self.state.schedule(exception, at.0);
        let pc = self.state.cpu.pc;
        let step = match self.state.cpu.it {
            0 => self.state.step_decoded(pc, slot),
            _ => self.state.step_in_it_block(pc, slot),
        };
        self.state.scheduled.retain(|scheduled| *scheduled != (at.0, exception));
        let was_abandoned = step.is_ok() && self.state.abandoned_instructions != before;
        // Otherwise it has given way to something else.
        let is_ours = self.state.cycles >= at.0.saturating_add(self.state.interrupt_delay());
        let mut begun = false;
        if was_abandoned {
            self.state.system.nvic.pend(exception, true);
            begun = self.state.take(exception).is_ok() && self.state.cpu.ipsr == exception;
            begun = begun && self.advance_to_first_instruction();
        }
        let (cycle, dirty) = (self.state.cycles, self.state.bus.code_writes.dirty);
        self.store_words(address, &words);
        self.store_words(lowest, &stack);
        let went = saved.restore(self);
        self.state.system.nvic.withdraw(exception);
        self.state.abandoned_instructions = before;
        let clear =
            went && begun && is_ours && !dirty && self.first_instruction_is_certain(cycle, next);
        was_abandoned.then_some(if clear {
            TrialOutcome::Entered(Cycles(cycle))
        } else {
            TrialOutcome::Unclear
        })
    }
}

impl CortexM {
    fn advance_once(&mut self, until: Cycles) -> Result<Advance, Stop> {
        if self.state.limit != until.0 {
            self.state.limit = until.0;
            self.state.request_attention();
        }
        let (taken, left) = (self.state.watches.taken, self.state.watches.left);
        self.state.reach_next();
        let due = if self.state.cycles >= self.state.deadline {
            self.state.handle_due_event()?
        } else {
            Due::Instruction
        };
        if due == Due::Attention {
            return Ok(Advance::Other);
        }
        let pc = self.state.cpu.pc;
        match (due, self.state.slot_past_stop(pc)) {
            (Due::Conditional, Some(slot)) => self.state.step_in_it_block(pc, slot)?,
            (_, Some(slot)) => self.state.step_decoded(pc, slot)?,
            (_, None) => self.state.fetch_fault(pc)?,
        }
        let plain = (taken, left) == (self.state.watches.taken, self.state.watches.left);
        Ok(if plain { Advance::Instruction } else { Advance::Other })
    }

    /// Begins to try an entry, with the interrupt pending; returns `None`, with nothing done, if the entry
    /// could not be taken back.
    fn begin_entry(&mut self, exception: u16) -> Option<BeforeEntry> {
        let (next, lowest) = (self.next_event(), self.below_stack(LONGEST_FRAME));
        if self.needs_full_run(exception, next, lowest) || self.state.sleeping.is_some() {
            return None;
        }
        let stack = self.copy_words(lowest, LONGEST_FRAME)?;
        let saved = SavedState::of(self);
        self.state.system.nvic.pend(exception, true);
        Some(BeforeEntry { saved, lowest, stack, next })
    }

    /// Enters the handler, and takes back everything that has happened since the trial began.
    fn enter_and_return(&mut self, exception: u16, before: BeforeEntry) -> TrialOutcome {
        let BeforeEntry { saved, lowest, stack, next } = before;
        let entered = self.state.take(exception).is_ok() && self.state.cpu.ipsr == exception;
        let begun = entered && self.advance_to_first_instruction();
        let (cycle, dirty) = (self.state.cycles, self.state.bus.code_writes.dirty);
        self.store_words(lowest, &stack);
        let went = saved.restore(self);
        self.state.system.nvic.withdraw(exception);
        let clear = went && begun && !dirty && self.first_instruction_is_certain(cycle, next);
        if clear { TrialOutcome::Entered(Cycles(cycle)) } else { TrialOutcome::Unclear }
    }

    /// Returns the next cycle in which anything happens by itself.
    fn next_event(&self) -> u64 {
        let next = self.state.system.systick.next_zero();
        let next = next.min(self.state.devices.next()).min(self.state.rtt.next());
        next.min(self.state.next_scheduled()).min(self.state.next_arrival())
    }

    /// Returns whether a handler's first instruction, beginning in `cycle`, is certain to execute before
    /// anything else happens: it might be one that gives way and restarts.
    const fn first_instruction_is_certain(&self, cycle: u64, next: u64) -> bool {
        cycle.saturating_add(self.state.lead) < next
    }

    /// Returns the address this many words below the stack pointer after alignment.
    fn below_stack(&self, words: usize) -> u32 {
        (self.state.cpu.r[13] & !7).wrapping_sub(4 * words as u32)
    }

    /// Returns whether more would have to be restored than what an entry itself changes.
    fn needs_full_run(&self, exception: u16, next: u64, lowest: u32) -> bool {
        let vector = self.state.system.vector_table.wrapping_add(u32::from(exception) * 4);
        next <= self.state.cycles + LONGEST_ENTRY + self.state.lead
            || !self.state.arrivals.is_empty()
            || self.state.reset_requested
            || self.state.protected
            || self.state.system.nvic.pending().contains(exception)
            || lowest < self.state.stack_limit()
            || self.state.bus.load::<4>(vector).is_none_or(|(bytes, _)| bytes[0] & 1 == 0)
    }

    /// Copies words of RAM; returns `None` if they are not all in RAM.
    fn copy_words(&self, from: u32, count: usize) -> Option<Vec<[u8; 4]>> {
        self.state.bus.ram_words(from, count as u32).map(<[_]>::to_vec)
    }

    /// Copies the words of memory that an access may change, with the first one's address; returns `None`
    /// if the access may do more than that.
    fn copy_accessed(&self, access: Access) -> Option<(u32, Vec<[u8; 4]>)> {
        let Access { address, bytes, kind } = access;
        let last = address.wrapping_add(bytes.saturating_sub(1));
        let is_memory = [address, last].iter().all(|&at| self.state.bus.place(at).is_some());
        if kind == AccessKind::Read && is_memory {
            return Some((address, Vec::new()));
        }
        let first = address & !3;
        let count = (last & !3).wrapping_sub(first) / 4 + 1;
        Some((first, self.copy_words(first, count as usize)?))
    }

    fn store_words(&mut self, to: u32, words: &[[u8; 4]]) {
        if let Some(target) = self.state.bus.ram_words_mut(to, words.len() as u32) {
            target.copy_from_slice(words);
            return;
        }
        // Code may have run from them.
        for (at, word) in (0..).zip(words) {
            self.state.bus.store(to.wrapping_add(4 * at), *word);
        }
    }

    /// Advances to where the first instruction after a jump has been fetched and is about to execute;
    /// returns whether there is one.
    fn advance_to_first_instruction(&mut self) -> bool {
        self.state.reach_next();
        let pc = self.state.cpu.pc;
        let Some(slot) = self.state.slot_at(pc) else { return false };
        self.state.fetch(pc, slot.size());
        true
    }
}

/// The machine before an entry that is tried.
struct BeforeEntry {
    saved: SavedState,
    /// The address of `stack`, which is a copy of the memory below the stack pointer.
    lowest: u32,
    stack: Vec<[u8; 4]>,
    /// The next cycle in which anything happens by itself.
    next: u64,
}

/// What entering a handler changes, apart from memory and the interrupt's own state.
struct SavedState {
    cpu: crate::arch::armm::registers::Cpu,
    fp: crate::arch::armm::scs::FpControl,
    spent: crate::arch::armm::dwt::CycleCounts,
    lines: Vec<(usize, crate::timing::LineMemory)>,
    caches: crate::timing::CoreCaches,
    predictor: crate::timing::Predictor,
    cycles: u64,
    instructions: u64,
    pipe: PipeState,
    line: u32,
    slow: crate::timing::SlowLines,
    line_mask: u32,
    fetched: u32,
    code_free: u64,
    float_unit: (u64, FloatUnit),
    deadline: u64,
    trap_value: u32,
    taken: u64,
    ticks: u64,
    interrupts: u64,
    stack: StackWatch,
    exclusive: bool,
    event: bool,
    writes_dirty: bool,
}

impl SavedState {
    /// Begins a trial.
    fn of(machine: &mut CortexM) -> Self {
        machine.state.trial = Trial::Active;
        // Memories that never make the core wait have no state worth saving.
        let slow = machine.state.lines.iter().enumerate().filter(|(_, line)| !line.is_immediate());
        let lines = slow.map(|(at, line)| (at, line.clone())).collect();
        Self {
            cpu: machine.state.cpu.clone(),
            fp: machine.state.system.fp.clone(),
            spent: machine.state.spent,
            lines,
            caches: machine.state.lines.caches.clone(),
            predictor: machine.state.predictor.clone(),
            cycles: machine.state.cycles,
            instructions: machine.state.instructions,
            pipe: machine.state.pipe,
            line: machine.state.line,
            slow: machine.state.slow,
            line_mask: machine.state.line_mask,
            fetched: machine.state.fetched,
            code_free: machine.state.code_free,
            float_unit: machine.state.float_unit,
            deadline: machine.state.deadline,
            trap_value: machine.state.trap_value,
            taken: machine.state.watches.taken,
            ticks: machine.state.watches.ticks,
            interrupts: machine.state.watches.interrupts,
            stack: machine.state.watches.stack,
            exclusive: machine.state.exclusive,
            event: machine.state.event,
            writes_dirty: machine.state.bus.code_writes.dirty,
        }
    }

    /// Ends a trial; returns whether it was completed.
    fn restore(self, machine: &mut CortexM) -> bool {
        machine.state.cpu = self.cpu;
        machine.state.system.fp = self.fp;
        machine.state.spent = self.spent;
        for (at, line) in self.lines {
            machine.state.lines[at] = line;
        }
        machine.state.lines.caches = self.caches;
        machine.state.predictor = self.predictor;
        machine.state.cycles = self.cycles;
        machine.state.instructions = self.instructions;
        machine.state.pipe = self.pipe;
        machine.state.line = self.line;
        machine.state.slow = self.slow;
        machine.state.line_mask = self.line_mask;
        machine.state.fetched = self.fetched;
        machine.state.code_free = self.code_free;
        machine.state.float_unit = self.float_unit;
        machine.state.deadline = self.deadline;
        machine.state.trap_value = self.trap_value;
        machine.state.watches.taken = self.taken;
        machine.state.watches.ticks = self.ticks;
        machine.state.watches.interrupts = self.interrupts;
        machine.state.watches.stack = self.stack;
        machine.state.exclusive = self.exclusive;
        machine.state.event = self.event;
        // What has been decoded in the meantime stays valid, and must be noticed when it is overwritten.
        machine.state.bus.code_writes.dirty = self.writes_dirty;
        let trial = std::mem::take(&mut machine.state.trial);
        if trial == Trial::Failed {
            machine.state.renumber_pipe_states();
        }
        if machine.state.failed.is_some() {
            machine.state.request_attention();
        }
        trial == Trial::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug::CoreModel;
    use crate::soc::Soc;
    use crate::timing::pipeline::DisabledRules;

    const HANDLER: u32 = 0x48;

    /// A Cortex-M3 in an endless loop, with a handler for interrupt 0.
    fn machine() -> CortexM {
        let soc = include_str!("../../../../socs/generic-cortex-m3.toml");
        let mut machine =
            CortexM::new(&Soc::from_toml(soc).expect("a soc"), DisabledRules::default());
        let mut image = [0; 0x4C];
        for (at, word) in [(0, 0x2000_1000_u32), (4, 0x45), (0x40, HANDLER | 1)] {
            image[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        // loop: nop; b loop. The handler: nop; bx lr
        image[0x44..].copy_from_slice(&[0x00, 0xBF, 0xFD, 0xE7, 0x00, 0xBF, 0x70, 0x47]);
        machine.state.poke(0, &image).expect("in flash");
        machine.state.reset().expect("vectors");
        assert!(machine.arm_interrupt(0.into(), 0x40));
        machine.run(Cycles(100));
        machine.settle();
        machine
    }

    #[test]
    fn a_trial_that_cannot_be_undone_changes_nothing() {
        let (mut tried, mut plain, mut other) = (machine(), machine(), machine());
        tried.state.memo.fill();
        assert_eq!(tried.try_entry(0.into()), TrialOutcome::Unclear);
        let entered = other.try_entry(0.into());
        assert!(matches!(entered, TrialOutcome::Entered(_)), "{entered:?}");
        assert_eq!(tried.try_entry(0.into()), entered, "there is room again");
        for machine in [&mut tried, &mut plain] {
            machine.run(Cycles(1_000));
        }
        let of = |machine: &CortexM| {
            (machine.state.cycles, machine.state.instructions, machine.state.cpu.pc)
        };
        assert_eq!(of(&tried), of(&plain));
    }
}
