//! Revisions of a core, and how they differ from the newest one.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Deserialize;

use super::CoreKind;

/// A product revision in Arm's numbering: `r2p1` is the second patch of the third revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision {
    /// The number after the `r`, 0 to 15; CPUID calls it the variant.
    pub major: u8,
    /// The number after the `p`, 0 to 15; CPUID calls it the revision.
    pub patch: u8,
}

impl Revision {
    fn parse(text: &str) -> Option<Self> {
        let (major, patch) = text.strip_prefix('r')?.split_once('p')?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            digits.parse::<u8>().ok().filter(|&number| plain && number < 16)
        };
        Some(Self { major: number(major)?, patch: number(patch)? })
    }

    /// Returns the published revisions of a core: those that the introductions of the manuals named at
    /// [`CoreKind`] list under "product revisions".
    pub const fn range(core: CoreKind) -> RangeInclusive<Self> {
        let (major, patch) = match core {
            CoreKind::CortexM0 | CoreKind::Hazard3 | CoreKind::Ibex => (0, 0),
            CoreKind::CortexM0Plus | CoreKind::CortexM4 | CoreKind::CortexM4F => (0, 1),
            CoreKind::CortexM3 => (2, 1),
            CoreKind::CortexM7 => (1, 2),
            CoreKind::CortexM33 => (1, 0),
            CoreKind::CortexR5 => (1, 3),
        };
        Self { major: 0, patch: 0 }..=Self { major, patch }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}p{}", self.major, self.patch)
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "revision = \"{text}\" is not of the form rNpM: write it as the chip's manual does, \
                 such as \"r2p1\"; CPUID has N in bits 23 to 20 and M in bits 3 to 0"
            ))
        })
    }
}

/// The differences between revisions of a core, as far as the simulator models them. All code whose
/// behaviour depends on a revision asks for this type.
///
/// | | `EarlyCortexM3` | `Current` | `CortexM4` |
/// |---|---|---|---|
/// | ACTLR | reads as zero and ignores writes: stores are always buffered | as the core's manual says | likewise |
/// | CCR.STKALIGN at reset | 0 | 1 | 1 |
/// | IT folding after 16-bit instructions on SP | yes | no | no |
/// | IT folding after MULS | no | yes | yes |
/// | a NOP that folds an IT passes beside a load | yes | no | no |
/// | prefetch beside CBZ and CBNZ | yes | no | no |
/// | extra cycles of a write to the bit-band alias behind a transfer | 3 | 3 | 4 |
///
/// Sources: the register was added in r2p0 (compare DDI 0337E with DDI 0337G, system control registers); on
/// an STM32F100 (r1p1), 90 of 90 pairs of programs that differ only in ACTLR.DISDEFWBUF take the same
/// cycles. Folding and prefetch: measured on an STM32F100, and on CC2650 (r2p1) and CC2652. Bit-bands: CC2650
/// and CC2652. STKALIGN: IHI 0046B (ABI advisory 1), 2.3.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Generation {
    /// Cortex-M3 before r2p0.
    EarlyCortexM3,
    /// Cortex-M4, of any revision.
    CortexM4,
    /// Every other core.
    #[default]
    Current,
}

impl Generation {
    /// Returns the generation of a core's revision; an unknown revision counts as the newest.
    pub const fn of(core: CoreKind, revision: Option<Revision>) -> Self {
        match (core, revision) {
            (CoreKind::CortexM3, Some(Revision { major: 0 | 1, .. })) => Self::EarlyCortexM3,
            (CoreKind::CortexM4 | CoreKind::CortexM4F, _) => Self::CortexM4,
            _ => Self::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_parse_in_arms_notation() {
        let good = [("r0p0", (0, 0)), ("r2p1", (2, 1)), ("r15p15", (15, 15))];
        for (text, (major, patch)) in good {
            let revision = Revision::parse(text).expect("good");
            assert_eq!(revision, Revision { major, patch });
            assert_eq!(revision.to_string(), text);
        }
        for text in ["", "r", "rp", "r1", "1p1", "r1p", "rp1", "r16p0", "r1p16", "r+1p1", "R1P1"] {
            assert_eq!(Revision::parse(text), None, "{text}");
        }
    }
}
