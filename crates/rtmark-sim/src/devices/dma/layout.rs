//! The registers of the two kinds of DMA controllers, and what their bits select.

use super::Flags;

/// The register layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaLayout {
    /// Up to eight channels, numbered from 1 (RM0008, "DMA registers"; RM0394, with CSELR).
    Channels,
    /// Eight streams with FIFOs, numbered from 0 (RM0090, 10.5).
    Streams,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DmaRegister {
    /// The flags of channels, from the one given on.
    Flags {
        first: usize,
    },
    /// Clears flags by ones.
    Clear {
        first: usize,
    },
    /// Selects the request of each channel (CSELR).
    Selection,
    Control(usize),
    Count(usize),
    Peripheral(usize),
    Memory(usize, usize),
    Fifo(usize),
}

/// Where a channel's flags are, from the lowest bit of a register on: four channels in each register of streams.
const STREAM_SHIFTS: [u32; 4] = [0, 6, 16, 22];

/// What a control register selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChannelSetup {
    pub kind: TransferKind,
    /// The bytes of an item on the peripheral's side, and on the memory's.
    pub peripheral_bytes: u32,
    pub memory_bytes: u32,
    /// By how many bytes the address moves from one item to the next.
    pub peripheral_step: u32,
    pub memory_step: u32,
    pub circular: bool,
    /// The memory's two addresses take turns.
    pub double: bool,
    /// The higher goes first.
    pub priority: u32,
    /// The flags that interrupt.
    pub interrupts: Flags,
    /// What it selects has a model.
    pub has_model: bool,
}

/// From where to where items move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferKind {
    FromPeripheral,
    ToPeripheral,
    /// From the address for peripherals to that for memory, without requests.
    Copy,
    /// Likewise the other way round.
    CopyBack,
}

impl TransferKind {
    /// Returns whether it waits for no requests.
    pub const fn is_copy(self) -> bool {
        matches!(self, Self::Copy | Self::CopyBack)
    }

    /// Returns whether the data go to the memory's address.
    pub const fn to_memory(self) -> bool {
        matches!(self, Self::FromPeripheral | Self::Copy)
    }
}

pub(super) const ENABLE: u32 = 1;
/// CT of SxCR: the memory's second address is in use.
pub(super) const SECOND: u32 = 1 << 19;

impl DmaLayout {
    pub(super) const fn register(self, offset: u32) -> Option<DmaRegister> {
        let (first, length) = match self {
            Self::Channels => (0x08, 0x14),
            Self::Streams => (0x10, 0x18),
        };
        Some(match (self, offset) {
            (_, 0x00) => DmaRegister::Flags { first: 0 },
            (Self::Channels, 0x04) => DmaRegister::Clear { first: 0 },
            (Self::Channels, 0xA8) => DmaRegister::Selection,
            (Self::Streams, 0x04) => DmaRegister::Flags { first: 4 },
            (Self::Streams, 0x08) => DmaRegister::Clear { first: 0 },
            (Self::Streams, 0x0C) => DmaRegister::Clear { first: 4 },
            _ => {
                let within = offset.wrapping_sub(first);
                let at = (within / length) as usize;
                match (self, within % length) {
                    _ if at >= super::MOST_CHANNELS => return None,
                    (_, 0x0) => DmaRegister::Control(at),
                    (_, 0x4) => DmaRegister::Count(at),
                    (_, 0x8) => DmaRegister::Peripheral(at),
                    (_, 0xC) => DmaRegister::Memory(at, 0),
                    (Self::Streams, 0x10) => DmaRegister::Memory(at, 1),
                    (Self::Streams, 0x14) => DmaRegister::Fifo(at),
                    _ => return None,
                }
            }
        })
    }

