//! Compares the simulator's decoder with `yaxpeax-arm`, which shares nothing with it.
//!
//! `yaxpeax-arm` knows every Thumb encoding of the A and R profiles up to ARMv8, cannot be restricted
//! to a given core, ignores many bits that must be zero or one, and has no floating point. Of ARMv8-M
//! it knows acquire and release, which the A profile has too; it takes SG, TT, BXNS and BLXNS for the
//! LDRD, STREX, BX and BLX whose encoding space they share, so for these it only confirms that they are
//! instructions. Where this explains a difference, an [`KnownDifference`] covers a whole class of encodings,
//! with the manual's section: DDI 0403 is the Architecture Reference Manual of ARMv7-M, DDI 0419 of
//! ARMv6-M, DDI 0553 of ARMv8-M.

use rtmark_sim::CoreKind;
use rtmark_sim::isa_check::is_defined;
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv7::InstDecoder;

use crate::random::Random;

/// Why a difference between the decoders is not the simulator's fault.
pub struct KnownDifference {
    /// What the simulator decides for these encodings.
    pub ours: bool,
    /// The class of encodings: both halfwords, the first one in the upper half.
    pub covers: fn(u32) -> bool,
    /// The manual's section and its statement.
    pub why: &'static str,
}

const fn matches(bits: u32, mask: u32, value: u32) -> bool {
    bits & mask == value
}

const fn bits(word: u32, from: u32, to: u32) -> u32 {
    word >> to & ((1 << (from - to + 1)) - 1)
}

/// Differences in 16-bit encodings; the second halfword is zero.
const NARROW: &[KnownDifference] = &[
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF00_0000, 0xDE00_0000),
        why: "DDI 0403 and DDI 0419, A5.2.6: UDF is permanently undefined",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFFE0_0000, 0xB640_0000),
        why: "DDI 0403 and DDI 0419, A5.2.5: SETEND is not in the M profile",
    },
];

/// Further differences on ARMv6-M.
const NARROW_V6M: &[KnownDifference] = &[
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xF500_0000, 0xB100_0000),
        why: "DDI 0419, A5.2.5: CBZ and CBNZ came with ARMv7-M",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF00_0000, 0xBF00_0000) && bits(e, 19, 16) != 0,
        why: "DDI 0419, A5.2.5: IT came with ARMv7-M",
    },
];

