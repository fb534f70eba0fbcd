//! Which masks hold interrupts back, the longest time for which a program has masked interrupts, and from
//! which priority on.
//!
//! A mask is in force from the end of the instruction that sets it to the end of the one that clears it.
//! Sleep in between does not count if an interrupt would have ended it: that of WFI under PRIMASK, but not
//! under BASEPRI or FAULTMASK (DDI 0403, B1.5.19).

use super::blocker::{BlockedInterval, Blocker};
use super::{State, Trial};
use crate::isa::Slot;

/// An instruction that sets or clears a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSite {
    /// Its address.
    pub address: u32,
    /// The link register at that moment: the return address to the caller, in a function that calls no
    /// other.
    pub link: u32,
}

/// A stretch with a mask set, from the instruction that set the first one to the instruction that cleared
/// the last. It is attributed to the mask that was set first.
pub type MaskedInterval = BlockedInterval<Blocker, MaskSite>;

/// When a change of masks takes effect, and the instruction that makes it.
#[derive(Clone, Copy, Debug)]
pub struct MaskEffect {
    at: u64,
    site: MaskSite,
}

#[derive(Clone, Copy, Debug)]
pub struct OpenMask {
    pub mask: Blocker,
    pub began: u64,
    /// Cycles of interruptible sleep up to then.
    pub slept: u64,
    pub set: MaskSite,
}

/// Looks for the longest masked interval, if requested.
#[derive(Clone, Debug, Default)]
pub struct Masking {
    pub on: bool,
    /// An instruction at this place may have changed a mask.
    pub written: Option<MaskSite>,
    pub open: Option<OpenMask>,
    /// Interrupts are masked since before a watch was first hit.
    pub is_left_out: bool,
    pub longest: Option<MaskedInterval>,
    /// A watch has been hit.
    pub begun: bool,
    /// The longest interval that had ended when a watch was last hit.
    pub settled: Option<MaskedInterval>,
    /// The most urgent priority that BASEPRI has held back.
    pub basepri: Option<u8>,
}

impl Masking {
    /// Forgets everything except whether the search was requested.
    pub fn reset(&mut self) {
        *self = Self { on: self.on, ..Self::default() };
    }

    /// Returns whether the search was requested.
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Notes that a watch set by the machine's user was hit.
    pub fn watch_hit(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            // Intervals that began before the first hit do not count, not even in part.
            self.is_left_out = self.open.take().is_some();
            self.longest = None;
        }
        self.settled = self.longest;
    }

    /// Records whether interrupts are masked after an instruction, by which mask, and how many cycles the
    /// core has slept so far that an interrupt would have ended.
    pub fn update(&mut self, mask: Option<Blocker>, now: u64, slept: u64, site: MaskSite) {
        match (mask, self.open) {
            (Some(mask), None) if !self.is_left_out => {
                self.open = Some(OpenMask { mask, began: now, slept, set: site });
            }
            (Some(_), _) => {}
            (None, open) => {
                (self.open, self.is_left_out) = (None, false);
                if let Some(open) = open {
                    self.close(open, now, slept, site);
                }
            }
        }
    }

    fn close(&mut self, open: OpenMask, now: u64, slept: u64, cleared: MaskSite) {
        let asleep = slept - open.slept;
        let interval = MaskedInterval {
            by: open.mask,
            from: open.set,
            to: cleared,
            cycles: now.saturating_sub(open.began).saturating_sub(asleep),
            began: open.began,
        };
        if self.longest.is_none_or(|longest| interval.cycles > longest.cycles) {
            self.longest = Some(interval);
        }
    }
}

impl State {
    /// Returns the strongest of the mask registers that currently hold interrupts back.
    pub fn mask(&self) -> Option<Blocker> {
        Blocker::of(self.masks())
    }

    /// Notes that the instruction of this size before the program counter may have changed a mask.
    #[inline]
    pub(crate) fn mask_written(&mut self, size: u8) {
        if self.watches.masking.on {
            let address = self.cpu.pc.wrapping_sub(u32::from(size));
            self.watches.masking.written = Some(MaskSite { address, link: self.cpu.r[14] });
        }
    }

    /// Returns what a change of masks by the current instruction means for masked intervals; the program
    /// counter is after it. Returns `None` if something other than an instruction may be due by the time
    /// that it takes effect, so that only the next instruction boundary can tell, and if masked intervals
    /// are not being measured.
    pub(crate) fn mask_effect(&mut self, slot: &Slot) -> Option<MaskEffect> {
        let is_quiet = self.trial == Trial::Inactive && self.system.nvic.pending().is_empty();
        if !is_quiet || !self.watches.masking.on {
            return None;
        }
        let at = self.cycles + u64::from(slot.cost) + self.cost_of_next()?;
        let address = self.cpu.pc.wrapping_sub(u32::from(slot.size()));
        let site = MaskSite { address, link: self.cpu.r[14] };
        (at < self.deadline).then_some(MaskEffect { at, site })
    }

    /// Updates the masked intervals at an instruction boundary.
    #[inline]
    pub(crate) fn update_masks(&mut self) {
        if let Some(site) = self.watches.masking.written.take() {
            self.record_masks(MaskEffect { at: self.cycles, site });
        }
    }

    /// Updates the masked intervals after a change of masks.
    pub(crate) fn record_masks(&mut self, MaskEffect { at, site }: MaskEffect) {
        let mask = self.mask();
        let basepri = Some(self.cpu.basepri).filter(|&level| level != 0);
        let masking = &mut self.watches.masking;
        masking.basepri = masking.basepri.into_iter().chain(basepri).min();
        masking.update(mask, at, self.spent.interruptible_sleep, site);
    }
}
