//! Which calls have a scenario's span, by the rules in a kernel's file.

use std::collections::BTreeSet;

use rtmark_calls::{EqualCalls, KernelCost, Outcome, Timed};

use crate::program::{CALLS, Program};
use crate::threads::{ROLES, with_threads};

/// Returns a kernel's file with rules, of which the first two are of no function: the scenario of each, and the rest.
fn api(start: &str, rules: &[(&str, &str)]) -> String {
    let never = "calls = [\"mk_never\"]\nthen = \"returns\"";
    let all = [("isr.entry", never), ("isr.exit", never)];
    let rule =
        |(scenario, rest): &(&str, &str)| format!("[[equal]]\nscenario = \"{scenario}\"\n{rest}\n");
    let rules: String = all.iter().chain(rules).map(rule).collect();
    [start, &rules].concat()
}

/// Returns the calls that match a rule, by the cycles in which they began.
fn matched(program: &Program, start: &str, rule: &str) -> Vec<u64> {
    let cost = program.cost(&api(start, &[("mutex.lock.immediate", rule)]));
    assert_eq!(cost.ambiguous.scenarios, BTreeSet::new());
    let calls = cost.equal.iter().flat_map(|equal| &equal.calls);
    calls.map(|timed| timed.began).collect()
}

/// Two calls of `mk_take`, which returns its second argument, and one of `mk_give`.
const TAKEN: &str = "function start
            movs r0, #7
            push {r0}
            movs r0, #1
            movs r1, #0
            bl mk_take
            pop {r0}
            movs r0, #8
            push {r0}
            movs r0, #2
            movs r1, #2
            bl mk_take
            movs r0, #3
            bl mk_give
            finish
        function mk_take
            movs r0, r1
            bx lr
        function mk_give
            nop
            nop
            bx lr";

#[test]
fn rules_tell_calls_apart_by_arguments_and_results() {
    let program = Program::assembled(TAKEN);
    let start = program.address("start");
    let [first, second, give] = [8, 22, 28].map(|offset| program.begins(start + offset)[0]);
    for (when, expected) in [
        ("", vec![first, second]),
        ("\"r0 = 1\"", vec![first]),
        ("\"r0 != 1\"", vec![second]),
        ("\"r0 < 2\"", vec![first]),
        ("\"r1 > 1\"", vec![second]),
        ("\"r1 > 2\"", vec![]),
        ("\"r0 & 2 = 2\"", vec![second]),
        ("\"r0 % 2 = 0\"", vec![second]),
        ("\"result = 0\"", vec![first]),
        ("\"result = r0\"", vec![second]),
        ("\"r0 = 1\", \"result = r0\"", vec![]),
        ("\"stack[0] = 7\"", vec![first]),
        ("\"stack[0] = 8\", \"r0 = 2\"", vec![second]),
        ("\"stack[0] = 7\", \"r0 = 2\"", vec![]),
        ("\"within(mk_*) = 0\"", vec![first, second]),
        ("\"waiting(mk_*) > 0\"", vec![]),
        ("\"into.r0 = 0\"", vec![]),
    ] {
        let rule = format!("calls = [\"mk_take\"]\nthen = \"returns\"\nwhen = [{when}]");
        assert_eq!(matched(&program, CALLS, &rule), expected, "{when}");
        // The call returns.
        for then in ["switches", "starts"] {
            let rule = rule.replace("returns", then);
            assert_eq!(matched(&program, CALLS, &rule), [0; 0], "{when} {then}");
        }
    }
    assert_eq!(matched(&program, CALLS, "calls = [\"mk_give\"]\nthen = \"returns\""), [give]);
}

#[test]
fn rules_of_the_same_scenario_are_put_together() {
    let program = Program::assembled(TAKEN);
    let rule = |calls: &str, r0: u32| {
        format!("calls = [\"{calls}\"]\nthen = \"returns\"\nwhen = [\"r0 = {r0}\"]")
    };
    let rules = [rule("mk_take", 2), rule("mk_give", 3), rule("mk_*", 1), rule("mk_give", 3)];
    let [second, give, first, other] = rules.each_ref().map(String::as_str);
    let of = |scenario| move |rule| (scenario, rule);
    let (one, another) = (of("mutex.lock.immediate"), of("mutex.unlock.immediate"));
    let KernelCost { equal, .. } =
        program.cost(&api(CALLS, &[one(second), one(give), one(first), another(other)]));
    let start = program.address("start");
    let timed = |offset: u32, cycles| {
        let began = program.begins(start + offset)[0];
        Timed { began, cycles, ticks: 0, interrupts: 0 }
    };
    let (take, give) = (3 + 1 + 2, 3 + 2 + 2);
    let expected = |scenario: &str, functions: &[&str], calls| EqualCalls {
        scenario: scenario.parse().expect("a name"),
        outcome: Outcome::Returned,
        functions: functions.iter().map(ToString::to_string).collect(),
        calls,
    };
    let all = vec![timed(8, take), timed(22, take), timed(28, give)];
    assert_eq!(
        equal,
        [
            expected("mutex.lock.immediate", &["mk_give", "mk_take"], all),
            expected("mutex.unlock.immediate", &["mk_give"], vec![timed(28, give)]),
        ]
    );
}

