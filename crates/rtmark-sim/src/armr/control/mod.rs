//! Coprocessor 15: identity, control, protection, fault status and counters.
//!
//! Sources: DDI 0460 (Cortex-R5), chapter 4, and DDI 0363 (Cortex-R4), chapter 4; DDI 0406, B5 and
//! B6. Caches hold no contents in this model, so maintenance only changes which accesses hit.

mod counters;
mod protection;

pub use counters::Counters;
pub use protection::{AccessFault, CachePolicy, Kind, Protection};

/// Bits of SCTLR.
pub mod sctlr {
    /// Protection, alignment checks, data cache, background region, instruction cache, high vectors.
    pub const M: u32 = 1;
    pub const A: u32 = 1 << 1;
    pub const C: u32 = 1 << 2;
    pub const Z: u32 = 1 << 11;
    pub const I: u32 = 1 << 12;
    pub const V: u32 = 1 << 13;
    pub const RR: u32 = 1 << 14;
    pub const BR: u32 = 1 << 17;
    /// Division by zero is an undefined instruction.
    pub const DZ: u32 = 1 << 19;
    pub const FI: u32 = 1 << 21;
    pub const VE: u32 = 1 << 24;
    /// EE: exceptions are taken big-endian. TE: they are taken in T32.
    pub const EE: u32 = 1 << 25;
    pub const TE: u32 = 1 << 30;
    /// Bits that read as one.
    pub const ONES: u32 = 0x00C5_0078;
    pub const WRITABLE: u32 = M | A | C | Z | I | V | RR | BR | DZ | FI | VE | EE | TE;
}

/// Bits of ACTLR; a set bit disables a unit.
pub mod actlr {
    /// Dual issue of cases A, B1 and C. What B2 (bit 30) pairs is unknown.
    pub const DIADI: u32 = 1 << 28;
    pub const DIB1DI: u32 = 1 << 29;
    pub const DICDI: u32 = 1 << 31;
    /// End-of-loop prediction, branch history, return stack.
    pub const DEOLP: u32 = 1 << 21;
    pub const DBHE: u32 = 1 << 20;
    pub const RSDIS: u32 = 1 << 17;
    /// Returns the branch prediction policy: 0 normal, 1 always taken, 2 never taken.
    pub const fn policy(value: u32) -> u32 {
        value >> 15 & 3
    }
}

/// A coprocessor register, as instructions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemRegister {
    pub coprocessor: u8,
    pub opc1: u8,
    pub n: u8,
    pub m: u8,
    pub opc2: u8,
}

impl SystemRegister {
    /// Unpacks the fields that decoding has put into an immediate.
    pub const fn of(imm: u32) -> Self {
        Self {
            coprocessor: (imm >> 16 & 15) as u8,
            opc1: (imm >> 12 & 15) as u8,
            n: (imm >> 8 & 15) as u8,
            m: (imm >> 4 & 15) as u8,
            opc2: (imm & 15) as u8,
        }
    }
}

/// The effect of a write on caches and predictors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    /// No effect.
    Nothing,
    /// Invalidates all of the instruction cache, or the line of an address.
    Instructions(Option<u32>),
    /// Invalidates all of the data cache, the line of an address, or the line at a set and way.
    Data(Option<u32>),
    DataSetWay(u32),
    /// Writes dirty lines back and invalidates nothing.
    Clean,
    /// Empties the branch predictors.
    Predictors,
    /// Acts as DSB; `Flush` acts as ISB.
    Synchronize,
    Flush,
}

/// The counts that a register may expose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    pub cycle: u64,
    pub instructions: u64,
}

/// Coprocessor 15.
#[derive(Clone, Debug)]
pub struct Control {
    pub sctlr: u32,
    pub actlr: u32,
    pub cpacr: u32,
    pub data_fault: u32,
    pub data_address: u32,
    pub code_fault: u32,
    pub code_address: u32,
    auxiliary_faults: [u32; 2],
    pub protection: Protection,
    pub counters: Counters,
    cache_selected: u32,
    /// CONTEXTIDR and the three thread ID registers.
    thread: [u32; 4],
    tcm: [u32; 2],
    /// Registers that keep what is written and have no effect in this model: slave port, ports,
    /// secondary auxiliary control.
    kept: [u32; 4],
}

