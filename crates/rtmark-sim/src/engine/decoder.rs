//! Decoding with what a machine is asked to look at: watches, stops, stack limits.

use crate::isa::{Features, Op, Slot, decode, is_wide};
use crate::memory::Bus;
use crate::timing::Rules;

/// Stands before an instruction at which the run is to stop: it is in no block.
pub const STOP: Slot = Slot { op: Op::Stop, cost: 0, ..Slot::undefined(2) };

/// What decoding depends on besides the bits.
#[derive(Clone, Debug)]
pub struct Decoder {
    pub rules: &'static Rules,
    pub features: Features,
    /// Addresses that are watched, in ascending order.
    pub watched: Vec<u32>,
    /// Addresses before which the run stops, in ascending order.
    pub stops: Vec<u32>,
    /// Whether it is to be told how far jumps lead that nobody foresaw: see [`crate::engine::slow`].
    pub tells_leaps: bool,
}

impl Decoder {
    /// Whether an instruction is in no block.
    pub fn stands_alone(&self, slot: &Slot) -> bool {
        self.tells_leaps && slot.leaps()
    }

    /// Decodes what stands at an address, or `None` where there is no memory.
    pub fn decode(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let mut bytes = [0; 4];
        let there = bus.peek(address, &mut bytes);
        let first = u16::from_le_bytes([bytes[0], bytes[1]]);
        if there < 2 || (is_wide(first) && there < 4) {
            return None;
        }
        let second = u16::from_le_bytes([bytes[2], bytes[3]]);
        let mut slot = decode(address, first, second, |isa| isa.is_part_of(self.features));
        slot.cost = (self.rules.cost)(&slot);
        Some(slot)
    }

    /// Decodes with what the core checks besides in front of the operation.
    pub fn decode_guarded(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let slot = self.decode(bus, address)?;
        Some(if self.features.v8m { slot.guarded() } else { slot })
    }

    /// Decodes with guards, and with a watch in the place of a watched instruction, and a
    /// breakpoint where the run is to stop.
    pub fn decode_watched(&self, bus: &Bus, address: u32) -> Option<Slot> {
        let slot = self.decode_guarded(bus, address);
        if self.stops.binary_search(&address).is_ok() {
            // As wide as what it stands for: it waits for the same code.
            return Some(slot.map_or(STOP, |slot| Slot { extent: slot.extent, ..STOP }));
        }
        let slot = slot?;
        let watched = self.watched.binary_search(&address).is_ok();
        Some(if watched { Slot { op: Op::Watch, cost: 0, ..slot } } else { slot })
    }
}
