//! Machine files: which QEMU machine is used, and what firmware needs to know about it.

use rtmark_model::{Pattern, ScenarioId};
use serde::Deserialize;

/// One of QEMU's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Emulator {
    /// `qemu-system-arm`.
    #[serde(rename = "qemu-system-arm")]
    Arm,
    /// `qemu-system-aarch64`.
    #[serde(rename = "qemu-system-aarch64")]
    Aarch64,
    /// `qemu-system-riscv32`.
    #[serde(rename = "qemu-system-riscv32")]
    Riscv32,
    /// `qemu-system-xtensa`.
    #[serde(rename = "qemu-system-xtensa")]
    Xtensa,
}

impl Emulator {
    /// The program's name.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Arm => "qemu-system-arm",
            Self::Aarch64 => "qemu-system-aarch64",
            Self::Riscv32 => "qemu-system-riscv32",
            Self::Xtensa => "qemu-system-xtensa",
        }
    }

    /// The Debian package that has it.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Arm | Self::Aarch64 => "qemu-system-arm",
            Self::Riscv32 | Self::Xtensa => "qemu-system-misc",
        }
    }
}

/// The purpose of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Role {
    /// Code and constants.
    #[serde(rename = "FLASH")]
    Flash,
    /// Data.
    #[serde(rename = "RAM")]
    Ram,
}

/// A memory that firmware is linked to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryFile {
    /// Its purpose.
    pub name: Role,
    /// Its first address.
    pub base: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// A register that counts instructions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterFile {
    /// Its address.
    pub address: u32,
    /// Writes that start it, as addresses and values.
    #[serde(default)]
    pub start: Vec<(u32, u32)>,
}

/// A core's own counter that counts at a fixed frequency of QEMU's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreCounter {
    /// How often it counts in a second of QEMU's clock.
    pub hz: u32,
    /// An instruction takes 2 to the power of this many nanoseconds of that clock.
    pub shift: u8,
}

impl CoreCounter {
    /// Returns the number of instructions that have been executed when the counter shows `count`.
    ///
    /// The counter counts at least once per instruction, so that no two instructions share a count. It has counted
    /// `floor(instructions * counts per instruction)`, and the number of instructions follows exactly.
    pub fn instructions(self, count: u64) -> u64 {
        let counts = u128::from(self.hz) << self.shift;
        let instructions = (u128::from(count) * 1_000_000_000).div_ceil(counts.max(1));
        u64::try_from(instructions).unwrap_or(u64::MAX)
    }
}

/// Scenarios that cannot run on a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// The scenarios.
    pub scenario: Pattern,
    /// The reason, in one sentence.
    pub reason: String,
}

/// The backends that machine files are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BackendName {
    Qemu,
}

/// A QEMU machine, as described by its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name in rtmark.
    pub name: String,
    /// Its description.
    pub description: String,
    #[expect(dead_code, reason = "tells machine files from soc files; there is one value")]
    backend: BackendName,
    /// The QEMU program that provides it.
    pub emulator: Emulator,
    /// Its name in that program.
    pub machine: String,
    /// Further arguments of that program.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// How the firmware is passed to the program: `{elf}` stands for its file, `{starter}` for a file
    /// with the starter.
    #[serde(default = "by_kernel")]
    pub load: Vec<String>,
    /// The assembly source of code on another core that starts the measured one.
    #[serde(default)]
    pub starter: Vec<u32>,
    /// The soc whose firmware it runs, which replaces the following keys.
    #[serde(default)]
    pub soc: Option<String>,
    /// The core, as named in `kernel.toml`.
    #[serde(default)]
    pub core: Option<String>,
    /// The frequency of the kernel's timer, in hertz.
    #[serde(default)]
    pub clock_hz: Option<u32>,
    /// The memories to which firmware is linked, in place of the soc's.
    #[serde(default)]
    pub memory: Vec<MemoryFile>,
    /// The register that counts instructions; if there is none, the core's own is read.
    #[serde(default)]
    pub counter: Option<CounterFile>,
    /// How the core's own counter counts, if not once per instruction.
    #[serde(default)]
    pub core_counter: Option<CoreCounter>,
    /// Scenarios that cannot run on it.
    #[serde(default)]
    pub not_applicable: Vec<Exclusion>,
    /// Images that are not built for it.
    #[serde(default)]
    pub without: Vec<String>,
    /// The sources of the file's information.
    pub sources: Vec<String>,
}

fn by_kernel() -> Vec<String> {
    vec!["-kernel".to_owned(), "{elf}".to_owned()]
}

/// The reason why a machine file was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MachineError(String);

