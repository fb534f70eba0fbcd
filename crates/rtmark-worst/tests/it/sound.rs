//! A search finds what runs from reset find, one for each point.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use rtmark_sim::{Blocker, CoreKind, Cycles, Machine, Register, Stop, Watch};
use rtmark_worst::{
    Aspect, Control, Findings, PairedInterrupt, Path, PathError, Question, Reach, SLICES, Share,
    Slice, Window, search, spans,
};

use crate::programs::*;
use crate::support::*;

const PRIORITY: u8 = 0x40;
/// SysTick and interrupt 0 are more urgent than this.
const LESS_URGENT: u8 = 0xC0;

/// A program that contains everything that can affect an interrupt: it masks in every way, has a clock
/// and an interrupt of its own, tail-chains, nests, sleeps with interrupts enabled and masked, and
/// reads what is pending.
fn program(core: CoreKind, priority: u8) -> Firmware {
    let mut firmware = Firmware::new();
    begin(&mut firmware, priority, 399);
    if core == CoreKind::CortexM4F {
        firmware.fpu().op(&[0xEE00, 0x0A10]);
    }
    firmware.set(6, RAM + 0x100).set(7, ICSR).op(&[NOP]);
    let top = firmware.here();
    // push {r0-r5, lr}; stmia r6!, {r0-r3}; subs; ldmia r6!, {r0-r3}; subs; muls; sub sp;
    firmware.op(&[0xB53F, 0xC60F, 0x3E10, 0xCE0F, 0x3E10, 0x4348, 0xB007]);
    firmware.op(&[CPSID_I]).nops(5).op(&[CPSIE_I]);
    // Masked: ldr r0, [r7]; lsls r0, #19; bpl over; nop, nop. The code depends on what is pending.
    firmware.op(&[CPSID_I]).nops(2).op(&[0x6838, 0x04C0, 0xD502, NOP, NOP, NOP]);
    firmware.op(&[CPSIE_I]);
    firmware.op(PEND_SWITCH).nops(2);
    firmware.store(NVIC_ISPR, 0);
    if core.is_mainline() {
        firmware.op(&[0x2040]).msr(17, 0).nops(3).op(&[0x2000]).msr(17, 0);
        firmware.op(&[0xBF14, 0x2003, 0x2004, 0xFBB6, 0xF0F0]);
    }
    firmware.mark("end");
    // adds r5, #1; lsls r0, r5, #31; bne over; wfi; over: cpsid; wfi with all masked; cpsie
    firmware.op(&[0x3501, 0x07E8, 0xD100, WFI]);
    firmware.op(&[0x07A8, 0xD104, CPSID_I, NOP, WFI, NOP, CPSIE_I]);
    go_back(&mut firmware, top);
    // PendSV's handler pends interrupt 0, of the same priority as SysTick.
    firmware.handler(14).store(NVIC_ISPR, 1).nops(4).op(&[BX_LR]);
    // push {r4, lr}; ...; pop {r4, pc}: a return during which an interrupt may come.
    firmware.handler(15).op(&[0xB510]).nops(8).op(&[0xBD10]);
    firmware.handler(16).nops(3).op(&[CPSID_I]).nops(2).op(&[CPSIE_I, BX_LR]);
    // push {r0-r7}, which gives way to a more urgent one; pop {r0-r7}
    firmware.handler(17).mark("handler").op(&[0xB4FF, NOP]).mark("woken").op(&[0xBCFF, BX_LR]);
    firmware
}

fn question(firmware: &Firmware, reach: Reach, window: Window) -> Question {
    Question {
        interrupt: INTERRUPT.into(),
        priority: PRIORITY,
        windows: vec![window],
        reach,
        patience: 4_000,
        woken: (reach == Reach::Whole).then(|| firmware.address("woken")),
        ends: if reach == Reach::Whole { vec![firmware.address("end")] } else { vec![] },
        second: None,
    }
}

