//! Registers without a model: how accesses to them are handled, and the record of these accesses.

use super::{Devices, Direction};

/// How accesses to registers without a model are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They read as zero, and [`Machine::unmodelled`](crate::Machine::unmodelled) reports them.
    #[default]
    Lenient,
    /// The first one ends the run with [`FaultKind::Unmodelled`](crate::FaultKind::Unmodelled).
    Strict,
}

/// The accesses to one register without a model. It is either unknown, or keeps what is written although
/// the program waits for it to change or has started something with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmodelled {
    /// Its address.
    pub address: u32,
    /// How often it was read: as zero, or as the value that was kept.
    pub reads: u64,
    /// How often it was written, without effect.
    pub writes: u64,
}

/// The maximum number of unmodelled registers recorded: a program that walks over all addresses must not
/// fill the host's memory.
const MAX_UNMODELLED: usize = 256;

impl Devices {
    /// Records an access to a register without a model.
    pub fn note(&mut self, address: u32, direction: Direction) {
        if self.unmodelled.len() >= MAX_UNMODELLED && !self.unmodelled.contains_key(&address) {
            return;
        }
        let entry = self.unmodelled.entry(address).or_default();
        entry.address = address;
        match direction {
            Direction::Read => entry.reads += 1,
            Direction::Write => entry.writes += 1,
        }
    }
}