/// Differences in 32-bit encodings.
const WIDE: &[KnownDifference] = &[
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xF800_D001, 0xF000_C000) || matches(e, 0xF800_D001, 0xF000_C001),
        why: "DDI 0403, A5.3.4: BLX to Arm code is not in the M profile",
    },
    KnownDifference {
        ours: false,
        covers: |e| is_other_control(e),
        why: "DDI 0403, A5.3.4: wide CPS, BXJ, SUBS PC, ENTERX, LEAVEX and MSR of SPSR are of other profiles",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFFE0_D000, 0xF7E0_8000),
        why: "DDI 0403, A5.3.4: HVC and SMC are not in the M profile",
    },
    KnownDifference {
        ours: false,
        covers: |e| {
            matches(e, 0xFFE0_0000, 0xE800_0000)
                || matches(e, 0xFFE0_0000, 0xE820_0000)
                || matches(e, 0xFFC0_0000, 0xE980_0000)
        },
        why: "DDI 0403, A5.3.5: SRS and RFE are not in the M profile",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFE40_0000, 0xE800_0000) && bits(e, 15, 0) == 0,
        why: "DDI 0403, A7.7.41 and A7.7.160: a list of no registers is UNPREDICTABLE",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xEC00_0000, 0xEC00_0000) && bits(e, 11, 9) != 5,
        why: "DDI 0403, A5.3.18: no coprocessor but the FPU is there",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFBF0_8000, 0xF360_0000),
        why: "DDI 0403, A7.7.13 and A7.7.14: a most significant bit below the least one is UNPREDICTABLE",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFB70_F0C0, 0xF320_0000) && bits(e, 5, 4) != 0,
        why: "DDI 0403, A7.7.154 and A7.7.216: SSAT16 and USAT16 with bits that should be zero",
    },
    KnownDifference {
        ours: true,
        covers: |e| {
            matches(e, 0xFA00_8000, 0xF000_0000) && bits(e, 7, 0) == 0 && bits(e, 14, 12) < 4
        },
        why: "DDI 0403, A5.3.2: repeating a zero byte is UNPREDICTABLE",
    },
    KnownDifference {
        ours: true,
        covers: |e| matches(e, 0xFFE0_D000, 0xF380_8000) || matches(e, 0xFFE0_D000, 0xF3E0_8000),
        why: "DDI 0403, B5.2.2 and B5.2.3: the M profile has its own special registers",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF90_0000, 0xF800_0000) && !is_store_form(bits(e, 11, 6)),
        why: "DDI 0403, A5.3.10: these bits name no form of store",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF1F_0000, 0xF80F_0000),
        why: "DDI 0403, A7.7.161 on: a store relative to the program counter is undefined",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF10_0000, 0xF800_0000) && bits(e, 15, 12) == 15,
        why: "DDI 0403, A7.7.161 on: storing the program counter is UNPREDICTABLE",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF00_0000, 0xFA00_0000) && bits(e, 15, 12) != 15,
        why: "DDI 0403, A5.3.12: bits 15 to 12 of the second halfword must be ones",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF80_0080, 0xFA00_0000) && bits(e, 6, 4) != 0,
        why: "DDI 0403, A5.3.12: shifts by a register have zeros in bits 6 to 4",
    },
    KnownDifference {
        ours: false,
        covers: |e| {
            matches(e, 0xFF80_00C0, 0xFA80_0080)
                && (bits(e, 22, 22) == 1 || (bits(e, 21, 21) == 1 && bits(e, 5, 4) != 0))
        },
        why: "DDI 0403, A5.3.12 and A5.3.15: miscellaneous operations are QADD to CLZ only",
    },
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFF80_0000, 0xFB00_0000) && bits(e, 7, 6) != 0,
        why: "DDI 0403, A5.3.16: bits 7 and 6 of the second halfword must be zeros",
    },
];

/// Further differences on ARMv7-M.
const WIDE_V7: &[KnownDifference] = &[KnownDifference {
    ours: false,
    covers: |e| matches(e, 0xFFE0_0000, 0xE8C0_0000) && bits(e, 7, 4) > 5,
    why: "DDI 0403, A5.3.6: doubleword exclusives, load-acquire, store-release are not in ARMv7-M",
}];

/// Further differences on ARMv8-M.
const WIDE_V8M: &[KnownDifference] = &[
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFFE0_0070, 0xE8C0_0070),
        why: "DDI 0553, C2.3.2: doubleword exclusives are not in the M profile",
    },
    KnownDifference {
        ours: true,
        covers: |e| matches(e, 0xFF00_0F10, 0xFE00_0A00),
        why: "DDI 0553, C2.3.6: the other decoder has no FPv5",
    },
];

/// Further differences with a floating-point unit.
const WIDE_FLOAT: &[KnownDifference] = &[KnownDifference {
    ours: true,
    covers: |e| matches(e, 0xFC00_0E00, 0xEC00_0A00),
    why: "DDI 0403, A6: the other decoder has no floating point",
}];

/// Further differences with FPv5.
const WIDE_FLOAT_V5: &[KnownDifference] = &[KnownDifference {
    ours: true,
    covers: |e| matches(e, 0xFF00_0E10, 0xFE00_0A00),
    why: "DDI 0553, C2.3.6: the other decoder has no floating point",
}];

