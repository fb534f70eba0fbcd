//! LPUART of i.MX RT (IMXRT1060RM, chapter "Low Power Universal Asynchronous Receiver/Transmitter").

use super::send_clock::SendClock;
use crate::devices::receiver::Receiver;
use crate::devices::supplies::OwnSupply;
use crate::devices::transmitter::{SendFault, Transmitter};
use crate::devices::{ClockRatio, DeviceModel, Env, ReceivesBytes};

/// VERID and PARAM: version 4.1 with modem support; FIFOs of 2² words each.
const IDENTITY: [u32; 2] = [0x0401_0003, 0x0202];
/// FIFO: the depths, 2² words each.
const FIFO_SIZES: u32 = 0x11;
const FIFO_WORDS: usize = 4;
const GLOBAL_RESET: u32 = 1 << 1;
/// BAUD.
const BAUD_AFTER_RESET: u32 = 0x0F00_0004;
const TWO_STOP_BITS: u32 = 1 << 13;
const TEN_BITS: u32 = 1 << 29;
/// BAUD, without a model: address marks, requests to the DMA controller, edges of the line, breaks.
const BAUD_WITHOUT_MODEL: u32 = 0xC0B0_C000;
/// CTRL.
const NINE_BITS: u32 = 1 << 4;
const SEVEN_BITS: u32 = 1 << 11;
const RX_ENABLE: u32 = 1 << 18;
const TX_ENABLE: u32 = 1 << 19;
/// CTRL, without a model: loopback, breaks, standby.
const CONTROL_WITHOUT_MODEL: u32 = 1 << 7 | 0b11 << 16;
/// STAT, and in CTRL the enables of these flags' interrupts.
const IDLE: u32 = 1 << 20;
const RX_FULL: u32 = 1 << 21;
const TX_COMPLETE: u32 = 1 << 22;
const TX_EMPTY: u32 = 1 << 23;
/// DATA: nothing has been received.
const NOTHING_RECEIVED: u32 = 1 << 12;
/// MODIR, without a model: infrared.
const INFRARED: u32 = 1 << 18;
/// FIFO.
const RX_FIFO: u32 = 1 << 3;
const TX_FIFO: u32 = 1 << 7;
const FIFO_ENABLES: u32 = 0x1F88;
const RX_FLUSH: u32 = 1 << 14;
const TX_FLUSH: u32 = 1 << 15;
const RX_FIFO_EMPTY: u32 = 1 << 22;
const TX_FIFO_EMPTY: u32 = 1 << 23;

#[derive(Clone, Debug)]
pub struct NxpLpuart {
    /// PINCFG, MATCH and MODIR.
    kept: [u32; 3],
    baud: u32,
    control: u32,
    fifo: u32,
    watermarks: u32,
    in_reset: bool,
    /// IDLE may be set: it has not been since a byte arrived.
    may_idle: bool,
    /// IDLE and RDRF.
    flags: u32,
    clock: SendClock,
    transmitter: Transmitter,
    receiver: Receiver,
}

impl Default for NxpLpuart {
    fn default() -> Self {
        Self {
            kept: [0; 3],
            baud: BAUD_AFTER_RESET,
            control: 0,
            fifo: 0,
            watermarks: 0,
            in_reset: false,
            may_idle: false,
            flags: 0,
            clock: SendClock::default(),
            transmitter: Transmitter::default(),
            receiver: Receiver::default(),
        }
    }
}

impl NxpLpuart {
    /// Returns the cycles that a byte takes.
    fn frame(&self, ratio: ClockRatio) -> u64 {
        let data = match self.control {
            control if control & SEVEN_BITS != 0 => 7,
            _ if self.baud & TEN_BITS != 0 => 10,
            control if control & NINE_BITS != 0 => 9,
            _ => 8,
        };
        let stop = 1 + u32::from(self.baud & TWO_STOP_BITS != 0);
        // OSR = 0 stands for 16 samples.
        let samples = match self.baud >> 24 & 0x1F {
            0 => 16,
            ratio => ratio + 1,
        };
        let periods = (1 + data + stop) * samples * (self.baud & 0x1FFF);
        self.clock.cycles(periods.into(), ratio.core)
    }

