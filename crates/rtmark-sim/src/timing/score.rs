//! How well the rules do on measurements of real chips.

use crate::soc::CoreKind;

/// What a core's rules get right of the cycle counts measured on a chip. The project's
/// scoring tool checks these figures wherever the measurements are present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// The chip that was measured.
    pub chip: &'static str,
    /// Where the code ran from.
    pub code: &'static str,
    /// How many measurements.
    pub measurements: u32,
    /// Thousandths of them that the rules give exactly.
    pub exact: u16,
    /// Thousandths of them that the rules give within a cycle.
    pub within_one: u16,
}

const fn score(
    chip: &'static str,
    code: &'static str,
    measurements: u32,
    exact: u16,
    within_one: u16,
) -> Score {
    Score { chip, code, measurements, exact, within_one }
}

const CORTEX_M3: &[Score] = &[
    score("stm32f100", "flash", 31_994, 985, 993),
    score("stm32f100", "sram", 8_770, 988, 995),
    score("cc2650", "gpram", 17_610, 993, 997),
];

const CORTEX_M4: &[Score] =
    &[score("cc2652", "sram", 9_256, 968, 981), score("cc2652", "flash", 13_651, 985, 992)];

impl CoreKind {
    /// Scores under the current [`TIMING_MODEL`](crate::TIMING_MODEL), on memories without wait
    /// states, but for the CC2652's flash, which has two and a line buffer; empty for a core of which there are no measurements.
    pub const fn scores(self) -> &'static [Score] {
        match self {
            Self::CortexM3 => CORTEX_M3,
            Self::CortexM4 | Self::CortexM4F => CORTEX_M4,
            Self::CortexM0 | Self::CortexM0Plus | Self::CortexM33 => &[],
        }
    }
}
