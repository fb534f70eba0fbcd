//! DMAMUX of STM32: selects each DMA channel's request (RM0440, "DMA request multiplexer (DMAMUX)").

use crate::devices::{DeviceModel, Env};

/// The channels of the largest.
const CHANNELS: usize = 16;
/// CxCR: the request.
const REQUEST: u32 = 0x7F;
/// CxCR, without a model: synchronisation, by which requests wait for others (SE). The events that other channels wait for
/// (EGE) change nothing by themselves.
const WAITS: u32 = 1 << 16;
/// RGxCR, without a model: requests made of events (GE).
const GENERATES: u32 = 1 << 16;
/// The generators of requests.
const GENERATORS: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct DmaMux {
    controls: [u32; CHANNELS],
    generators: [u32; GENERATORS],
}

impl DmaMux {
    /// Returns the number of the request that a channel takes; 0 stands for none.
    pub fn selection(&self, channel: usize) -> u32 {
        self.controls.get(channel).map_or(0, |control| control & REQUEST)
    }
}

impl DeviceModel for DmaMux {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            0x00..=0x3C => self.controls[(offset / 4) as usize],
            0x100..=0x11C => self.generators[(offset as usize - 0x100) / 4],
            // Overruns of what has no model.
            0x80 | 0x84 | 0x140 | 0x144 => 0,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        let (register, without_model) = match offset {
            0x00..=0x3C => (&mut self.controls[(offset / 4) as usize], WAITS),
            0x100..=0x11C => (&mut self.generators[(offset as usize - 0x100) / 4], GENERATES),
            0x80 | 0x84 | 0x140 | 0x144 => return Some(()),
            _ => return None,
        };
        *register = *register & !mask | value;
        env.effects.without_model |= value & without_model != 0;
        env.effects.requests_selected = true;
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        0
    }
}
