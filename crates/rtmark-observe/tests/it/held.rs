//! What holds interrupts back, against cycles counted by the manual of the Cortex-M0.

use rtmark_model::{HeldInterval, MaskRegister};
use rtmark_observe::{HeldBackRecorder, HeldInterrupt, Map, landmarks};
use rtmark_sim::{Blocker, Cycles, FaultPolicy, Machine, MaskedInterval, Register, Stop, Watch};

use crate::support::{CORTEX_M, CORTEX_R, Program, RISC_V, observe, soc};

/// The beginning and the end as offsets in functions, the callers, the longest, and how often and how long.
type Held = (String, String, String, u64, u64, u64);

/// Returns what holds an interrupt back in a run, at every instruction or at landmarks alone.
fn recorded(
    program: &Program,
    on: &str,
    whose: HeldInterrupt,
    sparsely: bool,
) -> Vec<HeldInterval> {
    let mut machine = program.until(&soc(on), "stop");
    let mut held = HeldBackRecorder::new(&machine, &program.image, whose);
    if sparsely {
        let landmarks = landmarks(program.image.symbols(), []);
        let stop = machine.run_observed_at(&landmarks, Cycles(10_000), &mut held);
        assert!(matches!(stop, Stop::Breakpoint(_)), "{stop:?}");
    } else {
        observe(&mut machine, &mut held);
    }
    let map = Map::new(&program.image, None);
    let intervals = held.intervals(map);
    assert_eq!(held.intervals_and_open(&machine, map), intervals, "none is open");
    intervals
}

fn brief(program: &Program, held: &HeldInterval) -> Held {
    let at = |address| {
        let at = program.image.symbols().name_at(address).expect("a function");
        format!("{}+{}", at.symbol, at.offset)
    };
    let HeldInterval { cycles, times, total_cycles, from, to, .. } = held;
    (at(from.address), at(to.address), from.callers.join(" "), *cycles, *times, *total_cycles)
}

fn masked(from: &str, to: &str, callers: &str, cycles: u64, times: u64, total: u64) -> Held {
    (from.to_owned(), to.to_owned(), callers.to_owned(), cycles, times, total)
}

/// Returns when the handler begins of an interrupt that comes in a cycle.
fn served(mut machine: Machine, interrupt: u16, comes: u64) -> u64 {
    machine.pend_interrupt(interrupt, Cycles(comes));
    let handler = machine.handler_watch(interrupt).expect("its handler");
    machine.watch(handler);
    machine.run(Cycles(10_000));
    machine.take_hits()[0].cycle.0
}

#[test]
fn masks_last_from_one_instruction_to_the_other() {
    let program = Program::build("masked", CORTEX_M, &["held.s"]);
    for sparsely in [false, true] {
        let held = recorded(&program, "generic-cortex-m0", HeldInterrupt::Masked, sparsely);
        let brief: Vec<_> = held.iter().map(|held| brief(&program, held)).collect();
        let expected = [
            masked("locked+0", "locked+6", "reset main again", 19, 3, 49),
            masked("main+2", "main+12", "reset", 11, 1, 11),
            masked("locked+0", "locked+6", "reset main", 7, 1, 7),
        ];
        assert_eq!(brief, expected, "{sparsely}");
        assert!(held.iter().all(|held| held.by == ["PRIMASK"] && !held.open));
        // After bl, push and cpsid, and before what follows: movs and bl, cpsid and its cycles.
        assert_eq!((held[1].began, held[1].ended), (4 + 3 + 1, 8 + 11));
        // Of equally long ones the first: after bx, bl, push, movs, bl and cpsid.
        assert_eq!((held[0].began, held[0].ended), (32 + 3 + 4 + 3 + 1 + 4 + 1, 48 + 19));
        assert_eq!((held[2].began, held[2].ended), (19 + 1 + 4 + 1, 25 + 7));
    }
}

