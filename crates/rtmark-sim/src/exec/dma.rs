//! Transfers of DMA controllers, which read and write memories and peripherals beside the core.

use crate::devices::{Direction, DmaStore};
use crate::state::State;

impl State {
    /// Performs the transfer of a device that is due, if it is a DMA controller.
    pub(super) fn transfer(&mut self, at: usize, now: u64) {
        let Some((load, served)) = self.devices.begin_transfer(at, now) else { return };
        for timer in served {
            self.look_at_device(timer, now);
        }
        let loaded = self.load_for_dma(load.address, load.bytes, now);
        let store = loaded.and_then(|value| self.devices.dma(at)?.take(value));
        let stored = store.is_none_or(|store| self.store_for_dma(&store, now));
        if let Some(dma) = self.devices.dma(at) {
            dma.end_transfer(loaded.is_some() && stored);
        }
    }

    /// Reads one, two or four bytes; returns `None` if nothing responds there.
    fn load_for_dma(&mut self, address: u32, bytes: u32, now: u64) -> Option<u32> {
        if let Some(place) = self.bus.place(address) {
            let mut read = [0; 4];
            let wanted = &mut read[..bytes as usize];
            let is_there = !self.soc.memories[place.memory].core_only
                && self.bus.peek(address, wanted) == wanted.len();
            return is_there.then_some(u32::from_le_bytes(read));
        }
        let at = self.devices.find(address)?;
        let offset = self.devices.attached[at].offset_of(address & !3);
        let (value, _) = self.with_device(at, now, |device, env| device.read(offset, env));
        self.look_at_device(at, now);
        if value.is_none() {
            self.devices.note(address, Direction::Read);
        }
        Some(value.unwrap_or(0) >> (8 * (address & 3)) & u32::MAX >> (32 - 8 * bytes))
    }

    /// Writes bytes; returns whether something responds there.
    fn store_for_dma(&mut self, store: &DmaStore, now: u64) -> bool {
        store.units().all(|(address, unit)| match self.bus.place(address) {
            Some(place) if self.soc.memories[place.memory].core_only => false,
            Some(_) => (address..).zip(unit).all(|(address, byte)| {
                let is_there = self.bus.store(address, [*byte]).is_some();
                if self.bus.code_writes.dirty {
                    self.forget_overwritten_code(address);
                }
                is_there
            }),
            None => self.store_to_device(address, unit, now),
        })
    }

    fn store_to_device(&mut self, address: u32, unit: &[u8], now: u64) -> bool {
        let Some(at) = self.devices.find(address) else { return false };
        let shift = 8 * (address & 3);
        let value = unit.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        let mask = u32::MAX >> (32 - 8 * unit.len() as u32);
        let offset = (address & !3) - self.devices.attached[at].base;
        let (written, effects) = self.write_device(at, now, |device, env| {
            device.store(offset, value << shift, mask << shift, env)
        });
        if written.is_none() || effects.without_model {
            self.devices.note(address, Direction::Write);
        }
        true
    }
}
