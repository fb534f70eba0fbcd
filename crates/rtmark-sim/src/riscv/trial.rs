//! Interrupt trials: what an interrupt in a given cycle would lead to, tried in a copy and
//! discarded.
//!
//! The core decides in each cycle whether to take an interrupt, and abandons an instruction that
//! has not got far. The only way to know the outcome is to simulate it, so a trial runs the
//! ordinary code. As long as it touches no memory, it runs in a copy of everything but the
//! memories; otherwise in a copy of the machine.

use rtmark_units::Cycles;

use super::core::{Core, CycleResult, NullObserver};
use super::inputs::{Drive, Input};
use super::isa::{Instruction, Op};
use super::machine::RiscV;
use super::state::number;
use super::timing::Memo;
use crate::debug::{Advance, TrialOutcome, Trials};
use crate::memory::Bus;
use crate::state::CoreState;

/// The cycles within which an unblocked handler must begin. A core-only trial that takes longer is
/// repeated in a copy of the machine.
const LONGEST_ENTRY: u64 = 1000;

/// The progress of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trial {
    /// Not in a trial.
    #[default]
    Inactive,
    /// In a trial; no trap has been entered.
    Active,
    /// A trap has been entered. The trial ends before the first instruction of its handler executes.
    Trapped,
}

impl Trial {
    /// Returns whether the trial ends before an instruction executes.
    pub const fn ends_before(self, it: &Instruction) -> bool {
        match self {
            Self::Inactive => false,
            Self::Active => it.op.is_access() || matches!(it.op, Op::Breakpoint | Op::Push),
            Self::Trapped => true,
        }
    }
}

impl Core {
    /// Returns a copy that borrows the memories, to be passed to `take_back`.
    fn lend(&mut self) -> Self {
        let bus = std::mem::replace(&mut self.system.bus, Bus::placeholder());
        let memo = std::mem::replace(&mut self.memo, Memo::placeholder());
        let placeholder = self.decoded.placeholder();
        let decoded = std::mem::replace(&mut self.decoded, placeholder);
        let mut copy = self.clone();
        (copy.system.bus, copy.memo, copy.decoded) = (bus, memo, decoded);
        copy
    }

    fn take_back(&mut self, copy: Self) {
        (self.system.bus, self.memo, self.decoded) = (copy.system.bus, copy.memo, copy.decoded);
    }

    /// Returns the cycle in which the first instruction of an external interrupt's handler leaves
    /// stage X, if the interrupt becomes pending in a cycle. Returns `None` if only a trial with a
    /// copy of the memories can tell.
    fn try_external(&mut self, interrupt: u16, at: u64) -> Option<u64> {
        let mut copy = self.lend();
        copy.trial = Trial::Active;
        copy.inputs.drive(Input::External(interrupt), Drive::UntilServed, at);
        copy.resample_interrupts();
        let end = at.saturating_add(LONGEST_ENTRY);
        let mut entered = None;
        while copy.cycle < end {
            if copy.step_cycle(&mut NullObserver) == CycleResult::Refused {
                let is_ours = copy.last_external_interrupt() == Some(interrupt)
                    && copy.took_external_interrupt();
                let trapped = copy.trial == Trial::Trapped;
                entered = (trapped && is_ours).then(|| copy.cycle - 1);
                break;
            }
        }
        self.take_back(copy);
        entered
    }
}

impl RiscV {
    pub(super) fn try_external_early(&mut self, interrupt: u16, at: Cycles) -> TrialOutcome {
        if let Some(cycle) = self.state.core.try_external(interrupt, at.0) {
            return TrialOutcome::Entered(Cycles(cycle));
        }
        let mut copy = self.clone();
        copy.state.pend_interrupt(interrupt.into(), at);
        let wanted = number::FIRST_EXTERNAL.saturating_add(interrupt);
        let (taken, end) =
            (copy.state.session.watches.taken, Cycles(at.0.saturating_add(LONGEST_ENTRY)));
        loop {
            match copy.cycle(end) {
                Ok(CycleResult::Instruction(_)) if copy.state.session.watches.taken > taken => {
                    let ours = copy.state.session.handlers.current() == wanted
                        && copy.state.session.watches.taken == taken + 1;
                    // It left in the cycle before.
                    let left = Cycles(copy.state.core.cycle - 1);
                    return if ours { TrialOutcome::Entered(left) } else { TrialOutcome::Unclear };
                }
                Ok(_) if copy.state.core.cycle < end.0 => {}
                _ => return TrialOutcome::Unclear,
            }
        }
    }

    /// See [`Machine::try_entry_within`](crate::Machine::try_entry_within): for every cycle up to
    /// the next boundary, because the core may abandon the current instruction.
    pub(super) fn try_external_within(
        &mut self,
        interrupt: u16,
        at: Cycles,
    ) -> Option<TrialOutcome> {
        (at.0 < self.next_boundary()).then(|| self.try_external_early(interrupt, at))
    }

    /// Returns the cycle of the next boundary if nothing else becomes pending.
    fn next_boundary(&mut self) -> u64 {
        let here =
            (self.state.core.cycle, self.state.core.instructions, self.state.session.watches.taken);
        if let Some((known, boundary)) = self.boundary
            && known == here
        {
            return boundary;
        }
        let boundary = self.state.core.next_boundary().unwrap_or_else(|| {
            let mut copy = self.clone();
            // If the run ends first, the last cycle in which anything may be seen.
            let _: Result<Advance, _> = copy.advance(Cycles(u64::MAX));
            copy.state.core.cycle
        });
        self.boundary = Some((here, boundary));
        boundary
    }
}