/// An interrupt waits for as long as a mask is said to last, and is then entered in twelve cycles: of the points around it,
/// from the worst one on.
#[test]
fn masks_last_as_long_as_an_interrupt_waits_for_them_on_pipelined_cores() {
    let program = Program::build("waits", CORTEX_M, &["held.s"]);
    for core in ["cortex-m3", "cortex-m4", "cortex-m33", "cortex-m7"] {
        let on = format!("generic-{core}");
        for sparsely in [false, true] {
            let held = &recorded(&program, &on, HeldInterrupt::Masked, sparsely)[0];
            let waits = (held.began - 8..held.ended).map(|point| {
                let mut machine = program.until(&soc(&on), "stop");
                machine.arm_interrupt(0, 0);
                served(machine, 0, point) - point - 12
            });
            assert_eq!(waits.max(), Some(held.cycles), "{core}, {sparsely}: {held:?}");
        }
    }
}

#[test]
fn a_handler_holds_back_what_is_not_more_urgent() {
    let program = Program::build("handled", CORTEX_M, &["held.s"]);
    for sparsely in [false, true] {
        let of = |priority| {
            let whose = HeldInterrupt::MaskedOrHandled(priority);
            recorded(&program, "generic-cortex-m0", whose, sparsely)
        };
        // SVCall has priority 0, as after reset.
        for priority in [0, 0x40, 0xC0] {
            let held = of(priority);
            let handled: Vec<_> = held.iter().filter(|held| held.by == ["SVCall"]).collect();
            let [handled] = handled.as_slice() else { panic!("{held:?}") };
            // SVC takes a cycle and the entry 16; then come two instructions and a return of three cycles or more.
            assert!((1 + 16 + 2 + 3..=1 + 16 + 2 + 16).contains(&handled.cycles), "{handled:?}");
            assert_eq!((handled.times, held.len()), (1, 4));
            // An interrupt that comes before them is served at once, and one that comes later waits for the return.
            for (at, waits) in [(0, false), (1, true), (16, true)] {
                let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
                machine.arm_interrupt(0, priority);
                let served = served(machine, 0, handled.began + at);
                assert_eq!(served > handled.began + 1 + 16 + 2, waits, "{at}: {served}");
            }
        }
    }
}

/// The interrupt may interrupt that one, but not its entry.
#[test]
fn a_handler_holds_back_until_the_one_that_follows_directly_has_been_entered() {
    let program = Program::build("followed", CORTEX_M, &["held.s"]);
    let machine = || {
        let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
        machine.arm_interrupt(0, 0x80);
        machine.arm_interrupt(1, 0x40);
        // While SVCall is being handled.
        machine.pend_interrupt(0, Cycles(150));
        machine
    };
    let (mut followed, whose) = (machine(), HeldInterrupt::MaskedOrHandled(0x40));
    let mut held = HeldBackRecorder::new(&followed, &program.image, whose);
    observe(&mut followed, &mut held);
    let held = held.intervals(Map::new(&program.image, None));
    let held = held.iter().find(|held| held.by == ["SVCall"]).expect("held back");
    // The Cortex-M0 enters a handler in 16 cycles.
    for comes in [held.ended - 1, held.ended, held.ended + 1] {
        assert_eq!(served(machine(), 1, comes), comes.max(held.ended) + 16, "{comes}: {held:?}");
    }
}

#[test]
fn each_instruction_holds_back_for_as_long_as_it_takes() {
    let program = Program::build("alone", CORTEX_M, &["held.s"]);
    let whose = HeldInterrupt::OfPriority(0);
    let held = recorded(&program, "generic-cortex-m0", whose, false);
    let alone: Vec<_> = held.iter().filter(|held| held.by == ["one instruction"]).collect();
    let of = |name: &str| {
        let found = alone.iter().map(|held| brief(&program, held)).find(|held| held.0 == name);
        found.unwrap_or_else(|| panic!("{name}: {held:#?}"))
    };
    // push {r0-r7}, bl, movs, and bx of a function that is called with and without a mask.
    assert_eq!(of("main+24"), masked("main+24", "main+24", "reset", 9, 1, 9));
    assert_eq!(of("main+16"), masked("main+16", "main+16", "reset", 4, 1, 4));
    assert_eq!(of("main+14"), masked("main+14", "main+14", "reset", 1, 1, 1));
    // The instruction that masks ends before the mask begins; SVC's time is part of its handler's interval.
    assert_eq!(of("main+2"), masked("main+2", "main+2", "reset", 1, 1, 1));
    let svc = (program.address("main") & !1) + 28;
    assert!(alone.iter().all(|held| held.from.address != svc));
    // Behind the handler, it is called by what called it before.
    assert_eq!(of("main+30").2, "reset");
    // What is executed while masked is no interval of its own, but the mask is.
    assert!(alone.iter().all(|held| held.from.function.as_deref() != Some("leaf")));
    assert!(held.iter().any(|held| held.by == ["PRIMASK"] && held.cycles == 19));
    assert!(held.is_sorted_by_key(|held| std::cmp::Reverse(held.cycles)));
}

