//! Emits units of several instructions: branches, IT blocks, stacks, calls, exceptions.

use super::generate::Generator;

/// Conditions that an instruction can have; 14 and 15 are always.
const CONDITIONS: u32 = 14;
const MOVS: u16 = 0x2000;
const MSP: u16 = 8;
const PSP: u16 = 9;

impl Generator {
    /// Writes one unit.
    pub(super) fn unit(&mut self) {
        let kinds = match (self.is_mainline(), self.options.float) {
            (false, _) => 32,
            (true, false) => 52,
            (true, true) => 66,
        };
        if self.options.faults && self.random.chance(1, 4) {
            return self.fault_unit();
        }
        if self.options.has_doubles() && self.random.chance(1, 8) {
            return self.double_unit();
        }
        if self.options.is_v8m() && self.random.chance(1, 12) {
            return self.v8m_unit();
        }
        match self.random.below(kinds) {
            9..=11 => self.constant(),
            12 | 13 => self.skip(),
            14 => self.count_down(),
            15..=17 => self.indexed_access(),
            18 => self.multiple_access(),
            19 => self.stack_frame(),
            20 => self.push_and_pop(),
            21 => self.call(),
            22 => self.jump(),
            23 => self.special_register(),
            24 => self.mask_interrupts(),
            25 => self.stacks(),
            26 => self.exception(),
            27 => self.barrier(),
            28 | 29 => self.judged_shift(),
            30 | 31 => self.judged_integer(),
            32..=39 => self.it_block(),
            40 => self.wide_skip(),
            41 => self.table_branch(),
            42 | 43 => self.wide_indexed_access(),
            44 => self.wide_multiple_access(),
            45 => self.exclusive_access(),
            46 => self.flags_of_extensions(),
            52 | 53 => self.float_constants(),
            54..=57 => self.judged_float(),
            58 => self.float_multiple_access(),
            59 | 60 => self.float_corner(),
            _ => self.simple(),
        }
    }

    pub(super) fn simples(&mut self, least: u32, more: u32) {
        for _ in 0..least + self.random.below(more + 1) {
            self.simple();
        }
    }

    /// Keeps a register's value while something is written.
    pub(super) fn keeping(&mut self, register: u8, write: impl FnOnce(&mut Self)) {
        let before = self.reserved;
        self.reserved |= 1 << register;
        write(self);
        self.reserved = before;
    }

    fn constant(&mut self) {
        let (t, value) = (self.low(), self.interesting());
        self.code.load_literal(t, value);
    }

    pub(super) fn condition(&mut self) -> u16 {
        self.random.below(CONDITIONS) as u16
    }

    /// A branch forward over a few instructions.
    fn skip(&mut self) {
        let placeholder = self.code.placeholder();
        let condition = self.condition();
        let always = self.random.chance(1, 8);
        let compares = self.is_mainline() && self.random.chance(1, 3);
        let kind = self.random.below(2) as u16;
        let n = self.random.below(8) as u16;
        self.code.half(match (always, compares) {
            (true, _) => 0xE000,
            (_, true) => 0xB100 | kind << 11 | n,
            _ => 0xD000 | condition << 8,
        });
        self.simples(1, 3);
        self.code.fill(placeholder);
    }

    /// A loop of a few turns.
    fn count_down(&mut self) {
        let counter = self.low();
        let turns = 2 + self.random.below(4) as u16;
        self.code.half(MOVS | u16::from(counter) << 8 | turns);
        let top = self.code.here();
        self.keeping(counter, |generator| generator.simples(1, 3));
        self.code.half(0x3801 | u16::from(counter) << 8); // subs
        let placeholder = self.code.placeholder();
        self.code.half(0xD100); // bne
        self.code.bind(placeholder, top);
    }

    /// Loads and stores with a register as offset.
    fn indexed_access(&mut self) {
        let index = self.low();
        let offset = self.random.below(64) as u16 * 4;
        self.code.half(MOVS | u16::from(index) << 8 | offset);
        self.keeping(index, |generator| {
            for _ in 0..2 {
                let (d, n) = (generator.low(), generator.random.below(8) as u8);
                let operation = generator.random.below(8) as u16;
                let t = if operation < 3 { n } else { d };
                generator.code.half(
                    0x5000
                        | operation << 9
                        | u16::from(index) << 6
                        | u16::from(generator.pointer) << 3
                        | u16::from(t),
                );
            }
            if generator.is_mainline() {
                let text = *generator.random.pick(&[
                    ("11111_00_0_0_0i_0_pppp nnnn_000000_ii", 4),
                    ("11111_00_i_0_0i_1_pppp dddd_000000_ii", 4),
                    ("11111_00_0_0_10_0_pppp nnnn_000000_ii", 4),
                    ("11111_00_0_0_10_1_pppp dddd_000000_ii", 4),
                ]);
                generator.emit_indexed(text.0, index);
            }
        });
    }

