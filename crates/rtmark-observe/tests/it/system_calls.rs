//! Call stacks of code that a kernel's handler continues elsewhere, and that goes back by a jump.

use rtmark_observe::Calls;

use crate::support::{CORTEX_M, Program, observe, soc};

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
