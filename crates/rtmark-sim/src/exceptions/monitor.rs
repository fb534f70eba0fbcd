//! The chip's own observers of instructions and accesses: the comparators and counters of the DWT, and the
//! single steps of DebugMonitor (DDI 0403, C1.6 and C1.8).
//!
//! Without a halting debugger, a match raises DebugMonitor if that is enabled and urgent enough, and is
//! ignored otherwise. While any of these observers is active, the machine is *protected*: see
//! [`crate::exec::protect`].

use crate::arch::armm::dwt::CycleCounts;
use crate::arch::armm::mpu::Purpose;
use crate::arch::armm::nvic::DEBUG_MONITOR;
use crate::isa::{Group, Slot};
use crate::state::State;
use crate::state::stop::Stop;

/// Bits of DFSR: a step; a match of the DWT.
const HALTED: u32 = 1;
const DWTTRAP: u32 = 1 << 2;

/// What is known when an instruction that has been fetched begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeforeInstruction {
    pc: u32,
    cycles: u64,
    exceptions: u64,
    abandoned: u64,
    steps: bool,
}

impl State {
    /// Returns what the core has spent cycles on by `now`.
    pub(crate) const fn spent(&self, now: u64) -> CycleCounts {
        CycleCounts { cycles: now, instructions: self.instructions, ..self.spent }
    }

    /// Returns whether something observes each instruction.
    pub(crate) fn watches_instructions(&self) -> bool {
        self.system.dwt.counts_instructions()
            || self.system.dwt.looks_for(Purpose::Execute)
            || self.system.steps_by_monitor()
    }

    /// Returns whether something observes each load and store.
    pub(crate) fn watches_data(&self) -> bool {
        self.system.dwt.looks_for(Purpose::Read) || self.system.dwt.looks_for(Purpose::Write)
    }

    /// Passes an access to the comparators.
    pub(crate) fn compare(&mut self, address: u32, bytes: u32, access: Purpose) {
        if self.system.dwt.compare(address, bytes, access) {
            self.notify_monitor(DWTTRAP);
        }
    }

    fn monitor_can_run(&self) -> bool {
        self.system.nvic.enabled().contains(DEBUG_MONITOR)
            && self.system.nvic.could_take(DEBUG_MONITOR, self.masks())
    }

    /// Raises a debug event other than a breakpoint instruction's. Without a monitor that could take it, it
    /// is ignored (C1.4.1).
    fn notify_monitor(&mut self, status: u32) {
        if self.monitor_can_run() {
            self.system.debug_status |= status;
            self.pend(DEBUG_MONITOR, self.cycles);
            self.request_attention();
        }
    }

    /// Records the state in which an instruction begins, if something observes instructions.
    pub(crate) fn begin_instruction(&self, pc: u32) -> Option<BeforeInstruction> {
        self.guards.instructions.then(|| BeforeInstruction {
            pc,
            cycles: self.cycles,
            exceptions: self.spent.exceptions,
            abandoned: self.abandoned_instructions,
            steps: self.system.steps_by_monitor() && self.monitor_can_run(),
        })
    }

    /// Accounts for an instruction that has been executed, or that has ended in another way.
    pub(crate) fn end_instruction(
        &mut self,
        before: Option<BeforeInstruction>,
        slot: &Slot,
        result: Result<(), Stop>,
    ) -> Result<(), Stop> {
        if let Some(before) = before {
            // In a pipeline, an instruction's cost is the time until the next one follows it.
            self.reach_next();
            let taken = self.spent.exceptions - before.exceptions;
            let cycles = self.cycles.saturating_sub(before.cycles + taken);
            match slot.op.group() {
                // The instruction was abandoned. Measured on a Cortex-M3: CPICNT does not count its first
                // cycle.
                _ if self.abandoned_instructions != before.abandoned => self.spent.exceptions += 1,
                _ if cycles == 0 => self.spent.folded += 1,
                Group::Load
                | Group::StoreImmediate
                | Group::Store
                | Group::LoadPc
                | Group::Dual
                | Group::Exclusive
                | Group::List
                | Group::FloatMemory => self.spent.load_store += cycles - 1,
                _ => {}
            }
            self.compare(before.pc, 1, Purpose::Execute);
            if before.steps {
                self.notify_monitor(HALTED);
            }
        }
        result
    }
}