/// Returns when marks are first reached after the interrupt, from a run from reset.
fn brute(reset: &Machine, firmware: &Firmware, point: u64) -> (u64, u64) {
    let mut machine = reset.clone();
    machine.watch(Watch::Execute(firmware.address("handler")));
    machine.watch(Watch::Execute(firmware.address("woken")));
    machine.pend_interrupt(INTERRUPT, Cycles(point));
    loop {
        machine.run(Cycles(machine.cycles().0.max(point) + 200));
        let hits = machine.take_hits();
        if let [handler, woken, ..] = hits[..] {
            return (handler.cycle.0, woken.cycle.0);
        }
        assert!(hits.is_empty(), "cut between the two");
        assert!(machine.cycles().0 < point + 4_000, "never served");
    }
}

/// Returns the extremes in each slice of a window, from the latencies of its points in order.
fn slices(latencies: &[i64], window: Window, first: u64) -> BTreeMap<u32, Slice> {
    let mut slices = BTreeMap::new();
    for (point, &latency) in (first..).zip(latencies) {
        // The points that belong to the last instruction of the window count as its last.
        let within = point.min(window.to) - window.from - 1;
        let at = within * SLICES / (window.to - window.from);
        let slice = slices.entry(at as u32).or_insert(Slice { least: latency, most: latency });
        slice.least = slice.least.min(latency);
        slice.most = slice.most.max(latency);
    }
    slices
}

#[test]
fn the_search_equals_runs_from_reset_at_each_point() {
    for &core in CoreKind::CORTEX_M {
        for (soc, priority, window) in [
            (soc(core), PRIORITY, Window { from: 150, to: 1_100 }),
            (slow(core), PRIORITY, Window { from: 300, to: 1_250 }),
            (soc(core), LESS_URGENT, Window { from: 1_100, to: 2_050 }),
            (slow(core), LESS_URGENT, Window { from: 300, to: 1_250 }),
        ] {
            let firmware = program(core, priority);
            let mut reset = machine(&firmware, &soc);
            reset.arm_interrupt(INTERRUPT, priority);
            let mut counts: [BTreeMap<i64, u64>; 3] = Default::default();
            let mut worst = (0, 0);
            let mut per_point = Vec::new();
            let path = |reach| {
                let question = Question { priority, ..question(&firmware, reach, window) };
                Path::new(machine(&firmware, &soc), question).expect("fine")
            };
            let found = all(&path(Reach::Entry));
            let first = path(Reach::Entry).begins(window.from) + 1;
            for point in first..first + found.points {
                let (handler, woken) = brute(&reset, &firmware, point);
                let latency = (handler - point).cast_signed();
                per_point.push(latency);
                *counts[0].entry(latency).or_default() += 1;
                *counts[1].entry((woken - point).cast_signed()).or_default() += 1;
                if let Some(resumed) = resumption_cycle(&reset, INTERRUPT, point, 4_000) {
                    *counts[2].entry((resumed - point).cast_signed()).or_default() += 1;
                }
                if latency > worst.0 {
                    worst = (latency, point);
                }
            }
            let handler = &found.aspects[&Aspect::Handler];
            assert_eq!(handler.counts, counts[0], "{core}");
            assert_eq!(handler.missing, 0);
            let case = handler.worst().expect("there is one");
            assert_eq!((case.cycles, case.point), worst, "{core}");
            assert!(worst.0 > 20, "{core}: something is masked: {worst:?}");
            assert_eq!(handler.slices, slices(&per_point, window, first), "{core}");
            per_point.sort_unstable();
            let middle = per_point[per_point.len().div_ceil(2) - 1];
            assert_eq!(handler.quantile(0.5), Some(middle), "{core}");
            assert_eq!(handler.quantile(1.0), Some(worst.0), "{core}");
            assert!(found.points >= window.to - window.from - 400, "{core}: {}", found.points);
            assert!(found.tried > found.points / 20, "{core}: {} {}", found.tried, found.points);
            let whole = all(&path(Reach::Whole));
            assert_eq!(whole.aspects[&Aspect::Handler].counts, counts[0], "{core}");
            assert_eq!(whole.aspects[&Aspect::Task].counts, counts[1], "{core}");
            assert_eq!(whole.aspects[&Aspect::Resume].counts, counts[2], "{core}");
        }
    }
}

