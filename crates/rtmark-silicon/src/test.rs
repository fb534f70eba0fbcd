//! The subject of a test, and the half it belongs to.

use std::fmt;

/// The subject of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Loops, lists and calls as compilers and programmers write them.
    Programs,
    Branches,
    /// IT blocks, and the instructions they skip.
    Conditions,
    Arithmetic,
    /// Single and multiple loads and stores.
    Memory,
    /// Accesses to bit-band aliases.
    BitBands,
    /// Barriers, special registers, hints.
    Others,
    /// Tests of single corners of the pipeline, nearly all found by automatic search.
    Corners,
}

impl Kind {
    /// Returns the subject of a test by its name.
    pub fn of(test: &str) -> Self {
        let name = name(test);
        let mut parts = name.split('/');
        let (folder, group) = (parts.next(), parts.next().unwrap_or_default());
        let last = name.rsplit('/').next().unwrap_or_default();
        let of_conditions = last.starts_with("it_") || last.contains("_it_");
        match (folder, group) {
            (_, "linked_list" | "builtins_test" | "examples_in_paper") => Self::Programs,
            (_, "bitbanding") => Self::BitBands,
            (Some("instructions" | "misc"), _) if of_conditions || last.starts_with("skipped_") => {
                Self::Conditions
            }
            (Some("instructions"), "control_flow") | (_, "branch_distance") => Self::Branches,
            (Some("instructions"), "data_processing") => Self::Arithmetic,
            (Some("instructions"), "memory") => Self::Memory,
            (Some("instructions"), _) => Self::Others,
            _ => Self::Corners,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Programs => "programs",
            Self::Branches => "branches",
            Self::Conditions => "IT blocks",
            Self::Arithmetic => "arithmetic",
            Self::Memory => "loads and stores",
            Self::BitBands => "bit-bands",
            Self::Others => "other instructions",
            Self::Corners => "corners",
        })
    }
}

/// One half of all tests. Rules are fitted on one half and scored on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Half {
    Fitting,
    Scoring,
}

impl Half {
    /// Returns the half that a test belongs to, on every chip and in all its configurations.
    pub fn of(test: &str) -> Self {
        // FNV-1a, whose low bits alone are poorly mixed.
        let hash = name(test)
            .bytes()
            .fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        if (hash >> 16 ^ hash) & 1 == 0 { Self::Fitting } else { Self::Scoring }
    }
}

/// Returns a test's name without the number of its configuration. Tests with the cache on are
/// variants of others.
pub fn name(test: &str) -> &str {
    let name = test.split('#').next().unwrap_or(test);
    name.strip_prefix("cache/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_configurations_of_a_test_are_in_the_same_half() {
        let half = Half::of("instructions/memory/str#0");
        assert_eq!(Half::of("instructions/memory/str#17"), half);
        assert_eq!(Half::of("cache/instructions/memory/str#3"), half);
    }

    #[test]
    fn kinds_derive_from_names() {
        let kinds = [
            ("instructions/control_flow/b_seq#1", Kind::Branches),
            ("cache/instructions/control_flow/it_fold#0", Kind::Conditions),
            ("misc/phantom_it_curse_uaf#2", Kind::Conditions),
            ("misc/linked_list#0", Kind::Programs),
            ("misc/bitbanding/ldr_str_pipelining#5", Kind::BitBands),
            ("instructions/other/isb#0", Kind::Others),
            ("to_analyze/ldr_sp_pipelining#0", Kind::Corners),
        ];
        for (test, kind) in kinds {
            assert_eq!(Kind::of(test), kind, "{test}");
        }
    }
}
