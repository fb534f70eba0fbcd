//! Random programs on the simulator and on QEMU.

use rtmark_judge::lockstep::{self, Plan};
use rtmark_judge::{armr, qemu, riscv};
use rtmark_sim::CoreKind;

/// Instructions that each test executes, unless `RTMARK_LOCKSTEP_INSTRUCTIONS` says otherwise.
fn instructions(default: u64) -> u64 {
    let asked = std::env::var("RTMARK_LOCKSTEP_INSTRUCTIONS").ok();
    asked.map_or(default, |text| text.parse().expect("a number of instructions"))
}

fn assert_in_lockstep(core: CoreKind, least: u64) {
    let mut out = std::io::stderr();
    if qemu::is_unwanted() {
        use std::io::Write as _;
        writeln!(out, "not compared with QEMU, as {} says", qemu::WITHOUT).expect("a terminal");
        return;
    }
    let plan = Plan::new(core, instructions(least), 1);
    match lockstep::run(&plan, |_| {}) {
        Ok(score) => assert!(score.instructions >= plan.instructions, "{score:?}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn cortex_m0_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM0, 1_000_000);
}

#[test]
fn cortex_m0plus_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM0Plus, 1_000_000);
}

#[test]
fn cortex_m3_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM3, 2_000_000);
}

#[test]
fn cortex_m4_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM4, 1_000_000);
}

#[test]
fn cortex_m4f_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM4F, 4_000_000);
}

#[test]
fn cortex_m7_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM7, 4_000_000);
}

#[test]
fn cortex_m33_matches_qemu() {
    assert_in_lockstep(CoreKind::CortexM33, 4_000_000);
}

#[test]
fn hazard3_matches_qemu() {
    if qemu::is_unwanted() {
        return;
    }
    let least = instructions(500_000);
    match riscv::run(least, 1, |_| {}) {
        Ok(score) => {
            assert!(score.instructions >= least, "{score:?}");
            // All registers but x0 at each of them.
            assert!(score.words > 31 * score.checkpoints, "{score:?}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn cortex_r5_matches_qemu() {
    if qemu::is_unwanted() {
        return;
    }
    let least = instructions(200_000);
    match armr::run(least, 1, |_| {}) {
        Ok(scores) => {
            assert!(scores.all.instructions >= least, "{scores:?}");
            // Both sets in every mode, and exceptions of all kinds.
            assert!(scores.by_mode.iter().flatten().all(|count| *count > least / 50), "{scores:?}");
            assert!(scores.exceptions.iter().all(|count| *count > least / 200), "{scores:?}");
        }
        Err(error) => panic!("{error}"),
    }
}
