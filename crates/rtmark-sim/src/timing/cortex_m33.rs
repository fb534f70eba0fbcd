//! Cortex-M33: a table of costs, modelled after the Cortex-M4's documented ones.
//!
//! Arm publishes no instruction timings for it. The costs are those of the Cortex-M4
//! Technical Reference Manual (DDI 0439, 3.3 and 3.9), without what was measured on that
//! core's pipeline.

use super::Rules;
use crate::isa::{Group, Op, Slot};

pub const RULES: Rules = Rules {
    describe: None,
    cost,
    divide,
    long_multiply: |_, _, _| 0,
    refill: 1,
    refill_indirect: 2,
    refill_straddling: 1,
    refill_loaded: 1,
    entry: 12,
    late_arrival: 6,
    exit: 10,
    tail_chain: 6,
    fp_frame: 17,
    load_pairing: 1,
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

/// What a division takes beyond two cycles: nothing when the quotient is zero, else
/// three and one for each four digits by which the dividend is the longer one.
/// Measured on a CC2650 for every distance of 0 to 28 digits.
fn divide(dividend: u32, divisor: u32, signed: bool) -> u8 {
    let magnitude = |value: u32| if signed { (value as i32).unsigned_abs() } else { value };
    let (dividend, divisor) = (magnitude(dividend), magnitude(divisor));
    if divisor == 0 || dividend < divisor {
        return 0;
    }
    let digits = divisor.leading_zeros() - dividend.leading_zeros();
    (3 + digits / 4) as u8
}