#[test]
fn calls_tell_by_which_handlers_they_were_interrupted() {
    let program = Program::assembled(
        "function start
            store ISER, 1
            bl mk_f
            finish
        function handler
            nop
        function mk_f
            store ISPR, 1
            nop
            nop
            store ISPR, 1
            nop
            nop
            store ICSR, ICSR_SYSTICK
            nop
            nop
            svc #0
            bx lr
        function irq0
            bl mk_g
            movs r0, #0xF
            mvns r0, r0
            adds r0, #9
            bx r0
        function mk_g
            bx lr
        function svcall
            bx lr
        function systick
            bx lr",
    );
    let rule = "calls = [\"mk_*\"]\nthen = \"returns\"";
    let equal = program.cost(&api(CALLS, &[("mutex.lock.immediate", rule)])).equal;
    let start = program.address("start");
    let [began, ended] = [6, 10].map(|offset| program.begins(start + offset)[0]);
    // Only those of threads.
    let timed = Timed { began, cycles: ended - began, ticks: 1, interrupts: 2 };
    assert_eq!(equal.iter().map(|one| &one.calls).collect::<Vec<_>>(), [&vec![timed]]);
}

/// `mk_take` of the first thread starts the second one, whose `mk_give` lets the first one continue, whose own
/// `mk_give` lets the second one continue.
const HANDED_OVER: &str = "
    function first
        movs r0, #1
        movs r1, #10
        bl mk_take
        movs r0, #2
        movs r1, #30
        bl mk_give
        finish
    function second
        movs r0, #1
        movs r1, #20
        bl mk_give
        finish
    function mk_take
        store ICSR, ICSR_PENDSV
        nop
        nop
        bx lr
    function mk_give
        store ICSR, ICSR_PENDSV
        nop
        nop
        bx lr
";

#[test]
fn rules_tell_switches_apart_by_the_other_thread() {
    let program = with_threads(HANDED_OVER);
    let at = |function: &str, offset| program.begins(program.address(function) + offset)[0];
    let (take, give, back) = (at("first", 4), at("second", 4), at("first", 12));
    for (calls, then, expected) in [
        ("mk_take", "returns", vec![]),
        ("mk_take", "switches", vec![]),
        ("mk_take", "starts", vec![take]),
        ("mk_give", "returns", vec![]),
        ("mk_give", "switches", vec![give, back]),
        ("mk_give", "starts", vec![]),
    ] {
        let rule = format!("calls = [\"{calls}\"]\nthen = \"{then}\"");
        assert_eq!(matched(&program, CALLS, &rule), expected, "{calls} {then}");
    }
    for (more, expected) in [
        ("into = [\"mk_take\"]", vec![give]),
        ("into = [\"mk_give\"]", vec![back]),
        ("into = [\"mk_other\", \"mk_t*\"]", vec![give]),
        ("when = [\"waiting(mk_take) = 1\"]", vec![give]),
        ("when = [\"waiting(mk_take) = 0\"]", vec![back]),
        ("when = [\"waiting(mk_give) = 1\"]", vec![]),
        ("when = [\"within(mk_take) = 1\"]", vec![give]),
        ("when = [\"within(mk_give) = 1\"]", vec![back]),
        ("when = [\"within(mk_*) = 1\"]", vec![give, back]),
        ("when = [\"into.r1 = 10\"]", vec![give]),
        ("when = [\"into.r1 = 20\"]", vec![back]),
        ("when = [\"into.r0 < r0\"]", vec![back]),
        ("into = [\"mk_give\"]\nwhen = [\"into.r1 = 10\"]", vec![]),
        ("into = [\"mk_take\"]\nwhen = [\"into.r1 = 20\"]", vec![]),
    ] {
        let rule = format!("calls = [\"mk_give\"]\nthen = \"switches\"\n{more}");
        assert_eq!(matched(&program, CALLS, &rule), expected, "{more}");
    }
}

