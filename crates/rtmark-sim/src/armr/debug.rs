//! The interface for debuggers, observers and searches to a machine with a Cortex-R5: implements
//! what [`Machine`](crate::Machine) offers.

use rtmark_units::Cycles;

use super::core::StepResult;
use super::gic::{FIRST_SHARED, Gic, InterruptLine};
use super::isa::op::{Index, Offset};
use super::isa::{Instruction as Decoded, Op, disassemble};
use super::machine::CortexR5;
use super::state::State;
use super::timing::ENTRY;
use crate::debug::{
    Access, AccessKind, Advance, BoundaryCounts, Controlled, CoreModel, Instruction, Observed,
    TrialOutcome, Trials,
};
use crate::isa::Disassembly;
use crate::state::stop::Stop;
use crate::state::{Blocker, CoreState, Irq, Landmarks, UnmappedAddress, Watches};

/// An upper bound for the cycles of an instruction and an exception entry together.
const LONGEST_ENTRY: u64 = 10_000;

/// The program point before the next instruction.
pub struct NextInstruction;

impl Observed for CortexR5 {
    type NextInstruction = NextInstruction;

    fn begin_observed(&mut self, until: Cycles, landmarks: Option<&Landmarks>) {
        self.state.core.code.observe_at(landmarks);
        self.limit = until;
    }

    fn run_to_landmark(&mut self, _next: &NextInstruction) -> (Option<Cycles>, Result<(), Stop>) {
        if !self.state.core.code.is_observed() {
            return (None, Ok(()));
        }
        let (count, taken) = (self.state.core.instructions, self.state.session.watches.taken);
        let step = self.state.run_ahead(self.limit.0);
        let Watches { taken: now, entry_began, .. } = self.state.session.watches;
        // Two instructions may issue in one cycle.
        let went = self.state.core.instructions > count || now != taken || step.is_err();
        let until = if now == taken { self.state.cycles() } else { Cycles(entry_began) };
        (went.then_some(until), step)
    }

    fn reach_observed(&mut self) -> Result<Option<NextInstruction>, Stop> {
        if self.state.core.cycle() >= self.limit.0 {
            return Err(Stop::Limit);
        }
        if let Some(stop) = self.state.due_stop() {
            return Err(stop);
        }
        if !self.is_asleep() && !self.state.core.is_interrupted() {
            return Ok(Some(NextInstruction));
        }
        let _result = self.state.step_until(self.limit.0)?;
        Ok(None)
    }

    fn execute_observed(
        &mut self,
        _next: NextInstruction,
    ) -> (Option<Instruction>, Result<(), Stop>) {
        let pc = self.state.core.arch.cpu.pc;
        let decoded = self.state.core.instruction_at(pc);
        let result = match self.state.step_until(self.limit.0) {
            Ok(
                StepResult::Instruction { issued, .. }
                | StepResult::HostCall { issued, .. }
                | StepResult::Call { issued, .. },
            ) => issued,
            Ok(_) => return (None, Ok(())),
            Err(stop) => return (None, Err(stop)),
        };
        let instruction = decoded.map(|it| Instruction {
            address: pc,
            size: it.size,
            is_call: matches!(it.op, Op::BranchLink | Op::BranchLinkExchange),
            began: Cycles(result),
        });
        (instruction, Ok(()))
    }

    fn marks(&self) -> BoundaryCounts {
        BoundaryCounts::of(&self.state.session)
    }
}

impl CoreModel for CortexR5 {
    type State = State;

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn run(&mut self, until: Cycles) -> Stop {
        self.run_on(until)
    }

    fn without_model(&self) -> Vec<&'static str> {
        self.state.core.arch.control.counters.without_model().collect()
    }
}

impl Controlled for CortexR5 {
    /// Returns to T32, whichever instruction set the function uses (its address says which): the
    /// lowest bit of the link register is set.
    fn jump(&mut self, address: u32) {
        self.state.core.go_to(address);
    }

