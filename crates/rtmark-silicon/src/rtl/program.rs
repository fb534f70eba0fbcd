//! Programs of the corpus with what the RTL did, as represented in its lines.

use serde::Deserialize;

/// The address of all programs, and the data block that some have.
#[derive(Debug)]
pub struct Meta {
    pub base: u32,
    pub data_base: u32,
    pub data: Vec<u8>,
}

/// One line of the file: the common settings, or a program.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    Meta { base: u32, data_base: u32, data_block: String },
    Random(Program),
    Micro(Program),
    Irq(Program),
    C(Program),
}

/// A program and its runs.
#[derive(Debug, Deserialize)]
pub struct Program {
    pub id: String,
    /// Its bytes, in hexadecimal.
    pub img: String,
    #[serde(default)]
    pub data: bool,
    /// `x1` to `x31` at reset.
    #[serde(default)]
    pub regs: Vec<u32>,
    /// Interrupt events: cycle, line, level, and whether the line falls when the interrupt is
    /// taken.
    #[serde(default)]
    pub ev: Vec<(u64, u16, u8, u8)>,
    /// Jumps of the path: distance to the previous jump, and offset.
    #[serde(default)]
    pub path: Vec<u32>,
    pub runs: Vec<Run>,
}

/// A trap: cycle, kind (0 exception, 1 interrupt, 2 return), code, number of the next instruction,
/// return offset.
pub type Trap = (u64, u8, u8, usize, i64);

/// What the RTL did with one setting of wait states.
#[derive(Debug, Deserialize)]
pub struct Run {
    /// Wait states of instruction fetches and of data.
    pub iw: u8,
    pub dw: u8,
    /// The cycle of the first instruction.
    pub t0: u64,
    /// The number of instructions.
    pub n: usize,
    pub total: u64,
    /// The cycles of each instruction, encoded.
    pub d: Option<String>,
    /// The cycles of each group of 64 instructions.
    pub w: Option<Vec<u64>>,
    pub path: Option<Vec<u32>>,
    pub traps: Option<Vec<Trap>>,
    /// Instructions that raise exceptions, by number, with the exception's code.
    #[serde(default)]
    pub exc: Vec<(usize, u8)>,
    pub regs_end: Vec<u32>,
    pub wcrc: String,
    pub mcrc: String,
}

/// Decodes hexadecimal digits to bytes.
pub fn bytes(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

impl Run {
    /// Returns the cycles of each instruction, or `None` if the run does not record them
    /// individually.
    pub fn deltas(&self) -> Option<Vec<u64>> {
        let mut deltas = Vec::with_capacity(self.n);
        let mut rest = self.d.as_deref()?.chars();
        while let Some(digit) = rest.next() {
            deltas.push(match digit {
                '(' => rest.by_ref().take_while(|c| *c != ')').collect::<String>().parse().ok()?,
                digit => u64::from(digit.to_digit(36)?),
            });
        }
        Some(deltas)
    }
}
