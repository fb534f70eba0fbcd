//! The USART of STM32, in its two register layouts: that of F1, F2, F4 and L1 (RM0090, 30.6), and that of
//! the later families (RM0394, 38.8), which LPUART has as well, with a finer baud rate (RM0394, 39.4.4).

use crate::devices::receiver::Receiver;
use crate::devices::transmitter::{SendFault, Transmitter};
use crate::devices::{ClockRatio, DeviceModel, Env, ReceivesBytes};

/// The register layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    V1,
    V2,
}

/// CR1: the same bits in both layouts.
const RX_FILLED_INTERRUPT: u32 = 1 << 5;
const TX_COMPLETE_INTERRUPT: u32 = 1 << 6;
const TX_EMPTY_INTERRUPT: u32 = 1 << 7;
const TX_ENABLE: u32 = 1 << 3;
const RX_ENABLE: u32 = 1 << 2;
const NINE_BITS: u32 = 1 << 12;
const OVERSAMPLING_8: u32 = 1 << 15;
const IDLE_INTERRUPT: u32 = 1 << 4;
/// CR1 of the second layout, without a model: an interrupt after a time without bytes.
const TIMEOUT_INTERRUPT: u32 = 1 << 26;
/// CR3: requests to the DMA controller, for bytes that have arrived and for bytes to send.
const DMA_RECEIVES: u32 = 1 << 6;
const DMA_SENDS: u32 = 1 << 7;
/// CR3, without a model: half-duplex, in which a USART hears what it sends (RM0090 and RM0394, "Single-wire half-duplex
/// communication").
const HALF_DUPLEX: u32 = 1 << 3;
/// CR1 of the second layout only.
const SEVEN_BITS: u32 = 1 << 28;
const FIFO_ENABLE: u32 = 1 << 29;
/// CR1 and CR3 of the second layout, without a model: interrupts by how full the FIFOs are (TXFEIE, RXFFIE; TXFTIE,
/// RXFTIE).
const FIFO_INTERRUPTS: u32 = 0b11 << 30;
const FIFO_THRESHOLD_INTERRUPTS: u32 = 1 << 23 | 1 << 28;
/// SR and ISR: the same bits in both layouts.
const IDLE: u32 = 1 << 4;
const RX_FILLED: u32 = 1 << 5;
const TX_COMPLETE: u32 = 1 << 6;
const TX_EMPTY: u32 = 1 << 7;
/// ISR of the second layout only.
const TX_ACKNOWLEDGED: u32 = 1 << 21;
const RX_ACKNOWLEDGED: u32 = 1 << 22;
const TX_FIFO_EMPTY: u32 = 1 << 23;
/// RQR of the second layout: drops what has been received.
const FLUSH_RECEIVED: u32 = 1 << 3;
/// The fractions of a clock period in which LPUART's BRR counts a bit.
const LOW_POWER_FRACTION: u32 = 256;

/// The bytes that the FIFO of most STM32's USARTs holds, where there is one (RM0440, 37.4, USART implementation).
const FIFO: u8 = 8;

#[derive(Clone, Debug)]
pub struct Stm32 {
    layout: Layout,
    /// How many bytes the transmitter's FIFO holds; 0 if it has none.
    fifo: u64,
    control: [u32; 3],
    baud: u32,
    /// The fraction of a clock period in which `baud` counts.
    fraction: u32,
    guard_time: u32,
    receiver_timeout: u32,
    prescaler: u32,
    transmitter: Transmitter,
    receiver: Receiver,
    /// Software has cleared TC since the last byte.
    complete_cleared: bool,
    /// The line has been idle for a frame since a byte arrived, and software has not cleared that.
    idle: bool,
    /// That has been noticed since the last byte: IDLE is set once (RM0090, USART_SR).
    idle_noticed: bool,
    /// SR has been read since, so that reading DR clears it.
    idle_read: bool,
    /// A DMA controller serves its requests.
    has_dma: bool,
    /// The cycle up to which its state is known.
    settled: u64,
}

/// The registers that exist in both layouts.
#[derive(Clone, Copy)]
enum Name {
    Status,
    ClearStatus,
    Data,
    SendData,
    Baud,
    Control(usize),
    GuardTime,
    ReceiverTimeout,
    Request,
    Prescaler,
}

const fn name(layout: Layout, offset: u32) -> Option<Name> {
    Some(match (layout, offset) {
        (Layout::V1, 0x00) => Name::Status,
        (Layout::V1, 0x04) => Name::Data,
        (Layout::V1, 0x08) => Name::Baud,
        (Layout::V1, 0x0C) => Name::Control(0),
        (Layout::V1, 0x10) => Name::Control(1),
        (Layout::V1, 0x14) => Name::Control(2),
        (Layout::V1, 0x18) => Name::GuardTime,
        (Layout::V2, 0x00) => Name::Control(0),
        (Layout::V2, 0x04) => Name::Control(1),
        (Layout::V2, 0x08) => Name::Control(2),
        (Layout::V2, 0x0C) => Name::Baud,
        (Layout::V2, 0x10) => Name::GuardTime,
        (Layout::V2, 0x14) => Name::ReceiverTimeout,
        (Layout::V2, 0x18) => Name::Request,
        (Layout::V2, 0x1C) => Name::Status,
        (Layout::V2, 0x20) => Name::ClearStatus,
        (Layout::V2, 0x24) => Name::Data,
        (Layout::V2, 0x28) => Name::SendData,
        (Layout::V2, 0x2C) => Name::Prescaler,
        _ => return None,
    })
}

