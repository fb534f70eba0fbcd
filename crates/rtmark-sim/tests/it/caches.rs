//! Emptying the caches of memories at chosen moments, and what a Cortex-M7's registers do to its own.

use rtmark_sim::{CoreKind, Cycles, Machine, MemoryTiming, Soc, Stop, Watch};

use crate::support::*;

/// The wait states of flash: more where lines are longer.
const fn waits_of(core: CoreKind) -> u8 {
    if matches!(core, CoreKind::CortexM7) { 8 } else { 5 }
}

/// Lengths of the passes from mark to mark of a loop in slow flash with a cache.
fn passes(core: CoreKind, emptied: bool) -> Vec<u64> {
    let mut soc = soc(core);
    let (instruction_lines, data_lines) = (64, 8);
    let wait_states = waits_of(core);
    let timing = MemoryTiming { wait_states, line_bytes: 16, ..MemoryTiming::default() };
    set_flash_timing(&mut soc, MemoryTiming { instruction_lines, data_lines, ..timing });
    let mut firmware = Firmware::new();
    firmware.mark("begin").nops(40).mark("end").op(&[0xE7D6]);
    let mut running = firmware.on_soc(&soc);
    if core == CoreKind::CortexM7 {
        switch_caches_on(&mut running.machine);
    }
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
        let like_the_first = |pass: &u64| pass.abs_diff(kept[0]) <= u64::from(waits_of(core)) + 1;
        assert!(emptied.iter().all(like_the_first), "{core}: {kept:?} {emptied:?}");
    }
}

