//! The DMA controllers of STM32: that with channels of F1, L4, C0, G0 and G4 (RM0008, "Direct memory access
//! controller (DMA)"), and that with streams of F4 and H7 (RM0090, chapter 10).
//!
//! One item moves at a time, of the channel with the highest priority whose request is active: its data are read and
//! written [`SERVICE`] cycles of the bus after the request. Data for a peripheral are read from memory when it asks for
//! them, not ahead. Not modelled, and reported: flow control by peripherals, bursts on their side, requests of
//! peripherals that have no model. Neither are the waits of the core for memories and buses that the controller uses.

mod layout;
mod mux;
mod requests;

use std::sync::Arc;

pub use layout::DmaLayout;
use layout::{ChannelSetup, DmaRegister, ENABLE, SECOND, TransferKind};
pub use mux::DmaMux;
pub use requests::Wiring;

use super::{ClockRatio, DeviceModel, Env};
use crate::soc::{Peripheral, Soc};

/// The channels of the largest controller.
const MOST_CHANNELS: usize = 8;

/// The cycles of the bus from a request to its transfer, and between two transfers: arbitration, the address, the read
/// and the write of memory that never waits, one each. An estimate: no chip has been measured.
const SERVICE: u64 = 4;

/// The bytes that a stream's FIFO holds.
const FIFO: usize = 16;
/// DMDIS and FTH of SxFCR, and its value at reset (RM0090, 10.5.10).
const THROUGH_FIFO: u32 = 1 << 2;
const THRESHOLD: u32 = 3;
const FIFO_WRITABLE: u32 = 1 << 7 | THROUGH_FIFO | THRESHOLD;
const FIFO_AT_RESET: u32 = 1;

/// The flags of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags(u32);

impl Flags {
    /// All items have been moved.
    const COMPLETE: Self = Self(1);
    /// Half of them have.
    const HALF: Self = Self(2);
    /// There is nothing at an address.
    const ERROR: Self = Self(4);

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A channel or stream.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    control: u32,
    /// The items that the program has set, those of the present pass, and those that are left of them.
    programmed: u32,
    items: u32,
    left: u32,
    peripheral: u32,
    memory: [u32; 2],
    fifo_control: u32,
    fifo: [u8; FIFO],
    /// Bytes in the FIFO.
    held: usize,
    flags: Flags,
}

/// The first half of a transfer: what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaLoad {
    pub channel: usize,
    pub address: u32,
    pub bytes: u32,
}

/// The second half: what is written, in units of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaStore {
    pub address: u32,
    /// By how many bytes the address moves from one unit to the next.
    pub step: u32,
    /// The bytes of a unit.
    pub bytes: u32,
    data: [u8; FIFO],
    length: usize,
}

impl DmaStore {
    /// Returns the units, each with its address.
    pub fn units(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let units = self.data[..self.length].chunks(self.bytes as usize);
        (0u32..).zip(units).map(|(at, unit)| (self.address.wrapping_add(at * self.step), unit))
    }
}

impl Channel {
    const fn is_enabled(&self) -> bool {
        self.control & ENABLE != 0
    }

    const fn uses_fifo(&self) -> bool {
        self.fifo_control & THROUGH_FIFO != 0
    }

    fn setup(&self, layout: DmaLayout) -> ChannelSetup {
        layout.setup(self.control, self.uses_fifo())
    }

    /// Returns how many items of the pass have been moved.
    const fn moved(&self) -> u32 {
        self.items - self.left
    }

    /// Returns the peripheral's address of the next item.
    const fn peripheral_address(&self, setup: &ChannelSetup) -> u32 {
        self.peripheral.wrapping_add(self.moved() * setup.peripheral_step)
    }