#[test]
fn findings_do_not_depend_on_pieces_shares_and_threads() {
    let core = CoreKind::CortexM4F;
    let firmware = program(core, PRIORITY);
    let soc = slow(core);
    let window = Window { from: 300, to: 26_000 };
    let question = question(&firmware, Reach::Entry, window);
    let path = Path::new(machine(&firmware, &soc), question).expect("fine");
    assert!(path.len() == 4);
    let whole = all(&path);
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        assert_eq!(pool.install(|| all(&path)), whole);
    }
    let cancelled = AtomicBool::new(false);
    let part = |number, found, budget| {
        let share = Share { number, of: 3 };
        let control = Control { cancelled: &cancelled, share, budget };
        search(&path, &control, found, |_| {}).expect("no mistake")
    };
    let mut joined = Findings::default();
    for number in [3, 1, 2] {
        joined.absorb(part(number, Findings::default(), u64::MAX));
    }
    assert_eq!(joined, whole);
    // One piece, then the others.
    let begun = part(1, Findings::default(), 1);
    assert_eq!(begun.pieces.len(), 1);
    let mut resumed = part(1, begun, u64::MAX);
    resumed.absorb(part(2, Findings::default(), u64::MAX));
    resumed.absorb(part(3, Findings::default(), u64::MAX));
    assert_eq!(resumed, whole);
}

#[test]
fn held_stretches_match_the_mask_registers() {
    // Only PRIMASK and BASEPRI hold back an interrupt above every other priority.
    let core = CoreKind::CortexM3;
    let firmware = program(core, PRIORITY);
    let window = Window { from: 150, to: 6_000 };
    let question = question(&firmware, Reach::Entry, window);
    let path = Path::new(machine(&firmware, &soc(core)), question).expect("fine");
    let found = all(&path);

    let mut machine = path.at(window.from);
    let mut traced: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    let mut since: Option<(u64, u32)> = None;
    let mut slept = 0;
    let masked = |machine: &Machine| {
        machine.register(Register::Primask) == 1 || machine.register(Register::Basepri) != 0
    };
    assert!(!masked(&machine));
    while machine.cycles().0 < window.to + 500 {
        let (before, asleep) = (machine.cycles().0, machine.is_asleep());
        machine.advance(Cycles(u64::MAX)).expect("it runs on");
        slept += if asleep { machine.cycles().0 - before } else { 0 };
        let (now, pc) = (machine.cycles().0, machine.register(Register::Pc));
        match (masked(&machine), since) {
            (true, None) => {
                since = Some((now, pc)).filter(|_| now < window.to);
                slept = 0;
            }
            (false, Some((began, from))) => {
                let longest = traced.entry((from, pc)).or_default();
                *longest = (longest.0.max(now - began - slept), longest.1 + 1);
                since = None;
            }
            _ => {}
        }
    }
    let mut reported: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for (held, interval) in found.held.longest_alone() {
        if held == Blocker::Instruction {
            continue;
        }
        let longest = reported.entry((interval.longest.from, interval.longest.to)).or_default();
        *longest = (longest.0.max(interval.longest.cycles), longest.1 + interval.count);
    }
    assert!(reported.len() >= 4, "{reported:?}");
    assert_eq!(reported, traced);
}