    /// Returns how many bytes can wait while another one is sent, and with how many waiting TDRE is set.
    fn room(&self) -> (u64, u64) {
        if self.fifo & TX_FIFO == 0 {
            (1, 0)
        } else {
            (FIFO_WORDS as u64, u64::from(self.watermarks & 3))
        }
    }

    /// Returns how many bytes wait while another one is sent.
    fn waiting(&self, now: u64) -> u64 {
        self.transmitter.held(now).saturating_sub(1)
    }

    /// Returns the cycle in which the line has been silent for this many bytes.
    fn silent_at(&self, bytes: u64, ratio: ClockRatio) -> Option<u64> {
        self.receiver.silent_since().map(|since| since.saturating_add(bytes * self.frame(ratio)))
    }

    /// Returns the cycle in which IDLE is set.
    fn idle_at(&self, ratio: ClockRatio) -> Option<u64> {
        self.silent_at(1 << (self.control >> 8 & 7), ratio).filter(|_| self.may_idle)
    }

    /// Returns the cycle in which RDRF is set for fewer bytes than the watermark asks for (RXIDEN).
    fn full_at(&self, ratio: ClockRatio) -> Option<u64> {
        let step = (self.fifo >> 10 & 7).checked_sub(1).filter(|_| self.receiver.is_full())?;
        self.silent_at(1 << step, ratio)
    }

    fn note_idle(&mut self, now: u64, ratio: ClockRatio) {
        if self.idle_at(ratio).is_some_and(|at| at <= now) {
            self.may_idle = false;
            self.flags |= IDLE;
        }
    }

    fn status(&self, now: u64) -> u32 {
        let complete = if self.transmitter.is_idle(now) { TX_COMPLETE } else { 0 };
        let empty = if self.waiting(now) <= self.room().1 { TX_EMPTY } else { 0 };
        self.flags | complete | empty
    }

    fn receive(&mut self, env: &Env<'_>) -> u32 {
        self.receiver.take(env.now, self.frame(env.ratio)).into()
    }

    fn enable_receiver(&mut self, env: &Env<'_>) {
        if self.control & RX_ENABLE != 0 {
            self.receiver.enable(env.now, self.frame(env.ratio));
        } else {
            self.receiver.disable();
        }
    }

    /// Drops what has been received.
    fn flush(&mut self, env: &Env<'_>) {
        while self.receiver.is_full() {
            self.receive(env);
        }
    }

    fn reset(&mut self, env: &Env<'_>) {
        self.receiver.disable();
        self.flush(env);
        self.receiver.set_room(1, env.now);
        let receiver = std::mem::take(&mut self.receiver);
        *self = Self { clock: self.clock, receiver, ..Self::default() };
    }

    fn send(&mut self, value: u32, env: &mut Env<'_>) {
        if self.control & TX_ENABLE == 0 {
            env.effects.send_fault = Some(SendFault::Off);
            return;
        }
        env.console.push(value as u8);
        let frame = self.frame(env.ratio);
        env.effects.send_fault = self.transmitter.accept(env.now, frame, self.room().0);
    }
}

