//! Bounds of kernels that cost something. A scheduler charges ticks and releases, switches, locks and
//! waits for them, and handlers, one unit of time after another, and no run exceeds its bound; and
//! single costs count where they occur.

use oorandom::Rand64;
use rtmark_plan::{
    Cost, Costs, Granule, Interrupt, Model, Protocol, Release, Section, Set, Task, Timer, search,
};

/// What the kernel charges, in units.
#[derive(Clone, Copy, Debug)]
struct Charges {
    tick: u64,
    /// For each task that a tick or interrupt releases.
    release: u64,
    /// From a release to the job's first unit.
    start: u64,
    end: u64,
    /// For taking and releasing a lock; it is held throughout.
    lock: u64,
    /// For the switch to a lock's holder, and once more for the one back.
    half_wait: u64,
    handler: u64,
}

impl Charges {
    fn draw(draw: &mut Rand64) -> Self {
        let mut upto = |most: u64| draw.rand_range(0..most + 1);
        Self {
            tick: upto(2),
            release: upto(1),
            start: upto(2),
            end: upto(4),
            lock: upto(2),
            half_wait: upto(2),
            handler: upto(1),
        }
    }

    /// Returns them as the analysis of this kernel knows them.
    fn costs(self, model: &Model) -> Costs {
        costs(&[
            // An alarm is its release.
            (Cost::Tick, if model.timer == Timer::Tick { self.tick } else { self.release }),
            (Cost::Release, self.release),
            // A switch to a job includes its release.
            (Cost::Start, self.release + self.start),
            (Cost::End, self.end),
            (Cost::Wait, self.end),
            (Cost::Lock, self.lock),
            (Cost::Contended, 2 * self.half_wait),
            (Cost::Interrupt, self.handler),
            (Cost::Wake, self.handler + self.release + self.start),
        ])
    }
}

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

#[derive(Clone, Debug)]
struct Job {
    released: u64,
    done: u64,
    waits: bool,
}

/// Preemptive tasks: with ticks and priority inheritance, as FreeRTOS has them, or with alarms and
/// ceilings, as RTIC does. What the kernel does cannot be preempted. A task has at most one section, which
/// begins `before` units into its work.
struct Kernel<'a> {
    model: &'a Model,
    set: &'a Set,
    before: &'a [u64],
    charges: Charges,
    pending: Vec<Vec<Job>>,
    holder: Option<usize>,
    /// Units for which the kernel or a handler is still busy.
    busy: u64,
    longest: Vec<u64>,
}

impl<'a> Kernel<'a> {
    fn new(model: &'a Model, set: &'a Set, before: &'a [u64], charges: Charges) -> Self {
        let (pending, longest) = (vec![Vec::new(); set.tasks.len()], vec![0; set.tasks.len()]);
        Self { model, set, before, charges, pending, holder: None, busy: 0, longest }
    }

    /// Returns between which units of its job a task holds the lock.
    fn section(&self, at: usize) -> Option<(u64, u64)> {
        let from = self.charges.start + self.before[at];
        let section = self.set.tasks[at].sections.first()?;
        Some((from, from + section.cycles + self.charges.lock))
    }

    /// Makes the releases and interrupts of this moment pending.
    fn arrive(&mut self, now: u64, offsets: &[u64], interrupts: &[u64]) {
        let ticks = self.model.timer == Timer::Tick && now.is_multiple_of(self.set.tick);
        self.busy += if ticks { self.charges.tick } else { 0 };
        for (at, interrupt) in self.set.interrupts.iter().enumerate() {
            let offset = interrupts[at];
            if now >= offset && (now - offset).is_multiple_of(interrupt.distance) {
                self.busy += interrupt.work + self.charges.handler;
            }
        }
        for (at, task) in self.set.tasks.iter().enumerate() {
            let offset = match task.release {
                Release::Clock => offsets[at],
                Release::Interrupt(number) => interrupts[number],
            };
            if now >= offset && (now - offset).is_multiple_of(task.period) {
                self.busy += self.charges.release;
                self.pending[at].push(Job { released: now, done: 0, waits: false });
            }
        }
    }

