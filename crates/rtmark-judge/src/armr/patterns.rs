//! A32 instructions that may be anywhere, one pattern each.
//!
//! Written from the diagrams of DDI 0406, chapter A5, and deliberately not from the simulator's own
//! tables. `0` and `1` are literal; a letter is a field that the generator fills: `c` a condition, `d`
//! a destination, `e` another one, `q` the first of two, `n m a` sources, `p` the pointer into the
//! window, `i` anything. T32 uses the patterns of Cortex-M, as far as the profiles agree.
//! condition, `d` a destination, `e` another one, `q` the first of two, `n m a` sources, `p` the
//! pointer into the window, `i` anything. T32 has the patterns of Cortex-M, as far as profiles agree.

use crate::lockstep::patterns::{self as thumb, Pattern, Rule, any, ruled};

/// A bit field ends within the register.
const fn within_register(bits: u32) -> bool {
    (bits >> 7 & 31) + (bits >> 16 & 31) < 32
}

/// The most significant bit is not below the least one.
const fn ascending(bits: u32) -> bool {
    bits >> 16 & 31 >= bits >> 7 & 31
}

const DATA: &[(&str, Rule)] = &[
    ("cccc_001_0iii_i_nnnn_dddd_iiiiiiiiiiii", any), // AND to RSC
    ("cccc_001_0iii_i_nnnn_dddd_iiiiiiiiiiii", any),
    ("cccc_001_11i0_i_nnnn_dddd_iiiiiiiiiiii", any), // ORR, BIC
    ("cccc_001_11i1_i_0000_dddd_iiiiiiiiiiii", any), // MOV, MVN
    ("cccc_001_10ii_1_nnnn_0000_iiiiiiiiiiii", any), // TST to CMN
    ("cccc_001_0iii_0_1111_dddd_iiiiiiiiiiii", any), // ADR among them
    ("cccc_000_0iii_i_nnnn_dddd_iiiii_ii_0_mmmm", any),
    ("cccc_000_0iii_i_nnnn_dddd_iiiii_ii_0_mmmm", any),
    ("cccc_000_11i0_i_nnnn_dddd_iiiii_ii_0_mmmm", any),
    ("cccc_000_11i1_i_0000_dddd_iiiii_ii_0_mmmm", any),
    ("cccc_000_10ii_1_nnnn_0000_iiiii_ii_0_mmmm", any),
    ("cccc_000_0iii_0_nnnn_dddd_iiiii_ii_0_1111", any),
    ("cccc_000_0iii_i_nnnn_dddd_aaaa_0_ii_1_mmmm", any),
    ("cccc_000_11i0_i_nnnn_dddd_aaaa_0_ii_1_mmmm", any),
    ("cccc_000_11i1_i_0000_dddd_aaaa_0_ii_1_mmmm", any),
    ("cccc_000_10ii_1_nnnn_0000_aaaa_0_ii_1_mmmm", any),
    ("cccc_00110i00_iiii_dddd_iiiiiiiiiiii", any), // MOVW, MOVT
    ("cccc_00010000_1111_dddd_0000_0000_0000", any), // MRS
    ("cccc_00010010_1i00_1111_0000_0000_nnnn", any), // MSR of flags, and of GE
    ("cccc_00010010_0100_1111_0000_0000_nnnn", any),
    ("cccc_00110010_1i00_1111_iiiiiiiiiiii", any),
    ("cccc_00010110_1111_dddd_1111_0001_mmmm", any), // CLZ
    ("cccc_00010ii0_nnnn_dddd_0000_0101_mmmm", any), // QADD to QDSUB
    ("cccc_0011001000001111000000000000", any),      // NOP
    ("1111_0101_i101_pppp_1111_iiiiiiiiiiii", any),  // PLD
    ("1111_0100_i101_pppp_1111_iiiiiiiiiiii", any),  // PLI
];