impl DeviceModel for NxpLpuart {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x00 | 0x04 => IDENTITY[(offset / 4) as usize],
            0x08 => {
                if self.in_reset {
                    GLOBAL_RESET
                } else {
                    0
                }
            }
            0x0C => self.kept[0],
            0x10 => self.baud,
            0x14 => self.status(env.now),
            0x18 => self.control,
            0x1C => {
                let nothing = if self.receiver.is_full() { 0 } else { NOTHING_RECEIVED };
                nothing | self.receive(env)
            }
            0x20 => self.kept[1],
            0x24 => self.kept[2],
            0x28 => {
                let received = if self.receiver.is_full() { 0 } else { RX_FIFO_EMPTY };
                let waiting = if self.waiting(env.now) > 0 { 0 } else { TX_FIFO_EMPTY };
                self.fifo | FIFO_SIZES | received | waiting
            }
            0x2C => {
                let waiting = self.waiting(env.now).min(FIFO_WORDS as u64) as u32;
                self.watermarks | waiting << 8 | (self.receiver.held() as u32) << 24
            }
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        if self.in_reset && offset != 0x08 {
            return Some(());
        }
        let without_model = match offset {
            0x08 => {
                self.reset(env);
                self.in_reset = value & GLOBAL_RESET != 0;
                false
            }
            0x0C => {
                self.kept[0] = value & 3;
                value & 3 != 0
            }
            0x10 => {
                self.baud = self.baud & !mask | value;
                value & BAUD_WITHOUT_MODEL != 0
            }
            0x14 => {
                self.flags &= !(value & IDLE);
                false
            }
            0x18 => {
                self.control = self.control & !mask | value;
                self.enable_receiver(env);
                value & CONTROL_WITHOUT_MODEL != 0
            }
            0x1C => {
                self.send(value, env);
                false
            }
            0x20 => {
                self.kept[1] = value;
                false
            }
            0x24 => {
                self.kept[2] = value;
                value & INFRARED != 0
            }
            0x28 => {
                if value & RX_FLUSH != 0 {
                    self.flush(env);
                }
                self.fifo = value & FIFO_ENABLES;
                let room = if self.fifo & RX_FIFO == 0 { 1 } else { FIFO_WORDS };
                self.receiver.set_room(room, env.now);
                value & TX_FLUSH != 0 && self.waiting(env.now) > 0
            }
            0x2C => {
                self.watermarks = value & 0x0003_0003;
                false
            }
            // These are read-only.
            0x00 | 0x04 => false,
            _ => return None,
        };
        env.effects.without_model |= without_model;
        Some(())
    }

    fn outputs(&self, now: u64) -> u32 {
        let interrupts = IDLE | RX_FULL | TX_COMPLETE | TX_EMPTY;
        u32::from(self.status(now) & self.control & interrupts != 0)
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        self.note_idle(now, ratio);
        self.may_idle |= self.receiver.settle(now);
        self.note_idle(now, ratio);
        let watermark = if self.fifo & RX_FIFO == 0 { 0 } else { self.watermarks >> 16 & 3 };
        let is_full = self.receiver.held() > watermark as usize
            || self.full_at(ratio).is_some_and(|at| at <= now);
        self.flags = self.flags & !RX_FULL | if is_full { RX_FULL } else { 0 };
    }

    fn due(&self, ratio: ClockRatio) -> Option<u64> {
        let enabled = |flag| self.control & flag != 0;
        let empty = enabled(TX_EMPTY).then(|| self.transmitter.drains_to(1 + self.room().1));
        let complete = enabled(TX_COMPLETE).then(|| self.transmitter.drains_to(0));
        let arrives = self.receiver.due().filter(|_| enabled(RX_FULL | IDLE));
        let is_waited_for = enabled(RX_FULL) && self.flags & RX_FULL == 0;
        let full = self.full_at(ratio).filter(|_| is_waited_for);
        let idle = self.idle_at(ratio).filter(|_| enabled(IDLE));
        [empty, complete, arrives, full, idle].into_iter().flatten().min()
    }

    fn supply(&mut self, _: u64, supply: OwnSupply) {
        self.clock = SendClock(supply.clock);
    }
}

impl ReceivesBytes for NxpLpuart {
    fn sides(&mut self) -> (&mut Receiver, &Transmitter) {
        (&mut self.receiver, &self.transmitter)
    }
}
