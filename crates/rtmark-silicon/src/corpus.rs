//! The measurements: instruction windows with the cycles that a chip took for them.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// One window, as its line in the file has it.
#[derive(Debug, Deserialize)]
pub struct Row {
    /// Which test it comes from.
    pub test: String,
    /// Its number there.
    #[serde(rename = "i")]
    pub number: u64,
    /// Where the code ran from.
    pub code: String,
    /// What the chip took.
    pub cycles: u64,
    /// How many measurements it stands for.
    pub count: u64,
    /// Instructions before the window; the last one reads the cycle counter.
    pub lead: String,
    /// R0 to R12, SP, LR and xPSR at the window's start, in hexadecimal.
    pub regs: String,
    /// What was executed: address, opcode, and the registers that it changed.
    pub steps: Vec<(String, String, String)>,
    /// What the chip was set to, where the row itself says it.
    pub line_buffer: Option<bool>,
    pub cache: Option<bool>,
    pub write_buffer: Option<bool>,
}

/// One executed instruction.
#[derive(Debug)]
pub struct Step {
    pub address: u32,
    /// The opcode's bytes as memory holds them.
    pub bytes: Vec<u8>,
    /// Registers by number with the values that they have after it.
    pub changes: Vec<(u8, u32)>,
}

/// Why a file of measurements could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path}, line {line}: {source}")]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
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

/// A number as the rows write it.
pub fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

/// The opcode's halfwords, each little-endian.
pub fn bytes(opcode: &str) -> Option<Vec<u8>> {
    let halves = match opcode.len() {
        1..=4 => vec![hex(opcode)?],
        _ => vec![hex(opcode.get(..opcode.len() - 4)?)?, hex(opcode.get(opcode.len() - 4..)?)?],
    };
    Some(halves.into_iter().flat_map(|half| (half as u16).to_le_bytes()).collect())
}

/// A register's number.
pub fn register(name: &str) -> Option<u8> {
    match name {
        "sp" => Some(13),
        "lr" => Some(14),
        _ => name.strip_prefix('r')?.parse().ok(),
    }
}

impl Row {
    /// What was executed before the window, the counter's first reading last; `None` for
    /// a row out of form.
    pub fn lead(&self) -> Option<Vec<Step>> {
        let step = |text: &str| {
            let (address, opcode) = text.split_once(':')?;
            Some(Step { address: hex(address)?, bytes: bytes(opcode)?, changes: Vec::new() })
        };
        let lead: Vec<_> = self.lead.split_whitespace().map(step).collect::<Option<_>>()?;
        Some(lead).filter(|lead| !lead.is_empty())
    }

    /// The window, or `None` for a row out of form.
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

    /// Registers at the window's start: R0 to R12, SP, LR, xPSR.
    pub fn registers(&self) -> Option<Vec<u32>> {
        self.regs.split_whitespace().map(hex).collect()
    }
}
