//! The interrupt controller of a Zynq UltraScale+'s real-time processing unit: a PL390, which is a
//! GIC of architecture version 1, as the first of its two cores sees it.
//!
//! Sources: IHI 0048, chapters 3 to 5; DDI 0416 (PL390). Each interrupt belongs to a group (the
//! security state of AM011, "General Interrupt Controller"). A Cortex-R5's accesses are Secure, so
//! it sees both groups. Interrupts of group 0 raise FIQ if the program selects that (IHI 0048,
//! 4.4.1).

use crate::soc::{FIRST_PRIVATE, PeripheralKind, Soc};

/// The number of a peripheral's first interrupt; software and the core itself have the lower
/// numbers.
pub const FIRST_SHARED: u16 = 32;

/// Returns the exception number by which watches, observers and reports know an interrupt of the
/// controller.
pub const fn exception(id: u16) -> u16 {
    match id.checked_sub(FIRST_SHARED) {
        Some(interrupt) => FIRST_EXTERNAL + interrupt,
        None => FIRST_PRIVATE + id,
    }
}
/// Target filters of software-generated interrupts: to the listed cores, to all others, or to the
/// sender (IHI 0048, 4.3.15).
const TO_LISTED: u32 = 0;
const TO_SENDER: u32 = 2;
/// The exception number of a peripheral's first interrupt.
pub const FIRST_EXTERNAL: u16 = 16;
/// The words of a bitmap with one bit for each interrupt.
const WORDS: usize = 8;
const MAX_INTERRUPTS: usize = 32 * WORDS;
/// The words of a bitmap with two bits for each interrupt.
const EDGE_WORDS: usize = 2 * WORDS;
/// The value that an acknowledgement reads when nothing is pending.
const SPURIOUS: u32 = 1023;
/// The value that it reads when the pending interrupt is of group 1 and only group 0 was asked for
/// (IHI 0048, 3.2.5).
const OTHER_GROUP: u32 = 1022;
/// Bits of the Secure copy of GICC_CTLR (IHI 0048, 4.4.1).
const ACKNOWLEDGES_ALL: u32 = 1 << 2;
const FIQ_ENABLE: u32 = 1 << 3;
const COMMON_BINARY_POINT: u32 = 1 << 4;
/// GICD_TYPER.SecurityExtn (IHI 0048, 4.3.2).
const HAS_GROUPS: u32 = 1 << 10;
/// GICD_TYPER.CPUNumber: there is an interface for each of the two cores (UG1085, "RPU GIC Interrupt
/// Controller"), although only the first core runs.
const TWO_CORES: u32 = 1 << 5;
/// With more than one core, the targets of private interrupts are the core that reads them (IHI 0048,
/// 4.3.12): here always the first one.
const READING_CORE: u32 = 0x0101_0101;
/// The running priority while no interrupt is active.
const IDLE: u8 = 0xFF;
const EXTENT: u32 = 0x2000;

/// The interrupt inputs of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptLine {
    Irq,
    Fiq,
}

/// An interrupt controller.
#[derive(Clone, Debug)]
pub struct Gic {
    base: u32,
    /// The number of interrupts, and the implemented bits of a priority.
    count: u16,
    priority_mask: u8,
    /// GICD_CTLR and GICC_CTLR. Their lowest bits enable the groups.
    distributor: u32,
    interface: u32,
    /// The priority mask: interrupts must be more urgent (numerically lower) to be signalled.
    mask: u8,
    /// The binary point of each group.
    binary_points: [u8; 2],
    /// One bit for each interrupt, set if it is of group 1.
    groups: [u32; WORDS],
    enabled: [u32; WORDS],
    /// Made pending by software or by an edge.
    latched: [u32; WORDS],
    /// Levels driven by peripherals.
    levels: [u32; WORDS],
    active: [u32; WORDS],
    /// Two bits for each interrupt, of which the upper one selects edge-triggering.
    edges: [u32; EDGE_WORDS],
    priorities: Vec<u8>,
    targets: Vec<u8>,
    /// Interrupts acknowledged and not yet ended, the latest last.
    running: Vec<u16>,
    /// The interrupt acknowledged last, for watches.
    acknowledged: Option<u16>,
}

