//! Units that only ARMv8-M has: stack limits, TT, SG, exclusives with order, FPv5.

use super::generate::Generator;

/// TT_RESP's region numbers tell of the chip's own attribution unit, which the
/// simulator's socs do not have; what is below them the core decides.
const TT_RESP_OF_THE_CORE: u16 = 22;

const MSPLIM: u16 = 10;
const PSPLIM: u16 = 11;

impl Generator {
    pub(super) fn v8m_unit(&mut self) {
        match self.random.below(if self.options.float { 10 } else { 6 }) {
            0 => self.stack_limits(),
            1 | 2 => self.test_target(),
            3 => self.security(),
            4 | 5 => self.ordered_exclusive(),
            6 => self.left_float_state(),
            _ => self.judged_float_v5(),
        }
    }

    /// MSPLIM and PSPLIM somewhere below the stacks, which the programs keep to.
    fn stack_limits(&mut self) {
        let (main, process) = (self.layout.main_stack, self.layout.process_stack);
        for (stack, register) in [(main, MSPLIM), (process, PSPLIM)] {
            let by = self.low();
            let limit = stack - 0x800 + self.random.below(0x200);
            self.code.load_literal(by, limit);
            self.msr(by, register);
            self.mrs(register);
        }
    }

    /// TT, TTT, TTA or TTAT of the window, without the chip's part of the answer.
    fn test_target(&mut self) {
        let d = u32::from(self.destination());
        let variant = self.random.below(4) << 6;
        let pointer = u32::from(self.pointer);
        self.code.wide(0xE840_F000 | pointer << 16 | d << 8 | variant);
        // ubfx d, d, #0, #23
        self.code.wide(0xF3C0_0000 | d << 16 | d << 8 | u32::from(TT_RESP_OF_THE_CORE));
    }

    /// SG in Secure state, BXNS and BLXNS to a Secure address.
    fn security(&mut self) {
        if self.random.chance(1, 3) {
            self.code.wide(0xE97F_E97F);
            return;
        }
        let by = u16::from(self.low());
        self.code.align(4);
        let adr = self.code.placeholder();
        self.code.half(0xA000 | by << 8);
        self.code.half(0x3001 | by << 8); // adds: Secure
        self.code.half(if self.random.chance(1, 2) { 0x4704 } else { 0x4784 } | by << 3);
        self.simples(1, 3);
        self.code.align(4);
        self.code.adr(adr);
    }

    /// LDAEX and STLEX of any size, mixed with LDREX and STREX.
    fn ordered_exclusive(&mut self) {
        if !self.aligned {
            return self.simple();
        }
        let size = self.random.below(3);
        let pointer = u32::from(self.pointer);
        if self.random.chance(7, 8) {
            let t = u32::from(self.destination());
            self.code.wide(0xE8D0_0FCF | pointer << 16 | t << 12 | size << 4);
        }
        self.memory = false;
        self.simples(0, 2);
        self.memory = true;
        if self.random.chance(1, 8) {
            self.pend_with_interrupts_masked();
        }
        let t = u32::from(self.source());
        let d = loop {
            let d = u32::from(self.destination());
            if d != t {
                break d;
            }
        };
        self.code.wide(0xE8C0_0FC0 | pointer << 16 | t << 12 | size << 4 | d);
    }

    /// One operation of FPv5 with its own flags seen.
    fn judged_float_v5(&mut self) {
        let mode = self.low();
        let value = self.random.below(32) << 22 & 0x07C0_0000;
        self.code.load_literal(mode, value);
        self.code.wide(0xEEE1_0A10 | u32::from(mode) << 12); // vmsr
        let unconditional = self.random.chance(3, 4);
        let amount = 1 + self.random.below(2);
        for _ in 0..amount {
            let t = self.low();
            let float = self.interesting_float();
            self.code.load_literal(t, float);
            let at = self.random.below(32);
            let register = (at >> 1) << 16 | (at & 1) << 7;
            self.code.wide(0xEE00_0A10 | register | u32::from(t) << 12); // vmov
            if unconditional {
                self.emit_one(|patterns| &patterns.float_unconditional);
            } else {
                self.emit_one(|patterns| &patterns.float);
            }
        }
        let d = u32::from(self.destination());
        self.code.wide(0xEEF1_0A10 | d << 12); // vmrs
    }

    /// VLSTM, something that uses the unit or does not, VLLDM.
    fn left_float_state(&mut self) {
        let by = self.low();
        // Eighteen words within the window, aligned to eight bytes.
        let (low, high) = self.layout.safe;
        let offset = (low + self.random.below(high - low)) & !7;
        self.code.load_literal(by, self.layout.window + offset);
        self.keeping(by, |generator| {
            let n = u32::from(by) << 16;
            generator.code.wide(0xEC20_0A00 | n);
            if generator.random.chance(1, 2) {
                let d = u32::from(generator.destination());
                generator.code.wide(0xEEF1_0A10 | d << 12); // vmrs
            }
            for _ in 0..generator.random.below(3) {
                generator.narrow();
            }
            generator.code.wide(0xEC30_0A00 | n);
        });
    }
}
