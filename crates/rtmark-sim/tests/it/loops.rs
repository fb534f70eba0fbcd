//! Loops, calls and jumps, which are executed many at a time: as if one by one.

use std::ops::{ControlFlow, Range};

use rtmark_sim::{CoreKind, Cycles, Machine, Observer, Register};

use crate::support::programs::{self, Contents, FEW, MANY, Rounds, timings};
use crate::support::{self, Random};

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
