//! Emits random code: instructions of both sets, constants, and addresses that are filled in later.

use super::patterns::{self, ArmPatterns};
use crate::lockstep::patterns::{Pattern, spelled, width};
use crate::random::Random;

/// The window that loads and stores work on, and the pages that are closed to some.
pub const WINDOW: u32 = 0x0080_0000;
pub const CLOSED: u32 = 0x0070_0000;

/// The instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    A32,
    T32,
}

/// Modes by their numbers, and by the order in which they are counted.
pub const USER: u32 = 0x10;
pub const SUPERVISOR: u32 = 0x13;
pub const SYSTEM: u32 = 0x1F;
pub const MODES: [u32; 7] = [USER, 0x11, 0x12, SUPERVISOR, 0x17, 0x1B, SYSTEM];

/// Numbers at which arithmetic changes its behaviour.
const CORNERS: &[u32] =
    &[0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];
/// Such numbers in single precision, and upper words of such numbers in double precision.
const FLOAT_CORNERS: &[u32] = &[
    0,
    1,
    0x007F_FFFF,
    0x0080_0000,
    0x3F00_0000,
    0x3F80_0000,
    0x4EFF_FFFF,
    0x4F00_0000,
    0x4F80_0000,
    0x7F7F_FFFF,
    0x7F80_0000,
    0x7F80_0001,
    0x7FC0_0000,
    0x000F_FFFF,
    0x0010_0000,
    0x380F_FFFF,
    0x3FE0_0000,
    0x3FF0_0000,
    0x41DF_FFFF,
    0x47EF_FFFF,
    0x7FEF_FFFF,
    0x7FF0_0000,
    0x7FF8_0000,
];

/// A constant in a register that is filled in when it is known.
#[derive(Clone, Copy, Debug)]
pub struct PendingConstant {
    at: usize,
    register: u32,
    set: InstructionSet,
}

/// A branch whose target is filled in when it is known.
#[derive(Clone, Copy, Debug)]
pub struct PendingJump {
    at: usize,
    set: InstructionSet,
}

/// Writes code.
pub struct Writer {
    base: u32,
    pub code: Vec<u8>,
    pub random: Random,
    /// The set and mode in which the next instruction executes.
    pub set: InstructionSet,
    pub mode: u32,
    /// The low register that points into the window, and whether it is aligned.
    pub pointer: u32,
    pub aligned: bool,
    /// The registers that must keep their values for now.
    pub reserved: u32,
    /// The number of random instructions by set and mode.
    pub counts: [[u64; 7]; 2],
    a32: ArmPatterns,
    t32: ArmPatterns,
    float: (Vec<Pattern>, Vec<Pattern>),
}

/// MOVW or MOVT (`top`) of a constant's half.
fn half_constant(set: InstructionSet, top: bool, register: u32, value: u32) -> u32 {
    match set {
        InstructionSet::A32 => {
            let operation = if top { 0xE340_0000 } else { 0xE300_0000 };
            operation | (value >> 12 & 0xF) << 16 | register << 12 | value & 0xFFF
        }
        InstructionSet::T32 => {
            let operation = if top { 0xF2C0_0000 } else { 0xF240_0000 };
            let (i, imm3) = (value >> 11 & 1, value >> 8 & 7);
            operation
                | i << 26
                | (value >> 12 & 0xF) << 16
                | imm3 << 12
                | register << 8
                | value & 0xFF
        }
    }
}

impl Writer {
    pub fn new(seed: u64, base: u32) -> Self {
        Self {
            base,
            code: Vec::new(),
            random: Random::new(seed),
            set: InstructionSet::A32,
            mode: SYSTEM,
            pointer: 0,
            aligned: true,
            reserved: 0,
            counts: [[0; 7]; 2],
            a32: ArmPatterns::a32(),
            t32: ArmPatterns::t32(),
            float: patterns::float(),
        }
    }

    /// The address of what is written next.
    pub fn here(&self) -> u32 {
        self.base + self.code.len() as u32
    }

    pub const fn is_privileged(&self) -> bool {
        self.mode != USER
    }

    /// Counts a random instruction.
    pub fn count(&mut self) {
        let mode = MODES.iter().position(|mode| *mode == self.mode).unwrap_or(0);
        self.counts[usize::from(self.set == InstructionSet::T32)][mode] += 1;
    }

    fn raw(set: InstructionSet, bits: u32) -> Vec<u8> {
        match set {
            InstructionSet::A32 => bits.to_le_bytes().to_vec(),
            InstructionSet::T32 if bits >> 16 == 0 => (bits as u16).to_le_bytes().to_vec(),
            InstructionSet::T32 => bits.rotate_left(16).to_le_bytes().to_vec(),
        }
    }