    /// Returns the memory's address of the next item, of which `ahead` bytes have been read but not written.
    const fn memory_address(&self, setup: &ChannelSetup, ahead: u32) -> u32 {
        let base = self.memory[(self.control & SECOND != 0) as usize];
        let offset = if self.uses_fifo() {
            let bytes = self.moved() * setup.peripheral_bytes - ahead;
            if setup.memory_step == 0 { bytes % setup.memory_bytes } else { bytes }
        } else {
            self.moved() * setup.memory_step
        };
        base.wrapping_add(offset)
    }

    /// Begins a pass. A stream that has ended begins with as many items as before (RM0090, 10.5.6).
    const fn begin(&mut self, layout: DmaLayout) {
        if self.left == 0 && matches!(layout, DmaLayout::Streams) {
            self.left = self.programmed;
        }
        (self.items, self.held) = (self.left, 0);
    }

    /// Returns what the next item is read from.
    const fn load(&self, setup: &ChannelSetup) -> (u32, u32) {
        let from_memory =
            if self.uses_fifo() { setup.peripheral_bytes } else { setup.memory_bytes };
        match setup.kind {
            TransferKind::FromPeripheral | TransferKind::Copy => {
                (self.peripheral_address(setup), setup.peripheral_bytes)
            }
            TransferKind::ToPeripheral | TransferKind::CopyBack => {
                (self.memory_address(setup, 0), from_memory)
            }
        }
    }

    /// Returns what is written once an item has been read; none if it waits in the FIFO.
    fn store(&mut self, setup: &ChannelSetup, value: u32) -> Option<DmaStore> {
        let value = value.to_le_bytes();
        let mut data = [0; FIFO];
        if !setup.kind.to_memory() {
            let (address, bytes) = (self.peripheral_address(setup), setup.peripheral_bytes);
            data[..4].copy_from_slice(&value);
            return Some(DmaStore { address, step: 0, bytes, data, length: bytes as usize });
        }
        let (step, bytes) = (setup.memory_step, setup.memory_bytes);
        if !self.uses_fifo() {
            data[..4].copy_from_slice(&value);
            let address = self.memory_address(setup, 0);
            return Some(DmaStore { address, step, bytes, data, length: bytes as usize });
        }
        let ahead = self.held as u32;
        let count = setup.peripheral_bytes as usize;
        self.fifo[self.held..self.held + count].copy_from_slice(&value[..count]);
        self.held += count;
        let threshold = ((self.fifo_control & THRESHOLD) as usize + 1) * FIFO / 4;
        if self.left > 1 && self.held < threshold {
            return None;
        }
        let (address, length) = (self.memory_address(setup, ahead), self.held);
        data[..length].copy_from_slice(&self.fifo[..length]);
        self.held = 0;
        Some(DmaStore { address, step, bytes, data, length })
    }

    /// Ends a transfer.
    fn end(&mut self, layout: DmaLayout, setup: &ChannelSetup, succeeded: bool) {
        if !succeeded {
            self.flags.set(Flags::ERROR);
            self.control &= !ENABLE;
            return;
        }
        self.left -= 1;
        if self.left == self.items / 2 {
            self.flags.set(Flags::HALF);
        }
        if self.left > 0 {
            return;
        }
        self.flags.set(Flags::COMPLETE);
        if setup.circular {
            if setup.double {
                self.control ^= SECOND;
            }
            self.left = self.programmed;
            self.begin(layout);
        } else if layout == DmaLayout::Streams {
            self.control &= !ENABLE;
        }
    }

    /// Writes the control register. Returns whether that has enabled the channel.
    fn configure(&mut self, layout: DmaLayout, value: u32, mask: u32) -> bool {
        let was_enabled = self.is_enabled();
        let mask = if was_enabled { mask & layout.writable_while_enabled() } else { mask };
        self.control = self.control & !mask | value & mask;
        let is_enabled = self.is_enabled();
        if is_enabled && !was_enabled {
            self.begin(layout);
        }
        // A stream that the program stops is complete (RM0090, 10.3.15).
        if was_enabled && !is_enabled && layout == DmaLayout::Streams {
            self.flags.set(Flags::COMPLETE);
        }
        is_enabled && !was_enabled
    }
}

