//! The generator of random programs.

use rtmark_sim::CoreKind;

use super::{
    APSR, AT_CALLED_HANDLER, AT_CLOCK, AT_ICSR, AT_ISPR, AT_OVERWRITTEN, AT_PENDSV, BASEPRI,
    BASEPRI_MAX, CONTROL, Contents, FAULTMASK, MSP, PRIMASK, PSP, Rounds,
};
use crate::support::{BX_LR, CPSID_I, CPSIE_I, FOREVER, NOP, RAM, Random, SEV, WFE, WFI};

/// A program under construction: the halfwords from an address on.
pub struct Code {
    pub random: Random,
    pub core: CoreKind,
    pub contents: Contents,
    pub base: u32,
    pub halves: Vec<u16>,
    /// The halfwords at which its functions begin.
    pub functions: Vec<i32>,
    /// Whether it is in a function that does not save its link register.
    pub is_leaf: bool,
}

impl Code {
    fn at(&self) -> i32 {
        self.halves.len() as i32
    }

    fn chance(&mut self, whole: u32) -> bool {
        self.random.below(whole) == 0
    }

    fn push(&mut self, halves: &[u16]) {
        self.halves.extend(halves);
    }

    fn wide(&mut self, bits: u32) {
        self.push(&[(bits >> 16) as u16, bits as u16]);
    }

    const fn is_mainline(&self) -> bool {
        self.core.is_mainline()
    }

    fn is_in_ram(&self) -> bool {
        self.base >= RAM
    }

    /// Appends one instruction that is allowed anywhere. It uses R0 to R3, words in RAM at R6, and
    /// words in flash at R7.
    fn plain(&mut self) {
        let kinds = match (self.is_mainline(), self.core.has_fpu()) {
            (false, _) => 16,
            (true, false) => 34,
            (true, true) => 46,
        };
        match self.random.below(kinds) {
            kind @ 0..16 => self.narrow(kind),
            kind @ 16..34 => self.wide_integer(kind),
            kind => self.float(kind),
        }
    }

    fn narrow(&mut self, kind: u32) {
        let (d, n, word) = (self.random.half(4), self.random.half(4), self.random.half(8));
        let half = match kind {
            0 => 0x3001 | d << 8,              // adds d, #1
            1 => 0x0080 | n << 3 | d,          // lsls d, n, #2
            2 => 0x4040 | n << 3 | d,          // eors d, n
            3 => 0x6830 | word << 6 | d,       // ldr d, [r6, #]
            4 => 0x6030 | word << 6 | d,       // str d, [r6, #]
            5 => 0x4340 | n << 3 | d,          // muls d, n
            6 => 0x4140 | n << 3 | d,          // adcs d, n
            7 => 0x4280 | n << 3 | d,          // cmp d, n
            8 => 0x4800 | d << 8 | n,          // ldr d, [pc, #]
            9 => 0x6838 | (word & 3) << 6 | d, // ldr d, [r7, #]
            10 => 0x7830 | word << 6 | d,      // ldrb d, [r6, #]
            11 => 0x8030 | word << 6 | d,      // strh d, [r6, #]
            12 => 0x4200 | n << 3 | d,         // tst d, n
            13 => 0xB2C0 | n << 3 | d,         // uxtb d, n
            _ => NOP,
        };
        self.push(&[half]);
    }

    fn wide_integer(&mut self, kind: u32) {
        let (d, n, m) = (self.random.below(4), self.random.below(4), self.random.below(4));
        let (other, offset) = ((d + 1 + n % 3) % 4, self.random.below(8));
        let dsp = self.core.has_dsp();
        self.wide(match kind {
            16 => 0xF100_0001 | n << 16 | d << 8,     // add.w d, n, #1
            17 => 0xF110_0001 | n << 16 | d << 8,     // adds.w d, n, #1
            18 => 0xFBB0_F0F0 | n << 16 | d << 8 | m, // udiv d, n, m
            19 => 0xFB00_0000 | n << 16 | other << 12 | d << 8 | m, // mla
            20 => 0xFBA0_0000 | n << 16 | other << 12 | d << 8 | m, // umull
            21 => 0xF3C0_1007 | n << 16 | d << 8,     // ubfx d, n, #4, #8
            22 => 0xFAB0_F080 | m << 16 | d << 8 | m, // clz d, m
            23 => 0xF8D6_0000 | d << 12 | offset,     // ldr.w d, [r6, #]
            24 => 0xF8C6_0000 | d << 12 | offset,     // str.w d, [r6, #]
            25 => 0xF8A6_0000 | d << 12 | offset,     // strh.w d, [r6, #]
            26 => 0xE9D6_0000 | d << 12 | other << 8 | offset, // ldrd
            27 => 0xE9C6_0000 | d << 12 | m << 8 | offset, // strd
            28 => 0xE896_0000 | 3 << (n & 2),         // ldm.w r6, {r0, r1} or {r2, r3}
            29 => 0xE886_000F,                        // stm.w r6, {r0-r3}
            30 => 0xE856_0F00 | d << 12 | offset,     // ldrex d, [r6, #]
            31 => 0xE846_0000 | d << 12 | other << 8 | offset, // strex other, d, [r6, #]
            32 if dsp => 0xFA80_F040 | n << 16 | d << 8 | m, // uadd8 d, n, m
            33 if dsp => 0xFAA0_F080 | n << 16 | d << 8 | m, // sel d, n, m
            _ => 0xEB10_0000 | n << 16 | d << 8 | m,  // adds.w d, n, m
        });
    }

