//! Compares bounds with brute-force schedulers, which simulate one unit of time after the other
//! from every offset.

use proptest::prelude::*;
use rtmark_plan::{Costs, LockCycles, Model, Order, Protocol, Section, Set, Task, blockers};

/// An unfinished job.
#[derive(Clone, Debug)]
struct Job {
    task: usize,
    released: u64,
    done: u64,
}

/// A task: units of work, period, offset, priority, and critical sections.
#[derive(Clone, Debug)]
struct Run {
    work: u64,
    period: u64,
    offset: u64,
    priority: u32,
    locked: Vec<(usize, u64, u64)>,
}

impl Run {
    fn lock_at(&self, done: u64) -> Option<usize> {
        let held = self.locked.iter().find(|(_, from, to)| (*from..*to).contains(&done));
        held.map(|(lock, _, _)| *lock)
    }
}

/// Runs tasks by priority, and returns each one's longest response and the end of each job.
fn schedule(tasks: &[Run], protocol: Protocol, until: u64) -> (Vec<u64>, Vec<(usize, u64)>) {
    let mut jobs: Vec<Job> = Vec::new();
    let mut longest = vec![0; tasks.len()];
    let mut ended = Vec::new();
    for now in 0..until {
        for (task, run) in tasks.iter().enumerate() {
            if now >= run.offset && (now - run.offset).is_multiple_of(run.period) {
                jobs.push(Job { task, released: now, done: 0 });
            }
        }
        // Only the first pending job of a task can run.
        let first = |index: usize| !jobs[..index].iter().any(|job| job.task == jobs[index].task);
        // Whether a job is in the middle of a section with this lock.
        let holds = |index: usize, lock: usize| {
            let run = &tasks[jobs[index].task];
            let inside = run.locked.iter().find(|(own, _, _)| *own == lock);
            inside.is_some_and(|(_, from, to)| (*from + 1..*to).contains(&jobs[index].done))
        };
        let holder = |lock: usize| (0..jobs.len()).find(|index| holds(*index, lock));
        let blocked_by = |index: usize| {
            let lock = tasks[jobs[index].task].lock_at(jobs[index].done)?;
            holder(lock).filter(|by| *by != index)
        };
        let ceiling = |lock: usize| {
            let users =
                tasks.iter().filter(|run| run.locked.iter().any(|(own, _, _)| *own == lock));
            users.map(|run| run.priority).max().unwrap_or(0)
        };
        let level = |index: usize| {
            let own = tasks[jobs[index].task].priority;
            let raised = match protocol {
                Protocol::Inheritance => (0..jobs.len())
                    .filter(|other| first(*other) && blocked_by(*other) == Some(index))
                    .map(|other| tasks[jobs[other].task].priority)
                    .max(),
                Protocol::Ceiling => (0..8).filter(|lock| holds(index, *lock)).map(ceiling).max(),
                Protocol::None | Protocol::Cooperative => None,
            };
            let inside = (0..8).any(|lock| holds(index, lock));
            (own.max(raised.unwrap_or(0)), inside)
        };
        let ready = (0..jobs.len()).filter(|index| first(*index) && blocked_by(*index).is_none());
        let chosen =
            ready.max_by_key(|index| (level(*index), std::cmp::Reverse(jobs[*index].released)));
        let Some(chosen) = chosen else { continue };
        jobs[chosen].done += 1;
        let Job { task, released, done } = jobs[chosen];
        if done == tasks[task].work {
            longest[task] = longest[task].max(now + 1 - released);
            ended.push((task, now + 1));
            jobs.remove(chosen);
        }
    }
    (longest, ended)
}

/// Polls woken tasks in batches, the most recently woken first.
fn batches(tasks: &[Run], until: u64) -> Vec<u64> {
    let mut longest = vec![0; tasks.len()];
    let (mut woken, mut batch): (Vec<Job>, Vec<Job>) = (Vec::new(), Vec::new());
    for now in 0..until {
        for (task, run) in tasks.iter().enumerate() {
            if now >= run.offset && (now - run.offset).is_multiple_of(run.period) {
                woken.push(Job { task, released: now, done: 0 });
            }
        }
        if batch.is_empty() {
            batch = std::mem::take(&mut woken);
        }
        let Some(job) = batch.last_mut() else { continue };
        job.done += 1;
        if job.done == tasks[job.task].work {
            longest[job.task] = longest[job.task].max(now + 1 - job.released);
            batch.pop();
        }
    }
    longest
}

