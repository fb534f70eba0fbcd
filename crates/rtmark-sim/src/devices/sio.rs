//! SIO of RP2040 and RP2350 as core 0 sees it (their datasheets, 2.3.1 and 3.1.11): spinlocks, pins, and the
//! RP2040's divider.
//!
//! The other core does not run: its side of the mailbox accepts everything and never answers. Not modelled:
//! the interpolators.

use super::pins::{Drive, DrivenPins};
use super::timer::RpChip;
use super::{DeviceModel, Env, Signals};
use crate::soc::{Peripheral, Pins, Soc};

/// The mailbox can accept a word, and holds none.
const FIFO_READY: u32 = 1 << 1;
/// DIV_CSR: the result is ready; it has not been read.
const DIVIDER_READY: u32 = 1;
const DIVIDER_DIRTY: u32 = 1 << 1;
/// Cycles that a division takes.
const DIVISION: u64 = 8;

#[derive(Clone, Debug)]
pub struct Sio {
    chip: RpChip,
    /// OUT and OE of the pins, then of the flash's pins and others.
    pins: [u32; 4],
    /// The pins that their pads pull up, by their bits in GPIO_IN and GPIO_HI_IN.
    pulled_up: [u32; 2],
    /// The levels that IO_BANK0 has been told of.
    told: [u32; 2],
    locks: u32,
    dividend: u32,
    divisor: u32,
    quotient: u32,
    remainder: u32,
    dirty: bool,
    /// The cycle in which the division ends.
    ready_at: u64,
    names: Vec<Pins>,
    /// The pins driven from outside, by their bits in GPIO_IN.
    driven: DrivenPins<u8>,
}

/// Divides, including the results for division by zero and for the most negative number divided by -1.
fn divide(dividend: u32, divisor: u32, signed: bool) -> (u32, u32) {
    if !signed {
        let quotient = dividend.checked_div(divisor).unwrap_or(u32::MAX);
        return (quotient, dividend.checked_rem(divisor).unwrap_or(dividend));
    }
    let (dividend, divisor) = (dividend as i32, divisor as i32);
    if divisor == 0 {
        let quotient = if dividend < 0 { 1 } else { -1 };
        return (quotient as u32, dividend as u32);
    }
    (dividend.wrapping_div(divisor) as u32, dividend.wrapping_rem(divisor) as u32)
}

impl Sio {
    pub fn new(soc: &Soc, peripheral: &Peripheral, chip: RpChip) -> Self {
        let mut sio = Self {
            chip,
            pins: [0; 4],
            pulled_up: [0; 2],
            told: [0; 2],
            locks: 0,
            dividend: 0,
            divisor: 0,
            quotient: 0,
            remainder: 0,
            dirty: false,
            ready_at: 0,
            names: peripheral.pins.clone(),
            driven: DrivenPins::default(),
        };
        for pad in soc.peripherals.iter().flat_map(|peripheral| &peripheral.registers) {
            if let Some(pull) = pad.pulls_up {
                let (pin, up) = pull.of(pad.reset);
                sio.pull(pin, up);
            }
        }
        sio
    }

    /// Returns the pin register at an offset, and the effect of a write there: store, set, clear, flip.
    const fn pin(&self, offset: u32) -> Option<(usize, u32)> {
        match (self.chip, offset) {
            (RpChip::Rp2040, 0x10..=0x4C) => Some(((offset / 16 - 1) as usize, offset / 4 % 4)),
            // Each register of the first pins is followed by that of the others.
            (RpChip::Rp2350, 0x10..=0x4C) => {
                let (output_enable, others) = ((offset - 0x10) / 32, offset / 4 % 2);
                Some(((others * 2 + output_enable) as usize, (offset - 0x10) / 8 % 4))
            }
            _ => None,
        }
    }

    /// Pulls a pin up, or not; the pads say so.
    pub const fn pull(&mut self, pin: u8, up: bool) {
        let (bit, pulled) = (1 << (pin & 31), &mut self.pulled_up[(pin >> 5 & 1) as usize]);
        *pulled = if up { *pulled | bit } else { *pulled & !bit };
    }

