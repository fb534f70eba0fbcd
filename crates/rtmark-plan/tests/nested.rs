//! Compares bounds of tasks with nested locks with a brute-force scheduler, which simulates one
//! unit of time after another from randomly drawn offsets.

use oorandom::Rand64;
use rtmark_plan::{Cost, Costs, Model, Protocol, Section, Set, Task};

/// A critical section: the lock, and the units of a job's work between which it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    lock: usize,
    from: u64,
    to: u64,
}

/// A task; outer sections precede the sections within them.
#[derive(Clone, Debug)]
struct Run {
    work: u64,
    period: u64,
    priority: u32,
    held: Vec<Held>,
}

#[derive(Clone, Debug)]
struct Job {
    task: usize,
    released: u64,
    done: u64,
    holds: Vec<usize>,
    raised: u32,
    waits: Option<usize>,
}

struct Kernel<'a> {
    tasks: &'a [Run],
    protocol: Protocol,
    jobs: Vec<Job>,
}

impl Kernel<'_> {
    fn level(&self, job: &Job) -> u32 {
        let ceiling = |lock: &usize| {
            let users = self.tasks.iter().filter(|run| run.held.iter().any(|it| it.lock == *lock));
            users.map(|run| run.priority).max().unwrap_or(0)
        };
        let raised = match self.protocol {
            Protocol::Ceiling => job.holds.iter().map(ceiling).max().unwrap_or(0),
            _ => job.raised,
        };
        self.tasks[job.task].priority.max(raised)
    }

    /// Returns the job that runs next. A job that has to wait for a lock lends its priority to the
    /// holder, which does not pass it on.
    fn next(&mut self) -> Option<usize> {
        loop {
            let is_first =
                |at: usize| !self.jobs[..at].iter().any(|job| job.task == self.jobs[at].task);
            let ready =
                (0..self.jobs.len()).filter(|at| is_first(*at) && self.jobs[*at].waits.is_none());
            let chosen = ready
                .max_by_key(|at| (self.level(&self.jobs[*at]), !self.jobs[*at].holds.is_empty()))?;
            let job = &self.jobs[chosen];
            let needed = self.tasks[job.task].held.iter().find(|it| {
                it.from == job.done && it.to > job.done && !job.holds.contains(&it.lock)
            });
            let Some(lock) = needed.map(|it| it.lock) else { return Some(chosen) };
            let level = self.level(job);
            match self.jobs.iter_mut().find(|other| other.holds.contains(&lock)) {
                Some(holder) => {
                    holder.raised = holder.raised.max(level);
                    self.jobs[chosen].waits = Some(lock);
                }
                None => self.jobs[chosen].holds.push(lock),
            }
        }
    }

    /// Runs one unit of a job. Its raised priority lasts until it holds no lock.
    fn run(&mut self, at: usize) {
        let job = &mut self.jobs[at];
        job.done += 1;
        let done = job.done;
        let over: Vec<usize> =
            self.tasks[job.task].held.iter().filter(|it| it.to == done).map(|it| it.lock).collect();
        job.holds.retain(|lock| !over.contains(lock));
        if job.holds.is_empty() {
            job.raised = 0;
        }
        for other in &mut self.jobs {
            if other.waits.is_some_and(|lock| over.contains(&lock)) {
                other.waits = None;
            }
        }
    }
}

fn schedule(tasks: &[Run], offsets: &[u64], protocol: Protocol, until: u64) -> Vec<u64> {
    let mut kernel = Kernel { tasks, protocol, jobs: Vec::new() };
    let mut longest = vec![0; tasks.len()];
    for now in 0..until {
        for (task, run) in tasks.iter().enumerate() {
            let since = now.checked_sub(offsets[task]);
            if since.is_some_and(|since| since.is_multiple_of(run.period)) {
                let (holds, raised, waits) = (Vec::new(), 0, None);
                kernel.jobs.push(Job { task, released: now, done: 0, holds, raised, waits });
            }
        }
        let Some(at) = kernel.next() else { continue };
        kernel.run(at);
        let job = &kernel.jobs[at];
        if job.done == tasks[job.task].work {
            longest[job.task] = longest[job.task].max(now + 1 - job.released);
            kernel.jobs.remove(at);
        }
    }
    longest
}

fn set_of(tasks: &[Run]) -> Set {
    let section = |run: &Run, held: &Held| {
        let around = run
            .held
            .iter()
            .find(|it| it.lock != held.lock && it.from <= held.from && it.to >= held.to);
        // Of two sections of the same length, the first is taken first.
        let around = around.filter(|it| it.lock < held.lock);
        Section { lock: held.lock, cycles: held.to - held.from, inside: around.map(|it| it.lock) }
    };
    let of = |(at, run): (usize, &Run)| Task {
        sections: run.held.iter().map(|held| section(run, held)).collect(),
        ..Task::new(&format!("t{at}"), run.priority, run.work, run.period)
    };
    Set {
        tick: 1,
        tasks: tasks.iter().enumerate().map(of).collect(),
        locks: vec!["a".into(), "b".into()],
        ..Set::default()
    }
}

