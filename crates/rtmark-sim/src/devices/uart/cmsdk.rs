//! The UART of Arm's Cortex-M System Design Kit (DDI 0479, 4.3).

use crate::devices::receiver::Receiver;
use crate::devices::transmitter::{SendFault, Transmitter};
use crate::devices::{ClockRatio, DeviceModel, Env, ReceivesBytes};

const CTRL_TX_ENABLE: u32 = 1;
const CTRL_RX_ENABLE: u32 = 1 << 1;
const CTRL_TX_INTERRUPT: u32 = 1 << 2;
const CTRL_RX_INTERRUPT: u32 = 1 << 3;
/// The least divisor (DDI 0479, table 4-4: BAUDDIV).
const LEAST_DIVISOR: u32 = 16;
/// Start bit, eight data bits, stop bit.
const FRAME_BITS: u64 = 10;
/// The identification registers from 0xFD0 on (DDI 0479, table 4-5).
const IDENTITY: [u32; 12] = [4, 0, 0, 0, 0x21, 0xB8, 0x1B, 0, 0x0D, 0xF0, 0x05, 0xB1];

/// A UART with a buffer of one byte besides the one that is being sent.
#[derive(Clone, Debug, Default)]
pub struct Cmsdk {
    control: u32,
    baud_divisor: u32,
    transmitter: Transmitter,
    receiver: Receiver,
    /// A byte has arrived since the flag was cleared.
    rx_interrupt: bool,
    /// The buffer has become empty since the flag was cleared.
    tx_interrupt: bool,
    /// The cycle in which the buffer, which is full, becomes empty.
    empties_at: Option<u64>,
}

impl DeviceModel for Cmsdk {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x000 => {
                let frame = self.frame(env.ratio);
                self.receiver.take(env.now, frame).into()
            }
            0x004 => {
                u32::from(self.transmitter.held(env.now) > 1)
                    | u32::from(self.receiver.is_full()) << 1
            }
            0x008 => self.control,
            0x00C => u32::from(self.tx_interrupt) | u32::from(self.rx_interrupt) << 1,
            0x010 => self.baud_divisor,
            0xFD0..=0xFFC => IDENTITY[((offset - 0xFD0) / 4) as usize],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x000 => {
                if self.control & CTRL_TX_ENABLE == 0 {
                    env.effects.send_fault = Some(SendFault::Off);
                    return Some(());
                }
                env.console.push(value as u8);
                env.effects.send_fault = self.transmitter.accept(env.now, self.frame(env.ratio), 1);
                if self.baud_divisor < LEAST_DIVISOR {
                    env.effects.send_fault = Some(SendFault::NoRate);
                }
                self.empties_at = Some(self.transmitter.drains_to(1).max(env.now + 1));
            }
            // Overruns are never flagged.
            0x004 => {}
            0x008 => {
                self.control = value & 0x7F;
                if self.control & CTRL_RX_ENABLE == 0 {
                    self.receiver.disable();
                } else {
                    self.receiver.enable(env.now, self.frame(env.ratio));
                }
            }
            0x00C => {
                self.tx_interrupt &= value & 1 == 0;
                self.rx_interrupt &= value & 2 == 0;
            }
            0x010 => self.baud_divisor = value & 0xF_FFFF,
            _ => return None,
        }
        Some(())
    }

    /// Receive, transmit, overrun, combined.
    fn outputs(&self, _: u64) -> u32 {
        let transmit = self.tx_interrupt && self.control & CTRL_TX_INTERRUPT != 0;
        let receive = self.rx_interrupt && self.control & CTRL_RX_INTERRUPT != 0;
        (if transmit { 0b1010 } else { 0 }) | (if receive { 0b1001 } else { 0 })
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        if self.empties_at.is_some_and(|at| at <= now) {
            self.empties_at = None;
            self.tx_interrupt = self.control & CTRL_TX_INTERRUPT != 0;
        }
        if self.receiver.settle(now) {
            self.rx_interrupt = self.control & CTRL_RX_INTERRUPT != 0;
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let empties = self.empties_at.filter(|_| self.control & CTRL_TX_INTERRUPT != 0);
        let arrives = self.receiver.due().filter(|_| self.control & CTRL_RX_INTERRUPT != 0);
        [empties, arrives].into_iter().flatten().min()
    }
}

impl Cmsdk {
    /// Returns the cycles that a byte takes.
    const fn frame(&self, ratio: ClockRatio) -> u64 {
        FRAME_BITS * self.baud_divisor as u64 * ratio.divisor
    }
}

impl ReceivesBytes for Cmsdk {
    fn sides(&mut self) -> (&mut Receiver, &Transmitter) {
        (&mut self.receiver, &self.transmitter)
    }
}
