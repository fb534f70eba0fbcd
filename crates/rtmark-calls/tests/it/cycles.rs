//! Calls without threads: their cycles are those that the Cortex-M0+'s manual gives for their instructions
//! (DDI 0484, 3.3): BL takes 3, BX, BLX and a taken branch 2, a load or store 2, MSR and MRS 3, others here 1.

use rtmark_calls::{CalledFunction, Cycles, Origin, Outcome, Shares};

use crate::program::{CALLS, Program, called, sites};

#[test]
fn a_call_takes_the_cycles_of_its_instructions() {
    let program = Program::assembled(
        "function start
            movs r0, #1
            bl mk_spin
            movs r0, #4
            bl mk_spin
            movs r0, #2
            bl mk_spin
            movs r4, #2
        1:  movs r0, #3
            bl mk_spin
            subs r4, #1
            bne 1b
            movs r0, #4
            bl mk_spin
            finish
        function mk_spin
        1:  subs r0, #1
            bne 1b
            bx lr
        function mk_unused
            bx lr",
    );
    let cost = program.cost(CALLS);
    let start = program.address("start");
    // BL, n SUBS, n - 1 branches that are taken, one that is not, BX.
    let spin = |n: u64| 3 + n + 2 * (n - 1) + 1 + 2;
    let spun = called(&cost, "mk_spin", Outcome::Returned);
    let total = spin(1) + spin(2) + 2 * spin(3) + 2 * spin(4);
    let expected = Cycles { min: spin(1), median: spin(3), max: spin(4), total };
    assert_eq!((spun.calls, spun.hit, spun.cycles), (6, 0, Some(expected)));
    assert_eq!(spun.from, Origin::Thread);
    // The first of those that are equally long.
    assert_eq!(spun.longest_began, Some(program.begins(start + 8)[0]));
    let site = |offset: u32, calls, n| (start + offset, calls, Some(spin(n)));
    // The most frequent first, then by address.
    let expected = [site(22, 2, 3), site(2, 1, 1), site(8, 1, 4), site(14, 1, 2), site(32, 1, 4)];
    assert_eq!(sites(spun), expected);
    assert_eq!((cost.called.len(), cost.never), (1, vec!["mk_unused".to_owned()]));
    assert_eq!(cost.shares.kernel, total - 6 * 3, "BL is the application's");
}

#[test]
fn the_median_of_an_even_number_is_the_lower_one() {
    let calls = |values: &[u64]| {
        let call = |n: &u64| format!("movs r0, #{n}\nbl mk_spin\n");
        let calls = values.iter().map(call).collect::<Vec<_>>().concat();
        let spin = "function mk_spin\n1: subs r0, #1\nbne 1b\nbx lr\n";
        let program = Program::assembled(&format!("function start\n{calls}finish\n{spin}"));
        called(&program.cost(CALLS), "mk_spin", Outcome::Returned).cycles.expect("cycles").median
    };
    assert_eq!([calls(&[3, 1]), calls(&[4, 1, 3, 2])], [7, 10]);
}

#[test]
fn a_branch_begins_a_tail_call_and_a_register_may_hold_the_function() {
    let program = Program::assembled(
        "function start
            bl step
            ldr r3, =mk_f
            blx r3
            finish
        function mk_f
            nop
            bx lr
        function step
            nop
            b mk_f",
    );
    let cost = program.cost(CALLS);
    let f = called(&cost, "mk_f", Outcome::Returned);
    // B or BLX, NOP, BX.
    assert_eq!(f.cycles, Some(Cycles { min: 5, median: 5, max: 5, total: 10 }));
    let [start, step] = ["start", "step"].map(|name| program.address(name));
    let mut expected = vec![(start + 6, 1, Some(5)), (step + 2, 1, Some(5))];
    expected.sort_unstable();
    assert_eq!(sites(f), expected);
}

