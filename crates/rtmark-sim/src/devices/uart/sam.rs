//! UART and USART of SAM E70, S70 and V70, the latter as a UART (DS60001527, chapters "Universal Asynchronous Receiver
//! Transmitter (UART)" and "Universal Synchronous Asynchronous Receiver Transceiver (USART)").

use super::send_clock::SendClock;
use crate::devices::receiver::Receiver;
use crate::devices::supplies::OwnSupply;
use crate::devices::transmitter::{SendFault, Transmitter};
use crate::devices::{ClockRatio, DeviceModel, Env, ReceivesBytes};

/// Control.
const RESET_RX: u32 = 1 << 2;
const RESET_TX: u32 = 1 << 3;
const RX_ENABLE: u32 = 1 << 4;
const RX_DISABLE: u32 = 1 << 5;
const TX_ENABLE: u32 = 1 << 6;
const TX_DISABLE: u32 = 1 << 7;
/// What a USART's control register does beside these and clearing errors, without a model: breaks, time-outs, LIN.
const USART_WITHOUT_MODEL: u32 = 0x0030_1A00;
/// Status and interrupts; there are never errors.
const RX_READY: u32 = 1;
const TX_READY: u32 = 1 << 1;
const ERRORS: u32 = 0b111 << 5;
const TX_EMPTY: u32 = 1 << 9;
/// Mode, without a model: loopback and echo; of a UART, a clock of PMC's programmable ones; of a USART, other modes
/// than a plain one and one with a driver's enable or handshakes, synchronous, and clocks from elsewhere.
const CHANNEL_MODE: u32 = 0b11 << 14;
const PROGRAMMABLE_CLOCK: u32 = 1 << 12;
const USART_MODE: u32 = 0xF;
const USART_PLAIN_MODES: [u32; 3] = [0, 1, 2];
const SYNCHRONOUS: u32 = 1 << 8;
const ANOTHER_CLOCK: u32 = 1 << 5;
/// A USART's mode.
const CLOCK_BY_8: u32 = 1 << 4;
const NINE_BITS: u32 = 1 << 17;
const OVERSAMPLING_8: u32 = 1 << 19;

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamKind {
    Uart,
    Usart,
}

/// A UART or USART with a holding register besides the byte that is being sent.
#[derive(Clone, Debug)]
pub struct Sam {
    kind: SamKind,
    mode: u32,
    baud: u32,
    mask: u32,
    sends: bool,
    receives: bool,
    clock: SendClock,
    transmitter: Transmitter,
    receiver: Receiver,
}

impl Sam {
    /// Creates one that is off.
    pub fn new(kind: SamKind) -> Self {
        Self {
            kind,
            mode: 0,
            baud: 0,
            mask: 0,
            sends: false,
            receives: false,
            clock: SendClock::default(),
            transmitter: Transmitter::default(),
            receiver: Receiver::default(),
        }
    }

    /// Returns the cycles that a byte takes.
    fn frame(&self, ratio: ClockRatio) -> u64 {
        let (parity, divisor, fraction) =
            (self.mode >> 9 & 7 != 4, self.baud & 0xFFFF, self.baud >> 16);
        let (data, stop_halves, oversampling, by) = match self.kind {
            SamKind::Uart => (8, 2, 2, 1),
            SamKind::Usart => (
                if self.mode & NINE_BITS != 0 { 9 } else { 5 + (self.mode >> 6 & 3) },
                2 + (self.mode >> 12 & 3),
                if self.mode & OVERSAMPLING_8 != 0 { 1 } else { 2 },
                if self.mode & CLOCK_BY_8 != 0 { 8 } else { 1 },
            ),
        };
        let halves = 2 * (1 + data + u32::from(parity)) + stop_halves;
        // CD = 0: no clock. FP is in eighths.
        let bit = if divisor == 0 { 0 } else { oversampling * (8 * divisor + fraction) };
        self.clock.cycles(u64::from(halves) * u64::from(bit) * by / 2, ratio.core)
    }

    fn control(&mut self, value: u32, env: &mut Env<'_>) {
        let off = |reset, disable| value & (reset | disable) != 0;
        self.sends = !off(RESET_TX, TX_DISABLE) && (self.sends || value & TX_ENABLE != 0);
        self.receives = !off(RESET_RX, RX_DISABLE) && (self.receives || value & RX_ENABLE != 0);
        let frame = self.frame(env.ratio);
        if value & RESET_RX != 0 {
            self.receiver.disable();
            self.receiver.take(env.now, frame);
        }
        if self.receives {
            self.receiver.enable(env.now, frame);
        } else {
            self.receiver.disable();
        }
        env.effects.without_model |=
            self.kind == SamKind::Usart && value & USART_WITHOUT_MODEL != 0;
    }

    /// Returns whether a value of the mode register selects something without a model.
    fn is_without_model(&self, mode: u32) -> bool {
        mode & CHANNEL_MODE != 0
            || match self.kind {
                SamKind::Uart => mode & PROGRAMMABLE_CLOCK != 0,
                SamKind::Usart => {
                    mode & (SYNCHRONOUS | ANOTHER_CLOCK) != 0
                        || !USART_PLAIN_MODES.contains(&(mode & USART_MODE))
                }
            }
    }

    fn status(&self, now: u64) -> u32 {
        let mut status = if self.receiver.is_full() { RX_READY } else { 0 };
        if self.sends && self.transmitter.held(now) <= 1 {
            status |= TX_READY;
        }
        if self.sends && self.transmitter.is_idle(now) {
            status |= TX_EMPTY;
        }
        status
    }
}

impl DeviceModel for Sam {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x00 | 0x08 | 0x0C | 0x1C => 0,
            0x04 => self.mode,
            0x10 => self.mask,
            0x14 => self.status(env.now),
            0x18 => {
                let frame = self.frame(env.ratio);
                self.receiver.take(env.now, frame).into()
            }
            0x20 => self.baud,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x00 => self.control(value, env),
            0x04 => {
                self.mode = value;
                env.effects.without_model |= self.is_without_model(value);
            }
            0x08 => {
                self.mask |= value;
                let modelled = RX_READY | TX_READY | ERRORS | TX_EMPTY;
                env.effects.without_model |= value & !modelled != 0;
            }
            0x0C => self.mask &= !value,
            0x1C if self.sends => {
                env.console.push(value as u8);
                let frame = self.frame(env.ratio);
                env.effects.send_fault = self.transmitter.accept(env.now, frame, 1);
            }
            0x1C => env.effects.send_fault = Some(SendFault::Off),
            0x20 => {
                let bits = if self.kind == SamKind::Uart { 0xFFFF } else { 0x7_FFFF };
                self.baud = value & bits;
            }
            // These are read-only.
            0x10 | 0x14 | 0x18 => {}
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, now: u64) -> u32 {
        u32::from(self.status(now) & self.mask != 0)
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.receiver.settle(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let sends = |flag, held| {
            (self.sends && self.mask & flag != 0).then(|| self.transmitter.drains_to(held))
        };
        let arrives = self.receiver.due().filter(|_| self.mask & RX_READY != 0);
        [sends(TX_READY, 1), sends(TX_EMPTY, 0), arrives].into_iter().flatten().min()
    }

    fn supply(&mut self, _: u64, supply: OwnSupply) {
        self.clock = SendClock(supply.clock);
    }
}

impl ReceivesBytes for Sam {
    fn sides(&mut self) -> (&mut Receiver, &Transmitter) {
        (&mut self.receiver, &self.transmitter)
    }
}
