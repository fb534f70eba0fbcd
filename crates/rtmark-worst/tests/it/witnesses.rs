//! What a search reports about single points, compared with programs whose cycles are counted by hand
//! and with runs from reset.

use std::collections::BTreeMap;

use rtmark_sim::{Blocker, CoreKind, Cycles, Machine, Watch};
use rtmark_worst::{
    Aspect, Case, Findings, Interleaving, Moment, Path, PathError, Question, Reach, Unserved,
    Window, spans,
};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use crate::programs::*;
use crate::support::*;

const PRIORITY: u8 = 0x40;

/// A loop on a Cortex-M0+ that masks for ten cycles, and a handler that wakes nobody:
/// cpsid i (1 cycle), nine nops (1 each), cpsie i (1), three nops, and a branch (2).
fn masking() -> Firmware {
    let mut firmware = Firmware::new();
    begin(&mut firmware, PRIORITY, 0x00FF_FFFF);
    firmware.op(&[NOP]);
    let top = firmware.here();
    firmware.mark("cpsid").op(&[CPSID_I]).mark("masked").nops(9).mark("cpsie").op(&[CPSIE_I]);
    firmware.mark("free").nops(3).mark("end");
    go_back(&mut firmware, top);
    firmware.handler(17).mark("handler").nops(2).mark("woken").op(&[BX_LR]);
    firmware
}

fn question(window: Window, reach: Reach) -> Question {
    Question {
        interrupt: INTERRUPT.into(),
        priority: PRIORITY,
        windows: vec![window],
        reach,
        patience: 1_000,
        woken: None,
        ends: Vec::new(),
        second: None,
    }
}

fn path(firmware: &Firmware, question: Question) -> Result<Path, PathError> {
    Path::new(machine(firmware, &soc(CoreKind::CortexM0Plus)), question)
}

/// Returns a round of the loop: from one execution of its first instruction to the next.
fn round(firmware: &Firmware) -> Window {
    let here = [Watch::Execute(firmware.address("cpsid"))];
    let machine = machine(firmware, &soc(CoreKind::CortexM0Plus));
    spans(&machine, &here, &here, Cycles(400)).windows[3]
}

#[test]
fn a_witness_says_how_long_each_reason_held_the_interrupt_back() {
    let firmware = masking();
    let round = round(&firmware);
    assert_eq!(round.to - round.from, 16, "eleven cycles masked or masking, three nops, a branch");
    let path = path(&firmware, question(round, Reach::Entry)).expect("fine");
    let found = all(&path);
    let worst = found.aspects[&Aspect::Handler].worst().expect("there is one");
    let witness = path.witness(Aspect::Handler, worst).expect("replays");
    assert_eq!((witness.cycles, witness.point), (worst.cycles, worst.point));
    assert_eq!(witness.served, worst.point + worst.cycles.unsigned_abs());
    assert_eq!((witness.interrupt, witness.other), (INTERRUPT.into(), None));
    // Instructions take a cycle and two bytes each: the mask is in effect from the one after cpsid on.
    let since = (worst.point - round.from) as u32;
    assert_eq!((since, witness.interrupted()), (1, Some(firmware.address("masked"))));
    let held: BTreeMap<_, _> = witness.blockers().into_iter().collect();
    assert_eq!(held[&Some(Blocker::Primask)], 10);
    assert_eq!(held.values().sum::<u64>().cast_signed(), worst.cycles);
    assert_eq!(held.len(), 2, "the entry is what remains: {held:?}");
    // The steps begin with the interrupted instruction, and end with the handler's first.
    let moments: Vec<_> = witness.steps.iter().map(|step| step.moment).collect();
    assert_eq!(moments[0], Moment::Instruction(firmware.address("cpsid")));
    let entered = moments.iter().position(|moment| *moment == Moment::Entered(17));
    assert!(
        moments[entered.expect("entered")..]
            .contains(&Moment::Instruction(firmware.address("handler")))
    );
    let masked = witness.steps.iter().filter(|step| step.held == Some(Blocker::Primask)).count();
    assert_eq!(masked, 10, "nine nops and cpsie");
}

/// A program's own use of the interrupt, shortly before, is not the one that waits.
#[test]
fn an_earlier_entry_of_the_same_interrupt_does_not_end_the_wait() {
    let firmware = masking();
    let here = [Watch::Execute(firmware.address("cpsid"))];
    let mut machine = machine(&firmware, &soc(CoreKind::CortexM0Plus));
    assert!(machine.arm_interrupt(INTERRUPT, PRIORITY));
    machine.pend_interrupt(INTERRUPT, Cycles(round(&firmware).from));
    let window = spans(&machine, &here, &here, Cycles(600)).windows[6];
    let path = Path::new(machine, question(window, Reach::Entry)).expect("fine");
    let found = all(&path);
    let worst = found.aspects[&Aspect::Handler].worst().expect("there is one");
    let witness = path.witness(Aspect::Handler, worst).expect("replays");
    let held: BTreeMap<_, _> = witness.blockers().into_iter().collect();
    assert_eq!(held.get(&Some(Blocker::Primask)), Some(&10), "{held:?}");
}

