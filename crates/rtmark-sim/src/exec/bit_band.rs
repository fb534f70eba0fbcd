//! Bit-banding: each bit of two regions is a word of its own in an alias region (DDI 0337 and DDI 0439,
//! 3.7).
//!
//! The alias is only looked up where no memory responds, so other accesses do not pay for it. As on the
//! chip, the memory protection unit checks the alias' address, not that of the bit.

use crate::arch::armm::trap::{Done, Trap};
use crate::state::State;

/// The bit that an alias address selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit {
    /// The address of the word that contains the bit.
    word: u32,
    /// The bit's number in that word.
    number: u32,
}

impl Bit {
    /// Returns the bit that an alias address selects, if the address is in one of the two alias regions:
    /// the 1 MiB from 0x20000000 on has its aliases from 0x22000000 on, and the 1 MiB from 0x40000000 on
    /// from 0x42000000 on.
    pub const fn of_alias(address: u32) -> Option<Self> {
        match address >> 25 {
            0x11 | 0x21 => {
                let bit = (address & 0x01FF_FFFF) / 4;
                Some(Self { word: (address & 0xE000_0000) + bit / 32 * 4, number: bit % 32 })
            }
            _ => None,
        }
    }
}

impl State {
    /// Reads from an address that is in no memory: a bit or a device.
    pub(crate) fn read_beyond_memory(&mut self, address: u32) -> Result<u32, Trap> {
        match Bit::of_alias(address).filter(|_| self.has_bit_bands) {
            Some(bit) => {
                self.note_bit_band_read();
                let word = self
                    .read_word_of(bit)
                    .map_err(|trap| self.attribute_to_alias(trap, address))?;
                // In the byte lane that the access uses.
                Ok((word >> bit.number & 1) << (8 * (address & 3)))
            }
            None => self.read_peripheral(address & !3),
        }
    }

    /// Writes `bytes` bytes of a value to an address that is in no memory.
    pub(crate) fn write_beyond_memory(&mut self, address: u32, value: u32, bytes: u32) -> Done {
        if let Some(bit) = Bit::of_alias(address).filter(|_| self.has_bit_bands) {
            return self
                .write_bit(bit, value & 1, bytes)
                .map_err(|trap| self.attribute_to_alias(trap, address));
        }
        let (shift, mask) = (8 * (address & 3), u32::MAX >> (32 - 8 * bytes));
        self.write_peripheral(address & !3, (value & mask) << shift, mask << shift)
    }

    fn read_word_of(&mut self, bit: Bit) -> Result<u32, Trap> {
        match self.bus.load::<4>(bit.word) {
            Some((bytes, place)) => {
                self.wait_for_load(place);
                Ok(u32::from_le_bytes(bytes))
            }
            None => self.read_peripheral(bit.word),
        }
    }

    /// Performs an uninterruptible read-modify-write.
    fn write_bit(&mut self, bit: Bit, value: u32, bytes: u32) -> Done {
        self.note_bit_band_write();
        let word = self.read_word_of(bit)? & !(1 << bit.number) | value << bit.number;
        if self.bus.store::<4>(bit.word, word.to_le_bytes()).is_some() {
            if self.bus.code_writes.dirty {
                self.forget_overwritten_code(bit.word);
            }
            return Ok(());
        }
        // A device is written with the width of the access to the alias.
        let shift = bit.number / (8 * bytes) * (8 * bytes);
        let mask = (u32::MAX >> (32 - 8 * bytes)) << shift;
        self.write_peripheral(bit.word, word & mask, mask)
    }

    /// Attributes a fault of the access made through an alias to the alias' address.
    fn attribute_to_alias(&mut self, trap: Trap, address: u32) -> Trap {
        self.trap_value = address;
        trap
    }
}