    /// Returns the levels of the pins that nothing outside drives.
    const fn own_levels(&self) -> [u32; 2] {
        let [low, low_enabled, high, high_enabled] = self.pins;
        [
            low & low_enabled | self.pulled_up[0] & !low_enabled,
            high & high_enabled | self.pulled_up[1] & !high_enabled,
        ]
    }

    fn start_division(&mut self, now: u64, signed: bool) {
        (self.quotient, self.remainder) = divide(self.dividend, self.divisor, signed);
        (self.dirty, self.ready_at) = (true, now + DIVISION);
    }
}

impl DeviceModel for Sio {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        if let Some((at, _)) = self.pin(offset) {
            return Some(self.pins[at]);
        }
        Some(match offset {
            // CPUID: core 0.
            0x00 => 0,
            // An input pin reads as it is driven.
            0x04 => {
                let driven = self.driven.iter();
                driven.fold(self.own_levels()[0], |levels, (bit, drive)| {
                    drive.in_register(levels, bit, env.now)
                })
            }
            0x08 => self.own_levels()[1],
            0x50 => FIFO_READY,
            0x58 => 0,
            0x5C => self.locks,
            0x60..=0x78 if self.chip == RpChip::Rp2350 => return None,
            0x60 | 0x68 => self.dividend,
            0x64 | 0x6C => self.divisor,
            0x70 => {
                self.dirty = false;
                self.quotient
            }
            0x74 => self.remainder,
            0x78 => {
                let ready = if env.now >= self.ready_at { DIVIDER_READY } else { 0 };
                ready | if self.dirty { DIVIDER_DIRTY } else { 0 }
            }
            // No bell of the other core's rings.
            0x180..=0x18C if self.chip == RpChip::Rp2350 => 0,
            0x100..=0x17C => {
                let lock = 1 << ((offset - 0x100) / 4);
                let claimed = if self.locks & lock == 0 { lock } else { 0 };
                self.locks |= lock;
                claimed
            }
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        if let Some((at, operation)) = self.pin(offset) {
            let held = self.pins[at];
            self.pins[at] = match operation {
                0 => value,
                1 => held | value,
                2 => held & !value,
                _ => held ^ value,
            };
            return Some(());
        }
        match offset {
            0x50 => {}
            // There is no other core that could read it.
            0x54 => env.effects.without_model = true,
            0x60..=0x78 if self.chip == RpChip::Rp2350 => return None,
            0x60 | 0x68 => {
                self.dividend = value;
                self.start_division(env.now, offset == 0x68);
            }
            0x64 | 0x6C => {
                self.divisor = value;
                self.start_division(env.now, offset == 0x6C);
            }
            // An interrupted division is restored by writing its results, which ends one in progress.
            0x70 => (self.quotient, self.dirty, self.ready_at) = (value, true, env.now),
            0x74 => (self.remainder, self.dirty, self.ready_at) = (value, true, env.now),
            // The interpolators, which do nothing without a setting.
            0x80..=0xFC if value == 0 => {}
            // DOORBELL: bells that are rung have no model, and there are none to be cleared.
            0x180 | 0x188 if self.chip == RpChip::Rp2350 => env.effects.without_model |= value != 0,
            0x184 | 0x18C if self.chip == RpChip::Rp2350 => {}
            0x100..=0x17C => self.locks &= !(1 << ((offset - 0x100) / 4)),
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        0
    }

    fn signals(&mut self) -> Signals {
        let levels = self.own_levels();
        let changed = std::mem::replace(&mut self.told, levels) != levels;
        Signals { levels: changed.then_some(levels), ..Signals::default() }
    }

    fn drive(&mut self, pin: &str, drive: &Drive) {
        if let Some(bit) = self.names.iter().find_map(|names| names.bit(pin)) {
            self.driven.drive(bit, drive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_divisions() {
        assert_eq!(divide(7, 0, false), (u32::MAX, 7));
        assert_eq!(divide(7, 0, true), (-1_i32 as u32, 7));
        assert_eq!(divide(-7_i32 as u32, 0, true), (1, -7_i32 as u32));
        assert_eq!(divide(0x8000_0000, u32::MAX, true), (0x8000_0000, 0));
        assert_eq!(divide(-7_i32 as u32, 2, true), (-3_i32 as u32, -1_i32 as u32));
        assert_eq!(divide(0xFFFF_FFF9, 2, false), (0x7FFF_FFFC, 1));
    }
}
