//! Units that only ARMv7E-M has: IT blocks, wide memory accesses, floating point.

use super::generate::Generator;

const MOVS: u16 = 0x2000;
/// Floating-point operations on three registers, VMLA to VFNMS.
const FLOAT_OPERATIONS: &[u32] = &[
    0xEE00_0A00,
    0xEE00_0A40,
    0xEE10_0A00,
    0xEE10_0A40,
    0xEE20_0A00,
    0xEE20_0A40,
    0xEE30_0A00,
    0xEE30_0A40,
    0xEE80_0A00,
    0xEE90_0A00,
    0xEE90_0A40,
    0xEEA0_0A00,
    0xEEA0_0A40,
];

impl Generator {
    pub(super) fn wide_skip(&mut self) {
        let placeholder = self.code.placeholder();
        let condition = u32::from(self.condition());
        let always = self.random.chance(1, 4);
        self.code.wide(if always { 0xF000_9000 } else { 0xF000_8000 | condition << 22 });
        self.simples(1, 4);
        self.code.fill(placeholder);
    }

    /// TBB or TBH into one of a few places.
    pub(super) fn table_branch(&mut self) {
        let index = self.low();
        let cases = 2 + self.random.below(3);
        let chosen = self.random.below(cases) as u16;
        self.code.half(MOVS | u16::from(index) << 8 | chosen);
        let halfwords = self.random.chance(1, 2);
        let kind = if halfwords { 0x10 } else { 0 };
        self.code.wide(0xE8DF_F000 | kind | u32::from(index));
        // Every case is one 16-bit instruction that runs on into the next one.
        let entries = if halfwords { cases } else { cases.div_ceil(2) };
        for at in 0..entries as u16 {
            let entries = entries as u16;
            let byte = |case| entries + case;
            self.code.half(if halfwords {
                entries + at
            } else {
                byte(2 * at) | byte(2 * at + 1) << 8
            });
        }
        for _ in 0..=cases {
            self.narrow();
        }
    }

    /// Loads and stores that write their address back, on a copy of the pointer.
    pub(super) fn wide_indexed_access(&mut self) {
        let base = self.copy_of_pointer();
        let pointer = std::mem::replace(&mut self.pointer, base);
        let aligned = self.aligned;
        self.keeping(base, |generator| {
            let mut texts = vec![
                "11111_00_0_0_00_0_pppp mmmm_1i11_iiiiiiii",
                "11111_00_0_0_01_0_pppp mmmm_10i1_iiiiiiii",
                "11111_00_0_0_10_0_pppp mmmm_1i11_iiiiiiii",
                "11111_00_i_0_00_1_pppp dddd_1i11_iiiiiiii",
                "11111_00_i_0_01_1_pppp dddd_10i1_iiiiiiii",
                "11111_00_0_0_10_1_pppp dddd_1i11_iiiiiiii",
            ];
            if aligned {
                texts.push("11101_00_0i11_1_pppp dddd_eeee_iiiiiiii");
                texts.push("11101_00_1i11_1_pppp dddd_eeee_iiiiiiii");
                texts.push("11101_00_0i11_0_pppp aaaa_mmmm_iiiiiiii");
            }
            let text = *generator.random.pick(&texts);
            loop {
                let bits = generator.fill(text);
                // A stored register that is also written back is UNPREDICTABLE.
                let (t, t2) = (bits >> 12 & 15, bits >> 8 & 15);
                let dual = bits >> 25 == 0b111_0100;
                let base = u32::from(base);
                if t != base && !(dual && t2 == base) {
                    generator.code.wide(bits);
                    break;
                }
            }
        });
        self.pointer = pointer;
    }

    /// LDM, LDMDB, STM and STMDB in 32 bits.
    pub(super) fn wide_multiple_access(&mut self) {
        if !self.aligned {
            return self.simple();
        }
        let base = self.copy_of_pointer();
        let loads = self.random.chance(1, 2);
        let writes_back = self.random.chance(1, 2);
        let list = loop {
            let mut list = self.random.word() & 0x5FFF & !(1 << base);
            if loads {
                list &= !u32::from(self.reserved);
            }
            if list.count_ones() >= 2 {
                break list;
            }
        };
        let direction = if self.random.chance(1, 2) { 0xE880 } else { 0xE900 };
        let first =
            direction | u32::from(writes_back) << 5 | u32::from(loads) << 4 | u32::from(base);
        self.code.wide(first << 16 | list);
    }