    fn waits(&self, at: usize) -> bool {
        self.pending[at].first().is_some_and(|job| job.waits)
    }

    /// Returns the task that runs next; while the kernel switches to a holder, there is none.
    fn next(&mut self) -> Option<usize> {
        loop {
            let all = || 0..self.set.tasks.len();
            let priority = |at: usize| self.set.tasks[at].priority;
            let raises = |at: &usize| match self.model.protocol {
                Protocol::Ceiling => self.section(*at).is_some(),
                _ => self.waits(*at),
            };
            let raised = all().filter(raises).map(priority).max().unwrap_or(0);
            let level = |at: &usize| {
                let holds = self.holder == Some(*at);
                (if holds { priority(*at).max(raised) } else { priority(*at) }, holds)
            };
            let ready = all().filter(|at| !self.pending[*at].is_empty() && !self.waits(*at));
            let at = ready.max_by_key(level)?;
            let takes = self.section(at).is_some_and(|(from, _)| self.pending[at][0].done == from);
            match self.holder {
                Some(holder) if takes && holder != at => self.pending[at][0].waits = true,
                _ if takes => self.holder = Some(at),
                _ => {}
            }
            if !self.waits(at) {
                return Some(at);
            }
            self.busy += self.charges.half_wait;
            if self.busy > 0 {
                return None;
            }
        }
    }

    fn step(&mut self, now: u64) {
        let running = if self.busy == 0 { self.next() } else { None };
        let Some(at) = running else {
            self.busy = self.busy.saturating_sub(1);
            return;
        };
        self.pending[at][0].done += 1;
        let done = self.pending[at][0].done;
        let section = self.section(at);
        if self.holder == Some(at) && section.is_some_and(|(_, to)| done == to) {
            self.holder = None;
            for job in self.pending.iter_mut().flatten().filter(|job| job.waits) {
                job.waits = false;
                self.busy += self.charges.half_wait;
            }
        }
        let locks = if section.is_some() { self.charges.lock } else { 0 };
        if done == self.charges.start + self.set.tasks[at].work + locks {
            let job = self.pending[at].remove(0);
            self.longest[at] = self.longest[at].max(now + 1 - job.released);
            self.busy += self.charges.end;
        }
    }
}

const TICK: u64 = 20;

/// Draws up to four tasks of distinct priorities, half of them with a section, and up to two interrupts, of
/// which the first may release the first task. Returns also where sections begin.
fn drawn(draw: &mut Rand64) -> (Set, Vec<u64>) {
    let mut set =
        Set { tick: TICK, granule: 1.into(), locks: vec!["lock".to_owned()], ..Set::default() };
    for number in 0..draw.rand_range(0..3) {
        let distance = draw.rand_range(30..120);
        let work = draw.rand_range(1..4);
        set.interrupts.push(Interrupt { name: format!("irq {number}"), distance, work });
    }
    let mut before = Vec::new();
    let count = draw.rand_range(1..5) as u32;
    let first = draw.rand_range(0..u64::from(count)) as u32;
    for number in 0..count {
        let period = TICK * draw.rand_range(1..7);
        let work = draw.rand_range(1..2 * period / (3 * u64::from(count)) + 2);
        let level = 1 + (first + number) % count;
        let mut task = Task::new(&format!("t{number}"), level, work, period);
        if number == 0 && !set.interrupts.is_empty() && draw.rand_range(0..2) == 0 {
            (task.release, task.period) = (Release::Interrupt(0), set.interrupts[0].distance);
            task.deadline = task.period;
        }
        let cycles = draw.rand_range(0..work + 1);
        before.push(draw.rand_range(0..work - cycles + 1));
        if cycles > 0 && draw.rand_range(0..2) == 0 {
            task.sections.push(Section { lock: 0, cycles, inside: None });
        }
        set.tasks.push(task);
    }
    (set, before)
}

