//! Compares bounds with a scheduler that charges the kernel's switches: to a job before its work,
//! and from it after its end, when nothing else can begin.

use proptest::prelude::*;
use rtmark_plan::{Cost, Costs, Interrupt, Model, Release, Set, Task, search};

/// Returns costs of which only these are not zero.
fn costs(some: &[(Cost, u64)]) -> Costs {
    let mut costs = Costs::zero();
    for (cost, cycles) in some {
        costs.known.get_mut(cost).expect("all costs are known").cycles = *cycles;
    }
    costs
}

fn bounds(model: &Model, set: &Set, costs: &Costs) -> Vec<Option<u64>> {
    let all = model.bounds(set, costs).into_iter();
    all.map(|bound| bound.ok().map(|bound| bound.response)).collect()
}

/// Runs tasks by priority from these offsets, one unit after the other, and returns the longest
/// responses. A task keeps all its releases.
fn run(set: &Set, offsets: &[u64], (start, end): (u64, u64), until: u64) -> Vec<u64> {
    let mut pending: Vec<Vec<u64>> = vec![Vec::new(); set.tasks.len()];
    let mut done = vec![0; set.tasks.len()];
    let mut longest = vec![0; set.tasks.len()];
    let mut ending = 0;
    for now in 0..until {
        for (at, task) in set.tasks.iter().enumerate() {
            if now >= offsets[at] && (now - offsets[at]).is_multiple_of(task.period) {
                pending[at].push(now);
            }
        }
        if ending > 0 {
            ending -= 1;
            continue;
        }
        let ready = (0..set.tasks.len()).filter(|at| !pending[*at].is_empty());
        let Some(at) = ready.max_by_key(|at| set.tasks[*at].priority) else { continue };
        done[at] += 1;
        if done[at] == start + set.tasks[at].work {
            done[at] = 0;
            longest[at] = longest[at].max(now + 1 - pending[at].remove(0));
            ending = end;
        }
    }
    longest
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let one = (prop::sample::select(vec![6u64, 8, 10, 12, 15, 20]), 1u64..7);
    prop::collection::vec(one, 1..=3).prop_map(|rows| {
        let named = (1..).zip(rows.into_iter().rev());
        named
            .map(|(level, (period, work))| Task::new(&format!("t{level}"), level, work, period))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_global_rejects: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_run_with_switches_exceeds_its_bound(tasks in tasks(), start in 0u64..2, end in 0u64..4) {
        let model = Model::of("rtic").expect("known");
        let costs = costs(&[(Cost::Start, start), (Cost::End, end)]);
        let set = Set { tick: 1, granule: 1, tasks, ..Set::default() };
        let bounds = bounds(&model, &set, &costs);
        prop_assume!(bounds.iter().all(Option::is_some));
        let combinations: u64 = set.tasks[1..].iter().map(|task| task.period).product();
        for mut number in 0..combinations {
            let mut offsets = vec![0; set.tasks.len()];
            for (offset, task) in offsets.iter_mut().zip(&set.tasks).skip(1) {
                *offset = number % task.period;
                number /= task.period;
            }
            let found = run(&set, &offsets, (start, end), 300);
            for (found, bound) in found.iter().zip(&bounds) {
                prop_assert!(bound.is_none_or(|bound| *found <= bound), "{found} {bound:?} {offsets:?} {set:#?}");
            }
        }
    }
}

/// A job that ends just in time leaves no time for the switch from it: the next one is late, and the
/// one after that even later.
#[test]
fn the_switch_from_a_job_delays_the_next_one() {
    let costs = costs(&[(Cost::Start, 2), (Cost::End, 5)]);
    for (work, bound) in [(93, Some(95)), (94, None), (98, None)] {
        for kernel in ["freertos", "rtic"] {
            let tasks = vec![Task::new("only", 1, work, 100)];
            let set = Set { tick: 100, granule: 1, tasks, ..Set::default() };
            let model = Model::of(kernel).expect("known");
            assert_eq!(bounds(&model, &set, &costs), [bound], "{kernel}, {work} cycles");
        }
    }
}

/// The second of two jobs waits for the rest of the first one's end, if that comes to the end of the
/// period.
#[test]
fn only_a_late_end_counts() {
    let model = Model::of("rtic").expect("known");
    let costs = costs(&[(Cost::End, 10)]);
    let responses = |work: u64| {
        let tasks = vec![Task::new("often", 2, 30, 100), Task::new("seldom", 1, work, 200)];
        let set = Set { tick: 1, granule: 1, tasks, ..Set::default() };
        bounds(&model, &set, &costs)
    };
    // Two jobs of the other task, 40 cycles each, and its own work.
    assert_eq!(responses(110), [Some(40), Some(190)]);
    // Now its end comes ten cycles before the next release, and with the switch the time is used up.
    assert_eq!(responses(111), [Some(40), None]);
}

/// Where tasks take turns, too: with lilos, only an interrupt can come before a round's end.
#[test]
fn the_end_of_a_poll_delays_the_next_one() {
    let costs = costs(&[(Cost::Wait, 50), (Cost::HeldBack, 10), (Cost::Wake, 20)]);
    let response = |kernel: &str, work: u64| {
        let task = Task { release: Release::Interrupt(0), ..Task::new("woken", 1, work, 1000) };
        let interrupts = vec![Interrupt { name: "irq".into(), distance: 1000, work: 5 }];
        let set = Set { tick: 10_000, granule: 1, tasks: vec![task], interrupts, ..Set::default() };
        bounds(&Model::of(kernel).expect("known"), &set, &costs)[0]
    };
    for kernel in ["lilos", "embassy", "ring"] {
        assert_eq!(response(kernel, 915), Some(950), "{kernel}");
        assert_eq!(
            response(kernel, 916),
            Some(991),
            "{kernel}: 40 of the switch are not held back"
        );
    }
}

/// An interrupt that wakes several tasks costs as much as waking each of them by itself.
#[test]
fn each_woken_task_counts() {
    for kernel in Model::KERNELS {
        let model = Model::of(kernel).expect("known");
        let costs = costs(&[(Cost::Wake, 30), (Cost::Interrupt, 7)]);
        let woken = |level: u32| Task {
            release: Release::Interrupt(0),
            ..Task::new(&format!("woken {level}"), level, 10, 10_000)
        };
        let response = |tasks: Vec<Task>| {
            let mut all = vec![Task::new("clocked", 1, 100, 10_000)];
            all.extend(tasks);
            let interrupts = vec![Interrupt { name: "irq".into(), distance: 10_000, work: 5 }];
            let set = Set { tick: 10_000, granule: 1, tasks: all, interrupts, ..Set::default() };
            bounds(&model, &set, &costs)[0]
        };
        assert_eq!(response(vec![]), Some(112), "{kernel}");
        assert_eq!(response(vec![woken(2)]), Some(145), "{kernel}");
        assert_eq!(response(vec![woken(2), woken(3)]), Some(185), "{kernel}");
    }
}

/// Alarms in whole microseconds may come up to one late, the next one in time: an urgent task of 10.5
/// units with releases at 11, 21 and 32 is released three times within 22 units.
#[test]
fn a_late_alarm_of_a_more_urgent_task_counts() {
    let model = Model::of("rtic").expect("known");
    let tasks = vec![Task::new("often", 2, 300, 1050), Task::new("seldom", 1, 1480, 20_000)];
    let set = Set { tick: 1, granule: 100, tasks, ..Set::default() };
    // From 1100: released at 1100, 2100 and 3200, the job ends after 1480 + 2 * 300, or a third job.
    assert_eq!(bounds(&model, &set, &Costs::zero()), [Some(400), Some(2380)]);
}

/// Tasks may grow until they and the handlers, which do not, fill the processor.
#[test]
fn handlers_do_not_limit_how_far_tasks_can_grow() {
    let model = Model::of("rtic").expect("known");
    let interrupts = vec![Interrupt { name: "irq".into(), distance: 1000, work: 400 }];
    let tasks = vec![Task::new("only", 1, 100, 1000)];
    let set = Set { tick: 1000, granule: 1, tasks, interrupts, ..Set::default() };
    let factor = search::breakdown(&set, |set| model.holds(set, &Costs::zero()));
    let load = set.scaled(factor).utilisation_exact();
    assert!((load - 1.0).abs() < 1e-3, "{load}");
}
