use rtmark_plan::{Costs, Interrupt, Order, Task};
use rtmark_sim::Overhead;

use super::*;
use crate::calibrate::{locked, plain, row};
use crate::image::tests::{ALARM, bench, preemptive};

/// A thousand rounds in 6000 cycles; 30 cycles around a stretch, 100 around a job.
fn calibration() -> Calibration {
    Calibration { thousand: 6_000, stretch: 30, job: 100, costs: Costs::zero() }
}

#[test]
fn releases_are_counted_in_ticks_or_in_cycles_between_interrupts() {
    let source = InterruptSource { rounds: 0, distance: 70, offset: 9 };
    let other = InterruptSource { offset: 5, ..source };
    let table = Table { tick: 100, interrupts: vec![other, source], ..Table::default() };
    let clocked = row(1, 4, 3, &[]);
    assert_eq!(table.release(&clocked, 0, 1_000), 1_300);
    assert_eq!(table.release(&clocked, 2, 1_000), 2_100);
    let woken = Row { interrupt: Some(1), ..clocked };
    assert_eq!(table.release(&woken, 0, 1_000), 1_009);
    assert_eq!(table.release(&woken, 3, 1_000), 1_219);
}

#[test]
fn a_response_lasts_from_the_release_to_the_end_and_the_first_longest_one_is_kept() {
    let rows = vec![row(2, 1, 0, &[]), row(1, 3, 1, &[])];
    let table = Table { tick: 100, rows, ..Table::default() };
    // The first task is released at 1000, 1100, …; the second one at 1100, 1400, ….
    let marks = [
        (Mark::Tick, 1_000),
        (Mark::Begin(0), 1_005),
        (Mark::End(0), 1_020),
        (Mark::End(0), 1_150),
        (Mark::End(1), 1_190),
        (Mark::End(0), 1_250),
        (Mark::End(0), 1_310),
        (Mark::Begin(0), 1_399),
    ];
    let ran = observed(&table, 1_000, &marks).expect("in order");
    let witness = Witness { job: 1, released: 1_100, ended: 1_150 };
    assert_eq!(ran.tasks[0], Observed { jobs: 4, longest: 50, witness: Some(witness) });
    let witness = Witness { job: 0, released: 1_100, ended: 1_190 };
    assert_eq!(ran.tasks[1], Observed { jobs: 1, longest: 90, witness: Some(witness) });
    assert_eq!(ran.cycles, 1_399);
}

#[test]
fn a_job_that_has_not_ended_takes_at_least_until_the_end_of_the_run() {
    let table = Table { tick: 100, rows: vec![row(1, 2, 0, &[])], ..Table::default() };
    let until = |end| {
        let marks = [(Mark::End(0), 1_060), (Mark::Tick, end)];
        observed(&table, 1_000, &marks).expect("in order").tasks.remove(0)
    };
    let witness = Witness { job: 0, released: 1_000, ended: 1_060 };
    // The second job was released at 1200.
    assert_eq!(until(1_260), Observed { jobs: 1, longest: 60, witness: Some(witness) });
    assert_eq!(until(1_261), Observed { jobs: 1, longest: 61, witness: None });
}

#[test]
fn an_end_before_its_release_is_an_error() {
    let table = Table { tick: 100, rows: vec![row(1, 2, 0, &[])], ..Table::default() };
    let of = |end| observed(&table, 1_000, &[(Mark::End(0), end)]).map(|ran| ran.tasks[0].longest);
    assert_eq!(of(999), Err(SetError::NotObserved("a release")));
    assert_eq!(of(1_000), Ok(0));
}

#[test]
fn offsets_count_from_the_second_tick_or_from_the_timers_start() {
    let table = Table { tick: 100, ..Table::default() };
    let marks = [(Mark::Begin(0), 20), (Mark::Tick, 70), (Mark::Tick, 170)];
    assert_eq!(preemptive(1).start(&table, &marks), Ok(170));
    assert_eq!(preemptive(1).start(&table, &marks[..1]), Err(SetError::NotObserved("the tick")));
    let alarm = bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), 1);
    assert_eq!(alarm.start(&table, &[]), Ok(50_000));
}

#[test]
fn interrupts_are_numbered_from_the_images_first() {
    let bench = preemptive(1);
    // Exception 40 is interrupt 24.
    assert_eq!((bench.interrupt(0), bench.interrupt(1)), (24, 25));
}

