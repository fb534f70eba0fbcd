//! Work of a known length: rounds of two instructions, the same loop as `firmware/c/rounds.h` has.

/// How often a round goes through its loop.
const ROUND_LOOPS: u32 = 50;

/// Works for so many rounds. The loop is aligned, so that fetching it takes as long in every kernel.
#[inline(never)]
pub fn work_rounds(rounds: u32) {
    let mut loops = rounds * ROUND_LOOPS;
    // SAFETY: counts a register down to zero, and touches nothing else.
    unsafe {
        core::arch::asm!(
            ".balign 16",
            "2: subs {loops}, #1",
            "bne 2b",
            loops = inout(reg) loops,
            options(nomem, nostack),
        );
    }
    let _ = loops;
}
