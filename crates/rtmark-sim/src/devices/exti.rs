//! EXTI of STM32: interrupts on the edges of pins, and of other peripherals' outputs.
//!
//! Lines 0 to 15, each connected to the pin of that number of one port, also if that is an output, and those that the
//! soc file lists. Not modelled: the lines of other peripherals without a model (USB, wake-up), which are reported when
//! a program enables them, and events (EMR), with which an edge ends a WFE without an interrupt.

use std::sync::Arc;

use super::pins::{Drive, DrivenPins, Edge};
use super::wires::OutputEdges;
use super::{ClockRatio, DeviceModel, Env};
use crate::soc::{EXTI_LINES as LINES, Peripheral, Soc};

/// The lines that come from pins, as a bit mask.
const ALL: u32 = 0xFFFF;

/// The register layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtiLayout {
    /// One pending bit per line; the ports are selected in SYSCFG or AFIO (RM0090, 12.3).
    V1,
    /// Separate pending bits for rising and falling edges; the ports are selected in EXTI itself (RM0490,
    /// 13.5).
    V2,
    /// One pending bit per line, with V2's masks; the ports are selected in SYSCFG (RM0433, EXTI registers).
    H7,
}

#[derive(Clone, Copy, Debug)]
enum ExtiRegister {
    InterruptMask,
    EventMask,
    Rising,
    Falling,
    Software,
    Pending,
    PendingFalling,
    /// The ports of four lines, starting with this one.
    Ports(usize),
}

impl ExtiLayout {
    const fn register(self, offset: u32) -> Option<ExtiRegister> {
        Some(match (self, offset) {
            (Self::V1, 0x00) | (Self::V2 | Self::H7, 0x80) => ExtiRegister::InterruptMask,
            (Self::V1, 0x04) | (Self::V2 | Self::H7, 0x84) => ExtiRegister::EventMask,
            (Self::V1, 0x08) | (Self::V2 | Self::H7, 0x00) => ExtiRegister::Rising,
            (Self::V1, 0x0C) | (Self::V2 | Self::H7, 0x04) => ExtiRegister::Falling,
            (Self::V1, 0x10) | (Self::V2 | Self::H7, 0x08) => ExtiRegister::Software,
            (Self::V1, 0x14) | (Self::V2, 0x0C) | (Self::H7, 0x88) => ExtiRegister::Pending,
            (Self::V2, 0x10) => ExtiRegister::PendingFalling,
            (Self::V2, 0x60..=0x6C) => ExtiRegister::Ports((offset - 0x60) as usize),
            _ => return None,
        })
    }
}

/// A pin, given by its port (0 for A) and its number, which is also the number of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pin {
    port: u8,
    line: u8,
}

/// Parses one of STM32's pin names: `PC13`.
fn named(pin: &str) -> Option<Pin> {
    let rest = pin.strip_prefix('P')?;
    let port = rest.bytes().next().filter(u8::is_ascii_uppercase)? - b'A';
    let line = rest[1..].parse().ok().filter(|line| *line < LINES)?;
    Some(Pin { port, line })
}

/// A line that another device's output drives.
#[derive(Debug)]
struct SharedLine {
    /// The device's address.
    base: u32,
    output: u8,
    line: u8,
}

#[derive(Clone, Debug)]
pub struct Exti {
    layout: ExtiLayout,
    /// The addresses of the ports, with their numbers.
    port_bases: Arc<[(u32, u8)]>,
    /// The lines beyond those of pins.
    others: Arc<[SharedLine]>,
    /// The lines with a model, as a bit mask.
    lines: u32,
    interrupt_mask: u32,
    event_mask: u32,
    rising: u32,
    falling: u32,
    software: u32,
    pending: u32,
    pending_falling: u32,
    /// The port to which each line is connected.
    ports: [u8; LINES as usize],
    driven: DrivenPins<Pin>,
    /// The cycle up to which edges have been seen.
    seen: u64,
}

impl Exti {
    pub fn new(layout: ExtiLayout, peripheral: &Peripheral, soc: &Soc) -> Self {
        let others: Arc<[_]> = peripheral
            .lines
            .iter()
            .filter_map(|line| {
                let source = soc.peripherals.iter().find(|source| source.name == line.of)?;
                let output = source.kind.output(line.output)?;
                Some(SharedLine { base: source.base, output, line: line.line })
            })
            .collect();
        let interrupt_mask = match layout {
            ExtiLayout::V1 => peripheral.direct_lines.unwrap_or(0),
            // The lines of other peripherals (RM0490, 13.5.11).
            ExtiLayout::V2 => 0xFFF8_0000,
            // Likewise (RM0433, EXTI_CPUIMR1).
            ExtiLayout::H7 => 0xFFC0_0000,
        };
        let port_bases = soc.peripherals.iter().filter_map(|peripheral| {
            let pins = peripheral.pins.iter().find(|pins| pins.register.is_some())?;
            Some((peripheral.base, named(&format!("{}0", pins.name))?.port))
        });
        Self {
            layout,
            port_bases: port_bases.collect(),
            lines: others.iter().fold(ALL, |lines, other| lines | 1 << other.line),
            others,
            interrupt_mask,
            event_mask: 0,
            rising: 0,
            falling: 0,
            software: 0,
            pending: 0,
            pending_falling: 0,
            ports: [0; LINES as usize],
            driven: DrivenPins::default(),
            seen: 0,
        }
    }

