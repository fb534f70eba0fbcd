//! Series: what was measured, and what produced it.

use std::collections::BTreeMap;
use std::fmt;

use rtmark_units::Hertz;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summarised::{Flag, LogSource};
use crate::{
    Backend, Basis, HeldInterval, KernelId, Masked, Samples, ScenarioId, Span, Statistics,
    Summarised,
};

/// The text that a key has in place of what a log does not state.
pub const UNSTATED: &str = "unstated";

/// The key of a series.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Key {
    /// The soc's name.
    pub soc: String,
    /// The kernel.
    pub kernel: KernelId,
    /// The kernel's own version.
    pub version: String,
    /// The set of build settings.
    pub profile: String,
    /// The scenario.
    pub scenario: ScenarioId,
    /// The backend.
    pub backend: Backend,
}

/// Samples of an exact machine: the same firmware gives the same counts on every host, so a difference
/// between two is real, however small. There is no error bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Exact(pub Samples);

/// The number of instructions that each sample of an exact series executed: one entry for each sample,
/// in the same order. A placement of code changes cycles but not these, so they distinguish a change of
/// the code from a change of its addresses. They are not cycles, and never share a column with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct InstructionCounts(pub Samples);

/// Samples of a physical clock, which are one draw of many: to compare two takes an estimate and its
/// uncertainty, so they do not implement equality.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The smallest difference that the clock can resolve, in the series' basis.
    pub resolution: u64,
    /// The samples.
    pub samples: Samples,
}

/// The samples of a series, exact or sampled, or a summary of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Readings {
    /// From the simulator, or an instruction count.
    Exact(Exact),
    /// From silicon, or imported.
    Sampled(Sampled),
    /// Imported figures whose samples are not available.
    Summarised(Summarised),
}

impl Readings {
    /// Returns the samples, exact or sampled; `None` if only a summary is available.
    pub fn samples(&self) -> Option<&Samples> {
        match self {
            Self::Exact(Exact(samples)) | Self::Sampled(Sampled { samples, .. }) => Some(samples),
            Self::Summarised(_) => None,
        }
    }

    /// Returns the summary, if nothing else is available.
    pub fn summarised(&self) -> Option<&Summarised> {
        match self {
            Self::Summarised(summary) => Some(summary),
            Self::Exact(_) | Self::Sampled(_) => None,
        }
    }
}

/// Probe hits that did not pair up into samples. A begin inside an open span restarts the span; an end
/// without an open span is ignored; a span still open at the end of the run is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unpaired {
    /// Begins that were followed by another begin.
    #[serde(skip_serializing_if = "is_zero")]
    pub restarted: u64,
    /// Ends without a begin.
    #[serde(skip_serializing_if = "is_zero")]
    pub ends: u64,
    /// Begins that were followed by nothing (at most one).
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The fact of a series whose program sets the core's clock, by its registers, to another one than that of
/// the series: this other clock in hertz.
pub const SELECTED_CLOCK_FACT: &str = "~selected_clock_hz";

/// The fact of a series in which more spans ended without a begin than its scenario allows: their number.
pub const LONE_ENDS_FACT: &str = "~lone_ends";

/// The fact of a series whose program has used what has no model: what that was.
pub const WITHOUT_MODEL_FACT: &str = "~without_model";

/// Describes that times are of another clock than the one to which a program has set the core by its registers.
/// Every output that shows times of such a run says it in these words.
pub fn clock_note(program: &str, selected: Hertz, shown: Hertz) -> String {
    format!(
        "{program} sets the core's clock to {selected} by its registers, but times are at the soc's {shown}"
    )
}

