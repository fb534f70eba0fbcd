//! Instructions that may be anywhere, including IT blocks, one pattern each.
//!
//! Written from the encoding diagrams of the Architecture Reference Manuals, and deliberately not from
//! the simulator's own table. `0` and `1` are literal; a letter is a field that the generator fills:
//! `d` a destination, `e` another one, `n m a` sources, `r` the same as `m`, `h` any of the sixteen
//! registers, `p` the pointer into the window, `i` anything. A rule rejects combinations that the
//! manual calls UNPREDICTABLE or undefined.

use super::double;
use super::harness::ProgramOptions;

/// Whether the bits, with everything filled in, may be executed.
pub type Rule = fn(u32) -> bool;

/// One encoding.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub text: &'static str,
    pub rule: Rule,
}

pub const fn any(_: u32) -> bool {
    true
}

fn letters(text: &str) -> impl Iterator<Item = u8> + '_ {
    text.bytes().filter(|byte| !matches!(byte, b' ' | b'_'))
}

/// How many bits a pattern has.
pub fn length(text: &str) -> usize {
    letters(text).count()
}

/// How many bits a letter has in a pattern.
pub fn width(text: &str, letter: u8) -> usize {
    letters(text).filter(|byte| *byte == letter).count()
}

/// The bits of a pattern with its fields filled in, each by its letter; what no letter names is
/// taken from `random`.
pub fn spelled(text: &str, mut random: u32, field: impl Fn(u8) -> Option<u32>) -> u32 {
    // Taken from the most significant bit on; a letter's bits in order.
    let mut left: [usize; 256] = [0; 256];
    letters(text).for_each(|letter| left[usize::from(letter)] += 1);
    letters(text).fold(0, |bits, letter| {
        left[usize::from(letter)] -= 1;
        let rest = left[usize::from(letter)];
        let bit = match letter {
            b'0' => 0,
            b'1' => 1,
            _ => field(letter).map_or_else(
                || {
                    random = random.rotate_left(1);
                    random & 1
                },
                |value| value >> rest & 1,
            ),
        };
        bits << 1 | bit
    })
}

/// ThumbExpandImm does not know what a repeated zero byte means (DDI 0403, A5.3.2).
const fn expandable(bits: u32) -> bool {
    let repeated = bits >> 26 & 1 == 0 && bits >> 14 & 1 == 0 && bits >> 12 & 3 != 0;
    !repeated || bits & 0xFF != 0
}

const fn position(bits: u32) -> u32 {
    (bits >> 12 & 7) << 2 | bits >> 6 & 3
}

/// A bit field ends within the register (DDI 0403, A7.7.125 and A7.7.193).
const fn within_register(bits: u32) -> bool {
    position(bits) + (bits & 31) < 32
}

/// The most significant bit is not below the least one (DDI 0403, A7.7.13 and A7.7.14).
const fn ascending(bits: u32) -> bool {
    bits & 31 >= position(bits)
}

/// An arithmetic shift by zero is another instruction (DDI 0403, A7.7.152).
const fn shifts(bits: u32) -> bool {
    bits >> 21 & 1 == 0 || position(bits) != 0
}

/// As many bits below the point as there are (DDI 0403, A7.7.228).
pub const fn fraction_fits(bits: u32) -> bool {
    bits >> 7 & 1 == 1 || (bits & 15) << 1 | bits >> 5 & 1 <= 16
}

/// A pair of single registers ends at S31 (DDI 0403, A7.7.242).
const fn pair_fits(bits: u32) -> bool {
    bits & 0x2F != 0x2F
}