impl Machine {
    /// Parses a machine file.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown key, lacks one, or contradicts itself; the message
    /// shows the line if there is one.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        let machine: Self =
            toml::from_str(text).map_err(|error| MachineError(error.to_string()))?;
        let refuse = |problem: &str| Err(MachineError(problem.to_owned()));
        let own = [machine.core.is_some(), machine.clock_hz.is_some()];
        if machine.soc.is_some() && own.contains(&true) {
            return refuse("`soc` replaces core and clock_hz: give it or them");
        }
        let memories = [Role::Flash, Role::Ram].map(|role| machine.memory_for(role).is_some());
        if machine.soc.is_none() && (own.contains(&false) || memories.contains(&false)) {
            return refuse("core, clock_hz and the memories FLASH and RAM are needed, or `soc`");
        }
        if machine.clock_hz == Some(0) {
            return refuse("clock_hz is zero");
        }
        if let Some(CoreCounter { hz, shift }) = machine.core_counter {
            if machine.counter.is_some() {
                return refuse("`counter` and `core_counter` exclude each other");
            }
            // QEMU knows no greater shift.
            if shift > 10 || u64::from(hz) << shift < 1_000_000_000 {
                return refuse(
                    "`core_counter` counts less than once per instruction, or `shift` is above 10",
                );
            }
        }
        if !machine.load.iter().any(|word| word.contains("{elf}")) {
            return refuse("`load` does not refer to the firmware: it needs `{elf}`");
        }
        if machine.starter.is_empty() == machine.load.iter().any(|word| word.contains("{starter}"))
        {
            return refuse("`starter` and a `{starter}` in `load` require each other");
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if machine.name.is_empty() || !machine.name.chars().all(plain) {
            return refuse("`name` may contain lower-case letters, digits and `-` only");
        }
        Ok(machine)
    }

    /// Returns the memory with a purpose, if it is described here.
    pub fn memory_for(&self, role: Role) -> Option<&MemoryFile> {
        self.memory.iter().find(|memory| memory.name == role)
    }

    /// Returns why a scenario cannot run here, if the file says so.
    pub fn not_applicable(&self, scenario: &ScenarioId) -> Option<&str> {
        let mut excuses = self.not_applicable.iter();
        excuses
            .find(|exclusion| exclusion.scenario.matches(scenario.as_str()))
            .map(|exclusion| exclusion.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "x"
description = "X"
backend = "qemu"
emulator = "qemu-system-riscv32"
machine = "virt"
core = "rv32imac"
clock_hz = 10_000_000
sources = []
memory = [
    { name = "FLASH", base = 0x8000_0000, size = 0x1000 },
    { name = "RAM", base = 0x8000_1000, size = 0x1000 },
]
[[not_applicable]]
scenario = "timer.*"
reason = "No interrupt."
"#;

    #[test]
    fn files_parse_and_report_errors() {
        let machine = Machine::from_toml(GOOD).expect("good");
        assert_eq!(machine.load, ["-kernel", "{elf}"]);
        assert_eq!(machine.memory_for(Role::Ram).map(|memory| memory.base), Some(0x8000_1000));
        let reason = |id: &str| machine.not_applicable(&id.parse().expect("good"));
        assert_eq!(reason("timer.tick"), Some("No interrupt."));
        assert_eq!(reason("thread.yield"), None);

        let refusal = |from: &str, to: &str| {
            assert!(GOOD.contains(from));
            Machine::from_toml(&GOOD.replace(from, to)).expect_err("refused").to_string()
        };
        assert!(refusal("sources", "sauces").contains("sauces"));
        assert!(refusal("\"qemu\"", "\"sim\"").contains("unknown variant `sim`"));
        assert!(refusal("riscv32", "mips").contains("qemu-system-mips"));
        assert!(refusal("clock_hz = 10_000_000", "").contains("clock_hz"));
        assert!(refusal("10_000_000", "0").contains("zero"));
        let counts = |hz: u32, shift: u32| {
            refusal(
                "sources = []",
                &format!("sources = []\ncore_counter = {{ hz = {hz}, shift = {shift} }}"),
            )
        };
        assert!(counts(40_000_000, 4).contains("less than once"));
        assert!(counts(40_000_000, 11).contains("above 10"));
        assert!(refusal("sources = []", "sources = []\nsoc = \"y\"").contains("soc"));
        assert!(refusal("sources = []", "sources = []\nload = [\"-bios\"]").contains("{elf}"));
        assert!(refusal("sources = []", "sources = []\nstarter = [1]").contains("starter"));
        assert!(refusal("name = \"x\"", "name = \"../x\"").contains("name"));
    }

    #[test]
    fn fixed_frequency_counters_resolve_every_instruction_count() {
        let counter = CoreCounter { hz: 40_000_000, shift: 5 };
        // 1.28 counts per instruction, cut off.
        for instructions in (0..1000_u64).chain([3_000_000_000]) {
            assert_eq!(counter.instructions(instructions * 128 / 100), instructions);
        }
        assert_eq!(CoreCounter { hz: 1_000_000_000, shift: 0 }.instructions(7), 7);
    }
}
