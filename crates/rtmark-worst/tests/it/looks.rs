//! Programs that read what is pending and request exceptions themselves, anywhere: a search finds what
//! runs from reset find, even with the smallest pieces.

use std::collections::BTreeMap;

use rtmark_sim::{CoreKind, Cycles, Irq, Machine, Soc, Watch};
use rtmark_worst::{Aspect, Findings, PairedInterrupt, Path, Question, Reach, Window};

use crate::programs::*;
use crate::support::*;

const PATIENCE: u64 = 1_500;
/// The number of programs; sixty have been tried of those that do not request the interrupt.
const SEEDS: u64 = 6;

/// A simple generator, so that programs are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Whether a program also requests or withdraws the interrupt that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interference {
    No,
    Asks,
    Withdraws,
    /// It requests it through every register that can do so, also requests PendSV and SysTick,
    /// withdraws them, and disables and enables the interrupt.
    Everywhere,
}

/// STIR, ICPR, ICER, and bits of ICSR (DDI 0403, B3.2.4 and B3.4).
const STIR: u32 = 0xE000_EF00;
const NVIC_ICPR: u32 = NVIC_ISPR + 0x80;
const NVIC_ICER: u32 = NVIC_ISER + 0x80;
const PENDSTCLR: u32 = 1 << 25;
const PENDSTSET: u32 = 1 << 26;
const PENDSVCLR: u32 = 1 << 27;
const PENDSVSET: u32 = 1 << 28;

/// Emits one of all the ways to request an exception or to withdraw it.
fn ask<'a>(firmware: &'a mut Firmware, core: CoreKind, dice: &mut Dice) -> &'a mut Firmware {
    match dice.below(12) {
        0 => firmware.store(ICSR, PENDSTSET),
        1 => firmware.store(ICSR, PENDSTCLR),
        2 => firmware.store(ICSR, PENDSVCLR),
        3 => firmware.store(ICSR, PENDSVSET | PENDSTSET),
        4 => firmware.store(NVIC_ISPR, 3),
        5 => firmware.store(NVIC_ICPR, 3),
        6 => firmware.store(NVIC_ICER, 2),
        7 => firmware.store(NVIC_ISER, 2),
        8 if core.is_mainline() => firmware.store(STIR, 1),
        9 if core.is_mainline() => firmware.store(STIR, 0),
        _ => firmware.store(NVIC_ISPR, 2),
    }
}

fn add(firmware: &mut Firmware, core: CoreKind, dice: &mut Dice, meddles: Interference) {
    let kinds = if meddles == Interference::Everywhere { 16 } else { 12 };
    match dice.below(kinds) {
        12..16 => ask(firmware, core, dice),
        // stmia r6!, {r0-r3}; subs; ldmia r6!, {r0-r3}; subs
        0 => firmware.op(&[0xC60F, 0x3E10, 0xCE0F, 0x3E10]),
        1 => firmware.op(&[CPSID_I]).nops(dice.below(4) as usize),
        2 | 3 => firmware.op(&[CPSIE_I]),
        // ldr r0, [r7]; lsls r0, #19; bpl over; nop, nop: ICSR shows that something is pending.
        4 => firmware.op(&[0x6838, 0x04C0, 0xD501, NOP, NOP, NOP]),
        // The same test with ISPR and interrupt 1: lsls r1, #30
        5 => firmware.load(1, NVIC_ISPR).op(&[0x0789, 0xD501, NOP, NOP, NOP]),
        6 => firmware.store(NVIC_ISPR, 0),
        7 | 8 => firmware.op(PEND_SWITCH).nops(dice.below(4) as usize),
        9 => match meddles {
            Interference::No => firmware.store(NVIC_ISPR, 1),
            Interference::Asks => firmware.store(NVIC_ISPR, 2),
            Interference::Withdraws => firmware.store(NVIC_ICPR, 2),
            Interference::Everywhere => ask(firmware, core, dice),
        },
        // udiv r0, r6, r1
        10 if core.is_mainline() => firmware.op(&[0xFBB6, 0xF0F1]),
        10 => firmware.op(&[0x4348]),
        _ => firmware.nops(dice.below(5) as usize),
    };
}

fn program(core: CoreKind, priority: u8, seed: u64, meddles: Interference) -> Firmware {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut firmware = Firmware::new();
    begin(&mut firmware, priority, 199);
    firmware.set(6, RAM + 0x100).set(7, ICSR).op(&[NOP]);
    let top = firmware.here();
    for _ in 0..16 {
        add(&mut firmware, core, &mut dice, meddles);
    }
    firmware.op(&[CPSIE_I]);
    go_back(&mut firmware, top);
    firmware.handler(14).mark("PendSV").nops(2).op(&[BX_LR]);
    // push {r4, lr}; ldr r4, [r7]; nops; pop {r4, pc}
    firmware.handler(15).mark("SysTick").op(&[0xB510, 0x683C]).nops(4).op(&[0xBD10]);
    firmware.handler(16).nops(3).op(&[BX_LR]);
    firmware.handler(17).mark("1").op(&[0xB4FF, NOP, 0xBCFF, BX_LR]);
    firmware
}

/// A program, and the interrupt that is searched in it.
struct Searched<'a> {
    firmware: &'a Firmware,
    soc: &'a Soc,
    irq: Irq,
    priority: u8,
}

