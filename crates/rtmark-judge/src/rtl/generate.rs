//! Random programs of RV32IMC that trap, take interrupts, loop, and access memory at any address.

use std::ops::RangeInclusive;

use crate::random::Random;
use crate::riscv::encode as e;

/// The memory of the program, and that of its data.
pub const BASE: u32 = 0x8000_0000;
pub const RAM: u32 = 0x8010_0000;
/// The size of each, in bytes.
pub const SIZE: u32 = 0x10_0000;
/// The data that programs access.
pub const DATA: RangeInclusive<u32> = RAM..=RAM + 0x3FFF;
/// The address at which a store ends a program.
pub const END: u32 = RAM + 0xF_FFFC;

/// The first instruction, after the vectors.
const ENTRY: u32 = 0x80;
/// The middle of what loads and stores work on, 2 KiB to either side, and the beginning of the same for
/// compressed ones.
const WINDOW: u32 = RAM + 0x1000;
const SMALL: u32 = RAM + 0x3000;

/// Registers that programs need for themselves: two of the trap handler's, the windows, and a loop's count,
/// which is also where a jump to nowhere comes back.
const SP: u32 = 2;
const GP: u32 = 3;
const TP: u32 = 4;
const FEW: u32 = 8;
const COUNT: u32 = 9;
const OWN: [u32; 5] = [SP, GP, TP, FEW, COUNT];

const MSTATUS: u32 = 0x300;
const MIE: u32 = 0x304;
const MEPC: u32 = 0x341;
const MCAUSE: u32 = 0x342;
const CSRRW: u32 = 1;
const CSRRS: u32 = 2;
const CSRRC: u32 = 3;
const CSRRSI: u32 = 6;
const CSRRCI: u32 = 7;

const ECALL: u32 = 0x0000_0073;
const EBREAK: u32 = 0x0010_0073;
const MRET: u32 = 0x3020_0073;
const WFI: u32 = 0x1050_0073;
const FENCE: u32 = 0x0FF0_000F;
const FENCE_I: u32 = 0x0000_100F;
/// MPP of MSTATUS.
const MPP: u32 = 0x1800;
/// All interrupts of MIE.
const ALL: u32 = 0x7FFF_0888;

/// Registers that any program may read and write.
const FREE_CSRS: [u32; 9] = [0x340, MEPC, MCAUSE, 0x343, 0x320, 0x7C0, 0xB00, 0xB02, 0xB80];
/// Registers that are read only, or that are none: an exception where that is not done.
const OTHER_CSRS: [u32; 12] =
    [0x301, 0x305, 0x306, 0x344, 0xB03, 0x323, 0xF11, 0xF12, 0xF14, 0x3A0, 0xC00, 0x7A0];

/// The contents of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Calculations, loads, stores, branches, jumps, loops.
    Plain,
    /// Also exceptions, control registers and user mode.
    Traps,
    /// Also interrupts and sleep.
    Interrupts,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The contents of memory from [`BASE`] on.
    pub image: Vec<u8>,
    /// Interrupt lines from a cycle on, in ascending order: software, timer, external, fast ones.
    pub lines: Vec<(u64, u32)>,
}

struct Writer {
    code: Vec<u8>,
    random: Random,
    kind: Kind,
}

impl Program {
    /// Generates a program of this many blocks, with interrupt lines for this many cycles.
    pub fn new(seed: u64, kind: Kind, blocks: usize, cycles: u64) -> Self {
        let mut writer = Writer { code: Vec::new(), random: Random::new(seed), kind };
        writer.vectors();
        for register in 1..32 {
            let value = writer.random.word();
            writer.set(register, value);
        }
        for (register, value) in [(GP, WINDOW), (FEW, SMALL), (COUNT, 0)] {
            writer.set(register, value);
        }
        if kind == Kind::Interrupts {
            writer.open();
        }
        for _ in 0..blocks {
            writer.block();
        }
        writer.set(TP, END);
        writer.word(e::store(2, 0, TP, 0));
        let lines = if kind == Kind::Interrupts { writer.lines(cycles) } else { Vec::new() };
        Self { image: writer.code, lines }
    }
}

impl Writer {
    fn word(&mut self, word: u32) {
        self.code.extend(word.to_le_bytes());
    }

    fn half(&mut self, half: u16) {
        self.code.extend(half.to_le_bytes());
    }

    fn here(&self) -> i32 {
        self.code.len() as i32
    }

