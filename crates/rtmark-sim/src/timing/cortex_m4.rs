//! Cortex-M4: three pipeline stages, separate instruction and data buses.
//!
//! After the instruction set summary and the load/store timings of the Cortex-M4
//! Technical Reference Manual (DDI 0439, 3.3 and 3.3.3).

use super::{Rules, cortex_m3};
use crate::isa::{Group, Op, Slot};

/// The pipeline's front, its divider (measured on a CC2652) and its exceptions (DDI
/// 0439, 3.9) are the Cortex-M3's.
pub const RULES: Rules = Rules {
    cost,
    long_multiply: |_, _, _| 0,
    // 29 in and 27 back with the floating-point registers.
    fp_frame: 17,
    ..cortex_m3::RULES
};

fn cost(slot: &Slot) -> u8 {
    let listed = slot.imm.count_ones() as u8;
    let words = (slot.aux & 0xFF) as u8;
    match slot.op.group() {
        // Stores with an immediate offset overlap with the instruction after them.
        Group::StoreImmediate => 1,
        Group::Load | Group::Store | Group::LoadPc | Group::Exclusive => 2,
        Group::Dual => 3,
        Group::List => 1 + listed,
        Group::Divide | Group::BranchTable | Group::SpecialRegister | Group::Barrier => 2,
        // DDI 0439, 7.2.3: floating-point instruction timings.
        Group::FloatDivide => 14,
        Group::FloatMultiplyAdd => 3,
        Group::FloatMemory => 1 + words,
        _ if matches!(slot.op, Op::VmovPairToCore | Op::VmovPairFromCore) => 2,
        _ => 1,
    }
}
