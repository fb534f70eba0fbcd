//! Cortex-M0: three pipeline stages, one bus.
//!
//! The rules follow the instruction set summary of the Cortex-M0 Technical Reference Manual (DDI
//! 0432, 3.3) for the single-cycle multiplier.

use crate::isa::{Group, Slot};
use crate::timing::{Interruptible, Rules};

pub const RULES: Rules = Rules {
    classify: None,
    cost: |slot| cost(slot, 4),
    skip: 1,
    divider: None,
    double_extra: |_, _| 0,
    unaligned_load: 0,
    predicts_branches: false,
    long_multiply: None,
    // DDI 0432, 3.3: B and taken Bcc 3, BX and BLX 3, MOV to PC 3, each two beyond its own cycle.
    refill: 2,
    // POP with PC takes 4 + N: 1 + N as a POP, two for the branch, one more.
    refill_loaded: 1,
    // DDI 0432, 5.3.1: 16 cycles from the assertion of an interrupt, without wait states.
    entry: 16,
    // Estimated: the vector is read and the pipeline filled in the last cycles of the entry.
    late_arrival: 6,
    // Estimated: eight words and a refill, which takes a cycle longer than the Cortex-M0+'s; the
    // manual gives no figure.
    exit: 14,
    // Estimated: the entry without its stacking of eight words.
    tail_chain: 8,
    fp_frame: 0,
    // DDI 0432, 3.6.1: any load-multiple or store-multiple is abandoned, and restarted from the
    // beginning, so it must not access locations that are sensitive to repetition. (The manual says
    // the same of the slow multiplier, which is not modelled.)
    interruptible: |slot| match slot.op.group() {
        Group::List => Interruptible::RestartableAtWord,
        _ => Interruptible::Atomic,
    },
    // Nine registers.
    longest: 10,
};

/// Returns the minimum cycles of an instruction. They also hold for the Cortex-M0+ (DDI 0484, 3.3),
/// except for MRS, MSR and the barriers, which take `system`.
pub const fn cost(slot: &Slot, system: u8) -> u8 {
    let listed = slot.imm.count_ones() as u8;
    match slot.op.group() {
        Group::Load | Group::StoreImmediate | Group::Store => 2,
        Group::List => 1 + listed,
        // BL takes two words of instruction and one refill: 4 here, 3 in the Cortex-M0+.
        Group::Call => 2,
        Group::SpecialRegister | Group::Barrier => system,
        Group::Wait => 2,
        _ => 1,
    }
}