fn set_of(tasks: &[Run]) -> Set {
    let of = |(index, run): (usize, &Run)| Task {
        sections: run
            .locked
            .iter()
            .map(|&(lock, from, to)| Section { lock, cycles: to - from, inside: None })
            .collect(),
        ..Task::new(&format!("t{index}"), run.priority, run.work, run.period)
    };
    Set {
        tick: 1,
        tasks: tasks.iter().enumerate().map(of).collect(),
        locks: vec!["a".into(), "b".into()],
        ..Set::default()
    }
}

/// Returns the longest responses over all offsets of all tasks except the first.
fn worst(tasks: &[Run], run: &mut dyn FnMut(&[Run], u64) -> Vec<u64>) -> Vec<u64> {
    let hyperperiod = tasks.iter().fold(1, |so_far: u64, task| {
        (1..=task.period)
            .map(|n| so_far * n)
            .find(|it| it.is_multiple_of(task.period))
            .expect("exists")
    });
    let mut longest = vec![0; tasks.len()];
    let combinations: u64 = tasks[1..].iter().map(|task| task.period).product();
    for mut number in 0..combinations {
        let mut shifted = tasks.to_vec();
        for task in &mut shifted[1..] {
            task.offset = number % task.period;
            number /= task.period;
        }
        let found = run(&shifted, 3 * hyperperiod + 10);
        for (longest, found) in longest.iter_mut().zip(found) {
            *longest = found.max(*longest);
        }
    }
    longest
}

fn bounds(tasks: &[Run], model: &Model) -> Vec<Option<u64>> {
    let found = model.bounds(&set_of(tasks), &Costs::zero());
    found.into_iter().map(|bound| bound.ok().map(|bound| bound.response)).collect()
}

fn tasks(locks: bool) -> impl Strategy<Value = Vec<Run>> {
    let periods = prop::sample::select(vec![4u64, 5, 6, 8, 10, 12]);
    let one = (periods, 1u64..4, any::<bool>(), 0u64..3, 1u64..3).prop_map(
        move |(period, work, takes, from, length)| {
            let from = from.min(work - 1);
            let to = (from + length).min(work);
            let locked = if locks && takes { vec![(0, from, to)] } else { Vec::new() };
            Run { work, period, offset: 0, priority: 0, locked }
        },
    );
    prop::collection::vec(one, 2..=3).prop_map(|mut tasks| {
        for (priority, task) in (1..).zip(tasks.iter_mut().rev()) {
            task.priority = priority;
        }
        tasks
    })
}

