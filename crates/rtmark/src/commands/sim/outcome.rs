//! The result of a run, as JSON and as text.

use std::fmt::Write as _;

use rtmark_sim::Machine;
use serde::{Serialize, Serializer};

use rtmark_model::HeldInterval;
use rtmark_observe::{FunctionCost, Unmodelled, list_unmodelled};

use super::waiting::{polling_hint, wake_hint};
use crate::commands::clock::ClockPeriod;
use crate::output::count;

/// The version of [`Outcome`].
pub const SCHEMA_VERSION: u32 = 1;

/// The output of `rtmark sim --format json`. Fields may be added; `schema_version` increases when one
/// changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcome<'a> {
    pub schema_version: u32,
    /// The path of the image, as given.
    pub image: String,
    /// ELF, Intel HEX, UF2, DfuSe or raw binary.
    pub image_format: String,
    /// The address at which a raw binary was placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<u32>,
    /// The soc's name.
    pub soc: &'a str,
    /// The version of the timing rules; equal versions give equal cycles.
    pub timing_model: &'a str,
    /// How the run ended: exit, returned, until, fault, lockup, breakpoint, asleep, reset, watchdog, limit,
    /// observer, interrupted (by Ctrl-C) or other. An internal error of the simulator produces no document, but
    /// exit code 1.
    pub ending: &'static str,
    /// How the run ended in words, with addresses and symbols.
    pub message: String,
    /// Cycles since reset.
    pub cycles: u64,
    /// Instructions executed since reset.
    pub instructions: u64,
    /// The run's duration at the core's clock.
    pub nanoseconds: u64,
    /// What determines the core's clock: registers (the chip's clock registers, or `--clock`), program (what
    /// the program states) or soc (the soc's file).
    pub clock_source: &'static str,
    /// The frequencies that the core had.
    pub clocks: Vec<ClockPeriod>,
    /// What else to know of the run: its clock, the interrupt in which it ended, and options without effect.
    pub notes: Vec<String>,
    /// The number of handler entries.
    pub exceptions: u64,
    /// Device registers without a model that the program accessed.
    pub unmodelled: Vec<Unmodelled>,
    /// All registers of the core, by name; s0 to s31 as bits.
    #[serde(serialize_with = "in_order")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, u32>"))]
    pub registers: Vec<(String, u32)>,
    /// The memory requested with --dump, in the order of the options.
    pub dumps: Vec<MemoryDump>,
    /// The program's output; control characters except line feed and tab are escaped.
    pub console: String,
    /// SHA-256 over the final cycles, instructions, registers and memories. Equal runs have equal
    /// digests.
    pub state_sha256: String,
    /// With `--profile` or `--flame`: the cost of each function, the most expensive first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'a [FunctionCost]>,
    /// With `--masked`: the longest intervals in which interrupts were held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<&'a [HeldInterval]>,
}

/// A range of memory after the run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryDump {
    /// The range, as requested.
    pub what: String,
    /// The first address.
    pub address: u32,
    /// The contents, two hexadecimal digits per byte.
    #[serde(serialize_with = "hexadecimal")]
    #[cfg_attr(test, schemars(with = "String"))]
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

/// Returns all registers of the core, by name.
pub fn registers(machine: &Machine) -> Vec<(String, u32)> {
    let all = machine.named_registers().into_iter();
    all.map(|(name, register)| (name.to_owned(), machine.register(register))).collect()
}

impl MemoryDump {
    /// Formats a hex dump: 16 bytes per line, with address and text.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.what, count(self.bytes.len(), "byte"));
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
    /// Lists the registers without a model that the program accessed, in one line.
    pub fn without_model(&self) -> String {
        list_unmodelled(&self.unmodelled, "--stats shows all")
    }

    /// Returns a hint if the program seems to have polled a register without a model.
    pub fn polling_hint(&self) -> Option<String> {
        polling_hint(&self.unmodelled).map(|hint| format!("{hint}, or raise --max-cycles"))
    }

    /// Returns a hint if the program wrote to a register without a model, perhaps to start something that
    /// would wake it.
    pub fn wake_hint(&self) -> Option<String> {
        wake_hint(&self.unmodelled)
    }

    /// Formats the output of `--stats`.
    pub fn statistics(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "cycles        {}", self.cycles);
        let _ = writeln!(text, "instructions  {}", self.instructions);
        if self.instructions > 0 {
            let ratio = self.cycles as f64 / self.instructions as f64;
            let _ = writeln!(text, "cycles/instr. {ratio:.3}");
        }
        let _ = writeln!(text, "exceptions    {}", self.exceptions);
        let unmodelled: Vec<_> = self.unmodelled.iter().map(Unmodelled::text).collect();
        let unmodelled =
            if unmodelled.is_empty() { "none".to_owned() } else { unmodelled.join(", ") };
        let _ = writeln!(text, "without model {unmodelled}");
        for line in self.registers.chunks(4) {
            for (name, value) in line {
                let _ = write!(text, "{name:<10}{value:#010x}  ");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("sim", &schemars::schema_for!(Outcome<'_>));
    }
}
