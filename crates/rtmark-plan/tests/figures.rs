//! The figures of an answer by hand: slack, gaps, the load at which a set breaks down, and what is kept.

mod common;

use rtmark_plan::{Cost, Costs, Curves, KernelPlan, Model, Protocol, RunPlan, Set, Task, Verdict};

fn ideal() -> Model {
    Model::ideal(Protocol::Ceiling)
}

/// Two tasks whose bounds without costs are 2000 and 6000 cycles: 80 % and 70 % before their deadlines.
fn two() -> Set {
    let tasks = vec![Task::new("a", 2, 2_000, 10_000), Task::new("b", 1, 4_000, 20_000)];
    Set { tick: 1_000, tasks, ..Set::default() }
}

fn plan(set: &Set, wanted_percent: f64) -> KernelPlan {
    KernelPlan::new(set, &ideal(), &Costs::zero(), wanted_percent)
}

fn run_of(longest: [u64; 2], bound: Option<u64>) -> RunPlan {
    common::run_of(["a", "b"], longest, [bound; 2])
}

#[test]
fn slack_is_the_deadline_less_the_bound() {
    let plan = plan(&two(), 0.0);
    assert_eq!((plan.tasks[0].response, plan.tasks[1].response), (Some(2_000), Some(6_000)));
    assert_eq!((plan.tasks[0].slack, plan.tasks[1].slack), (Some(8_000), Some(14_000)));
    assert_eq!(plan.tasks[0].slack_percent(), Some(80.0));
    assert_eq!(plan.tasks[1].slack_percent(), Some(70.0));
    assert!((plan.utilisation_percent - 40.0).abs() < 1e-9);
}

#[test]
fn the_worst_task_has_the_least_share_of_slack_or_no_bound() {
    let worst = |set: &Set| plan(set, 0.0).worst().map(|task| task.name.clone());
    assert_eq!(worst(&two()).as_deref(), Some("b"), "though its slack has more cycles");
    let mut set = two();
    set.tasks[0].deadline = 2_000;
    assert_eq!(worst(&set).as_deref(), Some("a"));
    // The load of both is 120 %, so the lower one has no bound.
    let mut set = two();
    set.tasks[1].work = 20_000;
    set.tasks[0].deadline = 2_000;
    assert_eq!(worst(&set).as_deref(), Some("b"));
    assert_eq!(worst(&Set::default()), None);
}

#[test]
fn slack_as_wanted_is_not_tight_and_none_at_all_still_holds() {
    assert_eq!(plan(&two(), 70.0).verdict, Verdict::Holds);
    assert_eq!(plan(&two(), 70.1).verdict, Verdict::Tight);
    let mut set = two();
    set.tasks[1].deadline = 6_000;
    assert_eq!(plan(&set, 0.0).verdict, Verdict::Holds);
    set.tasks[1].deadline = 5_999;
    assert_eq!(plan(&set, 0.0).verdict, Verdict::Misses);
}

#[test]
fn a_response_as_long_as_its_deadline_or_bound_exceeds_neither() {
    let verdict = |longest| plan(&two(), 0.0).with_run(run_of([longest, 1], None)).verdict;
    assert_eq!((verdict(10_000), verdict(10_001)), (Verdict::Holds, Verdict::Misses));
    let task = |longest, bound| run_of([longest, 1], bound).tasks.remove(0);
    assert!(!task(200, Some(200)).exceeds_bound() && task(201, Some(200)).exceeds_bound());
    assert!(!task(200, None).exceeds_bound());
    // How far it stayed below, in percent of the bound.
    assert_eq!(task(150, Some(200)).gap_percent(), Some(25.0));
    assert_eq!(task(200, Some(200)).gap_percent(), Some(0.0));
    assert_eq!(task(300, Some(200)).gap_percent(), Some(-50.0));
    assert_eq!(task(150, None).gap_percent(), None);
}

/// Without costs, harmonic tasks hold until they fill the processor.
#[test]
fn a_set_breaks_down_when_its_tasks_or_the_clock_leave_no_time() {
    let near = |found: Option<f64>, percent: f64| {
        assert!(found.is_some_and(|it| (it - percent).abs() < 0.1), "{found:?} {percent}");
    };
    let all = plan(&two(), 0.0);
    near(all.breakdown_percent, 100.0);
    near(all.slowest_clock_percent, 40.0);
    // At a quarter of the deadline of b, its tasks may grow by a half: 3000 + 6000 until 9000.
    let mut set = two();
    set.tasks[1].deadline = 9_000;
    near(plan(&set, 0.0).breakdown_percent, 60.0);
    // A start takes longer than the deadline, however little work there is.
    let mut costs = Costs::zero();
    costs.known.get_mut(&Cost::Start).expect("known").cycles = 100;
    set.tasks[0].deadline = 50;
    let hopeless = KernelPlan::new(&set, &ideal(), &costs, 0.0);
    assert_eq!((hopeless.verdict, hopeless.breakdown_percent), (Verdict::Misses, Some(0.0)));
    assert_eq!(hopeless.slowest_clock_percent, None);
    // A task without a bound leaves it open, though every cost is known.
    let mut set = two();
    set.tasks[1].work = 20_000;
    let overload = plan(&set, 0.0);
    assert_eq!((overload.verdict, overload.breakdown_percent), (Verdict::Misses, None));
}

#[test]
fn an_answer_for_the_image_keeps_what_was_computed_with_the_suites_costs() {
    let set = two();
    let curves = Curves { by_tasks: Vec::new(), by_period: Vec::new() };
    let suite = KernelPlan {
        version: "1.2".into(),
        profile: "product".into(),
        curves: Some(curves.clone()),
        ..plan(&set, 0.0)
    };
    let image = suite.clone().on_image(&set, &ideal(), &Costs::zero(), 0.0);
    assert_eq!((image.version.as_str(), image.profile.as_str()), ("1.2", "product"));
    assert_eq!(image.curves, Some(curves));
    let kept = image.of_suite.expect("kept");
    assert_eq!((kept.tasks, kept.costs), (suite.tasks, suite.costs));
}

#[test]
fn releases_repeat_after_the_least_common_multiple_of_the_periods() {
    let of = |periods: &[u64], most| {
        let tasks = periods.iter().map(|period| Task::new("a", 1, 1, *period)).collect();
        Set { tasks, ..Set::default() }.hyperperiod(most)
    };
    assert_eq!(
        (of(&[4, 6, 10], 1_000), of(&[7], 1_000), of(&[], 1_000)),
        (Some(60), Some(7), Some(1))
    );
    assert_eq!((of(&[4, 6, 10], 60), of(&[4, 6, 10], 59)), (Some(60), None));
}

#[test]
fn utilisation_is_rounded_up_to_thousandths() {
    let of = |work, period| {
        Set { tasks: vec![Task::new("a", 1, work, period)], ..Set::default() }.utilisation()
    };
    assert_eq!((of(1, 2), of(1, 3), of(2, 3)), (500, 334, 667));
}

/// At half the clock, times are half as many cycles; work stays.
#[test]
fn at_another_clock_jitter_scales_and_none_stays_none() {
    let mut set = two();
    set.tasks[1].jitter = 300;
    let slow = set.clocked(5_000);
    let of = |at: usize| (slow.tasks[at].period, slow.tasks[at].jitter, slow.tasks[at].work);
    assert_eq!((of(0), of(1), slow.tick), ((5_000, 0, 2_000), (10_000, 150, 4_000), 500));
}
