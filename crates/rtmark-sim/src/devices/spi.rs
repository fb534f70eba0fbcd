//! The SPI of STM32 as a master of whole frames, in two forms: that of F1, F2, F4 and L1 (RM0090, chapter 28), which
//! holds a frame to send and one that has arrived, and that of C0, F0, F3, F7, G0, G4 and L4 (RM0394, "Serial
//! peripheral interface (SPI)"), with two FIFOs of 32 bits. Nothing is connected but, if the soc file says so, its
//! output to its input.
//!
//! A frame leaves in the cycle in which it can, without the few cycles that the clock's synchronisation takes.

use std::collections::VecDeque;

use crate::devices::{ClockRatio, DeviceModel, Env};
use crate::soc::SpiInput;

/// The form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpiForm {
    /// With a buffer for one frame in each direction.
    Buffered,
    /// With a FIFO of four bytes in each direction.
    Fifo,
}

/// CR1.
const MASTER: u32 = 1 << 2;
const ENABLE: u32 = 1 << 6;
const SELECT: u32 = 1 << 8;
const SOFTWARE_SELECT: u32 = 1 << 9;
const RECEIVES_ONLY: u32 = 1 << 10;
const LONG_FRAMES: u32 = 1 << 11;
const CRC_ENABLE: u32 = 1 << 13;
const BOTH_WAYS_SENDS: u32 = 1 << 14;
const BOTH_WAYS: u32 = 1 << 15;
/// CR2.
const DMA_RECEIVES: u32 = 1 << 0;
const DMA_SENDS: u32 = 1 << 1;
const ERROR_INTERRUPT: u32 = 1 << 5;
const FILLED_INTERRUPT: u32 = 1 << 6;
const EMPTY_INTERRUPT: u32 = 1 << 7;
const FILLED_BY_ONE_BYTE: u32 = 1 << 12;
/// SR.
const FILLED: u32 = 1 << 0;
const EMPTY: u32 = 1 << 1;
const MODE_FAULT: u32 = 1 << 5;
const OVERRUN: u32 = 1 << 6;
const BUSY: u32 = 1 << 7;
/// I2SCFGR: I2S rather than SPI.
const I2S: u32 = 1 << 11;
/// The bytes that each of the two FIFOs holds.
const FIFO: usize = 4;

/// A frame that is being shifted.
#[derive(Clone, Copy, Debug)]
struct Frame {
    data: u16,
    ends: u64,
}

/// Takes one byte or two from a FIFO or buffer, the lower one first.
fn take(fifo: &mut VecDeque<u8>, bytes: usize) -> u16 {
    fifo.drain(..bytes).rev().fold(0, |data, byte| data << 8 | u16::from(byte))
}

#[derive(Clone, Debug)]
pub struct Spi {
    form: SpiForm,
    input: SpiInput,
    control: [u32; 2],
    polynomial: u32,
    i2s: [u32; 2],
    /// The bytes to send, and those that have arrived.
    to_send: VecDeque<u8>,
    received: VecDeque<u8>,
    shifting: Option<Frame>,
    /// What the buffer for received data held last.
    last: u32,
    overrun: bool,
    /// DR has been read since, so that reading SR clears it.
    overrun_read: bool,
    mode_fault: bool,
    /// SR has been read since, so that writing CR1 clears it.
    mode_fault_read: bool,
}

impl Spi {
    pub fn new(form: SpiForm, input: Option<SpiInput>) -> Self {
        let reset = match form {
            SpiForm::Buffered => 0,
            // Frames of eight bits.
            SpiForm::Fifo => 0x700,
        };
        Self {
            form,
            input: input.unwrap_or(SpiInput::High),
            control: [0, reset],
            polynomial: 7,
            i2s: [0, 2],
            to_send: VecDeque::new(),
            received: VecDeque::new(),
            shifting: None,
            last: 0,
            overrun: false,
            overrun_read: false,
            mode_fault: false,
            mode_fault_read: false,
        }
    }

    /// Returns the bits of a frame.
    const fn bits(&self) -> u32 {
        match self.form {
            SpiForm::Buffered if self.control[0] & LONG_FRAMES != 0 => 16,
            SpiForm::Buffered => 8,
            // Sizes below four bits do not exist, and stand for eight (SPIx_CR2, DS).
            SpiForm::Fifo if self.control[1] >> 8 & 15 < 3 => 8,
            SpiForm::Fifo => (self.control[1] >> 8 & 15) + 1,
        }
    }