#[test]
fn a_witness_of_any_place_repeats_what_the_search_found_there() {
    let firmware = masking();
    let window = round(&firmware);
    let reach = Question {
        woken: Some(firmware.address("woken")),
        ends: vec![firmware.address("end")],
        ..question(window, Reach::Whole)
    };
    let path = path(&firmware, reach).expect("fine");
    let found = all(&path);
    for (&aspect, latencies) in &found.aspects {
        assert!(!latencies.cases.is_empty(), "{aspect:?}");
        for (pc, case) in latencies.worst_places() {
            let witness = path.witness(aspect, case).expect("replays");
            assert_eq!(witness.cycles, case.cycles, "{aspect:?} at {pc:#x}");
        }
    }
    let [handler, task, resume, delay] =
        [Aspect::Handler, Aspect::Task, Aspect::Resume, Aspect::Delay]
            .map(|aspect| found.aspects[&aspect].worst().expect("there is one").cycles);
    assert_eq!(task - handler, 2, "two nops");
    assert!(resume > task && delay > 0, "{resume} {delay}");
    // An interrupt alone has no second one.
    assert!(path.witness(Aspect::Second, Case::new(0, window.from + 1)).is_none());
    let paired = Case { distance: Some(1), ..Case::new(0, window.from + 1) };
    assert!(path.witness(Aspect::Handler, paired).is_none());
}

/// Returns the cycles in which spans end in a run from reset, without an interrupt or with one, and
/// when its handler begins.
fn ends(reset: &Machine, firmware: &Firmware, point: Option<u64>) -> (Vec<u64>, u64) {
    let mut machine = reset.clone();
    let end = machine.watch(Watch::Execute(firmware.address("end")));
    let handler = machine.watch(Watch::Execute(firmware.address("handler")));
    if let Some(point) = point {
        machine.pend_interrupt(INTERRUPT, Cycles(point));
    }
    machine.run(Cycles(2_000));
    let hits = machine.take_hits();
    let of = |watch| hits.iter().filter(move |hit| hit.watch == watch).map(|hit| hit.cycle.0);
    (of(end).collect(), of(handler).next().unwrap_or_default())
}

#[test]
fn delays_are_how_much_later_the_same_span_ends_in_a_run_from_reset() {
    let firmware = masking();
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM33] {
        let window = Window { from: 150, to: 400 };
        let asked =
            Question { ends: vec![firmware.address("end")], ..question(window, Reach::Whole) };
        let path = Path::new(machine(&firmware, &soc(core)), asked).expect("fine");
        let found = all(&path);
        let mut reset = machine(&firmware, &soc(core));
        reset.arm_interrupt(INTERRUPT, PRIORITY);
        let (usual, _) = ends(&reset, &firmware, None);
        let mut counts = BTreeMap::<i64, u64>::new();
        let first = path.begins(window.from) + 1;
        for point in first..first + found.points {
            let (late, begun) = ends(&reset, &firmware, Some(point));
            // The handler executes nothing of the loop, so the spans are the same ones in both runs.
            let which = late.iter().position(|end| *end > begun).expect("it ends");
            let delay = late[which].cast_signed() - usual[which].cast_signed();
            *counts.entry(delay).or_default() += 1;
        }
        let reported = &found.aspects[&Aspect::Delay];
        assert_eq!((&reported.counts, reported.missing), (&counts, 0), "{core}");
    }
}

#[test]
fn interrupts_are_missing_with_the_reason_why_they_were_not_served() {
    let mut firmware = Firmware::new();
    begin(&mut firmware, PRIORITY, 0x00FF_FFFF);
    firmware.nops(20).op(&[CPSID_I]).mark("masked").nops(200).mark("end").forever();
    firmware.handler(17).mark("handler").op(&[BX_LR]);
    let masked = [Watch::Execute(firmware.address("masked"))];
    let end = [Watch::Execute(firmware.address("end"))];
    let run = machine(&firmware, &soc(CoreKind::CortexM0Plus));
    let window = spans(&run, &masked, &end, Cycles(1_000)).windows[0];
    let window = Window { to: window.from + 50, ..window };
    let found = all(&path(&firmware, question(window, Reach::Entry)).expect("fine"));
    let handler = &found.aspects[&Aspect::Handler];
    assert_eq!((handler.missing, found.points), (50, 50));
    assert_eq!(handler.first_missing, Some(window.from + 1));
    assert_eq!(handler.unserved, BTreeMap::from([(Unserved::Late, 50)]));
    assert_eq!(found.aspect(Aspect::Handler), None);
}

