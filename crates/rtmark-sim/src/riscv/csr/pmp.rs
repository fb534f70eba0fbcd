//! Physical memory protection: 11 regions with a granularity of 32 bytes, of which the last three
//! are fixed.
//!
//! Sources: the RISC-V privileged specification 1.12, 3.7; RP2350 datasheet, 3.8.3 (only OFF and
//! NAPOT, 32 bytes at least, PMPCFGM0) and 3.8.8.1 (the fixed regions); where they leave a question
//! open, the RTL at the revision that RP2350 reports.

/// The number of regions, including the [`FIXED`] ones.
const REGIONS: usize = 11;
const FIXED: [u32; 3] = [
    // The ROM, the peripherals, the core-local peripherals: RP2350 datasheet, 3.8.8.1.
    napot(0, 28),
    napot(0x4000_0000, 29),
    napot(0xD000_0000, 28),
];
/// User mode has full access to the fixed regions. ACCESSCTRL restricts it on the chip, which is
/// not modelled.
const FIXED_CONFIG: u8 = CONFIG_NAPOT | READ | WRITE | EXECUTE;
const FIRST_FIXED: usize = REGIONS - FIXED.len();

/// The permission bits are in the reverse order of the specification's (RP2350 datasheet, erratum
/// RP2350-E6).
const READ: u8 = 1 << 2;
const WRITE: u8 = 1 << 1;
const EXECUTE: u8 = 1;
const CONFIG_MODE: u8 = 3 << 3;
const CONFIG_NAPOT: u8 = 3 << 3;
const LOCK: u8 = 1 << 7;
/// The two lowest address bits are always ones: a granularity of 32 bytes. In the RTL they read as
/// zeros while the region is enabled; according to the datasheet (3.8.3.1) they read as ones then.
const GRAIN: u32 = 3;

/// Returns the PMPADDR of a naturally aligned range of two to the power of `log` bytes.
const fn napot(base: u32, log: u32) -> u32 {
    (base >> 2) | ((1 << (log - 3)) - 1)
}

/// The first CSR numbers of the unit.
pub const PMPCFG0: u16 = 0x3A0;
pub const PMPADDR0: u16 = 0x3B0;
pub const PMPCFGM0: u16 = 0xBD0;

/// The purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Write,
    Execute,
}

/// The unit's registers.
#[derive(Clone, Debug)]
pub struct Pmp {
    config: [u8; REGIONS],
    address: [u32; REGIONS],
    /// Regions that apply in machine mode too, although they are not locked (Xh3pmpm).
    machine: u32,
    /// Whether any region applies in machine mode.
    guards_machine: bool,
    /// Whether any region other than the fixed ones is enabled.
    is_on: bool,
    /// Whether the core lacks the unit, so that everything is allowed.
    absent: bool,
}

impl Default for Pmp {
    fn default() -> Self {
        let mut pmp = Self {
            config: [0; REGIONS],
            address: [GRAIN; REGIONS],
            machine: 0,
            guards_machine: false,
            is_on: false,
            absent: false,
        };
        for (at, address) in (FIRST_FIXED..).zip(FIXED) {
            (pmp.address[at], pmp.config[at]) = (address, FIXED_CONFIG);
        }
        pmp
    }
}

impl Pmp {
    /// Creates the unit of a core that has none.
    pub fn absent() -> Self {
        Self { absent: true, ..Self::default() }
    }

    /// Returns the value of a register of the unit.
    pub fn read(&self, number: u16) -> u32 {
        match number {
            PMPCFGM0 => self.machine,
            PMPADDR0.. => self.read_address(usize::from(number - PMPADDR0)),
            _ => {
                let first = usize::from(number - PMPCFG0) * 4;
                let byte = |at: usize| self.config.get(first + at).copied().unwrap_or(0);
                u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
            }
        }
    }

    fn read_address(&self, region: usize) -> u32 {
        let Some(&address) = self.address.get(region) else { return 0 };
        let on = self.config[region] & CONFIG_MODE != 0;
        if region < FIRST_FIXED && on { address & !GRAIN } else { address }
    }

