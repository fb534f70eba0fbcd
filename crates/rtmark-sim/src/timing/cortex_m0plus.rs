//! Cortex-M0+: two pipeline stages, one bus.
//!
//! After the instruction set summary of the Cortex-M0+ Technical Reference Manual
//! (DDI 0484, 3.3) for the single-cycle multiplier.

use super::Rules;
use crate::isa::{Group, Slot};

pub const RULES: Rules = Rules {
    describe: None,
    cost,
    divide: |_, _, _| 0,
    long_multiply: |_, _, _| 0,
    // DDI 0484, 3.3: B 2, taken Bcc 2, BX and BLX 2, each one beyond its own cycle.
    refill: 1,
    refill_indirect: 1,
    refill_straddling: 0,
    // POP with PC takes 3 + N: 1 + N as a POP, one for the branch, one more.
    refill_loaded: 1,
    // DDI 0484, 1.3: 15 cycles from the assertion of an interrupt, without wait states.
    entry: 15,
    // Estimated: the vector is read and the pipeline filled in the last cycles of the entry.
    late_arrival: 5,
    // Estimated: eight words and a refill; the manual does not tell.
    exit: 13,
    // Estimated: the entry without its stacking of eight words.
    tail_chain: 7,
    fp_frame: 0,
    load_pairing: 0,
};

fn cost(slot: &Slot) -> u8 {
    let listed = slot.imm.count_ones() as u8;
    match slot.op.group() {
        Group::Load | Group::StoreImmediate | Group::Store => 2,
        Group::List => 1 + listed,
        // BL takes 3: two words of instruction, one refill.
        Group::Call => 2,
        Group::SpecialRegister | Group::Barrier => 3,
        Group::Wait => 2,
        _ => 1,
    }
}
