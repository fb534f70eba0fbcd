//! Kernel code that the compiler has inlined: its cycles are those of its NOPs.

use rtmark_calls::{KernelCost, Outcome, Shares};

use crate::program::{called, compiled};

const API: &str = "name = \"k\"\ncalls = [\"mk_*\"]\ninternal = [\"mki_*\"]\napplication = [\"mk_app*\"]\n\
                   strip = \"mk_impl_\"\n";

/// Returns each inlined function, with the one that contains it, and its cycles.
fn inlined(cost: &KernelCost) -> Vec<(&str, &str, u64)> {
    let all = cost.inlined.iter();
    all.map(|one| (one.function.as_str(), one.caller.as_str(), one.cycles)).collect()
}

#[test]
fn inlined_code_has_its_instructions_cycles() {
    let program = compiled(
        "INLINED mk_impl_short(void) { NOPS(5); }
        INLINED mk_long(void) { NOPS(20); mk_impl_short(); }
        INLINED mki_within(void) { NOPS(50); }
        INLINED mk_app_own(void) { NOPS(70); mk_impl_short(); }
        INLINED helper(void) { NOPS(90); mk_impl_short(); }
        FUNCTION mk_f(void) { NOPS(3); mk_impl_short(); }
        FUNCTION worker(void)
        {
            NOPS(7);
            mk_impl_short();
            NOPS(7);
            mk_long();
            mki_within();
            mk_app_own();
            helper();
        }
        FUNCTION start(void)
        {
            worker();
            NOPS(2);
            worker();
            mk_f();
            mk_long();
            finish();
        }",
    );
    let cost = program.cost(API);
    let expected =
        [("mk_long", "worker", 2 * 25), ("short", "worker", 2 * 3 * 5), ("mk_long", "start", 25)];
    assert_eq!(inlined(&cost), expected);
    // In a function of the kernel it is part of that. NOPs, BX.
    let of_f = 3 + 5 + 2;
    let f = called(&cost, "mk_f", Outcome::Returned);
    assert_eq!(f.cycles.map(|cycles| cycles.total), Some(3 + of_f));
    assert_eq!(cost.shares.kernel, 50 + 30 + 25 + 2 * 50 + of_f);
}

/// What inlined code calls is a call as any other, and no part of the inlined code.
#[test]
fn inlined_code_may_call() {
    let program = compiled(
        "FUNCTION mk_f(void) { NOPS(9); }
#line 40 \"app.c\"
        INLINED mk_wrap(void) { NOPS(4); mk_f(); NOPS(4); }
        FUNCTION start(void) { NOPS(1); mk_wrap(); finish(); }",
    );
    let cost = program.cost(API);
    // With BL.
    assert_eq!(inlined(&cost), [("mk_wrap", "start", 4 + 3 + 4)]);
    let f = called(&cost, "mk_f", Outcome::Returned);
    assert_eq!((f.calls, f.cycles.map(|cycles| cycles.total)), (1, Some(3 + 9 + 2)));
    let place = &f.sites[0].place;
    assert_eq!(place.function.as_deref(), Some("start"));
    let line = place.line.as_ref().expect("debug information");
    assert!(line.file.ends_with("app.c") && line.line == 41, "{line}");
    assert_eq!(place.inlined, ["mk_wrap"]);
}

/// A dispatcher's tasks are the application's, whether the compiler has inlined the kernel's
/// function or not. What a task calls there is a call.
#[test]
fn what_the_kernel_calls_back_is_the_applications_where_it_is_inlined() {
    let api = [API, "calls_back = [\"mki_run\"]\n"].concat();
    let program = |nops: u32, run: &str| {
        compiled(&format!(
            "FUNCTION mk_f(void) {{ NOPS(9); }}
            INLINED queue(void) {{ NOPS(7); }}
            INLINED mk_impl_short(void) {{ NOPS(5); }}
            INLINED task(void) {{ NOPS({nops}); mk_impl_short(); mk_f(); queue(); }}
            {run} mki_run(void) {{ NOPS(3); task(); NOPS(3); }}
            FUNCTION start(void) {{ mki_run(); finish(); }}"
        ))
        .cost(&api)
    };
    for run in ["INLINED", "FUNCTION"] {
        let [plain, longer] = [4, 14].map(|nops| program(nops, run));
        assert_eq!(longer.shares.application, plain.shares.application + 10, "{run}");
        assert_eq!(longer.shares.kernel, plain.shares.kernel, "{run}");
        assert_eq!(called(&plain, "mk_f", Outcome::Returned).calls, 1, "{run}");
        let called_back = 4 + 3 + 7;
        assert!((called_back..called_back + 20).contains(&plain.shares.application), "{plain:?}");
        assert!(plain.shares.kernel >= 3 + 5 + 9 + 3, "{plain:?}");
    }
    assert_eq!(inlined(&program(4, "INLINED")), [("short", "start", 5)]);
}

/// Neither handlers nor sleep are part of the inlined code that they interrupt.
#[test]
fn handlers_and_sleep_are_no_inlined_code() {
    let mut program = compiled(
        "INLINED mk_long(void) { NOPS(60); }
        INLINED mk_in_handler(void) { NOPS(6); }
        INLINED mk_sleep(void) { NOPS(9); __asm__ volatile(\"wfi\"); NOPS(9); }
        FUNCTION irq0(void) { NOPS(20); mk_in_handler(); }
        FUNCTION start(void)
        {
            *(volatile unsigned *)0xE000E100 = 1;
            NOPS(4);
            mk_long();
            NOPS(4);
            mk_sleep();
            finish();
        }",
    );
    program.interrupt(0, 40);
    let cost = |until: u64| {
        let mut program = program.clone();
        program.interrupt(0, until);
        program.cost(API)
    };
    let (shorter, longer) = (cost(300), cost(400));
    let found = inlined(&shorter);
    assert_eq!(found[..2], [("mk_long", "start", 60), ("mk_sleep", "start", found[1].2)]);
    assert_eq!(found[2..], [("mk_in_handler", "irq0", 2 * 6)]);
    assert!((19..=20).contains(&found[1].2), "{found:?}");
    assert_eq!(inlined(&longer), found);
    let Shares { idle, .. } = shorter.shares;
    assert_eq!(longer.shares, Shares { idle: idle + 100, ..shorter.shares });
}

#[test]
fn without_debug_information_nothing_is_inlined() {
    let text = "INLINED mk_long(void) { NOPS(20); }
        FUNCTION start(void) { NOPS(1); mk_long(); finish(); }";
    let cost = compiled(&format!("{text}\n")).without_debug_information().cost(API);
    assert_eq!((cost.inlined.len(), cost.shares.kernel), (0, 0));
}
