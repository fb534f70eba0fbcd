//! Cortex-M4: three pipeline stages, separate instruction and data buses.
//!
//! The rules follow the instruction set summary and the load/store timings of the Cortex-M4
//! Technical Reference Manual (DDI 0439, 3.3 and 3.3.3).

use super::cortex_m3;
use crate::isa::{Group, Op, Slot};
use crate::timing::classify::{Multiplier, classify};
use crate::timing::{Classify, Interruptible, Rules};

/// The Cortex-M4's rules: the pipeline, the divider (measured on a CC2652) and the exceptions (DDI
/// 0439, 3.9) are the Cortex-M3's; the multiplier takes one cycle.
pub const RULES: Rules = Rules {
    classify: Some(Classify::Pipeline(|slot, following| {
        classify(slot, following, Multiplier::Single)
    })),
    long_multiply: None,
    // 29 cycles for entry and 27 for return with the floating-point registers.
    fp_frame: 17,
    interruptible,
    // 32 floating-point registers.
    longest: 33,
    ..cortex_m3::RULES
};

/// Returns an instruction's behaviour on an interrupt: that of the Cortex-M3, except that DDI 0403,
/// B1.5.10 lists VLDM and VSTM with VPUSH and VPOP among the continued instructions. VDIV and VSQRT
/// are complete for the pipeline when the floating-point unit has taken them.
fn interruptible(slot: &Slot) -> Interruptible {
    match slot.op {
        Op::Vldm | Op::Vstm => Interruptible::Continuable,
        _ => cortex_m3::interruptible(slot),
    }
}

/// Returns the same for a core whose VDIV and VSQRT keep other instructions waiting: they continue
/// while the handler is entered, as on a Cortex-M4 (Arm's erratum 776924).
pub fn interruptible_in_order(slot: &Slot) -> Interruptible {
    match slot.op.group() {
        Group::FloatDivide => Interruptible::EndsInEntry(14),
        _ => interruptible(slot),
    }
}