#[test]
fn held_stretches_span_consecutive_blockers() {
    // Less urgent than the handlers, of which one masks: both hold it back in turn.
    let core = CoreKind::CortexM3;
    let firmware = program(core, LESS_URGENT);
    let window = Window { from: 150, to: 6_000 };
    let path = |windows| {
        let question = question(&firmware, Reach::Entry, window);
        let question = Question { windows, priority: LESS_URGENT, ..question };
        Path::new(machine(&firmware, &soc(core)), question).expect("fine")
    };
    let whole = path(vec![window]);
    let found = all(&whole);
    // Except in sleep, an interrupt waits until nothing holds it back.
    let mut traced: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    let mut machine = whole.at(window.from);
    let mut since: Option<(u64, u32)> = None;
    let mut slept = 0;
    while machine.cycles().0 < window.to || since.is_some() {
        machine.settle();
        let (now, pc) = (machine.cycles().0, machine.register(Register::Pc));
        match (machine.interrupt_blocker(INTERRUPT).is_some(), since) {
            (true, None) => (since, slept) = (Some((now, pc)), 0),
            (false, Some((began, from))) => {
                let longest = traced.entry((from, pc)).or_default();
                *longest = (longest.0.max(now - began - slept), longest.1 + 1);
                since = None;
            }
            _ => {}
        }
        let asleep = machine.is_asleep();
        machine.advance(Cycles(u64::MAX)).expect("it runs on");
        slept += if asleep { machine.cycles().0 - now } else { 0 };
    }
    let reported = |found: &Findings| -> BTreeMap<_, _> {
        let longest = found.held.longest().into_iter();
        longest
            .map(|each| ((each.longest.from, each.longest.to), (each.longest.cycles, each.count)))
            .collect()
    };
    assert_eq!(reported(&found), traced);
    let mixed = found
        .held
        .longest()
        .into_iter()
        .find(|each| each.longest.by.len() > 1)
        .expect("a mixed one");
    let mixed = &mixed.longest;
    assert_eq!(mixed.by.iter().map(|(_, cycles)| cycles).sum::<u64>(), mixed.cycles);
    let alone = found.held.longest_alone();
    assert!(
        alone.iter().any(|(held, each)| *held == Blocker::Instruction && each.longest.cycles > 1)
    );
    // Wherever pieces meet, inside a stretch or where one begins, the results are the same.
    for border in (400..520).step_by(3) {
        let windows = vec![Window { to: border, ..window }, Window { from: border, ..window }];
        let cut = all(&path(windows));
        assert_eq!(cut.held, found.held, "cut in cycle {border}");
    }
}

#[test]
fn back_to_back_spans_are_all_found() {
    let core = CoreKind::CortexM0Plus;
    let firmware = program(core, PRIORITY);
    let here = [Watch::Execute(firmware.address("end"))];
    let run = spans(&machine(&firmware, &soc(core)), &here, &here, Cycles(3_000));
    assert!(run.windows.len() > 3, "{:?}", run.windows);
    assert!(run.windows.windows(2).all(|pair| pair[0].to == pair[1].from), "{:?}", run.windows);
}

#[test]
fn random_moments_never_exceed_the_worst() {
    let core = CoreKind::CortexM0Plus;
    let (firmware, soc) = (program(core, PRIORITY), slow(core));
    let window = Window { from: 300, to: 20_000 };
    let question = question(&firmware, Reach::Entry, window);
    let path = Path::new(machine(&firmware, &soc), question).expect("fine");
    let worst = all(&path).aspects[&Aspect::Handler].worst().expect("there is one").cycles;
    // A simple generator, so that the moments are the same each time.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    for _ in 0..500 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let point = window.from + 1 + state % (window.to - window.from - 1);
        let mut machine = path.at(point.saturating_sub(200).max(window.from));
        if machine.cycles().0 >= point {
            continue;
        }
        machine.pend_interrupt(INTERRUPT, Cycles(point));
        machine.run(Cycles(point + 1_000));
        let served = machine.take_hits()[0].cycle.0 - point;
        assert!(served.cast_signed() <= worst, "{point}: {served}");
    }
}

