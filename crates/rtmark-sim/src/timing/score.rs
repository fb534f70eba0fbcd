//! The accuracy of the timing rules against measurements of real chips.

use crate::soc::CoreKind;

/// The share of the cycle counts measured on a chip that a core's rules reproduce. The project's
/// scoring tool checks these figures wherever the measurements are present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// The measured chip.
    pub chip: &'static str,
    /// The memory that the code ran from.
    pub code: &'static str,
    /// The chip's setting, where several were measured, such as `line buffer off`.
    pub setting: &'static str,
    /// The number of measurements.
    pub measurements: u32,
    /// The measurements that the rules match exactly, in thousandths.
    pub exact: u16,
    /// The measurements that the rules match within one cycle, in thousandths.
    pub within_one: u16,
}

const fn score(
    chip: &'static str,
    code: &'static str,
    setting: &'static str,
    measurements: u32,
    exact: u16,
    within_one: u16,
) -> Score {
    Score { chip, code, setting, measurements, exact, within_one }
}

const ON: &str = "line buffer on";
const OFF: &str = "line buffer off";

const CORTEX_M3: &[Score] = &[
    score("stm32f100", "flash", "", 31_995, 996, 1000),
    score("stm32f100", "sram", "", 8_771, 1000, 1000),
    score("cc2650", "gpram", ON, 13_961, 996, 996),
    score("cc2650", "gpram", OFF, 3_212, 1000, 1000),
    score("cc2650", "flash", ON, 9_000, 998, 999),
    score("cc2650", "flash", OFF, 7_635, 996, 997),
    score("cc2650", "sram", ON, 9_016, 988, 990),
    score("cc2650", "sram", OFF, 1_792, 996, 996),
];

const CORTEX_M4: &[Score] = &[
    score("cc2652", "flash", ON, 6_439, 996, 997),
    score("cc2652", "flash", OFF, 6_790, 999, 999),
    score("cc2652", "sram", ON, 8_204, 996, 999),
    score("cc2652", "sram", OFF, 923, 1000, 1000),
];

impl CoreKind {
    /// Returns the scores under the current [`TIMING_MODEL`](crate::TIMING_MODEL), with no cache
    /// and (except for a few rows) no write buffer active. The list is empty for a core without
    /// measurements. The flash of the CC26xx has two wait states and a buffer of one line; the
    /// other memories have none.
    pub const fn scores(self) -> &'static [Score] {
        match self {
            Self::CortexM3 => CORTEX_M3,
            Self::CortexM4 | Self::CortexM4F => CORTEX_M4,
            Self::CortexM0
            | Self::CortexM0Plus
            | Self::CortexM7
            | Self::CortexM33
            | Self::CortexR5
            | Self::Hazard3
            | Self::Ibex => &[],
        }
    }
}
