//! Instructions of RV32 as words, and programs of them run cycle by cycle.

use rtmark_sim::riscv::{PipelineObserver, RiscV, TrapKind};
use rtmark_sim::{Cycles, Machine};

/// Where code and data are in the generic socs.
pub const BASE: u32 = 0x8000_0000;
pub const RAM: u32 = 0x8010_0000;
pub const NOP: u32 = 0x0000_0013;
pub const C_NOP: u16 = 0x0001;

// Registers of the tests.
pub const RA: u32 = 1;
pub const SP: u32 = 2;
pub const T0: u32 = 5;
pub const A0: u32 = 10;
pub const A1: u32 = 11;
pub const A2: u32 = 12;
pub const A3: u32 = 13;

pub fn i_type(imm: i32, a: u32, funct: u32, d: u32, opcode: u32) -> u32 {
    (imm as u32) << 20 | a << 15 | funct << 12 | d << 7 | opcode
}

pub fn r_type(high: u32, b: u32, a: u32, funct: u32, d: u32, opcode: u32) -> u32 {
    high << 25 | b << 20 | a << 15 | funct << 12 | d << 7 | opcode
}

pub fn addi(d: u32, a: u32, imm: i32) -> u32 {
    i_type(imm, a, 0, d, 0x13)
}

pub fn add(d: u32, a: u32, b: u32) -> u32 {
    r_type(0, b, a, 0, d, 0x33)
}

pub fn muldiv(funct: u32, d: u32, a: u32, b: u32) -> u32 {
    r_type(1, b, a, funct, d, 0x33)
}

pub fn lw(d: u32, a: u32) -> u32 {
    i_type(0, a, 2, d, 0x03)
}

pub fn sw(b: u32, a: u32) -> u32 {
    r_type(0, b, a, 2, 0, 0x23)
}

pub fn atomic(funct: u32, d: u32, a: u32, b: u32) -> u32 {
    r_type(funct << 2, b, a, 2, d, 0x2F)
}

pub fn csr(funct: u32, number: u32, d: u32, a: u32) -> u32 {
    i_type(number as i32, a, funct, d, 0x73)
}

pub fn branch(funct: u32, a: u32, b: u32, offset: i32) -> u32 {
    let o = offset as u32;
    r_type((o >> 12 & 1) << 6 | o >> 5 & 0x3F, b, a, funct, o & 0x1E | o >> 11 & 1, 0x63)
}

pub const MRET: u32 = 0x3020_0073;
pub const ECALL: u32 = 0x0000_0073;
pub const EBREAK: u32 = 0x0010_0073;
pub const FENCE_I: u32 = 0x0000_100F;
pub const WFI: u32 = 0x1050_0073;
pub const MSTATUS: u32 = 0x300;
pub const MIE: u32 = 0x304;
pub const MTVEC: u32 = 0x305;
pub const MSCRATCH: u32 = 0x340;
pub const MEPC: u32 = 0x341;
pub const CSRRW: u32 = 1;
pub const CSRRS: u32 = 2;
pub const CSRRWI: u32 = 5;

/// What only the core of such a machine has.
pub fn core(machine: &mut Machine) -> &mut RiscV {
    machine.riscv().expect("a RISC-V core")
}

/// Code of whole and half words.
#[derive(Default)]
pub struct Code(pub Vec<u8>);

impl Code {
    pub fn words(words: &[u32]) -> Self {
        Self(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    pub fn half(mut self, half: u16) -> Self {
        self.0.extend(half.to_le_bytes());
        self
    }

    pub fn word(mut self, word: u32) -> Self {
        self.0.extend(word.to_le_bytes());
        self
    }
}

#[derive(Default)]
pub struct Trace {
    /// Place and cycle of each instruction that has left.
    pub left: Vec<(u32, u64)>,
    pub traps: Vec<(TrapKind, u64)>,
    most: usize,
}

impl PipelineObserver for Trace {
    fn left(&mut self, pc: u32, cycle: u64) {
        self.left.push((pc - BASE, cycle));
    }

    fn trapped(&mut self, what: TrapKind, cycle: u64, _return_to: u32) {
        self.traps.push((what, cycle));
    }

    fn is_done(&self) -> bool {
        self.left.len() >= self.most
    }
}

/// Runs so many instructions.
pub fn trace(machine: &mut Machine, most: usize) -> Trace {
    let mut trace = Trace { most, ..Trace::default() };
    core(machine).run_with_observer(Cycles(10_000), &mut trace);
    assert_eq!(trace.left.len(), most, "{:x?}", trace.left);
    trace
}

/// The cycles of each instruction but the first.
pub fn cycles(machine: &mut Machine, most: usize) -> Vec<u64> {
    trace(machine, most).left.windows(2).map(|pair| pair[1].1 - pair[0].1).collect()
}
