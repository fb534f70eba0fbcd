//! How well founded a soc's cycle counts are: one tier each for its core, its memories and its exceptions.

use std::fmt;

use serde::Deserialize;

use super::{CoreKind, Memory, Soc};

/// How well founded cycle counts are, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The rules were derived from cycle counts of real chips.
    Measured,
    /// The rules are stated in a manual.
    Documented,
    /// Neither measured nor documented: derived from what is known of similar parts, or by adding up
    /// figures.
    Estimated,
}

impl Tier {
    /// Returns the tier's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Estimated => "estimated",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How well founded each part of a soc's cycle counts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimingBasis {
    /// The cycles of instructions where no memory makes them wait.
    pub core: Tier,
    /// The cycles that memories add; the tier of the least known memory.
    pub memory: Tier,
    /// The cycles of entering and leaving handlers.
    pub exceptions: Tier,
}

impl fmt::Display for TimingBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, memory, exceptions } = self;
        write!(f, "core {core}, memory {memory}, exceptions {exceptions}")
    }
}

impl CoreKind {
    /// Returns the tier of the cycles of instructions.
    pub const fn core_tier(self) -> Tier {
        match self {
            Self::CortexM0 | Self::CortexM0Plus | Self::CortexR5 => Tier::Documented,
            Self::CortexM3
            | Self::CortexM4
            | Self::CortexM4F
            | Self::CortexM7
            | Self::CortexM33
            | Self::Hazard3
            | Self::Ibex => Tier::Measured,
        }
    }

    /// Returns the tier of the cycles of exceptions. Handlers of a Cortex-M3 were measured. The manuals of
    /// the other cores state latencies (DDI 0432, 0484, 0439), except for the Cortex-M7 and M33, of which
    /// only the entry latency is published. Those of a Hazard3 and of an Ibex come from its RTL.
    pub const fn exceptions_tier(self) -> Tier {
        match self {
            Self::CortexM3 | Self::Hazard3 | Self::Ibex => Tier::Measured,
            Self::CortexM0 | Self::CortexM0Plus | Self::CortexM4 | Self::CortexM4F => {
                Tier::Documented
            }
            Self::CortexM7 | Self::CortexM33 | Self::CortexR5 => Tier::Estimated,
        }
    }
}

impl Memory {
    /// Returns the tier of the memory's waits: the one that the file gives; otherwise a memory that never
    /// waits is documented by its manual, and any other memory's waits are an estimate.
    pub fn tier(&self) -> Tier {
        let waits = self.timing.wait_states > 0;
        self.timing_basis.unwrap_or(if waits { Tier::Estimated } else { Tier::Documented })
    }
}

impl Soc {
    /// Returns how well founded each part of the soc's cycle counts is.
    pub fn timing_basis(&self) -> TimingBasis {
        // The memories together are only as well founded as the weakest of them.
        let memory = self.memories.iter().map(Memory::tier).max().unwrap_or(Tier::Documented);
        TimingBasis { core: self.core.core_tier(), memory, exceptions: self.core.exceptions_tier() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soc(timing: &str) -> Result<Soc, super::super::SocError> {
        Soc::from_toml(&format!(
            "name = 'x'\ndescription = 'd'\ncore = 'cortex-m4f'\nclock_hz = 1000\ninterrupts = 32\n\
             priority_bits = 4\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0x20000000\nsize = 64\n\
             [[memory]]\nname = 'FLASH'\nkind = 'flash'\nbase = 0\nsize = 64\n{timing}"
        ))
    }

    #[test]
    fn a_socs_tier_is_that_of_its_least_certain_memory() {
        let cases = [
            ("", "documented"),
            ("timing_basis = 'measured'", "documented"),
            ("timing = { wait_states = 2, line_bytes = 8 }", "estimated"),
            ("timing_basis = 'documented'\ntiming = { wait_states = 2 }", "documented"),
            ("timing_basis = 'estimated'", "estimated"),
        ];
        for (timing, memory) in cases {
            let basis = soc(timing).expect("valid").timing_basis().to_string();
            let expected = format!("core measured, memory {memory}, exceptions documented");
            assert_eq!(basis, expected, "{timing}");
        }
        let refusal = soc("timing_basis = 'guessed'").expect_err("no such word").to_string();
        assert!(refusal.contains("`measured`, `documented`, `estimated`"), "{refusal}");
    }

    #[test]
    fn core_descriptions_begin_with_their_tier() {
        for &core in CoreKind::ALL {
            let said = core.timing_basis();
            assert!(said.starts_with(core.core_tier().name()), "{core}: {said}");
        }
    }
}