#[test]
fn threads_wait_for_the_object_of_their_call() {
    let second = "movs r0, #1\n        movs r1, #20";
    let differs = HANDED_OVER.replace(second, "movs r0, #3\n        movs r1, #20");
    let same = HANDED_OVER.replace("movs r0, #2", "movs r0, #1");
    assert!(differs != HANDED_OVER && same != HANDED_OVER);
    for (text, count, expected) in [
        (&differs, "waiting(mk_take) = 0", 2),
        (&differs, "waiting(mk_take) = 1", 0),
        (&same, "waiting(mk_take) = 0", 1),
        (&same, "waiting(mk_give) = 1", 1),
    ] {
        let rule = format!("calls = [\"mk_give\"]\nthen = \"switches\"\nwhen = [\"{count}\"]");
        assert_eq!(matched(&with_threads(text), CALLS, &rule).len(), expected, "{count}");
    }
}

#[test]
fn a_thread_that_continues_elsewhere_or_is_idle_matches_no_rule() {
    let rules =
        ["switches", "starts"].map(|then| format!("calls = [\"mk_yield\"]\nthen = \"{then}\""));
    let found =
        |program: &Program, api: &str| rules.each_ref().map(|rule| matched(program, api, rule));
    // The second thread is interrupted in its own code, and continues there.
    let program = with_threads(
        "function first
            bl mk_yield
            nop
            bl mk_yield
            finish
        function second
            store ISPR, 1
            nop
            nop
            finish",
    );
    let first = program.begins(program.address("first"))[0];
    assert_eq!(found(&program, CALLS), [vec![], vec![first]]);
    // It has begun because of an interrupt, not of a call.
    let program = with_threads(
        "function first
            store ISPR, 1
            nop
            nop
            bl mk_yield
            finish
        function second
            store ISPR, 1
            nop
            nop
            finish",
    );
    assert_eq!(found(&program, CALLS), [[0; 0], [0; 0]]);
    let program = with_threads(
        "function first
            bl mk_yield
            finish
        function second
            bl mki_yield",
    );
    assert_eq!(found(&program, &ROLES.replace("mkw_*", "second")), [[0; 0], [0; 0]]);
}

/// Between a call and its return, the application's own code may call as well.
#[test]
fn a_threads_own_calls_are_not_those_of_others() {
    let program = with_threads(
        "function first
            bl mk_each
            finish
        function second
        1:  bl mk_yield
            b 1b
        function mk_each
            mov r7, lr
            store ICSR, ICSR_PENDSV
            nop
            nop
            bl visit
            bx r7
        function visit
            mov r6, lr
            bl mk_take
            bx r6
        function mk_take
            bx lr",
    );
    let start = [CALLS, "calls_back = [\"mk_each\"]\n"].concat();
    let take = program.begins(program.address("visit") + 2);
    for (count, expected) in [("within(mk_each) = 0", &take[..]), ("within(mk_yield) = 1", &take)] {
        let rule = format!("calls = [\"mk_take\"]\nthen = \"returns\"\nwhen = [\"{count}\"]");
        assert_eq!(matched(&program, &start, &rule), expected, "{count}");
    }
}

const MEMBERS: &str = r#"
    struct inner { unsigned char before, count; unsigned short level; };
    struct object { unsigned first; struct inner inner; unsigned last; };
    struct object one, other;
    __attribute__((noipa)) void mk_take(struct object *object, struct object *more)
    {
        __asm__ volatile("" : : "r"(object), "r"(more) : "memory");
    }
    void start(void)
    {
        one = (struct object){1, {0xFF, 5, 300}, 9};
        other = (struct object){2, {0xFF, 6, 5}, 5};
        mk_take(&one, &other);
        mk_take(&other, &one);
        register unsigned operation __asm__("r0") = 0x18, reason __asm__("r1") = 0x20026;
        __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
    }
"#;

#[test]
fn members_of_structures_are_where_debug_information_describes_them() {
    let program = Program::compiled(MEMBERS);
    let calls = matched(&program, CALLS, "calls = [\"mk_take\"]\nthen = \"returns\"");
    let [one, other] = calls[..] else { panic!("{calls:?}") };
    for (when, expected) in [
        ("object.first(r0) = 1", vec![one]),
        ("object.first(r1) = 1", vec![other]),
        ("object.inner+inner.count(r0) = 5", vec![one]),
        ("object.inner+inner.level(r0) = 300", vec![one]),
        ("object.inner+inner.level(r0) = object.last(r0)", vec![other]),
        ("object.inner+inner.count(r0) & 2 != 0", vec![other]),
        ("object.last(r0) % 4 = 1", vec![one, other]),
    ] {
        let rule = format!("calls = [\"mk_take\"]\nthen = \"returns\"\nwhen = [\"{when}\"]");
        assert_eq!(matched(&program, CALLS, &rule), expected, "{when}");
    }
}