/// Cycles of eight rounds over five lines of code in flash that takes so long to bring one, and of the
/// same without waits; `before` is done to a Cortex-M7 whose caches have two ways of two lines or more.
fn eight_rounds(lines: u32, waits: u8, before: impl Fn(&mut Machine)) -> u64 {
    let mut soc = soc(CoreKind::CortexM7);
    let timing = &mut soc.memories[0].timing;
    (timing.wait_states, timing.line_bytes) = (waits, 32);
    put_flash_behind_caches(&mut soc, lines);
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
    let on = switch_caches_on;
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

/// ICIALLU, ICIMVAU, DCIMVAC, DCISW and DCCMVAC, and CACR.
const ICIALLU: u32 = 0xE000_EF50;
const ICIMVAU: u32 = 0xE000_EF58;
const DCIMVAC: u32 = 0xE000_EF5C;
const DCISW: u32 = 0xE000_EF60;
const DCCMVAC: u32 = 0xE000_EF68;
const CACR: u32 = 0xE000_EF9C;
/// CCR with both caches off, one on, and both on.
const OFF: u32 = 0x0200;
const INSTRUCTIONS: u32 = 0x2_0200;
const DATA: u32 = 0x1_0200;
const BOTH: u32 = 0x3_0200;
/// A RAM behind the caches, and another, which by the default map is write-through.
const AXI: u32 = 0x2400_0000;
const EXTERNAL: u32 = 0x8000_0000;
const WAITS: u64 = 20;

/// A Cortex-M7 whose code and stack never wait, with such memories and a flash behind its caches.
fn cached_soc() -> Soc {
    let slow = |name, kind, base| {
        format!(
            "[[memory]]\nname = '{name}'\nkind = '{kind}'\nbase = {base}\nsize = 0x4000\n\
             timing = {{ wait_states = {WAITS}, line_bytes = 32 }}\n"
        )
    };
    let text = format!(
        "name = 'x'\ndescription = 'd'\ncore = 'cortex-m7'\nclock_hz = 1000\ninterrupts = 32\n\
         priority_bits = 4\nmpu_regions = 8\n\
         caches = {{ instruction_bytes = 0x1000, data_bytes = 0x1000 }}\n\
         [[memory]]\nname = 'ITCM'\nkind = 'flash'\nbase = 0\nsize = 0x4000\n\
         [[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = {RAM}\nsize = 0x4000\n{}{}{}",
        slow("AXI", "ram", AXI),
        slow("EXTERNAL", "ram", EXTERNAL),
        slow("FLASH", "flash", 0x0800_0000),
    );
    Soc::from_toml(&text).expect("a soc")
}

/// The waits, in units of one line's, of accesses that a program does after CCR has been written: `'l'` loads a word,
/// `'s'` stores one, `'r'` stores to a register.
fn waits(setup: &dyn Fn(&mut Firmware), ccr: u32, accesses: &[(char, u32)]) -> Vec<u64> {
    let mut firmware = Firmware::new();
    setup(&mut firmware);
    firmware.store(CCR, ccr);
    for &(kind, address) in accesses {
        match kind {
            'l' => firmware.load(2, address),
            's' => firmware.store(address, 0),
            // The value is the address of the line, or what DCISW takes for set 0.
            _ => firmware.store(address, if address == DCISW { 0 } else { AXI }),
        };
        firmware.op(&[0xF3BF, 0x8F4F]); // dsb
    }
    firmware.forever();
    let soc = cached_soc();
    let mut machine = firmware.on_soc(&soc).machine;
    machine.run(Cycles(4_000));
    let mut found = Vec::new();
    let mut again = firmware.on_soc(&soc).machine;
    // The pools of literals are in the ITCM: only the accesses wait.
    let (mut before, mut at) = (0, 0);
    while at < 4_000 {
        at += 1;
        again.run(Cycles(at));
        let waited = again.waited().0;
        if waited != before {
            assert_eq!((waited - before) % WAITS, 0);
            found.push((waited - before) / WAITS);
            before = waited;
        }
    }
    assert_eq!(again.waited(), machine.waited(), "wherever the run is cut");
    found
}

fn total(setup: &dyn Fn(&mut Firmware), ccr: u32, accesses: &[(char, u32)]) -> u64 {
    waits(setup, ccr, accesses).iter().sum()
}

fn plain(_: &mut Firmware) {}

#[test]
fn constants_of_a_cortex_m7_are_in_its_data_cache() {
    let reads = [('l', 0x0800_0100), ('l', 0x0800_0104), ('l', 0x0800_0100)];
    assert_eq!(total(&plain, OFF, &reads), 3);
    assert_eq!(total(&plain, INSTRUCTIONS, &reads), 3);
    assert_eq!(total(&plain, DATA, &reads), 1);
    assert_eq!(total(&plain, BOTH, &reads), 1);
}

#[test]
fn stores_of_a_cortex_m7_do_not_wait_and_bring_lines_where_they_allocate() {
    let accesses = |base| [('s', base), ('l', base), ('l', base + 28), ('s', base + 32)];
    assert_eq!(total(&plain, BOTH, &accesses(AXI)), 0);
    assert_eq!(total(&plain, BOTH, &accesses(EXTERNAL)), 1);
    assert_eq!(total(&plain, OFF, &accesses(AXI)), 2);
    let force = |firmware: &mut Firmware| {
        firmware.store(CACR, 4);
    };
    assert_eq!(total(&force, BOTH, &accesses(AXI)), 1);
}

#[test]
fn attributes_decide_what_a_cortex_m7_caches() {
    let reads = [('l', AXI), ('l', AXI), ('s', AXI + 64), ('l', AXI + 64)];
    // RASR from bit 16 on: TEX, S, C, B (DDI 0403, table B3-13).
    let with = |bits: u32, cacr: u32| {
        let setup = move |firmware: &mut Firmware| {
            firmware.store(CACR, cacr);
            firmware.region(0, AXI, 0x4000, 3, bits << 16).store(MPU_CTRL, 5);
        };
        total(&setup, BOTH, &reads)
    };
    assert_eq!(with(0b000_000, 0), 3, "strongly-ordered");
    assert_eq!(with(0b000_001, 0), 3, "device");
    assert_eq!(with(0b010_000, 0), 3, "device, not shared");
    assert_eq!(with(0b001_000, 0), 3, "not cached");
    assert_eq!(with(0b000_010, 0), 2, "write-through");
    assert_eq!(with(0b000_011, 0), 2, "write-back, stores do not allocate");
    assert_eq!(with(0b001_011, 0), 1, "write-back, stores allocate");
    assert_eq!(with(0b001_011, 4), 2, "as if write-through");
    assert_eq!(with(0b001_111, 0), 3, "shared");
    assert_eq!(with(0b001_111, 1), 2, "shared, and CACR.SIWT");
    assert_eq!(with(0b100_000, 0), 3, "inner not cached");
    assert_eq!(with(0b100_001, 0), 1, "inner write-back, stores allocate");
    assert_eq!(with(0b100_010, 0), 2, "inner write-through");
    assert_eq!(with(0b101_011, 0), 2, "inner write-back, stores do not allocate");
}

#[test]
fn maintenance_drops_lines_of_a_cortex_m7() {
    let after = |operation| {
        total(
            &plain,
            BOTH,
            &[('l', AXI), ('l', AXI + 32), ('r', operation), ('l', AXI + 4), ('l', AXI + 36)],
        )
    };
    assert_eq!(after(DCIMVAC), 3);
    assert_eq!(after(DCISW), 3, "way 0 of set 0");
    for kept in [DCCMVAC, ICIALLU, ICIMVAU] {
        assert_eq!(after(kept), 2);
    }
}

/// What is not cached is read in 64 bits: one instruction reads them once.
#[test]
fn uncached_words_of_a_cortex_m7_come_in_pairs() {
    let with = |op: &[u16]| {
        let mut firmware = Firmware::new();
        // The instruction loads from r0.
        firmware.set(0, AXI + 0x40).op(op).forever();
        let mut machine = firmware.on_soc(&cached_soc()).machine;
        machine.run(Cycles(2_000));
        machine.waited().0 / WAITS
    };
    assert_eq!(with(&[0x6802]), 1); // ldr r2, [r0]
    assert_eq!(with(&[0xC83C]), 2); // ldm r0!, {r2-r5}
    assert_eq!(with(&[0xE9D0, 0x2300]), 1); // ldrd r2, r3, [r0]
    assert_eq!(with(&[0xF8D0, 0x2001]), 1); // ldr r2, [r0, #1]
    assert_eq!(with(&[0xF8D0, 0x2006]), 2); // ldr r2, [r0, #6]
    assert_eq!(with(&[0x6802, 0x6842]), 2); // ldr r2, [r0]; ldr r2, [r0, #4]
}

/// Code and data of one address are in two caches: reading the one does not bring the other.
#[test]
fn code_and_data_of_a_cortex_m7_do_not_share_lines() {
    // Code in the RAM behind the caches: ldr r1, [pc, #0]; bx lr, and the literal behind it in the same line.
    let function = [0x4900_u16, BX_LR, 0x5678, 0x1234];
    let with = |ccr| {
        let mut firmware = Firmware::new();
        firmware.store(CCR, ccr).set(4, AXI + 1);
        for _ in 0..3 {
            firmware.op(&[0x47A0]); // blx r4
        }
        firmware.forever();
        let mut machine = firmware.on_soc(&cached_soc()).machine;
        let bytes: Vec<u8> = function.iter().flat_map(|half| half.to_le_bytes()).collect();
        machine.poke(AXI, &bytes).expect("RAM");
        machine.run(Cycles(2_000));
        machine.waited().0 / WAITS
    };
    assert_eq!([OFF, INSTRUCTIONS, DATA, BOTH].map(with), [6, 4, 4, 2]);
}

#[test]
fn caches_that_no_cortex_m7_has_are_refused() {
    let text = |more: &str, timing: &str| {
        format!(
            "name = 'x'\ndescription = 'd'\ncore = 'cortex-m7'\nclock_hz = 1000\ninterrupts = 32\n\
             priority_bits = 4\n{more}\n[[memory]]\nname = 'FLASH'\nkind = 'flash'\n\
             base = 0x08000000\nsize = 0x4000\n{timing}\n"
        )
    };
    let refusal = |text: &str| Soc::from_toml(text).expect_err("refused").to_string();
    let caches = "caches = { instruction_bytes = 0x4000, data_bytes = 0x4000 }";
    for key in ["instruction_lines", "data_lines", "cache_lines"] {
        let said = refusal(&text(caches, &format!("timing = {{ line_bytes = 32, {key} = 8 }}")));
        assert!(said.starts_with("line 13: memory FLASH: ") && said.contains("[caches]"), "{said}");
    }
    let lines = refusal(&text(caches, "timing = { wait_states = 2, line_bytes = 16 }"));
    assert!(lines.contains("line 13: memory FLASH: line_bytes = 16"), "{lines}");
    let ahead = "timing = { wait_states = 2, line_bytes = 32, prefetch = true }";
    assert!(refusal(&text(caches, ahead)).contains("prefetch is not modelled"));
    for bytes in ["0x1800", "0x800", "0x20000"] {
        let said = refusal(&text(&format!("caches = {{ data_bytes = {bytes} }}"), ""));
        assert!(said.starts_with("line 7: caches: data_bytes"), "{said}");
    }
    let other = text(caches, "").replace("cortex-m7", "cortex-m4f");
    assert!(refusal(&other).contains("only a Cortex-M7"), "{}", refusal(&other));
    Soc::from_toml(&text("", "timing = { wait_states = 2, line_bytes = 16, prefetch = true }"))
        .expect("without caches a memory may read ahead");
}
