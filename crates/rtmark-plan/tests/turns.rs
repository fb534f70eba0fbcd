//! Compares bounds of lilos' rounds and of an event loop with brute-force schedulers, which
//! simulate one unit of time after another from every offset.

use oorandom::Rand64;
use rtmark_plan::{Costs, Interrupt, Model, NoBound, Order, Protocol, Release, Set, Task, Timer};

/// An unfinished job.
#[derive(Clone, Copy, Debug)]
struct Job {
    task: usize,
    released: u64,
    done: u64,
}

/// A scheduler. In each unit of time it receives the jobs released at that moment.
trait Scheduler {
    /// Receives the jobs released now.
    fn release(&mut self, jobs: &[Job]);
    /// Runs one unit of time. Returns the job that ended with it.
    fn run(&mut self, set: &Set) -> Option<Job>;
}

/// lilos: a round polls the tasks of its snapshot in the order of the array, here that of the set.
#[derive(Default)]
struct Rounds {
    woken: Vec<Job>,
    round: Vec<Job>,
}

impl Scheduler for Rounds {
    fn release(&mut self, jobs: &[Job]) {
        self.woken.extend(jobs);
    }

    fn run(&mut self, set: &Set) -> Option<Job> {
        if self.round.is_empty() {
            self.round = std::mem::take(&mut self.woken);
            self.round.sort_by_key(|job| std::cmp::Reverse(job.task));
        }
        run_last(&mut self.round, set)
    }
}

/// An event loop: jobs wait in one queue.
#[derive(Default)]
struct Fifo {
    queue: Vec<Job>,
}

impl Scheduler for Fifo {
    fn release(&mut self, jobs: &[Job]) {
        for job in jobs {
            self.queue.insert(0, *job);
        }
    }

    fn run(&mut self, set: &Set) -> Option<Job> {
        run_last(&mut self.queue, set)
    }
}

fn run_last(jobs: &mut Vec<Job>, set: &Set) -> Option<Job> {
    let job = jobs.last_mut()?;
    job.done += 1;
    if job.done < set.tasks[job.task].work {
        return None;
    }
    jobs.pop()
}

/// Returns the longest response of each task for these offsets.
fn responses(scheduler: &mut dyn Scheduler, set: &Set, offsets: &[u64], until: u64) -> Vec<u64> {
    let mut longest = vec![0; set.tasks.len()];
    for now in 0..until {
        let due = |(task, offset): (usize, &u64)| {
            let since = now.checked_sub(*offset)?;
            let is_due = since.is_multiple_of(set.tasks[task].period);
            is_due.then_some(Job { task, released: now, done: 0 })
        };
        let due: Vec<Job> = offsets.iter().enumerate().filter_map(due).collect();
        scheduler.release(&due);
        if let Some(job) = scheduler.run(set) {
            longest[job.task] = longest[job.task].max(now + 1 - job.released);
        }
    }
    longest
}

/// Returns the longest responses over all offsets. The first task's offset is 0, as only
/// differences matter.
fn over_all_offsets(set: &Set, run: &mut dyn FnMut(&[u64]) -> Vec<u64>, unit: u64) -> Vec<u64> {
    let counts: Vec<u64> = set.tasks[1..].iter().map(|task| task.period / unit).collect();
    let mut longest = vec![0; set.tasks.len()];
    for mut number in 0..counts.iter().product() {
        let mut offsets = vec![0];
        for count in &counts {
            offsets.push(number % count * unit);
            number /= count;
        }
        for (longest, found) in longest.iter_mut().zip(run(&offsets)) {
            *longest = found.max(*longest);
        }
    }
    longest
}

fn hyperperiod(set: &Set) -> u64 {
    set.hyperperiod(1 << 40).expect("short")
}

fn set_of(tasks: &[(u64, u64)], tick: u64) -> Set {
    let count = u32::try_from(tasks.len()).expect("few");
    let tasks = (0..)
        .zip(tasks)
        .map(|(at, &(work, period))| Task::new(&format!("t{at}"), count - at, work, period));
    Set { tick, tasks: tasks.collect(), ..Set::default() }
}

/// A kernel that costs nothing, with releases at any unit of time.
fn ideal(order: Order) -> Model {
    Model { order, protocol: Protocol::Cooperative, ..Model::ideal(Protocol::None) }
}