#[test]
fn only_the_outermost_call_counts() {
    let program = Program::assembled(
        "function start
            bl mk_outer
            movs r0, #3
            bl mk_down
            finish
        function mk_outer
            mov r7, lr
            bl mk_inner
            bl helper
            bx r7
        function mk_inner
            nop
            bx lr
        function helper
            nop
            nop
            bx lr
        function mk_down
            mov r4, lr
            push {r4}
            subs r0, #1
            beq 1f
            bl mk_down
        1:  pop {r4}
            bx r4",
    );
    let cost = program.cost(CALLS);
    let cycles = |name: &str| {
        let one = called(&cost, name, Outcome::Returned);
        (one.calls, one.cycles.expect("not interrupted").total)
    };
    assert_eq!(cycles("mk_outer"), (1, 3 + 1 + (3 + 1 + 2) + (3 + 2 + 2) + 2));
    // MOV, PUSH, SUBS, BEQ, POP, BX at each depth; BL thrice; the last BEQ is taken.
    assert_eq!(cycles("mk_down"), (1, 3 * (3 + 1 + 2 + 1 + 1 + 2 + 2) + 1));
    assert_eq!((cost.called.len(), cost.never.len(), cost.open.len()), (2, 0, 0));
    assert_eq!(cost.called[0].function, "mk_down", "the most cycles first");
}

/// What no instruction has called is the kernel's, but no call.
#[test]
fn falling_through_into_a_function_is_no_call() {
    let program = Program::assembled(
        "function start
            bl before
            finish
        function before
            nop
        function mk_f
            nop
            bx lr",
    );
    let cost = program.cost(CALLS);
    assert_eq!((cost.called.len(), cost.open.len(), cost.never.len()), (0, 0, 0));
    assert_eq!(cost.shares.kernel, 1 + 2);
}

#[test]
fn a_loop_to_a_functions_beginning_is_part_of_its_call() {
    let program = Program::assembled(
        "function start
            movs r0, #3
            bl mk_f
            finish
        function mk_f
            subs r0, #1
            bne mk_f
            bx lr",
    );
    let cost = program.cost(CALLS);
    let f = called(&cost, "mk_f", Outcome::Returned);
    assert_eq!((f.calls, f.cycles.map(|cycles| cycles.total)), (1, Some(3 + 3 + 2 * 2 + 1 + 2)));
    assert!(cost.open.is_empty(), "{:?}", cost.open);
}

/// A jump such as longjmp leaves two calls; the third one returns.
#[test]
fn calls_that_never_return_are_open() {
    let program = Program::assembled(
        "function start
            movs r4, #0
        1:  adds r4, #1
            bl mk_f
            bl mk_g
        function mk_f
            cmp r4, #3
            bne 1b
            bx lr
        function mk_g
            b mk_g
        function mk_h
            bx lr",
    );
    let cost = program.cost(CALLS);
    let f = called(&cost, "mk_f", Outcome::Returned);
    assert_eq!((f.calls, f.cycles.map(|cycles| cycles.max)), (1, Some(3 + 1 + 1 + 2)));
    assert_eq!(cost.open, [("mk_f".to_owned(), 2), ("mk_g".to_owned(), 1)]);
    assert_eq!(cost.never, ["mk_h"]);
}

#[test]
fn copies_that_the_compiler_has_specialised_have_rows_of_their_own() {
    let program = Program::assembled(
        "function start
            bl mk_step
            bl mk_step.isra.0
            finish
        function mk_step
            nop
            bx lr
        function mk_step.isra.0
            nop
            nop
            bx lr",
    );
    let cost = program.cost(CALLS);
    let row = |one: &CalledFunction| (one.function.clone(), one.symbol.clone(), one.cycles);
    let expected = [("mk_step.isra.0", 7), ("mk_step", 6)].map(|(symbol, n)| {
        let cycles = Cycles { min: n, median: n, max: n, total: n };
        ("mk_step".to_owned(), symbol.to_owned(), Some(cycles))
    });
    assert_eq!(cost.called.iter().map(row).collect::<Vec<_>>(), expected);
    assert!(cost.never.is_empty(), "{:?}", cost.never);
}