#[test]
fn the_processors_wake_time_counts_from_the_first_beginning_to_the_last() {
    let hit = |watch, cycle, asleep| Hit {
        watch: WatchId(watch),
        cycle: Cycles(cycle),
        instructions: rtmark_units::Instructions(0),
        ticks: 0,
        interrupts: 0,
        overhead: Overhead { asleep: Cycles(asleep), ..Overhead::default() },
    };
    let mut seen = Beginnings::default();
    let begins = |watch| watch == WatchId(1);
    assert_eq!(seen.wake(), Wake::default());
    seen.observe(&[hit(2, 10, 1), hit(1, 100, 20), hit(2, 120, 30)], begins);
    assert_eq!(seen.wake(), Wake::default());
    seen.observe(&[hit(1, 300, 90), hit(1, 600, 200), hit(2, 900, 300)], begins);
    seen.observe(&[hit(2, 950, 340)], begins);
    assert_eq!(seen.wake(), Wake { cycles: 500, awake: 320 });
    let sum = seen.wake().with(Wake { cycles: 7, awake: 5 });
    assert_eq!(sum, Wake { cycles: 507, awake: 325 });
}

#[test]
fn traffic_adds_up() {
    let one = Traffic { sent: 9, received: 6, lost: 2 };
    let other = Traffic { sent: 30, received: 20, lost: 10 };
    assert_eq!(one.with(other), Traffic { sent: 39, received: 26, lost: 12 });
}

#[test]
fn work_is_spread_evenly_around_sections_and_never_exceeds_what_is_stated() {
    let section = |lock, cycles, inside| Section { lock, cycles, inside };
    let of = |work, sections: &[Section]| stretches(work, sections, &calibration());
    // (6130 - 100 - 30) cycles at six a round.
    assert_eq!(of(6_130, &[]), [plain(1_000)]);
    // 10000 - 1230 - 100 = 8670: two halves of 4335 cycles.
    assert_eq!(of(10_000, &[section(0, 1_230, None)]), [plain(717), locked(200), plain(717)]);
    // The inner section and the overhead of its stretch are part of the outer one: 1230 - 330 - 30.
    let nested = [section(0, 1_230, None), section(1, 330, Some(0))];
    let outer = Stretch { lock: Some(0), inner: Some(1), ..plain(140) };
    assert_eq!(of(10_000, &nested), [plain(717), outer, plain(50), plain(717)]);
    // Three thirds of 10000 - 930 - 330 - 100 = 8640.
    let apart = [section(1, 930, None), section(0, 330, None)];
    let other = Stretch { lock: Some(1), ..plain(150) };
    assert_eq!(of(10_000, &apart), [plain(475), other, plain(475), locked(50), plain(475)]);
    assert_eq!(of(90, &[]), [plain(0)]);
}

/// A job executes its overhead and that of each stretch, too.
#[test]
fn sections_that_fill_their_job_leave_it_no_longer_than_stated() {
    let section = |lock, cycles, inside| Section { lock, cycles, inside };
    let of = |work, sections: &[Section]| stretches(work, sections, &calibration());
    let length = |stretches: &[Stretch]| {
        100 + stretches.iter().map(|stretch| 30 + stretch.rounds * 6).sum::<u64>()
    };
    // Of 1230 cycles, the overheads take 100 + 3 * 30.
    let filled = of(1_230, &[section(0, 1_230, None)]);
    assert_eq!(filled, [plain(0), locked(173), plain(0)]);
    assert_eq!(length(&filled), 1_228);
    // Two stretches have 40 cycles and take 60; the section gives the rest.
    assert_eq!(of(1_430, &[section(0, 1_290, None)]), [plain(0), locked(206), plain(0)]);
    // The inner section's stretch and the outer one's have 30 each.
    let nested = of(1_230, &[section(0, 630, None), section(1, 630, Some(0))]);
    let outer = Stretch { lock: Some(0), inner: Some(1), ..plain(0) };
    assert_eq!(nested, [plain(36), outer, plain(95), plain(36)]);
    for work in (200..4_000).step_by(7) {
        for share in [50, 90, 99, 100] {
            let cycles = work * share / 100;
            let sections = [section(0, cycles / 2, None), section(1, cycles - cycles / 2, None)];
            let stretches = of(work, &sections);
            let least = 100 + 5 * 30;
            assert!(length(&stretches) <= work.max(least), "{work} {share} {stretches:?}");
        }
    }
}

fn set(tasks: Vec<Task>) -> Set {
    Set {
        tick: 1_000,
        granule: 168.into(),
        tasks,
        locks: vec!["l".into(), "m".into()],
        ..Set::default()
    }
}

