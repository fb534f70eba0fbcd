//! Calls that handlers interrupt, and calls that handlers make.

use rtmark_calls::{Origin, Outcome};

use crate::program::{CALLS, Program, called, sites};

/// At whatever moment an interrupt arrives, there is one call, which is hit if the handler began in it.
#[test]
fn an_interrupt_in_a_call_hits_it() {
    let text = "function start
            store ISER, 1
            b caller
        function caller
            .rept 9
            nop
            .endr
            bl mk_f
            .rept 9
            nop
            .endr
            finish
        function mk_f
            push {r4-r7}
            nop
            pop {r4-r7}
            bx lr
        function irq0
            bx lr";
    let tail_call = text.replace("bl mk_f", "bl leave") + "\nfunction leave\nb mk_f\n";
    for (build, text) in [
        (Program::assembled as fn(&str) -> Program, text),
        (Program::assembled_for_m3, text),
        (Program::assembled, &tail_call),
    ] {
        let quiet = build(text);
        let caller = quiet.address("caller");
        let after = caller + 22;
        let is_tail = text == tail_call;
        let site = if is_tail { quiet.address("leave") } else { caller + 18 };
        let [began, returned] = [site, after].map(|address| quiet.begins(address)[0]);
        let (mut hit, mut missed) = (0, 0);
        for at in began - 8..returned + 4 {
            let mut program = quiet.clone();
            program.interrupt(0, at);
            let handled = program.begins(program.address("irq0"))[0];
            // An interrupted instruction begins again.
            let begins = *program.begins(site).last().expect("it calls");
            let is_hit = (begins..program.begins(after)[0]).contains(&handled);
            let cost = program.cost(CALLS);
            let f = called(&cost, "mk_f", Outcome::Returned);
            assert_eq!((f.calls, f.hit), (1, u64::from(is_hit)), "{at}");
            let cycles = f.cycles.map(|cycles| cycles.total);
            assert_eq!(cycles, (!is_hit).then_some(returned - began), "{at}");
            assert_eq!(sites(f), [(site, 1, cycles)], "{at}");
            assert_eq!(f.longest_began, (!is_hit).then_some(begins), "{at}");
            if is_hit { hit += 1 } else { missed += 1 }
        }
        assert!(hit > 8 && missed > 8, "{hit} and {missed}");
    }
}

/// Also the kernel's own, which the call cannot have raised before its first instruction.
#[test]
fn exceptions_before_a_functions_first_instruction_hit_its_call() {
    let rule =
        "[[equal]]\nscenario = \"mutex.lock.immediate\"\ncalls = [\"mk_f\"]\nthen = \"returns\"\n";
    let program = |ticks: u32, control: u32| {
        Program::assembled(&format!(
            "function start
                store ISER, 1
                store 0xE000E014, {ticks}
                store 0xE000E018, 0
                store 0xE000E010, {control}
                b caller
            function caller
                .rept 9
                nop
                .endr
                bl mk_f
                .rept 30
                nop
                .endr
                finish
            function mk_f
                nop
                bx lr
            function systick
                store 0xE000E010, 0
                bx lr
            function irq0
                store ICSR, ICSR_PENDSV
                bx lr
            function pendsv
                bx lr"
        ))
    };
    let ticking = (5..30).map(|ticks| program(ticks, 7));
    let interrupted = (20..50).map(|at| {
        let mut program = program(1, 0);
        program.interrupt(0, at);
        program
    });
    let assert_hit =
        |mut programs: Box<dyn Iterator<Item = Program>>, last: &str, hits: (u64, u64)| {
            let is_between = |program: &Program| {
                let call = program.begins(program.address("caller") + 18)[0];
                let [handler, function] =
                    [last, "mk_f"].map(|name| program.begins(program.address(name))[0]);
                call < handler && handler < function
            };
            let program = programs.find(is_between).expect("at some moment");
            let site = program.address("caller") + 18;
            let span = program.begins(site + 4)[0] - program.begins(site)[0];
            let cost = program.cost(&[CALLS, rule].concat());
            let f = called(&cost, "mk_f", Outcome::Returned);
            assert_eq!((f.calls, f.hit, sites(f)), (1, 1, vec![(site, 1, None)]), "{last}");
            let timed = &cost.equal[0].calls[0];
            assert_eq!((timed.cycles, (timed.ticks, timed.interrupts)), (span, hits), "{last}");
        };
    assert_hit(Box::new(ticking), "systick", (1, 0));
    assert_hit(Box::new(interrupted), "pendsv", (0, 2));
}

