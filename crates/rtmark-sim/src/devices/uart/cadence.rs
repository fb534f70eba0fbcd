//! The UART of Zynq and Zynq UltraScale+, by Cadence (UG1087, module UART), sending only.
//!
//! It never fills up: bytes count as sent as soon as they are written.

use crate::devices::{DeviceModel, Env};

/// Channel status: the receive and transmit FIFOs are empty.
const EMPTY: u32 = 1 << 1 | 1 << 3;
const TRANSMITS: u32 = 1 << 4;
/// The number of registers that keep what is written: up to the flow delay.
const KEPT: usize = 19;

#[derive(Clone, Debug)]
pub struct Cadence {
    registers: [u32; KEPT],
    mask: u32,
}

impl Default for Cadence {
    fn default() -> Self {
        let mut registers = [0; KEPT];
        // The reset value: transmitter and receiver off.
        registers[0] = 0x128;
        Self { registers, mask: 0 }
    }
}

impl DeviceModel for Cadence {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            0x10 => self.mask,
            0x14 => EMPTY,
            0x2C => EMPTY,
            0x30 => 0,
            _ => *self.registers.get(offset as usize / 4)?,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        match offset {
            0x08 => self.mask |= value,
            0x0C => self.mask &= !value,
            0x14 | 0x2C => {}
            0x30 => {
                if self.registers[0] & TRANSMITS != 0 {
                    env.console.push(value as u8);
                }
            }
            // FIFO resets complete by themselves.
            0x00 => self.registers[0] = value & !3,
            _ => *self.registers.get_mut(offset as usize / 4)? = value,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        u32::from(self.mask & EMPTY != 0)
    }
}