    /// A pattern without its last four bits, which name the index register.
    fn emit_indexed(&mut self, text: &'static str, index: u8) {
        let bits = self.fill(text) << 4 | u32::from(index);
        self.code.wide(bits);
    }

    /// `MOV x, pointer` with the window's address, word-aligned if asked for.
    pub(super) fn copy_of_pointer(&mut self) -> u8 {
        let copy = self.low();
        self.code.half(0x4600 | u16::from(self.pointer) << 3 | u16::from(copy));
        copy
    }

    /// LDM and STM of low registers.
    fn multiple_access(&mut self) {
        if !self.aligned {
            return self.simple();
        }
        let base = self.copy_of_pointer();
        let forbidden = u32::from(self.reserved) & 0xFF;
        let store = self.random.chance(1, 2);
        let list = loop {
            let list = self.random.word() & 0xFF;
            // The base in a stored list has a known value only as its first register.
            let list = if store { list & !(1 << base) } else { list & !forbidden };
            if list != 0 {
                break list as u16;
            }
        };
        let opcode = if store { 0xC000 } else { 0xC800 };
        self.code.half(opcode | u16::from(base) << 8 | list);
    }

    /// Room on the stack, written before it is read.
    fn stack_frame(&mut self) {
        let words = 1 + self.random.below(32) as u16;
        self.code.half(0xB080 | words); // sub sp
        for _ in 0..2 {
            let offset = self.random.below(u32::from(words)) as u16;
            let n = self.random.below(8) as u16;
            self.code.half(0x9000 | n << 8 | offset); // str rn, [sp]
            if self.random.chance(1, 8) {
                self.supervisor_call();
            }
            self.simple();
            let d = u16::from(self.low());
            self.code.half(0x9800 | d << 8 | offset); // ldr rd, [sp]
        }
        let d = u16::from(self.low());
        let offset = self.random.below(256) as u16;
        self.code.half(0xA800 | d << 8 | offset); // add rd, sp, #
        self.code.half(0xB000 | words);
    }

    fn push_and_pop(&mut self) {
        let jumps = self.random.chance(1, 2);
        let count = 1 + self.random.below(5);
        let forbidden = u32::from(self.reserved) & 0xFF;
        let pick = |generator: &mut Self, forbidden: u32| loop {
            let list = generator.random.word() & 0xFF & !forbidden;
            if list.count_ones() == count {
                return list as u16;
            }
        };
        let (pushed, popped) = (pick(self, 0), pick(self, forbidden));
        if !jumps {
            self.code.half(0xB400 | pushed);
            self.simples(0, 2);
            self.code.half(0xBC00 | popped);
            return;
        }
        // The return address travels by way of LR.
        let carrier = self.low();
        self.code.align(4);
        let adr = self.code.placeholder();
        self.code.half(0xA000 | u16::from(carrier) << 8);
        self.code.half(0x3001 | u16::from(carrier) << 8); // adds: the Thumb bit
        self.code.half(0x4686 | u16::from(carrier) << 3); // mov lr, carrier
        self.code.half(0xB500 | pushed);
        self.keeping(14, |generator| generator.simples(0, 2));
        self.code.half(0xBD00 | popped);
        self.code.align(4);
        self.code.adr(adr);
    }

    fn call(&mut self) {
        let target = *self.random.pick(&self.leaves);
        if self.random.chance(1, 2) {
            self.code.call(target);
        } else {
            let by = self.low();
            self.code.load_literal(by, target | 1);
            self.code.half(0x4780 | u16::from(by) << 3); // blx
        }
        // The leaf may have used the pointer's register.
        self.take_pointer();
    }