    /// Writes a register of the unit. Locked and fixed regions do not change.
    pub fn write(&mut self, number: u16, value: u32) {
        match number {
            PMPCFGM0 => self.machine = value & ((1 << FIRST_FIXED) - 1),
            PMPADDR0.. => {
                let region = usize::from(number - PMPADDR0);
                if self.is_open(region) {
                    self.address[region] = value & 0x3FFF_FFFF | GRAIN;
                }
            }
            _ => {
                let first = usize::from(number - PMPCFG0) * 4;
                for (region, byte) in (first..).zip(value.to_le_bytes()) {
                    if self.is_open(region) {
                        let napot = byte & CONFIG_MODE == CONFIG_NAPOT;
                        let mode = if napot { CONFIG_NAPOT } else { 0 };
                        self.config[region] = byte & (LOCK | READ | WRITE | EXECUTE) | mode;
                    }
                }
            }
        }
        let locked = self.config.iter().any(|config| config & LOCK != 0);
        self.guards_machine = locked || self.machine != 0;
        let mut open = self.config.iter().take(FIRST_FIXED);
        self.is_on = open.any(|config| config & CONFIG_MODE != 0);
    }

    fn is_open(&self, region: usize) -> bool {
        region < FIRST_FIXED && self.config[region] & LOCK == 0
    }

    fn region(&self, address: u32) -> Option<usize> {
        (0..REGIONS).find(|&region| {
            let pattern = self.address[region];
            // The trailing ones and the zero above them are ignored, as are the two bits below.
            let mask = !((pattern ^ (pattern + 1)) << 2 | 3);
            self.config[region] & CONFIG_MODE != 0 && address & mask == (pattern << 2) & mask
        })
    }

    /// Returns whether an access is allowed; `machine` is its privilege.
    pub fn allows(&self, address: u32, purpose: Purpose, machine: bool) -> bool {
        if machine && !self.guards_machine || self.absent {
            return true;
        }
        self.permits(self.region(address), purpose, machine)
    }

    /// Returns whether everything is allowed with a privilege.
    pub const fn is_open_to_all(&self, machine: bool) -> bool {
        machine && !self.guards_machine && !self.is_on || self.absent
    }

    /// Returns whether the region of an access permits it.
    fn permits(&self, region: Option<usize>, purpose: Purpose, machine: bool) -> bool {
        let Some(region) = region else { return machine };
        let config = self.config[region];
        let holds = !machine || config & LOCK != 0 || self.machine >> region & 1 == 1;
        let bit = match purpose {
            Purpose::Read => READ,
            Purpose::Write => WRITE,
            Purpose::Execute => EXECUTE,
        };
        !holds || config & bit != 0
    }