#[derive(Clone, Debug)]
pub struct Dma {
    layout: DmaLayout,
    channels: [Channel; MOST_CHANNELS],
    /// How many channels there are.
    count: usize,
    /// Selects the channels' requests, where no DMAMUX does (CSELR).
    selection: u32,
    /// It copies from memory to memory.
    copies: bool,
    wiring: Arc<Wiring>,
    /// The channel whose transfer comes next, and when.
    coming: Option<(usize, u64)>,
    /// The channel whose transfer takes place.
    moving: Option<usize>,
}

impl Dma {
    pub fn new(layout: DmaLayout, peripheral: &Peripheral, soc: &Soc) -> Self {
        let fifo_control = if layout == DmaLayout::Streams { FIFO_AT_RESET } else { 0 };
        Self {
            layout,
            channels: [Channel { fifo_control, ..Channel::default() }; MOST_CHANNELS],
            count: peripheral.channel_count(),
            selection: 0,
            copies: peripheral.memory_to_memory != Some(false),
            wiring: Arc::new(Wiring::of(peripheral, soc)),
            coming: None,
            moving: None,
        }
    }

    /// Returns the number of the request that a channel selects by itself.
    const fn own_selection(&self, at: usize) -> u32 {
        match self.layout {
            DmaLayout::Channels => self.selection >> (4 * at) & 0xF,
            DmaLayout::Streams => self.channels[at].control >> 25 & 7,
        }
    }

    /// Returns the channels for which something holds, one bit each.
    fn channels_where(&self, holds: impl Fn(&Channel) -> bool) -> u32 {
        let channels = self.channels[..self.count].iter().enumerate();
        channels.filter(|(_, it)| holds(it)).fold(0, |sum, (at, _)| sum | 1 << at)
    }

    /// Returns the channels that are enabled and have something to do, one bit each.
    fn active(&self) -> u32 {
        self.channels_where(|it| it.is_enabled() && it.left > 0)
    }

    /// Returns the channels whose flags are in the register that begins with one.
    const fn flagged(&self, first: usize) -> std::ops::Range<usize> {
        match self.layout {
            DmaLayout::Channels => first..self.count,
            DmaLayout::Streams => first..first + 4,
        }
    }

    /// Returns whether a channel moves items here while its request is active or not. Copies need none.
    const fn moves(&self, setup: &ChannelSetup, is_requested: bool) -> bool {
        let is_asked = if setup.kind.is_copy() { self.copies } else { is_requested };
        setup.has_model && is_asked
    }

    /// Begins the next transfer, of the channels that peripherals ask to serve or of those that need no requests.
    fn arbitrate(&mut self, asked: u32, now: u64, ratio: ClockRatio) {
        let active = self.active();
        let asks = |at: usize| {
            let setup = self.channels[at].setup(self.layout);
            let moves = active >> at & 1 == 1 && self.moves(&setup, asked >> at & 1 == 1);
            moves.then_some(setup.priority)
        };
        let kept = self.coming.filter(|(at, _)| asks(*at).is_some());
        self.coming = if kept.is_some() || self.moving.is_some() {
            kept
        } else {
            let waiting = (0..self.count).filter_map(|at| Some((asks(at)?, at)));
            // Among equals, the one with the lower number (RM0090, 10.3.6).
            let next = waiting.max_by_key(|(priority, at)| (*priority, std::cmp::Reverse(*at)));
            next.map(|(_, at)| (at, now + SERVICE * ratio.divisor))
        };
    }

    /// Begins the transfer that is due.
    fn begin_transfer(&mut self, now: u64) -> Option<DmaLoad> {
        let (at, _) = self.coming.take_if(|(_, due)| *due <= now)?;
        let channel = &self.channels[at];
        let (address, bytes) = channel.load(&channel.setup(self.layout));
        self.moving = Some(at);
        Some(DmaLoad { channel: at, address, bytes })
    }

