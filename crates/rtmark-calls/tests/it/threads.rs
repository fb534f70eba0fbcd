//! Calls that let other threads run.

use rtmark_calls::{CalledFunction, Cycles, Outcome};

use crate::program::{CALLS, Program, called};

/// A kernel of two threads, `first` and `second`: PendSV lets the other one run. Only r0 to r3 and r12 are kept.
pub const THREADS: &str = "
    .equ OTHER, 0x20000000
    .equ FIRST_STACK, 0x20001000
    .equ SECOND_STACK, 0x20001800
    function start
        store ISER, 1
        bl begin_second
        ldr r0, =FIRST_STACK
        msr psp, r0
        movs r0, #2
        msr control, r0
        isb
        b first
    function begin_second
        ldr r0, =SECOND_STACK - 32
        ldr r1, =second
        str r1, [r0, #24]
        ldr r1, =1 << 24
        str r1, [r0, #28]
        ldr r1, =OTHER
        str r0, [r1]
        bx lr
    function pendsv
        mrs r0, psp
        ldr r1, =OTHER
        ldr r2, [r1]
        str r0, [r1]
        msr psp, r2
        bx lr
    function mk_yield
        store ICSR, ICSR_PENDSV
        nop
        nop
        bx lr
    function mki_yield
        store ICSR, ICSR_PENDSV
        nop
        nop
        bx lr
    @ Lets the other thread run wherever this one is.
    function irq0
        store ICSR, ICSR_PENDSV
        bx lr
";

/// The same, whose functions have roles.
pub const ROLES: &str =
    "name = \"k\"\ncalls = [\"mk_*\"]\ninternal = [\"mki_*\"]\nidle = [\"mkw_*\"]\n";

pub fn with_threads(text: &str) -> Program {
    Program::assembled(&[THREADS, text].concat())
}

/// Returns the summary of calls that began and ended in these cycles.
fn summary(spans: &[(u64, u64)]) -> Cycles {
    let mut cycles: Vec<u64> = spans.iter().map(|(from, to)| to - from).collect();
    cycles.sort_unstable();
    let last = cycles.len() - 1;
    let total = cycles.iter().sum();
    Cycles { min: cycles[0], median: cycles[last / 2], max: cycles[last], total }
}

fn counts(called: &CalledFunction) -> (u64, u64) {
    (called.calls, called.hit)
}

#[test]
fn a_switch_lasts_until_the_other_threads_first_instruction() {
    let program = with_threads(
        "function first
            bl mk_yield
            nop
            bl mk_yield
            finish
        function second
            bl mk_yield
            nop
            bl mk_yield",
    );
    let at = |function: &str, offset| program.begins(program.address(function) + offset)[0];
    let cost = program.cost(CALLS);
    let yielded = called(&cost, "mk_yield", Outcome::Switched);
    let spans = [
        (at("first", 0), at("second", 0)),
        (at("second", 0), at("first", 4)),
        (at("first", 6), at("second", 4)),
        // It never returns.
        (at("second", 6), at("first", 10)),
    ];
    assert_eq!((counts(yielded), yielded.cycles), ((4, 0), Some(summary(&spans))));
    assert_eq!((cost.called.len(), cost.open.len(), cost.never.len()), (1, 0, 0));
}

#[test]
fn threads_may_be_in_the_same_call() {
    let program = with_threads(
        "function first
            movs r4, #5
            b body
        function second
            b body
        function body
        1:  bl mk_yield
            subs r4, #1
            bne 1b
            finish",
    );
    let cost = program.cost(CALLS);
    let yielded = called(&cost, "mk_yield", Outcome::Switched);
    let body = program.address("body");
    let (begins, goes_on) = (program.begins(body), program.begins(body + 4));
    let second = program.begins(program.address("second"));
    let ends = second.into_iter().chain(goes_on);
    let spans: Vec<_> = begins.into_iter().zip(ends).collect();
    assert_eq!((counts(yielded), yielded.cycles), ((6, 0), Some(summary(&spans))));
    assert!(cost.open.is_empty(), "{:?}", cost.open);
}

#[test]
fn a_threads_call_is_not_hit_while_another_one_runs() {
    let program = with_threads(
        "function first
            bl mk_yield
            finish
        function second
            store ICSR, ICSR_SYSTICK
            nop
            nop
            bl mk_yield
        function systick
            bx lr",
    );
    let yielded = program.cost(CALLS);
    assert_eq!(counts(called(&yielded, "mk_yield", Outcome::Switched)), (2, 0));
}

#[test]
fn a_switch_that_an_interrupt_brought_about_is_hit() {
    let program = with_threads(
        "function first
            bl mk_f
            finish
        function mk_f
            store ISPR, 1
            nop
            nop
            bx lr
        function second
            bl mk_yield",
    );
    let cost = program.cost(CALLS);
    let f = called(&cost, "mk_f", Outcome::Switched);
    assert_eq!((counts(f), f.cycles, f.longest_began), ((1, 1), None, None));
    assert_eq!(counts(called(&cost, "mk_yield", Outcome::Switched)), (1, 0));
}

/// Hit or not, a call that the run's end leaves is one of those that switched.
#[test]
fn a_call_left_by_the_runs_end_counts_if_it_switched() {
    let program = with_threads(
        "function first
            bl mk_f
        function second
            finish
        function mk_f
            store ISPR, 1
            nop
            nop
            bx lr",
    );
    let cost = program.cost(CALLS);
    let f = called(&cost, "mk_f", Outcome::Switched);
    assert_eq!((counts(f), f.cycles), ((1, 1), None));
    assert!(cost.open.is_empty(), "{:?}", cost.open);
}

/// A kernel with privileges of its own is called by an exception that continues on another stack, and ends by one
/// that returns to the caller: FreeRTOS' MPU ports are. All of it is one call, and the next is another.
#[test]
fn a_call_through_exceptions_to_another_stack_is_one() {
    // It may end in the place of another function of the kernel's.
    for last in ["bx lr", "b mk_work"] {
        call_to_another_stack(last);
    }
}

fn call_to_another_stack(last: &str) {
    let program = with_threads(
        &[
            "    .equ CALLER, 0x20000008
        .equ CALLS_STACK, 0x20001400
        function first
            store CALLER, 0
            movs r0, #5
            bl mk_call
            nop
            bl mk_call
            nop
            finish
        function second
            b second
        function mk_call
            svc #0
        function mk_call_body
            subs r0, #1
            bne mk_call_body
            ",
            last,
            "
        function mki_leave
            svc #1
            b mki_leave
        function mk_work
            nop
            bx lr
        function svcall
            mrs r0, psp
            ldr r1, =CALLER
            ldr r2, [r1]
            cmp r2, #0
            bne 1f
            @ Continues with mk_call_body, which returns to mki_leave.
            str r0, [r1]
            ldr r2, [r0]
            ldr r1, =CALLS_STACK - 32
            str r2, [r1]
            ldr r2, =mki_leave
            str r2, [r1, #20]
            ldr r2, =mk_call_body
            str r2, [r1, #24]
            ldr r2, =1 << 24
            str r2, [r1, #28]
            msr psp, r1
            bx lr
            @ Returns to the caller.
        1:  movs r3, #0
            str r3, [r1]
            ldr r3, [r2, #20]
            subs r3, #1
            str r3, [r2, #24]
            msr psp, r2
            bx lr",
        ]
        .concat(),
    );
    let first = program.address("first");
    let spans =
        [8, 14].map(|call| [call, call + 4].map(|offset| program.begins(first + offset)[0]).into());
    let api = ROLES.replace("\"mki_*\"", "\"mki_*\", \"mk_*_body\"");
    let cost = program.cost(&[&api, "carries_out = [\"mk_*_body\"]\n"].concat());
    let carried = called(&cost, "mk_call", Outcome::Returned);
    assert_eq!(counts(carried), (2, 0));
    assert_eq!(carried.cycles, Some(summary(&spans)));
    assert_eq!(cost.called.len(), 1, "{last}");
    // All but BL is the kernel's.
    assert_eq!(
        cost.shares.kernel,
        spans.iter().map(|(began, ended)| ended - began - 3).sum::<u64>()
    );
}

#[test]
fn a_call_during_which_only_the_kernels_own_thread_ran_returned() {
    let program = with_threads(
        "function first
            bl mk_yield
            finish
        function second
            b mki_worker
        function mk_unused
            bx lr
        function mki_worker
            nop
            bl mki_yield",
    );
    let own = ROLES.replace("mki_*\"", "mki_*\", \"second\"");
    let cost = program.cost(&own);
    let yielded = called(&cost, "mk_yield", Outcome::Returned);
    assert_eq!((counts(yielded), yielded.cycles), ((1, 1), None));
    assert_eq!((cost.called.len(), cost.never), (1, vec!["mk_unused".to_owned()]));
}

/// FreeRTOS's timer task: what it calls belongs to nobody, what an expired timer's function calls does.
#[test]
fn a_kernels_timer_task_is_the_kernels_and_its_functions_are_the_applications() {
    let shares = |more: &str| {
        let program = Program::assembled(&format!(
            "function start
                bl prvTimerTask
                finish
            function prvTimerTask
                mov r7, lr
                {more}
                bl xQueueReceive
                bl vClearInterruptMask
                bl expired
                bx r7
            function vClearInterruptMask
                {more}
                bx lr
            function expired
                mov r6, lr
                bl xTaskResumeAll
                bx r6
            function xQueueReceive
                bx lr
            function xTaskResumeAll
                bx lr"
        ));
        let cost = program.cost(include_str!("../../kernels/freertos.toml"));
        let names: Vec<&str> = cost.called.iter().map(|one| one.function.as_str()).collect();
        assert_eq!(names, ["xTaskResumeAll"]);
        cost.shares
    };
    assert_eq!(shares("nop").kernel, shares("").kernel + 2);
}

#[test]
fn the_idle_thread_ends_a_switch() {
    let program = with_threads(
        "function first
            bl mk_yield
            finish
        function second
            nop
            bl mki_yield",
    );
    let cost = program.cost(&ROLES.replace("mkw_*", "second"));
    let yielded = called(&cost, "mk_yield", Outcome::Switched);
    let begins = |function: &str| program.begins(program.address(function))[0];
    let spans = [(begins("first"), begins("second"))];
    assert_eq!((counts(yielded), yielded.cycles), ((1, 0), Some(summary(&spans))));
}

/// A function that waits in a loop to its own beginning has been called once.
#[test]
fn a_call_that_begins_anew_after_a_switch_is_the_same() {
    let program = with_threads(
        "function first
            movs r4, #2
            bl mk_wait
            finish
        function mk_wait
            store ICSR, ICSR_PENDSV
            nop
            nop
            subs r4, #1
            bne mk_wait
            bx lr
        function second
        1:  bl mk_yield
            b 1b",
    );
    let cost = program.cost(CALLS);
    let waited = called(&cost, "mk_wait", Outcome::Switched);
    let first = program.begins(program.address("first") + 2)[0];
    let spans = [(first, program.begins(program.address("second"))[0])];
    assert_eq!((counts(waited), waited.cycles), ((1, 0), Some(summary(&spans))));
}

/// The next thread on the stack of one that has ended makes a call of its own, from the same place.
#[test]
fn a_thread_that_ended_leaves_its_call_behind() {
    let program = with_threads(
        "function first
            bl mk_yield
            bl begin_second
            bl mk_yield
            finish
        function second
            bl leave
        function leave
            nop
            b mk_exit
        function after
            nop
        function mk_exit
            store ICSR, ICSR_PENDSV
            nop
            nop
            b .",
    );
    let cost = program.cost(CALLS);
    let [first, leave] = ["first", "leave"].map(|function| program.address(function));
    let (left, back) = (program.begins(leave + 2), [first + 4, first + 12]);
    let spans = [0, 1].map(|at| (left[at], program.begins(back[at])[0]));
    let exited = called(&cost, "mk_exit", Outcome::Switched);
    assert_eq!((counts(exited), exited.cycles), ((2, 0), Some(summary(&spans))));
    assert_eq!(counts(called(&cost, "mk_yield", Outcome::Switched)), (2, 0));
    assert!(cost.open.is_empty(), "{:?}", cost.open);
}
