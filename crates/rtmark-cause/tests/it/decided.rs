//! Whether a figure moved or was changed, and where its cycles went: judged by programs of known instructions.
//! On a Cortex-M0+ with memories that never wait, NOP takes one cycle, LDR two, and a branch that is taken two (DDI
//! 0484C, 3.3).

use rtmark_compare::{Measure, Pair, Verdict};
use rtmark_model::Line;

use crate::program::{Bench, Program, SOURCE, line_of, soc};

const NOPS: [&str; 6] =
    ["", "nop", "nop;nop", "nop;nop;nop", "nop;nop;nop;nop", "nop;nop;nop;nop;nop"];
/// Rounds of a loop, as many as r0 says: each takes three cycles and two instructions, the last one two cycles.
const LOOP: &str = "1: subs r0, #1; bne 1b";

fn program() -> Program {
    Program::with(&[])
}

/// What is noted at two builds that differ by macros.
fn between(before: &[(&'static str, &str)], after: &[(&'static str, &str)]) -> Pair {
    Bench::of(program().but(before), program().but(after)).pair()
}

/// The verdict, the changed functions, and the cause.
fn decided(pair: &Pair) -> (Verdict, Vec<&str>, Option<&str>) {
    assert!(pair.notes.is_empty(), "{pair:?}");
    let changed = pair.changed.iter().map(String::as_str).collect();
    (pair.verdict, changed, pair.cause.as_deref())
}

/// By how much the median grew, in cycles.
fn growth(pair: &Pair) -> i128 {
    let median = pair.changes.iter().find(|change| change.measure == Measure::Median);
    median.map_or(0, rtmark_compare::Change::growth)
}

#[test]
fn a_function_that_grew_is_named_with_what_it_added() {
    let pair = between(&[], &[("WORK", NOPS[3])]);
    let cause = Some("work (+3, +3 instructions)");
    assert_eq!((decided(&pair), growth(&pair)), ((Verdict::Worse, vec!["work"], cause), 3));
    assert_eq!(pair.place, Some(Line { file: SOURCE.into(), line: line_of("push {lr}") }));
}

#[test]
fn a_function_that_shrank_is_the_cause_of_nothing() {
    let pair = between(&[("A", NOPS[5])], &[("B", NOPS[2])]);
    assert_eq!((decided(&pair), growth(&pair)), ((Verdict::Better, vec!["a", "b"], None), -3));
}

#[test]
fn what_the_span_does_not_execute_blames_nobody() {
    let base = program().but(&[("OUTSIDE", "nop"), ("A", NOPS[2])]);
    let bench = Bench::of(base.clone(), base.but(&[("OUTSIDE", "nop;nop;nop")]));
    let pair = Bench { soc: soc(2), ..bench }.pair();
    assert_ne!(growth(&pair), 0, "flash is read eight bytes at a time");
    assert_eq!(decided(&pair), (Verdict::Moved, vec![], None));
    assert_eq!(pair.place, None);
}

#[test]
fn at_most_three_functions_are_named_the_largest_first() {
    let after = [("A", NOPS[1]), ("B", NOPS[4]), ("C", NOPS[2]), ("D", NOPS[3])];
    let pair = between(&[], &after);
    let cause = "b (+4, +4 instructions), d (+3, +3 instructions), c (+2, +2 instructions)";
    let changed = vec!["a", "b", "c", "d"];
    assert_eq!((decided(&pair), growth(&pair)), ((Verdict::Worse, changed, Some(cause)), 10));
}

#[test]
fn cycles_and_instructions_are_told_apart() {
    // A load takes as long as two other instructions.
    let pair = between(&[("A", "nop")], &[("A", "ldr r0, [sp]")]);
    assert_eq!(decided(&pair), (Verdict::Worse, vec!["a"], Some("a (+1)")));
    let pair = between(&[("A", "ldr r0, [sp]")], &[("A", "nop;nop")]);
    assert_eq!(decided(&pair), (Verdict::Worse, vec!["a"], Some("a (+0, +1 instructions)")));
    // What got faster is no cause of what got slower, nor is what takes the same.
    let before = [("A", "ldr r0, [sp]"), ("B", "movs r0, #1"), ("C", "nop")];
    let after = [("A", "nop"), ("B", "movs r0, #2"), ("C", NOPS[4])];
    let pair = between(&before, &after);
    let cause = Some("c (+3, +3 instructions)");
    assert_eq!(decided(&pair), (Verdict::Worse, vec!["a", "b", "c"], cause));
}