#[test]
fn no_run_exceeds_its_bound() {
    for kernel in ["freertos", "rtic"] {
        let model = Model::of(kernel).expect("known");
        let mut draw = Rand64::new(20);
        let (mut sets, mut tasks, mut reached, mut shared, mut woken) = (0, 0, 0, 0, 0);
        for _ in 0..2_000 {
            let (set, before) = drawn(&mut draw);
            let charges = Charges::draw(&mut draw);
            let bounds = bounds(&model, &set, &charges.costs(&model));
            let in_time = |(task, bound): (&Task, &Option<u64>)| {
                bound.is_some_and(|bound| bound <= task.deadline)
            };
            if !set.tasks.iter().zip(&bounds).all(in_time) {
                continue;
            }
            let longest = longest(&model, &set, &before, charges, &mut draw);
            for (bound, longest) in bounds.iter().zip(longest) {
                let bound = bound.expect("in time");
                assert!(
                    longest <= bound,
                    "{kernel}: {longest} {bounds:?} {before:?} {charges:?} {set:#?}"
                );
                reached += usize::from(longest == bound);
            }
            sets += 1;
            tasks += set.tasks.len();
            shared += usize::from(set.tasks.iter().filter(|task| task.takes(0)).count() > 1);
            woken += usize::from(set.tasks.iter().any(|task| task.release != Release::Clock));
        }
        let counts = format!(
            "{kernel}: {sets} sets, {shared} share, {woken} woken, {reached} of {tasks} reached"
        );
        assert!(sets > 1_000 && shared > 150 && woken > 300 && reached > tasks / 3, "{counts}");
    }
}

/// Returns the longest responses in runs from several offsets, the first of them all at once.
fn longest(
    model: &Model,
    set: &Set,
    before: &[u64],
    charges: Charges,
    draw: &mut Rand64,
) -> Vec<u64> {
    let unit = if model.timer == Timer::Tick { TICK } else { 1 };
    let mut longest = vec![0; set.tasks.len()];
    for run in 0..20 {
        let mut offset = |period: u64, unit: u64| {
            if run == 0 { 0 } else { draw.rand_range(0..period / unit) * unit }
        };
        let offsets: Vec<_> =
            set.tasks.iter().map(|it| offset(it.period.max(unit), unit)).collect();
        let interrupts: Vec<_> = set.interrupts.iter().map(|it| offset(it.distance, 1)).collect();
        let mut kernel = Kernel::new(model, set, before, charges);
        for now in 0..1_500 {
            kernel.arrive(now, &offsets, &interrupts);
            kernel.step(now);
        }
        for (longest, found) in longest.iter_mut().zip(kernel.longest) {
            *longest = found.max(*longest);
        }
    }
    longest
}

/// Runs an executor's batches, the most recently woken task first, and returns the longest responses. An
/// executor that wakes takes the switch to a job once; each poll ends with the switch from it.
fn batches(set: &Set, charges: Charges, offsets: &[u64], until: u64) -> Vec<u64> {
    let mut longest = vec![0; set.tasks.len()];
    let mut woken: Vec<(usize, Job)> = Vec::new();
    let mut batch: Vec<(usize, Job)> = Vec::new();
    let (mut busy, mut sleeps) = (0_u64, true);
    for now in 0..until {
        for (at, task) in set.tasks.iter().enumerate() {
            if now >= offsets[at] && (now - offsets[at]).is_multiple_of(task.period) {
                busy += charges.release;
                woken.push((at, Job { released: now, done: 0, waits: false }));
            }
        }
        if busy == 0 && batch.is_empty() {
            batch = std::mem::take(&mut woken);
            busy += if sleeps && !batch.is_empty() { charges.start } else { 0 };
            sleeps = batch.is_empty();
        }
        if busy > 0 {
            busy -= 1;
            continue;
        }
        let Some((at, job)) = batch.last_mut() else { continue };
        job.done += 1;
        if job.done == set.tasks[*at].work {
            longest[*at] = longest[*at].max(now + 1 - job.released);
            batch.pop();
            busy += charges.end;
        }
    }
    longest
}