    /// Connects a line to a port from now on.
    pub fn route(&mut self, line: u8, port: u8, now: u64) {
        self.see(now);
        if let Some(of) = self.ports.get_mut(usize::from(line)) {
            *of = port;
        }
    }

    /// Returns the lines whose pins are driven, with what drives them.
    fn routed(&self) -> impl Iterator<Item = (u8, &Drive)> {
        let pins = self.driven.iter().map(|(Pin { port, line }, drive)| (port, line, drive));
        let from = pins.filter(|(port, line, _)| self.ports[usize::from(*line)] == *port);
        from.map(|(_, line, drive)| (line, drive))
    }

    /// Makes the lines pending whose pins have had an edge since the last look.
    fn see(&mut self, now: u64) {
        if now <= self.seen {
            return;
        }
        let (mut rising, mut falling) = (0, 0);
        for (line, drive) in self.routed() {
            for edge in drive.edges(self.seen, now) {
                match edge {
                    Edge::Rising => rising |= 1 << line,
                    Edge::Falling => falling |= 1 << line,
                }
            }
        }
        self.pend(rising, falling);
        self.seen = now;
    }

    /// Makes lines pending of those that have had an edge.
    const fn pend(&mut self, rising: u32, falling: u32) {
        let (rising, falling) = (rising & self.rising, falling & self.falling);
        match self.layout {
            ExtiLayout::V1 | ExtiLayout::H7 => self.pending |= rising | falling,
            ExtiLayout::V2 => {
                self.pending |= rising;
                self.pending_falling |= falling;
            }
        }
    }

    /// Takes note of edges of another device's outputs, or of a port's pins.
    pub fn notify(&mut self, base: u32, edges: OutputEdges, now: u64) {
        self.see(now);
        let OutputEdges { rising, falling } = edges;
        if let Some((_, port)) = self.port_bases.iter().find(|(at, _)| *at == base) {
            let here = (0..LINES).filter(|line| self.ports[usize::from(*line)] == *port);
            let mut lines = here.fold(0, |lines, line| lines | 1 << line);
            for (line, _) in self.routed() {
                lines &= !(1 << line);
            }
            self.pend(rising & lines, falling & lines);
        }
        let others = Arc::clone(&self.others);
        for SharedLine { output, line, .. } in others.iter().filter(|other| other.base == base) {
            self.pend((rising >> output & 1) << line, (falling >> output & 1) << line);
        }
    }

    /// Makes lines pending that a program triggers; in V1, only those that are not masked.
    fn trigger(&mut self, lines: u32) {
        match self.layout {
            ExtiLayout::V1 => {
                self.pending |= lines & !self.software & self.interrupt_mask;
                self.software |= lines;
            }
            ExtiLayout::V2 | ExtiLayout::H7 => self.pending |= lines,
        }
    }
}

impl DeviceModel for Exti {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.see(env.now);
        Some(match self.layout.register(offset)? {
            ExtiRegister::InterruptMask => self.interrupt_mask,
            ExtiRegister::EventMask => self.event_mask,
            ExtiRegister::Rising => self.rising,
            ExtiRegister::Falling => self.falling,
            ExtiRegister::Software => self.software,
            ExtiRegister::Pending => self.pending,
            ExtiRegister::PendingFalling => self.pending_falling,
            ExtiRegister::Ports(first) => {
                u32::from_le_bytes([0, 1, 2, 3].map(|at| self.ports[first + at]))
            }
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.see(env.now);
        let store = |held: &mut u32| *held = *held & !mask | value & mask;
        match self.layout.register(offset)? {
            ExtiRegister::InterruptMask => {
                env.effects.without_model |= value & mask & !self.interrupt_mask & !self.lines != 0;
                store(&mut self.interrupt_mask);
            }
            ExtiRegister::EventMask => store(&mut self.event_mask),
            ExtiRegister::Rising => store(&mut self.rising),
            ExtiRegister::Falling => store(&mut self.falling),
            ExtiRegister::Software => self.trigger(value & mask & self.lines),
            ExtiRegister::Pending => {
                self.pending &= !(value & mask);
                self.software &= !(value & mask);
            }
            ExtiRegister::PendingFalling => self.pending_falling &= !(value & mask),
            ExtiRegister::Ports(first) => {
                let wanted = (first..).zip(value.to_le_bytes().into_iter().zip(mask.to_le_bytes()));
                for (line, (port, mask)) in wanted {
                    self.ports[line] = self.ports[line] & !mask | port & mask;
                }
            }
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        let pending = (self.pending | self.pending_falling) & self.interrupt_mask;
        // The interrupts of the other lines follow those of the pins'.
        let others = (LINES..).zip(self.others.iter());
        others
            .fold(pending & ALL, |outputs, (at, other)| outputs | (pending >> other.line & 1) << at)
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.see(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.routed().filter_map(|(_, drive)| drive.next(self.seen)).min()
    }

    fn drive(&mut self, pin: &str, drive: &Drive) {
        if let Some(pin) = named(pin) {
            self.driven.drive(pin, drive);
        }
    }
}
