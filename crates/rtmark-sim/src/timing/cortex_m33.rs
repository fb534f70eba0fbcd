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
//! - 4.02 CoreMark/MHz where the Cortex-M4 has 3.40 (Arm's pages of both cores): 0.846 of its
//!   cycles.
//!
//! What comes of it, beside what is published:
//!
//! | | published | here |
//! |---|---|---|
//! | interrupt to handler, memories without wait states | 12 cycles | 12 (`tests/it/exceptions.rs`) |
//! | cycles for those of a Cortex-M4 | 0.846, CoreMark | 0.845, the bench's `integer.mixed` |
//! | FreeRTOS on an RP2350, 150 MHz: yield to another thread | 160 cycles | 145, `thread.yield` |
//! | the same: semaphore given, its thread runs | 367 | 444, `semaphore.give.wake+ctx` |
//! | the same: semaphore given, nobody waits | 98 | 139, `semaphore.give.immediate` |
//! | the same: semaphore taken | 94 | 112, `semaphore.take.immediate` |
//! | the same: interrupt latency | 21 | 12, `isr.entry` |
//!
//! The second is the same bytes on the models of both cores, as CoreMark's two figures are not.
//! The others are a report of rtos-benchmark (`data/published.toml`) beside rtmark's scenarios on
//! the soc `rp2350`, FreeRTOS 11.2 by its port ARM_CM33_NTZ, medians of warm caches: another
//! version, compiler and span, and how the report's was configured is not known. Its latency ends
//! with a reading of a clock in the handler; `isr.entry` ends with the handler's first instruction.
//!
//! Two 16-bit instructions now and then go together (dual issue), and a load's result can be late
//! for the next instruction; Arm publishes no rule for either, and neither is modelled.

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