/// The identity registers of a Cortex-R5 r1p3 (DDI 0460, 4.3): CRm, opc2 and value.
const IDENTITY: &[(u8, u8, u32)] = &[
    (0, 0, 0x411F_C153),
    // CTR: lines of 8 words.
    (0, 1, 0x8003_C003),
    (0, 2, 0x0001_0001),
    (0, 5, 0xC000_0000),
    (1, 0, 0x0000_0131),
    (1, 1, 0x0000_0001),
    (1, 2, 0x0001_0400),
    (1, 3, 0),
    (1, 4, 0x0021_0030),
    (1, 5, 0),
    (1, 6, 0x0120_0000),
    (1, 7, 0x0000_0211),
    (2, 0, 0x0210_1111),
    (2, 1, 0x1311_2111),
    (2, 2, 0x2123_2141),
    (2, 3, 0x0111_2131),
    (2, 4, 0x0001_0142),
    (2, 5, 0),
];

impl Control {
    /// Creates the state after a reset, with `regions` in the protection unit. Chips may tie the
    /// vectors high, or let software choose before the core starts: the signal VINITHI is what SCTLR.V is then
    /// (DDI 0460, c1, System Control Register).
    pub fn new(regions: u8, high_vectors: bool) -> Self {
        Self {
            sctlr: sctlr::ONES | if high_vectors { sctlr::V } else { 0 },
            actlr: 0,
            cpacr: 0,
            data_fault: 0,
            data_address: 0,
            code_fault: 0,
            code_address: 0,
            auxiliary_faults: [0; 2],
            protection: Protection::new(regions),
            counters: Counters::default(),
            cache_selected: 0,
            thread: [0; 4],
            tcm: [0; 2],
            kept: [0; 4],
        }
    }

    /// Returns the base address of the exception vectors.
    pub const fn vectors(&self) -> u32 {
        if self.sctlr & sctlr::V != 0 { 0xFFFF_0000 } else { 0 }
    }

    /// Returns whether a program may use floating point.
    pub const fn allows_float(&self, privileged: bool) -> bool {
        // Coprocessors 10 and 11 must have the same setting.
        match self.cpacr >> 20 & 3 {
            3 => true,
            1 => privileged,
            _ => false,
        }
    }

    /// Reads a register. Returns `None` if it does not exist or the program may not read it.
    pub fn read(&self, place: SystemRegister, privileged: bool, now: CounterValues) -> Option<u32> {
        let SystemRegister { coprocessor, opc1, n, m, opc2 } = place;
        if coprocessor == 14 {
            // DBGDIDR and DBGDSCR, by which programs check for a debugger.
            return (privileged && opc1 == 0 && opc2 == 0 && n == 0).then_some(0);
        }
        if coprocessor != 15 {
            return None;
        }
        if n == 9 && matches!(m, 12..=14) && opc1 == 0 {
            let allowed = privileged || self.counters.allows_users() || (m, opc2) == (14, 0);
            return allowed.then(|| self.counters.read(m, opc2, now)).flatten();
        }
        match (opc1, n, m, opc2) {
            (0, 13, 0, 2) => return Some(self.thread[1]),
            (0, 13, 0, 3) => return Some(self.thread[2]),
            _ if !privileged => return None,
            _ => {}
        }
        Some(match (opc1, n, m, opc2) {
            (0, 0, 0, 4) => u32::from(self.protection.regions()) << 8,
            (0, 0, ..) => {
                // Unnamed registers read as the main identity register.
                let found =
                    IDENTITY.iter().find(|(line_m, line_2, _)| (m, opc2) == (*line_m, *line_2));
                found.or_else(|| IDENTITY.first().filter(|_| m == 0))?.2
            }
            // 32 KiB, 4 ways, lines of 8 words (DDI 0460, 4.3.19).
            (1, 0, 0, 0) => 0xF01F_E019,
            (1, 0, 0, 1) => 0x0920_0003,
            (1, 0, 0, 7) => 0,
            (2, 0, 0, 0) => self.cache_selected,
            (0, 1, 0, 0) => self.sctlr,
            (0, 1, 0, 1) => self.actlr,
            (0, 1, 0, 2) => self.cpacr,
            (0, 5, 0, 0) => self.data_fault,
            (0, 5, 0, 1) => self.code_fault,
            (0, 5, 1, 0) => self.auxiliary_faults[0],
            (0, 5, 1, 1) => self.auxiliary_faults[1],
            (0, 6, 0, 0) => self.data_address,
            (0, 6, 0, 2) => self.code_address,
            (0, 6, 1, 0) => self.protection.selected().base,
            (0, 6, 1, 2) => self.protection.selected().size,
            (0, 6, 1, 4) => self.protection.selected().access,
            (0, 6, 2, 0) => self.protection.number,
            (0, 9, 1, 0 | 1) => self.tcm[opc2 as usize],
            (0, 9, 2, 0) => 0,
            (0, 11, 0, 0) => self.kept[0],
            (0, 13, 0, 0) => 0,
            (0, 13, 0, 1) => self.thread[0],
            (0, 13, 0, 4) => self.thread[3],
            (0, 15, 0, 0) => self.kept[1],
            (0, 15, 0, 1..=3) => self.kept[opc2 as usize],
            (0, 15, 1..=3, _) => 0,
            _ => return None,
        })
    }