#[test]
fn no_poll_of_an_executor_exceeds_its_bound() {
    let model = Model::of("embassy").expect("known");
    let mut draw = Rand64::new(21);
    let (mut sets, mut tasks, mut reached) = (0, 0, 0);
    for _ in 0..2_000 {
        let mut set = Set { granule: 1.into(), ..Set::default() };
        for number in 0..draw.rand_range(1..5) {
            let (work, period) = (draw.rand_range(1..8), draw.rand_range(20..90));
            set.tasks.push(Task::new(&format!("t{number}"), 1, work, period));
        }
        let charges = Charges::draw(&mut draw);
        let bounds = bounds(&model, &set, &charges.costs(&model));
        let Some(bounds) = bounds.into_iter().collect::<Option<Vec<_>>>() else { continue };
        let mut longest = vec![0; set.tasks.len()];
        for run in 0..20 {
            let mut offset = |period| if run == 0 { 0 } else { draw.rand_range(0..period) };
            let offsets: Vec<_> = set.tasks.iter().map(|task| offset(task.period)).collect();
            let found = batches(&set, charges, &offsets, 1_500);
            longest
                .iter_mut()
                .zip(found)
                .for_each(|(longest, found)| *longest = found.max(*longest));
        }
        for (bound, longest) in bounds.iter().zip(longest) {
            assert!(longest <= *bound, "{longest} {bounds:?} {charges:?} {set:#?}");
            reached += usize::from(longest == *bound);
        }
        (sets, tasks) = (sets + 1, tasks + set.tasks.len());
    }
    assert!(sets > 1_000 && reached > tasks / 5, "{sets} sets, {reached} of {tasks} reached");
}