fn bounds(set: &Set, model: &Model) -> Option<Vec<u64>> {
    let all = model.bounds(set, &Costs::zero()).into_iter();
    all.map(|bound| bound.ok().map(|bound| bound.response)).collect()
}

/// Draws sets of two to four tasks that have bounds.
fn drawn(order: Order, count: usize) -> Vec<(Set, Vec<u64>)> {
    let mut draw = Rand64::new(5);
    let mut found = Vec::new();
    while found.len() < count {
        let periods = [4, 5, 6, 8, 9, 10, 12];
        let tasks: Vec<(u64, u64)> = (0..draw.rand_range(2..5))
            .map(|_| (draw.rand_range(1..4), periods[draw.rand_range(0..7) as usize]))
            .collect();
        let set = set_of(&tasks, 1);
        found.extend(bounds(&set, &ideal(order)).map(|bounds| (set, bounds)));
    }
    found
}

/// Checks that no run exceeds its bound, and counts for how many of all tasks a run comes within
/// one unit of it.
fn reached(order: Order, new: fn() -> Box<dyn Scheduler>) -> (usize, usize) {
    let (mut near, mut all) = (0, 0);
    for (set, bounds) in drawn(order, 300) {
        let until = 3 * hyperperiod(&set) + 10;
        let mut run = |offsets: &[u64]| responses(&mut *new(), &set, offsets, until);
        let found = over_all_offsets(&set, &mut run, 1);
        for (found, bound) in found.iter().zip(&bounds) {
            assert!(found <= bound, "{found} {bound}: {set:#?}");
            near += usize::from(found + 1 >= *bound);
            all += 1;
        }
    }
    (near, all)
}

#[test]
fn rounds_never_exceed_the_bound_and_come_near_it() {
    let (near, all) = reached(Order::Rounds, || Box::<Rounds>::default());
    assert!(near * 100 >= all * 85, "{near} of {all}");
}

#[test]
fn an_event_loop_never_exceeds_the_bound_and_reaches_it() {
    let (near, all) = reached(Order::Fifo, || Box::<Fifo>::default());
    assert_eq!(near, all);
}

/// A set holds exactly if each task's bound, as tight as the others' bounds make it, is within its
/// deadline.
#[test]
fn a_set_holds_as_long_as_no_deadline_is_below_its_bound() {
    for order in [Order::Rounds, Order::Batches, Order::Fifo] {
        let model = ideal(order);
        for (mut set, bounds) in drawn(order, 100) {
            for (task, bound) in set.tasks.iter_mut().zip(&bounds) {
                task.deadline = *bound;
            }
            assert!(model.holds(&set, &Costs::zero()), "{order:?}: {set:#?}");
            for task in 0..set.tasks.len() {
                let mut short = set.clone();
                short.tasks[task].deadline -= 1;
                assert!(!model.holds(&short, &Costs::zero()), "{order:?}: {short:#?}");
            }
        }
    }
}

/// The order of the array matters: the first task waits for each other task once, and the last one
/// twice if periods are short.
#[test]
fn the_last_task_of_the_array_waits_twice() {
    let set = set_of(&[(1, 5), (3, 6)], 1);
    assert_eq!(bounds(&set, &ideal(Order::Fifo)), Some(vec![4, 4]));
    assert_eq!(bounds(&set, &ideal(Order::Rounds)), Some(vec![4, 5]));
    let until = 3 * hyperperiod(&set) + 10;
    let mut run = |offsets: &[u64]| responses(&mut Rounds::default(), &set, offsets, until);
    assert_eq!(over_all_offsets(&set, &mut run, 1), [3, 4]);
}

/// lilos with its tick and with interrupts: during a round, one tick stays pending and further ones
/// are lost. Returns the longest responses and the number of lost ticks.
fn ticked(set: &Set, offsets: &[u64], until: u64) -> (Vec<u64>, u64) {
    let mut scheduler = Rounds::default();
    let mut longest = vec![0; set.tasks.len()];
    let (mut pending, mut ticks, mut lost) = (false, 0, 0);
    let mut pended = Vec::new();
    for now in 0..until {
        for (task, of) in set.tasks.iter().enumerate() {
            let since = now.checked_sub(offsets[task]);
            let is_due = since.is_some_and(|since| since.is_multiple_of(of.period));
            if of.release != Release::Clock && is_due {
                pended.push(Job { task, released: now, done: 0 });
            }
        }
        if now.is_multiple_of(set.tick) {
            lost += u64::from(pending);
            pending = true;
        }
        if scheduler.round.is_empty() {
            scheduler.release(&std::mem::take(&mut pended));
        }
        if pending && scheduler.round.is_empty() {
            pending = false;
            let due = |(task, offset): (usize, &u64)| {
                (set.tasks[task].release == Release::Clock).then_some(())?;
                let (first, period) = (offset / set.tick, set.tasks[task].period / set.tick);
                let since = u64::checked_sub(ticks, first)?;
                let released = ticks * set.tick;
                since.is_multiple_of(period).then_some(Job { task, released, done: 0 })
            };
            let due: Vec<Job> = offsets.iter().enumerate().filter_map(due).collect();
            scheduler.release(&due);
            ticks += 1;
        }
        if let Some(job) = scheduler.run(set) {
            longest[job.task] = longest[job.task].max(now + 1 - job.released);
        }
    }
    (longest, lost)
}

