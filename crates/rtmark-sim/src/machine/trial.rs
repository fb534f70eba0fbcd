//! Interrupts from outside: what one would meet at each moment of a run.
//!
//! A search that asks at every instruction when an interrupt's handler would begin goes
//! along a run step by step ([`Machine::advance`]), asks what would hold the interrupt
//! back ([`Machine::holds_back`]), and tries the entry out and takes it back
//! ([`Machine::try_entry`]).

use rtmark_units::Cycles;

use crate::debug::{Advance, Trials, Tried};
use crate::machine::{Machine, on};
use crate::state::Blocker;
use crate::state::stop::Stop;

impl Machine {
    /// Enables an external interrupt at a priority, as a debugger would; answers whether
    /// the soc has it. Priority bits that the soc lacks are ignored.
    pub fn arm_interrupt(&mut self, interrupt: u16, priority: u8) -> bool {
        on!(&mut self.core, core => core.arm_interrupt(interrupt, priority))
    }

    /// What an interrupt's priority register holds, as far as the soc has its bits.
    pub fn interrupt_priority(&self, interrupt: u16) -> u8 {
        on!(&self.core, core => core.interrupt_priority(interrupt))
    }

    /// Where the vector table is (VTOR).
    pub fn vector_table(&self) -> u32 {
        on!(&self.core, core => core.vector_table())
    }

    /// Goes on by one step: to the next instruction's boundary, or to where sleep ends, no
    /// later than `until`.
    ///
    /// # Errors
    /// Whatever would have ended a run.
    pub fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        on!(&mut self.core, core => core.advance(until))
    }

    /// Goes on by one step, before the next instruction has entered the pipeline, so that an
    /// interrupt may still be taken in its place: see [`Machine::try_entry_early`].
    ///
    /// # Errors
    /// Whatever would have ended a run.
    pub fn advance_open(&mut self, until: Cycles) -> Result<Advance, Stop> {
        on!(&mut self.core, core => core.advance_open(until))
    }

    /// Brings the machine to where the next instruction is about to execute, and lets
    /// everything happen that is due by then, but for exceptions being taken.
    pub fn settle(&mut self) {
        on!(&mut self.core, core => core.settle());
    }

    /// What would hold an external interrupt back if it were pending now; `None` when its
    /// handler would be entered. Wants a machine that is settled.
    pub fn holds_back(&self, interrupt: u16) -> Option<Blocker> {
        on!(&self.core, core => core.holds_back(interrupt))
    }

    /// Whether an interrupt that is pending and held back could be noticed by what
    /// executes next: the core sleeps, or reads registers that tell.
    pub fn sees_pending(&self) -> bool {
        on!(&self.core, core => core.sees_pending())
    }

    /// The last cycle in which the instruction that is about to execute might notice what becomes
    /// pending, if it is one that could: it looks in its data phase, when the next ones may have
    /// begun, and which other transfers may hold up. Wants a machine that is settled.
    pub fn looks_until(&self) -> Option<Cycles> {
        on!(&self.core, core => core.looks_until())
    }

    /// Whether the core sleeps, so that an interrupt wakes it.
    pub fn is_asleep(&self) -> bool {
        on!(&self.core, core => core.is_asleep())
    }

    /// Whether an external interrupt is pending, or its handler has been entered and not left.
    pub fn is_under_way(&self, interrupt: u16) -> bool {
        on!(&self.core, core => core.is_under_way(interrupt))
    }

    /// Whether an external interrupt is pending and has come to the core, which notices one
    /// only some cycles after it became pending: see [`Machine::way_to_core`].
    pub fn has_come(&self, interrupt: u16) -> bool {
        on!(&self.core, core => core.has_come(interrupt))
    }

    /// Whether the handler of an external interrupt has been entered and not left.
    pub fn is_active(&self, interrupt: u16) -> bool {
        on!(&self.core, core => core.is_active(interrupt))
    }

    /// The least cycles from an interrupt becoming pending from outside to the first instruction
    /// of its handler: it comes to the core, and is entered, chained to, or takes the place of
    /// another exception that is being entered.
    pub fn least_latency(&self) -> u64 {
        on!(&self.core, core => core.least_latency())
    }

    /// Lets an external interrupt come to the core now, and its handler be entered, and takes
    /// all of that back. It has become pending [`Machine::way_to_core`] cycles before. Wants a
    /// machine that is settled and an interrupt that nothing [holds back](Machine::holds_back).
    pub fn try_entry(&mut self, interrupt: u16) -> Tried {
        on!(&mut self.core, core => core.try_entry(interrupt))
    }

    /// When the next instruction enters, of a machine that has advanced openly.
    pub fn next_entry(&mut self) -> Cycles {
        on!(&mut self.core, core => core.next_entry())
    }

    /// Tries an entry out on a machine that has advanced openly, with the interrupt becoming
    /// pending in a cycle, so that it comes to the core no later than the next
    /// instruction would enter.
    pub fn try_entry_early(&mut self, interrupt: u16, at: Cycles) -> Tried {
        on!(&mut self.core, core => core.try_entry_early(interrupt, at))
    }

    /// Tries an entry out with the interrupt becoming pending in a cycle behind the one
    /// in which the next instruction begins; `None` when that instruction completes first, and
    /// the interrupt is looked at at the next boundary, or when no instruction begins here, since
    /// another exception is taken.
    pub fn try_entry_within(&mut self, interrupt: u16, at: Cycles) -> Option<Tried> {
        on!(&mut self.core, core => core.try_entry_within(interrupt, at))
    }
}
