//! Series: what was measured, of what, and what produced it.

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

/// What a series is of.
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
    /// Where it ran.
    pub backend: Backend,
}

/// Samples of a machine that is exact: the same firmware gives the same counts
/// on every host, so a difference between two is real, however small. There
/// is no error bar to put on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Exact(pub Samples);

/// How many instructions each sample of an exact series executed: one entry a sample, in the same
/// order. A placement of code moves cycles and not these, so they tell a change of the code from a
/// change of its addresses. They are no cycles, and stand in no column of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Executed(pub Samples);

/// Samples of a clock in the world, which are one draw of many: to compare two
/// takes an estimate and its uncertainty, so they do not implement equality.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The least difference that the clock can show, in the series' basis.
    pub resolution: u64,
    /// The samples.
    pub samples: Samples,
}

/// The samples of a series, exact or sampled, or what is left of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Readings {
    /// Of the simulator or of an instruction count.
    Exact(Exact),
    /// Of silicon, or imported.
    Sampled(Sampled),
    /// Imported figures of samples that were not kept.
    Summarised(Summarised),
}

impl Readings {
    /// The samples, whichever kind they are; `None` where only a summary is left.
    pub fn samples(&self) -> Option<&Samples> {
        match self {
            Self::Exact(Exact(samples)) | Self::Sampled(Sampled { samples, .. }) => Some(samples),
            Self::Summarised(_) => None,
        }
    }

    /// The summary, where that is all there is.
    pub fn summarised(&self) -> Option<&Summarised> {
        match self {
            Self::Summarised(summary) => Some(summary),
            Self::Exact(_) | Self::Sampled(_) => None,
        }
    }
}

/// How probe hits became samples, as far as they did not pair up. A begin
/// while a span is open starts the span anew; an end while none is open is
/// passed over; a span still open at the end of the run is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unpaired {
    /// Begins that another begin followed.
    #[serde(skip_serializing_if = "is_zero")]
    pub restarted: u64,
    /// Ends without a begin.
    #[serde(skip_serializing_if = "is_zero")]
    pub ends: u64,
    /// Begins that nothing followed (at most one).
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// All samples of one key, and everything that produced them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What they are of.
    pub key: Key,
    /// What the samples count.
    pub basis: Basis,
    /// From where to where they were timed.
    pub span: Span,
    /// The clock of the core, by which cycles become time; 0 where a log does not say it.
    #[schemars(with = "u32")]
    pub clock: Hertz,
    /// The samples.
    pub readings: Readings,
    /// How many instructions each sample executed, where its basis is another one and the
    /// machine counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Executed>,
    /// Probe hits that made no sample.
    #[serde(default)]
    pub unpaired: Unpaired,
    /// What the firmware itself said about the run: numbers counted, items
    /// received. Only those whose key begins with `~` depend on timing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// What is wrong with it. A series that has any flag must not be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The samples of another run, before each of which all caches and buffers of the memories
    /// were emptied, where the soc has some and that run was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Samples>,
    /// All layouts of the code that were measured, in the order of their numbers; empty where that
    /// was the linker's own alone. Everything else in the series is of the one in the middle: of the
    /// one whose typical sample is the median of all, the lower of two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The longest time for which interrupts were masked while the samples were taken,
    /// where that was looked for and there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<Masked>,
    /// Where the interrupt was held back whose longest wait is the sample, if one's is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldInterval>,
    /// Why a multiple of the floor says nothing of them, where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_multiple: Option<String>,
    /// What produced them.
    pub provenance: Provenance,
}

/// What one layout of the code brought.
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
    /// Which of these stands in the middle: its place in the list. None where one has no samples.
    pub fn middle(placements: &[Self]) -> Option<usize> {
        let typical = |placement: &Self| Some(placement.samples.statistics()?.typical());
        let mut typical: Vec<(u64, usize)> = placements
            .iter()
            .enumerate()
            .map(|(at, placement)| Some((typical(placement)?, at)))
            .collect::<Option<_>>()?;
        typical.sort_unstable();
        let (median, _) = *typical.get(typical.len().checked_sub(1)? / 2)?;
        // Of those that have it the first one: the linker's own, where that is one of them.
        typical.iter().find(|(value, _)| *value == median).map(|(_, at)| *at)
    }
}