const MULTIPLY: &[(&str, Rule)] = &[
    ("cccc_0000000_i_dddd_0000_mmmm_1001_nnnn", any), // MUL
    ("cccc_0000001_i_dddd_aaaa_mmmm_1001_nnnn", any), // MLA
    ("cccc_00000100_dddd_eeee_mmmm_1001_nnnn", any),  // UMAAL
    ("cccc_00000110_dddd_aaaa_mmmm_1001_nnnn", any),  // MLS
    ("cccc_00001ii_i_dddd_eeee_mmmm_1001_nnnn", any), // UMULL to SMLAL
    ("cccc_00010000_dddd_aaaa_mmmm_1_ii_0_nnnn", any), // SMLAxy
    ("cccc_00010010_dddd_aaaa_mmmm_1_i0_0_nnnn", any), // SMLAWy
    ("cccc_00010010_dddd_0000_mmmm_1_i1_0_nnnn", any), // SMULWy
    ("cccc_00010100_dddd_eeee_mmmm_1_ii_0_nnnn", any), // SMLALxy
    ("cccc_00010110_dddd_0000_mmmm_1_ii_0_nnnn", any), // SMULxy
    ("cccc_01110000_dddd_1111_mmmm_0ii1_nnnn", any),  // SMUAD, SMUSD
    ("cccc_01110000_dddd_aaaa_mmmm_0ii1_nnnn", any),  // SMLAD, SMLSD
    ("cccc_01110100_dddd_eeee_mmmm_0ii1_nnnn", any),  // SMLALD, SMLSLD
    ("cccc_01110101_dddd_1111_mmmm_00i1_nnnn", any),  // SMMUL
    ("cccc_01110101_dddd_aaaa_mmmm_00i1_nnnn", any),  // SMMLA
    ("cccc_01110101_dddd_aaaa_mmmm_11i1_nnnn", any),  // SMMLS
    ("cccc_01111000_dddd_1111_mmmm_0001_nnnn", any),  // USAD8
    ("cccc_01111000_dddd_aaaa_mmmm_0001_nnnn", any),  // USADA8
    ("cccc_011100i1_dddd_1111_mmmm_0001_nnnn", any),  // SDIV, UDIV
];

const MEDIA: &[(&str, Rule)] = &[
    ("cccc_01100_i01_nnnn_dddd_1111_0ii1_mmmm", any), // parallel sums and differences
    ("cccc_01100_i1i_nnnn_dddd_1111_0ii1_mmmm", any),
    ("cccc_01100_i01_nnnn_dddd_1111_1ii1_mmmm", is_lane_of_bytes),
    ("cccc_01100_i1i_nnnn_dddd_1111_1ii1_mmmm", is_lane_of_bytes),
    ("cccc_01101000_nnnn_dddd_iiiii_i01_mmmm", any), // PKHBT, PKHTB
    ("cccc_01101i00_nnnn_dddd_ii00_0111_mmmm", any), // SXTAB16
    ("cccc_01101i1i_nnnn_dddd_ii00_0111_mmmm", any), // SXTAB, SXTAH
    ("cccc_01101i00_1111_dddd_ii00_0111_mmmm", any),
    ("cccc_01101i1i_1111_dddd_ii00_0111_mmmm", any),
    ("cccc_01101000_nnnn_dddd_1111_1011_mmmm", any), // SEL
    ("cccc_01101i10_iiii_dddd_1111_0011_nnnn", any), // SSAT16
    ("cccc_01101011_1111_dddd_1111_i011_mmmm", any), // REV, REV16
    ("cccc_01101111_1111_dddd_1111_i011_mmmm", any), // RBIT, REVSH
    ("cccc_01101i1_iiiii_dddd_iiiii_i01_nnnn", any), // SSAT, USAT
    ("cccc_01111i1_iiiii_dddd_iiiii_101_nnnn", within_register), // SBFX, UBFX
    ("cccc_0111110_iiiii_dddd_iiiii_001_nnnn", ascending), // BFI
    ("cccc_0111110_iiiii_dddd_iiiii_001_1111", ascending), // BFC
];

/// Of the parallel sums with bit 7 set, only those of bytes exist.
const fn is_lane_of_bytes(bits: u32) -> bool {
    matches!(bits >> 5 & 3, 0 | 3)
}

