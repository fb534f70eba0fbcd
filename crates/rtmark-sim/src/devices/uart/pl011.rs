//! Arm PrimeCell UART PL011 (DDI 0183; in RP2040, datasheet 4.2).

use crate::devices::receiver::Receiver;
use crate::devices::transmitter::{SendFault, Transmitter};
use crate::devices::{ClockRatio, DeviceModel, Env, ReceivesBytes};

const LINE_PARITY: u32 = 1 << 1;
const LINE_TWO_STOP_BITS: u32 = 1 << 3;
const LINE_FIFO: u32 = 1 << 4;
const FLAG_BUSY: u32 = 1 << 3;
const FLAG_RX_EMPTY: u32 = 1 << 4;
const FLAG_TX_FULL: u32 = 1 << 5;
const FLAG_TX_EMPTY: u32 = 1 << 7;
const INTERRUPT_RX: u32 = 1 << 4;
const INTERRUPT_TX: u32 = 1 << 5;
const INTERRUPT_RX_TIMEOUT: u32 = 1 << 6;
const CONTROL_ENABLE: u32 = 1;
const CONTROL_IRDA: u32 = 1 << 1;
const CONTROL_LOOPBACK: u32 = 1 << 7;
const CONTROL_TX: u32 = 1 << 8;
const CONTROL_RX: u32 = 1 << 9;
/// A byte that stays in the receive FIFO below its trigger level is reported when nothing has followed for
/// this many bits (DDI 0183, 2.8.1).
const TIMEOUT_BITS: u64 = 32;
/// UARTPeriphID and UARTPCellID (DDI 0183, 3.3.15 and 3.3.16), revision r1p5.
const IDENTITY: [u32; 8] = [0x11, 0x10, 0x34, 0, 0x0D, 0xF0, 0x05, 0xB1];

#[derive(Clone, Debug)]
pub struct Pl011 {
    fifo: u64,
    transmitter: Transmitter,
    receiver: Receiver,
    integer_divisor: u32,
    fractional_divisor: u32,
    line_control: u32,
    control: u32,
    fifo_levels: u32,
    mask: u32,
    raw: u32,
    dma: u32,
    low_power: u32,
    /// The cycle in which the transmit FIFO will have drained to its trigger level.
    sinks_at: Option<u64>,
    /// The cycle of the receive timeout for the byte in the receive FIFO.
    times_out_at: Option<u64>,
}

impl Pl011 {
    /// Creates a UART with a FIFO of this many bytes.
    pub fn new(fifo: u8) -> Self {
        Self {
            fifo: fifo.max(1).into(),
            transmitter: Transmitter::default(),
            receiver: Receiver::default(),
            integer_divisor: 0,
            fractional_divisor: 0,
            line_control: 0,
            control: 0x300,
            fifo_levels: 0x12,
            mask: 0,
            raw: 0,
            dma: 0,
            low_power: 0,
            sinks_at: None,
            times_out_at: None,
        }
    }

    const fn has_fifo(&self) -> bool {
        self.line_control & LINE_FIFO != 0
    }

    /// Returns how many bytes can wait while another one is sent.
    const fn room(&self) -> u64 {
        if self.has_fifo() { self.fifo } else { 1 }
    }

    /// Returns the number of waiting bytes at which the transmit interrupt rises (UARTIFLS.TXIFLSEL).
    const fn trigger(&self) -> u64 {
        match self.fifo_levels & 7 {
            _ if !self.has_fifo() => 0,
            0 => self.fifo / 8,
            1 => self.fifo / 4,
            2 => self.fifo / 2,
            3 => self.fifo * 3 / 4,
            _ => self.fifo * 7 / 8,
        }
    }

    /// Returns the cycles that a byte takes.
    const fn frame(&self, ratio: ClockRatio) -> u64 {
        let data = 5 + (self.line_control >> 5 & 3);
        let parity = (self.line_control & LINE_PARITY != 0) as u32;
        let stop = 1 + (self.line_control & LINE_TWO_STOP_BITS != 0) as u32;
        self.bits(ratio, (1 + data + parity + stop) as u64)
    }

    /// Returns the cycles that this many bits take; each takes sixteen cycles of the divided clock.
    const fn bits(&self, ratio: ClockRatio, bits: u64) -> u64 {
        let sixty_fourths = (self.integer_divisor * 64 + self.fractional_divisor) as u64;
        bits * sixty_fourths / 4 * ratio.divisor
    }

