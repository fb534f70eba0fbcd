//! Random programs: sequences of blocks, each with a dozen units and a call that records all registers.
//!
//! Nothing generated is UNPREDICTABLE, and code only runs forwards, so every program ends.

use super::writer::{CLOSED, InstructionSet, MODES, SUPERVISOR, SYSTEM, USER, WINDOW, Writer};

/// The address of random code, after `harness.s`, and of its variables.
pub const BASE: u32 = 0x1000;
const END_OF_PROGRAM: usize = 0x40;
const RESUME: u32 = 0x44;
/// SCTLR with the MPU on and low vectors, and its bits that read as one.
const SCTLR: u32 = 0x00C5_0079;

/// A coprocessor 15 register: opc1, CRn, CRm, opc2.
type SystemRegister = (u32, u32, u32, u32);

/// The readable registers: identification, control, faults, regions, threads.
const READABLE: &[SystemRegister] = &[
    (0, 0, 0, 0),
    (0, 0, 0, 4),
    (0, 0, 1, 0),
    (0, 0, 1, 1),
    (0, 0, 1, 2),
    (0, 0, 1, 4),
    (0, 0, 2, 0),
    (0, 0, 2, 1),
    (0, 0, 2, 2),
    (0, 0, 2, 3),
    (0, 0, 2, 4),
    (0, 5, 0, 0),
    (0, 5, 0, 1),
    (0, 6, 0, 0),
    (0, 6, 2, 0),
    (0, 6, 1, 0),
    (0, 6, 1, 2),
    (0, 6, 1, 4),
    (0, 13, 0, 2),
    (0, 13, 0, 3),
    (0, 13, 0, 4),
];
/// The registers that keep written values: thread registers, fault status and address.
const WRITABLE: &[SystemRegister] = &[(0, 13, 0, 2), (0, 13, 0, 3), (0, 13, 0, 4), (0, 6, 0, 0)];

/// A sequence of instructions that ends with a call.
#[derive(Clone, Copy, Debug)]
pub struct CodeBlock {
    pub start: u32,
    /// The return address of the call.
    pub end: u32,
    pub set: InstructionSet,
    pub mode: u32,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    pub image: Vec<u8>,
    pub blocks: Vec<CodeBlock>,
    /// The number of random instructions by set and mode; branches may skip some of them.
    pub counts: [[u64; 7]; 2],
}

impl Program {
    /// Generates a program of this many blocks after a harness.
    pub fn new(harness: &[u8], seed: u64, blocks: usize) -> Self {
        let mut writer = Writer::new(seed, BASE);
        let blocks: Vec<_> = (0..blocks).map(|_| writer.block()).collect();
        let end = blocks.last().map_or(BASE, |block: &CodeBlock| block.end);
        // Padding, as literal loads of the last block may read it.
        writer.code.resize(writer.code.len() + 0x2000, 0);
        let mut image = harness.to_vec();
        image[END_OF_PROGRAM..END_OF_PROGRAM + 4].copy_from_slice(&end.to_le_bytes());
        image.extend(&writer.code);
        Self { image, blocks, counts: writer.counts }
    }
}

impl Writer {
    fn block(&mut self) -> CodeBlock {
        let (start, set, mode) = (self.here(), self.set, self.mode);
        self.reserved = 0;
        self.pointer = self.random.below(8);
        self.reserved = 1 << self.pointer;
        self.point(None);
        if self.random.chance(1, 2) {
            self.float_mode();
        }
        for _ in 0..2 {
            let (register, value) = (self.destination(), self.interesting());
            self.constant(register, value);
        }
        for _ in 0..8 + self.random.below(8) {
            self.unit();
        }
        self.restore_pointer();
        let next = *self.random.pick(&MODES);
        self.put_either(0xEF00_0000 | next, 0xDF00 | next);
        let end = self.here();
        self.mode = next;
        if self.random.chance(1, 3) {
            self.reserved = 0;
            self.switch_set();
        }
        CodeBlock { start, end, set, mode }
    }

    /// Restores what a unit changed for itself: the pointer is in the window.
    fn restore_pointer(&mut self) {
        self.reserved = 1 << self.pointer;
    }

