//! Generates random programs.
//!
//! A program is a sequence of blocks. Each block takes a pointer into the window, then a dozen units
//! (an instruction, or a few that belong together: a branch and what it skips, an IT block, a loop, a
//! call), then a checkpoint. Nothing generated is UNPREDICTABLE, and every program ends.

use super::code::Code;
use super::harness::{self, Harness, ProgramOptions};
use super::layout::Layout;
use super::patterns::{self, Pattern, Patterns};
use crate::random::Random;

/// A program, and the locations of its parts.
#[derive(Clone, Debug)]
pub struct Program {
    pub seed: u64,
    pub options: ProgramOptions,
    pub layout: Layout,
    pub harness: Harness,
    /// The requested size in bytes.
    pub bytes: u32,
    pub image: Vec<u8>,
    /// The beginning of each block, and its checkpoint's return address.
    pub blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub start: u32,
    /// The checkpoint's return address, Thumb bit included.
    pub end: u32,
}

/// Numbers at which arithmetic changes its behaviour.
const CORNERS: &[u32] =
    &[0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];

/// Numbers in single precision at which arithmetic changes its behaviour.
const FLOAT_CORNERS: &[u32] = &[
    0,
    1,
    0x0000_0FFF,
    0x007F_FFFF,
    0x0080_0000,
    0x0080_0001,
    0x3380_0000,
    0x3EFF_FFFF,
    0x3F00_0000,
    0x3F7F_FFFF,
    0x3F80_0000,
    0x3F80_0001,
    0x3FC0_0000,
    0x4020_0000,
    0x477F_E000,
    0x477F_F000,
    0x4B7F_FFFF,
    0x4EFF_FFFF,
    0x4F00_0000,
    0x4F7F_FFFF,
    0x4F80_0000,
    0x7F7F_FFFF,
    0x7F80_0000,
    0x7F80_0001,
    0x7FBF_FFFF,
    0x7FC0_0000,
    0x7FC1_2345,
];

/// And for half precision.
const HALF_CORNERS: &[u16] = &[
    0, 1, 0x3FF, 0x400, 0x3BFF, 0x3C00, 0x7BFF, 0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7FFF, 0xFC01,
    0xFE55, 0x83FF,
];

/// Words of the table of constants that vector loads take from.
const TABLE_WORDS: u32 = 256;
/// Leaf functions that calls may go to.
const LEAVES: u32 = 16;

/// Writes a program; see the module's description.
pub struct Generator {
    pub(super) code: Code,
    pub(super) random: Random,
    pub(super) options: ProgramOptions,
    pub(super) layout: Layout,
    pub(super) patterns: Patterns,
    /// The low register that points into the window, and whether it is aligned.
    pub(super) pointer: u8,
    pub(super) aligned: bool,
    /// The registers that must keep their values for now.
    pub(super) reserved: u16,
    /// Registers that hold special values: they are preferred as sources.
    pub(super) favoured: Option<[u8; 2]>,
    /// Whether memory may be touched now.
    pub(super) memory: bool,
    pub(super) leaves: Vec<u32>,
    pub(super) table: u32,
}

impl Generator {
    /// Writes the program of a seed, of about this many bytes.
    pub fn program(options: ProgramOptions, seed: u64, bytes: u32) -> Program {
        let layout = Layout::of(options.core);
        let mut code = Code::new(0);
        let harness = harness::write(&mut code, options, &layout);
        let mut generator = Self {
            code,
            random: Random::new(seed),
            options,
            layout,
            patterns: Patterns::new(options),
            pointer: 7,
            aligned: true,
            reserved: 0,
            favoured: None,
            memory: false,
            leaves: Vec::new(),
            table: 0,
        };
        let blocks = generator.write(&harness, bytes.min(layout.code - 0x1000));
        let image = generator.code.bytes();
        Program { seed, options, layout, harness, bytes, image, blocks }
    }

    fn write(&mut self, harness: &Harness, bytes: u32) -> Vec<Block> {
        harness::write_pass_start(&mut self.code, &self.layout);
        self.write_table();
        self.write_leaves();
        let mut blocks = Vec::new();
        while self.code.here() < bytes {
            let start = self.code.here();
            self.write_block(harness);
            let end = self.code.here() | 1;
            self.code.write_literals_in_passing();
            blocks.push(Block { start, end });
        }
        harness::write_pass_end(&mut self.code, harness, &self.layout);
        // Literal loads and ADR of the last block may look this far ahead.
        self.code.pad_to(self.code.here() + 0x1000);
        blocks
    }

