//! UARTE and UART of nRF52, which share an address (nRF52840 PS, 6.33 and 6.34), and the UART of nRF51,
//! which is the same without DMA (nRF51 RM, UART). UARTE itself fetches from RAM what it sends, and stores
//! there what it receives.
//!
//! The sender at the other end waits whenever UARTE is not receiving into a buffer, as with flow control,
//! so the FIFO stays empty and nothing is overrun. Not modelled: errors, and SUSPEND.

use crate::devices::nrf::Events;
use crate::devices::receiver::Receiver;
use crate::devices::transmitter::{SendFault, Transmitter};
use crate::devices::{ClockRatio, DeviceModel, Env, ReceivesBytes, Signals};
use crate::soc::Peripheral;

/// Events by their bits in INTEN.
const RX_READY: u32 = 1 << 2;
const RX_DONE: u32 = 1 << 4;
const TX_DATA_READY: u32 = 1 << 7;
const TX_DONE: u32 = 1 << 8;
const RX_TIMEOUT: u32 = 1 << 17;
const RX_STARTED: u32 = 1 << 19;
const TX_STARTED: u32 = 1 << 20;
const TX_STOPPED: u32 = 1 << 22;
/// The events that can occur.
const COMING: u32 = RX_READY
    | RX_DONE
    | TX_DATA_READY
    | TX_DONE
    | RX_TIMEOUT
    | RX_STARTED
    | TX_STARTED
    | TX_STOPPED;
/// SHORTS: from ENDRX to STARTRX and STOPRX.
const DONE_STARTS: u32 = 1 << 5;
const DONE_STOPS: u32 = 1 << 6;
/// ENABLE values of UART and of UARTE.
const ENABLE: u32 = 4;
const ENABLE_DMA: u32 = 8;
/// BAUDRATE is in units of this frequency divided by 2^32.
const BAUD_UNIT: u64 = 16_000_000;
/// 250 000 baud.
const BAUD_AT_RESET: u32 = 0x0400_0000;
/// CONFIG.PARITY and CONFIG.STOP: two stop bits.
const PARITY: u32 = 0xE;
const STOP: u32 = 1 << 4;
/// The width of MAXCNT where it has the most bits.
const DMA_BITS: u8 = 16;
/// Frames for which UARTE continues to receive after STOPRX (PS, 6.34.3).
const FRAMES_TO_STOP: u64 = 4;

/// A transfer that UARTE is sending.
#[derive(Clone, Copy, Debug)]
struct Sending {
    began: u64,
    /// Cycles that a byte takes.
    frame: u64,
    length: u64,
    /// Bytes for which TXDRDY has been raised.
    raised: u64,
    /// STOPTX ended it early.
    stops: bool,
}

impl Sending {
    /// Returns the cycle in which this many bytes have been sent.
    const fn sent(&self, bytes: u64) -> u64 {
        self.began.saturating_add(self.frame.saturating_mul(bytes))
    }

    fn end(&self) -> u64 {
        self.sent(self.length).max(self.began + 1)
    }
}

/// The buffer that UARTE is filling.
#[derive(Clone, Copy, Debug)]
struct Filling {
    to: u32,
    length: u32,
    filled: u32,
}

/// Which of the two peripherals exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// UARTE and UART.
    WithDma,
    /// UART only.
    Plain,
}

#[derive(Clone, Debug)]
pub struct NrfUarte {
    events: Events,
    interrupts: u32,
    shorts: u32,
    enable: u32,
    pins: [u32; 4],
    baud: u32,
    kind: Kind,
    /// The width of MAXCNT. With less than all bits, CONFIG has no STOP.
    dma_bits: u8,
    /// PTR, MAXCNT and AMOUNT of RXD and of TXD.
    buffers: [[u32; 3]; 2],
    configuration: u32,
    receives: bool,
    /// STARTTX was the last of UART's tasks for sending.
    transmits: bool,
    transmitter: Transmitter,
    receiver: Receiver,
    /// The cycle in which the byte that UART is sending has been sent.
    sent_at: Option<u64>,
    sending: Option<Sending>,
    filling: Option<Filling>,
    /// The cycle in which UARTE has stopped receiving.
    stops_at: Option<u64>,
    /// Received bytes that are not in RAM yet.
    stores: Vec<(u32, u8)>,
}

