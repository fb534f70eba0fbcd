//! Paths that end, or sleep for ever, inside or outside their windows.

use std::collections::BTreeMap;

use rtmark_sim::{Blocker, CoreKind, Cycles, Machine, Stop, Watch};
use rtmark_worst::{
    Aspect, Case, Findings, Path, Question, Reach, Unserved, Verdict, Window, spans,
};

use crate::programs::*;
use crate::support::*;

const PRIORITY: u8 = 0x40;
/// A semihosting call of SYS_EXIT: movs r0, #0x18; ldr r1, =ADP_Stopped_ApplicationExit; bkpt 0xAB
const EXIT: [u16; 4] = [0x2018, 0x4901, 0xBEAB, NOP];

fn question(firmware: &Firmware, reach: Reach, window: Window) -> Question {
    let whole = reach == Reach::Whole;
    Question {
        interrupt: INTERRUPT.into(),
        priority: PRIORITY,
        windows: vec![window],
        reach,
        patience: 300,
        woken: None,
        ends: if whole { vec![firmware.address("end")] } else { Vec::new() },
        second: None,
    }
}

fn path(firmware: &Firmware, core: CoreKind, question: Question) -> Path {
    Path::new(machine(firmware, &soc(core)), question).expect("fine")
}

/// Ends the run successfully.
fn exit(firmware: &mut Firmware) {
    while !firmware.here().is_multiple_of(4) {
        firmware.op(&[NOP]);
    }
    firmware.op(&EXIT).op(&[0x0026, 0x0002]);
}

/// Returns when the handler begins in a run from reset.
fn brute(reset: &Machine, firmware: &Firmware, point: u64) -> Option<u64> {
    let mut machine = reset.clone();
    machine.arm_interrupt(INTERRUPT, PRIORITY);
    machine.watch(Watch::Execute(firmware.address("handler")));
    machine.pend_interrupt(INTERRUPT, Cycles(point));
    machine.run(Cycles(point + 300));
    machine.take_hits().iter().map(|hit| hit.cycle.0).find(|cycle| *cycle >= point)
}

/// A program that sleeps for ever, except for what the interrupt does.
fn sleeper(masked: bool) -> Firmware {
    let mut firmware = Firmware::new();
    if masked {
        firmware.op(&[CPSID_I]);
    }
    firmware.nops(40).op(&[WFI]).nops(3).op(&[CPSIE_I]).forever();
    firmware.handler(17).mark("handler").op(&[BX_LR]);
    firmware
}

#[test]
fn points_of_a_sleep_that_nothing_else_ends_are_searched() {
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM33] {
        for masked in [false, true] {
            let firmware = sleeper(masked);
            let reset = machine(&firmware, &soc(core));
            assert_eq!(reset.clone().run(Cycles(100_000)), Stop::Asleep);
            // The sleep begins in the first piece, and the others begin in it.
            let window = Window { from: 20, to: 20_000 };
            let path = path(&firmware, core, question(&firmware, Reach::Entry, window));
            let found = all(&path);
            assert_eq!(found.pieces.len(), path.len(), "{core}");
            assert_eq!(found.points, window.to - path.begins(window.from), "{core}");
            let first = path.begins(window.from) + 1;
            let mut early = BTreeMap::new();
            for point in first..first + 200 {
                let latency = brute(&reset, &firmware, point).expect("it wakes") - point;
                *early.entry(latency.cast_signed()).or_insert(0) += 1;
            }
            // After that, every point of the sleep is as late.
            let late = brute(&reset, &firmware, 19_999).expect("it wakes") - 19_999;
            assert_eq!(late, brute(&reset, &firmware, 8_212).expect("it wakes") - 8_212, "{core}");
            *early.entry(late.cast_signed()).or_insert(0) += found.points - 200;
            let handler = &found.aspects[&Aspect::Handler];
            assert_eq!(handler.counts, early, "{core}, masked: {masked}");
            assert_eq!(handler.missing, 0);
        }
    }
}