    /// Constants with a branch around them.
    fn write_table(&mut self) {
        let over = self.code.placeholder();
        self.code.half(0xE000);
        self.code.align(4);
        self.table = self.code.here();
        for _ in 0..TABLE_WORDS {
            let word = self.interesting_float();
            self.code.word(word);
        }
        self.code.fill(over);
    }

    fn write_leaves(&mut self) {
        let over = self.code.placeholder();
        let mainline = self.is_mainline();
        // The leaves outgrow a short branch only with 32-bit instructions.
        if mainline {
            self.code.wide(0xF000_9000);
        } else {
            self.code.half(0xE000);
        }
        for at in 0..LEAVES {
            self.code.align(4);
            self.leaves.push(self.code.here());
            let saves = at % 2 == 1;
            if saves {
                self.code.half(0xB5F0); // push {r4-r7, lr}
            }
            // Without a stacked return address, only what names low registers keeps LR.
            for _ in 0..3 + self.random.below(4) {
                if saves { self.simple() } else { self.narrow() }
            }
            self.code.half(if saves { 0xBDF0 } else { 0x4770 });
        }
        self.code.fill(over);
    }

    fn write_block(&mut self, harness: &Harness) {
        self.reserved = 0;
        self.take_pointer();
        self.memory = true;
        if self.options.float && self.random.chance(1, 2) {
            self.set_float_mode();
        }
        for _ in 0..8 + self.random.below(9) {
            self.unit();
            self.code.write_distant_literals();
        }
        self.memory = false;
        self.code.half(0xB5FF); // push {r0-r7, lr}
        self.code.call(harness.checkpoint);
    }

    /// Makes a low register point into the window.
    pub(super) fn take_pointer(&mut self) {
        self.pointer = self.random.below(8) as u8;
        self.reserved = 1 << self.pointer;
        let (low, high) = self.layout.safe;
        let mut offset = low + self.random.below(high - low);
        self.aligned = !self.is_mainline() || self.random.chance(2, 3);
        if self.aligned {
            offset &= !3;
        }
        self.code.load_literal(self.pointer, self.layout.window + offset);
    }

    pub(super) fn is_mainline(&self) -> bool {
        self.options.core.is_mainline()
    }

    /// Returns a number that is more often a special value than a uniform choice would be.
    pub(super) fn interesting(&mut self) -> u32 {
        match self.random.below(4) {
            0 => *self.random.pick(CORNERS),
            1 => 1 << self.random.below(32),
            2 => self.random.below(64).wrapping_sub(32),
            _ => self.random.word(),
        }
    }

    pub(super) fn interesting_float(&mut self) -> u32 {
        let sign = self.sign();
        match self.random.below(8) {
            0..=2 => *self.random.pick(FLOAT_CORNERS) | sign,
            3 => self.special_float(),
            4 => self.halves(),
            // Exponents close together, so that sums have something to do.
            5 | 6 => sign | (110 + self.random.below(36)) << 23 | self.random.word() & 0x7F_FFFF,
            _ => self.random.word(),
        }
    }

    fn sign(&mut self) -> u32 {
        self.random.word() & 1 << 31
    }

    /// Zero, an infinity, a quiet or a signalling NaN.
    pub(super) fn special_float(&mut self) -> u32 {
        self.sign() | *self.random.pick(&[0, 0x7F80_0000, 0x7FC0_0001, 0x7F80_0001])
    }

    /// Two remarkable numbers of half precision.
    pub(super) fn halves(&mut self) -> u32 {
        let mut half = || u32::from(*self.random.pick(HALF_CORNERS));
        half() << 16 | half()
    }

    /// Chooses rounding, flush-to-zero, default NaN and half format, and clears the flags.
    fn set_float_mode(&mut self) {
        let t = self.low();
        let mode = self.random.below(32) << 22 & 0x07C0_0000;
        let flags = if self.random.chance(1, 4) { self.random.word() & 0xF800_009F } else { 0 };
        self.code.load_literal(t, mode | flags);
        self.code.wide(0xEEE1_0A10 | u32::from(t) << 12);
    }