impl Stm32 {
    /// Creates a USART of the first layout.
    pub fn v1() -> Self {
        Self::new(Layout::V1, 0)
    }

    /// Creates a USART of the second layout, whose transmitter has a FIFO for this many bytes if it is given.
    pub fn v2(fifo: Option<u8>) -> Self {
        Self::new(Layout::V2, fifo.unwrap_or(FIFO))
    }

    fn new(layout: Layout, fifo: u8) -> Self {
        Self {
            layout,
            fifo: fifo.into(),
            control: [0; 3],
            baud: 0,
            fraction: 1,
            guard_time: 0,
            receiver_timeout: 0,
            prescaler: 0,
            transmitter: Transmitter::default(),
            receiver: Receiver::default(),
            complete_cleared: false,
            idle: false,
            idle_noticed: true,
            idle_read: false,
            has_dma: false,
            settled: 0,
        }
    }

    /// Connects it to a DMA controller, or does not.
    pub fn with_dma(self, has_dma: bool) -> Self {
        Self { has_dma, ..self }
    }

    /// Returns its DMA requests: receive and transmit.
    pub fn requests(&self, now: u64) -> u32 {
        let (status, control) = (self.status(now), self.control[2]);
        let receives = control & DMA_RECEIVES != 0 && status & RX_FILLED != 0;
        let sends = control & DMA_SENDS != 0 && status & TX_EMPTY != 0 && self.is_on(TX_ENABLE);
        u32::from(receives) | u32::from(sends) << 1
    }

    /// Creates an LPUART.
    pub fn low_power(fifo: Option<u8>) -> Self {
        Self { fraction: LOW_POWER_FRACTION, ..Self::v2(fifo) }
    }

    /// Returns how many bytes can wait while another one is sent.
    const fn room(&self) -> u64 {
        if self.fifo > 0 && self.control[0] & FIFO_ENABLE != 0 { self.fifo } else { 1 }
    }

    /// Returns whether the USART and its transmitter or receiver are on.
    const fn is_on(&self, half: u32) -> bool {
        let enable = match self.layout {
            Layout::V1 => 1 << 13,
            Layout::V2 => 1,
        };
        self.control[0] & enable != 0 && self.control[0] & half != 0
    }

    /// Turns the receiver on or off as the program has set it.
    fn enable_receiver(&mut self, env: &Env<'_>) {
        if self.is_on(RX_ENABLE) {
            self.receiver.enable(env.now, self.frame(env.ratio));
        } else {
            self.receiver.disable();
        }
    }

    /// Returns the core cycles that a byte takes.
    const fn frame(&self, ratio: ClockRatio) -> u64 {
        let control = self.control[0];
        let data = match self.layout {
            _ if control & NINE_BITS != 0 => 9,
            Layout::V2 if control & SEVEN_BITS != 0 => 7,
            _ => 8,
        };
        let stop = if self.control[1] >> 13 & 1 == 1 { 2 } else { 1 };
        let bit = if control & OVERSAMPLING_8 != 0 {
            (self.baud >> 4) * 8 + (self.baud & 7)
        } else {
            self.baud
        };
        // RM0444, 33.8.14: 1, 2, 4, 6, 8, 10, 12, 16, 32, 64, 128, 256.
        let prescaler = match self.prescaler & 15 {
            0 => 1,
            step @ 1..=6 => step * 2,
            step => 16 << (step - 7),
        };
        (1 + data + stop) * bit as u64 * prescaler as u64 * ratio.divisor / self.fraction as u64
    }

    /// Returns the cycle from which the line counts as idle: a frame after the last byte. A sender that only waits for
    /// the program to read is none that has finished.
    fn idle_at(&self, ratio: ClockRatio) -> Option<u64> {
        let has_finished = self.receiver.held() == self.receiver.remaining().len();
        let since = self.receiver.silent_since();
        let since = since.filter(|_| has_finished && !self.idle_noticed)?;
        Some(since.saturating_add(self.frame(ratio)))
    }

    fn status(&self, now: u64) -> u32 {
        let mut status = if self.receiver.is_full() { RX_FILLED } else { 0 };
        if self.idle {
            status |= IDLE;
        }
        if self.transmitter.held(now) <= self.room() {
            status |= TX_EMPTY;
        }
        if self.transmitter.is_idle(now) && !self.complete_cleared {
            status |= TX_COMPLETE;
        }
        if self.layout == Layout::V2 {
            let enabled = self.control[0] & 1 != 0;
            if enabled && self.control[0] & TX_ENABLE != 0 {
                status |= TX_ACKNOWLEDGED;
            }
            if enabled && self.control[0] & RX_ENABLE != 0 {
                status |= RX_ACKNOWLEDGED;
            }
            if self.room() > 1 && self.transmitter.held(now) <= 1 {
                status |= TX_FIFO_EMPTY;
            }
        }
        status
    }
}