fn refused(bench: &Bench, set: &Set) -> String {
    bench.table(set, &calibration()).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_set_becomes_a_table_of_ticks_and_consecutive_levels() {
    let mut set = set(vec![
        Task { offset: 3_000, ..Task::new("a", 70, 6_130, 4_000) },
        Task { release: Release::Interrupt(1), offset: 55, ..Task::new("b", 90, 6_130, 2_000) },
        Task::new("c", 70, 6_130, 5_000),
    ]);
    let interrupt = |name: &str, distance, work| Interrupt { name: name.into(), distance, work };
    set.interrupts = vec![interrupt("i", 700, 630), interrupt("j", 2_000, 1_230)];
    set.connect(Queue { name: "q".into(), from: 2, to: 0, items: 9 }).expect("room");
    let table = preemptive(3).table(&set, &calibration()).expect("it fits");
    let work = [plain(1_000)];
    let woken = Row { interrupt: Some(1), ..row(2, 1, 0, &work) };
    assert_eq!(table.rows, [row(1, 4, 3, &work), woken, row(1, 5, 0, &work)]);
    assert_eq!(table.tick, 1_000);
    // Its task's offset is an interrupt's own.
    let source = |rounds, distance, offset| InterruptSource { rounds, distance, offset };
    assert_eq!(table.interrupts, [source(100, 700, 0), source(200, 2_000, 55)]);
    assert_eq!(table.queues, [Channel { from: 2, to: 0, items: 9 }]);
}

#[test]
fn times_between_ticks_or_microseconds_are_refused() {
    let of = |bench: &Bench, period, offset| {
        refused(bench, &set(vec![Task { offset, ..Task::new("a", 1, 500, period) }]))
    };
    let ticked = preemptive(1);
    assert_eq!(of(&ticked, 2_000, 1_000), "");
    assert_eq!(of(&ticked, 2_001, 0), "the period of a is not a whole number of ticks");
    assert_eq!(of(&ticked, 2_000, 1), "the offset of a is not a whole number of ticks");
    let alarm = bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), 1);
    assert_eq!(of(&alarm, 2 * 168, 168), "");
    assert_eq!(of(&alarm, 1_000, 0), "the period of a is not a whole number of microseconds");
    let without = Set { tick: 0, ..set(vec![Task::new("a", 1, 500, 1_000)]) };
    assert!(refused(&ticked, &without).contains("period of a"));
}

#[test]
fn messages_belong_to_queues_of_the_set() {
    let of = |sends, looks| {
        let tasks = vec![Task { sends, looks, ..Task::new("a", 1, 500, 1_000) }];
        refused(&preemptive(1), &set(tasks))
    };
    assert_eq!(of(0, 0), "");
    assert_eq!(of(1, 0), "a: its messages belong to no queue");
    assert_eq!(of(0, 1), "a: its messages belong to no queue");
    let items = |items| {
        let tasks = vec![Task::new("a", 1, 500, 1_000), Task::new("b", 2, 500, 1_000)];
        let mut set = set(tasks);
        set.connect(Queue { name: "q".into(), from: 0, to: 1, items }).expect("room");
        refused(&preemptive(2), &set)
    };
    assert_eq!((items(32), items(33).is_empty()), (String::new(), false));
}

#[test]
fn sections_nest_at_most_one_within_another() {
    let of = |protocol, sections: &[(usize, Option<usize>)]| {
        let section = |(lock, inside)| Section { lock, cycles: 100, inside };
        let sections: Vec<Section> = sections.iter().copied().map(section).collect();
        bench(Order::Preemptive, protocol, Clock::Tick, 1)
            .nests(&sections)
            .err()
            .unwrap_or_default()
    };
    let one = [(0, None), (1, Some(0))];
    assert_eq!(of(Protocol::Inheritance, &one), "");
    assert_eq!(of(Protocol::Cooperative, &one), "the image has no nested locks");
    assert_eq!(of(Protocol::Cooperative, &[(0, None), (1, None)]), "");
    let several = "the image has one section within another, not several";
    assert_eq!(of(Protocol::Inheritance, &[(0, None), (1, Some(0)), (1, Some(0))]), several);
    assert_eq!(of(Protocol::Inheritance, &[(0, None), (0, None), (1, Some(0))]), several);
    assert_eq!(of(Protocol::Inheritance, &[(1, Some(0))]), several, "nothing is around it");
    let three = [(0, None), (1, Some(0)), (2, Some(1))];
    assert_eq!(of(Protocol::Inheritance, &three), "the image nests two locks, not three");
}

#[test]
fn times_are_in_the_clocks_unit() {
    let set = set(Vec::new());
    assert_eq!(preemptive(1).unit(&set), 1_000);
    let alarm = bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), 1);
    assert_eq!(alarm.unit(&set), 168);
}