    fn store_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        let cycle = self.state.core.cycle();
        let system = &mut self.state.core.arch.system;
        if address & 3 != 0 || !system.answers(address, true) {
            return Err(UnmappedAddress(address));
        }
        let stored = system.store(address, 4, value, cycle);
        self.state.core.resample_interrupts();
        stored.ok_or(UnmappedAddress(address))
    }

    /// See [`Machine::disassembly`](crate::Machine::disassembly). Disassembles in the current
    /// instruction set.
    fn disassembly(&self, address: u32) -> Option<Disassembly> {
        let core = &self.state.core;
        let set = core.set();
        let bits = core.bits(address, set)?;
        let it = core.instruction_at(address)?;
        let size = it.size;
        let encoding = if size == 4 { bits } else { bits >> 16 };
        let here = address == core.arch.cpu.pc;
        let block = core.arch.cpu.block_condition().filter(|_| here);
        let (mnemonic, operands) = disassemble(set, address, bits, block).unwrap_or_else(|| {
            let directive = if size == 2 { ".hword" } else { ".word" };
            (directive.to_owned(), format!("{encoding:#010x}"))
        });
        let names = matches!(it.op, Op::Branch | Op::BranchLink | Op::CompareBranch);
        let target = names.then_some(it.imm);
        Some(Disassembly { size, encoding, mnemonic, operands, target })
    }

    /// Returns what masks interrupts now.
    fn mask(&self) -> Option<Blocker> {
        self.state.mask()
    }

    fn priority_blocker(&self, priority: u8) -> Option<Blocker> {
        // For an unspecified interrupt, the first one of a peripheral stands in.
        self.mask().or_else(|| self.peripheral_blocker(FIRST_SHARED, priority))
    }

    /// CPSR does not keep the core asleep (DDI 0406, B1.8.14); the interrupt controller, which does not signal
    /// what it holds back, does.
    fn would_wake(&self, priority: Option<u8>) -> bool {
        priority.is_none_or(|priority| self.peripheral_blocker(FIRST_SHARED, priority).is_none())
    }

    fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        while self.state.core.cycle() < until.0 {
            let result = self.state.step_until(until.0)?;
            if is_instruction(result) {
                return Ok(());
            }
        }
        Err(Stop::Limit)
    }

    fn next_access(&self) -> Option<Access> {
        let core = &self.state.core;
        let it = core.instruction_at(core.arch.cpu.pc)?;
        let (address, bytes, kind) = access_of(&it, |register| core.arch.cpu.operand(register))?;
        Some(Access { address, bytes, kind })
    }
}

impl Trials for CortexR5 {
    fn arm_interrupt(&mut self, interrupt: Irq, priority: u8) -> bool {
        let line = interrupt.line();
        let known = line < self.state.soc().interrupts;
        let armed = match &mut self.state.core.arch.system.gic {
            Some(gic) => known && gic.arm(line + FIRST_SHARED, priority),
            None => known,
        };
        self.state.core.resample_interrupts();
        armed
    }

    fn interrupt_priority(&self, interrupt: Irq) -> u8 {
        let gic = self.state.core.arch.system.gic.as_ref();
        gic.map_or(0, |gic| gic.priority(interrupt.line().saturating_add(FIRST_SHARED)))
    }

    /// Returns the base of the exception vectors.
    fn vector_table(&self) -> u32 {
        self.state.core.arch.control.vectors()
    }

    fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        if self.state.core.cycle() >= until.0 {
            return Err(Stop::Limit);
        }
        let result = self.step_until(until)?;
        Ok(if is_instruction(result) { Advance::Instruction } else { Advance::Other })
    }

    fn settle(&mut self) {
        self.state.core.resample_interrupts();
    }

    fn interrupt_blocker(&self, interrupt: Irq) -> Option<Blocker> {
        if let Some(gic) = &self.state.core.arch.system.gic {
            let id = interrupt.line().saturating_add(FIRST_SHARED);
            if !gic.is_enabled(id) {
                return Some(Blocker::Disabled);
            }
            let mask = match gic.line(id) {
                InterruptLine::Irq => self.mask(),
                InterruptLine::Fiq => {
                    self.state.core.masks(InterruptLine::Fiq).then_some(Blocker::FastMask)
                }
            };
            return mask.or_else(|| self.peripheral_blocker(id, gic.priority(id)));
        }
        self.mask()
    }

    /// See [`Machine::observes_pending_until`](crate::Machine::observes_pending_until). An interrupt that becomes pending
    /// while the instruction waits for its operands is seen only after it.
    fn observes_pending_until(&self, _interrupt: Irq) -> Option<Cycles> {
        let gic = self.state.core.arch.system.gic.as_ref()?;
        if self.is_asleep() {
            return None;
        }
        let access = self.next_access().filter(|access| access.kind == AccessKind::Read)?;
        let offset = gic.offset(access.address)?;
        Gic::reads_pending(offset).then(|| self.state.cycles())
    }

    fn is_asleep(&self) -> bool {
        self.state.core.is_asleep()
    }

    fn has_arrived(&self, interrupt: Irq) -> bool {
        let system = &self.state.core.arch.system;
        match &system.gic {
            Some(gic) => gic.is_pending(interrupt.line().saturating_add(FIRST_SHARED)),
            None => system.direct.contains(&interrupt.line()),
        }
    }

    fn is_active(&self, interrupt: Irq) -> bool {
        self.state.session.handlers.contains(interrupt.exception())
    }

    /// Returns zero with a controller: a handler that reads it in that very cycle sees the
    /// interrupt.
    fn least_latency(&self) -> u64 {
        if self.state.core.arch.system.gic.is_some() { 0 } else { ENTRY }
    }

    fn try_entry_early(&mut self, interrupt: Irq, at: Cycles) -> TrialOutcome {
        let mut copy = self.clone();
        copy.state.pend_interrupt(interrupt, at);
        let wanted = interrupt.exception();
        let (taken, end) =
            (copy.state.session.watches.taken, Cycles(at.0.saturating_add(LONGEST_ENTRY)));
        loop {
            match copy.step_until(end) {
                Ok(StepResult::Instruction { issued, .. })
                    if copy.state.session.watches.taken > taken =>
                {
                    let ours = copy.state.session.handlers.current() == wanted;
                    return if ours {
                        TrialOutcome::Entered(Cycles(issued))
                    } else {
                        TrialOutcome::Unclear
                    };
                }
                Ok(_) if copy.state.core.cycle() < end.0 => {}
                _ => return TrialOutcome::Unclear,
            }
        }
    }
}

impl CortexR5 {
    /// Returns what in the controller blocks a peripheral interrupt of a priority.
    fn peripheral_blocker(&self, id: u16, priority: u8) -> Option<Blocker> {
        let gic = self.state.core.arch.system.gic.as_ref()?;
        let signals = gic.would_signal(id, priority);
        (!signals).then(|| match self.state.session.handlers.current() {
            0 => Blocker::PriorityMask,
            handler => Blocker::Active(handler),
        })
    }
}

/// Returns whether a step has executed an instruction.
const fn is_instruction(result: StepResult) -> bool {
    matches!(
        result,
        StepResult::Instruction { .. } | StepResult::HostCall { .. } | StepResult::Call { .. }
    )
}

/// Returns the access that an instruction will make with the current register values.
fn access_of(it: &Decoded, value: impl Fn(u8) -> u32) -> Option<(u32, u32, AccessKind)> {
    let (address, bytes, kind) = match it.op {
        Op::Load(width, address, _) => (Some(address), width.bytes(), AccessKind::Read),
        Op::Store(width, address, _) => (Some(address), width.bytes(), AccessKind::Write),
        Op::LoadDual(address) => (Some(address), 8, AccessKind::Read),
        Op::StoreDual(address) => (Some(address), 8, AccessKind::Write),
        Op::LoadMultiple(order, ..) | Op::StoreMultiple(order, ..) => {
            let words = it.imm.count_ones();
            let (lowest, _) = order.addresses(value(it.n), words);
            let loads = matches!(it.op, Op::LoadMultiple(..));
            let kind = if loads { AccessKind::Read } else { AccessKind::Write };
            return Some((lowest, 4 * words, kind));
        }
        Op::LoadExclusive(size) => (None, size.bytes(), AccessKind::Read),
        Op::StoreExclusive(size) => (None, size.bytes(), AccessKind::Write),
        _ => return None,
    };
    if it.aux == 1 {
        return Some((it.imm, bytes, kind));
    }
    let base = value(it.n);
    let offset = match address.map(|address| address.offset) {
        Some(Offset::Immediate) | None => it.imm,
        Some(offset) => {
            let shift = &it.shift;
            let (shifted, _) =
                crate::exec::shift(value(it.m), shift.kind.into(), shift.amount.into(), false);
            if offset == Offset::Add { shifted } else { shifted.wrapping_neg() }
        }
    };
    let post = address.is_some_and(|address| address.index == Index::Post);
    Some((if post { base } else { base.wrapping_add(offset) }, bytes, kind))
}
