//! The measurements: instruction windows with the cycles that a chip took for them.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// One window, as represented by a line of the file.
#[derive(Debug, Deserialize)]
pub struct Row {
    /// The test it comes from.
    pub test: String,
    /// Its number in that test.
    #[serde(rename = "i")]
    pub number: u64,
    /// The memory from which the code ran.
    pub code: String,
    /// The cycles that the chip took.
    pub cycles: u64,
    /// The number of measurements it represents.
    pub count: u64,
    /// Instructions before the window; the last one reads the cycle counter.
    pub lead: String,
    /// R0 to R12, SP, LR and xPSR at the window's start, in hexadecimal.
    pub regs: String,
    /// The executed instructions: address, opcode, and the registers it changed.
    pub steps: Vec<(String, String, String)>,
    /// The chip's settings, if the row itself states them.
    pub line_buffer: Option<bool>,
    pub cache: Option<bool>,
    pub write_buffer: Option<bool>,
}

/// One executed instruction.
#[derive(Debug)]
pub struct Step {
    pub address: u32,
    /// The opcode's bytes in memory order.
    pub bytes: Vec<u8>,
    /// The registers it changed, by number, with their new values.
    pub changes: Vec<(u8, u32)>,
}

/// Why a file of measurements could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path}, line {line}: {source}")]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{path}, line {line}: {source}")]
    Sweep { path: PathBuf, line: usize, source: crate::exceptions::MalformedSweep },
    #[error("{path}, line {line}: a setting that is not known; teach settings.rs about it")]
    Setting { path: PathBuf, line: usize },
    #[error(
        "{file}: nothing says what the chip was set to for {test} in {code}; settings.jsonl is older than the file"
    )]
    Unset { file: String, test: String, code: String },
}

/// Reads a file of measurements, xz-compressed JSON lines.
pub fn read<R: DeserializeOwned>(path: &Path) -> Result<Vec<R>, CorpusError> {
    let failed = |source| CorpusError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let lines = BufReader::new(XzReader::new(file, true)).lines();
    lines
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(&line.map_err(failed)?).map_err(|source| CorpusError::Line {
                path: path.to_owned(),
                line: at + 1,
                source,
            })
        })
        .collect()
}

/// Parses a number as written in rows.
pub fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

/// Converts an opcode to bytes, each halfword in little-endian order.
pub fn bytes(opcode: &str) -> Option<Vec<u8>> {
    let halves = match opcode.len() {
        1..=4 => vec![hex(opcode)?],
        _ => vec![hex(opcode.get(..opcode.len() - 4)?)?, hex(opcode.get(opcode.len() - 4..)?)?],
    };
    Some(halves.into_iter().flat_map(|half| (half as u16).to_le_bytes()).collect())
}

/// Returns a register's number.
pub fn register(name: &str) -> Option<u8> {
    match name {
        "sp" => Some(13),
        "lr" => Some(14),
        _ => name.strip_prefix('r')?.parse().ok(),
    }
}

impl Row {
    /// Returns the instructions executed before the window, the last of which first reads the
    /// counter, or `None` for a malformed row.
    pub fn lead(&self) -> Option<Vec<Step>> {
        let step = |text: &str| {
            let (address, opcode) = text.split_once(':')?;
            Some(Step { address: hex(address)?, bytes: bytes(opcode)?, changes: Vec::new() })
        };
        let lead: Vec<_> = self.lead.split_whitespace().map(step).collect::<Option<_>>()?;
        Some(lead).filter(|lead| !lead.is_empty())
    }

    /// Returns the instructions of the window, or `None` for a malformed row.
    pub fn steps(&self) -> Option<Vec<Step>> {
        let window = self.steps.iter().map(|(address, opcode, changes)| {
            let changes = changes.split_whitespace().filter_map(|change| {
                let (name, value) = change.split_once('=')?;
                Some((register(name)?, hex(value)?))
            });
            Some(Step { address: hex(address)?, bytes: bytes(opcode)?, changes: changes.collect() })
        });
        window.collect()
    }

    /// Returns whether the window divides or multiplies to 64 bits, which takes cycles that depend on
    /// the operands.
    pub fn times_operands(&self) -> bool {
        let opcodes = self.steps.iter().filter_map(|(_, opcode, _)| bytes(opcode));
        // A7.7 of DDI 0403: SMULL, SDIV, UMULL, UDIV, SMLAL and UMLAL begin with 0xFB8 to 0xFBE.
        let mut opcodes = opcodes.filter(|bytes| bytes.len() == 4 && bytes[1] == 0xFB);
        opcodes.any(|bytes| (0x8..=0xE).contains(&(bytes[0] >> 4)))
    }

    /// Returns the registers at the window's start: R0 to R12, SP, LR, xPSR.
    pub fn registers(&self) -> Option<Vec<u32>> {
        self.regs.split_whitespace().map(hex).collect()
    }
}