    /// Emits an instruction of the current set; in T32, one with an empty upper half has 16 bits.
    pub fn put(&mut self, bits: u32) {
        let bytes = Self::raw(self.set, bits);
        self.code.extend(bytes);
    }

    /// Emits an instruction that both sets encode alike except for the condition.
    pub fn put_common(&mut self, bits: u32) {
        self.put(bits & 0x0FFF_FFFF | 0xE000_0000);
    }

    /// Emits the one of the two that belongs to the current set.
    pub fn put_either(&mut self, a32: u32, t32: u32) {
        self.put(if self.set == InstructionSet::A32 { a32 } else { t32 });
    }

    /// Pads with a NOP to a multiple of four.
    pub fn align(&mut self) {
        if !self.code.len().is_multiple_of(4) {
            self.code.extend(0xBF00_u16.to_le_bytes());
        }
    }

    /// Loads a constant.
    pub fn constant(&mut self, register: u32, value: u32) {
        self.put(half_constant(self.set, false, register, value & 0xFFFF));
        self.put(half_constant(self.set, true, register, value >> 16));
    }

    /// Loads a constant that is filled in later.
    pub fn constant_later(&mut self, register: u32) -> PendingConstant {
        let later = PendingConstant { at: self.code.len(), register, set: self.set };
        self.constant(register, 0);
        later
    }

    pub fn fill_constant(&mut self, later: PendingConstant, value: u32) {
        let PendingConstant { at, register, set } = later;
        let low = Self::raw(set, half_constant(set, false, register, value & 0xFFFF));
        let high = Self::raw(set, half_constant(set, true, register, value >> 16));
        self.code[at..at + 4].copy_from_slice(&low);
        self.code[at + 4..at + 8].copy_from_slice(&high);
    }

    /// The address of what comes next, as jumps name it when it is of a set.
    pub fn label(&mut self, set: InstructionSet) -> u32 {
        if set == InstructionSet::A32 {
            self.align();
        }
        self.here() | u32::from(set == InstructionSet::T32)
    }

    /// Emits a forward branch, with or without a link, optionally on a condition. Links are
    /// unconditional.
    pub fn jump(&mut self, condition: u32, links: bool) -> PendingJump {
        let jump = PendingJump { at: self.code.len(), set: self.set };
        match (self.set, links) {
            (InstructionSet::A32, false) => self.put(condition << 28 | 0x0A00_0000),
            (InstructionSet::A32, true) => self.put(0xEB00_0000),
            (InstructionSet::T32, false) if condition < 14 => {
                self.put(0xF000_8000 | condition << 22);
            }
            (InstructionSet::T32, false) => self.put(0xF000_9000),
            (InstructionSet::T32, true) => self.put(0xF000_D000),
        }
        jump
    }

    /// Makes a branch lead here. It is a short way.
    pub fn bind(&mut self, jump: PendingJump) {
        let distance = (self.code.len() - jump.at) as u32;
        let at = jump.at;
        match jump.set {
            InstructionSet::A32 => {
                let words = (distance - 8).cast_signed() >> 2;
                self.code[at..at + 3].copy_from_slice(&words.to_le_bytes()[..3]);
            }
            InstructionSet::T32 => {
                // Forwards by less than 4 KiB: J1 and J2 are 0 of conditional branches, else 1.
                let halves = (distance - 4) >> 1;
                let second = u16::from_le_bytes([self.code[at + 2], self.code[at + 3]]);
                let j = if second & 0x5000 == 0 { 0 } else { 0x2800 };
                let second = second | j | (halves & 0x7FF) as u16;
                self.code[at + 2..at + 4].copy_from_slice(&second.to_le_bytes());
            }
        }
    }

    /// Switches to the other set, through BX to the following instruction.
    pub fn switch_set(&mut self) {
        match self.set {
            InstructionSet::A32 => {
                let register = self.destination();
                self.put(0xE28F_0001 | register << 12); // add register, pc, #1
                self.put(0xE12F_FF10 | register); // bx register
                self.set = InstructionSet::T32;
            }
            InstructionSet::T32 => {
                self.align();
                self.put(0x4778); // bx pc
                self.put(0xBF00);
                self.set = InstructionSet::A32;
            }
        }
    }

    pub fn switch_to(&mut self, set: InstructionSet) {
        if self.set != set {
            self.switch_set();
        }
    }

    /// A register that may change: neither SP nor PC.
    pub fn destination(&mut self) -> u32 {
        loop {
            let register = self.random.below(15);
            if register != 13 && self.reserved >> register & 1 == 0 {
                return register;
            }
        }
    }

    /// R0 to R7.
    pub fn low(&mut self) -> u32 {
        loop {
            let register = self.random.below(8);
            if self.reserved >> register & 1 == 0 {
                return register;
            }
        }
    }

