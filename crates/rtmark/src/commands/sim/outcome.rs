//! What a run came to, as JSON and as text.

use std::fmt::Write as _;

use rtmark_sim::{Machine, Register};
use serde::{Serialize, Serializer};

use super::values::NAMED;

/// A run as JSON. Fields may be added; `schema_version` rises when one changes.
#[derive(Debug, Serialize)]
pub struct Outcome<'a> {
    pub schema_version: u32,
    pub image: String,
    pub image_format: String,
    /// Where a raw binary was placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<u32>,
    pub soc: &'a str,
    pub timing_model: &'a str,
    pub ending: &'static str,
    pub message: String,
    pub cycles: u64,
    pub instructions: u64,
    pub nanoseconds: u64,
    pub exceptions: u64,
    /// Addresses of devices without a model that the program has used.
    pub unmodelled: Vec<u32>,
    #[serde(serialize_with = "in_order")]
    pub registers: Vec<(String, u32)>,
    pub dumps: Vec<Dumped>,
    pub console: String,
}

/// A piece of memory after the run.
#[derive(Debug, Serialize)]
pub struct Dumped {
    /// As it was asked for.
    pub what: String,
    pub address: u32,
    #[serde(serialize_with = "hexadecimal")]
    pub bytes: Vec<u8>,
}

fn in_order<S: Serializer>(pairs: &[(String, u32)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

fn hexadecimal<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    serializer.serialize_str(&text)
}

/// Every register that the core has, by name.
pub fn registers(machine: &Machine) -> Vec<(String, u32)> {
    let general = (0..13).map(|at| (format!("r{at}"), Register::R(at)));
    let special = NAMED.map(|(name, register)| (name.to_owned(), register));
    let float = (0..32).map(|at| (format!("s{at}"), Register::S(at)));
    general
        .chain(special)
        .chain(float)
        .filter(|(_, register)| machine.has_register(*register))
        .map(|(name, register)| (name, machine.register(register)))
        .collect()
}

impl Dumped {
    /// Sixteen bytes a line, with their address and as text.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {} bytes\n", self.what, self.bytes.len());
        for (at, line) in self.bytes.chunks(16).enumerate() {
            let _ = write!(text, "{:08x} ", self.address.wrapping_add(at as u32 * 16));
            for byte in line {
                let _ = write!(text, " {byte:02x}");
            }
            let shown = |byte: &u8| match byte {
                b' '..=b'~' => char::from(*byte),
                _ => '.',
            };
            let shown: String = line.iter().map(shown).collect();
            let _ = writeln!(text, "{:1$}  |{shown}|", "", (16 - line.len()) * 3);
        }
        text
    }
}

impl Outcome<'_> {
    /// What `--stats` shows.
    pub fn statistics(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "cycles        {}", self.cycles);
        let _ = writeln!(text, "instructions  {}", self.instructions);
        if self.instructions > 0 {
            let ratio = self.cycles as f64 / self.instructions as f64;
            let _ = writeln!(text, "cycles each   {ratio:.3}");
        }
        let _ = writeln!(text, "exceptions    {}", self.exceptions);
        let unmodelled: Vec<_> = self.unmodelled.iter().map(|at| format!("{at:#010x}")).collect();
        let unmodelled =
            if unmodelled.is_empty() { "none".to_owned() } else { unmodelled.join(" ") };
        let _ = writeln!(text, "unmodelled    {unmodelled}");
        for line in self.registers.chunks(4) {
            for (name, value) in line {
                let _ = write!(text, "{name:<8}{value:#010x}  ");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}