/// Places between < and > may be longer.
const SHARED: &str = "
    function start
        <start>
        store ISER, 1
        bl helper
        bl mk_f
        bl mk_each
        bl mki_each
        bl mkw_idle
        bl mk_app
        svc #0
        store ISPR, 1
        store ICSR, ICSR_PENDSV
        store ICSR, ICSR_SYSTICK
        nop
        nop
        finish
    function helper
        <helper>
        bx lr
    function mk_f
        <mk_f>
        mov r7, lr
        bl below
        bx r7
    function below
        <below>
        bx lr
    function mk_each
        <mk_each>
        mov r7, lr
        bl visit
        bl mki_g
        bx r7
    function mki_each
        mov r7, lr
        bl also_visit
        bx r7
    function visit
        <visit>
        bx lr
    function also_visit
        <also_visit>
        bx lr
    function mki_g
        <mki_g>
        bx lr
    function mkw_idle
        <mkw_idle>
        bx lr
    function mk_app
        <mk_app>
        bx lr
    function svcall
        <svcall>
        bx lr
    function pendsv
        <pendsv>
        bx lr
    function systick
        <systick>
        push {r4, lr}
        bl of_systick
        bl mk_f
        pop {r4, pc}
    function of_systick
        <of_systick>
        bx lr
    function irq0
        <irq0>
        bx lr
";

#[test]
fn a_function_of_which_one_copy_ran_was_called() {
    let program = Program::assembled(
        "function start
            bl mk_f
            bl mk_g
            finish
        function mk_f
            bx lr
        function mk_f.isra.0
            bx lr
        function mk_g
            b mk_g
        function mk_g.isra.0
            bx lr
        function mk_h.isra.0
            bx lr",
    );
    let cost = program.cost(CALLS);
    assert_eq!((cost.never, cost.open), (vec!["mk_h".to_owned()], vec![("mk_g".to_owned(), 1)]));
}

/// Eight more instructions in one place take eight more cycles of one share.
#[test]
fn each_cycle_belongs_to_whoever_spends_it() {
    const API: &str = "name = \"k\"\ncalls = [\"mk_*\"]\ninternal = [\"mki_*\"]\nidle = [\"mkw_*\"]\n\
                       calls_back = [\"mk_each\", \"mki_each\"]\napplication = [\"mk_app*\"]\n";
    let shares = |longer: &str| {
        let nops = "nop\n".repeat(8);
        let mut text = SHARED.replace(&format!("<{longer}>"), &nops);
        while let (Some(from), Some(to)) = (text.find('<'), text.find('>')) {
            text.replace_range(from..=to, "");
        }
        Program::assembled(&text).cost(API).shares
    };
    let plain = shares("");
    let more = |place: &str| {
        let Shares { application, interrupts, kernel, idle } = shares(place);
        [
            application - plain.application,
            interrupts - plain.interrupts,
            kernel - plain.kernel,
            idle - plain.idle,
        ]
    };
    for place in ["start", "helper", "visit", "also_visit", "mk_app"] {
        assert_eq!(more(place), [8, 0, 0, 0], "{place}");
    }
    for place in ["systick", "of_systick", "irq0"] {
        assert_eq!(more(place), [0, 8, 0, 0], "{place}");
    }
    for place in ["mk_each", "mki_g", "svcall", "pendsv"] {
        assert_eq!(more(place), [0, 0, 8, 0], "{place}");
    }
    for place in ["mk_f", "below"] {
        assert_eq!(more(place), [0, 0, 16, 0], "by the program and by SysTick: {place}");
    }
    assert_eq!(more("mkw_idle"), [0, 0, 0, 8]);
}

