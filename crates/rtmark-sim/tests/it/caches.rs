//! Emptying the caches of memories at chosen moments.

use rtmark_sim::{CoreKind, Watch};

use crate::support::*;

/// Lengths of the passes from mark to mark of a loop in slow flash with a cache.
fn passes(core: CoreKind, emptied: bool) -> Vec<u64> {
    let mut soc = soc(core);
    let timing = &mut soc.memories[0].timing;
    (timing.wait_states, timing.line_bytes) = (5, 16);
    (timing.instruction_lines, timing.data_lines) = (64, 8);
    let mut firmware = Firmware::new();
    firmware.mark("begin").nops(40).mark("end").op(&[0xE7D6]);
    let mut running = firmware.on_soc(&soc);
    if emptied {
        let watch = running.machine.watch(Watch::Execute(firmware.address("begin")));
        running.watch(Watch::Execute(firmware.address("begin")), "again");
        running.machine.empty_caches_at(watch);
    }
    running.machine.take_hits();
    let mut passes = Vec::new();
    while running.machine.cycles().0 < 2_000 {
        running.machine.run(running.machine.cycles() + rtmark_sim::Cycles(500));
    }
    let mut began = None;
    for hit in running.machine.take_hits() {
        match hit.watch.0 {
            0 => began = Some(hit.cycle.0),
            1 => passes.extend(began.take().map(|began| hit.cycle.0 - began)),
            _ => {}
        }
    }
    passes
}

#[test]
fn a_pass_from_emptied_caches_is_like_the_first() {
    for &core in CoreKind::CORTEX_M {
        let (kept, emptied) = (passes(core, false), passes(core, true));
        assert!(kept.len() > 5 && emptied.len() > 5, "{core}: {kept:?} {emptied:?}");
        assert!(kept[1..].iter().all(|pass| *pass + 15 < kept[0]), "{core}: {kept:?}");
        // The first line has been fetched before the first mark; from an emptied cache it
        // is fetched again.
        let like_the_first = |pass: &u64| pass.abs_diff(kept[0]) <= 6;
        assert!(emptied.iter().all(like_the_first), "{core}: {kept:?} {emptied:?}");
    }
}