    fn unit(&mut self) {
        self.restore_pointer();
        match self.random.below(40) {
            0..=17 => self.plain(),
            18..=22 => self.access(),
            23 => self.moving_access(),
            24 => self.multiple(),
            25 => self.float_multiple(),
            26 | 27 => self.branch(),
            28 => self.exclusive(),
            29 => self.refused_access(),
            30 => self.refused_code(),
            31 => self.undefined(),
            32 => self.other_endian(),
            33 => self.change_mode(),
            34 => self.return_from_exception(),
            35 => self.coprocessor(),
            36 => self.strict_or_float_off(),
            37 => self.stack(),
            38 => self.exchange(),
            _ if self.set == InstructionSet::T32 => self.it_block(),
            _ => self.indexed(),
        }
    }

    /// Chooses rounding, flush-to-zero and default NaN, and clears the flags.
    fn float_mode(&mut self) {
        let register = self.destination();
        let value = self.random.below(16) << 22;
        self.constant(register, value);
        self.put_common(0xEEE1_0A10 | register << 12);
        let (single, value) = (self.random.below(32), self.interesting());
        self.constant(register, value);
        self.put_common(0xEE00_0A10 | register << 12 | (single >> 1) << 16 | (single & 1) << 7);
    }

    /// A list of registers without SP, PC and the pointer.
    fn list(&mut self) -> u32 {
        loop {
            let list = self.random.word() & self.random.word() & 0x5FFF & !(1 << self.pointer);
            if list.count_ones() >= 2 {
                return list;
            }
        }
    }

    fn multiple(&mut self) {
        self.count();
        if !self.aligned {
            self.point(None);
            let pointer = self.pointer;
            self.put_either(0xE3C0_0003 | pointer << 16 | pointer << 12, {
                0xF020_0003 | pointer << 16 | pointer << 8
            });
        }
        let list = self.list();
        let (loads, back) = (self.random.below(2), self.random.below(2));
        let n = self.pointer << 16;
        if self.set == InstructionSet::A32 {
            let order = self.random.below(4) << 23;
            let banked = ![USER, SYSTEM].contains(&self.mode) && self.random.chance(1, 3);
            let (users, back) = (u32::from(banked) << 22, if banked { 0 } else { back << 21 });
            let condition = self.condition() << 28;
            self.put(condition | 0x0800_0000 | order | users | back | loads << 20 | n | list);
        } else if self.random.chance(1, 3) {
            self.put(0xC000 | loads << 11 | self.pointer << 8 | list & 0xFF | 1 << spare(list));
            self.point(None);
            return;
        } else {
            let order = if self.random.chance(1, 2) { 0xE880_0000 } else { 0xE900_0000 };
            self.put(order | back << 21 | loads << 20 | n | list);
        }
        if back == 1 {
            self.point(None);
        }
    }

    fn float_multiple(&mut self) {
        self.count();
        let pointer = self.pointer;
        self.constant(pointer, WINDOW + 0x2000);
        self.aligned = true;
        let loads = self.random.below(2) << 20;
        // Increment after, decrement before with write-back, increment after with write-back.
        let order = *self.random.pick(&[0x0080_0000, 0x0120_0000, 0x00A0_0000]);
        let registers = if self.random.chance(1, 2) {
            let first = self.random.below(32);
            let count = 1 + self.random.below(32 - first);
            (first >> 1) << 12 | (first & 1) << 22 | 0xA00 | count
        } else {
            let first = self.random.below(16);
            let count = 1 + self.random.below(16 - first);
            first << 12 | 0xB00 | (2 * count)
        };
        self.put_common(0x0C00_0000 | order | loads | pointer << 16 | registers);
        self.point(None);
    }

    /// A forward branch, with a link or on a condition; CBZ.
    fn branch(&mut self) {
        self.count();
        let condition = self.random.below(15);
        if self.set == InstructionSet::T32 && self.random.chance(1, 3) {
            // cbz or cbnz over 16 bits.
            let (register, kind) = (self.random.below(8), self.random.below(2));
            self.put(0xB100 | kind << 11 | register);
            let (d, value) = (self.low(), self.random.below(256));
            self.put(0x2000 | d << 8 | value);
            self.put(0xBF00);
            return;
        }
        let links = self.random.chance(1, 3);
        let jump = self.jump(condition, links);
        for _ in 0..=self.random.below(3) {
            self.plain();
        }
        self.bind(jump);
    }

