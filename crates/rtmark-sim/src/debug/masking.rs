//! Masks as the machine sees them: which holds interrupts back, and for how long.

use crate::arch::armm::nvic::Masks;
use crate::machine::Machine;
use crate::state::{Blocker, MaskSite, MaskedInterval, OpenMask};

fn mask_of(masks: Masks) -> Option<Blocker> {
    match masks {
        Masks { faultmask: true, .. } => Some(Blocker::Faultmask),
        Masks { primask: true, .. } => Some(Blocker::Primask),
        Masks { basepri: 0, .. } => None,
        Masks { .. } => Some(Blocker::Basepri),
    }
}

impl Machine {
    /// Looks from now on for the longest masked interval. Costs the program no cycle, and
    /// the run next to nothing.
    pub fn watch_masks(&mut self) {
        self.watches.masking.on = true;
    }

    /// The longest interval between the first and the last hit of any [`Watch`] for which
    /// PRIMASK, FAULTMASK or BASEPRI held interrupts back; of equal ones the first. `None`
    /// where there was none, or [`Machine::watch_masks`] was not called.
    ///
    /// [`Watch`]: crate::Watch
    pub fn longest_masked(&self) -> Option<MaskedInterval> {
        self.watches.masking.settled
    }

    /// The mask register that holds interrupts back now, the strongest of them.
    pub fn mask(&self) -> Option<Blocker> {
        mask_of(self.masks())
    }

    /// What would hold back an enabled interrupt that has this value in its priority
    /// register, if anything would; a mask register rather than a handler where both do.
    pub fn holds_back_priority(&self, priority: u8) -> Option<Blocker> {
        let (nvic, masks) = (&self.system.nvic, self.masks());
        let group_of = |priority: u8| nvic.group_of(i16::from(nvic.mask_priority(priority)));
        let group = group_of(priority);
        let mask = mask_of(masks).filter(|mask| match mask {
            Blocker::Basepri => group >= group_of(masks.basepri),
            _ => true,
        });
        let handled = group >= nvic.active_priority();
        mask.or_else(|| handled.then_some(Blocker::Active(self.cpu.ipsr)))
    }

    /// An instruction before the program counter's, of this size, may have changed a mask.
    #[inline]
    pub(crate) fn mask_written(&mut self, size: u8) {
        if self.watches.masking.on {
            let address = self.cpu.pc.wrapping_sub(u32::from(size));
            self.watches.masking.written = Some(MaskSite { address, link: self.cpu.r[14] });
        }
    }

    /// Notes at an instruction's boundary what has become of the masks.
    #[inline]
    pub(crate) fn look_at_masks(&mut self) {
        if let Some(site) = self.watches.masking.written.take() {
            let (now, slept) = (self.cycles, self.spent.sleep);
            match (self.mask(), self.watches.masking.open) {
                (Some(mask), None) => {
                    self.watches.masking.open =
                        Some(OpenMask { mask, began: now, slept, set: site });
                }
                (None, Some(open)) => {
                    self.watches.masking.open = None;
                    self.watches.masking.close(open, now, slept, site);
                }
                _ => {}
            }
        }
    }
}
