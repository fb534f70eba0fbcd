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
    /// Returns whether an address belongs to a peripheral that the soc file names and that has no model.
    pub fn is_unmodelled(&self, address: u32) -> bool {
        self.unmodelled_blocks.iter().any(|block| block.offset(address).is_some())
    }

    /// Records an access to such a peripheral, which then reads as zero. Returns `None` elsewhere.
    pub fn access_unmodelled(&mut self, address: u32, direction: Direction) -> Option<u32> {
        let responds = self.is_unmodelled(address);
        responds.then(|| self.record_unmodelled(address, direction)).map(|()| 0)
    }

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

#[cfg(test)]
mod tests {
    use crate::{Machine, Soc, Unmodelled};

    /// On cores of every architecture; between the blocks nothing responds.
    #[test]
    fn peripherals_without_a_model_respond_and_are_reported() {
        let named = "\n[unmodelled]\nDMA = [0xE800_0000, 0x10]\n";
        for core in ["cortex-m4", "cortex-r5", "hazard3"] {
            let chip = format!(
                "name = 'x'\ndescription = 'd'\ncore = '{core}'\nclock_hz = 1000\ninterrupts = 32\n\
                 priority_bits = 4\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0\nsize = 64\n{named}"
            );
            let mut machine = Machine::new(&Soc::from_toml(&chip).expect("good"));
            machine.store_word(0xE800_0000, 1).expect("the first word");
            machine.store_word(0xE800_000C, 1).expect("the last word");
            machine.store_word(0xE7FF_FFFC, 1).expect_err("before");
            machine.store_word(0xE800_0010, 1).expect_err("behind");
            let written = |address| Unmodelled { address, reads: 0, writes: 1 };
            let found: Vec<_> = machine.unmodelled().collect();
            assert_eq!(found, [written(0xE800_0000), written(0xE800_000C)], "{core}");
        }
    }
}
