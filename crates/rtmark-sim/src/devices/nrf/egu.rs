//! EGU of nRF52: events that a program triggers, which raise an interrupt or reach tasks (nRF52840 PS,
//! 6.8).

use super::Events;
use crate::devices::{DeviceModel, Env, Signals};

/// The offset of the last task, TRIGGER 15; event TRIGGERED 15 is at 0x100 more.
const LAST: u32 = 0x3C;

#[derive(Clone, Debug, Default)]
pub struct NrfEgu {
    events: Events,
    interrupts: u32,
}

impl DeviceModel for NrfEgu {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            0x000..=LAST => 0,
            0x100..=0x13C => self.events.read(offset),
            0x300 | 0x304 | 0x308 => self.interrupts,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, _: &mut Env<'_>) -> Option<()> {
        match offset {
            0x000..=LAST => {
                if value & 1 == 1 {
                    self.events.raise(1 << (offset / 4));
                }
            }
            0x100..=0x13C => self.events.write(offset, value),
            0x300 => self.interrupts = value & 0xFFFF,
            0x304 => self.interrupts |= value & 0xFFFF,
            0x308 => self.interrupts &= !value,
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn has_end(&self, offset: u32) -> bool {
        matches!(offset, 0x000..=LAST | 0x100..=0x13C)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        Signals::of(self.events.take())
    }
}
