//! What holds interrupts back, and the longest time for which a program has masked them.
//!
//! A mask is in force from the end of the instruction that sets it to the end of the one
//! that clears it. Time asleep in between does not count: an interrupt wakes the core,
//! masked or not (DDI 0403, B1.5.19).

use super::State;
use super::blocker::{BlockedInterval, Blocker};

/// An instruction that sets or clears a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSite {
    /// Its address.
    pub address: u32,
    /// The link register at that moment: in a function that calls none, its caller.
    pub link: u32,
}

/// A stretch with a mask set: by the one that was set first, from the instruction that set it to the
/// one that cleared the last.
pub type MaskedInterval = BlockedInterval<Blocker, MaskSite>;

#[derive(Clone, Copy, Debug)]
pub struct OpenMask {
    pub mask: Blocker,
    pub began: u64,
    /// Cycles slept until then.
    pub slept: u64,
    pub set: MaskSite,
}

/// Looks for the longest masked interval, when asked to.
#[derive(Clone, Debug, Default)]
pub struct Masking {
    pub on: bool,
    /// A mask may have changed, there.
    pub written: Option<MaskSite>,
    pub open: Option<OpenMask>,
    pub longest: Option<MaskedInterval>,
    /// A watch has been hit.
    pub begun: bool,
    /// The longest that was over when a watch was hit last.
    pub settled: Option<MaskedInterval>,
}

impl Masking {
    /// Forgets everything but whether it was asked to look.
    pub fn reset(&mut self) {
        *self = Self { on: self.on, ..Self::default() };
    }

    /// Whether it is asked to look.
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Something was hit that the user of the machine watches.
    pub fn watch_hit(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            // What began before does not count.
            (self.open, self.longest) = (None, None);
        }
        self.settled = self.longest;
    }

    /// Notes whether interrupts are masked behind an instruction, by what, and the cycles slept so far.
    pub fn look(&mut self, mask: Option<Blocker>, now: u64, slept: u64, site: MaskSite) {
        match (mask, self.open) {
            (Some(mask), None) => {
                self.open = Some(OpenMask { mask, began: now, slept, set: site });
            }
            (None, Some(open)) => {
                self.open = None;
                self.close(open, now, slept, site);
            }
            _ => {}
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
    /// The mask register that holds interrupts back now, the strongest of them.
    pub fn mask(&self) -> Option<Blocker> {
        Blocker::of(self.masks())
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
            let mask = self.mask();
            self.watches.masking.look(mask, self.cycles, self.spent.sleep, site);
        }
    }
}