/// Further differences with the DSP extension.
const WIDE_DSP: &[KnownDifference] = &[
    KnownDifference {
        ours: false,
        covers: |e| matches(e, 0xFFF0_0000, 0xFB70_0000) && bits(e, 5, 4) == 1,
        why: "DDI 0403, A5.3.16: USAD8 and USADA8 have zeros in bits 5 and 4; the other decoder errs",
    },
    KnownDifference {
        ours: true,
        covers: |e| matches(e, 0xFFF0_00F0, 0xFB70_0000),
        why: "DDI 0403, A5.3.16: USAD8 and USADA8 have zeros in bits 5 and 4; the other decoder errs",
    },
];

/// Further differences without the DSP extension.
const WIDE_WITHOUT_DSP: &[KnownDifference] = &[KnownDifference {
    ours: false,
    covers: is_dsp,
    why: "DDI 0403, A5.3: only ARMv7E-M has the DSP extension",
}];

/// The 32-bit differences on ARMv6-M, which replace those above.
const WIDE_V6M: &[KnownDifference] = &[
    KnownDifference {
        ours: false,
        covers: |e| !is_of_v6m(e),
        why: "DDI 0419, A5.3: BL, MSR, MRS, DSB, DMB and ISB are the only 32-bit instructions",
    },
    KnownDifference {
        ours: true,
        covers: |e| matches(e, 0xFFE0_D000, 0xF380_8000) || matches(e, 0xFFE0_D000, 0xF3E0_8000),
        why: "DDI 0419, B4.2.2 and B4.2.3: the M profile has its own special registers",
    },
];

/// The 32-bit encodings of ARMv6-M (DDI 0419, A5.3.1).
const fn is_of_v6m(encoding: u32) -> bool {
    let barrier = bits(encoding, 7, 4);
    matches(encoding, 0xF800_D000, 0xF000_D000)
        || matches(encoding, 0xFFF0_D000, 0xF380_8000)
        || matches(encoding, 0xFFE0_D000, 0xF3E0_8000)
        || (matches(encoding, 0xFFF0_D000, 0xF3B0_8000) && barrier >= 4 && barrier <= 6)
}

/// Control instructions in 32 bits that only other profiles have (DDI 0403, A5.3.4).
const fn is_other_control(encoding: u32) -> bool {
    if !matches(encoding, 0xFB80_D000, 0xF380_8000) {
        return false;
    }
    match bits(encoding, 22, 20) {
        // MSR, and MRS with its two forms.
        0 | 6 | 7 => false,
        // CPS has its operation where hints have zeros.
        2 => bits(encoding, 10, 8) != 0,
        // CLREX, DSB, DMB and ISB.
        3 => !matches!(bits(encoding, 7, 4), 2 | 4..=6),
        _ => true,
    }
}

/// Whether bits 11 to 6 of a store's second halfword name one of its forms
/// (DDI 0403, A5.3.10): register, or immediate with index, or unprivileged.
const fn is_store_form(op2: u32) -> bool {
    op2 == 0 || op2 & 0b10_0100 == 0b10_0100 || op2 >> 2 == 0b1100 || op2 >> 2 == 0b1110
}

/// The encodings of the DSP extension, sections A5.3.3 and A5.3.11 to A5.3.17 of DDI 0403.
const fn is_dsp(e: u32) -> bool {
    let pack = matches(e, 0xFFE0_0000, 0xEAC0_0000);
    let saturate_halves = matches(e, 0xFB70_F0F0, 0xF320_0000);
    let extend =
        matches(e, 0xFF80_F080, 0xFA00_F080) && (bits(e, 19, 16) != 15 || bits(e, 22, 21) == 1);
    let parallel = matches(e, 0xFF80_F080, 0xFA80_F000);
    let saturate = matches(e, 0xFFF0_F0C0, 0xFA80_F080);
    let select = matches(e, 0xFFF0_F0F0, 0xFAA0_F080);
    let multiply = matches(e, 0xFF80_00C0, 0xFB00_0000) && bits(e, 22, 20) != 0;
    let multiply_long = matches(e, 0xFFF0_0080, 0xFBC0_0080)
        || matches(e, 0xFFF0_0080, 0xFBD0_0080)
        || matches(e, 0xFFF0_00F0, 0xFBE0_0060);
    pack || saturate_halves || extend || parallel || saturate || select || multiply || multiply_long
}