impl Searched<'_> {
    fn found(&self, reach: Reach, cuts: u64) -> (Path, Findings) {
        let question = Question { interrupt: self.irq, ..question(self.priority, reach, cuts) };
        let path = Path::new(machine(self.firmware, self.soc), question).expect("fine");
        let found = all(&path);
        (path, found)
    }

    /// Returns when the handler begins in a run from reset, if it does.
    fn brute(&self, start: &Machine, point: u64) -> Option<u64> {
        let mut machine = start.clone();
        machine.arm_interrupt(self.irq, self.priority);
        machine.watch(Watch::Execute(self.firmware.address(&self.irq.to_string())));
        machine.pend_interrupt(self.irq, Cycles(point));
        while machine.cycles().0 < point + PATIENCE {
            machine.run(Cycles((machine.cycles().0.max(point) + 50).min(point + PATIENCE)));
            if let Some(hit) = machine.take_hits().iter().find(|hit| hit.cycle.0 >= point) {
                return Some(hit.cycle.0);
            }
        }
        None
    }
}

const FROM: u64 = 200;
const TO: u64 = 600;

/// Asks about the cycles of a window in pieces of the given size.
fn question(priority: u8, reach: Reach, cuts: u64) -> Question {
    let windows = (FROM..TO).step_by(cuts as usize);
    let windows = windows.map(|from| Window { from, to: (from + cuts).min(TO) }).collect();
    Question {
        interrupt: INTERRUPT.into(),
        priority,
        windows,
        reach,
        patience: PATIENCE,
        woken: None,
        ends: vec![],
        second: None,
    }
}

/// Returns the priority that a program itself gives an interrupt.
fn own_priority(start: &Machine, irq: Irq) -> u8 {
    let mut machine = start.clone();
    machine.run(Cycles(FROM));
    machine.interrupt_priority(irq)
}

fn compare(seeds: std::ops::Range<u64>, meddles: Interference, irq: Irq) {
    for seed in seeds {
        for &core in CoreKind::CORTEX_M {
            let soc = if seed % 2 == 0 { soc(core) } else { slow(core) };
            let priority = if seed % 3 == 0 { 0xC0 } else { 0x40 };
            let firmware = program(core, priority, seed, meddles);
            let what = format!("{irq}, {core}, seed {seed}, {meddles:?}");
            let start = machine(&firmware, &soc);
            let priority =
                if irq == INTERRUPT.into() { priority } else { own_priority(&start, irq) };
            let searched = Searched { firmware: &firmware, soc: &soc, irq, priority };
            let (path, whole) = searched.found(Reach::Entry, TO);
            let first = path.begins(FROM) + 1;
            let (mut counts, mut missing) = (BTreeMap::<i64, u64>::new(), 0);
            for point in first..first + whole.points {
                match searched.brute(&start, point) {
                    Some(at) => *counts.entry((at - point).cast_signed()).or_default() += 1,
                    None => missing += 1,
                }
            }
            let reported = &whole.aspects[&Aspect::Handler];
            assert_eq!((&reported.counts, reported.missing), (&counts, missing), "{what}");
            let (_, through) = searched.found(Reach::Whole, TO);
            let reported = &through.aspects[&Aspect::Handler];
            assert_eq!((&reported.counts, reported.missing), (&counts, missing), "{what}: copies");
            for cuts in [1, 2, 3, 5, 16] {
                let (_, parts) = searched.found(Reach::Entry, cuts);
                let reported = &parts.aspects[&Aspect::Handler];
                assert_eq!(parts.points, whole.points, "{what}: cut each {cuts} cycles");
                assert_eq!(
                    (&reported.counts, reported.missing),
                    (&counts, missing),
                    "{what}: cut each {cuts} cycles"
                );
                assert_eq!(
                    reported.cases,
                    whole.aspects[&Aspect::Handler].cases,
                    "{what}: cut each {cuts} cycles"
                );
            }
        }
    }
}

#[test]
fn reading_pending_state_anywhere_changes_no_answer() {
    compare(0..SEEDS, Interference::No, INTERRUPT.into());
}

#[test]
fn programs_that_pend_the_interrupt_themselves_are_searched() {
    compare(0..SEEDS, Interference::Asks, INTERRUPT.into());
}

#[test]
fn programs_that_pend_and_clear_the_interrupt_by_any_register_are_searched() {
    compare(0..SEEDS, Interference::Everywhere, INTERRUPT.into());
    // An interrupt from outside reaches the core before one that a store has requested.
    compare(9..10, Interference::Everywhere, INTERRUPT.into());
}

#[test]
fn interrupts_cleared_before_entry_are_counted_as_missing() {
    compare(0..SEEDS, Interference::Withdraws, INTERRUPT.into());
}

#[test]
fn the_cores_own_interrupts_are_searched_in_programs_that_pend_and_clear_them() {
    for irq in [Irq::SYSTICK, Irq::PENDSV] {
        compare(0..SEEDS / 2, Interference::No, irq);
        compare(0..SEEDS / 2, Interference::Everywhere, irq);
    }
}

#[test]
fn findings_of_pieces_add_up_for_pairs() {
    for (seed, &core) in (0..).zip(CoreKind::CORTEX_M) {
        let firmware = program(core, 0x40, seed, Interference::No);
        let second =
            Some(PairedInterrupt { interrupt: 0.into(), priority: 0x80, distance: Some(5) });
        let found = |cuts| {
            let question = Question { second, ..question(0x40, Reach::Entry, cuts) };
            let path = Path::new(machine(&firmware, &soc(core)), question).expect("fine");
            let found = all(&path);
            let of =
                |aspect| (found.aspects[&aspect].counts.clone(), found.aspects[&aspect].missing);
            (found.points, found.pairs, of(Aspect::Handler), of(Aspect::Second))
        };
        let whole = found(TO);
        for cuts in [3, 16] {
            assert_eq!(found(cuts), whole, "{core}: cut each {cuts} cycles");
        }
    }
}
