//! A kernel's functions by their names.

use rtmark_calls::{Api, Outcome};

use crate::program::{CALLS, Program};

fn api(text: &str) -> Api {
    Api::from_toml("k.toml", text).expect("a kernel's file")
}

fn program_of(functions: &[&str]) -> Program {
    let function = |name: &&str| format!("function {name}\nbx lr\n");
    let functions = functions.iter().map(function).collect::<Vec<_>>().concat();
    Program::assembled(&format!("function start\nfinish\n{functions}"))
}

#[test]
fn a_kernel_is_recognised_by_its_symbols() {
    let recognised = |functions: &[&str]| {
        let known = Api::builtin().expect("good");
        Api::recognise(&known, program_of(functions).symbols()).map(|api| api.id.clone())
    };
    assert_eq!(recognised(&["vTaskSwitchContext"]).as_deref(), Some("freertos"));
    assert_eq!(recognised(&["vTaskSwitchContext.part.0"]).as_deref(), Some("freertos"));
    assert_eq!(recognised(&["main", "sched_run"]).as_deref(), Some("riot"));
    // Those whose functions other programs use as well come last.
    assert_eq!(recognised(&["__pender", "z_cstart"]).as_deref(), Some("zephyr"));
    assert_eq!(recognised(&["vTaskSwitch", "main"]), None);
}

#[test]
fn patterns_without_a_function_are_told_with_their_keys() {
    let api = api(
        "name = \"k\"\ncalls = [\"mk_*\", \"mk_g\"]\ninternal = [\"mki_f\", \"mki_i\"]\n\
                   idle = [\"mkw_*\"]\napplication = [\"mk_app\"]\ncalls_back = [\"mk_f\", \"mk_h\"]\n",
    );
    let unmatched = |program: &Program, with_lines: bool| {
        let lines = program.lines().filter(|_| with_lines);
        let all = api.unmatched(program.symbols(), lines.as_ref());
        let all = all.into_iter().map(|(key, pattern)| format!("{key}: {pattern}"));
        all.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        unmatched(&program_of(&["mk_f.isra.0", "mki_f", "mkw_a"]), true),
        "calls: mk_g, internal: mki_i, application: mk_app, calls_back: mk_h"
    );
    let inlined = Program::compiled(
        "static inline __attribute__((always_inline)) void mki_i(void) { __asm__ volatile(\"nop\"); }
        void mk_f(void) {}
        void start(void) { mki_i(); }",
    );
    let more = "idle: mkw_*, application: mk_app, calls_back: mk_h";
    assert_eq!(unmatched(&inlined, true), format!("calls: mk_g, internal: mki_f, {more}"));
    assert_eq!(
        unmatched(&inlined, false),
        format!("calls: mk_g, internal: mki_f, internal: mki_i, {more}")
    );
}

#[test]
fn calls_resemble_a_scenario_by_function_and_outcome() {
    let near = |calls: &str, then: &str| {
        format!(
            "[[near]]\nscenario = \"{calls}.{then}\"\ncalls = [\"mk_{calls}\"]\nthen = \"{then}\"\n\
             differs = \"{calls}, {then}\"\n"
        )
    };
    let rules = [("take", "returns"), ("give", "switches"), ("take", "starts")];
    let rules = rules.map(|(calls, then)| near(calls, then)).concat();
    let api = api(&[CALLS, &rules].concat());
    let found = |symbol: &str, outcome| {
        api.near(symbol, outcome).map(|(scenario, differs)| format!("{scenario}: {differs}"))
    };
    for (symbol, outcome, expected) in [
        ("mk_take", Outcome::Returned, Some("take.returns: take, returns")),
        ("mk_take.isra.0", Outcome::Returned, Some("take.returns: take, returns")),
        ("mk_take", Outcome::Switched, Some("take.starts: take, starts")),
        ("mk_give", Outcome::Switched, Some("give.switches: give, switches")),
        ("mk_give", Outcome::Returned, None),
        ("mk_other", Outcome::Returned, None),
    ] {
        assert_eq!(found(symbol, outcome).as_deref(), expected, "{symbol} {outcome:?}");
    }
}

#[test]
fn the_functions_that_applications_may_call_are_counted() {
    let program = program_of(&["mk_f", "mk_g", "mk_app", "k_f", "mk_i", "mkw_i"]);
    let counted = |api: &Api| program.entries(api);
    let roles = "internal = [\"mk_i\"]\nidle = [\"mkw_*\"]\napplication = [\"mk_app\"]\n";
    assert_eq!(counted(&api(&[CALLS, roles].concat())), 2);
    assert_eq!(counted(&api(CALLS)), 4);
    // One is the wrapper of another one.
    assert_eq!(counted(&api("name = \"k\"\ncalls = [\"*k_f\"]\nstrip = \"m\"\n")), 1);
}
