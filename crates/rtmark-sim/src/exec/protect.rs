//! When accesses and fetches are checked, by the memory protection unit or by other observers.
//!
//! While the unit checks accesses, or something else must see them ([`crate::exceptions::monitor`]), the
//! machine is *protected*: the fast paths to memory and to decoded pages are closed, so that every access
//! and every fetch passes through here. While nothing does, none of this costs time.

use crate::arch::armm::mpu::{Purpose, Rights, default_rights};
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::Slot;
use crate::state::{Guards, State};

impl State {
    /// Opens or closes the fast paths, according to the current state.
    pub(crate) fn update_protection(&mut self) {
        let mpu = &self.system.mpu;
        self.guards.mpu = mpu.is_enabled() && mpu.checks_at(self.execution_priority());
        let Guards { mpu, data, instructions } = self.guards;
        if self.protected != (mpu || data || instructions) {
            self.protected = !self.protected;
        }
        self.bus.open_main_ram(!(mpu || data));
    }

    /// Determines which other checks are needed, after the registers that control them have changed.
    pub(crate) fn update_watchers(&mut self) {
        self.guards.data = self.watches_data();
        self.guards.instructions = self.watches_instructions();
        self.request_attention();
    }

    /// Returns whether an access by the executing instruction counts as privileged.
    pub(crate) const fn has_privileged_access(&self) -> bool {
        self.cpu.privileged() && !self.as_user
    }

    /// Performs an action, with its accesses counting as unprivileged if `user` is set.
    pub(crate) fn access_as<T>(&mut self, user: bool, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.as_user, user);
        let result = act(self);
        self.as_user = before;
        result
    }

    /// Checks whether a load or store of some bytes, within one grain, is allowed, and reports it to the
    /// observers.
    pub(crate) fn check_access(&mut self, address: u32, bytes: u32, access: Purpose) -> Done {
        if self.guards.data {
            self.compare(address, bytes, access);
        }
        if !self.guards.mpu {
            return Ok(());
        }
        let privileged = self.has_privileged_access();
        if self.system.mpu.rights(address).allow(access, privileged) {
            return Ok(());
        }
        self.trap_value = address;
        Err(Trap::Forbidden)
    }

    /// Returns whether an access to this address may be unaligned. ARMv8-M requires alignment for Device
    /// memory, where ARMv7-M leaves the result undefined (DDI 0553, B6.6; DDI 0403, A3.2.1).
    pub(crate) fn allows_unaligned(&mut self, address: u32) -> bool {
        if !self.system.allows_unaligned() {
            return false;
        }
        if !self.features.v8m {
            return true;
        }
        !self.rights_at(address).are_of_device()
    }

    /// Returns what holds at an address: by the protection unit, or by the default memory map.
    pub(crate) fn rights_at(&mut self, address: u32) -> Rights {
        if self.guards.mpu { self.system.mpu.rights(address) } else { default_rights(address) }
    }

    /// Returns the instruction at an address, unless it cannot be fetched or must not be executed.
    pub(crate) fn slot_at(&mut self, address: u32) -> Option<Slot> {
        let slot = self.predecoded.slot(&mut self.bus, address)?;
        let last = address.wrapping_add(u32::from(slot.size()) - 2);
        self.may_execute(address, last).then_some(slot)
    }

    /// Returns whether the instruction whose halfwords are at these addresses may be executed.
    pub(crate) fn may_execute(&mut self, first: u32, last: u32) -> bool {
        if !self.guards.mpu {
            return true;
        }
        let privileged = self.cpu.privileged();
        let mpu = &mut self.system.mpu;
        mpu.rights(first).allow(Purpose::Execute, privileged)
            && mpu.rights(last).allow(Purpose::Execute, privileged)
    }

    /// Returns whether every instruction of a page of decoded code may be executed without checks.
    #[inline(always)]
    pub(crate) fn may_execute_page(&mut self, address: u32) -> bool {
        if !self.protected {
            return true;
        }
        let privileged = self.cpu.privileged();
        let Guards { mpu, instructions, .. } = self.guards;
        !instructions
            && (!mpu || self.system.mpu.rights_in_page(address).allow(Purpose::Execute, privileged))
    }

    /// Returns whether the memory map or the protection unit, rather than missing memory, prevents
    /// executing an instruction there.
    pub(crate) fn forbids_execution(&mut self, address: u32) -> bool {
        let allowed = default_rights(address).allow(Purpose::Execute, true);
        !allowed || !self.may_execute(address, address.wrapping_add(2))
    }
}
