//! The identification of cores: CPUID and the feature registers (DDI 0403, B4), and which bits of their
//! auxiliary control register exist.

use crate::soc::{CoreKind, Generation, Revision, Soc};

/// The registers by which software identifies cores.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub cpuid: u32,
    /// The bits of ACTLR that exist.
    pub auxiliary_control: u32,
    /// ID_PFR0 and 1, ID_DFR0, ID_AFR0, ID_MMFR0 to 3, ID_ISAR0 to 4, from 0xE000ED40 on.
    features: [u32; 13],
    /// MVFR0 to 2, from 0xE000EF40 on.
    float: [u32; 3],
}

/// ARMv6-M has CPUID only (DDI 0419, B3.2.3).
const V6M: Identity = Identity { cpuid: 0, auxiliary_control: 0, features: [0; 13], float: [0; 3] };

const M0: Identity = Identity { cpuid: 0x410C_C200, ..V6M };

const M0_PLUS: Identity = Identity { cpuid: 0x410C_C601, ..V6M };

/// DDI 0337, 4.1.
const M3: Identity = Identity {
    cpuid: 0x412F_C230,
    auxiliary_control: 0x7,
    features: [
        0x0000_0030,
        0x0000_0200,
        0x0010_0000,
        0,
        0x0000_0030,
        0,
        0x0100_0000,
        0,
        0x0114_1110,
        0x0211_1000,
        0x2111_2231,
        0x0111_1110,
        0x0131_0102,
    ],
    float: [0; 3],
};

/// DDI 0439, 4.1.
const M4: Identity = Identity {
    cpuid: 0x410F_C241,
    features: [
        0x0000_0030,
        0x0000_0200,
        0x0010_0000,
        0,
        0x0000_0030,
        0,
        0x0100_0000,
        0,
        0x0114_1110,
        0x0211_2000,
        0x2123_2231,
        0x0111_1131,
        0x0131_0132,
    ],
    ..M3
};

/// DDI 0439, 7.3.
const M4F: Identity =
    Identity { auxiliary_control: 0x307, float: [0x1011_0021, 0x1100_0011, 0], ..M4 };

/// DDI 0489, 3.2 and 8.3, with double precision, at revision r1p2.
const M7: Identity = Identity {
    cpuid: 0x411F_C272,
    auxiliary_control: 0x1FFF_FC04,
    features: [
        0x0000_0030,
        0x0000_0200,
        0x0010_0000,
        0,
        0x0010_0030,
        0,
        0x0100_0000,
        0,
        0x0110_1110,
        0x0211_2000,
        0x2023_2231,
        0x0111_1131,
        0x0131_0132,
    ],
    float: [0x1011_0221, 0x1200_0011, 0x40],
};

/// The Cortex-M33 manual (100230), B1.2, with DSP, FPU and Security Extension.
const M33: Identity = Identity {
    cpuid: 0x411F_D210,
    auxiliary_control: 0x2000_1605,
    features: [
        0x0000_0030,
        0x0000_0210,
        0x0020_0000,
        0,
        0x0010_1F40,
        0,
        0x0100_0000,
        0,
        0x0110_1110,
        0x0221_2000,
        0x2023_2232,
        0x0111_1131,
        0x0131_0132,
    ],
    float: [0x1011_0021, 0x1100_0011, 0x40],
};

impl Identity {
    /// Returns the registers of a soc's core.
    pub const fn of(soc: &Soc) -> Self {
        let newest = match soc.core {
            // Nothing reads these on cores that are not Cortex-M.
            CoreKind::CortexM0 | CoreKind::CortexR5 | CoreKind::Hazard3 | CoreKind::Ibex => M0,
            CoreKind::CortexM0Plus => M0_PLUS,
            CoreKind::CortexM3 => M3,
            CoreKind::CortexM4 => M4,
            CoreKind::CortexM4F => M4F,
            CoreKind::CortexM7 => M7,
            CoreKind::CortexM33 => M33,
        };
        let auxiliary_control = match soc.generation() {
            Generation::EarlyCortexM3 => 0,
            Generation::CortexM4 | Generation::Current => newest.auxiliary_control,
        };
        let cpuid = match soc.revision {
            Some(Revision { major, patch }) => {
                newest.cpuid & !0x00F0_000F | (major as u32) << 20 | patch as u32
            }
            None => newest.cpuid,
        };
        Self { cpuid, auxiliary_control, ..newest }
    }

    /// Reads the register at an address, if it is one of these.
    pub fn read(&self, address: u32) -> Option<u32> {
        let (registers, first) = match address {
            0xE000_ED00 => return Some(self.cpuid),
            0xE000_ED40..=0xE000_ED70 => (&self.features[..], 0xE000_ED40),
            0xE000_EF40..=0xE000_EF48 => (&self.float[..], 0xE000_EF40),
            _ => return None,
        };
        registers.get(((address - first) / 4) as usize).copied()
    }
}