    /// An exclusive load, something that touches no memory, an exclusive store.
    pub(super) fn exclusive_access(&mut self) {
        if !self.aligned {
            return self.simple();
        }
        let size = self.random.below(3);
        let offset = self.random.below(64);
        let pointer = u32::from(self.pointer);
        if self.random.chance(7, 8) {
            let t = u32::from(self.destination());
            self.code.wide(match size {
                0 => 0xE850_0F00 | pointer << 16 | t << 12 | offset,
                1 => 0xE8D0_0F4F | pointer << 16 | t << 12,
                _ => 0xE8D0_0F5F | pointer << 16 | t << 12,
            });
        }
        self.memory = false;
        self.simples(0, 2);
        self.memory = true;
        if self.random.chance(1, 8) {
            // An exception, taken or returned from, ends the exclusive access.
            self.pend_with_interrupts_masked();
        }
        if self.random.chance(1, 8) {
            self.code.wide(0xF3BF_8F2F); // clrex
        }
        let t = u32::from(self.source());
        let d = loop {
            let d = u32::from(self.destination());
            if d != t {
                break d;
            }
        };
        self.code.wide(match size {
            0 => 0xE840_0000 | pointer << 16 | t << 12 | d << 8 | offset,
            1 => 0xE8C0_0F40 | pointer << 16 | t << 12 | d,
            _ => 0xE8C0_0F50 | pointer << 16 | t << 12 | d,
        });
    }

    /// Q and GE written, and read back.
    pub(super) fn flags_of_extensions(&mut self) {
        let n = u16::from(self.source());
        let masks: &[u16] =
            if self.options.has_dsp() { &[0x8400, 0x8800, 0x8C00] } else { &[0x8800] };
        let mask = *self.random.pick(masks);
        self.code.halves(&[0xF380 | n, mask]);
        self.mrs(0);
    }

    /// Vector registers from the table of constants.
    pub(super) fn float_constants(&mut self) {
        let base = self.low();
        let count = 1 + self.random.below(8);
        let first = self.random.below(32 - count);
        let offset = self.random.below(248) * 4;
        self.code.load_literal(base, self.table + offset);
        let register = (first >> 1) << 12 | (first & 1) << 22;
        self.code.wide(0xECB0_0A00 | u32::from(base) << 16 | register | count);
    }

    /// One floating-point operation with its own flags seen: cleared before, read after.
    pub(super) fn judged_float(&mut self) {
        let mode = self.low();
        let value = self.random.below(32) << 22 & 0x07C0_0000;
        self.code.load_literal(mode, value);
        self.code.wide(0xEEE1_0A10 | u32::from(mode) << 12); // vmsr
        self.emit_one(|patterns| &patterns.float);
        let d = u32::from(self.destination());
        self.code.wide(0xEEF1_0A10 | d << 12); // vmrs
    }

    /// An operation on registers that hold remarkable values, with its flags seen.
    pub(super) fn float_corner(&mut self) {
        let mode = self.low();
        let value = self.random.below(32) << 22 & 0x07C0_0000;
        self.code.load_literal(mode, value);
        self.code.wide(0xEEE1_0A10 | u32::from(mode) << 12); // vmsr
        let first = self.random.below(8) * 4;
        let kind = self.random.below(4);
        for at in first..first + 3 {
            let value = match kind {
                0 => self.halves(),
                1 => self.special_float(),
                _ => self.interesting_float(),
            };
            let t = self.low();
            self.code.load_literal(t, value);
            let register = (at >> 1) << 16 | (at & 1) << 7;
            self.code.wide(0xEE00_0A10 | register | u32::from(t) << 12); // vmov
        }
        let [d, n, m] = [first, first + 1, first + 2];
        let d = (d >> 1) << 12 | m >> 1;
        self.code.wide(if kind == 0 {
            // VCVTB and VCVTT.
            d | *self.random.pick(&[0xEEB2_0A40, 0xEEB2_0AC0, 0xEEB3_0A40, 0xEEB3_0AC0])
        } else {
            let operation = *self.random.pick(FLOAT_OPERATIONS);
            operation | d | (n >> 1) << 16 | (n & 1) << 7
        });
        let d = u32::from(self.destination());
        self.code.wide(0xEEF1_0A10 | d << 12); // vmrs
    }

    /// VLDM and VSTM with and without write-back, VPUSH and VPOP.
    pub(super) fn float_multiple_access(&mut self) {
        let double = u32::from(self.random.chance(1, 3));
        let count = 1 + self.random.below(8);
        let (first, words) = if double == 1 {
            (self.random.below(16 - count) << 12, 2 * count)
        } else {
            let first = self.random.below(32 - count);
            ((first >> 1) << 12 | (first & 1) << 22, count)
        };
        let rest = first | 0x0A00 | double << 8 | words;
        if self.random.chance(1, 3) {
            self.code.wide(0xED2D_0000 | rest); // vpush
            self.simples(0, 2);
            self.code.wide(0xECBD_0000 | rest); // vpop
            return;
        }
        if !self.aligned {
            return self.simple();
        }
        let base = u32::from(self.copy_of_pointer());
        let load = self.random.below(2) << 20;
        let form = *self.random.pick(&[0xEC80_0000, 0xECA0_0000, 0xED20_0000]);
        self.code.wide(form | load | base << 16 | rest);
    }
}