    /// Jumps by a register: BX, BLX, MOV PC, ADD PC, or a load of PC.
    fn jump(&mut self) {
        let by = u16::from(self.low());
        let kinds = if self.is_mainline() { 5 } else { 4 };
        let kind = self.random.below(kinds);
        if kind == 3 {
            let skipped = 1 + self.random.below(4) as u16;
            self.code.half(MOVS | by << 8 | (2 * skipped - 2));
            self.code.half(0x4487 | by << 3); // add pc
            for _ in 0..skipped {
                self.narrow();
            }
            return;
        }
        self.code.align(4);
        let adr = self.code.placeholder();
        self.code.half(0xA000 | by << 8);
        match kind {
            2 => self.code.half(0x4687 | by << 3), // mov pc, without a Thumb bit
            4 => {
                self.code.half(0x3001 | by << 8);
                self.code.half(0x6000 | u16::from(self.pointer) << 3 | by); // str by, [pointer]
                self.code.wide(0xF8D0_F000 | u32::from(self.pointer) << 16); // ldr pc, [pointer]
            }
            _ => {
                self.code.half(0x3001 | by << 8);
                self.code.half(if kind == 0 { 0x4700 } else { 0x4780 } | by << 3);
            }
        }
        self.simples(1, 3);
        self.code.align(4);
        self.code.adr(adr);
    }

    pub(super) fn mrs(&mut self, register: u16) {
        let d = u16::from(self.destination());
        self.code.halves(&[0xF3EF, 0x8000 | d << 8 | register]);
    }

    pub(super) fn msr(&mut self, source: u8, register: u16) {
        self.code.halves(&[0xF380 | u16::from(source), 0x8800 | register]);
    }

    /// Reads and writes of the status register's parts and the stack pointers.
    fn special_register(&mut self) {
        let readable: &[u16] = &[0, 1, 2, 3, 5, 6, 7, 8, 9, 16, 20];
        for _ in 0..2 {
            let register = *self.random.pick(readable);
            self.mrs(register);
        }
        let (n, part) = (self.low(), self.random.below(4) as u16);
        // ARMv6-M has no Q flag (DDI 0419, A2.3.2), but QEMU keeps one.
        let flags = self.interesting() & !(1 << 27);
        self.code.load_literal(n, flags);
        self.msr(n, part);
    }

    /// PRIMASK, and on the mainline BASEPRI and FAULTMASK, set and cleared.
    fn mask_interrupts(&mut self) {
        match self.random.below(if self.is_mainline() { 7 } else { 2 }) {
            4.. => return self.masks_in_it_block(),
            0 => {
                self.code.half(0xB672); // cpsid i
                self.mrs(16);
                self.simples(0, 2);
            }
            1 => {
                let n = self.source();
                self.msr(n, 16);
                self.mrs(16);
            }
            2 => {
                let (n, m) = (self.source(), self.source());
                self.msr(n, 17);
                self.mrs(17);
                self.msr(m, 18);
                self.mrs(18);
                self.clear_special(17);
            }
            _ => {
                match self.random.below(4) {
                    0 => self.code.half(0xB671), // cpsid f
                    1 => self.code.half(0xB673), // cpsid if
                    _ => {
                        let n = self.source();
                        self.msr(n, 19);
                    }
                }
                self.mrs(19);
                self.code.half(*self.random.pick(&[0xB661, 0xB663])); // cpsie f, cpsie if
            }
        }
        self.code.half(0xB662); // cpsie i
        self.mrs(16);
    }

    /// Writes zero to a special register by way of a register that may change.
    pub(super) fn clear_special(&mut self, register: u16) {
        let zero = self.low();
        self.code.half(MOVS | u16::from(zero) << 8);
        self.msr(zero, register);
    }

    fn stacks(&mut self) {
        if self.random.chance(1, 3) { self.stack_pointers() } else { self.stack_switch() }
    }

    /// Runs a little on the process stack, or perhaps not.
    fn stack_switch(&mut self) {
        if self.is_mainline() && self.random.chance(1, 2) {
            self.write_control_or_not(2);
        } else {
            self.write_control(2);
        }
        self.stack_frame();
        if self.random.chance(1, 2) {
            self.supervisor_call();
        }
        self.push_and_pop();
        self.write_control(0);
    }

    /// CONTROL, with floating-point state declared live or not where there is any.
    fn write_control(&mut self, stack: u16) {
        let live = self.live_or_not();
        let by = self.low();
        self.code.half(MOVS | u16::from(by) << 8 | stack | live);
        self.msr(by, 20);
        self.follow_control(live);
    }

    /// CONTROL.FPCA, written by software.
    pub(super) fn live_or_not(&mut self) -> u16 {
        if self.options.float { self.random.below(2) as u16 * 4 } else { 0 }
    }

    /// Emits what must follow a write of CONTROL.
    pub(super) fn follow_control(&mut self, live: u16) {
        self.code.halves(&[0xF3BF, 0x8F6F]); // isb
        // On ARMv8-M that ends the Secure program's floating-point state in any case.
        if self.options.float && (live == 0 || self.options.is_v8m()) {
            if self.random.chance(1, 2) {
                self.supervisor_call();
            }
            // QEMU 7.2 misses the beginning of floating-point state when the first
            // instruction of a translated block that would begin it is one that an IT
            // block skips. So the first one is VMRS, outside.
            let d = u32::from(self.destination());
            self.code.wide(0xEEF1_0A10 | d << 12);
        }
    }

