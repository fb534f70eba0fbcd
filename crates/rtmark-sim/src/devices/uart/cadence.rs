//! The UART of Zynq and Zynq UltraScale+, by Cadence (UG1087, module UART), sending only.
//!
//! It never fills up: bytes count as sent as soon as they are written.

use crate::devices::transmitter::SendFault;
use crate::devices::{DeviceModel, Env};

/// Channel status: the receive and transmit FIFOs are empty.
const EMPTY: u32 = 1 << 1 | 1 << 3;
/// Control: the transmitter is on, and off; the latter prevails.
const TRANSMITS: u32 = 1 << 4;
const TRANSMITS_NOT: u32 = 1 << 5;
/// Control as AMD's first-stage boot loader leaves it (`psu_init`: 0x17, whose FIFO resets complete by themselves).
const ENABLED: u32 = 0x14;
/// The number of registers that keep what is written: up to the flow delay.
const KEPT: usize = 19;

#[derive(Clone, Debug)]
pub struct Cadence {
    registers: [u32; KEPT],
    mask: u32,
}

impl Cadence {
    /// Creates a UART that a boot loader has switched on, or not.
    pub fn new(enabled: bool) -> Self {
        let mut registers = [0; KEPT];
        // The reset values: transmitter and receiver off; baud rate generator and divider; trigger levels.
        for (offset, value) in
            [(0x00, 0x128), (0x18, 0x28B), (0x20, 0x20), (0x34, 0xF), (0x44, 0x20)]
        {
            registers[offset / 4] = value;
        }
        if enabled {
            registers[0] = ENABLED;
        }
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
                if self.registers[0] & (TRANSMITS | TRANSMITS_NOT) == TRANSMITS {
                    env.console.push(value as u8);
                } else {
                    env.effects.send_fault = Some(SendFault::Off);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Soc};

    /// UG1087, module UART: the reset values, and Control, whose TXDIS prevails.
    #[test]
    fn it_begins_switched_off_with_its_reset_values_unless_a_loader_has_switched_it_on() {
        let registers = Cadence::new(false).registers;
        let found = [0x00, 0x18, 0x20, 0x34, 0x44].map(|offset| registers[offset / 4]);
        assert_eq!(found, [0x128, 0x28B, 0x20, 0x0F, 0x20]);
        let soc = Soc::from_toml(include_str!("../../../../../socs/zynqmp-r5.toml"));
        let mut machine = Machine::new(&soc.expect("good"));
        machine.store_word(0xFF00_0030, b'-'.into()).expect("a register");
        assert_eq!(machine.take_console(), b"-", "as AMD's first-stage boot loader leaves it");
        for (control, byte) in [(0x128, b'a'), (0x138, b'b'), (0x118, b'c'), (0x010, b'd')] {
            machine.store_word(0xFF00_0000, control).expect("a register");
            machine.store_word(0xFF00_0030, byte.into()).expect("a register");
        }
        assert_eq!(machine.take_console(), b"cd");
        let faults: Vec<_> = machine.send_faults().collect();
        assert_eq!(faults, [("UART0", SendFault::Off, 2)]);
    }
}
