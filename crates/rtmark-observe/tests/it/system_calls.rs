//! Call stacks of code that a kernel's handler continues elsewhere, and that goes back by a jump.

use rtmark_observe::{Calls, landmarks};
use rtmark_sim::Cycles;

use crate::support::{CORTEX_M, Program, RISC_V, observe, soc};

#[test]
fn the_caller_of_a_system_call_keeps_its_stack() {
    let program = Program::build("system-call", CORTEX_M, &["system_call.s"]);
    for core in ["generic-cortex-m0", "generic-cortex-m3"] {
        let mut machine = program.until(&soc(core), "stop");
        let mut calls = Calls::new(program.image.symbols());
        observe(&mut machine, &mut calls);
        let mut paths: Vec<_> = calls.nodes().map(|node| calls.path(node).join(" ")).collect();
        paths.sort();
        let expected = [
            "[SVCall]",
            "[SVCall] svcall",
            "reset",
            "reset user",
            "reset user helper",
            "serve",
            "serve work",
        ];
        assert_eq!(paths, expected, "{core}");
    }
}

/// Wherever an interrupt comes.
#[test]
fn calls_are_the_same_at_landmarks_alone() {
    let risc_v = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    for (source, core, flags) in [
        ("held.s", "generic-cortex-m3", CORTEX_M),
        ("system_call.s", "generic-cortex-m0", CORTEX_M),
        ("tasks.s", "generic-cortex-m3", CORTEX_M),
        ("starts.s", "generic-hazard3", &risc_v),
        ("large_frame.s", "generic-hazard3", &risc_v),
    ] {
        let program = Program::build(&format!("calls-{source}"), flags, &[source]);
        let landmarks = landmarks(program.image.symbols(), []);
        for comes in (1..200).step_by(5) {
            let [every, some] = [false, true].map(|sparsely| {
                let mut machine = program.until(&soc(core), "stop");
                machine.arm_interrupt(0, 0);
                machine.pend_interrupt(0, Cycles(comes));
                let mut calls = Calls::new(program.image.symbols());
                if sparsely {
                    machine.run_observed_at(&landmarks, Cycles(10_000), &mut calls);
                } else {
                    machine.run_observed(Cycles(10_000), &mut calls);
                }
                let nodes = calls.nodes();
                let paths = nodes.map(|node| (calls.path(node).join(" "), calls.times(node)));
                paths.collect::<Vec<_>>()
            });
            assert_eq!(some, every, "{source}: {comes}");
        }
    }
}