    /// Switches to the other set through a call, or a loaded or computed address, and back.
    fn exchange(&mut self) {
        self.count();
        let (set, other) = match self.set {
            InstructionSet::A32 => (InstructionSet::A32, InstructionSet::T32),
            InstructionSet::T32 => (InstructionSet::T32, InstructionSet::A32),
        };
        match self.random.below(3) {
            0 => {
                self.align();
                self.put_either(0xFAFF_FFFF, 0xF000_E800); // blx to what follows
            }
            1 => {
                let register = self.low();
                let later = self.constant_later(register);
                let links = self.random.chance(1, 2);
                let (plain, linked) = (0xE12F_FF10 | register, 0xE12F_FF30 | register);
                let narrow = 0x4700 | register << 3 | u32::from(links) << 7;
                self.put_either(if links { linked } else { plain }, narrow);
                let label = self.label(other);
                self.fill_constant(later, label);
            }
            _ => {
                let pointer = self.pointer;
                self.constant(pointer, WINDOW + 0x1F00);
                let register = self.low();
                let later = self.constant_later(register);
                let fields = pointer << 16 | register << 12;
                self.put_either(0xE580_0000 | fields, 0xF8C0_0000 | fields);
                let loads = pointer << 16 | 0xF000;
                let by_list = self.random.chance(1, 2);
                let list = pointer << 16 | 0x8000 | 1 << register;
                // ldr pc, [pointer]; or ldmda, ldmdb of two, of which the second is the address.
                match (self.set, by_list) {
                    (InstructionSet::A32, true) => self.put(0xE810_0000 | list),
                    (InstructionSet::T32, true) => {
                        self.put(0xF100_0004 | pointer << 16 | pointer << 8); // add
                        self.put(0xE910_0000 | list);
                    }
                    _ => self.put_either(0xE590_0000 | loads, 0xF8D0_0000 | loads),
                }
                let label = self.label(other);
                self.fill_constant(later, label);
            }
        }
        self.set = other;
        self.plain();
        self.switch_to(set);
        self.point(None);
    }

    /// An exclusive load, optionally an interruption, and an exclusive store.
    fn exclusive(&mut self) {
        self.count();
        let pointer = self.pointer;
        let offset = self.random.below(0x100) * 8;
        self.constant(pointer, WINDOW + 0x1800 + offset);
        self.aligned = true;
        let t = 2 * self.random.below(6);
        let t = if t >> 1 == pointer >> 1 { (t + 2) % 12 } else { t };
        let d = loop {
            let d = self.destination();
            if d != t && d != t + 1 {
                break d;
            }
        };
        let n = pointer << 16;
        let size = self.random.below(4) as usize;
        if self.random.chance(7, 8) {
            match self.set {
                InstructionSet::A32 => {
                    self.put([0xE190, 0xE1B0, 0xE1D0, 0xE1F0][size] << 16 | n | t << 12 | 0xF9F);
                }
                InstructionSet::T32 if size == 1 => {
                    self.put(0xE8D0_007F | n | t << 12 | (t + 1) << 8);
                }
                InstructionSet::T32 if size == 0 => self.put(0xE850_0F00 | n | t << 12),
                InstructionSet::T32 => self.put(0xE8D0_0F4F | n | t << 12 | (size as u32 - 2) << 4),
            }
            if self.random.chance(1, 8) {
                self.put_either(0xF57F_F01F, 0xF3BF_8F2F); // clrex
            }
        } else {
            self.put_either(0xF57F_F01F, 0xF3BF_8F2F);
        }
        match self.set {
            InstructionSet::A32 => {
                self.put([0xE180, 0xE1A0, 0xE1C0, 0xE1E0][size] << 16 | n | d << 12 | 0xF90 | t);
            }
            InstructionSet::T32 if size == 1 => {
                self.put(0xE8C0_0070 | n | t << 12 | (t + 1) << 8 | d);
            }
            InstructionSet::T32 if size == 0 => self.put(0xE840_0000 | n | t << 12 | d << 8),
            InstructionSet::T32 => self.put(0xE8C0_0F40 | n | t << 12 | (size as u32 - 2) << 4 | d),
        }
    }

    /// Accesses of which the protection unit refuses some.
    fn refused_access(&mut self) {
        let address = CLOSED + 0x800 + self.random.below(16) * 0x1000 + 8 * self.random.below(16);
        self.point(Some(address));
        for _ in 0..=self.random.below(3) {
            self.access();
        }
        if self.random.chance(1, 3) {
            self.moving_access();
        }
        self.point(None);
    }