const NARROW: &[&str] = &[
    "00000_iiiii_mmm_ddd",
    "00001_iiiii_mmm_ddd",
    "00010_iiiii_mmm_ddd",
    "0001100_mmm_nnn_ddd",
    "0001101_mmm_nnn_ddd",
    "0001110_iii_nnn_ddd",
    "0001111_iii_nnn_ddd",
    "00100_ddd_iiiiiiii",
    "00101_nnn_iiiiiiii",
    "00110_ddd_iiiiiiii",
    "00111_ddd_iiiiiiii",
    "0100000000_mmm_ddd",
    "0100000001_mmm_ddd",
    "0100000010_mmm_ddd",
    "0100000011_mmm_ddd",
    "0100000100_mmm_ddd",
    "0100000101_mmm_ddd",
    "0100000110_mmm_ddd",
    "0100000111_mmm_ddd",
    "0100001000_mmm_nnn",
    "0100001001_mmm_ddd",
    "0100001010_mmm_nnn",
    "0100001011_mmm_nnn",
    "0100001100_mmm_ddd",
    "0100001101_mmm_ddd",
    "0100001110_mmm_ddd",
    "0100001111_mmm_ddd",
    "01000100_d_hhhh_ddd",
    "01000101_n_mmmm_nnn",
    "01000110_d_hhhh_ddd",
    "10100_ddd_iiiiiiii",
    "10101_ddd_iiiiiiii",
    "1011001000_mmm_ddd",
    "1011001001_mmm_ddd",
    "1011001010_mmm_ddd",
    "1011001011_mmm_ddd",
    "1011101000_mmm_ddd",
    "1011101001_mmm_ddd",
    "1011101011_mmm_ddd",
    "01001_ddd_iiiiiiii",
    "1011111100000000",
    "1011111100010000",
    "1011111101000000",
];

/// A part of the status register (DDI 0403, B5.1.1).
const fn names_status(bits: u32) -> bool {
    bits & 7 != 4
}

/// A mask or CONTROL.
const fn names_mask(bits: u32) -> bool {
    bits & 7 <= 4
}

/// MSR writes at least one part of APSR.
const fn writes_part(bits: u32) -> bool {
    bits >> 10 & 3 != 0
}

/// CMP of two low registers has an encoding of its own (DDI 0403, A7.7.28).
const fn has_high_register(bits: u32) -> bool {
    bits >> 8 != 0x45 || bits & 0xC0 != 0
}

/// Loads and stores of 16 bits through the pointer.
const NARROW_MEMORY: &[&str] = &[
    "01100_iiiii_ppp_nnn",
    "01101_iiiii_ppp_ddd",
    "01110_iiiii_ppp_nnn",
    "01111_iiiii_ppp_ddd",
    "10000_iiiii_ppp_nnn",
    "10001_iiiii_ppp_ddd",
];

