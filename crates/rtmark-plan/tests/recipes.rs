//! Which scenarios each kernel's costs come from, and how their samples combine, by hand.

use rtmark_plan::{Cost, Figure, Interrupt, Model, Queue, Release, Section, Set, Spans, Task};

/// Least sample, largest sample and number of samples of each scenario.
const SCENARIOS: [(&str, u64, u64, u64); 24] = [
    ("timer.tick", 50, 60, 1),
    ("timer.wake", 200, 210, 2),
    ("timer.idle", 20, 25, 3),
    ("thread.yield.alone", 30, 33, 4),
    ("thread.end", 70, 77, 5),
    ("growth.delay.delayed.4", 500, 520, 6),
    ("notify.take.blocking", 300, 310, 7),
    ("semaphore.take.blocking", 400, 440, 8),
    ("load.held.may_call", 80, 88, 9),
    ("mutex.lock.immediate", 10, 12, 10),
    ("mutex.unlock.immediate", 13, 17, 11),
    ("mutex.lock.blocking", 100, 120, 12),
    ("mutex.unlock.wake+ctx", 140, 150, 13),
    ("isr.round_trip", 60, 66, 14),
    ("isr.wake.semaphore", 310, 330, 15),
    ("isr.wake.thread", 160, 165, 16),
    ("queue.send.immediate", 90, 95, 17),
    ("queue.receive.immediate", 81, 82, 18),
    ("growth.tick.due.1", 100, 104, 19),
    ("growth.tick.due.2", 130, 138, 20),
    ("growth.tick.due.4", 170, 213, 21),
    ("growth.tick.due.8", 250, 290, 22),
    ("growth.tick.due.16", 700, 720, 23),
    ("growth.delay.delayed.64", 900, 910, 24),
];

fn spans(scenario: &str) -> Result<Spans, String> {
    let found = SCENARIOS.iter().find(|(id, ..)| *id == scenario);
    let of = |&(_, least, worst, samples): &(&str, u64, u64, u64)| Spans { least, worst, samples };
    found.map(of).ok_or_else(|| format!("{scenario} was not measured"))
}

/// Two tasks that the clock releases, with a lock and a queue between them, one that an interrupt wakes, and
/// an interrupt that wakes none.
fn set() -> Set {
    let section = Section { lock: 0, cycles: 10, inside: None };
    let tasks = vec![
        Task { sections: vec![section], ..Task::new("a", 3, 100, 10_000) },
        Task::new("b", 2, 100, 10_000),
        Task { release: Release::Interrupt(0), ..Task::new("c", 1, 100, 10_000) },
    ];
    let interrupt = |name: &str| Interrupt { name: name.into(), distance: 10_000, work: 10 };
    let interrupts = vec![interrupt("i"), interrupt("j")];
    let mut set =
        Set { tick: 10_000, tasks, interrupts, locks: vec!["l".into()], ..Set::default() };
    set.connect(Queue { name: "q".into(), from: 0, to: 1, items: 9 }).expect("room");
    set
}

/// Returns what each cost of a kernel is made of, and its cycles.
fn costs(kernel: &str, set: &Set) -> Vec<(Cost, String, u64)> {
    let costs = Model::of(kernel).expect("known").measured(set, &mut spans);
    assert_eq!(costs.missing, []);
    costs.known.into_iter().map(|(cost, it)| (cost, it.scenario, it.cycles)).collect()
}

fn by_hand(all: &[(Cost, &str, u64)]) -> Vec<(Cost, String, u64)> {
    all.iter().map(|(cost, scenario, cycles)| (*cost, (*scenario).to_owned(), *cycles)).collect()
}

