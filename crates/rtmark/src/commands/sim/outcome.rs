//! The result of a run, as JSON and as text.

use std::fmt::Write as _;

use rtmark_sim::{Machine, Soc};
use serde::{Serialize, Serializer};

use rtmark_model::HeldInterval;
use rtmark_observe::FunctionCost;

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

/// Accesses to a register without a model.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unmodelled {
    /// The register's address.
    pub address: u32,
    /// The peripheral and the register's name or offset; absent if neither the soc file nor the core has a
    /// peripheral there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// The number of reads. A read returns zero, or the last value written if the soc file says that it
    /// is kept.
    pub reads: u64,
    /// The number of writes, which had no effect.
    pub writes: u64,
}

/// Describes the accesses of a run to registers without a model.
pub fn unmodelled(machine: &Machine) -> Vec<Unmodelled> {
    machine.unmodelled().map(|one| Unmodelled::of(one, machine.soc())).collect()
}

impl Unmodelled {
    /// Describes the accesses to a register of a soc.
    fn of(of: rtmark_sim::Unmodelled, soc: &Soc) -> Self {
        let rtmark_sim::Unmodelled { address, reads, writes } = of;
        Self { address, register: soc.register_name(address), reads, writes }
    }

    /// Formats the address, with the register's name if known.
    fn place(&self) -> String {
        match &self.register {
            Some(register) => format!("{register} ({:#010x})", self.address),
            None => format!("{:#010x}", self.address),
        }
    }

    fn text(&self) -> String {
        let mut text = self.place();
        for (times, verb) in [(self.reads, "read"), (self.writes, "written")] {
            match times {
                0 => {}
                1 => _ = write!(text, " {verb} once"),
                _ => _ = write!(text, " {verb} {times} times"),
            }
        }
        text
    }
}

/// How many registers without a model are named without --stats.
const NAMED_UNMODELLED: usize = 8;

/// The number of reads of a register without a model that suggests polling.
const MANY_READS: u64 = 1_000;

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
        let mut text = String::from("no model: ");
        // The most often read first: the program may have polled it.
        let mut busiest: Vec<_> = self.unmodelled.iter().collect();
        busiest.sort_by_key(|register| std::cmp::Reverse(register.reads));
        let busiest = busiest.into_iter().take(NAMED_UNMODELLED);
        let named: Vec<_> = busiest.map(Unmodelled::text).collect();
        text.push_str(&named.join(", "));
        let more = self.unmodelled.len() - named.len();
        if more > 0 {
            let _ = write!(text, ", and {more} more (--stats shows all)");
        }
        text
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

/// Returns a hint if a program seems to poll one of the registers without a model that it accessed.
pub fn polling_hint(unmodelled: &[Unmodelled]) -> Option<String> {
    let busiest = unmodelled.iter().max_by_key(|register| register.reads)?;
    (busiest.reads >= MANY_READS).then(|| {
        let (place, reads) = (busiest.place(), busiest.reads);
        format!(
            "the program may be waiting for {place}, which has no model and was read {reads} times: add a \
             [[peripheral]] for it to the soc file (docs/socs.md)"
        )
    })
}

/// Returns a hint if a program that nothing wakes wrote to a register without a model. Whether that was to start
/// something is unknown: it may just as well wait for what the run can be given.
fn wake_hint(unmodelled: &[Unmodelled]) -> Option<String> {
    let mut started = unmodelled.iter().filter(|register| register.writes > 0);
    let place = started.next()?.place();
    let others = if started.next().is_some() { " or another register that" } else { ", which" };
    Some(format!(
        "the program may be waiting for bytes for a UART (--uart-in) or the level of a pin (--pin), or for something \
         that it started through {place}{others} has no model: add a [[peripheral]] for it to the soc file \
         (docs/socs.md)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(address: u32, register: &str, writes: u64) -> Unmodelled {
        Unmodelled { address, register: Some(register.to_owned()), reads: 1, writes }
    }

    /// A shell that waits to be typed to has often written to a peripheral without a model before.
    #[test]
    fn a_program_that_nothing_wakes_may_wait_for_input() {
        let all = [(0x10, "DMA.ISR", 0), (0x14, "DMA.CR", 1), (0x20, "ADC.CR", 2)];
        let all = all.map(|(address, name, writes)| written(address, name, writes));
        assert_eq!(wake_hint(&all[..1]), None);
        let one = wake_hint(&all[..2]).unwrap_or_default();
        assert!(one.contains("(--uart-in)") && one.contains("(--pin)"), "{one}");
        assert!(one.contains("through DMA.CR (0x00000014), which has no model"), "{one}");
        let more = wake_hint(&all).unwrap_or_default();
        assert!(
            more.contains("DMA.CR (0x00000014) or another register that has no model"),
            "{more}"
        );
    }

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("sim", &schemars::schema_for!(Outcome<'_>));
    }
}