    /// Returns how many bytes of a FIFO or buffer a frame takes.
    const fn frame_bytes(&self) -> usize {
        if self.bits() > 8 { 2 } else { 1 }
    }

    /// Returns how many bytes a FIFO or buffer holds.
    const fn room(&self) -> usize {
        match self.form {
            SpiForm::Buffered => self.frame_bytes(),
            SpiForm::Fifo => FIFO,
        }
    }

    /// Returns the core cycles that a frame takes.
    const fn frame(&self, ratio: ClockRatio) -> u64 {
        ((self.bits() as u64) << ((self.control[0] >> 3 & 7) + 1)) * ratio.divisor
    }

    /// Returns whether it is on, as a master.
    const fn is_on(&self) -> bool {
        self.control[0] & (MASTER | ENABLE) == MASTER | ENABLE
    }

    /// Returns whether it only receives, one frame after another for as long as it is on (RM0090, "Receive-only mode";
    /// "1 clock and 1 bidirectional data wire").
    const fn listens(&self) -> bool {
        match self.control[0] & (BOTH_WAYS | BOTH_WAYS_SENDS | RECEIVES_ONLY) {
            BOTH_WAYS => true,
            mode => mode & (BOTH_WAYS | RECEIVES_ONLY) == RECEIVES_ONLY,
        }
    }

    /// Returns whether nothing is left of the frames that arrive, because the program has not read earlier ones.
    const fn loses_all(&self) -> bool {
        self.listens() && self.overrun
    }

    /// Returns whether it only sends, on the one wire for both ways.
    const fn only_sends(&self) -> bool {
        self.control[0] & BOTH_WAYS != 0 && !self.listens()
    }

    fn is_filled(&self) -> bool {
        let least = match self.form {
            SpiForm::Fifo if self.control[1] & FILLED_BY_ONE_BYTE == 0 => 2,
            _ => 1,
        };
        self.received.len() >= least
    }

    fn is_empty(&self) -> bool {
        match self.form {
            SpiForm::Buffered => self.to_send.is_empty(),
            SpiForm::Fifo => self.to_send.len() <= FIFO / 2,
        }
    }

    fn status(&self) -> u32 {
        let busy = self.shifting.is_some() || self.is_on() && !self.to_send.is_empty();
        let flags = [
            (self.is_filled(), FILLED),
            (self.is_empty(), EMPTY),
            (self.mode_fault, MODE_FAULT),
            (self.overrun, OVERRUN),
            (busy, BUSY),
        ];
        let flags = flags.iter().filter(|(holds, _)| *holds).fold(0, |all, (_, flag)| all | flag);
        match self.form {
            SpiForm::Buffered => flags,
            // FRLVL and FTLVL: empty, a quarter, half, more.
            SpiForm::Fifo => {
                let level = |bytes: &VecDeque<u8>| bytes.len().min(3) as u32;
                flags | level(&self.received) << 9 | level(&self.to_send) << 11
            }
        }
    }

    /// Returns its DMA requests: receive and transmit.
    pub fn requests(&self) -> u32 {
        let receives = self.control[1] & DMA_RECEIVES != 0 && self.is_filled();
        let sends = self.control[1] & DMA_SENDS != 0 && self.is_empty();
        u32::from(receives) | u32::from(sends) << 1
    }

    /// Shifts the next frame that waits from a cycle on.
    fn begin_frame(&mut self, now: u64, ratio: ClockRatio) {
        let bytes = self.frame_bytes();
        if self.shifting.is_some() || !self.is_on() {
            return;
        }
        let data = if self.listens() {
            u16::MAX
        } else if self.to_send.len() >= bytes {
            take(&mut self.to_send, bytes)
        } else {
            return;
        };
        self.shifting = Some(Frame { data, ends: now.saturating_add(self.frame(ratio)) });
    }

    /// Takes the frame that has come back for one that was sent.
    fn receive(&mut self, sent: u16) {
        if self.only_sends() {
            return;
        }
        let data = match self.input {
            SpiInput::High => u16::MAX,
            SpiInput::Low => 0,
            SpiInput::Output => sent,
        };
        let data = data & (0xFFFF >> (16 - self.bits()));
        if self.received.len() + self.frame_bytes() > self.room() {
            (self.overrun, self.overrun_read) = (true, false);
            return;
        }
        self.received.extend(&data.to_le_bytes()[..self.frame_bytes()]);
    }

