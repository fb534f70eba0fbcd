//! Masks as users of a machine see them: which holds interrupts back, and for how long.

use crate::engine::CortexM;
use crate::state::{Blocker, MaskedInterval};

impl CortexM {
    /// See [`Machine::watch_masks`](crate::Machine::watch_masks).
    pub fn watch_masks(&mut self) {
        self.state.watches.masking.on = true;
    }

    /// See [`Machine::longest_masked`](crate::Machine::longest_masked).
    pub fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state.watches.masking.settled
    }

    /// See [`Machine::mask`](crate::Machine::mask).
    pub fn mask(&self) -> Option<Blocker> {
        self.state.mask()
    }

    /// See [`Machine::holds_back_priority`](crate::Machine::holds_back_priority).
    pub fn holds_back_priority(&self, priority: u8) -> Option<Blocker> {
        let (nvic, masks) = (&self.state.system.nvic, self.state.masks());
        let group_of = |priority: u8| nvic.group_of(i16::from(nvic.mask_priority(priority)));
        let group = group_of(priority);
        let mask = Blocker::of(masks).filter(|mask| match mask {
            Blocker::Basepri => group >= group_of(masks.basepri),
            _ => true,
        });
        let handled = group >= nvic.active_priority();
        mask.or_else(|| handled.then_some(Blocker::Active(self.state.cpu.ipsr)))
            .or_else(|| nvic.first_pending_before(priority).map(Blocker::Pending))
    }
}
