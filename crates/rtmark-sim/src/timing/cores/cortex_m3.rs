//! Cortex-M3: three pipeline stages, separate instruction and data buses.
//!
//! The rules follow the instruction set summary of the Cortex-M3 Technical Reference Manual (DDI
//! 0337, 3.3), and, where it gives ranges, measurements on a CC2650 (code in zero-wait RAM of the
//! Code region) and an STM32F100.

use crate::isa::{Group, Op, Slot};
use crate::timing::classify::{Multiplier, classify};
use crate::timing::{Classify, Divider, Interruptible, Rules};

pub const RULES: Rules = Rules {
    classify: Some(Classify::Pipeline(|slot, following| {
        classify(slot, following, Multiplier::Iterative)
    })),
    cost: |_| 0,
    skip: 0,
    divider: Some(Divider::FourDigitsACycle),
    double_extra: |_, _| 0,
    unaligned_load: 0,
    predicts_branches: false,
    long_multiply: Some(long_multiply),
    refill: 0,
    refill_loaded: 0,
    // The frame alone; the rest of an exception's cost is in `exceptions`.
    entry: 9,
    late_arrival: 6,
    exit: 9,
    tail_chain: 6,
    fp_frame: 0,
    interruptible: |slot| match slot.op {
        // Abandoned and restarted, with a worst case latency of one cycle (DDI 0337E, 18.2).
        Op::Umull | Op::Smull | Op::Umlal | Op::Smlal => Interruptible::Restartable(3),
        _ => interruptible(slot),
    },
    longest: 17,
};

/// Returns an instruction's behaviour on an interrupt. Divisions are abandoned and restarted, loads
/// and stores of several registers continued (DDI 0337 and DDI 0439, 3.9.1). LDRD is restarted when
/// it is interrupted between its words (PR326-PRDC-009450, 602117), and so is STRD, since neither
/// can be continued (DDI 0403, B1.5.10).
pub fn interruptible(slot: &Slot) -> Interruptible {
    match slot.op.group() {
        Group::List => Interruptible::Continuable,
        Group::Dual => Interruptible::RestartableAtWord,
        Group::Divide => Interruptible::Restartable(2),
        // Restartable while only its address is on the bus: measured on a CC2650, where no such
        // instruction that had entered the execute stage a cycle before an exception began was
        // executed.
        Group::Load | Group::Store | Group::StoreImmediate => Interruptible::Restartable(2),
        _ => Interruptible::Atomic,
    }
}

/// Returns the cycles that a long multiply takes beyond three, which depend on the halves of its
/// operands that are not zero and, if it is signed, on their signs. Measured on a CC2650 and an
/// STM32F100.
fn long_multiply(op: Op, n: u32, m: u32) -> u8 {
    let halves = |value: u32| (value >> 16 != 0, value & 0xFFFF != 0);
    let signed = matches!(op, Op::Smull | Op::Smlal);
    let (n_negative, m_negative) = (signed && n >> 31 == 1, signed && m >> 31 == 1);
    let accumulates = matches!(op, Op::Umlal | Op::Smlal);
    let (n, m) = (halves(n), halves(m));
    if n == (false, false) || m == (false, false) {
        return 0;
    }
    // Steps beyond the first, each of which accumulation doubles at first.
    let steps = match (n, m) {
        ((false, true), (false, true)) => u8::from(!accumulates && (n_negative || m_negative)),
        ((true, false), (true, false)) => {
            u8::from(n_negative || m_negative) + u8::from(accumulates)
        }
        ((true, true), (true, false)) => {
            1 + u8::from(accumulates || n_negative || m_negative)
                + u8::from(accumulates && (n_negative || m_negative))
        }
        ((true, false), (true, true)) => 1 + u8::from(accumulates),
        ((true, true), (true, true)) => 2 + u8::from(accumulates),
        _ => 1 + u8::from(m_negative),
    };
    steps + u8::from(accumulates && steps > 0)
}