/// All samples of one key, and everything that produced them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The series' key.
    pub key: Key,
    /// What the samples count.
    pub basis: Basis,
    /// Where timing began and ended.
    pub span: Span,
    /// The clock of the core, which converts cycles to time; 0 if a log does not state it.
    #[schemars(with = "u32")]
    pub clock: Hertz,
    /// The samples.
    pub readings: Readings,
    /// How many instructions each sample executed, if the basis is something else and the machine
    /// counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<InstructionCounts>,
    /// Probe hits that did not form a sample.
    #[serde(default)]
    pub unpaired: Unpaired,
    /// The facts that the firmware reported about the run: numbers counted, items received. Only those
    /// whose key begins with `~` depend on timing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// What is wrong with it. A series with any flag must not be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The samples of another run in which all caches and buffers of the memories were emptied before
    /// each sample, if the soc has any and that run was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Samples>,
    /// All layouts of the code that were measured, in the order of their numbers; empty if that was the
    /// linker's own alone. Everything else in the series belongs to the one in the middle: the one
    /// whose typical sample is the median of all, the lower of two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The longest interval in which interrupts were masked while the samples were taken, if it was
    /// determined and there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<Masked>,
    /// Where the interrupt was held back, if the sample is its longest wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldInterval>,
    /// Why a multiple of the floor is meaningless, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_multiple: Option<String>,
    /// What produced them.
    pub provenance: Provenance,
}

/// The result of one layout of the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Its number; 0 is the linker's own.
    pub layout: u32,
    /// SHA-256 of its ELF file, in hexadecimal.
    pub elf_sha256: String,
    /// Its samples.
    pub samples: Samples,
}

impl Placement {
    /// Returns the index of the middle one. None if one of them has no samples.
    pub fn middle(placements: &[Self]) -> Option<usize> {
        let typical = |placement: &Self| Some(placement.samples.statistics()?.typical());
        let mut typical: Vec<(u64, usize)> = placements
            .iter()
            .enumerate()
            .map(|(at, placement)| Some((typical(placement)?, at)))
            .collect::<Option<_>>()?;
        typical.sort_unstable();
        let (median, _) = *typical.get(typical.len().checked_sub(1)? / 2)?;
        // Of equal ones the first, which is the linker's own if that is among them.
        typical.iter().find(|(value, _)| *value == median).map(|(_, at)| *at)
    }
}

/// The range of the typical sample over layouts of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The number of layouts measured.
    pub placements: u64,
    /// The typical sample of the best layout.
    pub min: u64,
    /// The typical sample of the worst layout.
    pub max: u64,
}

impl Series {
    /// Returns the clock to which the program has set the core by its registers, if that is not the clock by
    /// which the series' cycles become times.
    pub fn selected_clock(&self) -> Option<Hertz> {
        self.facts.get(SELECTED_CLOCK_FACT)?.parse().ok().map(Hertz)
    }

    /// Describes that the series' times are of another clock than the one that its program sets, if they are. All
    /// series of a kernel share the note.
    pub fn clock_note(&self) -> Option<String> {
        let note = clock_note(self.key.kernel.as_str(), self.selected_clock()?, self.clock);
        Some(format!("{note}; cycles are not affected."))
    }

    /// Tells whether it was measured in the image with this SHA-256 (in hexadecimal), in any layout.
    pub fn is_of_image(&self, elf_sha256: &str) -> bool {
        self.provenance.firmware.elf_sha256 == elf_sha256
            || self.placements.iter().any(|placement| placement.elf_sha256 == elf_sha256)
    }

    /// Returns the range of the typical samples over layouts; `None` if only the linker's own was
    /// measured.
    pub fn spread(&self) -> Option<Spread> {
        let all = self.placements.iter();
        let typical = all.filter_map(|one| Some(one.samples.statistics()?.typical()));
        let (min, max) = (typical.clone().min()?, typical.max()?);
        Some(Spread { placements: self.placements.len() as u64, min, max })
    }

    /// Returns the statistics of the samples, or `None` if there are none: the series is empty, or a
    /// summary.
    pub fn statistics(&self) -> Option<Statistics> {
        self.readings.samples()?.statistics()
    }
}

