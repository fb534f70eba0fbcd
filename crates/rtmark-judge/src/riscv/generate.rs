//! Random programs of RV32IMAC with Zba, Zbb, Zbs and Zbkb, which record their registers.

use super::encode as e;
use crate::random::Random;

/// The address of memory on QEMU's `virt` and on the simulator's soc, where the program begins.
pub const BASE: u32 = 0x8000_0000;
const RAM: u32 = 0x8010_0000;
/// The middle of the memory used by loads and stores: 2 KiB to either side.
const WINDOW: u32 = RAM + 0x1000;
/// The base of the memory used by compressed ones: up to 124 bytes after it.
const SMALL: u32 = RAM + 0x3000;
/// The beginning of the log, and the size of the pieces in which it is written out.
const LOG: u32 = RAM + 0x1_0000;
const PIECE: u32 = 0x4000;

/// Registers reserved for the program itself: the windows, and the log's end.
const GP: u32 = 3;
const TP: u32 = 4;
const FEW: u32 = 8;
/// Registers used by the harness to write the log at the end.
const T0: u32 = 5;
const T1: u32 = 6;
const A0: u32 = 10;
const A1: u32 = 11;

/// `slt x0, x0, x0`, which a Hazard3 executes as `h3.block`: it waits until another core unblocks it.
const BLOCK_HINT: u32 = 0x0000_2033;

/// The number of instructions between two records.
const BLOCK: u32 = 12;
/// The number of words in a record: all registers except x0.
pub const NOTE: usize = 31;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    pub image: Vec<u8>,
    /// Where each block begins.
    pub blocks: Vec<u32>,
    /// The number of random instructions; branches may skip some of them.
    pub instructions: u64,
}

struct Writer {
    code: Vec<u8>,
    random: Random,
    instructions: u64,
}

impl Writer {
    fn here(&self) -> u32 {
        BASE + self.code.len() as u32
    }

    fn word(&mut self, word: u32) {
        self.code.extend(word.to_le_bytes());
    }

    fn half(&mut self, half: u16) {
        self.code.extend(half.to_le_bytes());
    }

    /// Loads a constant.
    fn set(&mut self, register: u32, value: u32) {
        let low = (value << 20).cast_signed() >> 20;
        self.word(e::lui(register, value.wrapping_sub(low.cast_unsigned())));
        self.word(e::addi(register, register, low));
    }

    /// A register that is read: any.
    fn source(&mut self) -> u32 {
        self.random.below(32)
    }

    /// One that is written: any but those that the program needs.
    fn target(&mut self) -> u32 {
        loop {
            let register = self.random.below(32);
            if ![GP, TP, FEW].contains(&register) {
                return register;
            }
        }
    }

    /// One of x9 to x15.
    fn few(&mut self) -> u16 {
        9 + self.random.below(7) as u16
    }

    /// One of x8 to x15, read.
    fn any_few(&mut self) -> u16 {
        8 + self.random.below(8) as u16
    }

    fn constant(&mut self) -> i32 {
        self.random.below(4096).cast_signed() - 2048
    }

    /// An offset into the window of a multiple of some bytes.
    fn offset(&mut self, bytes: u32) -> i32 {
        (self.random.below(4096 / bytes) * bytes).cast_signed() - 2048
    }

    fn calculation(&mut self) {
        let (d, a, b) = (self.target(), self.source(), self.source());
        let value = self.constant();
        let word = match self.random.below(8) {
            0..=3 => e::operation(*self.random.pick(&e::REGISTERS), d, a, b),
            4 => e::r_type(*self.random.pick(&e::SHIFTS), d, a, b, 0x13),
            5 => {
                let (high, funct3) = *self.random.pick(&e::UNARY);
                e::i_type(high.cast_signed(), a, funct3, d, 0x13)
            }
            6 => e::immediate(*self.random.pick(&e::IMMEDIATES), d, a, value),
            _ if value < 0 => e::lui(d, self.random.word()),
            _ => e::auipc(d, self.random.word()),
        };
        self.word(if word == BLOCK_HINT { e::addi(0, 0, 0) } else { word });
    }

    fn access(&mut self) {
        match self.random.below(8) {
            0..=2 => {
                let (funct3, bytes) = *self.random.pick(&e::LOADS);
                let (d, offset) = (self.target(), self.offset(bytes));
                self.word(e::load(funct3, d, GP, offset));
            }
            3..=5 => {
                let (funct3, bytes) = *self.random.pick(&e::STORES);
                let (b, offset) = (self.source(), self.offset(bytes));
                self.word(e::store(funct3, b, GP, offset));
            }
            6 => {
                let (d, b) = (self.target(), self.source());
                let (operation, a) =
                    (*self.random.pick(&e::ATOMICS), *self.random.pick(&[GP, FEW]));
                self.word(e::atomic(operation, d, a, b));
            }
            _ => {
                let (d, f, b) = (self.target(), self.target(), self.source());
                self.word(e::atomic(0x02, d, GP, 0));
                self.word(e::atomic(0x03, f, GP, b));
                self.instructions += 1;
            }
        }
    }