    fn float(&mut self, kind: u32) {
        let (d, n, m) = (self.random.below(4), self.random.below(4), self.random.below(4));
        let (vd, vn) = ((d & 1) << 22 | (d >> 1) << 12, (n & 1) << 7 | (n >> 1) << 16);
        let vm = (m & 1) << 5 | m >> 1;
        let offset = self.random.below(8);
        self.wide(match kind {
            34 => 0xEE30_0A00 | vd | vn | vm, // vadd
            35 => 0xEE20_0A00 | vd | vn | vm, // vmul
            36 => 0xEE80_0A00 | vd | vn | vm, // vdiv
            37 => 0xEEB4_0A40 | vd | vm,      // vcmp
            38 | 39 => 0xEEF1_FA10,           // vmrs apsr_nzcv, fpscr
            40 => 0xEEF1_0A10 | m << 12,      // vmrs m, fpscr
            41 => 0xEEE1_0A10 | m << 12,      // vmsr fpscr, m
            42 => 0xEE00_0A10 | vn | m << 12, // vmov sn, m
            43 => 0xED96_0A00 | vd | offset,  // vldr sd, [r6, #]
            44 => 0xED86_0A00 | vd | offset,  // vstr sd, [r6, #]
            _ => 0xEC96_0A04,                 // vldm r6, {s0-s3}
        });
    }

    /// Appends an MRS of any register, or an MSR of one that a program can write safely.
    fn special(&mut self) {
        let (d, n) = (self.random.half(4), self.random.half(4));
        let mut readable = vec![APSR, 1, 3, 5, 7, MSP, PSP, PRIMASK, CONTROL];
        let mut writable = vec![APSR; 4];
        writable.push(PRIMASK);
        if self.is_mainline() {
            readable.extend([BASEPRI, BASEPRI_MAX, FAULTMASK]);
            writable.extend([BASEPRI, BASEPRI_MAX]);
        }
        if self.chance(3) {
            let register = readable[self.random.below(readable.len() as u32) as usize];
            self.push(&[0xF3EF, 0x8000 | d << 8 | register]);
        } else {
            let register = writable[self.random.below(writable.len() as u32) as usize];
            let parts = match (register, self.core.has_dsp()) {
                (APSR, true) => [0x8800, 0x8400, 0x8C00][usize::from(d % 3)],
                _ => 0x8800,
            };
            self.push(&[0xF380 | n, parts | register]);
        }
    }

    /// Appends an instruction that is allowed anywhere in an IT block.
    fn conditional(&mut self) {
        if self.contents == Contents::Plain {
            return self.plain();
        }
        match self.random.below(24) {
            0..=5 => self.special(),
            6 => self.push(&[SEV]),
            7 => self.push(&[0xDF00]), // svc #0
            8 => self.push(&[0xDE00]), // udf #0
            9 => self.anywhere(),
            _ => self.plain(),
        }
    }

    /// Appends a load or store at the address in a register, which may be invalid.
    fn anywhere(&mut self) {
        let (d, n) = (self.random.half(4), self.random.half(4));
        match self.random.below(4) {
            0 => self.push(&[0x6800 | n << 3 | d]), // ldr d, [n]
            1 => self.push(&[0x6000 | n << 3 | d]), // str d, [n]
            _ if !self.is_mainline() => self.push(&[0x8800 | n << 3 | d]), // ldrh d, [n]
            2 => self.push(&[0xE890 | n, 0xC]),     // ldm.w n, {r2, r3}
            _ => self.push(&[0xE880 | n, 0x5]),     // stm.w n, {r0, r2}
        }
    }