#[test]
fn pieces_after_the_last_boundary_have_no_points_but_are_searched() {
    let mut firmware = Firmware::new();
    firmware.nops(60).op(&[0xBE01]);
    firmware.handler(17).mark("handler").op(&[BX_LR]);
    let core = CoreKind::CortexM3;
    let ended = spans(&machine(&firmware, &soc(core)), &[], &[], Cycles(1_000)).cycles;
    let window = Window { from: 10, to: ended };
    let behind = Window { from: ended + 5, to: ended + 10 };
    let question = question(&firmware, Reach::Entry, window);
    let alone: Findings = all(&path(&firmware, core, question.clone()));
    let path = path(&firmware, core, Question { windows: vec![window, behind], ..question });
    let found = all(&path);
    assert_eq!((found.pieces.len(), path.len()), (2, 2));
    assert!(found.points > 30);
    let [found, alone] = [found, alone].map(|it| (it.points, it.aspects[&Aspect::Handler].clone()));
    assert_eq!((found.0, found.1.counts), (alone.0, alone.1.counts));
    assert_eq!((found.1.missing, found.1.unserved), (alone.1.missing, alone.1.unserved));
}

#[test]
fn what_holds_the_interrupt_back_to_the_end_is_a_stretch() {
    let mut firmware = Firmware::new();
    firmware.nops(30).op(&[CPSID_I]).nops(50);
    exit(&mut firmware);
    firmware.handler(17).mark("handler").op(&[BX_LR]);
    let core = CoreKind::CortexM3;
    let ended = spans(&machine(&firmware, &soc(core)), &[], &[], Cycles(1_000)).cycles;
    // To the end of the run, and to where the search gives up: the mask is set in the window.
    for (to, patience) in [(ended, 300), (60, 20)] {
        let window = Window { from: 10, to };
        let question = Question { patience, ..question(&firmware, Reach::Entry, window) };
        let found = all(&path(&firmware, core, question));
        let stretches = found.held.longest();
        let [held] = stretches[..] else { panic!("one stretch: {stretches:?}") };
        assert!(held.is_open && held.count == 1, "{held:?}");
        assert_eq!(held.longest.by, [(Blocker::Primask, held.longest.cycles)]);
        let until = if to == ended { ended } else { to + patience };
        let end = held.longest.began + held.longest.cycles;
        assert!((until..until + 3).contains(&end), "{held:?} until {until}");
        let alone = found.held.longest_alone();
        let primask = alone.iter().find(|(by, _)| *by == Blocker::Primask).expect("it masks");
        assert!(primask.1.is_open && primask.1.longest.cycles == held.longest.cycles);
    }
}

/// A program with a span of 16,000 cycles, far beyond the patience.
fn long_span(after: &[u16]) -> Firmware {
    let mut firmware = Firmware::new();
    // movs r0, #200; loop: 16 * nop; subs r0, #1; bne loop
    firmware.op(&[0x20C8]);
    let top = firmware.here();
    firmware.nops(16).op(&[0x3801]);
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xD100 | back as u16 & 0xFF]);
    firmware.mark("end").op(&[NOP]);
    exit(&mut firmware);
    firmware.handler(17).mark("handler").op(after);
    firmware
}