    /// Writes a register. Returns `None` if it does not exist or the program may not write it.
    pub fn write(
        &mut self,
        place: SystemRegister,
        value: u32,
        privileged: bool,
        now: CounterValues,
    ) -> Option<Maintenance> {
        let SystemRegister { coprocessor, opc1, n, m, opc2 } = place;
        if coprocessor != 15 {
            return None;
        }
        if n == 9 && matches!(m, 12..=14) && opc1 == 0 {
            let allowed = privileged || self.counters.allows_users() && m != 14;
            return allowed
                .then(|| self.counters.write(m, opc2, value, now))
                .flatten()
                .map(|()| Maintenance::Nothing);
        }
        match (opc1, n, m, opc2) {
            (0, 13, 0, 2) => {
                self.thread[1] = value;
                return Some(Maintenance::Nothing);
            }
            (0, 7, 5, 4) => return Some(Maintenance::Flush),
            (0, 7, 10, 4 | 5) => return Some(Maintenance::Synchronize),
            _ if !privileged => return None,
            _ => {}
        }
        match (opc1, n, m, opc2) {
            (2, 0, 0, 0) => self.cache_selected = value & 0xF,
            (0, 1, 0, 0) => {
                self.sctlr = value & sctlr::WRITABLE | sctlr::ONES & !sctlr::WRITABLE;
                self.protection.set(value & sctlr::M != 0, value & sctlr::BR != 0);
            }
            (0, 1, 0, 1) => self.actlr = value,
            (0, 1, 0, 2) => self.cpacr = value & 0xC0F0_0000,
            (0, 5, 0, 0) => self.data_fault = value,
            (0, 5, 0, 1) => self.code_fault = value,
            (0, 5, 1, 0 | 1) => self.auxiliary_faults[opc2 as usize] = value,
            (0, 6, 0, 0) => self.data_address = value,
            (0, 6, 0, 2) => self.code_address = value,
            (0, 6, 1, 0) => self.protection.write(|region| region.base = value & !0x1F),
            (0, 6, 1, 2) => self.protection.write(|region| region.size = value & 0xFF3F),
            (0, 6, 1, 4) => self.protection.write(|region| region.access = value & 0x173F),
            (0, 6, 2, 0) => self.protection.number = value & 0xF,
            (0, 7, ..) | (0, 15, 5, 0) => return maintain(place, value),
            (0, 9, 1, 0 | 1) => self.tcm[opc2 as usize] = value,
            (0, 11, 0, 0) => self.kept[0] = value,
            (0, 13, 0, 1) => self.thread[0] = value,
            (0, 13, 0, 3) => self.thread[2] = value,
            (0, 13, 0, 4) => self.thread[3] = value,
            (0, 15, 0, 0) => self.kept[1] = value,
            (0, 15, 0, 1..=3) => self.kept[opc2 as usize] = value,
            (0, 15, 1..=3 | 14, _) => {}
            _ => return None,
        }
        Some(Maintenance::Nothing)
    }

    /// Records the reason for a data abort.
    pub const fn note_data_fault(&mut self, address: u32, status: u32, writes: bool) {
        self.data_fault = status & 0xF | (status >> 4 & 1) << 10 | (writes as u32) << 11;
        self.data_address = address;
    }

    /// Records the reason for a prefetch abort.
    pub const fn note_code_fault(&mut self, address: u32, status: u32) {
        self.code_fault = status & 0xF | (status >> 4 & 1) << 10;
        self.code_address = address;
    }
}

/// Returns the effect of a write to a cache maintenance register (DDI 0460, 4.3.22 (c7) and 4.3.47
/// (c15: invalidate all of the data cache)).
const fn maintain(place: SystemRegister, value: u32) -> Option<Maintenance> {
    use Maintenance as M;
    Some(match (place.n, place.m, place.opc2) {
        // The address operation that waits for interrupts in older architectures has no effect
        // here.
        (7, 0, 4) | (7, 13, 1) => M::Nothing,
        (7, 1 | 5, 0) => M::Instructions(None),
        (7, 5, 1) => M::Instructions(Some(value)),
        (7, 1 | 5, 6 | 7) => M::Predictors,
        (7, 6 | 14, 1) => M::Data(Some(value)),
        (7, 6 | 14, 2) => M::DataSetWay(value),
        (7, 10 | 11, 1 | 2) => M::Clean,
        (15, 5, 0) => M::Data(None),
        _ => return None,
    })
}
