//! Calls that unprivileged code makes by SVC, which a kernel's handler continues on another stack.

use rtmark_calls::Outcome;

use crate::program::{Program, called, sites};

const API: &str = "name = \"k\"\ncalls = [\"z_impl_*\", \"z_mrsh_*\"]\ninternal = [\"mki_*\"]\n\
                   strip = \"z_impl_\"\nsystem_calls = \"z_mrsh_\"\n";

/// Continues at `mki_call` instead of behind the SVC, which calls r4 on the kernel's stack.
const KERNEL: &str = "
    function svcall
        mrs r0, psp
        ldr r1, [r0, #24]
        mov r8, r1
        ldr r1, =mki_call
        movs r2, #1
        bics r1, r2
        str r1, [r0, #24]
        bx lr
    function mki_call
        mov r9, sp
        ldr r0, =0x20001800
        msr psp, r0
        blx r4
        mov r0, r9
        msr psp, r0
        mov r0, r8
        movs r1, #1
        orrs r0, r1
        bx r0
    function z_mrsh_give
        push {lr}
        bl z_impl_give
        pop {pc}
    function z_impl_give
        nop
        bx lr
    function z_impl_take
        bx lr
    function irq0
        bx lr
";

fn program(text: &str) -> Program {
    Program::assembled(&format!(
        "function start
            ldr r0, =0x20001000
            msr psp, r0
            movs r0, #2
            msr control, r0
            isb
            store ISER, 1
            bl user
            finish
        {text}
        {KERNEL}"
    ))
}

/// They last from the SVC to the instruction behind it.
#[test]
fn a_system_call_begins_with_its_svc() {
    let program = program(
        "function user
            push {lr}
            ldr r4, =z_mrsh_give
            svc #0
            nop
            svc #0
            bl helper
            pop {pc}
        function helper
            b z_impl_give",
    );
    let (svc, again) = (program.address("user") + 4, program.address("user") + 8);
    let begins = |at| program.begins(at)[0];
    let cost = program.cost(API);
    let given = called(&cost, "z_mrsh_give", Outcome::Returned);
    let lasts = |at| Some(begins(at + 2) - begins(at));
    assert_eq!(sites(given), [(svc, 1, lasts(svc)), (again, 1, lasts(again))]);
    assert_eq!((given.hit, cost.open.len()), (0, 0));
    // What the system call leads to is part of it; another caller's is not.
    let plain = called(&cost, "give", Outcome::Returned);
    assert_eq!(
        sites(plain).iter().map(|site| site.0).collect::<Vec<_>>(),
        [program.address("helper")]
    );
    assert_eq!(cost.called.len(), 2);
    assert_eq!(cost.never, ["take"]);
}

#[test]
fn an_interrupt_hits_a_system_call_from_its_svc_on() {
    let program = program(
        "function user
            push {lr}
            ldr r4, =z_mrsh_give
            svc #0
            nop
            pop {pc}",
    );
    let svc = program.address("user") + 4;
    let (from, to) = (program.begins(svc)[0], program.begins(svc + 2)[0]);
    for at in [from + 2, from + 20, to - 20, to - 4] {
        let mut program = program.clone();
        program.interrupt(0, at);
        let cost = program.cost(API);
        let given = called(&cost, "z_mrsh_give", Outcome::Returned);
        assert_eq!((given.calls, given.hit), (1, 1), "{from} {at} {to}");
        assert_eq!(given.sites[0].place.address, svc);
    }
}