/// Draws two or three tasks with a tick, some of them released by interrupts.
fn drawn_with_tick(draw: &mut Rand64) -> Set {
    let tick = draw.rand_range(4..9);
    let count = draw.rand_range(2..4);
    let tasks: Vec<(u64, u64)> =
        (0..count).map(|_| (draw.rand_range(1..5), tick * draw.rand_range(1..6))).collect();
    let mut set = set_of(&tasks, tick);
    for (at, task) in set.tasks.iter_mut().enumerate() {
        if draw.rand_range(0..4) == 0 {
            // Keep hyperperiods short.
            task.period = [10, 12, 15][draw.rand_range(0..3) as usize];
            task.deadline = task.period;
            task.release = Release::Interrupt(set.interrupts.len());
            let distance = task.period;
            set.interrupts.push(Interrupt { name: format!("i{at}"), distance, work: 0 });
        }
    }
    set
}

/// If a bound exists, and so states that no ticks are lost, none are lost and no run exceeds it.
#[test]
fn rounds_with_a_tick_never_exceed_the_bound() {
    let lilos = Model::of("lilos").expect("known");
    let mut draw = Rand64::new(11);
    let (mut bounded, mut interrupted, mut lose) = (0, 0, 0);
    let (mut near, mut all) = (0, 0);
    while bounded < 400 {
        let set = drawn_with_tick(&mut draw);
        let until = 3 * hyperperiod(&set) + 10;
        let has_interrupts = !set.interrupts.is_empty();
        let unit = if has_interrupts { 1 } else { set.tick };
        let mut ticks = 0;
        let mut run = |offsets: &[u64]| {
            let (longest, lost) = ticked(&set, offsets, until);
            ticks += lost;
            longest
        };
        let Some(bounds) = bounds(&set, &lilos) else {
            let found = lilos.bounds(&set, &Costs::zero());
            if found.iter().any(|bound| matches!(bound, Err(NoBound::LostTicks { .. }))) {
                over_all_offsets(&set, &mut run, unit);
                lose += usize::from(ticks > 0);
            }
            continue;
        };
        bounded += 1;
        interrupted += usize::from(has_interrupts);
        let found = over_all_offsets(&set, &mut run, unit);
        let is_clocked = set.tasks.iter().any(|task| task.release == Release::Clock);
        assert!(ticks == 0 || !is_clocked, "{set:#?}");
        for (found, bound) in found.iter().zip(bounds) {
            assert!(*found <= bound, "{found} {bound}: {set:#?}");
            near += usize::from(found + 1 >= bound);
            all += 1;
        }
    }
    assert!(lose > 20, "{lose} sets lose ticks");
    assert!(interrupted > 50, "{interrupted} sets have interrupts");
    assert!(near * 100 >= all * 85, "{near} of {all}");
}

/// An event loop handles its tick while closures run, so long jobs lose no ticks.
#[test]
fn a_long_job_loses_ticks_in_rounds_alone() {
    let set = set_of(&[(1, 40), (7, 40)], 4);
    let of = |kernel: &str| {
        Model::of(kernel).expect("known").bounds(&set, &Costs::zero()).swap_remove(0)
    };
    assert!(
        matches!(of("lilos"), Err(NoBound::LostTicks { cycles: 8, tick: 4 })),
        "{:?}",
        of("lilos")
    );
    assert_eq!(of("ring").expect("bounded").response, 8);
    assert!(ticked(&set, &[0, 0], 400).1 > 0);
    assert_eq!(Model::of("lilos").expect("known").timer, Timer::Tick);
}