/// Three or four tasks, each of which takes lock b within lock a, one of the two, or none.
fn drawn(draw: &mut Rand64) -> Vec<Run> {
    let count = draw.rand_range(3..5) as u32;
    let one = |at: u32| {
        let work = draw.rand_range(1..6);
        let period = [8, 10, 12, 15, 20, 24][draw.rand_range(0..6) as usize];
        let from = draw.rand_range(0..work);
        let to = draw.rand_range(from..work) + 1;
        let (inner, until) = (draw.rand_range(from..to), to);
        let a = Held { lock: 0, from, to };
        let held = match draw.rand_range(0..5) {
            0 => vec![a],
            1 => vec![Held { lock: 1, ..a }],
            2 | 3 => vec![a, Held { lock: 1, from: inner, to: draw.rand_range(inner..until) + 1 }],
            _ => Vec::new(),
        };
        Run { work, period, priority: count - at, held }
    };
    (0..count).map(one).collect()
}

#[test]
fn with_nested_locks_no_run_exceeds_the_bound() {
    let mut draw = Rand64::new(3);
    for protocol in [Protocol::Ceiling, Protocol::Inheritance] {
        let (mut nested, mut near, mut all, mut refused) = (0, 0, 0, 0);
        while nested < 80 {
            let tasks = drawn(&mut draw);
            let set = set_of(&tasks);
            let bounds = Model::ideal(protocol).bounds(&set, &Costs::zero());
            if !tasks.iter().any(|run| run.held.len() == 2) {
                continue;
            }
            refused += bounds.iter().filter(|bound| bound.is_err()).count();
            nested += 1;
            let Some(hyperperiod) = set.hyperperiod(1_000) else { continue };
            // Trying all offsets of this many sets would take too long.
            for _ in 0..300 {
                let offsets: Vec<u64> =
                    tasks.iter().map(|run| draw.rand_range(0..run.period)).collect();
                let found = schedule(&tasks, &offsets, protocol, 2 * hyperperiod + 60);
                for (found, bound) in found.iter().zip(&bounds) {
                    let Ok(bound) = bound else { continue };
                    assert!(
                        *found <= bound.response,
                        "{protocol:?} {offsets:?} {found} {bound:?} {tasks:#?}"
                    );
                    all += 1;
                    near += usize::from(found + 1 >= bound.response);
                }
            }
        }
        assert!(near > 0 && all > 5_000, "{near} of {all}");
        assert!(protocol == Protocol::Ceiling || refused > 0, "no chain");
    }
}

/// In FreeRTOS, the holder of two locks keeps the inherited priority until it has released both.
#[test]
fn the_outer_section_counts_whole() {
    let tasks = [
        Run { work: 2, period: 40, priority: 3, held: vec![Held { lock: 1, from: 0, to: 1 }] },
        Run {
            work: 10,
            period: 40,
            priority: 1,
            held: vec![Held { lock: 0, from: 0, to: 9 }, Held { lock: 1, from: 1, to: 3 }],
        },
    ];
    let bounds = Model::ideal(Protocol::Inheritance).bounds(&set_of(&tasks), &Costs::zero());
    assert_eq!(bounds[0].as_ref().expect("bounded").response, 2 + 9);
    // It is released when the inner lock has just been taken, and waits for the rest of the outer
    // section.
    assert_eq!(schedule(&tasks, &[2, 0], Protocol::Inheritance, 40)[0], 7 + 2);
}

/// Of two sections, the one with more locks in it delays a job more, although it is the shorter one,
/// whether two tasks have one each or one task has both.
#[test]
fn locks_within_a_section_decide_which_one_delays_most() {
    let nested = [Held { lock: 0, from: 0, to: 9 }, Held { lock: 1, from: 1, to: 3 }];
    let plain = Held { lock: 1, from: 10, to: 20 };
    let low = |priority, held: &[Held]| Run { work: 20, period: 400, priority, held: held.into() };
    let high =
        Run { work: 2, period: 400, priority: 3, held: vec![Held { lock: 1, from: 0, to: 1 }] };
    let two = [high.clone(), low(2, &nested), low(1, &[plain])];
    let one = [high, low(1, &[nested[0], nested[1], plain])];
    let mut costs = Costs::zero();
    costs.known.get_mut(&Cost::Lock).expect("known").cycles = 5;
    let bound = |protocol, tasks: &[Run]| {
        let bounds = Model::ideal(protocol).bounds(&set_of(tasks), &costs);
        bounds[0].as_ref().expect("bounded").response
    };
    let (own, longest, other) = (2 + 5, 9 + 2 * 5, 10 + 5);
    assert_eq!(bound(Protocol::Ceiling, &two), own + longest);
    assert_eq!(bound(Protocol::Ceiling, &one), own + longest);
    assert_eq!(bound(Protocol::Inheritance, &two), own + longest + other);
    assert_eq!(bound(Protocol::Inheritance, &one), own + longest);
}
