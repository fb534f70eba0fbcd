//! What a soc's cycles rest on: a word each for its core, its memories and its exceptions.

use std::fmt;

use serde::Deserialize;

use super::{CoreKind, Memory, Soc};

/// What cycles rest on, the firmest ground first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Cycle counts of real chips show the rules.
    Measured,
    /// A manual states them.
    Documented,
    /// Neither does: they are made from what is known of similar parts, or of sums.
    Estimated,
}

impl Tier {
    /// The word for it.
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

/// What a soc's cycles rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl CoreKind {
    /// What the cycles of instructions rest on.
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

    /// What the cycles of exceptions rest on: handlers of a Cortex-M3 were measured; the manuals
    /// of the others state latencies (DDI 0432, 0484, 0439), but for the Cortex-M7's and M33's, of which
    /// only that of the entry is published. Those of a Hazard3 and of an Ibex are its
    /// RTL's.
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
    /// What its waiting rests on: as the file says; else a memory that never waits does so by
    /// its manual, and what is known of another one is an estimate.
    pub fn tier(&self) -> Tier {
        let waits = self.timing.wait_states > 0;
        self.timing_basis.unwrap_or(if waits { Tier::Estimated } else { Tier::Documented })
    }
}

impl Soc {
    /// What its cycles rest on.
    pub fn timing_basis(&self) -> TimingBasis {
        // The whole is no firmer than its weakest part.
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
    fn a_soc_is_as_certain_as_its_least_known_memory() {
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
    fn what_a_core_says_begins_with_its_tier() {
        for &core in CoreKind::ALL {
            let said = core.timing_basis();
            assert!(said.starts_with(core.core_tier().name()), "{core}: {said}");
        }
    }
}