    /// Returns whether an instruction may be executed. An instruction that is only half in a region
    /// is refused in every mode (RP2350 datasheet, 3.8.3.3). For a 16-bit instruction, the RTL
    /// checks the halfword after it too, so that a region of a lower number that begins there
    /// decides.
    pub fn allows_code(&self, address: u32, size: u8, machine: bool) -> bool {
        if self.is_open_to_all(machine) {
            return true;
        }
        let (first, behind) = (self.region(address), self.region(address.wrapping_add(2)));
        if size == 4 && first != behind {
            return false;
        }
        let lowest = first.into_iter().chain(behind).min();
        self.permits(lowest, Purpose::Execute, machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: u32 = 0x2000_0100;

    /// Returns a unit with a region of two to the power of `log` bytes at an address.
    fn with_region(number: u16, base: u32, log: u32, config: u8) -> Pmp {
        let mut pmp = Pmp::default();
        pmp.write(PMPADDR0 + number, napot(base, log));
        let shift = 8 * (number % 4);
        pmp.write(PMPCFG0 + number / 4, u32::from(CONFIG_NAPOT | config) << shift);
        pmp
    }

    #[test]
    fn fixed_regions_match_the_datasheet_and_are_read_only() {
        let mut pmp = Pmp::default();
        for _ in 0..2 {
            assert_eq!(pmp.read(PMPCFG0 + 2), 0x001F_1F1F);
            let addresses = [8, 9, 10, 11].map(|region| pmp.read(PMPADDR0 + region));
            assert_eq!(addresses, [0x01FF_FFFF, 0x13FF_FFFF, 0x35FF_FFFF, 0]);
            for (address, inside) in [
                (0, true),
                (0x0FFF_FFFC, true),
                (0x1000_0000, false),
                (0x3FFF_FFFC, false),
                (0x4000_0000, true),
                (0x5FFF_FFFC, true),
                (0xCFFF_FFFC, false),
                (0xDFFF_FFFC, true),
                (0xE000_0000, false),
            ] {
                for purpose in [Purpose::Read, Purpose::Write, Purpose::Execute] {
                    assert_eq!(pmp.allows(address, purpose, false), inside, "{address:#x}");
                    assert!(pmp.allows(address, purpose, true), "{address:#x}");
                }
            }
            pmp.write(PMPCFG0 + 2, 0);
            (8..11).for_each(|region| pmp.write(PMPADDR0 + region, 0));
        }
    }

    #[test]
    fn regions_have_at_least_32_bytes() {
        let mut pmp = Pmp::default();
        pmp.write(PMPADDR0, CODE >> 2);
        assert_eq!(pmp.read(PMPADDR0), CODE >> 2 | 3, "off");
        pmp.write(PMPCFG0, (CONFIG_NAPOT | READ).into());
        assert_eq!(pmp.read(PMPADDR0), CODE >> 2, "on");
        let readable = |address| pmp.allows(address, Purpose::Read, false);
        assert!(readable(CODE) && readable(CODE + 31));
        assert!(!readable(CODE - 1) && !readable(CODE + 32));
        // NA4 and TOR: the unit has no such regions (WARL).
        for mode in [1, 2] {
            pmp.write(PMPCFG0, mode << 3 | u32::from(READ));
            assert_eq!(pmp.read(PMPCFG0), u32::from(READ));
        }
    }

    #[test]
    fn instructions_across_a_region_boundary_are_refused_in_every_mode() {
        let pmp = with_region(0, CODE, 8, READ | EXECUTE);
        for machine in [false, true] {
            assert!(pmp.allows_code(CODE, 4, machine));
            assert!(!pmp.allows_code(CODE - 2, 4, machine), "{machine}");
            assert!(!pmp.allows_code(CODE + 0xFE, 4, machine), "{machine}");
            assert_eq!(pmp.allows_code(CODE + 0x100, 4, machine), machine);
        }
        assert!(Pmp::default().allows_code(CODE - 2, 4, true), "there is no border");
    }

    #[test]
    fn short_instructions_before_a_lower_numbered_region_belong_to_it() {
        // All of memory is executable, but for a guard region after the instruction.
        let mut pmp = with_region(0, CODE, 5, 0);
        pmp.write(PMPADDR0 + 1, u32::MAX);
        pmp.write(PMPCFG0, u32::from(CONFIG_NAPOT | EXECUTE) << 8 | u32::from(CONFIG_NAPOT));
        assert!(pmp.allows_code(CODE - 4, 2, false));
        assert!(!pmp.allows_code(CODE - 2, 2, false));
        assert!(pmp.allows_code(CODE - 2, 2, true), "which does not hold in machine mode");
        assert!(pmp.allows_code(CODE + 32, 2, false));
    }

    #[test]
    fn locked_regions_apply_in_machine_mode() {
        let mut pmp = with_region(3, CODE, 6, READ);
        assert!(pmp.allows(CODE, Purpose::Write, true) && !pmp.allows(CODE, Purpose::Write, false));
        pmp.write(PMPCFGM0, 1 << 3 | 1 << 9);
        assert_eq!(pmp.read(PMPCFGM0), 1 << 3, "not of a fixed one");
        assert!(!pmp.allows(CODE, Purpose::Write, true) && pmp.allows(CODE, Purpose::Read, true));
        pmp.write(PMPCFGM0, 0);
        pmp.write(PMPCFG0, u32::from(LOCK | CONFIG_NAPOT | READ) << 24);
        assert!(!pmp.allows(CODE, Purpose::Write, true));
        pmp.write(PMPCFG0, 0);
        pmp.write(PMPADDR0 + 3, 0);
        assert!(!pmp.allows(CODE, Purpose::Write, true), "it is locked");
    }
}
