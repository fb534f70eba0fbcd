//! The interface for debuggers, observers and searches to a machine with a RISC-V core: implements
//! what [`Machine`](crate::Machine) offers.

use rtmark_units::Cycles;

use super::core::CycleResult;
use super::isa::{disassemble, op::Op};
use super::machine::RiscV;
use super::state::State;
use super::state::number;
use crate::debug::{
    Access, AccessKind, Advance, BoundaryCounts, Controlled, CoreModel, Instruction, Observed,
    TrialOutcome, Trials,
};
use crate::isa::Disassembly;
use crate::state::stop::Stop;
use crate::state::{Blocker, CoreState, Irq, Landmarks, UnmappedAddress};

/// The fewest cycles from the rise of an external input to the start of its handler. With a trap it
/// takes two: it is entered in the same cycle, and its first instruction leaves stage X two cycles
/// later (RTL traces). But another handler may read the interrupt's number in MEINEXT in that very
/// cycle.
const LEAST_LATENCY: u64 = 0;
/// `ra`, the link register.
const RA: u8 = 1;
/// The alternate link register, for calls of millicode (RISC-V unprivileged specification, 2.5.1).
const ALTERNATE: u8 = 5;

/// The program point before the next instruction.
pub struct NextInstruction;

impl Observed for RiscV {
    type NextInstruction = NextInstruction;

    fn begin_observed(&mut self, until: Cycles, landmarks: Option<&Landmarks>) {
        self.state.core.graph.observe_at(landmarks);
        self.limit = until;
    }

    fn run_to_landmark(&mut self, _next: &NextInstruction) -> (Option<Cycles>, Result<(), Stop>) {
        let count = self.state.core.instructions;
        if self.state.core.graph.is_observed() {
            // No exception occurs on this path.
            self.state.run_graph(self.limit.0);
        }
        let passed = self.state.core.instructions > count;
        (passed.then(|| self.state.cycles()), Ok(()))
    }

    fn reach_observed(&mut self) -> Result<Option<NextInstruction>, Stop> {
        if self.state.core.cycle >= self.limit.0 {
            return Err(Stop::Limit);
        }
        if let Some(stop) = self.state.due_stop() {
            return Err(stop);
        }
        if self.state.core.is_at_boundary() && !self.state.core.has_sleep() {
            return Ok(Some(NextInstruction));
        }
        let _passed = self.cycle(self.limit)?;
        Ok(None)
    }

    fn execute_observed(
        &mut self,
        _next: NextInstruction,
    ) -> (Option<Instruction>, Result<(), Stop>) {
        let pc = self.state.core.hart.pc;
        let began = self.state.cycles();
        let instruction = self.state.core.instruction_at(pc).map(|it| Instruction {
            address: pc,
            size: it.size,
            is_call: matches!(it.op, Op::Jump | Op::JumpRegister)
                && matches!(it.rd, RA | ALTERNATE),
            began,
        });
        loop {
            match self.step_one() {
                Ok(CycleResult::Instruction(_)) => return (instruction, Ok(())),
                Ok(CycleResult::Trap) => return (None, Ok(())),
                Ok(_) if self.state.core.cycle >= self.limit.0 => return (None, Err(Stop::Limit)),
                Ok(_) => {}
                Err(stop) => return (None, Err(stop)),
            }
        }
    }

    fn marks(&self) -> BoundaryCounts {
        BoundaryCounts::of(&self.state.session)
    }
}

impl CoreModel for RiscV {
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
}