#[test]
fn a_function_that_is_new_is_named() {
    let call = "push {lr}; bl fresh; pop {pc}";
    let pair = between(&[("A", "push {lr}; bl b; pop {pc}")], &[("A", call), ("FRESH", NOPS[5])]);
    let (verdict, changed, cause) = decided(&pair);
    assert_eq!((verdict, changed), (Verdict::Worse, vec!["a", "fresh"]));
    // Its five instructions, and the return, which takes two cycles.
    assert_eq!((cause, growth(&pair)), (Some("fresh (+7, +6 instructions)"), 5));
}

#[test]
fn an_unchanged_function_is_named_only_if_no_changed_one_grew() {
    let rounds = |work| [("WORK", work), ("A", LOOP)];
    let pair = between(&rounds("movs r0, #5"), &rounds("nop; movs r0, #9"));
    let cause = Some("work (+1, +1 instructions)");
    assert_eq!((decided(&pair), growth(&pair)), ((Verdict::Worse, vec!["work"], cause), 13));
    let pair = between(&rounds("movs r0, #5"), &rounds("movs r0, #9"));
    let cause = Some("a (+12, +8 instructions)");
    assert_eq!((decided(&pair), growth(&pair)), ((Verdict::Worse, vec!["work"], cause), 12));
}

const DATA: &str = "constants or initial values";

#[test]
fn the_same_code_with_other_data_is_changed_if_it_takes_another_path() {
    let base = program().but(&[("WORK", "ldr r0, =number; ldr r0, [r0]"), ("A", LOOP)]);
    let number = |number| base.but(&[("NUMBER", number)]);
    let pair = Bench::of(number("5"), number("9")).pair();
    let cause = Some("a (+12, +8 instructions)");
    assert_eq!(decided(&pair), (Verdict::Worse, vec![DATA], cause));
    let pair = Bench::of(number("9"), number("5")).pair();
    assert_eq!(decided(&pair), (Verdict::Better, vec![DATA], None));
    // A number in code that may be an address as well.
    let literal = |number| program().but(&[("WORK", number), ("A", LOOP)]);
    let (few, many) = ("ldr r0, =0x08000005; uxtb r0, r0", "ldr r0, =0x08000009; uxtb r0, r0");
    let pair = Bench::of(literal(few), literal(many)).pair();
    assert_eq!(decided(&pair), (Verdict::Worse, vec![DATA], cause));
}

#[test]
fn the_same_code_with_other_data_has_moved_if_it_takes_the_same_path() {
    let bench = Bench::of(program(), program().but(&[("NUMBER", "9"), ("GAP", "2")]));
    let pair = Bench { soc: soc(2), ..bench }.pair();
    assert_ne!(growth(&pair), 0);
    assert!(pair.instructions.is_empty());
    assert_eq!(decided(&pair), (Verdict::Moved, vec![], None));
}

#[test]
fn the_same_code_and_data_have_moved_even_if_addresses_choose_another_path() {
    // Whether an address is a multiple of eight. What may have changed is outside the span.
    let by_address = "mov r0, pc; lsls r0, r0, #29; bmi 1f; nop; nop; nop; 1:";
    let base = program().but(&[("A", by_address), ("OUTSIDE", "ldr r0, =0x08000005")]);
    let moved = base.but(&[("GAP", "4"), ("OUTSIDE", "ldr r0, =0x08000009")]);
    let (there, back) =
        (Bench::of(base.clone(), moved.clone()).pair(), Bench::of(moved, base).pair());
    for pair in [&there, &back] {
        assert_eq!(pair.instructions[0].growth().abs(), 3, "{pair:?}");
        assert_eq!(decided(pair), (Verdict::Moved, vec![], None));
    }
}

#[test]
fn figures_with_a_common_cause_each_have_its_share() {
    let bench = Bench::of(program(), program().but(&[("B", NOPS[2])]));
    let scenarios = vec!["test.once", "test.twice"];
    let pairs = Bench { scenarios, ..bench }.noted().pairs;
    let causes: Vec<_> = pairs.iter().map(decided).collect();
    let worse = |cause| (Verdict::Worse, vec!["b"], Some(cause));
    let expected = [worse("b (+2, +2 instructions)"), worse("b (+4, +4 instructions)")];
    assert_eq!(causes, expected);
}