/// The result of comparing many encodings.
#[derive(Debug, Default)]
pub struct Agreement {
    /// The number of encodings compared.
    pub compared: u64,
    /// How often each excuse was needed.
    pub excused: Vec<(&'static str, u64)>,
    /// The encodings that differ without an excuse, and whether each is ours.
    pub disagreements: Vec<(u32, bool)>,
}

/// A comparison of both decoders for one core.
pub struct Comparison {
    core: CoreKind,
    other: InstDecoder,
}

impl Comparison {
    /// Prepares to compare a core's encodings.
    pub fn new(core: CoreKind) -> Self {
        Self { core, other: InstDecoder::default_thumb() }
    }

    fn other_defines(&self, first: u16, second: u16) -> bool {
        let [a, b] = first.to_le_bytes();
        let [c, d] = second.to_le_bytes();
        self.other.decode(&mut U8Reader::new(&[a, b, c, d])).is_ok()
    }

    fn excuses(&self, wide: bool) -> Vec<&'static KnownDifference> {
        let tables: &[&[KnownDifference]] = match (wide, self.core) {
            (false, CoreKind::CortexM0 | CoreKind::CortexM0Plus) => &[NARROW, NARROW_V6M],
            (false, _) => &[NARROW],
            (true, CoreKind::CortexM0 | CoreKind::CortexM0Plus) => &[WIDE_V6M],
            (true, CoreKind::CortexM3) => &[WIDE, WIDE_V7, WIDE_WITHOUT_DSP],
            (true, CoreKind::CortexM4) => &[WIDE, WIDE_V7, WIDE_DSP],
            (true, CoreKind::CortexM4F) => &[WIDE, WIDE_V7, WIDE_DSP, WIDE_FLOAT],
            (true, CoreKind::CortexM7) => &[WIDE, WIDE_V7, WIDE_DSP, WIDE_FLOAT, WIDE_FLOAT_V5],
            (true, CoreKind::CortexM33) => &[WIDE, WIDE_V8M, WIDE_DSP, WIDE_FLOAT],
            (true, CoreKind::CortexR5 | CoreKind::Hazard3 | CoreKind::Ibex) => &[],
        };
        tables.iter().copied().flatten().collect()
    }

    fn compare(&self, wide: bool, encodings: impl Iterator<Item = (u16, u16)>) -> Agreement {
        let excuses = self.excuses(wide);
        let mut agreement = Agreement {
            excused: excuses.iter().map(|excuse| (excuse.why, 0)).collect(),
            ..Agreement::default()
        };
        for (first, second) in encodings {
            agreement.compared += 1;
            let ours = is_defined(self.core, first, second);
            if ours == self.other_defines(first, second) {
                continue;
            }
            let encoding = u32::from(first) << 16 | u32::from(second);
            let excuse = excuses.iter().position(|e| e.ours == ours && (e.covers)(encoding));
            match excuse {
                Some(at) => agreement.excused[at].1 += 1,
                None => agreement.disagreements.push((encoding, ours)),
            }
        }
        agreement
    }

    /// Compares every 16-bit encoding: all halfwords that do not begin a 32-bit one.
    pub fn all_narrow(&self) -> Agreement {
        self.compare(false, (0..0xE800).map(|first| (first, 0)))
    }

    /// Compares, for every halfword that begins a 32-bit encoding, this many random second halves, and
    /// those with all zeros and all ones.
    pub fn sample_wide(&self, seconds: u32, seed: u64) -> Agreement {
        let mut random = Random::new(seed);
        let mut pairs = Vec::new();
        for first in 0xE800..=0xFFFFu16 {
            pairs.extend([(first, 0), (first, 0xFFFF)]);
            pairs.extend((0..seconds).map(|_| (first, random.word() as u16)));
        }
        self.compare(true, pairs.into_iter())
    }
}
