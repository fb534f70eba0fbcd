//! What `rtmark why` says adds up, for every kernel and nearly every scenario of one soc: the parts of
//! a span are the span, and the rows of a difference are the difference.

use std::path::Path;

use rtmark_firmware::{Builder, Tree, Variant};
use rtmark_model::{Answer, Catalogue};
use rtmark_observe::{Difference, Role};
use rtmark_runner::{Explanation, Plan, Selection, Suite, socs};

/// Scenarios that take many millions of cycles; their spans are made of the same as others.
const LONG: [&str; 6] =
    ["workload.", "timer.delay", "timer.period", "timer.jitter", "poll", "holes"];

fn explained() -> Vec<Explanation> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    let tree = Tree::find(Some(&tree)).expect("the tree");
    let kernels = tree.kernels().expect("kernels");
    let catalogue = Catalogue::builtin().expect("a catalogue");
    let quick = |scenario: &&rtmark_model::Scenario| {
        // What is slept is part of what a span costs, and not counted there.
        if scenario.span.counted == rtmark_model::Counted::Awake {
            return false;
        }
        let long = LONG.iter().any(|part| scenario.id.as_str().contains(part));
        !long && scenario.point.as_ref().is_none_or(|point| matches!(point.n, 1 | 8))
    };
    let ids = catalogue.scenarios().iter().filter(quick);
    let scenarios = ids.map(|scenario| scenario.id.as_str().parse().expect("a pattern")).collect();
    let selection = Selection { kernels: Vec::new(), scenarios };
    let soc = socs::find("stm32c031").expect("a soc");
    let plan = Plan::new(&catalogue, &kernels, &[soc.into()], &[Variant::default()], &selection);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let suite = Suite::plain(Builder::new(tree).in_folder(&folder), "test");
    let answers = suite.explain(&plan.expect("a plan"), &mut ());
    let explained = answers.into_iter().filter_map(|answer| match answer {
        Ok(explained) => Some(explained),
        Err(Answer::NotApplicable { .. }) => None,
        Err(other) => panic!("{other:?}"),
    });
    explained.collect()
}

fn name(explained: &Explanation) -> String {
    let key = &explained.series.key;
    format!("{} {}", key.kernel, key.scenario)
}

#[test]
fn parts_add_up_to_the_span_and_rows_to_the_difference() {
    let all = explained();
    assert!(all.len() > 300, "{} answers", all.len());
    for one in &all {
        let name = name(one);
        let samples = one.series.readings.samples().expect("samples");
        let typical = samples.statistics().expect("some").median();
        let cost = &one.cost;
        assert_eq!(cost.whole.cycles, typical, "{name}");
        let sum = cost.parts.iter().map(|part| part.own.cycles).sum::<u64>();
        assert_eq!(sum, typical, "{name}: {cost:#?}");
        for part in &cost.parts {
            assert!(part.own.stalled_cycles <= part.own.cycles, "{name}: {part:?}");
            assert!(part.inclusive_cycles >= part.own.cycles, "{name}: {part:?}");
            assert!(part.inclusive_cycles <= typical, "{name}: {part:?}");
        }
    }
    let yields = all.iter().find(|one| name(one) == "freertos thread.yield").expect("measured");
    let entries = yields.cost.parts.iter().filter(|part| part.role == Role::ExceptionEntry);
    assert_eq!(entries.count(), 1, "a yield goes by PendSV: {:#?}", yields.cost);

    // Each kernel beside the next one that answers the same, and each scenario beside another.
    for (at, a) in all.iter().enumerate() {
        let scenario = &a.series.key.scenario;
        let beside = all[at + 1..].iter().find(|b| b.series.key.scenario == *scenario);
        for b in beside.into_iter().chain(all.get(at + 1)) {
            let difference = Difference::between(("a", &a.cost), ("b", &b.cost));
            let rows = difference.rows.iter().map(rtmark_observe::Row::difference).sum::<i128>();
            let whole = i128::from(a.cost.whole.cycles) - i128::from(b.cost.whole.cycles);
            assert_eq!(rows, whole, "{} and {}", name(a), name(b));
            assert!(!difference.cause.is_empty());
        }
    }
}
