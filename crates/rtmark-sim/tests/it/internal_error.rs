//! A pipeline model that cannot go on ends each kind of run with an error, never with a figure.

use std::ops::ControlFlow;

use rtmark_sim::{
    CoreKind, Cycles, FileCalls, InternalError, Machine, Observer, Stop, TrialOutcome,
};

use crate::support::*;

const PIPELINED: [CoreKind; 2] = [CoreKind::CortexM3, CoreKind::CortexM4F];

struct Nothing;

impl Observer for Nothing {
    fn before(&mut self, _: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A loop of which an instruction is never let into the execute stage.
fn looping(core: CoreKind) -> (Machine, u32) {
    let mut firmware = Firmware::new();
    firmware.set(4, 1000).mark("loop").nops(3);
    firmware.mark("stuck").op(&[0x3C01]).op(&[0xD1FA]).forever(); // subs r4, #1; bne loop
    let address = firmware.address("stuck");
    (firmware.on(core).machine, address)
}

fn internal(stop: Stop) -> InternalError {
    match stop {
        Stop::Internal(error) => *error,
        stop => panic!("{stop:?}"),
    }
}

#[test]
fn every_kind_of_run_ends_with_an_internal_error() {
    type Run = fn(&mut Machine) -> Stop;
    let runs: [(&str, Run); 6] = [
        ("at full speed", |machine| machine.run(Cycles(100_000))),
        ("observed", |machine| machine.run_observed(Cycles(100_000), &mut Nothing)),
        ("stepped", |machine| {
            loop {
                if let Err(stop) = machine.step(Cycles(100_000)) {
                    return stop;
                }
            }
        }),
        ("advanced", |machine| {
            loop {
                if let Err(stop) = machine.advance(Cycles(100_000)) {
                    return stop;
                }
            }
        }),
        ("in slices", |machine| {
            loop {
                let until = machine.cycles().0 + 1;
                match machine.run(Cycles(until)) {
                    Stop::Limit if until < 100_000 => {}
                    stop => return stop,
                }
            }
        }),
        ("cloned", |machine| machine.clone().run(Cycles(100_000))),
    ];
    for core in PIPELINED {
        for (how, run) in runs {
            let (mut machine, stuck) = looping(core);
            assert_eq!(machine.run(Cycles(500)), Stop::Limit, "{core} {how}: it runs until then");
            machine.inject_pipeline_stall(stuck);
            let error = internal(run(&mut machine));
            assert_eq!(error.pc, stuck, "{core} {how}");
            assert_eq!(error.instruction.as_deref(), Some("subs r4, #1"), "{core} {how}");
            assert!((500..530).contains(&error.cycle.0), "{core} {how}: {error:?}");
        }
    }
}

#[test]
fn an_internal_error_persists_until_reset() {
    let (mut machine, stuck) = looping(CoreKind::CortexM3);
    machine.inject_pipeline_stall(stuck);
    let error = internal(machine.run(Cycles(1_000)));
    let cycles = machine.cycles();
    assert_eq!(machine.internal_error(), Some(&error));
    assert_eq!(internal(machine.run(Cycles(1_000_000))), error);
    assert_eq!(internal(machine.clone().run(Cycles(1_000_000))), error);
    assert_eq!(machine.cycles(), cycles, "no cycle is counted after it");
    machine.reset().expect("vectors");
    assert_eq!(machine.internal_error(), None);
    // A piece of code is worked out in advance: one step is not.
    assert_eq!(machine.step(Cycles(100)), Ok(()));
}

#[test]
fn an_internal_error_takes_precedence_over_the_programs_end() {
    for core in PIPELINED {
        let mut firmware = Firmware::new();
        firmware.set(0, 0x18).set(1, 0x2_0026).nops(2).mark("exit").op(&[0xBEAB]).forever();
        let running = firmware.on(core);
        let mut plain = running.machine.clone();
        assert!(matches!(plain.run(Cycles(1_000)), Stop::Exit(_)));
        let mut machine = running.machine;
        machine.set_file_calls(FileCalls::Served);
        machine.inject_pipeline_stall(firmware.address("exit"));
        assert_eq!(internal(machine.run(Cycles(1_000))).pc, firmware.address("exit"), "{core}");
    }
}

#[test]
fn an_internal_error_in_a_trial_ends_the_run() {
    for core in PIPELINED {
        let mut firmware = Firmware::new();
        firmware.nops(20).forever();
        firmware.handler(16).mark("handler").nops(2).op(&[BX_LR]);
        let mut machine = firmware.on(core).machine;
        machine.arm_interrupt(0, 0x40);
        machine.run(Cycles(100));
        machine.settle();
        assert!(matches!(machine.clone().try_entry(0), TrialOutcome::Entered(_)));
        machine.inject_pipeline_stall(firmware.address("handler"));
        assert_eq!(machine.try_entry(0), TrialOutcome::Unclear);
        let stop = machine.advance(Cycles(1_000)).expect_err("the run is over");
        assert_eq!(internal(stop).pc, firmware.address("handler"), "{core}");
    }
}

#[test]
fn an_internal_error_reports_location_and_pipeline_state() {
    let (mut machine, stuck) = looping(CoreKind::CortexM4F);
    machine.inject_pipeline_stall(stuck);
    let text = internal(machine.run(Cycles(1_000))).to_string();
    for part in [&format!("{stuck:#010x}"), "`subs r4, #1`", "cycle ", "sabotaged"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