/// The first of these cycles is wherever the interrupt's entry begins, in whatever is executed without being observed.
#[test]
fn a_handlers_interval_is_the_same_at_landmarks_alone() {
    let program = Program::build("landmarked", CORTEX_M, &["held.s"]);
    let landmarks = landmarks(program.image.symbols(), []);
    let map = Map::new(&program.image, None);
    for cycle in 1..150 {
        let [every, some] = [false, true].map(|sparsely| {
            let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
            machine.arm_interrupt(0, 0);
            machine.pend_interrupt(0, Cycles(cycle));
            let whose = HeldInterrupt::MaskedOrHandled(0x40);
            let mut held = HeldBackRecorder::new(&machine, &program.image, whose);
            if sparsely {
                machine.run_observed_at(&landmarks, Cycles(10_000), &mut held);
            } else {
                observe(&mut machine, &mut held);
            }
            held.intervals(map)
        });
        assert!(every.iter().any(|held| held.by.contains(&"IRQ 0 TIMER0".to_owned())), "{cycle}");
        assert_eq!(some, every, "{cycle}");
    }
}

/// At landmarks alone, the cycles of the load that faults are not known to be part of it.
#[test]
fn a_fault_between_landmarks_holds_back_from_its_entry_at_the_latest() {
    let program = Program::build("faults", CORTEX_M, &["fault.s"]);
    let landmarks = landmarks(program.image.symbols(), []);
    for core in ["generic-cortex-m0", "generic-cortex-m3", "generic-cortex-m7"] {
        let [every, some] = [false, true].map(|sparsely| {
            let mut machine = program.until(&soc(core), "stop");
            machine.set_fault_policy(FaultPolicy::Deliver);
            let whose = HeldInterrupt::MaskedOrHandled(0);
            let mut held = HeldBackRecorder::new(&machine, &program.image, whose);
            if sparsely {
                machine.run_observed_at(&landmarks, Cycles(10_000), &mut held);
            } else {
                observe(&mut machine, &mut held);
            }
            let intervals = held.intervals(Map::new(&program.image, None));
            assert!(intervals.len() == 1 && intervals[0].by == ["HardFault"], "{intervals:?}");
            (intervals[0].began, intervals[0].ended)
        });
        assert_eq!(some.1, every.1, "{core}");
        assert!((every.0..=every.0 + 2).contains(&some.0), "{core}: {some:?} {every:?}");
    }
}

/// BASEPRI holds back what is not more urgent than its value; FAULTMASK everything.
#[test]
fn each_mask_holds_back_its_own_interrupts() {
    let program = Program::build("masks", &[CORTEX_M, &["-mcpu=cortex-m3"]].concat(), &["masks.s"]);
    for (whose, expected) in [
        (HeldInterrupt::Masked, &["BASEPRI", "FAULTMASK"][..]),
        (HeldInterrupt::MaskedOrHandled(0x80), &["BASEPRI", "FAULTMASK"]),
        (HeldInterrupt::MaskedOrHandled(0x40), &["BASEPRI", "FAULTMASK"]),
        (HeldInterrupt::MaskedOrHandled(0x20), &["FAULTMASK"]),
    ] {
        let mut held = recorded(&program, "generic-cortex-m3", whose, false);
        held.sort_by_key(|held| held.began);
        let by: Vec<_> = held.iter().flat_map(|held| &held.by).collect();
        assert_eq!(by, expected, "{whose:?}");
    }
}

