//! The UART of Arm's Cortex-M System Design Kit (DDI 0479, 4.3).

use crate::devices::transmitter::Transmitter;
use crate::devices::{ClockRatio, Env, Registered};

const CTRL_TX_ENABLE: u32 = 1;
const CTRL_TX_INTERRUPT: u32 = 1 << 2;
/// Start, eight data bits, stop.
const FRAME_BITS: u64 = 10;
/// The registers from 0xFD0 on that tell what it is (DDI 0479, table 4-5).
const IDENTITY: [u32; 12] = [4, 0, 0, 0, 0x21, 0xB8, 0x1B, 0, 0x0D, 0xF0, 0x05, 0xB1];

/// A buffer of one byte before the one that is being sent.
#[derive(Clone, Debug, Default)]
pub struct Cmsdk {
    control: u32,
    baud_divisor: u32,
    transmitter: Transmitter,
    /// The buffer has become empty since the flag was cleared.
    tx_interrupt: bool,
    /// When the buffer, which is full, will be empty.
    empties_at: Option<u64>,
}

impl Registered for Cmsdk {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.pace);
        Some(match offset {
            0x000 => 0,
            0x004 => u32::from(self.transmitter.held(env.now) > 1),
            0x008 => self.control,
            0x00C => u32::from(self.tx_interrupt),
            0x010 => self.baud_divisor,
            0xFD0..=0xFFC => IDENTITY[((offset - 0xFD0) / 4) as usize],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.pace);
        match offset {
            0x000 => {
                if self.control & CTRL_TX_ENABLE != 0 {
                    env.console.push(value as u8);
                    let bit = u64::from(self.baud_divisor) * env.pace.divisor;
                    self.transmitter.send(env.now, FRAME_BITS * bit);
                    self.empties_at = Some(self.transmitter.down_to(1).max(env.now + 1));
                }
            }
            // Overruns are never flagged.
            0x004 => {}
            0x008 => self.control = value & 0x7F,
            0x00C => self.tx_interrupt &= value & 1 == 0,
            0x010 => self.baud_divisor = value & 0xF_FFFF,
            _ => return None,
        }
        Some(())
    }

    /// Receive, transmit, overrun, combined.
    fn outputs(&self, _: u64) -> u32 {
        if self.tx_interrupt && self.control & CTRL_TX_INTERRUPT != 0 { 0b1010 } else { 0 }
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        if self.empties_at.is_some_and(|at| at <= now) {
            self.empties_at = None;
            self.tx_interrupt = self.control & CTRL_TX_INTERRUPT != 0;
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.empties_at.filter(|_| self.control & CTRL_TX_INTERRUPT != 0)
    }
}
