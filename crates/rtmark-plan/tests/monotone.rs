//! Monotonicity of each kernel's model, with costs: more work, longer sections and a costlier
//! kernel must never shorten a bound, and a faster clock must never cause a miss.

#[path = "common/sets.rs"]
mod sets;

use oorandom::Rand64;
use proptest::prelude::*;
use rtmark_plan::{Cost, Costs, Model, NoBound, Set, draw};

/// A set for a kernel with costs between zero and one hundredth of the shortest period.
fn drawn(kernel: &str, seed: u64) -> (Model, Set, Costs) {
    let model = Model::of(kernel).expect("known");
    let mut draw = Rand64::new(u128::from(seed));
    // A round has to be shorter than a tick.
    let (tick, periods) = if kernel == "lilos" { (100_000, (1, 6)) } else { (10_000, (5, 50)) };
    let mut set = sets::small(&mut draw, tick, periods, 0.7);
    draw::nest(&mut draw, &mut set);
    let mut costs = Costs::zero();
    for figure in costs.known.values_mut() {
        figure.cycles = draw.rand_range(0..500);
    }
    (model, set, costs)
}

fn bounds(model: &Model, set: &Set, costs: &Costs) -> Vec<Option<u64>> {
    let all = model.bounds(set, costs).into_iter();
    all.map(|bound| bound.ok().map(|bound| bound.response)).collect()
}

/// A missing bound counts as longer than any bound.
fn never_shorter(before: &[Option<u64>], after: &[Option<u64>]) -> bool {
    let grown = |(before, after): (&Option<u64>, &Option<u64>)| {
        after.is_none_or(|after| before.is_some_and(|before| before <= after))
    };
    before.iter().zip(after).all(grown)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_never_shortens_a_bound(
        kernel in prop::sample::select(Model::KERNELS.to_vec()),
        seed: u64,
        which in 0usize..8,
        more in 1u64..4_000,
    ) {
        let (model, set, costs) = drawn(kernel, seed);
        let before = bounds(&model, &set, &costs);
        let mut worked = set.clone();
        let at = which % set.tasks.len();
        worked.tasks[at].work += more;
        let after = bounds(&model, &worked, &costs);
        prop_assert!(never_shorter(&before, &after), "work of task {at}: {before:?} {after:?} {set:#?} {costs:?}");
        if let Some(section) = worked.tasks[at].sections.first_mut() {
            section.cycles += more;
            let held = bounds(&model, &worked, &costs);
            prop_assert!(never_shorter(&after, &held), "section of task {at}: {after:?} {held:?} {set:#?} {costs:?}");
        }
        if !set.interrupts.is_empty() {
            let mut handled = set.clone();
            handled.interrupts[which % set.interrupts.len()].work += more;
            let after = bounds(&model, &handled, &costs);
            prop_assert!(never_shorter(&before, &after), "a handler: {before:?} {after:?} {set:#?} {costs:?}");
        }
        let cost = Cost::ALL[(seed % Cost::ALL.len() as u64) as usize];
        let mut dearer = costs.clone();
        if let Some(figure) = dearer.known.get_mut(&cost) {
            figure.cycles += more / 8 + 1;
        }
        let after = bounds(&model, &set, &dearer);
        prop_assert!(never_shorter(&before, &after), "{cost:?}: {before:?} {after:?} {set:#?} {costs:?}");
    }

    /// A clock that is two to five times as fast: all times become that many times the cycles.
    #[test]
    fn a_faster_clock_holds_what_a_slower_one_holds(
        kernel in prop::sample::select(Model::KERNELS.to_vec()),
        seed: u64,
        faster in 2u64..6,
    ) {
        let (model, set, costs) = drawn(kernel, seed);
        let quick = set.clocked(10_000 * faster);
        let (slow, quick) = (bounds(&model, &set, &costs), bounds(&model, &quick, &costs));
        prop_assert!(never_shorter(&quick, &slow), "{quick:?} {slow:?} {set:#?} {costs:?}");
        let quick = set.clocked(10_000 * faster);
        prop_assert!(!model.holds(&set, &costs) || model.holds(&quick, &costs));
    }
}

/// The properties above are not vacuous: many sets have bounds for each kernel.
#[test]
fn many_sets_have_bounds() {
    for kernel in Model::KERNELS {
        let bounded = |seed: &u64| {
            let (model, set, costs) = drawn(kernel, *seed);
            bounds(&model, &set, &costs).iter().all(Option::is_some)
        };
        let bounded = (0..500).filter(bounded).count();
        assert!(bounded > 100, "{kernel}: {bounded} of 500");
    }
}

/// If a task that takes turns may lose a release, no other task's bound relies on its being in
/// time.
#[test]
fn one_late_task_leaves_no_task_a_bound() {
    let mut lost = 0;
    for seed in 0..2_000 {
        let (model, set, costs) = drawn("embassy", seed);
        let bounds = model.bounds(&set, &costs);
        lost +=
            usize::from(bounds.iter().any(|it| matches!(it, Err(NoBound::LostReleases { .. }))));
        let bounded = bounds.iter().filter(|bound| bound.is_ok()).count();
        assert!(bounded == 0 || bounded == bounds.len(), "{bounds:#?}");
    }
    assert!(lost > 100, "{lost} sets lose releases");
}
