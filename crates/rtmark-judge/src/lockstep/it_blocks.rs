//! IT blocks, with everything that they may contain.
//!
//! CPS, CBZ and IT may not (DDI 0403, B5.2.1, A7.7.21 and A7.7.38); branches may be the last.

use super::generate::Generator;

const MOVS: u16 = 0x2000;
const CONTROL: u16 = 20;
const BASEPRI: u16 = 17;
/// PRIMASK, BASEPRI, BASEPRI_MAX, FAULTMASK.
const MASKS: &[u16] = &[16, 17, 18, 19];

/// How an IT block ends.
#[derive(Clone, Copy)]
enum End {
    /// Execution continues after it.
    Any,
    /// By a branch or call of a known target.
    Branch,
    /// By BX, BLX or MOV PC of a register that holds an address.
    JumpBy(u8),
    /// By LDR PC from where the pointer leads.
    Load,
}

impl Generator {
    /// IT with a condition and room for this many instructions, each on the condition or its opposite.
    pub(super) fn begin_it_block(&mut self, count: u16) {
        let condition = self.condition();
        // Every later instruction's lowest condition bit, then a one that ends the list.
        let mut mask = 1 << (4 - count);
        for at in 1..count {
            let then = self.random.below(2) as u16;
            mask |= ((condition & 1) ^ then) << (4 - at);
        }
        self.code.half(0xBF00 | condition << 4 | mask);
    }

    pub(super) fn it_block(&mut self) {
        let memory = self.memory;
        match self.random.below(10) {
            0 | 1 => self.it_block_to(End::Branch),
            2 => self.it_block_behind_address(|generator, by| {
                generator.keeping(by, |generator| generator.it_block_to(End::JumpBy(by)));
            }),
            3 if self.aligned && memory => self.it_block_behind_address(|generator, by| {
                let pointer = u16::from(generator.pointer);
                generator.code.half(0x6000 | pointer << 3 | u16::from(by)); // str by, [pointer]
                // Nothing may write over it.
                generator.memory = false;
                generator.it_block_to(End::Load);
                generator.memory = memory;
            }),
            _ => self.it_block_to(End::Any),
        }
        self.memory = memory;
    }

    /// An IT block that may lead to behind a few instructions, whose address is in a register.
    fn it_block_behind_address(&mut self, write: impl FnOnce(&mut Self, u8)) {
        let by = self.low();
        self.code.align(4);
        let adr = self.code.placeholder();
        self.code.half(0xA000 | u16::from(by) << 8);
        self.code.half(0x3001 | u16::from(by) << 8); // adds: the Thumb bit
        write(self, by);
        self.simples(1, 3);
        self.code.align(4);
        self.code.adr(adr);
    }

    fn it_block_to(&mut self, end: End) {
        let count = 1 + self.random.below(4) as u16;
        self.begin_it_block(count);
        let ends = !matches!(end, End::Any);
        let mut has_called = false;
        for _ in 0..count - u16::from(ends) {
            // SVC's handler changes r0 and lr, which others rely on.
            if !ends && self.random.chance(1, 16) {
                self.bare_supervisor_call();
                has_called = true;
                self.memory = false;
            } else {
                self.conditional();
            }
        }
        match end {
            End::Any => {}
            End::Branch => self.branch_over_a_few(),
            End::JumpBy(by) => {
                let by = u16::from(by) << 3;
                // bx, blx, mov pc
                let jump = *self.random.pick(&[0x4700, 0x4780, 0x4687]);
                self.code.half(jump | by);
            }
            End::Load => self.code.wide(0xF8D0_F000 | u32::from(self.pointer) << 16),
        }
        if has_called {
            self.take_pointer();
        }
    }

    /// B in either size, or BL.
    fn branch_over_a_few(&mut self) {
        if self.random.chance(1, 3) {
            let target = *self.random.pick(&self.leaves);
            self.code.call(target);
            return self.take_pointer();
        }
        let placeholder = self.code.placeholder();
        if self.random.chance(1, 2) {
            self.code.half(0xE000);
        } else {
            self.code.wide(0xF000_9000);
        }
        self.simples(1, 3);
        self.code.fill(placeholder);
    }

    /// One instruction that is allowed anywhere in an IT block.
    fn conditional(&mut self) {
        match self.random.below(16) {
            0 => self.barrier(),
            1 | 2 if self.aligned && self.memory => self.several_words(),
            _ => self.simple(),
        }
    }

    /// LDM, STM, VLDM or VSTM at the pointer, which stays.
    fn several_words(&mut self) {
        let base = u32::from(self.pointer) << 16;
        if self.options.float && self.random.chance(1, 2) {
            let count = 1 + self.random.below(8);
            let first = self.random.below(32 - count);
            let load = self.random.below(2) << 20;
            let register = (first >> 1) << 12 | (first & 1) << 22;
            return self.code.wide(0xEC80_0A00 | load | base | register | count);
        }
        let loads = self.random.chance(1, 2);
        let list = loop {
            let list = self.random.word() & 0x5FFF;
            let list = if loads { list & !u32::from(self.reserved) } else { list };
            if list.count_ones() >= 2 {
                break list;
            }
        };
        self.code.wide(if loads { 0xE890_0000 } else { 0xE880_0000 } | base | list);
    }

    /// An IT block that sets masks, among instructions that do other things, and what it was
    /// read then; nothing is masked behind. PendSV may be pending meanwhile, and be taken in the
    /// middle of the block or behind it.
    pub(super) fn masks_in_it_block(&mut self) {
        let memory = std::mem::replace(&mut self.memory, false);
        if self.random.chance(1, 3) {
            self.pend_behind_primask();
        }
        let count = 1 + self.random.below(4) as u16;
        self.begin_it_block(count);
        for _ in 0..count {
            let register = *self.random.pick(MASKS);
            match self.random.below(4) {
                0 => self.mrs(register),
                1 => self.simple(),
                _ => {
                    let n = self.source();
                    self.msr(n, register);
                }
            }
        }
        let register = *self.random.pick(MASKS);
        self.mrs(register);
        self.code.half(0xB663); // cpsie if
        self.clear_special(BASEPRI);
        self.code.halves(&[0xF3BF, 0x8F6F]);
        self.memory = memory;
    }

    /// CONTROL, written where a condition holds.
    pub(super) fn write_control_or_not(&mut self, stack: u16) {
        let live = self.live_or_not();
        let by = self.low();
        self.code.half(MOVS | u16::from(by) << 8 | stack | live);
        let condition = self.condition();
        self.code.half(0xBF08 | condition << 4);
        self.msr(by, CONTROL);
        self.follow_control(0);
    }
}
