//! The CRC calculation unit of STM32: that of F1, F2, F4 and L1 (RM0090, chapter 4), which takes words and has one
//! polynomial, and that of the later families (RM0394, "Cyclic redundancy check calculation unit (CRC)"), whose
//! polynomial, size, initial value and order of bits a program sets.
//!
//! A result is there at once. On a chip, a second access in the one to four cycles that a calculation takes waits for
//! it.

use crate::devices::{DeviceModel, Env};

/// CR.
const RESET: u32 = 1 << 0;
const REVERSED_OUTPUT: u32 = 1 << 7;
/// The polynomial after a reset, that of Ethernet.
const ETHERNET: u32 = 0x04C1_1DB7;

#[derive(Clone, Debug)]
pub struct Crc {
    /// Whether a program can set the polynomial.
    is_programmable: bool,
    /// The remainder, in the lowest bits.
    remainder: u32,
    scratch: u32,
    control: u32,
    initial: u32,
    polynomial: u32,
}

impl Crc {
    /// Creates a unit that has one polynomial, or one that a program sets.
    pub const fn new(is_programmable: bool) -> Self {
        Self {
            is_programmable,
            remainder: u32::MAX,
            scratch: 0,
            control: 0,
            initial: u32::MAX,
            polynomial: ETHERNET,
        }
    }

    /// Returns the size of the polynomial, in bits (CRC_CR, POLYSIZE).
    const fn size(&self) -> u32 {
        match self.control >> 3 & 3 {
            0 => 32,
            1 => 16,
            2 => 8,
            _ => 7,
        }
    }

    /// Returns the bits of a remainder.
    const fn bits(&self) -> u32 {
        u32::MAX >> (32 - self.size())
    }

    fn restart(&mut self) {
        self.remainder = self.initial & self.bits();
    }

    /// Takes data of this many bits, the highest first.
    fn take(&mut self, data: u32, width: u32) {
        let data = self.in_order(data, width);
        let (size, bits) = (self.size(), self.bits());
        for at in (0..width).rev() {
            let carry = (self.remainder >> (size - 1) ^ data >> at) & 1;
            self.remainder = self.remainder << 1 & bits;
            if carry == 1 {
                self.remainder ^= self.polynomial & bits;
            }
        }
    }

    /// Returns data with its bits in the order in which they are taken (CRC_CR, REV_IN): reversed in each byte, in each
    /// halfword, or as a word, but never beyond what was written.
    const fn in_order(&self, data: u32, width: u32) -> u32 {
        let group = match self.control >> 5 & 3 {
            0 => return data,
            1 => 8,
            2 => 16,
            _ => 32,
        };
        let reversed = data.reverse_bits();
        // Reversing all bits has reversed the groups' order as well.
        match if group < width { group } else { width } {
            8 => reversed.swap_bytes(),
            16 => reversed.rotate_left(16),
            _ => reversed,
        }
    }

    const fn result(&self) -> u32 {
        if self.control & REVERSED_OUTPUT == 0 {
            return self.remainder;
        }
        self.remainder.reverse_bits() >> (32 - self.size())
    }
}

impl DeviceModel for Crc {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            0x00 => self.result(),
            0x04 => self.scratch,
            0x08 => self.control,
            0x10 if self.is_programmable => self.initial,
            0x14 if self.is_programmable => self.polynomial,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, _: &mut Env<'_>) -> Option<()> {
        match offset {
            0x00 if self.is_programmable => {
                self.take(value >> mask.trailing_zeros(), mask.count_ones());
            }
            0x00 => self.take(value, 32),
            0x04 => {
                let kept = if self.is_programmable { u32::MAX } else { 0xFF };
                self.scratch = (self.scratch & !mask | value) & kept;
            }
            0x08 => {
                let kept = if self.is_programmable { 0xF8 } else { 0 };
                self.control = (self.control & !mask | value) & kept;
                if value & RESET != 0 {
                    self.restart();
                }
            }
            // Its register is initialised by that, too (RM0394, "CRC calculation unit functional description").
            0x10 if self.is_programmable => {
                self.initial = self.initial & !mask | value;
                self.restart();
            }
            0x14 if self.is_programmable => self.polynomial = self.polynomial & !mask | value,
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        0
    }
}
