//! Loops, calls and jumps, which are executed many at a time: as if one by one.

use std::ops::{ControlFlow, Range};

use rtmark_sim::{CoreKind, Cycles, Machine, MemoryTiming, Observer, Register, Soc};

use crate::support::programs::{self, Contents, FEW, MANY, Rounds, timings};
use crate::support::{self, Firmware, Random};

struct Watcher;

impl Observer for Watcher {
    fn before(&mut self, _: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn state(machine: &Machine) -> (u64, u64, u64, Vec<u32>, Vec<u8>) {
    let registers = (0..15).map(Register::R).chain([Register::Pc, Register::Xpsr]);
    (
        machine.cycles().0,
        machine.instructions().0,
        machine.waited().0,
        registers.map(|register| machine.register(register)).collect(),
        machine.peek(support::RAM, 0x4000),
    )
}

/// Runs such programs, many instructions at a time and one by one, in pieces of up to `most`
/// cycles; answers how many instructions that were.
fn compare(seeds: Range<u64>, rounds: Rounds, most: u32) -> u64 {
    let mut executed = 0;
    for &core in CoreKind::CORTEX_M {
        for timing in timings() {
            for seed in seeds.clone() {
                let mut one = programs::machine(core, timing, seed, rounds, Contents::Plain);
                let mut other = one.clone();
                let mut random = Random(seed * 11);
                let mut limit = Cycles(0);
                for _ in 0..24 {
                    limit.0 += 1 + u64::from(random.below(most));
                    let stop = one.run(limit);
                    assert_eq!(stop, other.run_observed(limit, &mut Watcher));
                    let (one, other) = (state(&one), state(&other));
                    assert!(one == other, "{core} {timing:?} seed {seed} at {limit:?}");
                }
                executed += one.instructions().0;
            }
        }
    }
    executed
}

/// Runs firmware up to these cycles, many instructions at a time and one by one. Returns the machine.
fn equals_single_steps<const N: usize>(
    firmware: &Firmware,
    soc: &Soc,
    limits: [u64; N],
    what: &str,
) -> Machine {
    let mut one = firmware.on_soc(soc).machine;
    let mut other = one.clone();
    for limit in limits {
        one.run(Cycles(limit));
        other.run_observed(Cycles(limit), &mut Watcher);
        assert!(state(&one) == state(&other), "{what} at {limit}");
    }
    one
}

#[test]
fn loops_with_few_iterations_equal_single_steps() {
    let executed = compare(1..60, FEW, 200);
    assert!(executed > 1_000_000, "too few instructions to tell: {executed}");
}

#[test]
fn loops_with_many_iterations_equal_single_steps() {
    let executed = compare(1..40, MANY, 4000);
    assert!(executed > 8_000_000, "too few instructions to tell: {executed}");
}

/// Two frequent instructions execute together. One that writes the stack pointer is not among them, because the
/// pointer's lower bits are always zero (DDI 0403, B1.4.1).
#[test]
fn the_stack_pointer_is_aligned_whatever_comes_before_it_is_written() {
    let mut firmware = Firmware::new();
    firmware.set(1, support::RAM).set(2, support::RAM + 0x803).set(3, 0);
    // 1: ldr r0, [r1]; mov sp, r2; mov r4, sp; adds r3, #1; cmp r3, #100; bne 1b
    firmware.op(&[0x6808, 0x4695, 0x466C, 0x3301, 0x2B64, 0xD1F9]).mark("end").forever();
    for &core in CoreKind::CORTEX_M {
        let mut running = firmware.on(core);
        running.run(20_000);
        assert_eq!(running.r(3), 100, "{core}");
        assert_eq!([running.r(4), running.r(13)], [support::RAM + 0x800; 2], "{core}");
    }
}

/// Loads that read from flash or from RAM, and divisions, of which a block expects what they did last:
/// the choice is random, or stays the same for a while.
#[test]
fn loads_and_divisions_that_vary_equal_single_steps() {
    // lsrs r1, r4, #31; lsls r1, r0, #23 and lsrs r1, r1, #31
    let choices: [&[u16]; 2] = [&[0x0FE1], &[0x05C1, 0x0FC9]];
    // Longer, too, than the 15 cycles that the state of a pipeline has room for.
    let longer = timings().map(|it| MemoryTiming { wait_states: 6 * it.wait_states, ..it });
    let timings = timings().into_iter().chain(longer);
    let ways: Vec<_> = timings.flat_map(|it| choices.map(|way| (it, way))).collect();
    for &core in CoreKind::CORTEX_M {
        for &(timing, choice) in &ways {
            let mut soc = support::soc(core);
            support::set_flash_timing(&mut soc, timing);
            let mut firmware = Firmware::new();
            firmware.set(0, 2500).set(3, support::RAM).set(4, 1).set(5, 1_664_525).set(6, 0x100);
            let top = firmware.here();
            // muls r4, r5; adds r4, #1; the choice; muls r1, r3; adds r2, r6, r1; ldr r2, [r2]
            firmware.op(&[0x436C, 0x3401]).op(choice).op(&[0x4359, 0x1872, 0x6812]);
            if core.is_mainline() {
                // udiv r1, r4, r2; adds r4, r4, r1
                firmware.op(&[0xFBB4, 0xF1F2, 0x1864]);
            }
            // ldrb r1, [r6, #1]; adds r4, r4, r1; subs r0, #1; bne
            firmware.op(&[0x7871, 0x1864, 0x3801]);
            let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
            firmware.op(&[0xD100 | back as u16 & 0xFF]).forever();
            equals_single_steps(
                &firmware,
                &soc,
                [997, 10_007, 10_008, 40_009],
                &format!("{core} {timing:?} {choice:x?}"),
            );
        }
    }
}

/// A division that takes longer or less long, and then a branch whose direction is random: how soon after it the line
/// that is being read ahead can be used is another one in each round.
#[test]
fn branches_after_divisions_that_vary_equal_single_steps() {
    let longer = timings().map(|it| MemoryTiming { wait_states: 5 * it.wait_states, ..it });
    for &core in CoreKind::CORTEX_M.iter().filter(|core| core.is_mainline()) {
        for (timing, nops) in longer.into_iter().flat_map(|it| (0..10).map(move |nops| (it, nops)))
        {
            let mut soc = support::soc(core);
            support::set_flash_timing(&mut soc, timing);
            let mut firmware = Firmware::new();
            firmware.set(0, 3000).set(4, 1).set(5, 1_664_525);
            let top = firmware.here();
            // muls r4, r5; adds r4, #1; lsrs r1, r4, #27; mov r2, r4; lsrs r2, r1
            firmware.op(&[0x436C, 0x3401, 0x0EE1, 0x4622, 0x40CA]);
            // udiv r3, r4, r2; lsls r1, r4, #9; bmi past the next one
            firmware.op(&vec![0xBF00; nops]).op(&[0xFBB4, 0xF3F2, 0x0261, 0xD400]);
            // adds r3, #1; adds r3, #2, seven times; subs r0, #1; bne
            firmware.op(&[0x3301]).op(&[0x3302; 7]).op(&[0x3801]);
            let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
            firmware.op(&[0xD100 | back as u16 & 0xFF]).forever();
            equals_single_steps(
                &firmware,
                &soc,
                [20_011, 20_012, 60_007],
                &format!("{core} {timing:?} {nops}"),
            );
        }
    }
}

/// Loads of literals from more lines than the memory caches, a random choice of them in each round: which line gives way
/// depends on the order in which they were used.
#[test]
fn literals_that_share_a_small_cache_equal_single_steps() {
    const LITERALS: u32 = 12;
    for &core in CoreKind::CORTEX_M {
        for data_lines in [0, 2, 3, 8, 11] {
            let mut soc = support::soc(core);
            let timing = MemoryTiming {
                wait_states: 3,
                line_bytes: 16,
                prefetch: true,
                instruction_lines: 64,
                data_lines,
                ..MemoryTiming::default()
            };
            support::set_flash_timing(&mut soc, timing);
            let mut firmware = Firmware::new();
            firmware.set(0, 1000).set(3, 0).set(4, 1).set(5, 1_664_525);
            let top = firmware.here();
            let literals = (top + 8 * LITERALS + 12).next_multiple_of(16);
            // muls r4, r5; adds r4, #1
            firmware.op(&[0x436C, 0x3401]);
            for literal in 0..LITERALS {
                // lsls r1, r4, #literal + 1; bmi past the next one; ldr r2, a literal; adds r3, r3, r2
                let pc = (firmware.here() + 4 + 4) & !3;
                let offset = (literals + 16 * literal - pc) / 4;
                firmware.op(&[0x0021 | (literal as u16 + 1) << 6, 0xD400]);
                firmware.op(&[0x4A00 | offset as u16, 0x189B]);
            }
            // subs r0, #1; bne
            firmware.op(&[0x3801]);
            let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
            firmware.op(&[0xD100 | back as u16 & 0xFF]).forever();
            while firmware.here() < literals {
                firmware.nops(1);
            }
            for literal in 0..LITERALS as u16 {
                firmware.op(&[literal * 7, literal, 0, 0, 0, 0, 0, 0]);
            }
            let limits = [20_011, 20_012, 60_007];
            let one =
                equals_single_steps(&firmware, &soc, limits, &format!("{core} {data_lines} lines"));
            assert!(one.register(Register::R(3)) > 0, "{core}: no literal was read");
        }
    }
}

/// An interrupt that each round of a loop requests by a store is taken as soon after it in the last round as in
/// the first.
#[test]
fn interrupts_requested_in_a_loop_come_at_the_same_instruction() {
    const ROUNDS: u32 = 1_000;
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).set(0, support::NVIC_ISPR).set(1, 1).set(6, ROUNDS);
        firmware.op(&[0x2400, 0x2700]); // movs r4, #0; movs r7, #0
        let top = firmware.here();
        // str r1, [r0]; adds r4, #1, eight times; subs r6, #1; bne
        firmware.op(&[0x6001]).op(&[0x3401; 8]).op(&[0x3E01]);
        let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
        firmware.op(&[0xD100 | back as u16 & 0xFF]).forever();
        // adds r7, r7, r4; bx lr
        firmware.handler(16).op(&[0x193F, support::BX_LR]);
        let mut one = firmware.on(core).machine;
        let mut other = one.clone();
        one.run(Cycles(100_000));
        other.run_observed(Cycles(100_000), &mut Watcher);
        assert!(state(&one) == state(&other), "{core}");
        assert_eq!(one.register(Register::R(4)), 8 * ROUNDS, "{core}");
        // Eight times the rounds before each, and as many additions as come before the handler.
        let since = one.register(Register::R(7)) - 8 * (0..ROUNDS).sum::<u32>();
        assert!(since.is_multiple_of(ROUNDS) && since / ROUNDS < 8, "{core}: {since} additions");
    }
}