    /// A jump to an address without execute permission, or a breakpoint.
    fn refused_code(&mut self) {
        self.count();
        let (t, n) = (self.low(), self.pointer);
        let later = self.constant_later(t);
        self.constant(n, RESUME);
        self.put_either(0xE580_0000 | n << 16 | t << 12, 0xF8C0_0000 | n << 16 | t << 12);
        if self.random.chance(1, 3) {
            self.put_either(0xE120_0070, 0xBE00);
        } else {
            let page = *self.random.pick(&[0, 0x3000]);
            let thumb = self.random.below(2);
            let address = CLOSED + page + 4 * self.random.below(64) + thumb;
            self.constant(n, address);
            self.put_either(0xE12F_FF10 | n, 0x4700 | n << 3);
        }
        let set = if self.random.chance(1, 3) { other(self.set) } else { self.set };
        let label = self.label(set);
        self.fill_constant(later, label);
        self.set = set;
        self.point(None);
    }

    /// Undefined instructions, and ones that user mode must not execute.
    fn undefined(&mut self) {
        self.count();
        let (number, d) = (self.random.below(16), self.destination());
        let condition = self.condition() << 28;
        match self.random.below(4) {
            0 => self.put_either(0xE7F0_00F0 | number, 0xDE00 | number),
            1 => self.put_either(condition | 0x07F0_00F0 | number, 0xF7F0_A000 | number),
            // Another coprocessor, and a register that user mode cannot access.
            2 => self.put_common(0xEE10_0710 | d << 12),
            _ if self.is_privileged() => self.put_common(0xEE10_0510 | d << 12),
            _ => self.put_common(0xEE10_0F10 | d << 12),
        }
    }

    fn other_endian(&mut self) {
        self.put_either(0xF101_0200, 0xB658);
        for _ in 0..=self.random.below(3) {
            self.access();
        }
        self.put_either(0xF101_0000, 0xB650);
    }

    /// CPS and MSR, which have no effect in user mode.
    fn change_mode(&mut self) {
        self.count();
        let mode = *self.random.pick(&MODES);
        let mask = 1 + self.random.below(7);
        match self.random.below(4) {
            0 | 1 => self.put_either(0xF102_0000 | mode, 0xF3AF_8100 | mode),
            2 => {
                // With the masks A, I and F, set or cleared.
                let kind = 2 + self.random.below(2);
                self.put_either(
                    0xF102_0000 | kind << 18 | mask << 6 | mode,
                    0xF3AF_8100 | kind << 9 | mask << 5 | mode,
                );
            }
            _ => {
                let register = self.destination();
                self.constant(register, mode | mask << 6);
                self.put_either(0xE121_F000 | register, 0xF380_8100 | register << 16);
            }
        }
        if self.is_privileged() {
            self.mode = mode;
        }
        let d = self.destination();
        self.put_either(0xE10F_0000 | d << 12, 0xF3EF_8000 | d << 8); // mrs
    }

    /// From a mode with a saved status back to any other, in any set.
    fn return_from_exception(&mut self) {
        if [USER, SYSTEM].contains(&self.mode) {
            return self.plain();
        }
        self.count();
        let (mode, set) = (
            *self.random.pick(&MODES),
            *self.random.pick(&[InstructionSet::A32, InstructionSet::T32]),
        );
        let status = self.low();
        let bits =
            self.random.word() & 0xF80F_01C0 | u32::from(set == InstructionSet::T32) << 5 | mode;
        self.constant(status, bits);
        self.put_either(0xE16F_F000 | status, 0xF390_8F00 | status << 16); // msr spsr_fsxc
        let (n, forms) = (self.pointer, if self.mode == SUPERVISOR { 3 } else { 4 });
        let later = self.constant_later(14);
        let mut ahead = 0;
        match self.random.below(forms) {
            0 => self.put_either(0xE1B0_F00E, 0xF3DE_8F00), // movs pc, lr
            1 => {
                ahead = 4;
                self.put_either(0xE25E_F004, 0xF3DE_8F04); // subs pc, lr, #4
            }
            2 => {
                // Through the window: stored, and loaded by RFE, or by a load-multiple in A32.
                self.constant(n, WINDOW + 0x1E00);
                self.put_either(0xE580_E000 | n << 16, 0xF8C0_E000 | n << 16);
                if self.set == InstructionSet::A32 && self.random.chance(1, 2) {
                    self.put(0xE8D0_8000 | n << 16); // ldm n, {pc}^
                } else {
                    let fields = n << 16 | status << 12 | 4;
                    self.put_either(0xE580_0000 | fields, 0xF8C0_0000 | fields);
                    self.put_either(0xF890_0A00 | n << 16, 0xE990_C000 | n << 16); // rfeia
                }
            }
            _ => {
                let mode = self.mode;
                self.put_either(0xF96D_0500 | mode, 0xE82D_C000 | mode); // srsdb sp!, #mode
                self.put_either(0xF8BD_0A00, 0xE9BD_C000); // rfeia sp!
            }
        }
        let label = self.label(set) & !1;
        self.fill_constant(later, label + ahead);
        (self.set, self.mode) = (set, mode);
        self.point(None);
    }