const fn bit(id: u16) -> (usize, u32) {
    (id as usize / 32, 1 << (id % 32))
}

/// Returns the index of a configuration register (GICD_ICFGR) at an offset.
const fn edge_word(offset: u32) -> usize {
    (offset as usize & 0xFC) / 4 % EDGE_WORDS
}

impl Gic {
    /// Creates the controller of a soc, if its file describes one.
    pub fn of(soc: &Soc) -> Option<Self> {
        let place = soc.peripherals.iter().find(|it| it.kind == PeripheralKind::Pl390)?;
        Some(Self {
            base: place.base,
            count: (FIRST_SHARED + soc.interrupts).min(MAX_INTERRUPTS as u16),
            priority_mask: 0xFF << (8 - soc.priority_bits.clamp(1, 8)),
            distributor: 0,
            interface: 0,
            mask: 0,
            binary_points: [0, 1],
            groups: [0; WORDS],
            // Software-generated interrupts are always enabled.
            enabled: [0xFFFF, 0, 0, 0, 0, 0, 0, 0],
            latched: [0; WORDS],
            levels: [0; WORDS],
            active: [0; WORDS],
            edges: [0; EDGE_WORDS],
            priorities: vec![0; MAX_INTERRUPTS],
            targets: vec![0; MAX_INTERRUPTS],
            running: Vec::new(),
            acknowledged: None,
        })
    }

