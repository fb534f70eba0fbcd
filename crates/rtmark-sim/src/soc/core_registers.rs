//! The names of the registers in a Cortex-M's system control space (DDI 0403, B3.2 to B3.5 and C1; the caches':
//! DDI 0489, 4.2).

/// A block of registers.
struct Block {
    base: u32,
    bytes: u32,
    /// Its name in CMSIS.
    name: &'static str,
    /// Registers by their offset.
    registers: &'static [(u32, &'static str)],
    /// Arrays of registers: offset, number of registers, name.
    arrays: &'static [(u32, u32, &'static str)],
}

/// Blocks within others come first.
const BLOCKS: [Block; 10] = [
    Block {
        base: 0xE000_0000,
        bytes: 0x1000,
        name: "ITM",
        registers: &[(0xE00, "TER"), (0xE40, "TPR"), (0xE80, "TCR"), (0xFB0, "LAR")],
        arrays: &[(0, 32, "PORT")],
    },
    Block {
        base: 0xE000_1000,
        bytes: 0x1000,
        name: "DWT",
        registers: &[
            (0x00, "CTRL"),
            (0x04, "CYCCNT"),
            (0x08, "CPICNT"),
            (0x0C, "EXCCNT"),
            (0x10, "SLEEPCNT"),
            (0x14, "LSUCNT"),
            (0x18, "FOLDCNT"),
            (0x1C, "PCSR"),
            (0xFB0, "LAR"),
            (0xFB4, "LSR"),
        ],
        arrays: &[],
    },
    Block {
        base: 0xE000_E010,
        bytes: 0x10,
        name: "SysTick",
        registers: &[(0x0, "CTRL"), (0x4, "LOAD"), (0x8, "VAL"), (0xC, "CALIB")],
        arrays: &[],
    },
    Block {
        base: 0xE000_E100,
        bytes: 0x700,
        name: "NVIC",
        registers: &[],
        arrays: &[
            (0x000, 16, "ISER"),
            (0x080, 16, "ICER"),
            (0x100, 16, "ISPR"),
            (0x180, 16, "ICPR"),
            (0x200, 16, "IABR"),
            (0x280, 16, "ITNS"),
            (0x300, 124, "IPR"),
        ],
    },
    Block { base: 0xE000_EF00, bytes: 4, name: "NVIC", registers: &[(0, "STIR")], arrays: &[] },
    Block {
        base: 0xE000_ED90,
        bytes: 0x40,
        name: "MPU",
        registers: &[
            (0x00, "TYPE"),
            (0x04, "CTRL"),
            (0x08, "RNR"),
            (0x0C, "RBAR"),
            (0x10, "RASR"),
            (0x14, "RBAR_A1"),
            (0x18, "RASR_A1"),
            (0x1C, "RBAR_A2"),
            (0x20, "RASR_A2"),
            (0x24, "RBAR_A3"),
            (0x28, "RASR_A3"),
        ],
        arrays: &[],
    },
    Block {
        base: 0xE000_EDF0,
        bytes: 0x10,
        name: "CoreDebug",
        registers: &[(0x0, "DHCSR"), (0x4, "DCRSR"), (0x8, "DCRDR"), (0xC, "DEMCR")],
        arrays: &[],
    },
    Block {
        base: 0xE000_EF34,
        bytes: 0x18,
        name: "FPU",
        registers: &[
            (0x00, "FPCCR"),
            (0x04, "FPCAR"),
            (0x08, "FPDSCR"),
            (0x0C, "MVFR0"),
            (0x10, "MVFR1"),
            (0x14, "MVFR2"),
        ],
        arrays: &[],
    },
    Block {
        base: 0xE000_ED00,
        bytes: 0x300,
        name: "SCB",
        registers: &[
            (0x00, "CPUID"),
            (0x04, "ICSR"),
            (0x08, "VTOR"),
            (0x0C, "AIRCR"),
            (0x10, "SCR"),
            (0x14, "CCR"),
            (0x18, "SHPR1"),
            (0x1C, "SHPR2"),
            (0x20, "SHPR3"),
            (0x24, "SHCSR"),
            (0x28, "CFSR"),
            (0x2C, "HFSR"),
            (0x30, "DFSR"),
            (0x34, "MMFAR"),
            (0x38, "BFAR"),
            (0x3C, "AFSR"),
            (0x78, "CLIDR"),
            (0x7C, "CTR"),
            (0x80, "CCSIDR"),
            (0x84, "CSSELR"),
            (0x88, "CPACR"),
            (0x250, "ICIALLU"),
            (0x258, "ICIMVAU"),
            (0x25C, "DCIMVAC"),
            (0x260, "DCISW"),
            (0x264, "DCCMVAU"),
            (0x268, "DCCMVAC"),
            (0x26C, "DCCSW"),
            (0x270, "DCCIMVAC"),
            (0x274, "DCCISW"),
        ],
        arrays: &[],
    },
    Block {
        base: 0xE000_E000,
        bytes: 0x1000,
        name: "SCnSCB",
        registers: &[(0x4, "ICTR"), (0x8, "ACTLR")],
        arrays: &[],
    },
];

impl Block {
    /// Returns the name of the register at an offset, or the offset itself.
    fn register(&self, offset: u32) -> String {
        let single = self.registers.iter().find(|(at, _)| *at == offset);
        if let Some((_, register)) = single {
            return format!("{}.{register}", self.name);
        }
        let array =
            self.arrays.iter().find(|(at, length, _)| (*at..at + 4 * length).contains(&offset));
        match array {
            Some((at, _, register)) => format!("{}.{register}{}", self.name, (offset - at) / 4),
            None => format!("{}+{offset:#x}", self.name),
        }
    }
}

/// Returns the name of a Cortex-M's register at an address, such as `NVIC.ISER0`; `None` if none can be there.
pub(super) fn name(address: u32) -> Option<String> {
    let block = BLOCKS.iter().find(|block| address.wrapping_sub(block.base) < block.bytes)?;
    Some(block.register(address - block.base))
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn registers_have_their_names_in_cmsis() {
        for (address, expected) in [
            (0xE000_E010, "SysTick.CTRL"),
            (0xE000_E104, "NVIC.ISER1"),
            (0xE000_E4EC, "NVIC.IPR59"),
            (0xE000_ED04, "SCB.ICSR"),
            (0xE000_ED94, "MPU.CTRL"),
            (0xE000_EDFC, "CoreDebug.DEMCR"),
            (0xE000_EF34, "FPU.FPCCR"),
            (0xE000_EF50, "SCB.ICIALLU"),
            (0xE000_EF00, "NVIC.STIR"),
            (0xE000_E008, "SCnSCB.ACTLR"),
            (0xE000_1004, "DWT.CYCCNT"),
            (0xE000_ED40, "SCB+0x40"),
        ] {
            assert_eq!(name(address).as_deref(), Some(expected));
        }
        assert_eq!(name(0xE010_0000), None);
    }
}
