//! External interrupts tried at each moment of a run.
//!
//! A search that asks, for every instruction, when an interrupt's handler would begin, steps along a run
//! ([`Machine::advance`]), asks what would hold the interrupt back ([`Machine::interrupt_blocker`]), and tries the
//! entry and takes it back ([`Machine::try_entry`]).

use rtmark_units::Cycles;

use crate::debug::{Advance, TrialOutcome, Trials};
use crate::machine::{Machine, on};
use crate::state::stop::Stop;
use crate::state::{Blocker, Irq};

impl Machine {
    /// Returns whether the soc has an interrupt.
    pub fn has_interrupt(&self, interrupt: impl Into<Irq>) -> bool {
        let soc = self.soc();
        match interrupt.into().external() {
            Some(external) => external < soc.interrupts,
            None => soc.core.is_cortex_m(),
        }
    }

    /// Enables an interrupt at a priority, as a debugger would, and returns whether the soc has it. Priority
    /// bits that the soc lacks are ignored.
    pub fn arm_interrupt(&mut self, interrupt: impl Into<Irq>, priority: u8) -> bool {
        on!(&mut self.core, core => core.arm_interrupt(interrupt.into(), priority))
    }

    /// Returns the contents of an interrupt's priority register, limited to the bits that the soc
    /// implements.
    pub fn interrupt_priority(&self, interrupt: impl Into<Irq>) -> u8 {
        on!(&self.core, core => core.interrupt_priority(interrupt.into()))
    }

    /// Returns the address of the vector table (VTOR).
    pub fn vector_table(&self) -> u32 {
        on!(&self.core, core => core.vector_table())
    }

    /// Advances by one step: to the next instruction boundary, or to the end of sleep, but no later than
    /// `until`.
    ///
    /// # Errors
    /// Whatever would have ended a run.
    pub fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        on!(&mut self.core, core => core.advance(until))
    }

    /// Advances by one step, to where the next instruction has not yet entered the pipeline, so that an
    /// interrupt may still be taken instead: see [`Machine::try_entry_early`].
    ///
    /// # Errors
    /// Whatever would have ended a run.
    pub fn advance_before_issue(&mut self, until: Cycles) -> Result<Advance, Stop> {
        on!(&mut self.core, core => core.advance_before_issue(until))
    }

    /// Settles the machine: brings it to where the next instruction is about to execute, and handles
    /// everything that is due by then except taking exceptions.
    pub fn settle(&mut self) {
        on!(&mut self.core, core => core.settle());
    }

    /// Returns what would hold an external interrupt back if it were pending now, or `None` if its handler
    /// would be entered. The machine must be settled.
    pub fn interrupt_blocker(&self, interrupt: impl Into<Irq>) -> Option<Blocker> {
        on!(&self.core, core => core.interrupt_blocker(interrupt.into()))
    }

    /// Returns whether a pending interrupt that is held back could be noticed by what executes next: the
    /// core is asleep, or the instruction reads a register that shows it.
    pub fn can_observe_pending(&self, interrupt: impl Into<Irq>) -> bool {
        on!(&self.core, core => core.can_observe_pending(interrupt.into()))
    }

    /// Returns the last cycle in which the instruction that is about to execute might notice that an
    /// interrupt becomes pending, or `None` if it cannot. It looks in its data phase, when following
    /// instructions may already have begun, and which other transfers may delay. The machine must be
    /// settled.
    pub fn observes_pending_until(&self, interrupt: impl Into<Irq>) -> Option<Cycles> {
        on!(&self.core, core => core.observes_pending_until(interrupt.into()))
    }

    /// Runs ahead, and takes back everything that happened: `act` gets the machine, or a copy of it, whose
    /// accesses to memory are slower than usual. It must not change watches or the image. Returns its
    /// result.
    pub fn look_ahead<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let Some(checkpoint) = on!(&mut self.core, core => core.checkpoint()) else {
            return act(&mut self.clone());
        };
        let result = act(self);
        on!(&mut self.core, core => core.restore(checkpoint));
        result
    }

    /// Returns whether the core is asleep, so that an interrupt wakes it.
    pub fn is_asleep(&self) -> bool {
        on!(&self.core, core => core.is_asleep())
    }

    /// Returns whether an external interrupt is pending, or its handler has been entered and not left.
    pub fn is_pending_or_active(&self, interrupt: impl Into<Irq>) -> bool {
        on!(&self.core, core => core.is_pending_or_active(interrupt.into()))
    }

    /// Returns whether an external interrupt is pending and has reached the core, which notices an
    /// interrupt only some cycles after it becomes pending: see [`Machine::interrupt_delay`].
    pub fn has_arrived(&self, interrupt: impl Into<Irq>) -> bool {
        on!(&self.core, core => core.has_arrived(interrupt.into()))
    }

    /// Returns whether the handler of an external interrupt has been entered and not left.
    pub fn is_active(&self, interrupt: impl Into<Irq>) -> bool {
        on!(&self.core, core => core.is_active(interrupt.into()))
    }

    /// Returns whether an external interrupt has become pending again since its handler was entered, so
    /// that the handler will be entered once more. This is never so on cores where an interrupt stays
    /// pending until its handler acknowledges it. The machine must be settled.
    pub fn is_pending_again(&self, interrupt: impl Into<Irq>) -> bool {
        on!(&self.core, core => core.is_pending_again(interrupt.into()))
    }

    /// Returns the minimum number of cycles between an external interrupt becoming pending and the first
    /// instruction of its handler, whether it is entered normally, tail-chained, or arrives late and
    /// replaces another exception that is being entered.
    pub fn least_latency(&self) -> u64 {
        on!(&self.core, core => core.least_latency())
    }

    /// Tries the entry to an external interrupt's handler: lets the interrupt reach the core now, enters
    /// the handler, and takes all of that back. The interrupt became pending [`Machine::interrupt_delay`]
    /// cycles earlier. The machine must be settled, and nothing may [hold the interrupt
    /// back](Machine::interrupt_blocker).
    pub fn try_entry(&mut self, interrupt: impl Into<Irq>) -> TrialOutcome {
        on!(&mut self.core, core => core.try_entry(interrupt.into()))
    }

    /// Returns the cycle in which the next instruction enters the pipeline. The machine must have been
    /// advanced by [`Machine::advance_before_issue`].
    pub fn next_entry(&mut self) -> Cycles {
        on!(&mut self.core, core => core.next_entry())
    }

    /// Tries an entry on a machine advanced by [`Machine::advance_before_issue`]. The interrupt becomes pending in
    /// cycle `at`, so that it reaches the core no later than the next instruction would enter the pipeline.
    pub fn try_entry_early(&mut self, interrupt: impl Into<Irq>, at: Cycles) -> TrialOutcome {
        on!(&mut self.core, core => core.try_entry_early(interrupt.into(), at))
    }

    /// Tries an entry for an interrupt that becomes pending in cycle `at`, after the one in which the next
    /// instruction begins. Returns `None` if that instruction completes first, so that the interrupt is
    /// handled at the next boundary, or if no instruction begins here because another exception is taken.
    pub fn try_entry_within(
        &mut self,
        interrupt: impl Into<Irq>,
        at: Cycles,
    ) -> Option<TrialOutcome> {
        on!(&mut self.core, core => core.try_entry_within(interrupt.into(), at))
    }
}