#[test]
fn freertos_has_a_tick_semaphores_and_inheritance() {
    let expected = [
        (Cost::Tick, "timer.tick", 60),
        // (213 - 130) / 2, rounded up, is steeper than 138 - 100 and (290 - 170) / 4.
        (Cost::Release, "the rise of growth.tick.due", 42),
        (Cost::Start, "timer.wake less timer.tick, and thread.yield.alone", 210 - 50 + 33),
        (Cost::End, "growth.delay.delayed.4", 520),
        (Cost::Wait, "semaphore.take.blocking", 440),
        (Cost::HeldBack, "mutex.unlock.wake+ctx", 150),
        (Cost::Lock, "mutex.lock.immediate and mutex.unlock.immediate", 12 + 17),
        (Cost::Contended, "mutex.lock.blocking and mutex.unlock.wake+ctx", 120 + 150),
        (Cost::Interrupt, "isr.round_trip", 66),
        (Cost::Wake, "isr.wake.semaphore and thread.yield.alone", 330 + 33),
        (Cost::Send, "queue.send.immediate", 95),
        (Cost::Receive, "queue.receive.immediate", 82),
        (Cost::Look, "queue.receive.immediate", 82),
    ];
    assert_eq!(costs("freertos", &set()), by_hand(&expected));
}

#[test]
fn embassy_and_rtic_have_alarms_instead_of_ticks() {
    let expected = [
        (Cost::Tick, "growth.tick.due.1", 104),
        (Cost::Start, "timer.wake", 210),
        (Cost::End, "growth.delay.delayed.4", 520),
        (Cost::Wait, "notify.take.blocking", 310),
        // A send takes longer than what is held under load.
        (Cost::HeldBack, "queue.send.immediate", 95),
        (Cost::Lock, "mutex.lock.immediate and mutex.unlock.immediate", 12 + 17),
        (Cost::Interrupt, "isr.round_trip", 66),
        (Cost::Wake, "isr.wake.thread", 165),
        (Cost::Send, "queue.send.immediate", 95),
        (Cost::Receive, "queue.receive.immediate", 82),
        (Cost::Look, "queue.receive.immediate", 82),
    ];
    assert_eq!(costs("embassy", &set()), by_hand(&expected));
    assert_eq!(costs("rtic", &set()), by_hand(&expected));
}

#[test]
fn turns_with_a_tick_start_without_another_switch() {
    let of = |kernel: &str, wanted: Cost| {
        let found = costs(kernel, &set()).into_iter().find(|(cost, ..)| *cost == wanted);
        found.map(|(_, scenario, cycles)| (scenario, cycles)).expect("needed")
    };
    for kernel in ["lilos", "ring"] {
        assert_eq!(of(kernel, Cost::Start), ("timer.wake less timer.tick".into(), 210 - 50));
    }
    assert_eq!(of("lilos", Cost::HeldBack), ("timer.idle".into(), 25));
    assert_eq!(of("lilos", Cost::End), ("growth.delay.delayed.4".into(), 520));
    // A closure neither waits nor locks.
    assert_eq!(of("ring", Cost::End), ("thread.end".into(), 77));
    assert_eq!(of("ring", Cost::Wait), ("thread.end".into(), 77));
    assert_eq!(of("ring", Cost::HeldBack), ("queue.send.immediate".into(), 95));
    assert_eq!(of("ring", Cost::Lock).1, 0);
}

#[test]
fn calls_that_no_task_makes_hold_nothing_back() {
    let held = |set: &Set| {
        let found = costs("freertos", set).into_iter().find(|(cost, ..)| *cost == Cost::HeldBack);
        found.map(|(_, scenario, _)| scenario).expect("needed")
    };
    let mut without = set();
    without.tasks[0].sections.clear();
    assert_eq!(held(&without), "queue.send.immediate");
    without.tasks[0].sends = 0;
    assert_eq!(held(&without), "queue.send.immediate", "b looks");
    without.tasks[1].looks = 0;
    assert_eq!(held(&without), "load.held.may_call");
}