    fn compressed(&mut self) {
        let (d, b) = (self.target() as u16, self.source() as u16);
        let value = self.random.below(64) as u16;
        let (few, other) = (self.few(), self.any_few());
        let operands = e::Operands { d, b, few, other, pointer: FEW as u16, value };
        let which = self.random.below(10);
        self.half(operands.compressed(which));
    }

    /// A branch or jump over what comes next.
    fn jump(&mut self) {
        let at = self.code.len();
        let is_short = self.random.chance(1, 3);
        let is_jump = self.random.chance(1, 5);
        self.half(0);
        if !is_short {
            self.half(0);
        }
        for _ in 0..=self.random.below(3) {
            self.plain();
        }
        let offset = (self.code.len() - at) as i32;
        let (a, b, few) = (self.source(), self.source(), self.any_few());
        let link = self.target();
        if is_short {
            let half = e::c_branch(is_jump, few, offset as u16);
            self.code[at..at + 2].copy_from_slice(&half.to_le_bytes());
            return;
        }
        let word = if is_jump {
            e::jal(link, offset)
        } else {
            e::branch(*self.random.pick(&e::BRANCHES), a, b, offset)
        };
        self.code[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn plain(&mut self) {
        self.instructions += 1;
        match self.random.below(8) {
            0..=3 => self.calculation(),
            4 | 5 => self.access(),
            _ => self.compressed(),
        }
    }

    /// Records all registers.
    fn note(&mut self) {
        for register in 1..=NOTE as u32 {
            self.word(e::store(2, register, TP, 4 * (register.cast_signed() - 1)));
        }
        self.word(e::addi(TP, TP, 4 * NOTE as i32));
    }

    /// Emits a semihosting call, on one page.
    fn call(&mut self, operation: u32) {
        while !self.code.len().is_multiple_of(16) {
            self.half(0x0001);
        }
        self.word(e::addi(A0, 0, operation.cast_signed()));
        self.word(0x01F0_1013);
        self.word(0x0010_0073);
        self.word(0x4070_5013);
    }

    /// Copies the windows after the log, writes it out, and ends.
    fn end(&mut self, notes: usize) -> usize {
        let windows = (SMALL + 0x80).wrapping_sub(RAM);
        self.set(T0, RAM);
        self.set(T1, RAM + windows);
        let top = self.here();
        self.word(e::load(2, A0, T0, 0));
        self.word(e::store(2, A0, TP, 0));
        self.word(e::addi(T0, T0, 4));
        self.word(e::addi(TP, TP, 4));
        let back = top.wrapping_sub(self.here()).cast_signed();
        self.word(e::branch(6, T0, T1, back));
        let length = notes * 4 * NOTE + windows as usize;

        // The three parameter words of SYS_OPEN and SYS_WRITE, followed by the console's name.
        let block = RAM + 0x8000;
        self.set(T0, block);
        for (offset, value) in
            [(12, u32::from_le_bytes(*b":tt\0")), (0, block + 12), (4, 4), (8, 3)]
        {
            self.set(T1, value);
            self.word(e::store(2, T1, T0, offset));
        }
        self.set(A1, block);
        self.call(0x01);
        self.set(T0, block);
        self.word(e::store(2, A0, T0, 0));
        let mut written = 0;
        while written < length {
            let piece = (length - written).min(PIECE as usize);
            for (offset, value) in [(4, LOG + written as u32), (8, piece as u32)] {
                self.set(T1, value);
                self.word(e::store(2, T1, T0, offset));
            }
            self.set(A1, block);
            self.call(0x05);
            written += piece;
        }
        self.set(A1, 0x2_0026);
        self.call(0x18);
        length
    }
}

impl Program {
    /// Generates a program of this many blocks.
    pub fn new(seed: u64, blocks: usize) -> Self {
        let mut writer = Writer { code: Vec::new(), random: Random::new(seed), instructions: 0 };
        for register in 1..32 {
            let value = writer.random.word();
            writer.set(register, value);
        }
        for (register, value) in [(GP, WINDOW), (FEW, SMALL), (TP, LOG)] {
            writer.set(register, value);
        }
        // The contents of RAM after reset differ, so the windows are filled first.
        writer.set(T0, RAM);
        writer.set(T1, SMALL + 0x80);
        let top = writer.here();
        writer.word(e::store(2, T0, T0, 0));
        writer.word(e::addi(T0, T0, 4));
        let back = top.wrapping_sub(writer.here()).cast_signed();
        writer.word(e::branch(6, T0, T1, back));
        let mut begins = Vec::new();
        for _ in 0..blocks {
            begins.push(writer.here());
            for _ in 0..BLOCK {
                if writer.random.chance(1, 8) { writer.jump() } else { writer.plain() }
            }
            writer.note();
        }
        writer.end(blocks);
        let Writer { code, instructions, .. } = writer;
        Self { image: code, blocks: begins, instructions }
    }
}