impl Default for NrfUarte {
    fn default() -> Self {
        Self {
            events: Events::default(),
            interrupts: 0,
            shorts: 0,
            enable: 0,
            pins: [u32::MAX; 4],
            baud: BAUD_AT_RESET,
            kind: Kind::WithDma,
            dma_bits: DMA_BITS,
            buffers: [[0; 3]; 2],
            configuration: 0,
            receives: false,
            transmits: false,
            transmitter: Transmitter::default(),
            receiver: Receiver::default(),
            sent_at: None,
            sending: None,
            filling: None,
            stops_at: None,
            stores: Vec::new(),
        }
    }
}

impl NrfUarte {
    pub fn new(peripheral: &Peripheral) -> Self {
        Self { dma_bits: peripheral.dma_bits.unwrap_or(DMA_BITS), ..Self::default() }
    }

    /// Creates a UART without UARTE.
    pub fn without_dma() -> Self {
        Self { kind: Kind::Plain, dma_bits: 0, ..Self::default() }
    }

    /// Returns whether there is a register at an offset; the buffer registers belong to UARTE.
    fn has(&self, offset: u32) -> bool {
        self.kind == Kind::WithDma || !matches!(offset, 0x534..=0x54C)
    }

    /// Returns the implemented bits of MAXCNT.
    const fn counts(&self) -> u32 {
        (1 << self.dma_bits) - 1
    }

    /// Returns the implemented bits of CONFIG.
    const fn configurable(&self) -> u32 {
        if self.dma_bits < DMA_BITS { PARITY | 1 } else { STOP | PARITY | 1 }
    }

    fn frame(&self, ratio: ClockRatio) -> u64 {
        let [parity, stop] = [PARITY, STOP].map(|field| self.configuration & field != 0);
        let bits = 10 + u64::from(parity) + u64::from(stop);
        // Whole periods of 16 MHz a bit: the actual rates that the manual lists are those.
        let periods = (1 << 32) / u64::from(self.baud).max(1);
        bits * periods.max(1) * u64::from(ratio.core.0) / BAUD_UNIT
    }

    const fn has_dma(&self) -> bool {
        self.enable == ENABLE_DMA
    }

    fn send(&mut self, byte: u8, env: &mut Env<'_>) {
        if self.enable != ENABLE || !self.transmits {
            env.effects.send_fault = Some(SendFault::Off);
            return;
        }
        env.console.push(byte);
        // TXDRDY says that the byte has been sent.
        env.effects.send_fault = self.transmitter.accept(env.now, self.frame(env.ratio), 0);
        self.sent_at = Some(self.transmitter.drains_to(0).max(env.now + 1));
    }

    fn start_sending(&mut self, env: &mut Env<'_>) {
        // The current transfer completes first, as on the chip.
        if !self.has_dma() || self.sending.is_some() {
            return;
        }
        let [from, length, _] = self.buffers[1];
        let mut bytes = vec![0; length as usize];
        let there = env.bus.peek(from, &mut bytes);
        env.console.extend(&bytes[..there]);
        let (began, frame) = (env.now, self.frame(env.ratio));
        self.sending =
            Some(Sending { began, frame, length: length.into(), raised: 0, stops: false });
        self.events.raise(TX_STARTED);
    }

    /// Ends the current transfer after the byte in transit (PS, 6.34.2).
    fn stop_sending(&mut self, env: &mut Env<'_>) {
        let Some(sending) = &mut self.sending else {
            self.events.raise(TX_STOPPED);
            return;
        };
        sending.stops = true;
        let begun = (env.now - sending.began) / sending.frame.max(1) + 1;
        if begun < sending.length {
            sending.length = begun;
            // The remaining bytes have already reached the console.
            env.effects.without_model = true;
        }
    }