    fn read_data(&mut self) -> u32 {
        self.overrun_read = self.overrun;
        let bytes = match self.form {
            SpiForm::Buffered => self.frame_bytes(),
            // The threshold is as wide as the accesses (RM0394, "Data packing").
            SpiForm::Fifo if self.control[1] & FILLED_BY_ONE_BYTE == 0 => 2,
            SpiForm::Fifo => self.frame_bytes(),
        };
        let bytes = bytes.min(self.received.len());
        if bytes > 0 {
            self.last = take(&mut self.received, bytes).into();
        }
        self.last
    }

    fn write_data(&mut self, value: u32, mask: u32) {
        let bytes = match self.form {
            SpiForm::Buffered => self.frame_bytes(),
            // A halfword holds two frames if they are short.
            SpiForm::Fifo if mask == 0xFF => 1,
            SpiForm::Fifo => 2,
        };
        match self.form {
            SpiForm::Buffered => self.to_send.clear(),
            SpiForm::Fifo if self.to_send.len() + bytes > FIFO => return,
            SpiForm::Fifo => {}
        }
        self.to_send.extend(&(value as u16).to_le_bytes()[..bytes]);
    }

    fn write_control(&mut self, value: u32) {
        if std::mem::take(&mut self.mode_fault_read) {
            self.mode_fault = false;
        }
        self.control[0] = value;
        // A master that is selected has lost the bus (RM0090, "Master mode fault (MODF)").
        if value & (MASTER | SOFTWARE_SELECT | SELECT) == MASTER | SOFTWARE_SELECT {
            self.control[0] &= !(MASTER | ENABLE);
            self.mode_fault = true;
        }
        if self.control[0] & ENABLE == 0 {
            self.shifting = None;
            self.to_send.clear();
        }
    }

    /// Returns whether the control registers ask for something that has no model: a slave, a checksum or I2S.
    const fn is_without_model(&self) -> bool {
        let control = self.control[0];
        let is_other = control & MASTER == 0 || control & CRC_ENABLE != 0;
        control & ENABLE != 0 && is_other || self.i2s[0] & I2S != 0
    }
}

impl DeviceModel for Spi {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x00 => self.control[0],
            0x04 => self.control[1],
            0x08 => {
                let status = self.status();
                self.mode_fault_read = self.mode_fault;
                if std::mem::take(&mut self.overrun_read) {
                    self.overrun = false;
                }
                status
            }
            0x0C => self.read_data(),
            0x10 => self.polynomial,
            0x14 | 0x18 => 0,
            0x1C => self.i2s[0],
            0x20 => self.i2s[1],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        let kept = |old: u32| (old & !mask | value) & 0xFFFF;
        match offset {
            0x00 => self.write_control(kept(self.control[0])),
            0x04 => self.control[1] = kept(self.control[1]),
            0x0C => self.write_data(value, mask),
            0x10 => self.polynomial = kept(self.polynomial),
            0x1C => self.i2s[0] = kept(self.i2s[0]),
            0x20 => self.i2s[1] = kept(self.i2s[1]),
            // SR keeps no written value; the checksums are read only.
            0x08 | 0x14 | 0x18 => {}
            _ => return None,
        }
        env.effects.without_model |= matches!(offset, 0x00 | 0x1C) && self.is_without_model();
        self.begin_frame(env.now, env.ratio);
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        let status = self.status();
        let enabled = [
            (FILLED_INTERRUPT, FILLED),
            (EMPTY_INTERRUPT, EMPTY),
            (ERROR_INTERRUPT, OVERRUN | MODE_FAULT),
        ];
        let asks = |(interrupt, flags)| self.control[1] & interrupt != 0 && status & flags != 0;
        u32::from(enabled.into_iter().any(asks))
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        while let Some(frame) = self.shifting
            && frame.ends <= now
        {
            self.shifting = None;
            self.receive(frame.data);
            let lost = if self.loses_all() { now - frame.ends } else { 0 };
            let lost = lost - lost % self.frame(ratio);
            self.begin_frame(frame.ends + lost, ratio);
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        const WAITS: u32 =
            DMA_RECEIVES | DMA_SENDS | ERROR_INTERRUPT | FILLED_INTERRUPT | EMPTY_INTERRUPT;
        let waits = self.control[1] & WAITS != 0 && !self.loses_all();
        self.shifting.filter(|_| waits).map(|frame| frame.ends)
    }
}