    /// Fills in a word or a halfword that was left open.
    fn patch(&mut self, at: i32, bytes: &[u8]) {
        let at = at as usize;
        self.code[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn set(&mut self, register: u32, value: u32) {
        let low = (value << 20).cast_signed() >> 20;
        self.word(e::lui(register, value.wrapping_sub(low.cast_unsigned())));
        self.word(e::addi(register, register, low));
    }

    fn csr(&mut self, funct3: u32, number: u32, d: u32, a: u32) {
        self.word(e::i_type(number.cast_signed(), a, funct3, d, 0x73));
    }

    fn source(&mut self) -> u32 {
        self.random.below(32)
    }

    fn target(&mut self) -> u32 {
        loop {
            let register = self.random.below(32);
            if !OWN.contains(&register) {
                return register;
            }
        }
    }

    /// One of x10 to x15, and one of x8 to x15 that is only read.
    fn few(&mut self) -> u16 {
        10 + self.random.below(6) as u16
    }

    fn any_few(&mut self) -> u16 {
        8 + self.random.below(8) as u16
    }

    fn constant(&mut self) -> i32 {
        self.random.below(4096).cast_signed() - 2048
    }

    /// The vectors, all of which lead to one handler, and in its place behind the first instruction the
    /// handler itself.
    fn vectors(&mut self) {
        let handler = (ENTRY + 4).cast_signed();
        for vector in 0..ENTRY.cast_signed() / 4 {
            self.word(e::jal(0, handler - 4 * vector));
        }
        let start = self.here();
        self.word(0);
        self.handler();
        let over = self.here() - start;
        self.patch(start, &e::jal(0, over).to_le_bytes());
    }

    /// Returns from interrupts at once; from exceptions behind the instruction, of a jump to nowhere to where
    /// a register says; from calls of user mode to machine mode.
    fn handler(&mut self) {
        self.csr(CSRRS, MCAUSE, SP, 0);
        let branch = self.here();
        self.word(0);
        // From a jump to nowhere: there.
        self.word(e::addi(TP, SP, -1));
        self.word(e::branch(1, TP, 0, 12));
        self.csr(CSRRW, MEPC, 0, COUNT);
        self.word(MRET);
        // Of a call: MPP.
        self.word(e::addi(TP, SP, -8));
        self.word(e::branch(1, TP, 0, 16));
        self.set(TP, MPP);
        self.csr(CSRRS, MSTATUS, 0, TP);
        self.csr(CSRRS, MEPC, TP, 0);
        self.word(e::load(5, SP, TP, 0));
        self.word(e::immediate(7, SP, SP, 3));
        self.word(e::addi(SP, SP, -3));
        self.word(e::addi(TP, TP, 2));
        self.word(e::branch(1, SP, 0, 8));
        self.word(e::addi(TP, TP, 2));
        self.csr(CSRRW, MEPC, 0, TP);
        self.word(MRET);
        let interrupt = self.here() - branch;
        self.patch(branch, &e::branch(4, SP, 0, interrupt).to_le_bytes());
        // MIP. The program's own use of TP continues.
        self.csr(CSRRS, 0x344, SP, 0);
        self.word(MRET);
    }

    /// Enables all interrupts.
    fn open(&mut self) {
        // An interrupt would change SP.
        self.csr(CSRRCI, MSTATUS, 0, 8);
        self.set(SP, ALL);
        self.csr(CSRRW, MIE, 0, SP);
        self.csr(CSRRSI, MSTATUS, 0, 8);
    }

    fn calculation(&mut self) {
        let (d, a, b) = (self.target(), self.source(), self.source());
        let value = self.constant();
        let word = match self.random.below(8) {
            // RV32I and M are the first of the table.
            0..=3 => e::operation(e::REGISTERS[self.random.below(18) as usize], d, a, b),
            4 => e::r_type(e::SHIFTS[self.random.below(3) as usize], d, a, b, 0x13),
            5 | 6 => e::immediate(*self.random.pick(&e::IMMEDIATES), d, a, value),
            _ if value < 0 => e::lui(d, self.random.word()),
            _ => e::auipc(d, self.random.word()),
        };
        self.word(word);
    }

    /// Emits a load or store, half of them at an address that is a multiple of the size.
    fn access(&mut self) {
        let loads = self.random.chance(1, 2);
        let (funct3, bytes) =
            if loads { *self.random.pick(&e::LOADS) } else { *self.random.pick(&e::STORES) };
        let step = if self.random.chance(1, 2) { bytes } else { 1 };
        let offset = (self.random.below(4092 / step) * step).cast_signed() - 2048;
        let (d, b) = (self.target(), self.source());
        // Nothing is at the addresses around zero.
        let misses = self.kind != Kind::Plain && self.random.chance(1, 40);
        let base = if misses { 0 } else { GP };
        self.word(if loads {
            e::load(funct3, d, base, offset)
        } else {
            e::store(funct3, b, base, offset)
        });
    }

    fn compressed(&mut self) {
        let (d, b) = (self.target() as u16, self.source() as u16);
        let value = self.random.below(64) as u16;
        let (few, other) = (self.few(), self.any_few());
        let operands = e::Operands { d, b, few, other, pointer: FEW as u16, value };
        let which = self.random.below(10);
        self.half(operands.compressed(which));
    }

    fn plain(&mut self) {
        match self.random.below(8) {
            0..=2 => self.calculation(),
            3 | 4 => self.access(),
            _ => self.compressed(),
        }
    }

    fn some_plain(&mut self, most: u32) {
        for _ in 0..=self.random.below(most) {
            self.plain();
        }
    }

    /// A branch or jump over what comes next.
    fn jump(&mut self) {
        let at = self.here();
        let (a, b, few) = (self.source(), self.source(), self.any_few());
        let link = self.target();
        match self.random.below(8) {
            0 => {
                self.half(0);
                self.some_plain(3);
                let not = self.random.chance(1, 2);
                let half = e::c_branch(not, few, (self.here() - at) as u16);
                self.patch(at, &half.to_le_bytes());
            }
            1 => {
                self.word(0);
                self.some_plain(3);
                let word = e::jal(link, self.here() - at);
                self.patch(at, &word.to_le_bytes());
            }
            2 => {
                // auipc, then a jalr over what follows.
                self.word(e::auipc(TP, 0));
                self.word(0);
                self.some_plain(3);
                let word = e::i_type(self.here() - at, TP, 0, link, 0x67);
                self.patch(at + 4, &word.to_le_bytes());
            }
            3 => {
                let links = self.random.chance(1, 2);
                self.half(0);
                self.some_plain(3);
                let half = e::c_jump(links, (self.here() - at) as u16);
                self.patch(at, &half.to_le_bytes());
            }
            4 => {
                let links = self.random.chance(1, 2);
                self.word(e::auipc(TP, 0));
                self.word(0);
                self.half(e::c_jump_register(links, TP as u16));
                self.some_plain(3);
                let word = e::addi(TP, TP, self.here() - at);
                self.patch(at + 4, &word.to_le_bytes());
            }
            _ => {
                self.word(0);
                self.some_plain(3);
                let offset = self.here() - at;
                let word = e::branch(*self.random.pick(&e::BRANCHES), a, b, offset);
                self.patch(at, &word.to_le_bytes());
            }
        }
    }

    /// A loop of a few passes.
    fn repeat(&mut self) {
        let passes = 1 + self.random.below(6);
        self.word(e::addi(COUNT, 0, passes.cast_signed()));
        if self.random.chance(1, 2) {
            self.half(0x0001);
        }
        let top = self.here();
        self.some_plain(6);
        if self.random.chance(1, 3) {
            self.jump();
        }
        if self.random.chance(1, 2) {
            // c.addi s1, -1
            self.half(e::c_immediate(0b000, 1, COUNT as u16, 0x3F));
        } else {
            self.word(e::addi(COUNT, COUNT, -1));
        }
        let back = top - self.here();
        if self.random.chance(1, 2) {
            self.half(e::c_branch(true, COUNT as u16, back as u16));
        } else {
            self.word(e::branch(1, COUNT, 0, back));
        }
    }

    fn control_register(&mut self) {
        let (d, a) = (self.target(), self.source());
        let funct3 = [1, 2, 3, 5, 6, 7][self.random.below(6) as usize];
        match self.random.below(8) {
            0..=2 => {
                let number = *self.random.pick(&FREE_CSRS);
                self.csr(funct3, number, d, a);
            }
            3 | 4 => {
                let number = *self.random.pick(&OTHER_CSRS);
                // MTVEC keeps where it leads.
                self.csr(if number == 0x305 { CSRRS } else { funct3 }, number, d, 0);
            }
            5 => self.csr(CSRRW, MIE, d, a),
            6 => {
                let how = CSRRS + self.random.below(2);
                self.csr(how, MIE, d, a);
            }
            _ if self.random.chance(1, 3) => self.csr(CSRRW, MSTATUS, d, a),
            // MIE of MSTATUS, set or cleared.
            _ => {
                let how = *self.random.pick(&[CSRRSI, CSRRCI]);
                self.csr(how, MSTATUS, d, 8);
            }
        }
    }

    fn trap(&mut self) {
        match self.random.below(10) {
            0 => self.word(ECALL),
            1 => self.word(EBREAK),
            // c.ebreak
            2 => self.half(0x9002),
            3 => self.half(0),
            4 => {
                let word = self.random.word() & !0x7F | 0x7F;
                self.word(word);
            }
            5 => {
                self.word(e::auipc(COUNT, 0));
                self.word(e::addi(COUNT, COUNT, 12));
                // jalr to the addresses around zero
                let offset = self.constant();
                self.word(e::i_type(offset, 0, 0, 0, 0x67));
            }
            6 | 7 => self.anything(),
            8 => self.reserved(),
            _ => self.user_mode(),
        }
    }

    /// A word of a group of calculations, fences or atomic operations, whether it is an instruction or
    /// not.
    fn anything(&mut self) {
        let opcode = *self.random.pick(&[0x33, 0x33, 0x13, 0x13, 0x0F, 0x2F, 0x0B]);
        let d = self.target();
        let word = self.random.word();
        self.word(word & !0xFFF | d << 7 | opcode);
    }

    /// A halfword that RV32C has no instruction for.
    fn reserved(&mut self) {
        let half = loop {
            let half = self.random.word() as u16;
            let (funct3, few) = (half >> 13, half >> 10 & 7);
            let is_reserved = match half & 3 {
                0 => !matches!(funct3, 0 | 2 | 6) || half & 0xFFE0 == 0,
                1 => funct3 == 4 && matches!(few, 4 | 5 | 7) || funct3 == 3 && half & 0x107C == 0,
                2 => !matches!(funct3, 0 | 2 | 4 | 6) || funct3 == 2 && half >> 7 & 31 == 0,
                _ => false,
            };
            if is_reserved {
                break half;
            }
        };
        self.half(half);
    }

    /// Goes to user mode for a few instructions, and returns with a call.
    fn user_mode(&mut self) {
        // An interrupt would change the registers that lead there.
        self.csr(CSRRCI, MSTATUS, 0, 8);
        let at = self.here();
        self.word(e::auipc(TP, 0));
        self.word(0);
        self.csr(CSRRW, MEPC, 0, TP);
        self.set(SP, MPP);
        self.csr(CSRRC, MSTATUS, 0, SP);
        self.word(MRET);
        let there = self.here() - at;
        self.patch(at + 4, &e::addi(TP, TP, there).to_le_bytes());
        self.some_plain(4);
        if self.random.chance(1, 2) {
            self.control_register();
        }
        self.word(ECALL);
        if self.kind == Kind::Interrupts {
            self.open();
        }
    }

    fn block(&mut self) {
        match (self.kind, self.random.below(32)) {
            (_, 0..=4) => self.jump(),
            (_, 5..=7) => self.repeat(),
            (_, 8) => {
                let fence = *self.random.pick(&[FENCE, FENCE_I]);
                self.word(fence);
            }
            (Kind::Traps | Kind::Interrupts, 9 | 10) => self.trap(),
            (Kind::Traps | Kind::Interrupts, 11..=13) => self.control_register(),
            (Kind::Interrupts, 14) => self.open(),
            (Kind::Interrupts, 15) => {
                self.open();
                self.word(WFI);
            }
            _ => self.plain(),
        }
    }

    /// Interrupt lines that rise and fall at random.
    fn lines(&mut self, cycles: u64) -> Vec<(u64, u32)> {
        let mut lines = Vec::new();
        let mut cycle = 0;
        while cycle < cycles {
            cycle += 20 + u64::from(self.random.below(300));
            let one = 1 << self.random.below(18);
            let more = if self.random.chance(1, 4) { 1 << self.random.below(18) } else { 0 };
            lines.push((cycle, one | more));
            cycle += 1 + u64::from(self.random.below(40));
            lines.push((cycle, 0));
        }
        lines
    }
}
