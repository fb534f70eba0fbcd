use super::*;
use crate::tests::programs::{BEGIN, NOP, Program, scenario, soc};

/// A function that differs matters to a scenario if its spans execute something of it, in either build.
#[test]
fn changes_matter_where_spans_execute_them() {
    let program = Program { last: vec![NOP], ..Program::default() };
    let inside = Program { body: vec![NOP, 0x2500, NOP], ..program.clone() };
    let outside = Program { last: vec![0x2500], ..program.clone() };
    let changes = [
        (&program, &[][..], &[][..]),
        (&inside, &["main"], &["main"]),
        (&outside, &["finish"], &[]),
    ];
    for (after, changed, executed) in changes {
        let (before, after) = (program.probed(), after.probed());
        let change = CodeChange::between(&before.elf, &after.elf).expect("comparable");
        let names = |found: BTreeSet<String>| found.into_iter().collect::<Vec<_>>();
        assert_eq!(names(change.functions.changed.clone()), changed);
        let in_spans = |difference| {
            let builds = (&before, &after);
            let budget = Cycles(10_000);
            names(change.in_spans(difference, builds, &soc(), &scenario(), budget).expect("run"))
        };
        assert_eq!(in_spans(CodeDifference::Changed), executed);
        assert_eq!(in_spans(CodeDifference::Unclear), Vec::<String>::new());
        assert!(change.same_data());
    }
}

/// The instruction at which a span begins is inside it, and the one at its end is not.
#[test]
fn spans_include_their_first_instruction_only() {
    let program = Program::default();
    let code = Code::of(&program.elf()).expect("comparable");
    let executed_with = |kinds: &[Kind], functions: &[&str]| {
        let functions = functions.iter().map(|name| (*name).to_owned()).collect();
        let probed = program.probed_with(kinds);
        let found = executed(&code, &functions, &probed, &soc(), &scenario(), Cycles(10_000));
        found.expect("run").into_iter().collect::<Vec<_>>()
    };
    let (end, finish) = (program.end(), program.end() + 4);
    let both = ["finish", "main"];
    assert_eq!(executed_with(&[Kind::Begin(BEGIN), Kind::End(end)], &both), ["main"]);
    assert_eq!(executed_with(&[Kind::Begin(finish), Kind::End(finish + 2)], &both), ["finish"]);
    assert_eq!(executed_with(&[Kind::Begin(finish - 2), Kind::End(finish)], &both), ["main"]);
    assert_eq!(executed_with(&[Kind::BeginAtReset, Kind::End(BEGIN)], &both), ["main"]);
    assert_eq!(executed_with(&[Kind::Begin(end), Kind::End(0)], &both), both);
}

#[test]
fn a_build_that_cannot_be_compared_or_run_is_named() {
    let program = Program::default().probed();
    let refused =
        |before: &[u8], after: &[u8]| CodeChange::between(before, after).expect_err("none").0;
    assert_eq!(refused(b"", &program.elf), Build::Earlier);
    assert_eq!(refused(&program.elf, b""), Build::Later);
    let after = Program { body: vec![0x2500], ..Program::default() }.probed();
    let change = CodeChange::between(&program.elf, &after.elf).expect("comparable");
    let without = Probed { records: Vec::new(), ..after.clone() };
    let run = |before: &Probed, after: &Probed| {
        let difference = CodeDifference::Changed;
        let found =
            change.in_spans(difference, (before, after), &soc(), &scenario(), Cycles(10_000));
        found.map_err(|(build, _)| build)
    };
    assert_eq!(run(&without, &after), Err(Build::Earlier));
    assert_eq!(run(&program, &without), Err(Build::Later));
    assert!(run(&program, &after).is_ok());
}
