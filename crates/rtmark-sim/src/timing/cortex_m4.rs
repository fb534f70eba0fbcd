//! Cortex-M4: three pipeline stages, separate instruction and data buses.
//!
//! After the instruction set summary and the load/store timings of the Cortex-M4
//! Technical Reference Manual (DDI 0439, 3.3 and 3.3.3).

use super::describe::{Multiplier, describe};
use super::{Rules, cortex_m3};

/// The pipeline, its divider (measured on a CC2652) and its exceptions (DDI 0439, 3.9)
/// are the Cortex-M3's; its multiplier takes one cycle.
pub const RULES: Rules = Rules {
    describe: Some(|slot, behind| describe(slot, behind, Multiplier::Single)),
    long_multiply: |_, _, _| 0,
    // 29 in and 27 back with the floating-point registers.
    fp_frame: 17,
    ..cortex_m3::RULES
};