#[test]
fn a_masked_interval_has_its_ends_and_callers() {
    let program = Program::build("longest", CORTEX_M, &["held.s"]);
    let mut machine = program.on(&soc("generic-cortex-m0"));
    machine.watch_masks();
    // Only what is between two watches counts.
    for function in ["main", "stop"] {
        machine.watch(Watch::Execute(program.address(function) & !1));
    }
    machine.run(Cycles(10_000));
    let longest = machine.longest_masked().expect("masked");
    let masked = Map::new(&program.image, None).masked(&longest);
    assert_eq!((masked.cycles, masked.by), (19, MaskRegister::Primask));
    for (by, register) in [
        (Blocker::Faultmask, MaskRegister::Faultmask),
        (Blocker::Basepri, MaskRegister::Basepri),
        (Blocker::MachineMask, MaskRegister::Mstatus),
        (Blocker::StatusMask, MaskRegister::Cpsr),
    ] {
        let other = MaskedInterval { by, ..longest };
        assert_eq!(Map::new(&program.image, None).masked(&other).by, register);
    }
    let locked = program.address("locked") & !1;
    assert_eq!((masked.set.address, masked.cleared.address), (locked, locked + 6));
    assert_eq!(
        (&masked.set.callers[..], &masked.cleared.callers[..]),
        (&["again".to_owned()][..], &["again".to_owned()][..])
    );
}

#[test]
fn a_caller_is_one_that_calls_this_function() {
    let program = Program::build("callers", CORTEX_M, &["held.s"]);
    let map = Map::new(&program.image, None);
    let [main, again, locked, leaf] =
        ["main", "again", "locked", "leaf"].map(|name| program.address(name) & !1);
    let callers = |address, link| map.place_from(address, link).callers;
    // The calls are 4 bytes long, and their return addresses odd.
    assert_eq!(callers(locked + 4, again + 8 + 1), ["again"]);
    assert_eq!(callers(leaf, main + 12 + 1), ["main"]);
    for (address, link) in [
        (leaf, again + 8 + 1),
        (locked, main + 12 + 1),
        (locked, again + 8),
        (locked, 1),
        (locked, 0xFFFF_FFFF),
    ] {
        assert!(callers(address, link).is_empty(), "{address:#x} {link:#x}");
    }
    assert_eq!(map.function(again + 2).as_deref(), Some("again"));
    assert_eq!(map.function(0x1000_0000), None);
}

/// The interrupt that ends the sleep comes in cycle 1000, or not before the run ends in cycle 2000.
#[test]
fn a_masked_sleep_that_an_interrupt_would_end_holds_nothing_back_on_any_core() {
    let risc_v = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    for (core, flags, comes) in [
        ("generic-cortex-m0", CORTEX_M, &[1_000, 5_000][..]),
        ("generic-cortex-m3", CORTEX_M, &[1_000, 5_000]),
        ("generic-hazard3", &risc_v, &[1_000, 5_000]),
        ("generic-ibex", &risc_v, &[1_000, 5_000]),
        // Its interrupt controller is off.
        ("zynqmp-r5", CORTEX_R, &[5_000]),
    ] {
        let program = Program::build(&format!("asleep-{core}"), flags, &["asleep.S"]);
        let landmarks = landmarks(program.image.symbols(), []);
        for (&comes, sparsely) in comes.iter().flat_map(|it| [(it, false), (it, true)]) {
            let mut machine = program.on(&soc(core));
            machine.set_register(Register::Pc, program.address("reset"));
            machine.arm_interrupt(0, 0x40);
            machine.pend_interrupt(0, Cycles(comes));
            let mut held = HeldBackRecorder::new(&machine, &program.image, HeldInterrupt::Masked);
            if sparsely {
                machine.run_observed_at(&landmarks, Cycles(2_000), &mut held);
            } else {
                machine.run_observed(Cycles(2_000), &mut held);
            }
            let masked = held.intervals_and_open(&machine, Map::new(&program.image, None));
            let [masked] = &masked[..] else { panic!("{core} {comes} {sparsely}: {masked:?}") };
            let awake = 2_000_u64.saturating_sub(comes);
            // Falling asleep and waking take a few cycles.
            assert!(masked.cycles.abs_diff(awake) < 20, "{core} {comes}: {masked:?}");
            assert!(masked.open && masked.ended >= 2_000, "{core} {comes}: {masked:?}");
        }
    }
}