    fn coprocessor(&mut self) {
        self.count();
        let d = self.destination();
        let place = |(opc1, n, m, opc2): SystemRegister| opc1 << 21 | n << 16 | opc2 << 5 | m;
        match self.random.below(9) {
            0..=2 => {
                let (at, value) = (*self.random.pick(WRITABLE), self.random.word());
                self.constant(d, value);
                self.put_common(0xEE00_0F10 | place(at) | d << 12);
                self.put_common(0xEE10_0F10 | place(at) | d << 12);
            }
            // The selected region.
            3 | 4 => {
                let number = self.random.below(16);
                self.constant(d, number);
                self.put_common(0xEE06_0F12 | d << 12);
            }
            _ => {
                let at = *self.random.pick(READABLE);
                self.put_common(0xEE10_0F10 | place(at) | d << 12);
            }
        }
    }

    /// Accesses while alignment is enforced, and operations while floating point is off.
    fn strict_or_float_off(&mut self) {
        if !self.is_privileged() {
            return self.plain();
        }
        let r = self.low();
        self.reserved |= 1 << r;
        if self.random.chance(1, 2) {
            self.constant(r, SCTLR | 2);
            self.put_common(0xEE01_0F10 | r << 12);
            self.aligned = false;
            for _ in 0..=self.random.below(3) {
                self.access();
            }
            self.constant(r, SCTLR);
            self.put_common(0xEE01_0F10 | r << 12);
            self.restore_pointer();
            self.point(None);
            return;
        }
        self.constant(r, 0);
        self.put_common(0xEEE8_0A10 | r << 12);
        self.count();
        self.float_operation();
        self.constant(r, 1 << 30);
        self.put_common(0xEEE8_0A10 | r << 12);
    }

    /// Pushes registers onto the mode's stack and pops them into others. Supervisor mode's stack is the
    /// log.
    fn stack(&mut self) {
        if self.mode == SUPERVISOR {
            return self.plain();
        }
        self.count();
        self.count();
        let (from, mut to) = (self.list(), self.list());
        while to.count_ones() != from.count_ones() {
            to = self.list();
        }
        self.put_common(0xE92D_0000 | from);
        self.put_common(0xE8BD_0000 | to);
    }

    /// A32: an access with a register offset, shifted or not.
    fn indexed(&mut self) {
        self.count();
        let index = self.low();
        let (value, shift) = (self.random.below(0x100), self.random.below(4));
        self.constant(index, value);
        let d = self.destination();
        let (up, loads) = (self.random.below(2) << 23, self.random.below(2) << 20);
        let fields = up | loads | self.pointer << 16 | d << 12 | index;
        if self.random.chance(1, 2) {
            let bytes = self.random.below(2) << 22;
            let kind = self.random.below(2) << 5;
            self.put(0xE700_0000 | fields | bytes | shift << 7 | kind);
        } else {
            self.put(0xE100_00B0 | fields);
        }
    }

    /// Up to four instructions on a condition, which they may change.
    fn it_block(&mut self) {
        let (condition, mask) = (self.random.below(14), 1 + self.random.below(15));
        self.put(0xBF00 | condition << 4 | mask);
        for _ in 0..4 - mask.trailing_zeros() {
            if self.random.chance(1, 4) { self.access() } else { self.plain() }
        }
    }
}

const fn other(set: InstructionSet) -> InstructionSet {
    match set {
        InstructionSet::A32 => InstructionSet::T32,
        InstructionSet::T32 => InstructionSet::A32,
    }
}

/// A low register of a list: the first, or the one below the first.
const fn spare(list: u32) -> u32 {
    let low = list & 0xFF;
    if low == 0 { 0 } else { low.trailing_zeros() }
}