    /// Takes what has been read; returns what is to be written.
    pub fn take(&mut self, value: u32) -> Option<DmaStore> {
        let channel = &mut self.channels[self.moving?];
        channel.store(&channel.setup(self.layout), value)
    }

    /// Ends the transfer, unless the program has disabled its channel with it.
    pub fn end_transfer(&mut self, succeeded: bool) {
        let Some(at) = self.moving.take() else { return };
        let channel = &mut self.channels[at];
        if channel.is_enabled() && channel.left > 0 {
            channel.end(self.layout, &channel.setup(self.layout), succeeded);
        }
    }

    /// Returns whether a channel that has just been enabled does nothing here that it would do on a chip, whether or
    /// not a peripheral asks it to.
    fn is_without_model(&self, at: usize, has_request: bool) -> bool {
        !self.moves(&self.channels[at].setup(self.layout), has_request)
    }
}

impl DeviceModel for Dma {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match self.layout.register(offset)? {
            DmaRegister::Flags { first } => self
                .flagged(first)
                .fold(0, |bits, at| bits | self.layout.flags(at, self.channels[at].flags)),
            DmaRegister::Clear { .. } => 0,
            DmaRegister::Selection => self.selection,
            DmaRegister::Control(at) => self.channels[at].control,
            DmaRegister::Count(at) => self.channels[at].left,
            DmaRegister::Peripheral(at) => self.channels[at].peripheral,
            DmaRegister::Memory(at, which) => self.channels[at].memory[which],
            DmaRegister::Fifo(at) => {
                let Channel { fifo_control, held, .. } = self.channels[at];
                // FS: less than a quarter of it full, and so on; then empty, and full.
                let level = match held {
                    0 => 4,
                    FIFO => 5,
                    held => held as u32 / 4,
                };
                fifo_control | level << 3
            }
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        let register = self.layout.register(offset)?;
        let merge = |before: u32| before & !mask | value;
        match register {
            DmaRegister::Clear { first } => {
                for at in self.flagged(first) {
                    self.channels[at].flags.0 &= !self.layout.cleared(at, value).0;
                }
            }
            DmaRegister::Selection => self.selection = merge(self.selection),
            DmaRegister::Flags { .. } => {}
            DmaRegister::Control(at)
            | DmaRegister::Count(at)
            | DmaRegister::Peripheral(at)
            | DmaRegister::Memory(at, _)
            | DmaRegister::Fifo(at)
                if at >= self.count => {}
            DmaRegister::Control(at) => {
                if self.channels[at].configure(self.layout, value, mask) {
                    env.effects.channel_enabled = Some(at);
                }
            }
            // What follows cannot be written while the channel is enabled, but for the memory's address that is not in
            // use (RM0090, 10.3.9).
            DmaRegister::Memory(at, which) => {
                let channel = &mut self.channels[at];
                let in_use = usize::from(channel.control & SECOND != 0);
                let is_free = channel.setup(self.layout).double && which != in_use;
                if !channel.is_enabled() || is_free {
                    channel.memory[which] = merge(channel.memory[which]);
                }
            }
            DmaRegister::Count(at) if !self.channels[at].is_enabled() => {
                let channel = &mut self.channels[at];
                channel.left = merge(channel.left) & 0xFFFF;
                (channel.programmed, channel.items) = (channel.left, channel.left);
            }
            DmaRegister::Peripheral(at) if !self.channels[at].is_enabled() => {
                self.channels[at].peripheral = merge(self.channels[at].peripheral);
            }
            DmaRegister::Fifo(at) if !self.channels[at].is_enabled() => {
                self.channels[at].fifo_control =
                    merge(self.channels[at].fifo_control) & FIFO_WRITABLE;
            }
            DmaRegister::Count(_) | DmaRegister::Peripheral(_) | DmaRegister::Fifo(_) => {}
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.channels_where(|it| it.flags.has(it.setup(self.layout).interrupts))
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.coming.map(|(_, at)| at)
    }
}