    /// Turns the receiver on or off as the program has set it.
    fn enable_receiver(&mut self, env: &Env<'_>) {
        if self.control & CONTROL_ENABLE != 0 && self.control & CONTROL_RX != 0 {
            self.receiver.enable(env.now, self.frame(env.ratio));
        } else {
            self.receiver.disable();
        }
    }

    fn receive(&mut self, env: &Env<'_>) -> u32 {
        let frame = self.frame(env.ratio);
        self.times_out_at = None;
        self.raw &= !(INTERRUPT_RX | INTERRUPT_RX_TIMEOUT);
        self.receiver.take(env.now, frame).into()
    }

    fn flags(&self, now: u64) -> u32 {
        let held = self.transmitter.held(now);
        let mut flags = if self.receiver.is_full() { 0 } else { FLAG_RX_EMPTY };
        if !self.transmitter.is_idle(now) {
            flags |= FLAG_BUSY;
        }
        if held <= 1 {
            flags |= FLAG_TX_EMPTY;
        }
        if held > self.room() {
            flags |= FLAG_TX_FULL;
        }
        flags
    }
}

impl DeviceModel for Pl011 {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x000 => self.receive(env),
            0x004 => 0,
            0x018 => self.flags(env.now),
            0x020 => self.low_power,
            0x024 => self.integer_divisor,
            0x028 => self.fractional_divisor,
            0x02C => self.line_control,
            0x030 => self.control,
            0x034 => self.fifo_levels,
            0x038 => self.mask,
            0x03C => self.raw,
            0x040 => self.raw & self.mask,
            0x048 => self.dma,
            0xFE0..=0xFFC => IDENTITY[((offset - 0xFE0) / 4) as usize],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x000 => {
                if self.control & (CONTROL_ENABLE | CONTROL_TX) != CONTROL_ENABLE | CONTROL_TX {
                    env.effects.send_fault = Some(SendFault::Off);
                    return Some(());
                }
                env.console.push(value as u8);
                let (frame, room) = (self.frame(env.ratio), self.room());
                env.effects.send_fault = self.transmitter.accept(env.now, frame, room);
                self.raw &= !INTERRUPT_TX;
                let sinks_at = self.transmitter.drains_to(self.trigger() + 1);
                self.sinks_at = Some(sinks_at.max(env.now + 1));
            }
            0x004 => {}
            0x020 => self.low_power = value & 0xFF,
            0x024 => self.integer_divisor = value & 0xFFFF,
            0x028 => self.fractional_divisor = value & 0x3F,
            0x02C => self.line_control = value & 0xFF,
            0x030 => {
                self.control = value & 0xFF87;
                env.effects.without_model |= value & (CONTROL_IRDA | CONTROL_LOOPBACK) != 0;
                self.enable_receiver(env);
            }
            0x034 => self.fifo_levels = value & 0x3F,
            0x038 => self.mask = value & 0x7FF,
            0x044 => self.raw &= !value,
            0x048 => self.dma = value & 7,
            _ => return None,
        }
        Some(())
    }

    /// UARTECR and UARTICR.
    fn clears_by_ones(&self, offset: u32) -> bool {
        matches!(offset, 0x004 | 0x044)
    }

    fn outputs(&self, _: u64) -> u32 {
        u32::from(self.raw & self.mask != 0)
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        if self.sinks_at.is_some_and(|at| at <= now) {
            self.sinks_at = None;
            self.raw |= INTERRUPT_TX;
        }
        let arrives_at = self.receiver.due();
        if self.receiver.settle(now) {
            // One byte is below every trigger level of the FIFO.
            if self.has_fifo() {
                self.times_out_at = arrives_at.map(|at| at + self.bits(ratio, TIMEOUT_BITS));
            } else {
                self.raw |= INTERRUPT_RX;
            }
        }
        if self.times_out_at.is_some_and(|at| at <= now) {
            self.times_out_at = None;
            self.raw |= INTERRUPT_RX_TIMEOUT;
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let sinks = self.sinks_at.filter(|_| self.mask & INTERRUPT_TX != 0);
        let receives = self.mask & (INTERRUPT_RX | INTERRUPT_RX_TIMEOUT) != 0;
        let arrives = self.receiver.due().filter(|_| receives);
        let times_out = self.times_out_at.filter(|_| receives);
        [sinks, arrives, times_out].into_iter().flatten().min()
    }
}

impl ReceivesBytes for Pl011 {
    fn sides(&mut self) -> (&mut Receiver, &Transmitter) {
        (&mut self.receiver, &self.transmitter)
    }
}