#[test]
fn interrupts_masked_until_the_programs_end_are_missing_because_of_the_mask() {
    let mut firmware = Firmware::new();
    begin(&mut firmware, PRIORITY, 0x00FF_FFFF);
    // bkpt
    firmware.op(&[CPSID_I]).mark("masked").nops(30).mark("end").op(&[0xBE01]);
    firmware.handler(17).mark("handler").op(&[BX_LR]);
    let [masked, end] = ["masked", "end"].map(|name| [Watch::Execute(firmware.address(name))]);
    // On a Cortex-M3 and M33 some cycles pass before an interrupt reaches the core.
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM33] {
        let reset = machine(&firmware, &soc(core));
        let window = spans(&reset, &masked, &end, Cycles(1_000)).windows[0];
        for reach in [Reach::Entry, Reach::Whole, Reach::Check { ended: window.to }] {
            let what = format!("{core}, {reach:?}");
            let path = Path::new(reset.clone(), question(window, reach)).expect("fine");
            let found = all(&path);
            let handler = &found.aspects[&Aspect::Handler];
            let why = Unserved::Ended(Some(Blocker::Primask));
            assert_eq!(handler.unserved, BTreeMap::from([(why, found.points)]), "{what}");
            assert!(handler.counts.is_empty() && found.points >= 29, "{what}: {}", found.points);
            let resumes = found.aspects.get(&Aspect::Resume).map(|resume| resume.missing);
            assert_eq!(resumes, (reach == Reach::Whole).then_some(found.points), "{what}");
        }
    }
}

#[test]
fn a_path_knows_its_question() {
    let firmware = masking();
    let window = Window { from: 150, to: 10_000 };
    let path = path(&firmware, question(window, Reach::Entry)).expect("fine");
    assert_eq!(path.handler_of(INTERRUPT.into()), firmware.address("handler"));
    assert_eq!(path.later_priority(INTERRUPT.into()), None);
    assert!(!path.is_empty());
    let cycles: u64 = (0..path.len()).map(|piece| path.cycles_of(piece)).sum();
    assert_eq!(cycles, 9_850);
    assert_eq!(path.cycles_of(path.len()), 0);
    let begins = path.begins(window.from);
    assert!((150..152).contains(&begins), "no instruction here takes three cycles: {begins}");
    // A program that changes the priority during the window.
    let mut firmware = Firmware::new();
    begin(&mut firmware, PRIORITY, 0x00FF_FFFF);
    firmware.nops(150).store(NVIC_IPR, 0xC080).forever();
    firmware.handler(17).op(&[BX_LR]);
    let path = self::path(&firmware, question(Window { from: 100, to: 400 }, Reach::Entry));
    assert_eq!(path.expect("as asked at first").later_priority(INTERRUPT.into()), Some(0xC0));
}

#[test]
fn windows_without_points_and_unknown_interrupts_are_rejected() {
    let firmware = masking();
    let asked = |question| path(&firmware, question).err();
    let nothing = question(Window { from: 200, to: 200 }, Reach::Entry);
    assert!(matches!(asked(nothing), Some(PathError::NoWindow(_))));
    let beyond =
        Question { interrupt: 32.into(), ..question(Window { from: 200, to: 300 }, Reach::Entry) };
    let error = PathError::NoInterrupt { interrupt: 32.into(), last: 31 };
    assert_eq!(asked(beyond), Some(error));
    let none =
        Question { interrupt: 7.into(), ..question(Window { from: 200, to: 300 }, Reach::Entry) };
    assert!(matches!(asked(none), Some(PathError::NoHandler { address: 0x5C, .. })));
}

#[test]
fn spans_restart_at_their_last_beginning_and_collect_the_console() {
    let firmware = masking();
    let reset = machine(&firmware, &soc(CoreKind::CortexM0Plus));
    let watch = |name| Watch::Execute(firmware.address(name));
    // Both "cpsid" and "free" begin a span; only the later one counts.
    let run = spans(&reset, &[watch("cpsid"), watch("free")], &[watch("end")], Cycles(400));
    assert!(run.windows.len() > 10);
    assert!(run.windows.iter().all(|span| span.to - span.from == 3), "{:?}", run.windows);
    assert!(run.cycles >= 400 && run.cycles < 420, "{}", run.cycles);
    // No span has ended before the first one begins, and none is open after the last end.
    let run = spans(&reset, &[watch("end")], &[watch("cpsid")], Cycles(400));
    assert!(run.windows.iter().all(|span| span.to - span.from == 2), "{:?}", run.windows);
}

#[test]
fn findings_name_what_the_path_executes() {
    let firmware = masking();
    let path = path(&firmware, question(round(&firmware), Reach::Entry)).expect("fine");
    let found: Findings = all(&path);
    let executed = |name| {
        let address = firmware.address(name);
        found.has_executed(address, address + 2)
    };
    assert!(["cpsid", "masked", "cpsie", "free", "end"].into_iter().all(executed));
    assert!(!executed("handler") && !executed("woken"), "only the interrupt leads there");
}

#[test]
fn names_in_data_files_are_those_that_are_read_back() {
    type Read<T> = Result<T, Error>;
    for aspect in Aspect::ALL {
        let read: Read<Aspect> = Aspect::deserialize(aspect.name().into_deserializer());
        assert_eq!(read.ok(), Some(aspect));
    }
    for how in Interleaving::ALL {
        let read: Read<Interleaving> = Interleaving::deserialize(how.name().into_deserializer());
        assert_eq!(read.ok(), Some(how));
    }
}