    /// Appends an IT block, whose last instruction may be a branch.
    fn it_block(&mut self) {
        let (condition, count) = (self.random.half(14), 1 + self.random.half(4));
        // One bit per later instruction, for the same or the opposite condition; then a bit that is
        // 1 and ends the mask.
        let mask = (self.random.half(1 << (count - 1)) << 1 | 1) << (4 - count);
        self.push(&[0xBF00 | condition << 4 | mask]);
        for _ in 1..count {
            self.conditional();
        }
        if self.chance(6) {
            self.push(&[0xE000, 0x3201]); // b over adds r2, #1
        } else {
            self.conditional();
        }
    }

    /// Appends up to six instructions or groups of them, then perhaps a branch over one
    /// instruction.
    fn body(&mut self) {
        for _ in 0..self.random.below(7) {
            let several = self.contents == Contents::Everything && self.chance(4);
            match self.random.below(8) {
                _ if several => self.several(),
                0..=2 if self.is_mainline() => self.it_block(),
                _ => self.plain(),
            }
        }
        // CMP R0, R1 and a branch of any condition over one instruction, or B over one.
        match self.random.below(3) {
            0 => {
                let condition = self.random.half(14) << 8;
                self.push(&[0x4288, 0xD000 | condition, 0x3201]);
            }
            1 => self.push(&[0xE000, 0x3201]),
            _ => {}
        }
    }

    /// Appends a group of instructions that depend on each other, with their operands in R2 and R3.
    fn several(&mut self) {
        let (k, bit) = (self.random.half(8), self.random.half(4));
        match self.random.below(12) {
            0 | 1 => self.special(),
            2 => {
                self.mask();
                self.plain();
                self.unmask();
            }
            3 => {
                self.unmask();
                match k {
                    0 => self.push(&[WFI]),
                    1 => self.push(&[WFE]),
                    _ => {}
                }
            }
            4 => self.load_and(&[(2, AT_ICSR), (3, AT_PENDSV)], &[0x6013]),
            5 => self.load_and(&[(2, AT_ISPR)], &[0x2300 | 1 << bit, 0x6013]),
            6 => self.load_and(&[(2, AT_CLOCK)], &[0x6813, 0x6033 | k << 6]),
            7 => self.unprivileged(),
            8 => self.call_ram(),
            9 if self.is_in_ram() => self.overwrite_own(),
            10 => self.push(&[SEV]),
            11 => {
                // STMIA R6!; SUBS R6; PUSH; POP: all of R0 to R3.
                self.push(&[0xC60F, 0x3E10, 0xB40F]);
                self.plain();
                self.push(&[0xBC0F]);
            }
            _ => self.push(&[0xF3BF, [0x8F4F, 0x8F5F, 0x8F6F][usize::from(k % 3)]]),
        }
    }

    /// Masks all or nearly all exceptions, perhaps in an IT block.
    fn mask(&mut self) {
        if !self.is_mainline() {
            return self.push(&[CPSID_I]);
        }
        let (n, condition) = (self.random.half(4), self.random.half(14));
        match self.random.below(4) {
            0 => self.push(&[CPSID_I]),
            1 => self.push(&[0xB673]), // cpsid if
            _ => {
                // itt or ite
                let other = self.random.half(2) << 3;
                self.push(&[0xBF04 | condition << 4 | other, 0xF380 | n, 0x8800 | FAULTMASK]);
                self.push(&[0xF380 | n, 0x8800 | PRIMASK]);
            }
        }
    }

    /// Unmasks all exceptions.
    fn unmask(&mut self) {
        if self.is_mainline() {
            self.push(&[0xB663, 0x2300, 0xF383, 0x8800 | BASEPRI]); // cpsie if
        } else {
            self.push(&[CPSIE_I]);
        }
    }

    /// Loads words of the table into registers, then appends some instructions.
    fn load_and(&mut self, words: &[(u16, u16)], then: &[u16]) {
        for &(register, at) in words {
            self.push(&[0x6838 | at << 6 | register]);
        }
        self.push(then);
    }