    /// A low register that may change.
    pub(super) fn low(&mut self) -> u8 {
        loop {
            let register = self.random.below(8) as u8;
            if self.reserved >> register & 1 == 0 {
                return register;
            }
        }
    }

    /// Any register but the stack pointer and the program counter that may change.
    pub(super) fn destination(&mut self) -> u8 {
        loop {
            let register = self.random.below(15) as u8;
            if register != 13 && self.reserved >> register & 1 == 0 {
                return register;
            }
        }
    }

    /// Any register but the stack pointer and the program counter.
    pub(super) fn source(&mut self) -> u8 {
        if let Some(favoured) = self.favoured
            && self.random.chance(3, 4)
        {
            return *self.random.pick(&favoured);
        }
        match self.random.below(14) as u8 {
            13 => 14,
            register => register,
        }
    }

    /// One instruction that is allowed anywhere, including IT blocks.
    pub(super) fn simple(&mut self) {
        let kinds = if self.options.float { 20 } else { 14 };
        match self.random.below(kinds) {
            0..=2 if self.memory => self.memory_access(),
            0..=6 if self.is_mainline() => self.emit_one(|patterns| &patterns.wide),
            14.. if !self.patterns.float.is_empty() => self.emit_one(|patterns| &patterns.float),
            _ => self.narrow(),
        }
    }

    fn memory_access(&mut self) {
        let kind = self.random.below(8);
        match kind {
            0 | 1 if self.is_mainline() => self.emit_one(|patterns| &patterns.wide_memory),
            2 if self.is_mainline() && self.aligned => {
                self.emit_one(|patterns| &patterns.aligned_memory);
            }
            5 if !self.patterns.wide_ordered.is_empty() && self.aligned => {
                self.emit_one(|patterns| &patterns.wide_ordered);
            }
            3 | 4 if self.options.float && self.aligned => {
                self.emit_one(|patterns| &patterns.float_memory);
            }
            _ => self.emit_one(|patterns| &patterns.narrow_memory),
        }
    }

    /// One 16-bit instruction on registers.
    pub(super) fn narrow(&mut self) {
        loop {
            let pattern = *self.random.pick(&self.patterns.narrow);
            let bits = self.filled(&pattern);
            // A leaf without a stack frame returns by LR.
            if self.memory || bits & 0xFF87 != 0x4686 && bits & 0xFF87 != 0x4486 {
                self.emit(&pattern, bits);
                return;
            }
        }
    }

    pub(super) fn emit_one(&mut self, among: impl Fn(&Patterns) -> &Vec<Pattern>) {
        let pattern = *self.random.pick(among(&self.patterns));
        let bits = self.filled(&pattern);
        self.emit(&pattern, bits);
    }

    fn emit(&mut self, pattern: &Pattern, bits: u32) {
        if patterns::length(pattern.text) == 16 {
            self.code.half(bits as u16);
        } else {
            self.code.wide(bits);
        }
    }

    /// Fills fields in until the pattern's rule is content.
    pub(super) fn filled(&mut self, pattern: &Pattern) -> u32 {
        loop {
            let bits = self.fill(pattern.text);
            if (pattern.rule)(bits) {
                return bits;
            }
        }
    }

    /// Fills in every field of a pattern once.
    pub(super) fn fill(&mut self, text: &str) -> u32 {
        let width = |letter| patterns::width(text, letter);
        let register = |narrow, low, any| if narrow { low } else { any };
        let (narrow_d, narrow_n, narrow_m) = (width(b'd') == 3, width(b'n') == 3, width(b'm') == 3);
        let d = {
            let (low, any) = (self.low(), self.destination());
            register(narrow_d, low, any)
        };
        let e = loop {
            let e = self.destination();
            if e != d {
                break e;
            }
        };
        let mut sources = [0; 3];
        for (source, narrow) in sources.iter_mut().zip([narrow_n, narrow_m, false]) {
            *source = if narrow { self.source() & 7 } else { self.source() };
        }
        let [n, m, a] = sources;
        let h = self.random.below(16) as u8;
        let random = self.random.word();
        let pointer = self.pointer;
        patterns::spelled(text, random, |letter| {
            Some(u32::from(match letter {
                b'd' => d,
                b'e' => e,
                b'n' => n,
                b'm' | b'r' => m,
                b'a' => a,
                b'h' => h,
                b'p' => pointer,
                _ => return None,
            }))
        })
    }
}
