//! The interface between machines and the state of any core.

use rtmark_units::{Cycles, Instructions};

use super::stop::FaultPolicy;
use super::{
    Counts, Hit, Irq, LoadError, Overhead, Register, UnmappedAddress, Watch, WatchId, Watches,
};
use crate::devices::{Console, Devices};
use crate::image::Image;
use crate::memory::Bus;
use crate::soc::Soc;

/// The queries and changes that every core's state supports between instructions. The methods have the
/// names of those of [`Machine`](crate::Machine), where each is described.
///
/// A core provides access to its parts; the default methods build on that. Features that only some cores
/// have get a default that fits a core without them.
pub trait CoreState {
    fn soc(&self) -> &Soc;

    fn bus(&self) -> &Bus;

    fn bus_mut(&mut self) -> &mut Bus;

    fn devices(&self) -> &Devices;

    fn devices_mut(&mut self) -> &mut Devices;

    fn console_mut(&mut self) -> &mut Console;

    fn watches(&self) -> &Watches;

    fn watches_mut(&mut self) -> &mut Watches;

    fn load(&mut self, image: &Image) -> Result<(), LoadError>;

    fn reset(&mut self) -> Result<(), LoadError>;

    /// Returns the addresses at which runs stop, in ascending order.
    fn stops_mut(&mut self) -> &mut Vec<u32>;

    /// Called when memory may hold different code.
    fn code_changed(&mut self);

    /// Called when the watched addresses, or those at which runs stop, have changed.
    fn marks_changed(&mut self);

    fn set_fault_policy(&mut self, policy: FaultPolicy);

    fn register(&self, register: Register) -> u32;

    fn set_register(&mut self, register: Register, value: u32);

    fn pend_interrupt(&mut self, interrupt: Irq, at: Cycles);

    fn cycles(&self) -> Cycles;

    fn instructions(&self) -> Instructions;

    fn waited(&self) -> Cycles;

    /// Returns the cycles slept since reset.
    fn asleep(&self) -> Cycles;

    fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), UnmappedAddress> {
        let written = self.bus_mut().program(address, bytes);
        self.code_changed();
        if written == bytes.len() { Ok(()) } else { Err(UnmappedAddress(address + written as u32)) }
    }

    fn poke_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        self.poke(address, &value.to_le_bytes())
    }

    fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.min(self.bus().peek_len(address))];
        self.bus().peek(address, &mut bytes);
        bytes
    }

    fn watch(&mut self, watch: Watch) -> WatchId {
        let id = self.watches_mut().add(watch);
        if let Watch::Execute(_) = watch {
            self.marks_changed();
        }
        id
    }

    /// Makes runs stop before the instruction at an even address.
    fn stop_before(&mut self, address: u32) {
        let stops = self.stops_mut();
        if let Err(at) = stops.binary_search(&address) {
            stops.insert(at, address);
            self.marks_changed();
        }
    }

    fn remove_stop(&mut self, address: u32) {
        let stops = self.stops_mut();
        if let Ok(at) = stops.binary_search(&address) {
            stops.remove(at);
            self.marks_changed();
        }
    }

    fn hits(&self) -> &[Hit] {
        &self.watches().hits
    }

    fn take_hits(&mut self) -> Vec<Hit> {
        std::mem::take(&mut self.watches_mut().hits)
    }

    fn clear_hits(&mut self) {
        self.watches_mut().hits.clear();
    }

    fn take_console(&mut self) -> Vec<u8> {
        self.console_mut().take()
    }

    fn stop_at_output(&mut self, text: &[u8]) -> usize {
        self.console_mut().await_text(text)
    }

    fn overhead(&self) -> Overhead {
        Overhead { waited: self.waited(), asleep: self.asleep(), exceptions: self.watches().taken }
    }

    /// Returns the counts at a cycle, for recording hits.
    fn counts(&self, cycle: u64) -> Counts {
        Counts { cycle, instructions: self.instructions().0, overhead: self.overhead() }
    }

    /// Empties the caches; by default there are none.
    fn empty_caches(&mut self) {}

    fn empty_caches_at(&mut self, watch: WatchId) {
        self.watches_mut().empties.push(watch);
    }

    /// Takes the output of a stimulus port; by default there is no ITM.
    fn take_stimulus(&mut self, _port: u8) -> Vec<u8> {
        Vec::new()
    }

    /// Returns how many instructions were abandoned for an interrupt; by default these are not counted.
    fn abandoned_instructions(&self) -> Instructions {
        Instructions(0)
    }
}