impl Controlled for RiscV {
    fn store_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        if address & 3 != 0 || !self.state.core.store_word(address, value) {
            return Err(UnmappedAddress(address));
        }
        Ok(())
    }

    fn disassembly(&self, address: u32) -> Option<Disassembly> {
        let bits = self.state.core.system.code(address)?;
        let size = if bits & 3 == 3 { 4 } else { 2 };
        let encoding = if size == 4 { bits } else { bits & 0xFFFF };
        let target = self.state.core.target_at(address);
        let text =
            disassemble(address, bits, self.state.core.hart.rules.extensions).map(|(text, _)| text);
        let text = text.unwrap_or_else(|| match size {
            2 => format!(".half {encoding:#06x}"),
            _ => format!(".word {encoding:#010x}"),
        });
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
        Some(Disassembly {
            size,
            encoding,
            mnemonic: mnemonic.to_owned(),
            operands: operands.to_owned(),
            target,
        })
    }

    /// Returns what masks interrupts now.
    fn mask(&self) -> Option<Blocker> {
        (!self.state.core.hart.csr.takes_interrupts()).then_some(Blocker::MachineMask)
    }

    fn priority_blocker(&self, priority: u8) -> Option<Blocker> {
        let preempts = self.would_wake(Some(priority));
        self.mask()
            .or_else(|| (!preempts).then(|| Blocker::Active(self.state.session.handlers.current())))
    }

    /// MSTATUS.MIE does not keep the core asleep (The RISC-V Instruction Set Manual, volume II, 3.3.3).
    fn would_wake(&self, priority: Option<u8>) -> bool {
        priority.is_none_or(|priority| self.state.core.hart.csr.would_preempt(priority >> 4))
    }

    fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        while self.state.core.cycle < until.0 {
            if matches!(self.step_one_until(until)?, CycleResult::Instruction(_)) {
                return Ok(());
            }
        }
        Err(Stop::Limit)
    }

    fn next_access(&self) -> Option<Access> {
        let (address, bytes, writes) = self.state.core.next_access()?;
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        Some(Access { address, bytes, kind })
    }
}

impl Trials for RiscV {
    /// See [`Machine::arm_interrupt`](crate::Machine::arm_interrupt). Only the upper four bits of
    /// the priority count, and greater is more urgent.
    fn arm_interrupt(&mut self, interrupt: Irq, priority: u8) -> bool {
        let line = interrupt.line();
        if line >= self.state.soc().interrupts {
            return false;
        }
        self.state.core.hart.csr.arm(line, priority >> 4);
        self.state.core.resample_interrupts();
        true
    }

    fn interrupt_priority(&self, interrupt: Irq) -> u8 {
        self.state.core.hart.csr.controller.priority(interrupt.line()) << 4
    }

    /// Returns the base of the trap vectors in MTVEC.
    fn vector_table(&self) -> u32 {
        self.state.core.hart.csr.vector(None)
    }

    fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        loop {
            if self.state.core.cycle >= until.0 {
                return Err(Stop::Limit);
            }
            match self.cycle(until)? {
                CycleResult::Instruction(_) => return Ok(Advance::Instruction),
                CycleResult::Trap => return Ok(Advance::Other),
                _ if self.is_asleep() => return Ok(Advance::Other),
                _ => {}
            }
        }
    }

    fn settle(&mut self) {
        self.state.core.sample_interrupt_lines();
    }

    fn interrupt_blocker(&self, interrupt: Irq) -> Option<Blocker> {
        let (csr, interrupt) = (&self.state.core.hart.csr, interrupt.line());
        if !csr.is_armed(interrupt) {
            return Some(Blocker::Disabled);
        }
        let held = self.priority_blocker(csr.controller.priority(interrupt) << 4);
        let first = || self.state.core.preceding_interrupt(interrupt);
        held.or_else(|| Some(Blocker::Pending(number::FIRST_EXTERNAL + first()?)))
    }

    /// See [`Machine::observes_pending_until`](crate::Machine::observes_pending_until): at the latest in the current
    /// cycle.
    fn observes_pending_until(&self, _interrupt: Irq) -> Option<Cycles> {
        let looks = !self.is_asleep() && self.state.core.shows_pending();
        looks.then(|| self.state.cycles())
    }

    fn is_asleep(&self) -> bool {
        self.state.core.is_asleep()
    }

    fn has_arrived(&self, interrupt: Irq) -> bool {
        self.state.core.is_pending(interrupt.line())
    }

    fn is_active(&self, interrupt: Irq) -> bool {
        self.state.session.handlers.contains(interrupt.exception())
    }

    fn least_latency(&self) -> u64 {
        LEAST_LATENCY
    }

    fn try_entry_early(&mut self, interrupt: Irq, at: Cycles) -> TrialOutcome {
        self.try_external_early(interrupt.line(), at)
    }

    fn try_entry_within(&mut self, interrupt: Irq, at: Cycles) -> Option<TrialOutcome> {
        self.try_external_within(interrupt.line(), at)
    }
}
