//! Emptying the caches of memories at chosen moments.

use rtmark_sim::{CoreKind, Cycles, Machine, Stop, Watch};

use crate::support::*;

/// IC and DC of a Cortex-M7's CCR, which are clear at reset.
const CCR: u32 = 0xE000_ED14;
const CACHES: u32 = 3 << 16;

fn switch_on(core: CoreKind, machine: &mut Machine) {
    if core == CoreKind::CortexM7 {
        machine.store_word(CCR, 0x200 | CACHES).expect("CCR");
    }
}

/// Lengths of the passes from mark to mark of a loop in slow flash with a cache.
fn passes(core: CoreKind, emptied: bool) -> Vec<u64> {
    let mut soc = soc(core);
    let timing = &mut soc.memories[0].timing;
    (timing.wait_states, timing.line_bytes) = (5, 16);
    (timing.instruction_lines, timing.data_lines) = (64, 8);
    let mut firmware = Firmware::new();
    firmware.mark("begin").nops(40).mark("end").op(&[0xE7D6]);
    let mut running = firmware.on_soc(&soc);
    switch_on(core, &mut running.machine);
    if emptied {
        let watch = running.machine.watch(Watch::Execute(firmware.address("begin")));
        running.watch(Watch::Execute(firmware.address("begin")), "again");
        running.machine.empty_caches_at(watch);
    }
    running.machine.take_hits();
    let mut passes = Vec::new();
    while running.machine.cycles().0 < 2_000 {
        running.machine.run(running.machine.cycles() + Cycles(500));
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
fn a_pass_after_emptying_caches_equals_the_first() {
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

/// Cycles of eight rounds over five lines of code in flash that takes so long to bring one, and of the
/// same without waits; `before` is done to a Cortex-M7 whose caches have two ways of two lines or more.
fn eight_rounds(lines: u16, waits: u8, before: impl Fn(&mut Machine)) -> u64 {
    let mut soc = soc(CoreKind::CortexM7);
    let timing = &mut soc.memories[0].timing;
    (timing.wait_states, timing.line_bytes) = (waits, 32);
    (timing.cache_lines, timing.cache_ways) = (lines, 2);
    let mut machine = Machine::new(&soc);
    machine.poke_word(0, STACK - 0x100).expect("flash");
    machine.poke_word(4, 0x401).expect("flash");
    // movs r7, #8; nops; subs r7, #1; bne back to behind the first; bkpt
    let mut code = vec![0x2708, NOP];
    code.resize(77, NOP);
    let back = (0x402 - (0x400 + 2 * (code.len() as i32 + 1) + 4)) / 2;
    code.extend([0x3F01, 0xD100 | back as u16 & 0xFF, 0xBE00]);
    let bytes: Vec<u8> = code.iter().flat_map(|half: &u16| half.to_le_bytes()).collect();
    machine.poke(0x400, &bytes).expect("flash");
    machine.reset().expect("vectors");
    before(&mut machine);
    let stop = machine.run(Cycles(100_000));
    assert!(matches!(stop, Stop::Breakpoint(_)), "{stop:?}");
    machine.cycles().0
}

#[test]
fn a_cortex_m7_fetches_from_enabled_caches() {
    const WAITS: u64 = 18;
    let on = |machine: &mut Machine| switch_on(CoreKind::CortexM7, machine);
    let free = eight_rounds(64, 0, |_| {});
    let waited = |lines, before: &dyn Fn(&mut Machine)| {
        (eight_rounds(lines, WAITS as u8, before) - free) / WAITS
    };
    // Off at reset: five lines in each of eight rounds.
    assert_eq!(waited(64, &|_| {}), 8 * 5);
    assert_eq!(waited(64, &on), 5);
    // Two sets of two ways: of five lines those in the set of three never stay.
    assert_eq!(waited(4, &on), 2 + 8 * 3);
    // Emptied, which before there is anything in it changes nothing; and switched off again.
    let emptied = |machine: &mut Machine| {
        on(machine);
        machine.store_word(0xE000_EF50, 0).expect("ICIALLU");
    };
    assert_eq!(waited(64, &emptied), 5);
    let off = |machine: &mut Machine| {
        on(machine);
        machine.store_word(CCR, 0x200).expect("CCR");
    };
    assert_eq!(waited(64, &off), 8 * 5);
}