/// A job that ends just in time leaves no time for the switch from it: the next one is late, and the
/// one after that even later.
#[test]
fn the_switch_from_a_job_delays_the_next_one() {
    let costs = costs(&[(Cost::Start, 2), (Cost::End, 5)]);
    for (work, bound) in [(93, Some(95)), (94, None), (98, None)] {
        for kernel in ["freertos", "rtic"] {
            let tasks = vec![Task::new("only", 1, work, 100)];
            let set = Set { tick: 100, granule: 1.into(), tasks, ..Set::default() };
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
        let set = Set { tick: 1, granule: 1.into(), tasks, ..Set::default() };
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
        let set = Set {
            tick: 10_000,
            granule: 1.into(),
            tasks: vec![task],
            interrupts,
            ..Set::default()
        };
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

/// An interrupt may come while a tick's round begins, which the tick and its releases cover in part.
#[test]
fn the_beginning_of_a_round_delays_what_an_interrupt_releases() {
    let response = |start: u64| {
        let more = [(Cost::Start, start), (Cost::Tick, 10), (Cost::Release, 4)];
        let costs = costs(&[&more[..], &[(Cost::HeldBack, 20), (Cost::Wake, 7)]].concat());
        let woken = Task { release: Release::Interrupt(0), ..Task::new("woken", 2, 100, 10_000) };
        let interrupts = vec![Interrupt { name: "irq".into(), distance: 10_000, work: 5 }];
        let tasks = vec![woken, Task::new("clocked", 1, 300, 10_000)];
        let set = Set { tick: 10_000, granule: 1.into(), tasks, interrupts, ..Set::default() };
        bounds(&Model::of("lilos").expect("known"), &set, &costs)[0]
    };
    // Its work, the other task's turn, the interrupt that wakes it, a tick that releases the other, and 20
    // cycles held back.
    assert_eq!(response(34), Some(100 + 300 + 5 + 7 + 10 + 4 + 20));
    assert_eq!(response(35), Some(100 + 300 + 5 + 7 + 10 + 4 + 21));
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
            let set =
                Set { tick: 10_000, granule: 1.into(), tasks: all, interrupts, ..Set::default() };
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
    let set = Set { tick: 1, granule: 100.into(), tasks, ..Set::default() };
    // From 1100: released at 1100, 2100 and 3200, the job ends after 1480 + 2 * 300, or a third job.
    assert_eq!(bounds(&model, &set, &Costs::zero()), [Some(400), Some(2380)]);
}

/// The alarm of a less urgent task may come up to one unit of the timer late, and so may the one before: a
/// job that takes longer than the rest of that task's period waits for two of them.
#[test]
fn a_late_alarm_of_a_less_urgent_task_counts() {
    let costs = costs(&[(Cost::Tick, 7)]);
    let response = |work: u64| {
        let tasks = vec![Task::new("urgent", 2, work, 10_000), Task::new("often", 1, 1, 1050)];
        let set = Set { tick: 1, granule: 100.into(), tasks, ..Set::default() };
        bounds(&Model::of("rtic").expect("known"), &set, &costs)[0]
    };
    // The timer interrupts once because it comes half round.
    assert_eq!(response(936), Some(936 + 7 + 7));
    assert_eq!(response(937), Some(937 + 7 + 2 * 7));
}

/// An executor's job waits for the alarm that released the task before it and for that task's next one.
#[test]
fn both_alarms_of_a_task_that_runs_first_count() {
    let costs = costs(&[(Cost::Tick, 7)]);
    let tasks = vec![Task::new("one", 2, 100, 10_000), Task::new("two", 1, 200, 10_000)];
    let set = Set { tick: 1, granule: 0.into(), tasks, ..Set::default() };
    let model = Model::of("embassy").expect("known");
    assert_eq!(bounds(&model, &set, &costs), [Some(300 + 2 * 7); 2]);
}

/// Kernels without a tick have the same bounds whatever the tick of other kernels.
#[test]
fn where_alarms_release_tasks_no_bound_depends_on_a_tick() {
    let mut draw = Rand64::new(3);
    let costs = costs(&[(Cost::Tick, 2), (Cost::Start, 3), (Cost::End, 1)]);
    let mut bounded = 0;
    for _ in 0..300 {
        let mut tasks = Vec::new();
        for level in 1..draw.rand_range(3..5) {
            let (work, period) = (draw.rand_range(5..45), 20 * draw.rand_range(5..11));
            tasks.push(Task::new(&format!("t{level}"), level as u32, work, period));
        }
        for kernel in ["rtic", "embassy"] {
            let model = Model::of(kernel).expect("known");
            let at = |tick: u64| {
                let set = Set { tick, granule: 1.into(), tasks: tasks.clone(), ..Set::default() };
                bounds(&model, &set, &costs)
            };
            assert_eq!(at(1), at(20), "{kernel}: {tasks:#?}");
            bounded += usize::from(at(20).iter().all(Option::is_some));
        }
    }
    assert!(bounded > 200, "{bounded}");
}

/// With a ceiling, a job waits before it begins and so needs no switch to the lock's holder; with
/// inheritance, it switches there and back.
#[test]
fn only_inheritance_costs_a_switch_to_the_holder() {
    let costs = costs(&[(Cost::Lock, 5), (Cost::Contended, 50)]);
    let task = |name: &str, level, work, cycles| {
        let sections = vec![Section { lock: 0, cycles, inside: None }];
        Task { sections, ..Task::new(name, level, work, 10_000) }
    };
    // The longest of the sections of less urgent tasks counts.
    let tasks = vec![task("a", 3, 30, 10), task("b", 2, 40, 20), task("c", 1, 40, 25)];
    let locks = vec!["l".to_owned()];
    let set = Set { tick: 10_000, granule: 0.into(), tasks, locks, ..Set::default() };
    for (kernel, response) in [("rtic", 30 + 5 + 25 + 5), ("freertos", 30 + 5 + 25 + 5 + 50)] {
        let model = Model::of(kernel).expect("known");
        assert_eq!(bounds(&model, &set, &costs)[0], Some(response), "{kernel}");
    }
}

/// A release is lost if the one before it has not been taken: a job that begins as the next one is
/// released is just in time.
#[test]
fn a_job_that_begins_with_the_next_release_loses_none() {
    let both = |work: u64| {
        let woken = Task { release: Release::Interrupt(0), ..Task::new("woken", 1, 10, 60) };
        let interrupts = vec![Interrupt { name: "irq".into(), distance: 60, work: 0 }];
        let tasks = vec![Task::new("long", 2, work, 160), woken];
        let set = Set { tick: 1, granule: 0.into(), tasks, interrupts, ..Set::default() };
        bounds(&Model::of("rtic").expect("known"), &set, &Costs::zero())
    };
    assert_eq!(both(60), [Some(60), Some(70)]);
    assert_eq!(both(61), [Some(61), None]);
}

/// A task alone can grow until it fills the processor, exactly.
#[test]
fn one_task_can_grow_to_its_period() {
    let model = Model::of("rtic").expect("known");
    let set =
        Set { granule: 0.into(), tasks: vec![Task::new("only", 1, 100, 1000)], ..Set::default() };
    let factor = search::breakdown(&set, |set| model.holds(set, &Costs::zero()));
    assert_eq!(set.scaled(factor).tasks[0].work, 1000, "{factor}");
}

/// A timer of 16 bits interrupts after each half of its range, which software extends, whether or not an
/// alarm is due: with units of ten cycles, every 327 680 cycles.
#[test]
fn each_half_round_of_an_alarms_timer_counts() {
    let costs = costs(&[(Cost::Tick, 7)]);
    let response = |work: u64, granule: u64| {
        let tasks = vec![Task::new("only", 1, work, 1_000_000)];
        let set = Set { tick: 1, granule: granule.into(), tasks, ..Set::default() };
        bounds(&Model::of("rtic").expect("known"), &set, &costs)[0]
    };
    assert_eq!(response(327_673, 10), Some(327_680));
    assert_eq!(response(327_674, 10), Some(327_674 + 2 * 7));
    assert_eq!(response(700_000, 10), Some(700_000 + 3 * 7));
    assert_eq!(response(700_000, 0), Some(700_000), "a timer that never comes round");
}

/// At 12.288 MHz a microsecond is no whole number of cycles: no period is certain to be a multiple of it.
#[test]
fn a_unit_of_a_part_of_a_cycle_counts_on_the_safe_side() {
    let response = |period| {
        let urgent = Task::new("urgent", 2, 10, period);
        let tasks = vec![urgent, Task::new("slow", 1, 990, 1_000_000)];
        let set = Set { granule: Granule::of(12_288_000, 1_000_000), tasks, ..Set::default() };
        bounds(&Model::of("rtic").expect("known"), &set, &Costs::zero())[1]
    };
    assert_eq!([1_000, 1_012, 1_013].map(response), [Some(1_023), Some(1_023), Some(1_013)]);
}

/// Tasks may grow until they and the handlers, which do not, fill the processor.
#[test]
fn handlers_do_not_limit_how_far_tasks_can_grow() {
    let model = Model::of("rtic").expect("known");
    let interrupts = vec![Interrupt { name: "irq".into(), distance: 1000, work: 400 }];
    let tasks = vec![Task::new("only", 1, 100, 1000)];
    let set = Set { tick: 1000, granule: 1.into(), tasks, interrupts, ..Set::default() };
    let factor = search::breakdown(&set, |set| model.holds(set, &Costs::zero()));
    let load = set.scaled(factor).utilisation_exact();
    assert!((load - 1.0).abs() < 1e-3, "{load}");
}