/// Between which figures the typical sample lies, by where the code lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// How many layouts were measured.
    pub placements: u64,
    /// The typical sample of the layout that is best for it.
    pub min: u64,
    /// That of the worst.
    pub max: u64,
}

impl Series {
    /// How far the typical samples of the layouts lie apart; `None` where only the linker's own was
    /// measured.
    pub fn spread(&self) -> Option<Spread> {
        let all = self.placements.iter();
        let typical = all.filter_map(|one| Some(one.samples.statistics()?.typical()));
        let (min, max) = (typical.clone().min()?, typical.max()?);
        Some(Spread { placements: self.placements.len() as u64, min, max })
    }

    /// What is to be said about the samples, or `None` when there is none: the series is
    /// empty, or a summary.
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
    /// The program's name and version in its own words.
    pub version: String,
    /// What it was told, as far as the build records it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_linkers_own(layout: &u32) -> bool {
    *layout == 0
}

/// A firmware image and the memory that it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Firmware {
    /// The image's name: the scenario group it holds.
    pub image: String,
    /// SHA-256 of the ELF file, in hexadecimal.
    pub elf_sha256: String,
    /// The number of its layout; 0 is the linker's own.
    #[serde(default, skip_serializing_if = "is_linkers_own")]
    pub layout: u32,
    /// Bytes of non-volatile memory: code, constants, initial values; without the gaps that a
    /// layout has.
    pub flash_bytes: u64,
    /// Bytes of RAM claimed statically.
    pub ram_bytes: u64,
}

impl Firmware {
    /// Whether nothing is known of it, as when its figures are from a log.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// What produced a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Version of rtmark.
    pub rtmark: String,
    /// SHA-256 of the program that measured, in hexadecimal, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtmark_sha256: Option<String>,
    /// Version of the simulator's timing model, where one was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_model: Option<String>,
    /// What the simulator's cycles rest on, where it counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_basis: Option<TimingBasis>,
    /// The emulator in its own words, where one ran the firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<String>,
    /// SHA-256 of the soc file, in hexadecimal; empty when there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub soc_sha256: String,
    /// The core, as soc files name it; empty where a log does not say it.
    pub core: String,
    /// The firmware that ran.
    #[serde(default, skip_serializing_if = "Firmware::is_unknown")]
    pub firmware: Firmware,
    /// What compiled it.
    #[serde(default)]
    pub compiler: Compiler,
    /// The kernel's settings that matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Setting>,
    /// The commit of the source tree, where it is known; `+` follows when the tree had changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where it was read, where it was not measured here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogSource>,
    /// The board that ran the firmware, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<Board>,
}

/// What simulated cycles rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingBasis {
    /// What instructions take where no memory makes them wait.
    pub core: Tier,
    /// What memories add, by the one that is known least of.
    pub memory: Tier,
    /// What it takes to enter handlers and to leave them.
    pub exceptions: Tier,
}

impl fmt::Display for TimingBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, memory, exceptions } = self;
        write!(f, "core {core}, memory {memory}, exceptions {exceptions}")
    }
}

/// What shows that cycles are what a chip takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Cycle counts of real chips.
    Measured,
    /// A manual.
    Documented,
    /// Nothing but what is known of similar parts.
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
    /// Its name, by its file.
    pub name: String,
    /// How it was reached: by which debug probe, or which serial port at what speed.
    pub link: String,
    /// The chip as programmers call it, where the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// What the chip says of itself, where it was asked.
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
    fn the_middle_is_a_layout_that_was_measured() {
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
}