    fn start_receiving(&mut self, now: u64, frame: u64) {
        self.receives = true;
        self.events.raise(RX_STARTED);
        if self.has_dma() {
            let [to, length, _] = self.buffers[0];
            (self.filling, self.stops_at) = (Some(Filling { to, length, filled: 0 }), None);
            if length == 0 {
                // An empty buffer cannot receive anything.
                self.receiver.disable();
                return;
            }
        }
        if self.has_dma() || self.enable == ENABLE {
            self.receiver.enable(now, frame);
        }
    }

    fn stop_receiving(&mut self, now: u64, frame: u64) {
        if !std::mem::take(&mut self.receives) {
            return;
        }
        if self.has_dma() {
            // A byte in transit still arrives.
            if self.receiver.due().is_none() {
                self.receiver.disable();
            }
            self.stops_at = Some(now.saturating_add((FRAMES_TO_STOP * frame).max(1)));
        } else {
            self.receiver.disable();
            self.buffers[0][2] = 0;
            self.events.raise(RX_DONE | RX_TIMEOUT);
        }
    }

    /// Ends the buffer, because it is full or nothing more will arrive.
    fn end_filling(&mut self, now: u64, frame: u64) {
        self.buffers[0][2] = self.filling.take().map_or(0, |filling| filling.filled);
        self.receiver.disable();
        self.events.raise(RX_DONE);
        if self.shorts & DONE_STARTS != 0 && self.receives {
            self.start_receiving(now, frame);
        }
        if self.shorts & DONE_STOPS != 0 {
            self.stop_receiving(now, frame);
        }
    }

    /// Puts a byte that has arrived into the buffer.
    fn fill(&mut self, now: u64, frame: u64) {
        let byte = self.receiver.take(now, frame);
        if self.stops_at.is_some() {
            self.receiver.disable();
        }
        let Some(filling) = &mut self.filling else { return };
        self.stores.push((filling.to.wrapping_add(filling.filled), byte));
        filling.filled += 1;
        if filling.filled >= filling.length {
            self.end_filling(now, frame);
        }
    }

    fn settle_receiver(&mut self, now: u64, frame: u64) {
        while let Some(at) = self.receiver.due().filter(|at| *at <= now) {
            if !self.receiver.settle(at) {
                break;
            }
            self.events.raise(RX_READY);
            if self.filling.is_some() {
                self.fill(at, frame);
            }
        }
        if let Some(at) = self.stops_at.filter(|at| *at <= now) {
            if self.filling.is_some() {
                // Nothing restarts the buffer.
                self.end_filling(at, frame);
            }
            self.stops_at = None;
            self.receiver.disable();
            self.events.raise(RX_TIMEOUT);
        }
    }

    fn settle_transmitter(&mut self, now: u64) {
        if self.sent_at.is_some_and(|at| at <= now) {
            self.sent_at = None;
            self.events.raise(TX_DATA_READY);
        }
        let Some(sending) = &mut self.sending else { return };
        if sending.raised < sending.length && sending.sent(sending.raised + 1) <= now {
            let sent = now.saturating_sub(sending.began).checked_div(sending.frame);
            sending.raised = sent.unwrap_or(sending.length).min(sending.length);
            self.events.raise(TX_DATA_READY);
        }
        if sending.end() <= now {
            self.buffers[1][2] = sending.length as u32;
            let stopped = if sending.stops { TX_STOPPED } else { 0 };
            self.events.raise(TX_DONE | stopped);
            self.sending = None;
        }
    }

    fn task(&mut self, offset: u32, env: &mut Env<'_>) {
        let frame = self.frame(env.ratio);
        match offset {
            0x000 => self.start_receiving(env.now, frame),
            0x004 => self.stop_receiving(env.now, frame),
            0x008 => {
                self.transmits = true;
                self.start_sending(env);
            }
            0x00C => {
                self.transmits = false;
                self.stop_sending(env);
            }
            // FLUSHRX: the FIFO is empty.
            0x02C if self.filling.is_none() => self.end_filling(env.now, frame),
            _ => {}
        }
    }
}

