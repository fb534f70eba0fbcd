//! Cortex-M33: a small table of costs. Estimated throughout.
//!
//! Arm publishes no instruction timings for it (100230 has none). What the rules rest on:
//!
//! - simple instructions, branches and the addresses of loads are done in the second
//!   of three stages, one earlier than in the Cortex-M4 (Arm's presentation of the
//!   core, as told by Elektronik 2016, "Cortex-M23 und -M33"): so a load takes one
//!   cycle, and a branch to a register no more than one to a label;
//! - 12 cycles from an interrupt to its handler, as published for it; what else there
//!   is to exceptions, and the floating-point unit, are the Cortex-M4's (DDI 0439);
//! - 4.02 CoreMark/MHz where the Cortex-M4 has 3.40: 0.85 of its cycles. A program of
//!   lists, matrices, states and checksums takes 0.88 of what the Cortex-M4 manual's
//!   table gives for the same code.
//!
//! Two 16-bit instructions now and then go together, and a load's result can be late
//! for the next instruction; neither is modelled.

use super::pipeline::Core;
use super::{Rules, cortex_m3, cortex_m4};
use crate::isa::{Group, Op, Slot};

pub const RULES: Rules = Rules {
    describe: None,
    pipeline: Core::CortexM3,
    cost,
    skip: 1,
    // Two cycles and these. Arm publishes no figure: taken to be the Cortex-M3's divider.
    divide: cortex_m3::divide,
    long_multiply: |_, _, _| 0,
    refill: 1,
    refill_loaded: 1,
    entry: 12,
    late_arrival: 6,
    exit: 10,
    tail_chain: 6,
    fp_frame: 17,
    // Loads and stores of several registers are continued (100230, C.5). Of divisions, pairs and
    // VDIV the manual says nothing: taken to be as in the Cortex-M4.
    gives_way: cortex_m4::gives_way,
    longest: 33,
};

fn cost(slot: &Slot) -> u8 {
    let listed = slot.imm.count_ones() as u8;
    let words = (slot.aux & 0xFF) as u8;
    match slot.op.group() {
        _ if slot.op == Op::Clrex => 1,
        Group::Exclusive | Group::Dual => 2,
        Group::List => listed,
        Group::Divide | Group::BranchTable | Group::SpecialRegister | Group::Barrier => 2,
        // DDI 0439, 7.2.3, but for the loads and stores.
        Group::FloatDivide => 14,
        Group::FloatMultiplyAdd => 3,
        Group::FloatMemory => words,
        _ if matches!(slot.op, Op::VmovPairToCore | Op::VmovPairFromCore) => 2,
        _ => 1,
    }
}
