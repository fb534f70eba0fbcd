//! Cortex-M0+: two pipeline stages, one bus.
//!
//! The rules follow the instruction set summary of the Cortex-M0+ Technical Reference Manual (DDI
//! 0484, 3.3) for the single-cycle multiplier. They differ from the Cortex-M0's where a shorter
//! pipeline is refilled.

use super::cortex_m0;
use crate::timing::Rules;

pub const RULES: Rules = Rules {
    cost: |slot| cortex_m0::cost(slot, 3),
    // DDI 0484, 3.3: B 2, taken Bcc 2, BX and BLX 2, each one beyond its own cycle. POP with PC
    // takes 3 + N: 1 + N as a POP, one for the branch, one more.
    refill: 1,
    // DDI 0484, 1.3: 15 cycles from the assertion of an interrupt, without wait states.
    entry: 15,
    // Estimated: the vector is read and the pipeline filled in the last cycles of the entry.
    late_arrival: 5,
    // Estimated: eight words and a refill; the manual gives no figure.
    exit: 13,
    // Estimated: the entry without its stacking of eight words.
    tail_chain: 7,
    // `interruptible`: DDI 0484, 3.6.1 says the same as the Cortex-M0's manual.
    ..cortex_m0::RULES
};
