//! Cortex-M4: three pipeline stages, separate instruction and data buses.
//!
//! After the instruction set summary and the load/store timings of the Cortex-M4
//! Technical Reference Manual (DDI 0439, 3.3 and 3.3.3).

use super::{Rules, cortex_m3};
use crate::isa::{Group, Op, Slot};

pub static RULES: Rules = Rules {
    cost,
    // Measured on a CC2652 to follow the Cortex-M3's law.
    divide: cortex_m3::divide,
    long_multiply: |_, _, _| 0,
    // The pipeline's front is the Cortex-M3's; see there.
    refill: 1,
    refill_indirect: 2,
    refill_straddling: 1,
    refill_loaded: 1,
    // DDI 0439, 3.9: 12 cycles; measured on Cortex-M3 silicon as 12 and 10.
    entry: 12,
    late_arrival: 6,
    exit: 10,
    tail_chain: 6,
    // 29 and 27 with the floating-point registers.
    fp_frame: 17,
    // DDI 0439, 3.3.3: neighbouring loads overlap their address and data phases; a store
    // follows a load that way too, but nothing a store. One with an immediate offset
    // always takes one cycle.
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
