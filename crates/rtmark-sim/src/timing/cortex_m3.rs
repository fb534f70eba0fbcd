//! Cortex-M3: three pipeline stages, separate instruction and data buses.
//!
//! After the instruction set summary of the Cortex-M3 Technical Reference Manual
//! (DDI 0337, 3.3), and, where it gives ranges, after measurements on a CC2650
//! (code in zero-wait RAM of the Code region) and an STM32F100.

use super::Rules;
use crate::isa::{Group, Op, Slot};

pub const RULES: Rules = Rules {
    cost,
    divide,
    long_multiply,
    // Measured: B, taken Bcc and BL take 2 at every alignment, since their target is
    // fetched while they are decoded. CBZ, BX and BLX are known in the execute stage
    // only: 3, and 4 to a 32-bit instruction across a word boundary.
    refill: 1,
    refill_indirect: 2,
    refill_straddling: 1,
    refill_loaded: 1,
    // Measured with DWT EXCCNT and CYCCNT: 12 in, 10 back, 6 from handler to handler.
    entry: 12,
    late_arrival: 6,
    exit: 10,
    tail_chain: 6,
    fp_frame: 0,
    // DDI 0337, 3.3.2: neighbouring loads overlap their address and data phases; a store
    // follows a load that way too, but nothing a store. One with an immediate offset
    // always takes one cycle.
    load_pairing: 1,
};

fn cost(slot: &Slot) -> u8 {
    let listed = slot.imm.count_ones() as u8;
    match slot.op.group() {
        // Stores with an immediate offset overlap with the instruction after them.
        Group::StoreImmediate => 1,
        Group::Load | Group::Store | Group::LoadPc | Group::Exclusive => 2,
        Group::Dual => 3,
        Group::List => 1 + listed,
        Group::Divide | Group::BranchTable | Group::SpecialRegister | Group::Barrier => 2,
        _ if matches!(slot.op, Op::Mla | Op::Mls) => 2,
        _ if matches!(slot.op, Op::Umull | Op::Smull | Op::Umlal | Op::Smlal) => 3,
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

/// What a long multiply takes beyond three cycles: one for each operand of more than
/// sixteen bits, two when it accumulates. Measured on a CC2650 and an STM32F100.
fn long_multiply(op: Op, n: u32, m: u32) -> u8 {
    let signed = matches!(op, Op::Smull | Op::Smlal);
    let wide = |value: u32| {
        let fits = if signed { value as i16 as u32 == value } else { value <= 0xFFFF };
        u8::from(!fits)
    };
    let each = if matches!(op, Op::Umlal | Op::Smlal) { 2 } else { 1 };
    each * (wide(n) + wide(m))
}