#[test]
fn scenarios_are_ambiguous_without_their_members() {
    let rule =
        |when: &str| format!("calls = [\"mk_take\"]\nthen = \"returns\"\nwhen = [\"{when}\"]");
    let known = rule("object.first(r0) = 1");
    let (missing, nested) =
        (rule("object.gone(r0) = 1"), rule("r0 & object.inner+inner.gone(r0) = 1"));
    let rules = [
        ("mutex.lock.immediate", known.as_str()),
        ("mutex.unlock.immediate", &missing),
        ("semaphore.take.immediate", &nested),
    ];
    let told = |program: Program| {
        let KernelCost { ambiguous, equal, .. } = program.cost(&api(CALLS, &rules));
        assert!(ambiguous.specialised.is_empty(), "{ambiguous:?}");
        let scenarios: Vec<_> = ambiguous.scenarios.iter().map(ToString::to_string).collect();
        let members: Vec<_> = ambiguous.members.into_iter().collect();
        (scenarios.join(" "), members.join(" "), equal.len())
    };
    assert_eq!(
        told(Program::compiled(MEMBERS)),
        (
            "mutex.unlock.immediate semaphore.take.immediate".to_owned(),
            "inner.gone object.gone".to_owned(),
            1
        )
    );
    assert_eq!(
        told(Program::compiled(MEMBERS).without_debug_information()),
        (
            "mutex.lock.immediate mutex.unlock.immediate semaphore.take.immediate".to_owned(),
            "inner.gone object.first object.gone object.inner".to_owned(),
            0
        )
    );
}

/// Where the arguments of a function are that the compiler has specialised, only that knows; and a function of which
/// a part was inlined does not begin where its symbol is.
#[test]
fn scenarios_are_ambiguous_if_the_compiler_has_changed_their_functions() {
    for (symbol, when, is_known) in [
        ("mk_take", "r0 = 0", true),
        ("mk_take.lto_priv.0", "r0 = 0", true),
        ("mk_take.isra.0", "r0 = 0", false),
        ("mk_take.constprop.0", "result = 0", false),
        ("mk_take.isra.0", "waiting(mk_give) = 0", false),
        ("mk_take.isra.0", "within(mk_give) & r0 = 0", false),
        ("mk_take.isra.0", "within(mk_give) & 1 = 0", true),
        ("mk_take.isra.0", "0 = r0", false),
        ("mk_take.isra.0", "within(mk_give) = 0", true),
        ("mk_take.part.0", "within(mk_give) = 0", false),
    ] {
        let text =
            format!("function start\nmovs r0, #0\nbl {symbol}\nfinish\nfunction {symbol}\nbx lr");
        let text = text.replace("bx lr", "nop\nbx lr");
        let rule = format!("calls = [\"mk_take\"]\nthen = \"returns\"\nwhen = [\"{when}\"]");
        let rules = api(CALLS, &[("mutex.lock.immediate", &rule)]);
        let KernelCost { ambiguous, equal, .. } = Program::assembled(&text).cost(&rules);
        let one = usize::from;
        assert_eq!(
            (equal.len(), ambiguous.scenarios.len()),
            (one(is_known), one(!is_known)),
            "{symbol} {when}"
        );
        let named: Vec<_> = ambiguous.specialised.iter().map(String::as_str).collect();
        assert_eq!(named, [symbol][..one(!is_known)], "{symbol} {when}");
    }
}

/// The same holds for the functions in which others wait, or from which they return.
#[test]
fn other_threads_calls_of_changed_functions_are_not_compared() {
    let program = with_threads(&HANDED_OVER.replace("mk_take", "mk_take.isra.0"));
    for (more, matches) in [
        ("into = [\"mk_take\"]", true),
        ("into = [\"mk_take\"]\nwhen = [\"into.r1 = 10\"]", false),
        ("when = [\"within(mk_take) = 1\"]", true),
        ("when = [\"waiting(mk_take) = 1\"]", false),
        ("when = [\"waiting(mk_take) = 0\", \"r0 = 1\"]", false),
    ] {
        let rule = format!("calls = [\"mk_give\"]\nthen = \"switches\"\n{more}");
        assert_eq!(matched(&program, CALLS, &rule).len(), usize::from(matches), "{more}");
    }
}