/// Two to four tasks for an executor: few enough that many sets have bounds.
fn turns() -> impl Strategy<Value = Vec<Run>> {
    let one = (prop::sample::select(vec![6u64, 8, 10, 12, 15]), 1u64..4);
    let one = one.prop_map(|(period, work)| Run {
        work,
        period,
        offset: 0,
        priority: 1,
        locked: Vec::new(),
    });
    prop::collection::vec(one, 2..=4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_locks_the_bound_is_attained(tasks in tasks(false)) {
        let bounds = bounds(&tasks, &Model::ideal(Protocol::Ceiling));
        prop_assume!(bounds.iter().all(Option::is_some));
        let found = worst(&tasks, &mut |it, until| schedule(it, Protocol::Ceiling, until).0);
        for (found, bound) in found.iter().zip(&bounds) {
            prop_assert_eq!(Some(*found), *bound);
        }
    }

    #[test]
    fn with_locks_no_run_exceeds_the_bound(tasks in tasks(true)) {
        for protocol in [Protocol::Ceiling, Protocol::Inheritance] {
            let bounds = bounds(&tasks, &Model::ideal(protocol));
            let found = worst(&tasks, &mut |it, until| schedule(it, protocol, until).0);
            for (found, bound) in found.iter().zip(&bounds) {
                prop_assert!(bound.is_none_or(|bound| *found <= bound), "{:?} {} {:?}", protocol, found, bound);
            }
        }
    }

    #[test]
    fn more_work_never_shortens_a_bound(tasks in tasks(true), which in 0usize..3, more in 1u64..3) {
        let which = which % tasks.len();
        for protocol in [Protocol::Ceiling, Protocol::Inheritance] {
            let model = Model::ideal(protocol);
            let before = bounds(&tasks, &model);
            let mut worked = tasks.clone();
            worked[which].work += more;
            for (before, after) in before.into_iter().zip(bounds(&worked, &model)) {
                // A missing bound counts as longer than any bound.
                prop_assert!(after.is_none_or(|after| before.is_some_and(|before| before <= after)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_global_rejects: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_never_exceed_the_bound(tasks in turns()) {
        let model = Model { order: Order::Batches, protocol: Protocol::Cooperative, ..Model::ideal(Protocol::None) };
        let bounds = bounds(&tasks, &model);
        prop_assume!(bounds.iter().all(Option::is_some));
        let found = worst(&tasks, &mut |it, until| batches(it, until));
        for (found, bound) in found.iter().zip(&bounds) {
            prop_assert!(bound.is_none_or(|bound| *found <= bound), "{} {:?}", found, bound);
        }
    }

    /// A faster clock means the same work in periods of more cycles.
    #[test]
    fn a_faster_clock_holds_what_a_slower_one_holds(tasks in tasks(true), faster in 2u64..5) {
        for protocol in [Protocol::Ceiling, Protocol::Inheritance] {
            let model = Model::ideal(protocol);
            let mut quick = tasks.clone();
            for task in &mut quick {
                task.period *= faster;
            }
            for (slow, quick) in bounds(&tasks, &model).into_iter().zip(bounds(&quick, &model)) {
                prop_assert!(slow.is_none_or(|slow| quick.is_some_and(|quick| quick <= slow)));
            }
        }
    }
}

/// The bound for batches is tight: two tasks that take turns reach it except for one unit.
#[test]
fn batches_come_near_their_bound() {
    let run = |work, period| Run { work, period, offset: 0, priority: 1, locked: Vec::new() };
    let tasks = [run(2, 11), run(3, 13)];
    let model = Model {
        order: Order::Batches,
        protocol: Protocol::Cooperative,
        ..Model::ideal(Protocol::None)
    };
    assert_eq!(bounds(&tasks, &model), [Some(5), Some(5)]);
    assert_eq!(worst(&tasks, &mut |it, until| batches(it, until)), [5, 4]);
}

/// W28: three tasks from a course exercise (TTK4145), slot by slot, with lock 0 for Q and lock 1
/// for V.
#[test]
fn an_inversion_as_published() {
    let once = |priority, offset, work, locked: &[(usize, u64, u64)]| Run {
        work,
        period: 1000,
        offset,
        priority,
        locked: locked.to_vec(),
    };
    let tasks = [
        once(3, 4, 4, &[(0, 1, 2), (1, 2, 3)]),
        once(2, 2, 6, &[(1, 1, 3)]),
        once(1, 0, 5, &[(0, 1, 4)]),
    ];
    let ends = |protocol| {
        let (_, mut ended) = schedule(&tasks, protocol, 40);
        ended.sort_unstable();
        ended.into_iter().map(|(_, at)| at).collect::<Vec<_>>()
    };
    assert_eq!(ends(Protocol::None), [14, 9, 15]);
    assert_eq!(ends(Protocol::Inheritance), [11, 14, 15]);
    let blocked = |protocol| {
        let all = blockers(&set_of(&tasks), 0, protocol, LockCycles::default()).expect("bounded");
        all.iter().map(|blocker| blocker.cycles).sum::<u64>()
    };
    assert_eq!(blocked(Protocol::Inheritance), 5, "both sections");
    assert_eq!(blocked(Protocol::Ceiling), 3, "one section");
    assert!(
        blockers(&set_of(&tasks), 0, Protocol::None, LockCycles::default()).is_err(),
        "as often as b comes"
    );
}