    /// Returns the offset of an address, if it belongs to the controller's registers.
    pub const fn offset(&self, address: u32) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        if offset < EXTENT { Some(offset) } else { None }
    }

    /// Changes the level of a peripheral's output.
    pub const fn drive(&mut self, id: u16, high: bool) {
        let (word, bit) = bit(id);
        if word >= WORDS {
            return;
        }
        let rises = high && self.levels[word] & bit == 0;
        if high {
            self.levels[word] |= bit;
        } else {
            self.levels[word] &= !bit;
        }
        if rises && self.is_edge(id) {
            self.latched[word] |= bit;
        }
    }

    const fn is_edge(&self, id: u16) -> bool {
        let word = self.edges[(id as usize / 16) % EDGE_WORDS];
        id < 16 || word >> (id % 16 * 2 + 1) & 1 == 1
    }

    /// Makes an interrupt pending, as an edge does.
    pub const fn pend(&mut self, id: u16) {
        let (word, bit) = bit(id);
        if word < WORDS {
            self.latched[word] |= bit;
        }
    }

    fn pending(&self, word: usize) -> u32 {
        let first = word as u16 * 32;
        let edges = (0..32u16).filter(|at| self.is_edge(first + at));
        let by_level = !edges.fold(0, |edges, at| edges | 1 << at);
        self.latched[word] | self.levels[word] & by_level
    }

    /// Returns all pending interrupts as a bitmap by number.
    pub fn all_pending(&self) -> [u32; WORDS] {
        std::array::from_fn(|word| self.pending(word))
    }

    /// Returns whether writing a register may make an interrupt pending.
    pub const fn writes_pending(offset: u32) -> bool {
        matches!(offset & !3, 0x200..=0x27C | 0xF00)
    }

    pub fn is_pending(&self, id: u16) -> bool {
        let (word, bit) = bit(id);
        word < WORDS && self.pending(word) & bit != 0
    }

    pub fn is_enabled(&self, id: u16) -> bool {
        let (word, bit) = bit(id);
        let shared =
            id < FIRST_SHARED || self.targets.get(id as usize).is_some_and(|it| it & 1 == 1);
        let groups = self.distributor & self.interface;
        let group = groups >> self.group(id) & 1 == 1;
        word < WORDS && self.enabled[word] & bit != 0 && group && shared
    }

    /// Returns the group of an interrupt.
    const fn group(&self, id: u16) -> usize {
        let (word, bit) = bit(id);
        if word < WORDS && self.groups[word] & bit != 0 { 1 } else { 0 }
    }

    /// Returns the core input on which an interrupt is signalled.
    pub const fn line(&self, id: u16) -> InterruptLine {
        let fast = self.group(id) == 0 && self.interface & FIQ_ENABLE != 0;
        if fast { InterruptLine::Fiq } else { InterruptLine::Irq }
    }

    /// Enables an interrupt for this core at a priority.
    pub fn arm(&mut self, id: u16, priority: u8) -> bool {
        let (word, bit) = bit(id);
        if id >= self.count {
            return false;
        }
        self.enabled[word] |= bit;
        self.priorities[id as usize] = priority & self.priority_mask;
        self.targets[id as usize] |= 1;
        true
    }

    pub fn priority(&self, id: u16) -> u8 {
        self.priorities.get(id as usize).copied().unwrap_or(0)
    }

    fn running_priority(&self) -> u8 {
        self.running.last().map_or(IDLE, |id| self.priority(*id) & self.group_mask(*id))
    }

    /// Returns the bits of an interrupt's priority that matter for preemption. Group 1 has its own
    /// binary point, whose value leaves one bit more (IHI 0048, 3.3.3).
    const fn group_mask(&self, id: u16) -> u8 {
        let low = match self.group(id) {
            1 if self.interface & COMMON_BINARY_POINT == 0 => self.binary_points[1],
            _ => self.binary_points[0] + 1,
        };
        ((0xFF << low) & 0xFF_u32) as u8
    }

    /// Returns whether an interrupt of a priority would be signalled now.
    pub fn would_signal(&self, id: u16, priority: u8) -> bool {
        priority < self.mask && priority & self.group_mask(id) < self.running_priority()
    }

    /// Returns the most urgent pending interrupt; among equal priorities, the one with the lowest
    /// number.
    fn highest(&self) -> Option<u16> {
        let mut best: Option<(u8, u16)> = None;
        for word in 0..WORDS {
            let groups = match self.distributor & 3 {
                0 => return None,
                1 => !self.groups[word],
                2 => self.groups[word],
                _ => u32::MAX,
            };
            let mut wanted = self.pending(word) & self.enabled[word] & groups & !self.active[word];
            while wanted != 0 {
                let id = word as u16 * 32 + wanted.trailing_zeros() as u16;
                wanted &= wanted - 1;
                let here = id < FIRST_SHARED || self.targets[id as usize] & 1 == 1;
                let found = (self.priority(id), id);
                if here && best.is_none_or(|best| found < best) {
                    best = Some(found);
                }
            }
        }
        best.map(|(_, id)| id)
    }

    /// Returns the interrupt signalled to the core.
    pub fn signalled(&self) -> Option<u16> {
        let id = self.highest().filter(|id| self.interface >> self.group(*id) & 1 == 1)?;
        self.would_signal(id, self.priority(id)).then_some(id)
    }

    /// Returns whether reads of the most urgent interrupt do not show this one.
    const fn is_hidden(&self, id: u16) -> bool {
        self.group(id) == 1 && self.interface & ACKNOWLEDGES_ALL == 0
    }

    fn acknowledge(&mut self) -> u32 {
        let Some(id) = self.signalled() else { return SPURIOUS };
        if self.is_hidden(id) {
            return OTHER_GROUP;
        }
        let (word, bit) = bit(id);
        self.latched[word] &= !bit;
        self.active[word] |= bit;
        self.running.push(id);
        self.acknowledged = Some(id);
        id.into()
    }

    /// Returns the interrupt acknowledged since the last call.
    pub const fn take_acknowledged(&mut self) -> Option<u16> {
        self.acknowledged.take()
    }

    /// Returns whether reading a register shows what is pending.
    pub const fn reads_pending(offset: u32) -> bool {
        matches!(offset & !3, 0x200..=0x2FC | 0x100C | 0x1018)
    }

    fn end(&mut self, id: u16) {
        let (word, bit) = bit(id);
        if let Some(at) = self.running.iter().rposition(|running| *running == id) {
            self.running.remove(at);
            self.active[word] &= !bit;
        }
    }

    /// Reads a register.
    pub fn read(&mut self, offset: u32) -> u32 {
        let word = (offset as usize & 0x7F) / 4 % WORDS;
        let bytes = |bytes: &[u8]| {
            let at = (offset as usize & 0x3FC).min(MAX_INTERRUPTS - 4);
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        match offset & !3 {
            0x000 => self.distributor,
            0x004 => HAS_GROUPS | TWO_CORES | (u32::from(self.count).div_ceil(32) - 1),
            // The identity of a PL390.
            0x008 => 0x0102_043B,
            0x080..=0x0FC => self.groups[word],
            0x100..=0x17C | 0x180..=0x1FC => self.enabled[word],
            0x200..=0x27C | 0x280..=0x2FC => self.pending(word),
            0x300..=0x37C => self.active[word],
            0x400..=0x7FC => bytes(&self.priorities),
            0x800..=0x81C => READING_CORE,
            0x820..=0xBFC => bytes(&self.targets),
            0xC00..=0xCFC => self.edges[edge_word(offset)],
            0x1000 => self.interface,
            0x1004 => self.mask.into(),
            0x1008 => self.binary_points[0].into(),
            0x100C => self.acknowledge(),
            0x1014 => self.running_priority().into(),
            0x1018 => match self.highest() {
                Some(id) if self.is_hidden(id) => OTHER_GROUP,
                highest => highest.map_or(SPURIOUS, u32::from),
            },
            0x101C => self.binary_points[1].into(),
            0x10FC => 0x3901_243B,
            _ => 0,
        }
    }

    /// Writes the bits of a register that `mask` selects.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) {
        let word = (offset as usize & 0x7F) / 4 % WORDS;
        let value = value & mask;
        match offset & !3 {
            0x000 => self.distributor = value & 3,
            0x080..=0x0FC => self.groups[word] = self.groups[word] & !mask | value,
            0x100..=0x17C => self.enabled[word] |= value,
            0x180..=0x1FC => self.enabled[word] &= !value | if word == 0 { 0xFFFF } else { 0 },
            0x200..=0x27C => self.latched[word] |= value,
            0x280..=0x2FC => self.latched[word] &= !value,
            0x400..=0x7FC => {
                let kept = self.priority_mask;
                write_bytes(&mut self.priorities, offset, value, mask, kept);
            }
            // Those of private interrupts are read-only.
            0x820..=0xBFC => write_bytes(&mut self.targets, offset, value, mask, 0xFF),
            0xC00..=0xCFC => {
                let word = edge_word(offset);
                self.edges[word] = self.edges[word] & !mask | value;
            }
            0xF00 => {
                let filter = value >> 24 & 3;
                let listed = filter == TO_LISTED && value >> 16 & 1 == 1;
                if listed || filter == TO_SENDER {
                    self.pend((value & 0xF) as u16);
                }
            }
            0x1000 => self.interface = value & 0x1F,
            0x1004 => self.mask = value as u8 & self.priority_mask,
            0x1008 => self.binary_points[0] = value as u8 & 7,
            0x101C => self.binary_points[1] = (value as u8 & 7).max(1),
            0x1010 => self.end((value & 0x3FF) as u16),
            _ => {}
        }
    }
}

/// Writes the bytes of a word that a mask selects, limited to their implemented bits.
fn write_bytes(bytes: &mut [u8], offset: u32, value: u32, mask: u32, bits: u8) {
    let at = offset as usize & 0x3FC;
    for (lane, byte) in bytes.iter_mut().skip(at).take(4).enumerate() {
        let selected = (mask >> (8 * lane)) as u8;
        *byte = (*byte & !selected | (value >> (8 * lane)) as u8 & selected) & bits;
    }
}

#[cfg(test)]
mod tests;