    fn exception(&mut self) {
        if self.random.chance(1, 2) {
            self.supervisor_call();
        } else {
            self.pend_with_interrupts_masked();
        }
    }

    /// SVC. Its handler changes r0, lr and the flags, so the pointer is taken anew.
    fn supervisor_call(&mut self) {
        self.bare_supervisor_call();
        self.take_pointer();
    }

    /// SVC, after which the pointer must be set again before it is used.
    pub(super) fn bare_supervisor_call(&mut self) {
        let number = self.random.below(256) as u16;
        self.code.half(0xDF00 | number);
    }

    /// MSP and PSP written with something whose low bits do not count, and a little done on the
    /// main stack from there.
    fn stack_pointers(&mut self) {
        let saved = self.low();
        self.code.half(0x4668 | u16::from(saved)); // mov saved, sp
        self.keeping(saved, |generator| {
            let (by, saved) = (u16::from(generator.low()), u16::from(saved));
            let down = generator.random.below(0x80) as u16;
            generator.code.halves(&[
                MOVS | by << 8 | down,
                0x1A00 | by << 6 | saved << 3 | by, // subs by, saved, by
            ]);
            if generator.is_mainline() && generator.random.chance(1, 2) {
                let condition = generator.condition();
                generator.code.half(0xBF08 | condition << 4);
            }
            generator.msr(by as u8, MSP);
            generator.mrs(MSP);
            generator.push_and_pop();
            generator.simples(0, 2);
            let n = generator.source();
            generator.msr(n, PSP);
            generator.mrs(PSP);
        });
        self.code.half(0x4685 | u16::from(saved) << 3); // mov sp, saved
        let by = self.low();
        self.code.load_literal(by, self.layout.process_stack);
        self.msr(by, PSP);
    }

    /// PendSV becomes pending while masked and is taken at a point that both sides share.
    pub(super) fn pend_with_interrupts_masked(&mut self) {
        self.pend_behind_primask();
        self.code.half(0xB662);
        self.code.halves(&[0xF3BF, 0x8F6F]);
    }

    /// PRIMASK is set, and PendSV becomes pending.
    pub(super) fn pend_behind_primask(&mut self) {
        let address = self.low();
        self.code.load_literal(address, 0xE000_ED04);
        self.keeping(address, |generator| {
            let bit = generator.low();
            generator.code.load_literal(bit, 1 << 28);
            generator.code.half(0xB672);
            generator.code.half(0x6000 | u16::from(address) << 3 | u16::from(bit));
            generator.code.halves(&[0xF3BF, 0x8F6F]);
            generator.mrs(5);
        });
    }

    pub(super) fn barrier(&mut self) {
        let option = *self.random.pick(&[0x8F4F, 0x8F5F, 0x8F6F]);
        self.code.halves(&[0xF3BF, option]);
    }

    /// A shift by a register, by a number of bits at which its carry is special.
    fn judged_shift(&mut self) {
        let by = self.low();
        let amount = *self.random.pick(&[0u16, 1, 7, 8, 16, 24, 31, 32, 33, 63, 64, 128, 224, 255]);
        self.code.half(MOVS | u16::from(by) << 8 | amount);
        self.keeping(by, |generator| {
            let d = u16::from(generator.low());
            let opcode = *generator.random.pick(&[0x4080, 0x40C0, 0x4100, 0x41C0]);
            generator.code.half(opcode | u16::from(by) << 3 | d);
        });
        self.mrs(0);
    }

    /// One operation with its own flags seen.
    fn judged_integer(&mut self) {
        if self.random.chance(1, 2) {
            let favoured = [self.low(), self.low()];
            for register in favoured {
                let value = self.interesting();
                self.code.load_literal(register, value);
            }
            self.favoured = Some(favoured);
        }
        if self.is_mainline() && self.random.chance(1, 4) {
            // Quotients: the most negative number by minus one, and by nothing at all.
            let bits = self.fill("11111_0111_0i1_nnnn 1111_dddd_1111_mmmm");
            self.code.wide(bits);
        } else if self.is_mainline() && self.random.chance(2, 3) {
            self.emit_one(|patterns| &patterns.wide);
        } else {
            self.narrow();
        }
        self.favoured = None;
        self.mrs(0);
    }
}