/// A build setting that matters when kernels are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false, a number or a text")]
pub enum Setting {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Number(i64),
    /// A fraction.
    Fraction(f64),
    /// Anything else.
    Text(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Number(number) => number.fmt(f),
            Self::Fraction(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The compiler of a firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Compiler {
    /// The program's name and version as it prints them.
    pub version: String,
    /// Its arguments, as far as the build records them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_linkers_own(layout: &u32) -> bool {
    *layout == 0
}

/// A firmware image and the memory that it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Firmware {
    /// The image's name: the scenario group that it contains.
    pub image: String,
    /// SHA-256 of the ELF file, in hexadecimal.
    pub elf_sha256: String,
    /// The number of its layout; 0 is the linker's own.
    #[serde(default, skip_serializing_if = "is_linkers_own")]
    pub layout: u32,
    /// Bytes of non-volatile memory: code, constants, initial values; without the gaps of a layout.
    pub flash_bytes: u64,
    /// Bytes of statically allocated RAM.
    pub ram_bytes: u64,
}

impl Firmware {
    /// Tells whether nothing is known about it, as when the figures are from a log.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// What produced a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Version of rtmark.
    pub rtmark: String,
    /// SHA-256 of the measuring program, in hexadecimal, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtmark_sha256: Option<String>,
    /// Version of the simulator's timing model, if one was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_model: Option<String>,
    /// What the simulator's cycles rest on, if it counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_basis: Option<TimingBasis>,
    /// The emulator's version as it prints it, if one ran the firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<String>,
    /// SHA-256 of the soc file, in hexadecimal; empty if there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub soc_sha256: String,
    /// The core, as named in soc files; empty if a log does not state it.
    pub core: String,
    /// The firmware that ran.
    #[serde(default, skip_serializing_if = "Firmware::is_unknown")]
    pub firmware: Firmware,
    /// The compiler.
    #[serde(default)]
    pub compiler: Compiler,
    /// The kernel's settings that matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Setting>,
    /// The commit of the source tree, if known, followed by `+` if the tree had changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where it was read, if it was not measured here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogSource>,
    /// The board that ran the firmware, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<Board>,
}

/// What simulated cycles rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingBasis {
    /// The cost of instructions without waits for memory.
    pub core: Tier,
    /// The cost of memories, by the least certain one.
    pub memory: Tier,
    /// The cost of entering and leaving handlers.
    pub exceptions: Tier,
}

impl fmt::Display for TimingBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, memory, exceptions } = self;
        write!(f, "core {core}, memory {memory}, exceptions {exceptions}")
    }
}

/// The evidence that cycles are those of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Cycle counts of real chips.
    Measured,
    /// A manual.
    Documented,
    /// Only what is known about similar parts.
    Estimated,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Estimated => "estimated",
        })
    }
}

/// A board on which firmware ran.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name, from its file.
    pub name: String,
    /// How it was connected: the debug probe, or the serial port and its speed.
    pub link: String,
    /// The chip's name in programming tools, if the file states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// The chip's identification, if it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Disturbance;

    fn placement(layout: u32, values: &[u64]) -> Placement {
        let mut samples = Samples::new();
        for value in values {
            samples.push(*value, Disturbance::NONE);
        }
        Placement { layout, elf_sha256: String::new(), samples }
    }

    #[test]
    fn the_median_layout_was_measured() {
        let of = |typical: &[u64]| {
            let all: Vec<_> =
                (0..).zip(typical).map(|(layout, value)| placement(layout, &[1, *value])).collect();
            Placement::middle(&all)
        };
        assert_eq!(of(&[100, 130, 110]), Some(2));
        // Of two the lower one, of equal ones the first.
        assert_eq!(of(&[130, 100]), Some(1));
        assert_eq!(of(&[130, 100, 110, 120]), Some(2));
        assert_eq!(of(&[100, 100, 100]), Some(0));
        assert_eq!(of(&[]), None);
        assert_eq!(Placement::middle(&[placement(0, &[])]), None);
    }

    #[test]
    fn files_keep_what_is_not_usual() {
        let firmware = Firmware { layout: 3, ..Firmware::default() };
        let json = serde_json::to_string(&firmware).expect("it has a form");
        assert_eq!(serde_json::from_str::<Firmware>(&json).expect("its own form"), firmware);
        assert!(!firmware.is_unknown() && Firmware::default().is_unknown());
        let unpaired = Unpaired { restarted: 1, ends: 2, open: 3 };
        let json = serde_json::to_string(&unpaired).expect("it has a form");
        assert_eq!(serde_json::from_str::<Unpaired>(&json).expect("its own form"), unpaired);
    }
}
