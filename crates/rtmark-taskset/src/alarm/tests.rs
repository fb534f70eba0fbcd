use std::collections::BTreeSet;

use super::*;
use crate::image::Clock;
use crate::image::tests::{ALARM, bench};

fn levels(tasks: usize) -> Bench {
    bench(Order::Preemptive, Protocol::Ceiling, Clock::Alarm(ALARM), tasks)
}

fn batches(tasks: usize) -> Bench {
    bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), tasks)
}

#[test]
fn a_tick_is_the_next_whole_count_of_the_timer() {
    assert_eq!(tick(ALARM), 15_120, "90 counts of 168 cycles");
    assert_eq!(tick(Alarm { granule: 48, ..ALARM }), 15_024);
}

#[test]
fn tasks_that_the_clock_releases_in_one_cycle_are_counted() {
    let woken = Row { interrupt: Some(0), ..row(4, 1, 0, &[]) };
    let rows = vec![row(1, 4, 0, &[]), row(2, 4, 2, &[]), row(3, 2, 2, &[]), woken];
    let table = Table { tick: 100, rows, ..Table::default() };
    // Released from cycle 1000 on every 400, from 1200 on every 400, and from 1200 on every 200.
    let due = |cycle| table.due(cycle, 1_000);
    assert_eq!((due(1_000), due(1_200), due(1_400), due(1_600)), (1, 2, 2, 2));
    assert_eq!(due(1_800), 2);
    assert_eq!(due(1_201), 1, "at least the one that was asked about");
}

#[test]
fn a_job_is_what_lies_between_its_tasks_marks() {
    use Mark::{Begin, End, Tick};
    let marks = [
        (End(0), 1),
        (Begin(0), 2),
        (Begin(1), 3),
        (End(1), 4),
        (End(0), 5),
        (Tick, 6),
        (End(0), 7),
        (Begin(0), 8),
        (Begin(0), 9),
        (End(0), 12),
        (Begin(0), 13),
    ];
    assert_eq!(jobs_of(&marks, 0), [&marks[1..5], &marks[8..10]]);
    assert_eq!(jobs_of(&marks, 1), [&marks[2..4]]);
    assert_eq!(length(&marks[1..5]), 3);
    assert!(has_tick(&marks[4..6]) && !has_tick(&marks[..5]));
}

/// Three jobs of the runner: one alone, one with a release of the second task in it, and one with releases
/// of both others. Offsets count from cycle 10 000, a tick has 1000 cycles.
fn three_jobs() -> (Table, Vec<(Mark, u64)>) {
    use Mark::{Begin, End, Tick, TickDone};
    let rows = vec![row(1, 20, 0, &[]), row(2, 20, 21, &[]), row(3, 20, 41, &[])];
    let table = Table { tick: 1_000, rows, ..Table::default() };
    let marks = vec![
        (Tick, 10_000),
        (Begin(0), 10_300),
        (End(0), 11_300),
        (Tick, 30_000),
        (Begin(0), 30_300),
        (Tick, 31_000),
        (TickDone, 31_060),
        (Begin(1), 31_100),
        (End(1), 31_400),
        (End(0), 31_805),
        (Tick, 50_000),
        (Begin(0), 50_310),
        (Tick, 51_000),
        (TickDone, 51_080),
        (Begin(2), 51_150),
        (End(2), 51_450),
        (Begin(1), 51_500),
        (End(1), 51_800),
        (End(0), 52_170),
    ];
    (table, marks)
}

#[test]
fn a_disturbed_job_is_longer_by_what_the_others_do_not_account_for() {
    let (table, marks) = three_jobs();
    assert_eq!(quiet_run(&marks), Some(1_000));
    assert_eq!(quiet_run(&marks[3..]), None, "all have ticks in them");
    let seen = RunnerTimes::of(&marks, &table, 10_000, 1_000);
    // 1505 - 1000 - (31400 - 31000), one release; 1860 - 1000 - (51800 - 51000), two.
    assert_eq!(seen.longer, [(105, 1), (60, 2)]);
    // Only an interrupt that releases a single task tells how long its handler takes.
    assert_eq!(seen.handled, [60]);
    let seen = RunnerTimes::of(&marks, &table, 10_000, 1_103);
    assert_eq!(seen.longer, [(2, 1), (0, 2)]);
}

#[test]
fn a_tick_that_releases_no_other_task_is_no_disturbance() {
    let (mut table, marks) = three_jobs();
    table.rows[1].offset = 41;
    let seen = RunnerTimes::of(&marks, &table, 10_000, 1_000);
    assert_eq!((seen.longer, seen.handled), (vec![(60, 2)], Vec::new()));
}

#[test]
fn a_start_is_direct_if_nothing_began_or_ended_since_the_release() {
    let (table, marks) = three_jobs();
    let seen = RunnerTimes::of(&marks, &table, 10_000, 1_000);
    // The last job of the second task waited for the third task, which was released at the same time.
    assert_eq!(seen.starts, [(300, 1), (300, 1), (100, 1), (310, 1), (150, 2)]);
    // From an end to a beginning without a tick between them.
    assert_eq!(seen.ends, [50]);
}