const IMMEDIATE: &[(&str, Rule)] = &[
    ("11110_i_00000_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // AND
    ("11110_i_00001_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // BIC
    ("11110_i_00010_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // ORR
    ("11110_i_00010_i_1111 0_iii_dddd_iiiiiiii", expandable), // MOV
    ("11110_i_00011_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // ORN
    ("11110_i_00011_i_1111 0_iii_dddd_iiiiiiii", expandable), // MVN
    ("11110_i_00100_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // EOR
    ("11110_i_01000_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // ADD
    ("11110_i_01000_i_1101 0_iii_dddd_iiiiiiii", expandable), // ADD, SP
    ("11110_i_01010_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // ADC
    ("11110_i_01011_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // SBC
    ("11110_i_01101_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // SUB
    ("11110_i_01110_i_nnnn 0_iii_dddd_iiiiiiii", expandable), // RSB
    ("11110_i_00000_1_nnnn 0_iii_1111_iiiiiiii", expandable), // TST
    ("11110_i_00100_1_nnnn 0_iii_1111_iiiiiiii", expandable), // TEQ
    ("11110_i_01000_1_nnnn 0_iii_1111_iiiiiiii", expandable), // CMN
    ("11110_i_01101_1_nnnn 0_iii_1111_iiiiiiii", expandable), // CMP
    ("11110_i_100000_nnnn 0_iii_dddd_iiiiiiii", any),         // ADDW
    ("11110_i_100000_1111 0_iii_dddd_iiiiiiii", any),         // ADR, after
    ("11110_i_101010_nnnn 0_iii_dddd_iiiiiiii", any),         // SUBW
    ("11110_i_101010_1111 0_iii_dddd_iiiiiiii", any),         // ADR, before
    ("11110_i_100100_iiii 0_iii_dddd_iiiiiiii", any),         // MOVW
    ("11110_i_101100_iiii 0_iii_dddd_iiiiiiii", any),         // MOVT
    ("11110_0_1100i0_nnnn 0_iii_dddd_ii_0_iiiii", shifts),    // SSAT
    ("11110_0_1110i0_nnnn 0_iii_dddd_ii_0_iiiii", shifts),    // USAT
    ("11110_0_110100_nnnn 0_iii_dddd_ii_0_iiiii", within_register), // SBFX
    ("11110_0_111100_nnnn 0_iii_dddd_ii_0_iiiii", within_register), // UBFX
    ("11110_0_110110_nnnn 0_iii_dddd_ii_0_iiiii", ascending), // BFI
    ("11110_0_110110_1111 0_iii_dddd_ii_0_iiiii", ascending), // BFC
];

const REGISTER: &[(&str, Rule)] = &[
    ("11101_01_0000_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // AND
    ("11101_01_0001_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // BIC
    ("11101_01_0010_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // ORR
    ("11101_01_0010_i_1111 0_iii_dddd_ii_ii_mmmm", any), // MOV, shifts
    ("11101_01_0011_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // ORN
    ("11101_01_0011_i_1111 0_iii_dddd_ii_ii_mmmm", any), // MVN
    ("11101_01_0100_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // EOR
    ("11101_01_1000_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // ADD
    ("11101_01_1010_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // ADC
    ("11101_01_1011_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // SBC
    ("11101_01_1101_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // SUB
    ("11101_01_1110_i_nnnn 0_iii_dddd_ii_ii_mmmm", any), // RSB
    ("11101_01_0000_1_nnnn 0_iii_1111_ii_ii_mmmm", any), // TST
    ("11101_01_0100_1_nnnn 0_iii_1111_ii_ii_mmmm", any), // TEQ
    ("11101_01_1000_1_nnnn 0_iii_1111_ii_ii_mmmm", any), // CMN
    ("11101_01_1101_1_nnnn 0_iii_1111_ii_ii_mmmm", any), // CMP
    ("11111_010_0ii_i_nnnn 1111_dddd_0000_mmmm", any),   // shifts by a register
    ("11111_010_000i_1111 1111_dddd_10ii_mmmm", any),    // SXTH, UXTH
    ("11111_010_010i_1111 1111_dddd_10ii_mmmm", any),    // SXTB, UXTB
    ("11111_010_1001_rrrr 1111_dddd_10ii_mmmm", any),    // REV, REV16, RBIT, REVSH
    ("11111_010_1011_rrrr 1111_dddd_1000_mmmm", any),    // CLZ
];

/// What the DSP extension adds, but for its sums and products.
const DSP: &[(&str, Rule)] = &[
    ("11110_0_110010_nnnn 0000_dddd_0000_iiii", any), // SSAT16
    ("11110_0_111010_nnnn 0000_dddd_0000_iiii", any), // USAT16
    ("11101_01_0110_0_nnnn 0_iii_dddd_ii_i0_mmmm", any), // PKHBT, PKHTB
    ("11111_010_000i_nnnn 1111_dddd_10ii_mmmm", any), // SXTAH, UXTAH
    ("11111_010_001i_1111 1111_dddd_10ii_mmmm", any), // SXTB16, UXTB16
    ("11111_010_001i_nnnn 1111_dddd_10ii_mmmm", any), // SXTAB16, UXTAB16
    ("11111_010_010i_nnnn 1111_dddd_10ii_mmmm", any), // SXTAB, UXTAB
    ("11111_010_1000_nnnn 1111_dddd_10ii_mmmm", any), // QADD to QDSUB
    ("11111_010_1010_nnnn 1111_dddd_1000_mmmm", any), // SEL
];

/// Products of the DSP extension.
const DSP_MULTIPLY: &[&str] = &[
    "11111_0110_001_nnnn 1111_dddd_00ii_mmmm", // SMULxy
    "11111_0110_001_nnnn aaaa_dddd_00ii_mmmm", // SMLAxy
    "11111_0110_010_nnnn 1111_dddd_000i_mmmm", // SMUAD
    "11111_0110_010_nnnn aaaa_dddd_000i_mmmm", // SMLAD
    "11111_0110_011_nnnn 1111_dddd_000i_mmmm", // SMULW
    "11111_0110_011_nnnn aaaa_dddd_000i_mmmm", // SMLAW
    "11111_0110_100_nnnn 1111_dddd_000i_mmmm", // SMUSD
    "11111_0110_100_nnnn aaaa_dddd_000i_mmmm", // SMLSD
    "11111_0110_101_nnnn 1111_dddd_000i_mmmm", // SMMUL
    "11111_0110_101_nnnn aaaa_dddd_000i_mmmm", // SMMLA
    "11111_0110_110_nnnn aaaa_dddd_000i_mmmm", // SMMLS
    "11111_0110_111_nnnn 1111_dddd_0000_mmmm", // USAD8
    "11111_0110_111_nnnn aaaa_dddd_0000_mmmm", // USADA8
    "11111_0111_110_nnnn eeee_dddd_0110_mmmm", // UMAAL
    "11111_0111_100_nnnn eeee_dddd_10ii_mmmm", // SMLALxy
    "11111_0111_100_nnnn eeee_dddd_110i_mmmm", // SMLALD
    "11111_0111_101_nnnn eeee_dddd_110i_mmmm", // SMLSLD
];

/// Parallel sums and differences: operations 0, 1, 2, 4, 5, 6 of three kinds, with two signs.
const PARALLEL: &[&str] = &[
    "11111_010_100i_nnnn 1111_dddd_0i00_mmmm",
    "11111_010_1010_nnnn 1111_dddd_0i00_mmmm",
    "11111_010_110i_nnnn 1111_dddd_0i00_mmmm",
    "11111_010_1110_nnnn 1111_dddd_0i00_mmmm",
    "11111_010_100i_nnnn 1111_dddd_0i01_mmmm",
    "11111_010_1010_nnnn 1111_dddd_0i01_mmmm",
    "11111_010_110i_nnnn 1111_dddd_0i01_mmmm",
    "11111_010_1110_nnnn 1111_dddd_0i01_mmmm",
    "11111_010_100i_nnnn 1111_dddd_0i10_mmmm",
    "11111_010_1010_nnnn 1111_dddd_0i10_mmmm",
    "11111_010_110i_nnnn 1111_dddd_0i10_mmmm",
    "11111_010_1110_nnnn 1111_dddd_0i10_mmmm",
];

const MULTIPLY: &[&str] = &[
    "11111_0110_000_nnnn 1111_dddd_0000_mmmm", // MUL
    "11111_0110_000_nnnn aaaa_dddd_0000_mmmm", // MLA
    "11111_0110_000_nnnn aaaa_dddd_0001_mmmm", // MLS
    "11111_0111_000_nnnn eeee_dddd_0000_mmmm", // SMULL
    "11111_0111_010_nnnn eeee_dddd_0000_mmmm", // UMULL
    "11111_0111_100_nnnn eeee_dddd_0000_mmmm", // SMLAL
    "11111_0111_110_nnnn eeee_dddd_0000_mmmm", // UMLAL
    "11111_0111_001_nnnn 1111_dddd_1111_mmmm", // SDIV
    "11111_0111_011_nnnn 1111_dddd_1111_mmmm", // UDIV
];

/// Loads and stores of 32 bits through the pointer; PLD and PLI among them.
const WIDE_MEMORY: &[&str] = &[
    "11111_00_0_1_00_0_pppp nnnn_iiiiiiiiiiii",
    "11111_00_0_1_01_0_pppp nnnn_iiiiiiiiiiii",
    "11111_00_0_1_10_0_pppp nnnn_iiiiiiiiiiii",
    "11111_00_i_1_00_1_pppp dddd_iiiiiiiiiiii",
    "11111_00_i_1_01_1_pppp dddd_iiiiiiiiiiii",
    "11111_00_0_1_10_1_pppp dddd_iiiiiiiiiiii",
    "11111_00_0_0_00_0_pppp nnnn_1100_iiiiiiii",
    "11111_00_0_0_01_0_pppp nnnn_1100_iiiiiiii",
    "11111_00_0_0_10_0_pppp nnnn_1100_iiiiiiii",
    "11111_00_i_0_00_1_pppp dddd_1100_iiiiiiii",
    "11111_00_i_0_01_1_pppp dddd_1100_iiiiiiii",
    "11111_00_0_0_10_1_pppp dddd_1100_iiiiiiii",
    // Unprivileged ones.
    "11111_00_0_0_00_0_pppp nnnn_1110_iiiiiiii",
    "11111_00_0_0_01_0_pppp nnnn_1110_iiiiiiii",
    "11111_00_0_0_10_0_pppp nnnn_1110_iiiiiiii",
    "11111_00_i_0_00_1_pppp dddd_1110_iiiiiiii",
    "11111_00_i_0_01_1_pppp dddd_1110_iiiiiiii",
    "11111_00_0_0_10_1_pppp dddd_1110_iiiiiiii",
    "11111_00_0_1_00_1_pppp 1111_iiiiiiiiiiii",
    "11111_00_1_1_00_1_pppp 1111_iiiiiiiiiiii",
];

/// Loads and stores whose pointer must be aligned.
const ALIGNED_MEMORY: &[&str] = &[
    "11101_00_1i10_0_pppp nnnn_mmmm_iiiiiiii", // STRD
    "11101_00_1i10_1_pppp dddd_eeee_iiiiiiii", // LDRD
];

const FLOAT_MEMORY: &[&str] = &[
    "11101101_ii_00_pppp iiii_1010_iiiiiiii", // VSTR, single
    "11101101_ii_01_pppp iiii_1010_iiiiiiii", // VLDR
    "11101101_i0_00_pppp iiii_1011_iiiiiiii", // VSTR, double
    "11101101_i0_01_pppp iiii_1011_iiiiiiii", // VLDR
];

const FLOAT: &[(&str, Rule)] = &[
    ("11101110_0_i_00_iiii iiii_1010_iii0_iiii", any), // VMLA, VMLS
    ("11101110_0_i_01_iiii iiii_1010_iii0_iiii", any), // VNMLA, VNMLS
    ("11101110_0_i_10_iiii iiii_1010_iii0_iiii", any), // VMUL, VNMUL
    ("11101110_0_i_11_iiii iiii_1010_iii0_iiii", any), // VADD, VSUB
    ("11101110_0_i_11_iiii iiii_1010_iii0_iiii", any),
    ("11101110_1_i_00_iiii iiii_1010_i0i0_iiii", any), // VDIV
    ("11101110_1_i_01_iiii iiii_1010_iii0_iiii", any), // VFNMA, VFNMS
    ("11101110_1_i_10_iiii iiii_1010_iii0_iiii", any), // VFMA, VFMS
    ("11101110_1_i_11_iiii iiii_1010_0000_iiii", any), // VMOV, immediate
    ("11101110_1_i_11_0000 iiii_1010_i1i0_iiii", any), // VMOV, VABS
    ("11101110_1_i_11_0001 iiii_1010_i1i0_iiii", any), // VNEG, VSQRT
    ("11101110_1_i_11_0001 iiii_1010_11i0_iiii", any), // VSQRT
    ("11101110_1_i_11_001i iiii_1010_i1i0_iiii", any), // VCVTB, VCVTT
    ("11101110_1_i_11_0100 iiii_1010_i1i0_iiii", any), // VCMP, VCMPE
    ("11101110_1_i_11_0101 iiii_1010_i100_0000", any), // with zero
    ("11101110_1_i_11_1000 iiii_1010_i1i0_iiii", any), // VCVT from integer
    ("11101110_1_i_11_110i iiii_1010_i1i0_iiii", any), // VCVT, VCVTR to integer
    ("11101110_1_i_11_1i1i iiii_1010_i1i0_iiii", fraction_fits), // VCVT, fixed point
    ("11101110_000_0_iiii nnnn_1010_i001_0000", any),  // VMOV from core
    ("11101110_000_1_iiii dddd_1010_i001_0000", any),  // VMOV to core
    ("11101110_00i_0_iiii nnnn_1011_0001_0000", any),  // VMOV to half of a double
    ("11101110_00i_1_iiii dddd_1011_0001_0000", any),  // VMOV from half of a double
    ("11101100_010_0_mmmm nnnn_1010_00i1_iiii", pair_fits), // two from core
    ("11101100_010_1_eeee dddd_1010_00i1_iiii", pair_fits), // two to core
    ("11101100_010_0_mmmm nnnn_1011_0001_iiii", any),
    ("11101100_010_1_eeee dddd_1011_0001_iiii", any),
    ("11101110_1111_0001 dddd_1010_0001_0000", any), // VMRS
    ("11101110_1111_0001 1111_1010_0001_0000", any), // VMRS to the flags
    ("11101110_1111_0001 1111_1010_0001_0000", any),
    ("11101110_1110_0001 nnnn_1010_0001_0000", any), // VMSR
];

/// MRS of everything, and MSR of the flags.
const SPECIAL: &[(&str, Rule)] = &[
    ("11110_0_111110_1111 1000_dddd_00000_iii", names_status),
    ("11110_0_111110_1111 1000_dddd_0000100_i", any), // MSP, PSP
    ("11110_0_111110_1111 1000_dddd_00010_iii", names_mask),
    ("11110_0_111000_nnnn 1000_1000_000000_ii", any), // APSR_nzcvq
    ("11110_0_111000_nnnn 1000_1000_000000_ii", any),
];
/// With the DSP extension: any parts of APSR.
const SPECIAL_DSP: &[(&str, Rule)] = &[("11110_0_111000_nnnn 1000_ii00_000000_ii", writes_part)];

/// What FPv5 adds (DDI 0553, C2.4).
const FLOAT_V5: &[&str] = &[
    "11101110_1_i_11_0110 iiii_1010_i1i0_iiii", // VRINTR, VRINTZ
    "11101110_1_i_11_0111 iiii_1010_01i0_iiii", // VRINTX
];
const FLOAT_UNCONDITIONAL: &[&str] = &[
    "11111110_0_i_ii_iiii iiii_1010_i0i0_iiii", // VSEL
    "11111110_1_i_00_iiii iiii_1010_iii0_iiii", // VMAXNM, VMINNM
    "11111110_1_i_00_iiii iiii_1010_iii0_iiii",
    "11111110_1_i_11_10ii iiii_1010_01i0_iiii", // VRINTA, VRINTN, VRINTP, VRINTM
    "11111110_1_i_11_11ii iiii_1010_i1i0_iiii", // VCVTA, VCVTN, VCVTP, VCVTM
];

/// Load-acquire and store-release (DDI 0553, C2.4).
const ORDERED: &[&str] = &[
    "11101_00_0110_1_pppp dddd_1111_1000_1111", // LDAB
    "11101_00_0110_1_pppp dddd_1111_1001_1111", // LDAH
    "11101_00_0110_1_pppp dddd_1111_1010_1111", // LDA
    "11101_00_0110_0_pppp nnnn_1111_1000_1111", // STLB
    "11101_00_0110_0_pppp nnnn_1111_1001_1111", // STLH
    "11101_00_0110_0_pppp nnnn_1111_1010_1111", // STL
];

/// Patterns by what they need, for one core.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    pub narrow: Vec<Pattern>,
    pub narrow_memory: Vec<Pattern>,
    pub wide: Vec<Pattern>,
    pub wide_memory: Vec<Pattern>,
    pub aligned_memory: Vec<Pattern>,
    pub float: Vec<Pattern>,
    pub float_memory: Vec<Pattern>,
    /// Accesses without an offset, which need an aligned pointer.
    pub wide_ordered: Vec<Pattern>,
    /// Operations that no IT block may hold.
    pub float_unconditional: Vec<Pattern>,
}

fn all(texts: &[&'static str]) -> Vec<Pattern> {
    texts.iter().map(|&text| Pattern { text, rule: any }).collect()
}

pub fn ruled(lines: &[(&'static str, Rule)]) -> Vec<Pattern> {
    lines.iter().map(|&(text, rule)| Pattern { text, rule }).collect()
}

/// What T32 has in other profiles, too: on registers, with a pointer, with an aligned one.
pub fn of_other_profiles() -> [Vec<Pattern>; 3] {
    let narrow = NARROW.iter().map(|&text| Pattern { text, rule: has_high_register }).collect();
    let dsp = [ruled(DSP), all(PARALLEL), all(DSP_MULTIPLY)].concat();
    let plain = [narrow, ruled(IMMEDIATE), ruled(REGISTER), all(MULTIPLY), dsp].concat();
    [plain, [all(NARROW_MEMORY), all(WIDE_MEMORY)].concat(), all(ALIGNED_MEMORY)]
}

/// What T32 has of floating point in other profiles, too, apart from writes of FPSCR: operations, and
/// loads and stores.
pub fn float_of_other_profiles() -> (Vec<Pattern>, Vec<Pattern>) {
    let (doubles, _) = double::patterns();
    let operations = [ruled(FLOAT), doubles].concat();
    let writes_status = |pattern: &Pattern| pattern.text.starts_with("11101110_1110_0001");
    let operations = operations.into_iter().filter(|it| !writes_status(it)).collect();
    (operations, all(FLOAT_MEMORY))
}

impl Patterns {
    /// The patterns of a program's core.
    pub fn new(options: ProgramOptions) -> Self {
        let narrow = NARROW.iter().map(|&text| Pattern { text, rule: has_high_register });
        let mut patterns =
            Self { narrow: narrow.collect(), narrow_memory: all(NARROW_MEMORY), ..Self::default() };
        if options.core.is_mainline() {
            patterns.wide =
                [ruled(IMMEDIATE), ruled(REGISTER), all(MULTIPLY), ruled(SPECIAL)].concat();
            patterns.wide_memory = all(WIDE_MEMORY);
            patterns.aligned_memory = all(ALIGNED_MEMORY);
        }
        if options.has_dsp() {
            let dsp = [ruled(DSP), all(PARALLEL), all(DSP_MULTIPLY), ruled(SPECIAL_DSP)];
            patterns.wide.extend(dsp.concat());
        }
        if options.float {
            patterns.float = ruled(FLOAT);
            patterns.float_memory = all(FLOAT_MEMORY);
        }
        if options.is_v8m() {
            patterns.wide_ordered = all(ORDERED);
        }
        if options.float && (options.is_v8m() || options.has_doubles()) {
            patterns.float.extend(all(FLOAT_V5));
            patterns.float_unconditional = all(FLOAT_UNCONDITIONAL);
        }
        if options.has_doubles() {
            let (anywhere, unconditional) = double::patterns();
            patterns.float.extend(anywhere);
            patterns.float_unconditional.extend(unconditional);
        }
        patterns
    }
}