impl DeviceModel for NrfUarte {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            _ if !self.has(offset) => return None,
            0x000..=0x02C => 0,
            0x100..=0x158 => self.events.read(offset),
            0x200 => self.shorts,
            0x300 | 0x304 | 0x308 => self.interrupts,
            // There are no errors.
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
            // POWER of nRF51's peripherals.
            0xFFC if self.kind == Kind::Plain => 1,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            _ if !self.has(offset) => return None,
            0x000..=0x02C => {
                if value & 1 == 1 {
                    self.task(offset, env);
                }
            }
            0x100..=0x158 => self.events.write(offset, value),
            0x200 => self.shorts = value,
            0x300 => self.interrupts = value,
            0x304 => self.interrupts |= value,
            0x308 => self.interrupts &= !value,
            0x480 => {}
            0x500 => {
                // The field has three bits in UART alone.
                self.enable = value & if self.kind == Kind::WithDma { 15 } else { 7 };
                if !self.has_dma() && self.filling.take().is_some() {
                    self.receiver.disable();
                }
            }
            0x508..=0x514 => self.pins[((offset - 0x508) / 4) as usize] = value,
            0x51C if !self.has_dma() => self.send(value as u8, env),
            0x524 => self.baud = value,
            0x534 => self.buffers[0][0] = value,
            0x538 => self.buffers[0][1] = value & self.counts(),
            0x544 => self.buffers[1][0] = value,
            0x548 => self.buffers[1][1] = value & self.counts(),
            0x56C => self.configuration = value & self.configurable(),
            // Switching it off would reset it.
            0xFFC if self.kind == Kind::Plain => env.effects.without_model = value & 1 == 0,
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        let frame = self.frame(ratio);
        self.settle_receiver(now, frame);
        self.settle_transmitter(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let awaited = self.events.observable(self.interrupts);
        let sent = self.sent_at.filter(|_| awaited & TX_DATA_READY != 0);
        let byte = self.sending.filter(|it| awaited & TX_DATA_READY != 0 && it.raised < it.length);
        let byte = byte.map(|it| it.sent(it.raised + 1));
        let done = self.sending.filter(|_| awaited & (TX_DONE | TX_STOPPED) != 0);
        // Received bytes must be stored in RAM in time.
        let hears = self.filling.is_some() || awaited & RX_READY != 0;
        let arrives = self.receiver.due().filter(|_| hears);
        let dates = [sent, byte, done.map(|it| it.end()), arrives, self.stops_at];
        dates.into_iter().flatten().min()
    }

    fn has_end(&self, offset: u32) -> bool {
        let incoming = crate::devices::nrf::event_at(offset).is_some_and(|it| it & COMING != 0);
        incoming || matches!(offset, 0x000 | 0x004 | 0x008 | 0x00C | 0x02C)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        let stores = std::mem::take(&mut self.stores);
        Signals { stores, ..Signals::of(self.events.take()) }
    }
}

impl ReceivesBytes for NrfUarte {
    fn sides(&mut self) -> (&mut Receiver, &Transmitter) {
        (&mut self.receiver, &self.transmitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_units::Hertz;

    /// The actual rates that the manuals list beside the values of BAUDRATE (nRF52840 PS, UARTE, BAUDRATE).
    #[test]
    fn bytes_take_the_manuals_actual_rates() {
        for (baud, rate) in [
            (0x0027_5000, 9_598),
            (0x009D_0000, 38_369),
            (0x00EB_0000, 57_554),
            (0x01D6_0000, 115_108),
            (0x03B0_0000, 231_884),
            (0x0F00_0000, 941_176),
            (0x1000_0000, 1_000_000),
        ] {
            let uart = NrfUarte { baud, ..NrfUarte::default() };
            let frame = uart.frame(ClockRatio::undivided(Hertz(16_000_000)));
            assert_eq!((160_000_000 + frame / 2) / frame, rate, "{baud:#x}");
        }
    }

    #[test]
    fn parity_and_a_second_stop_bit_take_one_bits_time_each() {
        for (configuration, bits) in
            [(0, 10), (1, 10), (PARITY, 11), (STOP, 11), (STOP | PARITY, 12)]
        {
            let uart = NrfUarte { baud: 0x1000_0000, configuration, ..NrfUarte::default() };
            let frame = uart.frame(ClockRatio::undivided(Hertz(16_000_000)));
            assert_eq!(frame, 16 * bits, "{configuration:#x}");
        }
    }
}