#[test]
fn the_least_and_the_number_of_samples_combine_as_the_largest_does() {
    let freertos = Model::of("freertos").expect("known").measured(&set(), &mut spans).known;
    let of = |figure: &Figure| (figure.least, figure.samples);
    assert_eq!(of(&freertos[&Cost::Tick]), (50, 1));
    assert_eq!(of(&freertos[&Cost::Lock]), (10 + 13, 10 + 11));
    assert_eq!(of(&freertos[&Cost::Start]), (200 - 60, 2 + 1 + 4));
    assert_eq!(of(&freertos[&Cost::HeldBack]), (140, 13));
    // (250 - 213) / 4 is less than 130 - 104 and (170 - 138) / 2.
    assert_eq!(of(&freertos[&Cost::Release]), (9, 19 + 20 + 21 + 22));
    let lilos = Model::of("lilos").expect("known").measured(&set(), &mut spans).known;
    assert_eq!(of(&lilos[&Cost::Start]), (200 - 60, 2 + 1));
}

#[test]
fn a_wait_among_many_tasks_is_the_next_measured_points() {
    let end = |count: usize| {
        let tasks = vec![Task::new("a", 1, 1, 10_000); count];
        let costs = Model::of("freertos").expect("known");
        let costs = costs.measured(&Set { tick: 10_000, tasks, ..Set::default() }, &mut spans);
        costs.known.get(&Cost::End).map(|figure| figure.scenario.clone())
    };
    assert_eq!(end(3).as_deref(), Some("growth.delay.delayed.4"));
    assert_eq!(end(4).as_deref(), Some("growth.delay.delayed.4"));
    assert_eq!(end(5), None, "the next point was not measured here");
    assert_eq!((end(64).as_deref(), end(65)), (Some("growth.delay.delayed.64"), None));
}

/// The rise of the tick with the tasks that it releases is measured up to as many as there are: it may be steeper
/// with more of them.
#[test]
fn releases_among_many_tasks_are_measured_up_to_their_number() {
    let release = |clocked: usize| {
        let mut tasks = vec![Task::new("a", 1, 1, 10_000); clocked];
        tasks.push(Task { release: Release::Interrupt(0), ..tasks[0].clone() });
        let interrupts = vec![Interrupt { name: "i".into(), distance: 10_000, work: 10 }];
        let set = Set { tick: 10_000, tasks, interrupts, ..Set::default() };
        let costs = Model::of("freertos").expect("known").measured(&set, &mut spans);
        let missing = costs.missing.iter().find(|it| it.cost == Cost::Release);
        costs.known.get(&Cost::Release).map(|it| it.cycles).ok_or(missing.map(|it| it.why.clone()))
    };
    assert_eq!((release(2), release(8)), (Ok(42), Ok(42)));
    // (720 - 250) / 8, rounded up.
    assert_eq!((release(9), release(16)), (Ok(59), Ok(59)));
    assert_eq!(release(17), Err(Some("growth.tick.due.32 was not measured".to_owned())));
    let why = "growth.tick.due has no point for 65 tasks";
    assert_eq!(release(65), Err(Some(why.to_owned())));
}

#[test]
fn a_sets_scenarios_are_those_of_its_costs_once_each() {
    let scenarios = Model::of("embassy").expect("known").scenarios(&set());
    let expected = [
        "growth.delay.delayed.4",
        "growth.tick.due.1",
        "isr.round_trip",
        "isr.wake.thread",
        "load.held.may_call",
        "mutex.lock.immediate",
        "mutex.unlock.immediate",
        "notify.take.blocking",
        "queue.receive.immediate",
        "queue.send.immediate",
        "timer.wake",
    ];
    assert_eq!(scenarios, expected);
    let freertos = Model::of("freertos").expect("known").scenarios(&set());
    for point in [1, 2, 4, 8] {
        assert!(freertos.contains(&format!("growth.tick.due.{point}")), "{freertos:?}");
    }
    assert!(freertos.contains(&"thread.yield.alone".to_owned()));
}
