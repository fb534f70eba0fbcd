//! Flash memories that programs erase and write, which takes no time here.

use super::{Device, Devices, FlashEffect, FlashPage};
use crate::memory::{Bus, Place};
use crate::soc::Erase;

/// A word of flash that a store has programmed.
#[derive(Clone, Copy, Debug)]
pub struct Programmed {
    pub place: Place,
    /// The register that lets stores program the memory, if it is not known yet that this has no model: it takes no
    /// time.
    pub without_model: Option<u32>,
}

impl Devices {
    /// Returns whether a flash memory accepts stores.
    pub fn is_open(&self, memory: usize) -> bool {
        self.open.contains(&memory)
    }

    /// Carries out the effects of a register's write on flash memories. Returns whether any was erased.
    pub fn apply_to_flash(&mut self, effects: &[(usize, FlashEffect)], bus: &mut Bus) -> bool {
        let mut is_erased = false;
        for (memory, effect) in effects {
            match effect {
                FlashEffect::Open if self.is_open(*memory) => {}
                FlashEffect::Open => self.open.push(*memory),
                FlashEffect::Close => self.open.retain(|other| other != memory),
                FlashEffect::Erase { pages, which } => {
                    is_erased |= erase(bus, *memory, pages, *which);
                }
            }
        }
        is_erased
    }

    /// Clears the bits of a word of flash that are zero in the stored value; returns `None` if nothing there
    /// accepts stores.
    pub fn program_flash(
        &self,
        bus: &mut Bus,
        address: u32,
        value: u32,
        mask: u32,
    ) -> Option<Programmed> {
        let place = bus.place(address).filter(|place| self.is_open(place.memory))?;
        let mut word = [0; 4];
        bus.peek(address, &mut word);
        let programmed = u32::from_le_bytes(word) & (value | !mask);
        bus.program_at(place, &programmed.to_le_bytes());
        let is_new = |register: &u32| !self.unmodelled.contains_key(register);
        Some(Programmed { place, without_model: self.unlocks(place.memory).filter(is_new) })
    }

    /// Returns the address of the register by which a memory accepts stores.
    fn unlocks(&self, memory: usize) -> Option<u32> {
        self.attached.iter().find_map(|attached| match &attached.device {
            Device::Registers(block) => Some(attached.base + block.unlocks(memory)?),
            _ => None,
        })
    }
}

/// Sets all bits of a page of flash. Returns whether there is one.
fn erase(bus: &mut Bus, memory: usize, pages: &Erase, which: FlashPage) -> bool {
    let size = bus.size_of(memory);
    let page = match which {
        FlashPage::Number(number) => pages.numbered(number),
        FlashPage::All => Some((0, size)),
        FlashPage::At(address) => {
            let place = bus.place(address).filter(|place| place.memory == memory);
            place.and_then(|place| pages.around(place.offset))
        }
    };
    let Some((offset, bytes)) = page.filter(|(offset, _)| *offset < size) else { return false };
    bus.program_at(Place { memory, offset }, &vec![0xFF; bytes.min(size - offset) as usize]);
    true
}