/// The kernel's own exceptions are part of the call that raises them.
#[test]
fn only_other_exceptions_than_the_kernels_hit() {
    for (raise, hit) in [
        ("svc #0", 0),
        ("store ICSR, ICSR_PENDSV", 0),
        ("store ICSR, ICSR_SYSTICK", 1),
        ("store ISPR, 1", 1),
    ] {
        let program = Program::assembled(&format!(
            "function start
                store ISER, 1
                bl mk_f
                finish
            function mk_f
                {raise}
                nop
                nop
                bx lr
            function svcall
                bx lr
            function pendsv
                bx lr
            function systick
                bx lr
            function irq0
                bx lr"
        ));
        let cost = program.cost(CALLS);
        let start = program.address("start");
        let f = called(&cost, "mk_f", Outcome::Returned);
        let span = program.begins(start + 10)[0] - program.begins(start + 6)[0];
        assert_eq!((f.calls, f.hit), (1, hit), "{raise}");
        let cycles = f.cycles.map(|cycles| cycles.total);
        assert_eq!(cycles, (hit == 0).then_some(span), "{raise}");
        assert_eq!(sites(f), [(start + 6, 1, cycles)], "{raise}");
    }
}

#[test]
fn calls_of_handlers_are_rows_of_their_own() {
    let text = |more_urgent: &str| {
        format!(
            "function start
                store ISER, 3
                store 0xE000E400, 0x00C0
                store ISPR, 1
                nop
                nop
                bl mk_f
                finish
            function irq0
                mov r7, lr
                bl mk_f
                bl mk_g
                bx r7
            function mk_f
                nop
                bx lr
            function mk_g
                {more_urgent}
                nop
                nop
                bx lr
            function irq1
                bx lr"
        )
    };
    let program = Program::assembled(&text(""));
    let cost = program.cost(CALLS);
    let rows = cost.called.iter();
    let mut rows: Vec<_> = rows.map(|one| (one.function.as_str(), one.from, one.calls)).collect();
    rows.sort_unstable();
    let expected = [
        ("mk_f", Origin::Thread, 1),
        ("mk_f", Origin::Interrupt, 1),
        ("mk_g", Origin::Interrupt, 1),
    ];
    assert_eq!(rows, expected);
    for one in &cost.called {
        let cycles = if one.function == "mk_f" { 3 + 1 + 2 } else { 3 + 2 + 2 };
        assert_eq!((one.hit, one.cycles.map(|it| it.total)), (0, Some(cycles)), "{one:?}");
    }
    // A more urgent handler interrupts one of them.
    let cost = Program::assembled(&text("store ISPR, 2")).cost(CALLS);
    let hit = |one: &&rtmark_calls::CalledFunction| one.hit == 1;
    let hit: Vec<_> = cost.called.iter().filter(hit).map(|one| one.function.as_str()).collect();
    assert_eq!(hit, ["mk_g"]);
}

/// A kernel's function may end the handler that called it.
#[test]
fn a_handlers_call_that_ends_the_handler_stays_open() {
    let program = Program::assembled(
        "function start
            store ISER, 1
            movs r4, #2
        1:  store ISPR, 1
            nop
            nop
            bl mk_f
            subs r4, #1
            bne 1b
            finish
        function irq0
            push {r4, lr}
            bl mk_end
        function mk_f
            nop
            bx lr
        function mk_end
            pop {r4, pc}",
    );
    let cost = program.cost(CALLS);
    assert_eq!(cost.open, [("mk_end".to_owned(), 2)]);
    let f = called(&cost, "mk_f", Outcome::Returned);
    assert_eq!((cost.called.len(), f.calls, f.cycles.map(|it| it.max)), (1, 2, Some(3 + 1 + 2)));
}