/// What an idle thread does is idle, also in the kernel's functions; and a loop is idle once it has been found to be.
#[test]
fn what_the_kernel_does_for_want_of_anything_else_is_idle() {
    const API: &str = "name = \"k\"\ncalls = [\"mk_*\"]\ninternal = [\"mki_*\"]\nidle = [\"mkw_*\"]\n\
                       idle_loop = [\"mki_main\"]\n";
    const TEXT: &str = "
        function start
            bl mki_other
            bl mki_main
            finish
        function mki_main
            mov r7, lr
            <mki_main>
            bl mki_f
            bl mkw_idle
            <then>
            bl mki_f
            bl mk_f
            bl mki_after
            bl mkw_idle
            bx r7
        function mki_other
            mov r7, lr
            bl mkw_idle
            <mki_other>
            bx r7
        function mki_f
            <mki_f>
            bx lr
        function mki_after
            <mki_after>
            bx lr
        function mk_f
            <mk_f>
            bx lr
        function mkw_idle
            mov r6, lr
            bl mki_check
            bx r6
        function mki_check
            <mki_check>
            bx lr
    ";
    let cost = |longer: &str| {
        let mut text = TEXT.replace(&format!("<{longer}>"), &"nop\n".repeat(8));
        while let (Some(from), Some(to)) = (text.find('<'), text.find('>')) {
            text.replace_range(from..=to, "");
        }
        Program::assembled(&text).cost(API)
    };
    let plain = cost("");
    assert!(plain.called.is_empty() && plain.never.is_empty(), "{:?}", plain.never);
    for (place, expected) in [
        ("mki_main", [8, 0]),
        ("mki_other", [8, 0]),
        ("mki_f", [8, 8]),
        ("then", [0, 8]),
        ("mk_f", [0, 8]),
        ("mki_after", [0, 8]),
        ("mki_check", [0, 24]),
    ] {
        let Shares { application, interrupts, kernel, idle } = cost(place).shares;
        assert_eq!([kernel - plain.shares.kernel, idle - plain.shares.idle], expected, "{place}");
        assert_eq!((application, interrupts), (plain.shares.application, 0), "{place}");
    }
}

/// What an application's function calls on behalf of the kernel is a call, what the kernel itself calls is none.
#[test]
fn calls_back_are_the_applications() {
    let program = Program::assembled(
        "function start
            bl mk_each
            finish
        function mk_each
            mov r7, lr
            bl mk_f
            bl visit
            bx r7
        function visit
            mov r6, lr
            bl mk_f
            bx r6
        function mk_f
            nop
            bx lr",
    );
    let cost = program.cost(&[CALLS, "calls_back = [\"mk_each\"]\n"].concat());
    let visit = program.address("visit");
    // BL, NOP, BX.
    let f = 3 + 1 + 2;
    assert_eq!(sites(called(&cost, "mk_f", Outcome::Returned)), [(visit + 2, 1, Some(f))]);
    // With the call back: BL, MOV, BL, BX.
    let each = 3 + 1 + f + (3 + 1 + f + 2) + 2;
    let start = program.address("start");
    assert_eq!(sites(called(&cost, "mk_each", Outcome::Returned)), [(start, 1, Some(each))]);
    assert_eq!(cost.shares.kernel, each - 3 - (1 + 3 + 2));
}

#[test]
fn code_without_a_symbol_is_the_applications() {
    let application = |more: usize| {
        let program = Program::assembled(&format!(
            "function start
                b 1f
                .size start, . - start
                nop
            1:  bl mk_f
                .rept {more}
                nop
                .endr
                finish
            function mk_f
                bx lr"
        ));
        let cost = program.cost(CALLS);
        assert_eq!(called(&cost, "mk_f", Outcome::Returned).from, Origin::Thread);
        assert_eq!((cost.shares.kernel, cost.shares.interrupts), (2, 0));
        cost.shares.application
    };
    assert_eq!(application(8), application(0) + 8);
}

#[test]
fn sleep_is_nobodys() {
    let asleep = |until: u64| {
        let mut program = Program::assembled(
            "function start
                store ISER, 1
                wfi
                finish
            function irq0
                bx lr",
        );
        program.interrupt(0, until);
        program.cost(CALLS).shares
    };
    let (shorter, longer) = (asleep(100), asleep(150));
    assert_eq!(longer, Shares { idle: shorter.idle + 50, ..shorter });
    assert!((80..100).contains(&shorter.idle), "{shorter:?}");
}