impl DeviceModel for Stm32 {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match name(self.layout, offset)? {
            Name::Status => {
                self.idle_read = self.idle;
                self.status(env.now)
            }
            Name::Data => {
                if std::mem::take(&mut self.idle_read) && self.layout == Layout::V1 {
                    self.idle = false;
                }
                let frame = self.frame(env.ratio);
                self.receiver.take(env.now, frame).into()
            }
            Name::Control(at) => self.control[at],
            Name::Baud => self.baud,
            Name::GuardTime => self.guard_time,
            Name::ReceiverTimeout => self.receiver_timeout,
            Name::Prescaler => self.prescaler,
            Name::SendData | Name::ClearStatus | Name::Request => 0,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match name(self.layout, offset)? {
            Name::Data if self.layout == Layout::V2 => {}
            Name::Data | Name::SendData => {
                if !self.is_on(TX_ENABLE) {
                    env.effects.send_fault = Some(SendFault::Off);
                    return Some(());
                }
                env.console.push(value as u8);
                let (frame, room) = (self.frame(env.ratio), self.room());
                env.effects.send_fault = self.transmitter.accept(env.now, frame, room);
                self.complete_cleared = false;
            }
            // TC is cleared by writing a zero to SR, or a one to ICR.
            Name::Status if self.layout == Layout::V1 => {
                self.complete_cleared |= value & TX_COMPLETE == 0 && mask & TX_COMPLETE != 0;
            }
            Name::ClearStatus => {
                self.complete_cleared |= value & TX_COMPLETE != 0;
                self.idle &= value & IDLE == 0;
            }
            Name::Control(at) => {
                let starts = at == 0 && value & TX_ENABLE & !self.control[0] != 0;
                self.control[at] = self.control[at] & !mask | value;
                let dma = if self.has_dma { 0 } else { DMA_RECEIVES | DMA_SENDS };
                let without_model = match at {
                    0 if self.layout == Layout::V2 => TIMEOUT_INTERRUPT | FIFO_INTERRUPTS,
                    2 if self.layout == Layout::V2 => dma | HALF_DUPLEX | FIFO_THRESHOLD_INTERRUPTS,
                    2 => dma | HALF_DUPLEX,
                    _ => 0,
                };
                env.effects.without_model |= value & without_model != 0;
                // Enabling the transmitter sends an idle frame, after which TC is set.
                self.complete_cleared &= !starts;
                self.enable_receiver(env);
            }
            // 16 bits, or LPUART's 20.
            Name::Baud if self.fraction == 1 => self.baud = value & 0xFFFF,
            Name::Baud => self.baud = value & 0xF_FFFF,
            Name::GuardTime => self.guard_time = value & 0xFFFF,
            Name::ReceiverTimeout => self.receiver_timeout = value,
            Name::Prescaler => self.prescaler = value & 15,
            Name::Request if value & FLUSH_RECEIVED != 0 => {
                let frame = self.frame(env.ratio);
                self.receiver.take(env.now, frame);
            }
            Name::Status | Name::Request => {}
        }
        Some(())
    }

    fn outputs(&self, now: u64) -> u32 {
        let status = self.status(now);
        let interrupts =
            RX_FILLED_INTERRUPT | TX_COMPLETE_INTERRUPT | TX_EMPTY_INTERRUPT | IDLE_INTERRUPT;
        u32::from(status & self.control[0] & interrupts != 0)
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        if self.receiver.settle(now) {
            self.idle_noticed = false;
        }
        if self.idle_at(ratio).is_some_and(|at| at <= now) {
            (self.idle, self.idle_noticed) = (true, true);
        }
        self.settled = now;
    }

    fn due(&self, ratio: ClockRatio) -> Option<u64> {
        let control = self.control[0];
        let (sends, receives) =
            (self.control[2] & DMA_SENDS != 0, self.control[2] & DMA_RECEIVES != 0);
        let empty = (control & TX_EMPTY_INTERRUPT != 0 || sends)
            .then(|| self.transmitter.drains_to(self.room()));
        let complete = (control & TX_COMPLETE_INTERRUPT != 0 && !self.complete_cleared)
            .then(|| self.transmitter.drains_to(0));
        let filled = self.receiver.due().filter(|_| control & RX_FILLED_INTERRUPT != 0 || receives);
        let idle = self.idle_at(ratio).filter(|_| control & IDLE_INTERRUPT != 0);
        let dates = [empty, complete, filled, idle].into_iter().flatten();
        dates.filter(|date| *date > self.settled).min()
    }
}

impl ReceivesBytes for Stm32 {
    fn sides(&mut self) -> (&mut Receiver, &Transmitter) {
        (&mut self.receiver, &self.transmitter)
    }
}
