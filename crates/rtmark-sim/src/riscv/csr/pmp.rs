//! Physical memory protection: 11 regions in steps of 32 bytes, the last three fixed.
//!
//! Sources: the RISC-V privileged specification 1.12, 3.7; RP2350 datasheet, 3.8.8.1; Hazard3's
//! documentation, `pmpcfg` and `pmpaddr` (only OFF and NAPOT, 8 words at least) and "Xh3pmpm".

/// Regions, of which [`FIXED`] cannot be changed.
const REGIONS: usize = 11;
const FIXED: [(u32, u8); 3] = [
    // The ROM, the peripherals, the core-local peripherals: RP2350 datasheet, 3.8.8.1.
    (napot(0, 28), CONFIG_NAPOT | READ | EXECUTE),
    (napot(0x4000_0000, 29), CONFIG_NAPOT | READ | WRITE),
    (napot(0xD000_0000, 28), CONFIG_NAPOT | READ | WRITE),
];
const FIRST_FIXED: usize = REGIONS - FIXED.len();

/// The bits lie in the other order than the specification has them (RP2350 datasheet, erratum
/// RP2350-E6).
const READ: u8 = 1 << 2;
const WRITE: u8 = 1 << 1;
const EXECUTE: u8 = 1;
const CONFIG_MODE: u8 = 3 << 3;
const CONFIG_NAPOT: u8 = 3 << 3;
const LOCK: u8 = 1 << 7;
/// The two lowest bits of an address are always ones: a grain of 32 bytes.
const GRAIN: u32 = 3;

/// PMPADDR of a naturally aligned range of two to the power of `log`.
const fn napot(base: u32, log: u32) -> u32 {
    (base >> 2) | ((1 << (log - 3)) - 1)
}

/// The first CSR numbers of the unit.
pub const PMPCFG0: u16 = 0x3A0;
pub const PMPADDR0: u16 = 0x3B0;
pub const PMPCFGM0: u16 = 0xBD0;

/// What an access is for.
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
    /// Regions that hold in machine mode, too, though not locked (Xh3pmpm).
    machine: u32,
    /// Whether any region holds in machine mode.
    guards_machine: bool,
}

impl Default for Pmp {
    fn default() -> Self {
        let mut pmp = Self {
            config: [0; REGIONS],
            address: [GRAIN; REGIONS],
            machine: 0,
            guards_machine: false,
        };
        for (at, (address, config)) in (FIRST_FIXED..).zip(FIXED) {
            (pmp.address[at], pmp.config[at]) = (address, config);
        }
        pmp
    }
}

impl Pmp {
    /// The value of a register of the unit.
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

    /// Writes a register of the unit. Locked and fixed regions keep what they have.
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
    }

    fn is_open(&self, region: usize) -> bool {
        region < FIRST_FIXED && self.config[region] & LOCK == 0
    }

    fn region(&self, address: u32) -> Option<usize> {
        (0..REGIONS).find(|&region| {
            let pattern = self.address[region];
            // The trailing ones and the zero above them do not matter, nor do the two bits below.
            let mask = !((pattern ^ (pattern + 1)) << 2 | 3);
            self.config[region] & CONFIG_MODE != 0 && address & mask == (pattern << 2) & mask
        })
    }

    /// Whether an access is allowed; `machine` is the privilege that it has.
    pub fn allows(&self, address: u32, purpose: Purpose, machine: bool) -> bool {
        if machine && !self.guards_machine {
            return true;
        }
        let Some(region) = self.region(address) else { return machine };
        let config = self.config[region];
        let holds = !machine || config & LOCK != 0 || self.machine >> region & 1 == 1;
        let bit = match purpose {
            Purpose::Read => READ,
            Purpose::Write => WRITE,
            Purpose::Execute => EXECUTE,
        };
        !holds || config & bit != 0
    }

    /// Whether an instruction may be executed. One that lies half in a region is refused.
    pub fn allows_code(&self, address: u32, size: u8, machine: bool) -> bool {
        if machine && !self.guards_machine {
            return true;
        }
        let upper = address.wrapping_add(2);
        let split = size == 4 && self.region(address) != self.region(upper);
        !split && self.allows(address, Purpose::Execute, machine)
    }
}