    fn source(&mut self) -> u32 {
        match self.random.below(14) {
            13 => 14,
            register => register,
        }
    }

    /// Returns a number that is more often a special value than a uniform choice would be.
    pub fn interesting(&mut self) -> u32 {
        match self.random.below(5) {
            0 => *self.random.pick(CORNERS),
            1 => 1 << self.random.below(32),
            2 => self.random.below(64).wrapping_sub(32),
            3 => *self.random.pick(FLOAT_CORNERS) | self.random.word() & 1 << 31,
            _ => self.random.word(),
        }
    }

    /// Makes the pointer point somewhere: well inside the window, or to the given position.
    pub fn point(&mut self, elsewhere: Option<u32>) {
        let offset = 0x1800 + self.random.below(0x1000);
        let address = elsewhere.unwrap_or(WINDOW + offset);
        self.aligned = elsewhere.is_some() || self.random.chance(2, 3);
        let address = if self.aligned { address & !7 } else { address };
        let pointer = self.pointer;
        self.constant(pointer, address);
    }

    /// Emits a random instruction on registers, or of floating point.
    pub fn plain(&mut self) {
        self.count();
        if self.random.chance(1, 4) {
            return self.float_operation();
        }
        let patterns =
            if self.set == InstructionSet::A32 { &self.a32.plain } else { &self.t32.plain };
        let pattern = *self.random.pick(patterns);
        let bits = self.filled(&pattern, false);
        self.put(bits);
    }

    pub fn float_operation(&mut self) {
        let pattern = *self.random.pick(&self.float.0);
        let bits = self.filled(&pattern, false);
        self.put_float(bits);
    }

    /// A32 has a condition where T32 has ones.
    fn put_float(&mut self, bits: u32) {
        let condition = match self.set {
            InstructionSet::T32 => bits >> 28,
            InstructionSet::A32 => self.condition(),
        };
        self.put(bits & 0x0FFF_FFFF | condition << 28);
    }

    /// One access through the pointer that leaves it as it is.
    pub fn access(&mut self) {
        self.count();
        let patterns = if self.set == InstructionSet::A32 { &self.a32 } else { &self.t32 };
        let kind = self.random.below(8);
        let aligned = self.aligned;
        let (among, is_float) = match kind {
            0 if aligned => (&self.float.1, true),
            1 | 2 if aligned => (&patterns.aligned, false),
            _ => (&patterns.memory, false),
        };
        let pattern = *self.random.pick(among);
        let bits = self.filled(&pattern, !is_float);
        if is_float { self.put_float(bits) } else { self.put(bits) }
    }

    /// One that moves the pointer, which is set anew.
    pub fn moving_access(&mut self) {
        self.count();
        if !self.aligned {
            self.point(None);
        }
        let patterns =
            if self.set == InstructionSet::A32 { &self.a32.moving } else { &self.t32.moving };
        let pattern = *self.random.pick(patterns);
        let bits = self.filled(&pattern, true);
        self.put(bits);
        self.point(None);
    }

    /// Usually unconditional.
    pub fn condition(&mut self) -> u32 {
        if self.random.chance(1, 2) { 14 } else { self.random.below(14) }
    }

    fn filled(&mut self, pattern: &Pattern, spares_pointer: bool) -> u32 {
        loop {
            let bits = self.fill(pattern.text, spares_pointer);
            if (pattern.rule)(bits) {
                return bits;
            }
        }
    }

    /// Fills in all fields of a pattern.
    fn fill(&mut self, text: &str, spares_pointer: bool) -> u32 {
        let is_low = |letter| width(text, letter) == 3;
        let d = if is_low(b'd') { self.low() } else { self.destination() };
        let e = loop {
            let e = self.destination();
            if e != d {
                break e;
            }
        };
        // The registers of a pair: neither SP nor reserved ones.
        let q = loop {
            let q = 2 * self.random.below(6);
            if self.reserved >> q & 3 == 0 {
                break q;
            }
        };
        let [n, m, a] = [b'n', b'm', b'a'].map(|letter| {
            loop {
                let register = self.source();
                let register = if is_low(letter) { register & 7 } else { register };
                if !spares_pointer || register != self.pointer {
                    break register;
                }
            }
        });
        let h = self.random.below(16);
        let c = self.condition();
        let random = self.random.word();
        let pointer = self.pointer;
        spelled(text, random, |letter| {
            Some(match letter {
                b'c' => c,
                b'd' => d,
                b'e' => e,
                b'q' => q,
                b'n' => n,
                b'm' | b'r' => m,
                b'a' => a,
                b'h' => h,
                b'p' => pointer,
                _ => return None,
            })
        })
    }
}
