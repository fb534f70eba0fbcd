//! The caches of a Cortex-M7: what its registers and the memory map decide about them.
//!
//! Data that several masters share is not cached, whatever else its attributes say, unless CACR.SIWT is set
//! (DDI 0489, 3.3.9). A line that is not in its cache is brought while the core waits; stores never wait, because
//! a buffer takes them, and bring a line where the memory is write-allocate. What is not cached waits for each
//! line of code that execution enters, and for each 64 bits of data that an instruction reads.

use super::{NO_LINE, State};
use crate::arch::armm::caches::{CacheWriteEffect, Caches};
use crate::arch::armm::mpu::Rights;
use crate::memory::Place;

impl State {
    /// Switches the caches on or off as CCR says, on a core that has them.
    pub(crate) fn switch_caches(&mut self) {
        if !self.features.caches {
            return;
        }
        let (instructions, data) = self.system.switched_caches();
        self.lines.caches.switch(instructions, data);
        (self.line, self.line_mask) = (NO_LINE, u32::MAX);
    }

    /// Does what a write to a register of the caches does to their lines.
    pub(crate) fn maintain_caches(&mut self, effect: CacheWriteEffect) {
        let caches = &mut self.lines.caches;
        match effect {
            CacheWriteEffect::Nowhere | CacheWriteEffect::Kept => return,
            CacheWriteEffect::ForgetCode => caches.forget_code(),
            CacheWriteEffect::ForgetCodeAt(address) => caches.forget_code_at(address),
            CacheWriteEffect::ForgetDataAt(address) => caches.forget_data_at(address),
            CacheWriteEffect::ForgetDataIn { set, way } => caches.forget_data_in(set, way),
        }
        (self.line, self.line_mask) = (NO_LINE, u32::MAX);
    }

    /// Begins to execute from a line of the near memory, which is behind the caches, and returns the cycles that
    /// the core waits for it.
    #[inline(never)]
    pub(crate) fn enter_behind_caches(&mut self, address: u32) -> u64 {
        let is_cached = self.rights_at(address).are_cached();
        if is_cached && self.lines.caches.find_code(address) {
            0
        } else {
            self.lines.near_mut().wait()
        }
    }

    /// Reads data from a memory behind the caches, and returns the cycles that the core waits for it.
    #[inline(never)]
    pub(crate) fn load_behind_caches(&mut self, place: Place) -> u64 {
        let address = self.address_of(place);
        let rights = self.rights_at(address);
        let has_it = if self.caches_data(rights) {
            self.lines.caches.find_data(address)
        } else {
            self.lines.caches.read_uncached(self.instructions, address)
        };
        if has_it { 0 } else { self.lines[place.memory].wait() }
    }

    /// Stores data to a memory behind the caches.
    #[inline(never)]
    pub(crate) fn store_behind_caches(&mut self, place: Place) {
        let address = self.address_of(place);
        let rights = self.rights_at(address);
        if self.caches_data(rights) {
            let writes_through = self.system.caches.as_ref().is_some_and(|caches| {
                caches.forces_write_through() || rights.are_shared() && caches.caches_shared()
            });
            self.lines.caches.store(address, !writes_through && rights.allocate_on_store());
        }
    }

    /// Returns whether the data cache, while it is on, may hold data of a memory with these attributes.
    fn caches_data(&self, rights: Rights) -> bool {
        let caches_shared = self.system.caches.as_ref().is_some_and(Caches::caches_shared);
        rights.are_cached()
            && self.lines.caches.data_is_on()
            && (!rights.are_shared() || caches_shared)
    }

    /// Returns the address of a place in a memory, of several the first.
    fn address_of(&self, place: Place) -> u32 {
        self.soc.memories[place.memory].base + place.offset
    }
}
