//! What only a unit with double precision executes.

use super::generate::Generator;
use super::patterns::{Pattern, Rule, any, fraction_fits, ruled};

/// Numbers of double precision at the ends of ranges, by their upper words: of doubles themselves,
/// of singles, of halves and of integers.
const CORNERS: &[u32] = &[
    0,
    1,
    0x000F_FFFF,
    0x0010_0000,
    0x3690_0000,
    0x37FF_FFFF,
    0x3800_0000,
    0x380F_FFFF,
    0x3E60_0000,
    0x3F0F_FFFF,
    0x3F10_0000,
    0x3FDF_FFFF,
    0x3FE0_0000,
    0x3FF0_0000,
    0x4008_0000,
    0x40EF_FFC0,
    0x41DF_FFFF,
    0x41EF_FFFF,
    0x4330_0000,
    0x47EF_FFFF,
    0x7FE0_0000,
    0x7FEF_FFFF,
    0x7FF0_0000,
    0x7FF8_0000,
    0x7FF0_0001,
];

const DOUBLE: &[(&str, Rule)] = &[
    ("11101110_0_0_00_iiii iiii_1011_0i00_iiii", any), // VMLA, VMLS
    ("11101110_0_0_01_iiii iiii_1011_0i00_iiii", any), // VNMLA, VNMLS
    ("11101110_0_0_10_iiii iiii_1011_0i00_iiii", any), // VMUL, VNMUL
    ("11101110_0_0_11_iiii iiii_1011_0i00_iiii", any), // VADD, VSUB
    ("11101110_1_0_00_iiii iiii_1011_0000_iiii", any), // VDIV
    ("11101110_1_0_01_iiii iiii_1011_0i00_iiii", any), // VFNMA, VFNMS
    ("11101110_1_0_10_iiii iiii_1011_0i00_iiii", any), // VFMA, VFMS
    ("11101110_1_0_11_iiii iiii_1011_0000_iiii", any), // VMOV, immediate
    ("11101110_1_0_11_0000 iiii_1011_i100_iiii", any), // VMOV, VABS
    ("11101110_1_0_11_0001 iiii_1011_i100_iiii", any), // VNEG, VSQRT
    ("11101110_1_0_11_0010 iiii_1011_i1i0_iiii", any), // VCVTB, VCVTT from half
    ("11101110_1_i_11_0011 iiii_1011_i100_iiii", any), // VCVTB, VCVTT to half
    ("11101110_1_0_11_0100 iiii_1011_i100_iiii", any), // VCMP, VCMPE
    ("11101110_1_0_11_0101 iiii_1011_i100_0000", any), // with zero
    ("11101110_1_0_11_0110 iiii_1011_i100_iiii", any), // VRINTR, VRINTZ
    ("11101110_1_0_11_0111 iiii_1011_0100_iiii", any), // VRINTX
    ("11101110_1_0_11_0111 iiii_1010_11i0_iiii", any), // VCVT from single
    ("11101110_1_i_11_0111 iiii_1011_1100_iiii", any), // VCVT to single
    ("11101110_1_0_11_1000 iiii_1011_i1i0_iiii", any), // VCVT from integer
    ("11101110_1_i_11_110i iiii_1011_i100_iiii", any), // VCVT, VCVTR to integer
    ("11101110_1_0_11_1i1i iiii_1011_i1i0_iiii", fraction_fits), // VCVT, fixed point
];

const UNCONDITIONAL: &[(&str, Rule)] = &[
    ("11111110_0_0_ii_iiii iiii_1011_0000_iiii", any), // VSEL
    ("11111110_1_0_00_iiii iiii_1011_0i00_iiii", any), // VMAXNM, VMINNM
    ("11111110_1_0_11_10ii iiii_1011_0100_iiii", any), // VRINTA, VRINTN, VRINTP, VRINTM
    ("11111110_1_i_11_11ii iiii_1011_i100_iiii", any), // VCVTA, VCVTN, VCVTP, VCVTM
];

/// Operations that an IT block may contain, and those that it may not.
pub fn patterns() -> (Vec<Pattern>, Vec<Pattern>) {
    (ruled(DOUBLE), ruled(UNCONDITIONAL))
}

impl Generator {
    /// An operation on registers that hold remarkable numbers, with its flags seen.
    pub(super) fn double_unit(&mut self) {
        let mode = self.low();
        let value = self.random.below(32) << 22 & 0x07C0_0000;
        self.code.load_literal(mode, value);
        self.code.wide(0xEEE1_0A10 | u32::from(mode) << 12); // vmsr
        let unconditional = self.random.chance(1, 4);
        let bits = self.double_operation(unconditional);
        for register in [bits >> 12 & 15, bits >> 16 & 15, bits & 15] {
            self.double_constant(register);
        }
        self.code.wide(bits);
        let d = u32::from(self.destination());
        self.code.wide(0xEEF1_0A10 | d << 12); // vmrs
    }

    fn double_operation(&mut self, unconditional: bool) -> u32 {
        let among =
            if unconditional { &self.patterns.float_unconditional } else { &self.patterns.float };
        let doubles: Vec<_> =
            among.iter().filter(|pattern| pattern.text.contains("_1011_")).copied().collect();
        let pattern = *self.random.pick(&doubles);
        self.filled(&pattern)
    }

    /// Gives a double register a number.
    fn double_constant(&mut self, register: u32) {
        let sign = self.random.word() & 1 << 31;
        let high = match self.random.below(4) {
            0 => *self.random.pick(CORNERS),
            // Exponents close together, so that sums have something to do.
            1 | 2 => (1000 + self.random.below(46)) << 20 | self.random.word() & 0xF_FFFF,
            _ => self.random.word(),
        };
        let low = match self.random.below(4) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << self.random.below(32),
            _ => self.random.word(),
        };
        let (t, value) = (self.low(), sign ^ high);
        self.code.load_literal(t, value);
        self.keeping(t, |generator| {
            let other = generator.low();
            generator.code.load_literal(other, low);
            // vmov dm, other, t
            let operands = u32::from(t) << 16 | u32::from(other) << 12 | register;
            generator.code.wide(0xEC40_0B10 | operands);
        });
    }
}
