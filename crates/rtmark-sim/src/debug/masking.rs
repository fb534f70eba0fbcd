//! Masks as users of a machine see them: which holds interrupts back, and for how long.

use crate::engine::Machine;
use crate::state::{Blocker, MaskedInterval};

impl Machine {
    /// Looks from now on for the longest masked interval. Costs the program no cycle, and
    /// the run next to nothing.
    pub fn watch_masks(&mut self) {
        self.state.watches.masking.on = true;
    }

    /// The longest interval between the first and the last hit of any [`Watch`] for which
    /// PRIMASK, FAULTMASK or BASEPRI held interrupts back; of equal ones the first. `None`
    /// where there was none, or [`Machine::watch_masks`] was not called.
    ///
    /// [`Watch`]: crate::Watch
    pub fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state.watches.masking.settled
    }

    /// The mask register that holds interrupts back now, the strongest of them.
    pub fn mask(&self) -> Option<Blocker> {
        self.state.mask()
    }

    /// What would hold back an enabled interrupt that has this value in its priority
    /// register, if anything would; a mask register rather than a handler where both do. Of the
    /// external interrupts of this priority it is the one with the lowest number, which is taken
    /// first of those that are pending.
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
