//! What is behind the ports: memories, the core-local timer, peripherals.

use std::sync::Arc;

use super::isa::op::Width;
use super::timer::Timer;
use super::timing::{Memory, Parcel};
use crate::memory::Bus;
use crate::soc::Soc;

/// Wait states of the two ports, beyond those of the memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PortWaits {
    /// Of every instruction fetch.
    pub instruction: u8,
    /// Of every load and store.
    pub data: u8,
}

/// What is behind the ports.
#[derive(Clone, Debug)]
pub struct System {
    pub bus: Bus,
    pub timer: Option<Timer>,
    pub ports: PortWaits,
    /// Wait states of each memory, in the order of the soc file.
    waits: Vec<u8>,
    pub soc: Arc<Soc>,
}

impl System {
    pub fn new(soc: &Soc, timer: Option<Timer>) -> Self {
        Self {
            bus: Bus::new(soc),
            timer,
            ports: PortWaits::default(),
            waits: soc.memories.iter().map(|memory| memory.timing.wait_states).collect(),
            soc: Arc::new(soc.clone()),
        }
    }

    fn memory_waits(&self, address: u32) -> u8 {
        if self.waits.iter().all(|waits| *waits == 0) {
            return 0;
        }
        self.bus.place(address).map_or(0, |place| self.waits[place.memory])
    }

    /// Wait states of a load or store.
    pub fn data_waits(&self, address: u32) -> u8 {
        self.ports.data + self.memory_waits(address)
    }

    /// Whether a load or store there is answered without an error.
    pub fn answers(&self, address: u32, writes: bool) -> bool {
        match self.bus.place(address) {
            Some(place) => !writes || self.bus.is_writable(place.memory),
            None => self.timer.as_ref().is_some_and(|timer| timer.offset(address).is_some()),
        }
    }

    /// The instruction's bits at an address, the upper half zero where memory ends; `None` where
    /// there is no memory.
    pub fn code(&self, address: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.bus.peek(address, &mut bytes) >= 2).then_some(u32::from_le_bytes(bytes))
    }

    /// Loads; the data phase ends in a cycle.
    pub fn load(&mut self, address: u32, width: Width, cycle: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let length = width.bytes() as usize;
        if self.bus.peek(address, &mut bytes[..length]) < length {
            let timer = self.timer.as_mut()?;
            let word = timer.read(timer.offset(address & !3)?, cycle)?;
            bytes = (word >> (8 * (address & 3))).to_le_bytes();
        }
        let word = u32::from_le_bytes(bytes);
        Some(match width {
            Width::Byte => word as i8 as u32,
            Width::ByteUnsigned => word & 0xFF,
            Width::Half => word as i16 as u32,
            Width::HalfUnsigned => word & 0xFFFF,
            Width::Word => word,
        })
    }

    /// Stores; the data phase ends in a cycle.
    pub fn store(&mut self, address: u32, width: Width, value: u32, cycle: u64) -> Option<()> {
        let [a, b, c, d] = value.to_le_bytes();
        let stored = match width.bytes() {
            1 => self.bus.store(address, [a]),
            2 => self.bus.store(address, [a, b]),
            _ => self.bus.store(address, [a, b, c, d]),
        };
        if stored.is_some() {
            return Some(());
        }
        let timer = self.timer.as_mut()?;
        timer.write(timer.offset(address)?, value, cycle)
    }
}

impl Memory for System {
    fn fetch_waits(&self, address: u32) -> u8 {
        self.ports.instruction + self.memory_waits(address)
    }

    fn parcels(&self, address: u32) -> [Parcel; 2] {
        let mut bytes = [0xFF; 4];
        self.bus.peek(address, &mut bytes);
        let [a, b, c, d] = bytes;
        [Parcel::of(u16::from_le_bytes([a, b])), Parcel::of(u16::from_le_bytes([c, d]))]
    }
}