    /// Writes CONTROL, perhaps in an IT block, and restores it through SVC.
    fn unprivileged(&mut self) {
        let live = if self.core.has_fpu() { 4 } else { 0 };
        let control = self.random.half(4) | live;
        self.push(&[0x2300 | control]);
        if self.is_mainline() && self.chance(2) {
            let condition = self.random.half(14);
            self.push(&[0xBF00 | condition << 4 | 4 | (condition & 1) << 3]); // itt
            self.push(&[0xF383, 0x8800 | CONTROL]);
        } else {
            self.push(&[0xF383, 0x8800 | CONTROL]);
        }
        self.conditional();
        if self.is_mainline() {
            self.it_block();
        }
        self.push(&[0xB407]); // push {r0-r2}
        self.special();
        self.push(&[0xBC07]);
        self.push(&[CPSID_I, CPSIE_I, 0xDF00]);
        self.push(&[0x2300, 0xF383, 0x8800 | CONTROL, 0xF3BF, 0x8F6F]);
    }

    /// Calls the function in RAM, perhaps after changing its condition or operand.
    fn call_ram(&mut self) {
        if self.is_leaf {
            return self.plain();
        }
        if self.chance(2) {
            self.load_and(&[(2, AT_OVERWRITTEN)], &[0x3A01]); // without the Thumb bit
            if self.is_mainline() {
                // The condition comes from the inner loop's count: any even one, including AL.
                // lsls r3, r5, #5; adds r3, #8; strb r3, [r2]
                self.push(&[0x016B, 0x3308, 0x7013]);
            } else {
                self.push(&[0x7015]); // strb r5, [r2]
            }
            if self.chance(2) {
                self.push(&[0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F]);
            }
        }
        self.load_and(&[(2, AT_OVERWRITTEN)], &[0x4790]); // blx r2
    }

    /// Increments the operand of an instruction that follows shortly.
    fn overwrite_own(&mut self) {
        if self.at() % 2 == 1 {
            self.push(&[NOP]);
        }
        // adr r2, there; ldrb r3, [r2]; adds r3, #1; strb r3, [r2]
        self.push(&[0xA201, 0x7813, 0x3301, 0x7013]);
        self.push(&[0x3000, 0x3100]); // adds r0, #; adds r1, #
    }

    /// Appends BL to a halfword of the program.
    fn call(&mut self, target: i32) {
        let offset = ((target - self.at() - 2) * 2) as u32;
        let (high, low) = ((offset >> 12 & 0x3FF) as u16, (offset >> 1 & 0x7FF) as u16);
        // The target is so near that all higher bits equal the sign.
        let sign = (offset >> 31) as u16;
        self.push(&[0xF000 | sign << 10 | high, 0xF800 | low]);
    }

    /// Appends SUBS of a counter, and a branch back to a halfword that is taken while the counter
    /// is not zero.
    fn again(&mut self, counter: u16, to: i32) {
        self.push(&[0x3801 | counter << 8]);
        let back = to - self.at() - 2;
        if back < -126 || self.chance(3) {
            // BEQ over a backward B.
            self.push(&[0xD000, 0xE000 | (back - 1) as u16 & 0x7FF]);
        } else {
            self.push(&[0xD100 | back as u16 & 0xFF]);
        }
    }

    /// Writes a leaf function, and one that may call it.
    fn write_functions(&mut self) {
        self.functions.push(self.at());
        self.is_leaf = true;
        self.body();
        self.is_leaf = false;
        self.push(&[BX_LR]);
        let second = self.at();
        self.push(&[0xB500]); // push {lr}
        self.body();
        self.maybe_call();
        self.body();
        self.push(&[0xBD00]); // pop {pc}
        self.functions.push(second);
    }

    fn maybe_call(&mut self) {
        let chosen = self.random.below(2 * self.functions.len() as u32 + 1) as usize;
        if let Some(&target) = self.functions.get(chosen) {
            self.call(target);
        } else if chosen == 2 * self.functions.len() {
            self.load_and(&[(2, AT_CALLED_HANDLER)], &[0x4790]); // blx r2
        }
    }

    /// Writes functions, followed by loops that may call them. Returns the offset of the loops in
    /// bytes.
    pub fn program(&mut self, rounds: Rounds) -> u32 {
        self.write_functions();
        // This varies the positions of page boundaries.
        for _ in 0..self.random.below(80) {
            self.push(&[NOP]);
        }
        let start = self.at();
        let outer_count = 1 + self.random.half(rounds.outer);
        self.push(&[0x2400 | outer_count]);
        let outer = self.at();
        self.body();
        let inner_count = 1 + self.random.half(rounds.inner);
        self.push(&[0x2500 | inner_count]);
        let inner = self.at();
        self.body();
        for _ in 0..=self.random.below(7) {
            self.maybe_call();
            self.body();
        }
        self.again(5, inner);
        self.body();
        self.again(4, outer);
        self.push(&[FOREVER]);
        start as u32 * 2
    }
}