/// A handler, and a program, that the pipeline model cannot execute.
#[test]
fn an_internal_error_replaces_all_findings() {
    let window = Window { from: 150, to: 1_100 };
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let firmware = program(core, PRIORITY);
        for (reach, second) in [
            (Reach::Entry, None),
            (Reach::Whole, None),
            (Reach::Check { ended: window.to }, None),
            (
                Reach::Entry,
                Some(PairedInterrupt { interrupt: 0.into(), priority: 0x80, distance: Some(20) }),
            ),
        ] {
            let mut stuck = machine(&firmware, &soc(core));
            stuck.inject_pipeline_stall(firmware.address("handler"));
            let question = Question { second, ..question(&firmware, reach, window) };
            let path = Path::new(stuck, question).expect("only the handler");
            let cancelled = AtomicBool::new(false);
            let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
            let found = search(&path, &control, Findings::default(), |_| {});
            let error = found.expect_err("no figure");
            assert_eq!(error.pc, firmware.address("handler"), "{core}, {reach:?}");
        }
        let mut stuck = machine(&firmware, &soc(core));
        stuck.inject_pipeline_stall(firmware.address("end"));
        let ends = [Watch::Execute(firmware.address("end"))];
        let run = spans(&stuck, &ends, &ends, Cycles(10_000));
        assert!(matches!(run.stop, Stop::Internal(_)), "{:?}", run.stop);
        let late = Window { from: 3_000, to: 4_000 };
        let refused = Path::new(stuck, question(&firmware, Reach::Entry, late));
        assert!(matches!(refused, Err(PathError::Internal(_))), "{refused:?}");
    }
}

#[test]
fn priorities_that_the_program_changes_are_rejected() {
    let core = CoreKind::CortexM3;
    let soc = soc(core);
    let firmware = program(core, PRIORITY);
    let ask = |priority| {
        let window = Window { from: 150, to: 1_100 };
        let question = Question { priority, ..question(&firmware, Reach::Entry, window) };
        Path::new(machine(&firmware, &soc), question)
    };
    let refused = ask(LESS_URGENT);
    let expected = PathError::Priority { interrupt: 1.into(), asked: LESS_URGENT, found: PRIORITY };
    assert_eq!(refused.expect_err("overruled").to_string(), expected.to_string());
    // With bits that the soc does not implement, findings would name a priority that no register held.
    let (interrupt, asked) = (1.into(), PRIORITY | 1);
    let expected = PathError::UnheldPriority { interrupt, asked, held: PRIORITY };
    assert_eq!(ask(asked).expect_err("not held").to_string(), expected.to_string());
    ask(PRIORITY).expect("the same priority");
}

/// Sleep under BASEPRI holds back an interrupt that BASEPRI masks, as SysTick alone ends it.
#[test]
fn sleep_that_the_interrupt_does_not_end_holds_it_back() {
    let core = CoreKind::CortexM3;
    let mut firmware = Firmware::new();
    begin(&mut firmware, LESS_URGENT, 399);
    let top = firmware.here();
    firmware.op(&[0x20C0]).msr(17, 0).op(&[WFI, 0x2000]).msr(17, 0).nops(4);
    go_back(&mut firmware, top);
    firmware.handler(15).op(&[BX_LR]);
    firmware.handler(17).mark("handler").op(&[BX_LR]);
    let window = Window { from: 500, to: 4_000 };
    let question = question(&firmware, Reach::Entry, window);
    let question = Question { priority: LESS_URGENT, ..question };
    let path = Path::new(machine(&firmware, &soc(core)), question).expect("fine");
    let found = all(&path);
    let longest = &found.held.longest()[0].longest;
    let basepri = longest.by.iter().find(|(by, _)| *by == Blocker::Basepri).expect("it masks");
    assert!((300..400).contains(&basepri.1), "{longest:?}");
    // An interrupt waits as long as it is held back, and then for its entry.
    let worst = found.aspects[&Aspect::Handler].worst().expect("it is entered").cycles;
    assert!((300..=longest.cycles as i64 + 20).contains(&worst), "{worst} {longest:?}");
}
