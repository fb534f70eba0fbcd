//! UARTE and UART of nRF51 and nRF52, which share an address (nRF52840 PS, 6.33
//! and 6.34). UARTE fetches what it sends from RAM by itself.

use crate::devices::receiver::Receiver;
use crate::devices::transmitter::Transmitter;
use crate::devices::{ClockRatio, Env, Receives, Registered};

/// Events by their number: register 0x100 + 4 n, bit n of INTEN.
const RX_READY: u32 = 2;
const RX_DONE: u32 = 4;
const TX_DATA_READY: u32 = 7;
const TX_DONE: u32 = 8;
const RX_TIMEOUT: u32 = 17;
const RX_STARTED: u32 = 19;
const TX_STARTED: u32 = 20;
const TX_STOPPED: u32 = 22;
/// ENABLE of UART and of UARTE.
const ENABLE: u32 = 4;
const ENABLE_DMA: u32 = 8;
/// BAUDRATE is this part of 16 MHz.
const BAUD_UNIT: u64 = 16_000_000;
/// 250 000 baud.
const BAUD_AT_RESET: u32 = 0x0400_0000;
/// CONFIG.PARITY.
const PARITY: u32 = 0xE;

#[derive(Clone, Debug)]
pub struct NrfUarte {
    events: u32,
    interrupts: u32,
    shorts: u32,
    enable: u32,
    pins: [u32; 4],
    baud: u32,
    /// PTR, MAXCNT, AMOUNT of RXD and of TXD.
    buffers: [[u32; 3]; 2],
    configuration: u32,
    receives: bool,
    transmitter: Transmitter,
    receiver: Receiver,
    /// When what is being sent will have left.
    sent_at: Option<u64>,
}

impl Default for NrfUarte {
    fn default() -> Self {
        Self {
            events: 0,
            interrupts: 0,
            shorts: 0,
            enable: 0,
            pins: [u32::MAX; 4],
            baud: BAUD_AT_RESET,
            buffers: [[0; 3]; 2],
            configuration: 0,
            receives: false,
            transmitter: Transmitter::default(),
            receiver: Receiver::default(),
            sent_at: None,
        }
    }
}

impl NrfUarte {
    fn frame(&self, ratio: ClockRatio) -> u64 {
        let bits = 10 + u64::from(self.configuration & PARITY != 0);
        let rate = (u64::from(self.baud) * BAUD_UNIT) >> 32;
        bits * u64::from(ratio.core.0) / rate.max(1)
    }

    fn send(&mut self, byte: u8, env: &mut Env<'_>) {
        env.console.push(byte);
        self.transmitter.send(env.now, self.frame(env.ratio));
        self.sent_at = Some(self.transmitter.down_to(0).max(env.now + 1));
    }

    fn start_sending(&mut self, env: &mut Env<'_>) {
        // What is being sent goes first, as on the chip.
        if self.enable != ENABLE_DMA || self.sent_at.is_some() {
            return;
        }
        let [from, length, _] = self.buffers[1];
        let mut bytes = vec![0; length as usize];
        let there = env.bus.peek(from, &mut bytes);
        for byte in &bytes[..there] {
            self.send(*byte, env);
        }
        self.sent_at.get_or_insert(env.now + 1);
        self.buffers[1][2] = length;
        self.raise(TX_STARTED);
    }

    const fn raise(&mut self, event: u32) {
        self.events |= 1 << event;
    }

    fn task(&mut self, offset: u32, env: &mut Env<'_>) {
        match offset {
            0x000 => {
                self.receives = true;
                self.raise(RX_STARTED);
                if self.enable == ENABLE {
                    self.receiver.listen(env.now, self.frame(env.ratio));
                }
            }
            0x004 if self.receives => {
                self.receives = false;
                self.receiver.ignore();
                self.buffers[0][2] = 0;
                self.raise(RX_DONE);
                self.raise(RX_TIMEOUT);
            }
            0x008 => self.start_sending(env),
            0x00C => self.raise(TX_STOPPED),
            // FLUSHRX: there is nothing to flush.
            0x02C => self.raise(RX_DONE),
            _ => {}
        }
    }
}

impl Registered for NrfUarte {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x000..=0x02C => 0,
            0x100..=0x158 => self.events >> ((offset - 0x100) / 4) & 1,
            0x200 => self.shorts,
            0x300 | 0x304 | 0x308 => self.interrupts,
            // No errors.
            0x480 => 0,
            0x518 => {
                let frame = self.frame(env.ratio);
                self.receiver.take(env.now, frame).into()
            }
            0x500 => self.enable,
            0x508..=0x514 => self.pins[((offset - 0x508) / 4) as usize],
            0x524 => self.baud,
            0x534..=0x53C => self.buffers[0][((offset - 0x534) / 4) as usize],
            0x544..=0x54C => self.buffers[1][((offset - 0x544) / 4) as usize],
            0x56C => self.configuration,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x000..=0x02C => {
                if value & 1 == 1 {
                    self.task(offset, env);
                }
            }
            0x100..=0x158 => {
                let event = (offset - 0x100) / 4;
                self.events = self.events & !(1 << event) | (value & 1) << event;
            }
            0x200 => self.shorts = value,
            0x300 => self.interrupts = value,
            0x304 => self.interrupts |= value,
            0x308 => self.interrupts &= !value,
            0x480 => {}
            0x500 => self.enable = value & 15,
            0x508..=0x514 => self.pins[((offset - 0x508) / 4) as usize] = value,
            0x51C if self.enable != ENABLE_DMA => self.send(value as u8, env),
            0x524 => self.baud = value,
            0x534 => self.buffers[0][0] = value,
            0x538 => self.buffers[0][1] = value & 0xFFFF,
            0x544 => self.buffers[1][0] = value,
            0x548 => self.buffers[1][1] = value & 0xFFFF,
            0x56C => self.configuration = value,
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        u32::from(self.events & self.interrupts != 0)
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        if self.receiver.settle(now) {
            self.raise(RX_READY);
        }
        if self.sent_at.is_some_and(|at| at <= now) {
            self.sent_at = None;
            self.raise(TX_DATA_READY);
            if self.enable == ENABLE_DMA {
                self.raise(TX_DONE);
            }
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let interesting = 1 << TX_DATA_READY | 1 << TX_DONE;
        let sent = self.sent_at.filter(|_| self.interrupts & interesting != 0);
        let arrives = self.receiver.due().filter(|_| self.interrupts & 1 << RX_READY != 0);
        [sent, arrives].into_iter().flatten().min()
    }
}

impl Receives for NrfUarte {
    fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
}