#[test]
fn causes_are_determined_of_the_first_ten_figures() {
    let bench = Bench::of(program(), program().but(&[("B", NOPS[2])]));
    let pairs = Bench { kernels: 12, ..bench }.noted().pairs;
    let with_cause = pairs.iter().map(|pair| pair.cause.is_some()).collect::<Vec<_>>();
    assert_eq!(with_cause, [[true; 10].as_slice(), &[false; 2]].concat());
    assert!(pairs.iter().all(|pair| pair.changed == ["b"]));
}

#[test]
fn a_first_sample_that_grew_alone_has_no_cause() {
    // r4 counts the rounds down from four. In the others, one function takes what another one has saved.
    let first = |more: &str| format!("cmp r4, #4; bne 1f; nop; {more}; 1:");
    let (before, after) = (first(""), first(NOPS[5]));
    let before = [("A", NOPS[3]), ("B", ""), ("D", &before)];
    let pair = between(&before, &[("A", ""), ("B", NOPS[3]), ("D", &after)]);
    let grown: Vec<_> = pair.changes.iter().map(|change| change.measure).collect();
    assert_eq!(grown, [Measure::First]);
    assert_eq!(decided(&pair), (Verdict::Worse, vec!["a", "b", "d"], None));
}

/// The answer says two cycles more than its image takes.
#[test]
fn a_figure_that_is_not_found_again_has_no_cause() {
    let bench = Bench::of(program(), program().but(&[("B", NOPS[3])]));
    let edit = |series: &mut serde_json::Value| {
        for sample in series["readings"]["exact"].as_array_mut().expect("samples") {
            sample["value"] = (sample["value"].as_u64().expect("cycles") + 2).into();
        }
    };
    let pair = Bench { edit, ..bench }.pair();
    assert_eq!((decided(&pair), growth(&pair)), ((Verdict::Worse, vec!["b"], None), 3));
}

/// At 1 MHz a millisecond is a thousand cycles. The program takes about two thousand after its spans.
#[test]
fn a_run_that_takes_longer_than_it_may_has_no_cause() {
    let base = program()
        .but(&[("OUTSIDE", "movs r0, #255; lsls r0, r0, #1; 1: nop; subs r0, #1; bne 1b")]);
    for (budget_ms, cause) in [(1, None), (4, Some("b (+3, +3 instructions)"))] {
        let bench = Bench::of(base.clone(), base.but(&[("B", NOPS[3])]));
        let pair = Bench { budget_ms, ..bench }.pair();
        assert_eq!(decided(&pair), (Verdict::Worse, vec!["b"], cause), "{budget_ms} ms");
    }
}

#[test]
fn only_figures_of_the_simulator_that_differ_are_looked_at() {
    let on_qemu = |series: &mut serde_json::Value| series["key"]["backend"] = "qemu".into();
    let bench = Bench::of(program(), program().but(&[("B", NOPS[3])]));
    let pair = Bench { edit: on_qemu, ..bench }.pair();
    assert_eq!((pair.verdict, growth(&pair)), (Verdict::Worse, 3));
    assert_eq!((pair.changed.len(), &pair.cause, pair.notes.len()), (0, &None, 0));
    // It has no image that could be compared.
    let lost = |series: &mut serde_json::Value| {
        series["provenance"]["firmware"]["elf_sha256"] = "0".repeat(64).into();
    };
    let pair = Bench { edit: lost, ..Bench::of(program(), program()) }.pair();
    assert_eq!(decided(&pair), (Verdict::Same, vec![], None));
}

#[test]
fn a_changed_function_is_found_in_the_folders_of_own_kernels() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = |prefix, own: &[&str]| {
        let after = program().but(&[("B", "nop")]).named(prefix);
        let own = own.iter().map(|folder| here.join(folder)).collect();
        Bench { own, ..Bench::of(program(), after) }.pair().place
    };
    let found = Some(Line { file: SOURCE.into(), line: line_of("B") });
    assert_eq!(place("third-party/tests/", &[]), found);
    assert_eq!(place("", &["tests"]), found, "a folder of kernels");
    assert_eq!(place("", &["tests/it", "tests/program"]), found, "a kernel's");
    assert_eq!(place("", &[]), None);
    assert_eq!(place("elsewhere/", &["tests"]), None);
}