    /// Returns the bits of a channel's flags in their register.
    pub(super) const fn flags(self, at: usize, flags: Flags) -> u32 {
        match self {
            // GIF, TCIF, HTIF, TEIF.
            Self::Channels => {
                let any = flags.0 != 0;
                (flags.0 << 1 | any as u32) << (4 * at)
            }
            Self::Streams => {
                let [complete, half, error] =
                    [flags.has(Flags::COMPLETE), flags.has(Flags::HALF), flags.has(Flags::ERROR)];
                let bits = (complete as u32) << 5 | (half as u32) << 4 | (error as u32) << 3;
                bits << STREAM_SHIFTS[at % 4]
            }
        }
    }

    /// Returns the flags of a channel that a value written to clear some stands for. CGIF stands for all.
    pub(super) fn cleared(self, at: usize, value: u32) -> Flags {
        let all = [Flags::COMPLETE, Flags::HALF, Flags::ERROR];
        let is_global = self == Self::Channels && value >> (4 * at) & 1 == 1;
        let hit = |flag: &Flags| {
            let bit = match self {
                Self::Channels => flag.0 << 1 << (4 * at),
                Self::Streams => self.flags(at, *flag),
            };
            is_global || value & bit != 0
        };
        Flags(all.into_iter().filter(hit).fold(0, |sum, flag| sum | flag.0))
    }

    /// Returns the bits of a control register that a program can write while the channel is enabled.
    pub(super) const fn writable_while_enabled(self) -> u32 {
        match self {
            Self::Channels => 0xF,
            Self::Streams => 0x1F | SECOND,
        }
    }

    /// Returns what a control register selects, of a channel whose data go through the FIFO or do not.
    pub(super) fn setup(self, control: u32, through_fifo: bool) -> ChannelSetup {
        let bit = |at: u32| control >> at & 1 == 1;
        let bytes = |at: u32| 1 << (control >> at & 3);
        match self {
            Self::Channels => {
                let (peripheral_bytes, memory_bytes) = (bytes(8), bytes(10));
                let kind = match (bit(14), bit(4)) {
                    (false, false) => TransferKind::FromPeripheral,
                    (false, true) => TransferKind::ToPeripheral,
                    (true, false) => TransferKind::Copy,
                    (true, true) => TransferKind::CopyBack,
                };
                ChannelSetup {
                    kind,
                    peripheral_bytes,
                    memory_bytes,
                    peripheral_step: if bit(6) { peripheral_bytes } else { 0 },
                    memory_step: if bit(7) { memory_bytes } else { 0 },
                    circular: bit(5),
                    double: false,
                    priority: control >> 12 & 3,
                    interrupts: Flags(control >> 1 & 7),
                    has_model: peripheral_bytes <= 4 && memory_bytes <= 4,
                }
            }
            Self::Streams => {
                let peripheral_bytes = bytes(11);
                // Without the FIFO, MSIZE is that of the peripheral (RM0090, 10.3.10).
                let memory_bytes = if through_fifo { bytes(13) } else { peripheral_bytes };
                let (kind, known) = match control >> 6 & 3 {
                    0 => (TransferKind::FromPeripheral, true),
                    1 => (TransferKind::ToPeripheral, true),
                    // Only through the FIFO (RM0090, table 48).
                    2 => (TransferKind::Copy, through_fifo),
                    _ => (TransferKind::Copy, false),
                };
                let flow_control = bit(5);
                let bursts = through_fifo && control >> 21 & 3 != 0 && !kind.is_copy();
                let wide_step = bit(15);
                ChannelSetup {
                    kind,
                    peripheral_bytes,
                    memory_bytes,
                    peripheral_step: match (bit(9), wide_step) {
                        (false, _) => 0,
                        (true, false) => peripheral_bytes,
                        (true, true) => 4,
                    },
                    memory_step: if bit(10) { memory_bytes } else { 0 },
                    circular: bit(8) || bit(18),
                    double: bit(18),
                    priority: control >> 16 & 3,
                    interrupts: Flags(control >> 4 & 1 | control >> 2 & 2 | control & 4),
                    has_model: known
                        && !flow_control
                        && !bursts
                        && peripheral_bytes <= 4
                        && memory_bytes <= 4,
                }
            }
        }
    }
}