/// Loads and stores through the pointer.
const MEMORY: &[&str] = &[
    "cccc_0101_ii00_pppp_nnnn_iiiiiiiiiiii",
    "cccc_0101_ii01_pppp_dddd_iiiiiiiiiiii",
    "cccc_0001_i100_pppp_nnnn_iiii_1011_iiii", // STRH
    "cccc_0001_i101_pppp_dddd_iiii_1011_iiii", // LDRH
    "cccc_0001_i101_pppp_dddd_iiii_11i1_iiii", // LDRSB, LDRSH
    "cccc_0101_i000_pppp_1111_iiiiiiiiiiii",   // of the program counter
];

/// Accesses with write-back, which changes the pointer.
const MOVING: &[&str] = &[
    "cccc_0101_ii10_pppp_nnnn_0iiiiiiiiiii",
    "cccc_0101_ii11_pppp_dddd_0iiiiiiiiiii",
    "cccc_0100_iii0_pppp_nnnn_0iiiiiiiiiii", // after, and with the rights of a user
    "cccc_0100_iii1_pppp_dddd_0iiiiiiiiiii",
    "cccc_0001_i110_pppp_nnnn_iiii_1011_iiii",
    "cccc_0001_i111_pppp_dddd_iiii_1011_iiii",
    "cccc_0000_i1i0_pppp_nnnn_iiii_1011_iiii",
    "cccc_0000_i1i1_pppp_dddd_iiii_1011_iiii",
    "cccc_0000_i1i1_pppp_dddd_iiii_11i1_iiii",
];

/// Accesses that need an aligned pointer.
const ALIGNED: &[&str] = &[
    "cccc_0001_i100_pppp_qqqq_iiii_1101_ii00", // LDRD
    "cccc_0001_i100_pppp_qqqq_iiii_1111_ii00", // STRD
    "cccc_00010i00_pppp_dddd_0000_1001_mmmm",  // SWP, SWPB
];

/// Accesses in T32 with write-back.
const THUMB_MOVING: &[&str] = &[
    "11111_00_0_0_00_0_pppp nnnn_1ii1_iiiiiiii",
    "11111_00_0_0_01_0_pppp nnnn_1ii1_iiiiiiii",
    "11111_00_0_0_10_0_pppp nnnn_1ii1_iiiiiiii",
    "11111_00_i_0_00_1_pppp dddd_1ii1_iiiiiiii",
    "11111_00_i_0_01_1_pppp dddd_1ii1_iiiiiiii",
    "11111_00_0_0_10_1_pppp dddd_1ii1_iiiiiiii",
    "11101_00_1i11_0_pppp nnnn_mmmm_000iiiii",
    "11101_00_1i11_1_pppp dddd_eeee_000iiiii",
    "11101_00_0i11_0_pppp nnnn_mmmm_000iiiii",
    "11101_00_0i11_1_pppp dddd_eeee_000iiiii",
];

/// The patterns of one instruction set, by what they need.
#[derive(Clone, Debug)]
pub struct ArmPatterns {
    pub plain: Vec<Pattern>,
    pub memory: Vec<Pattern>,
    pub aligned: Vec<Pattern>,
    pub moving: Vec<Pattern>,
}

fn all(texts: &[&'static str]) -> Vec<Pattern> {
    texts.iter().map(|&text| Pattern { text, rule: any }).collect()
}

impl ArmPatterns {
    pub fn a32() -> Self {
        Self {
            plain: [ruled(DATA), ruled(MULTIPLY), ruled(MEDIA)].concat(),
            memory: all(MEMORY),
            aligned: all(ALIGNED),
            moving: all(MOVING),
        }
    }

    pub fn t32() -> Self {
        let [plain, memory, aligned] = thumb::of_other_profiles();
        Self { plain, memory, aligned, moving: all(THUMB_MOVING) }
    }
}

/// Operations of the floating-point unit in their T32 encodings, and loads and stores. Some belong to
/// units that this core does not have, and are undefined.
pub fn float() -> (Vec<Pattern>, Vec<Pattern>) {
    thumb::float_of_other_profiles()
}