#[test]
fn long_spans_are_followed_to_their_ends() {
    let core = CoreKind::CortexM3;
    let firmware = long_span(&[NOP, NOP, BX_LR]);
    let window = Window { from: 100, to: 200 };
    // By `to` plus the patience the span has not ended on the path: its end is unknown.
    let path = path(&firmware, core, question(&firmware, Reach::Whole, window));
    let found = all(&path);
    let delay = &found.aspects[&Aspect::Delay];
    assert_eq!((delay.counts.len(), delay.missing), (0, found.points));
    assert_eq!(delay.unserved, BTreeMap::from([(Unserved::Late, found.points)]));
    // With a window to the end of the span, each point has its delay.
    let reset = machine(&firmware, &soc(core));
    let end = [Watch::Execute(firmware.address("end"))];
    let hit = |pended: Option<u64>| {
        let mut machine = reset.clone();
        machine.arm_interrupt(INTERRUPT, PRIORITY);
        let watch = machine.watch(end[0]);
        if let Some(point) = pended {
            machine.pend_interrupt(INTERRUPT, Cycles(point));
        }
        machine.run(Cycles(100_000));
        let hits = machine.take_hits();
        hits.iter().find(|hit| hit.watch == watch).expect("it ends").cycle.0
    };
    let usual = hit(None);
    assert!(usual > 3_000, "{usual}");
    let windows = vec![window, Window { from: usual - 50, to: usual }];
    let path = self::path(
        &firmware,
        core,
        Question { windows, ..question(&firmware, Reach::Whole, window) },
    );
    let found = all(&path);
    let mut counts = BTreeMap::new();
    for from in [window.from, usual - 50] {
        let first = path.begins(from) + 1;
        let last = if from == window.from { path.begins(window.to) } else { usual };
        for point in first..=last {
            let ended = hit(Some(point)).cast_signed();
            // After the end, no span is interrupted.
            if brute(&reset, &firmware, point).is_some_and(|begun| begun.cast_signed() < ended) {
                *counts.entry(ended - usual.cast_signed()).or_insert(0) += 1;
            }
        }
    }
    let delay = &found.aspects[&Aspect::Delay];
    assert_eq!((&delay.counts, delay.missing), (&counts, 0));
    let witness = path.witness(Aspect::Delay, delay.worst().expect("one")).expect("run again");
    assert_eq!(Some(&witness.cycles), counts.keys().next_back());
}

/// A handler that takes longer than the patience: the interrupted code continues later than it was waited for,
/// which ends nothing.
#[test]
fn delays_longer_than_the_patience_are_late() {
    let core = CoreKind::CortexM3;
    // movs r3, #200; loop: subs r3, #1; bne loop; bx lr
    let firmware = long_span(&[0x23C8, 0x3B01, 0xD1FD, BX_LR]);
    let window = Window { from: 100, to: 150 };
    let windows = vec![window, Window { from: 4_000, to: 4_001 }];
    let question = Question { windows, ..question(&firmware, Reach::Whole, window) };
    let found = all(&path(&firmware, core, question));
    let late = BTreeMap::from([(Unserved::Late, found.points)]);
    assert_eq!(found.aspects[&Aspect::Delay].unserved, late);
    assert_eq!(found.aspects[&Aspect::Resume].missing, found.points);
}

#[test]
fn spans_that_end_no_more_have_no_delay() {
    let core = CoreKind::CortexM3;
    // The handler never returns.
    let firmware = long_span(&[FOREVER]);
    let window = Window { from: 100, to: 200 };
    let windows = vec![window, Window { from: 4_000, to: 4_010 }];
    let question = Question { windows, ..question(&firmware, Reach::Whole, window) };
    let path = path(&firmware, core, question);
    let found = all(&path);
    let delay = &found.aspects[&Aspect::Delay];
    assert_eq!((delay.counts.len(), delay.missing), (0, found.points));
    assert_eq!(path.witness(Aspect::Delay, Case::new(0, 150)).map(|it| it.cycles), None);
}

#[test]
fn a_window_that_ends_long_before_the_program_finds_no_race_where_there_is_none() {
    let core = CoreKind::CortexM3;
    let firmware = long_span(&[NOP, NOP, BX_LR]);
    let reset = machine(&firmware, &soc(core));
    let run = spans(&reset, &[], &[], Cycles(100_000));
    assert_eq!(Verdict::from(&run.stop), Verdict::Fine);
    let window = Window { from: 100, to: 200 };
    assert!(run.cycles > window.to + 10 * 300, "{}", run.cycles);
    let reach = Reach::Check { ended: run.cycles };
    let found = all(&path(&firmware, core, question(&firmware, reach, window)));
    assert_eq!((found.checked, found.failures.len()), (found.points, 0));
    assert!(found.points > 90);
}