#[test]
fn an_interrupt_prolongs_a_job_without_the_task_that_it_wakes() {
    use Mark::{Begin, End, Handled, Pended, Tick};
    let marks = [
        (Begin(0), 1_000),
        (Pended(0), 1_100),
        (Handled(0), 1_150),
        (End(0), 2_070),
        // Wakes a task.
        (Begin(0), 3_000),
        (Pended(0), 3_100),
        (Begin(1), 3_180),
        (End(1), 3_400),
        (End(0), 4_390),
        // No interrupt, and one beside a tick.
        (Begin(0), 5_000),
        (End(0), 6_000),
        (Begin(0), 7_000),
        (Pended(0), 7_100),
        (Tick, 7_500),
        (End(0), 8_200),
    ];
    assert_eq!(interrupted_jobs(&marks, 1_000), [(70, None), (90, Some(80))]);
}

#[test]
fn a_task_alone_is_in_its_slot_and_nothing_else_is_released() {
    for (bench, own) in [(levels(4), 0), (batches(4), 2)] {
        let rows = bench.alone_at(2, &[plain(5)]);
        assert_eq!(bench.slots(&rows)[own], 2);
        assert_eq!(rows[own].stretches, [plain(5)]);
        let others = rows.iter().enumerate().filter(|(at, _)| *at != own);
        assert!(others.map(|(_, row)| row.offset).all(|offset| offset == NEVER), "{rows:?}");
        assert!(bench.check(&table(ALARM, rows)).is_ok());
    }
    // Where levels belong to the image, the others are above it, as many as there are.
    let rows = levels(4).alone_at(1, &[]);
    assert_eq!(rows.iter().map(|row| row.priority).collect::<Vec<_>>(), [2, 3, 4]);
}

/// What a table of releases does: which tasks are due while the runner works, above or below it, and where
/// those stand that wait for later.
fn shown(table: &Table) -> (u64, Vec<u64>, Vec<u64>) {
    let level = table.rows[0].priority;
    let due = table.rows[1..].iter().filter(|row| row.offset == DUE);
    let waiting = table.rows[1..].iter().filter(|row| row.offset > DUE);
    (level, due.map(|row| row.priority).collect(), waiting.map(|row| row.priority).collect())
}

#[test]
fn releases_are_tried_above_and_below_the_runner_with_others_waiting_anywhere() {
    let tables: Vec<_> = levels(4).release_tables(ALARM).iter().map(shown).collect();
    for table in levels(4).release_tables(ALARM) {
        assert!(levels(4).check(&table).is_ok(), "a row per level: {table:?}");
    }
    let has = |level, due: &[u64], waiting: &[u64]| {
        tables.iter().filter(|it| **it == (level, due.to_vec(), waiting.to_vec())).count()
    };
    // Each above the runner with rare and with frequent releases.
    assert_eq!(has(1, &[2], &[3, 4]), 2, "one due, two wait above it");
    assert_eq!(has(1, &[4], &[2, 3]), 2, "or in between");
    assert_eq!((has(1, &[2, 3], &[4]), has(1, &[3, 4], &[2])), (2, 2));
    assert_eq!(has(1, &[2, 3, 4], &[]), 4);
    assert_eq!((has(2, &[1], &[3, 4]), has(3, &[1, 2], &[4])), (1, 1), "below it");
    // With nothing above it, it is not at the timer's level.
    assert_eq!(has(4, &[1, 2, 3], &[]), 0);
    let tables: Vec<_> = batches(4).release_tables(ALARM).iter().map(shown).collect();
    assert!(tables.contains(&(4, vec![1, 2, 3], Vec::new())), "no levels in batches");
}

#[test]
fn each_number_of_releases_also_occurs_without_a_long_job() {
    let tables = levels(4).release_tables(ALARM);
    let short = |table: &&Table| table.rows.iter().all(|row| row.stretches == [plain(SHORT)]);
    let of = |table: &Table| -> Vec<_> {
        table.rows.iter().map(|row| (row.priority, row.period, row.offset)).collect()
    };
    let found: Vec<_> = tables.iter().filter(short).map(of).collect();
    assert_eq!(found[0], [(1, 2, 0), (2, 4, 0)]);
    assert_eq!(found[1], [(1, 2, 0), (2, 4, 0), (3, 6, 0)]);
    assert_eq!(found[2], [(1, 2, 0), (2, 4, 0), (3, 6, 0), (4, 8, 0)]);
    assert_eq!(found.len(), 3);
}

#[test]
fn others_are_released_in_every_other_job_or_twice_in_each() {
    let tables = levels(3).release_tables(ALARM);
    let long = |table: &&Table| table.rows[0].stretches == [plain(LONG)];
    let periods: BTreeSet<_> = tables
        .iter()
        .filter(long)
        .flat_map(|table| {
            assert_eq!((table.rows[0].period, table.rows[0].offset), (20, 0));
            table.rows[1..].iter().map(|row| (row.period, row.offset))
        })
        .collect();
    // Those that wait are due in the runner's second half, or after the end of its period.
    assert_eq!(periods, BTreeSet::from([(10, 1), (40, 1), (40, 10), (40, 30)]));
}
