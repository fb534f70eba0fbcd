use rtmark_plan::{Costs, Figure, Order, Protocol, Section};

use super::*;
use crate::image::Clock;
use crate::image::tests::{bench, preemptive};

/// A tick costs 100 cycles, a start 200, a lock 50.
fn calibration() -> Calibration {
    let mut costs = Costs::zero();
    for (cost, cycles) in [(Cost::Tick, 100), (Cost::Start, 200), (Cost::Lock, 50)] {
        costs.known.insert(cost, Figure { cycles, scenario: "x".into(), least: 0, samples: 1 });
    }
    Calibration { thousand: 1_000, stretch: 0, job: 0, costs }
}

fn step(task: &Task) -> u64 {
    if task.release == Release::Clock { 1_000 } else { 1 }
}

#[test]
fn in_turns_each_task_is_woken_once_just_after_all_others_have_begun() {
    let woken = Task { release: Release::Interrupt(0), ..Task::new("c", 1, 1, 9_000) };
    let tasks = vec![Task::new("a", 3, 1, 9_000), Task::new("b", 2, 1, 9_000), woken];
    let mut set = Set { tasks, ..Set::default() };
    let of = |bench: &Bench, set: &Set| bench.behind_all_others(set, &calibration(), step);
    let turns = bench(Order::Rounds, Protocol::Cooperative, Clock::Tick, 3);
    // A start later: by the clock at the next tick, by an interrupt at once.
    assert_eq!(of(&turns, &set), [[1_000, 0, 0], [0, 1_000, 0], [0, 0, 200]]);
    assert_eq!(of(&preemptive(3), &set), [[0; 3]; 0]);
    set.tasks.truncate(2);
    assert_eq!(of(&turns, &set).len(), 2);
    set.tasks.truncate(1);
    assert_eq!(of(&turns, &set), [[0; 1]; 0], "nothing to wait behind");
}

fn locking(cycles: &[u64]) -> Set {
    let section = |(lock, cycles): (usize, &u64)| Section { lock, cycles: *cycles, inside: None };
    let sections = cycles.iter().enumerate().map(section).collect();
    let tasks = vec![
        Task::new("a", 3, 1, 90_000),
        Task { sections, ..Task::new("b", 2, 10_000, 90_000) },
        Task { release: Release::Interrupt(0), ..Task::new("c", 1, 1, 90_000) },
    ];
    Set { tasks, ..Set::default() }
}

#[test]
fn others_are_released_just_after_a_less_urgent_task_has_taken_a_lock() {
    let of = |set: &Set| preemptive(3).within_sections(set, &calibration(), step);
    // The first section begins after a tick, a start and a third of 10000 - 3000 cycles: 300 + 2333 = 2633;
    // it ends at 3633, the release is at 2633 + 50 + 50. The second one begins at 3633 + 50 + 2333 = 6016 and
    // ends at 8016, the release is at 6016 + 50 + 100.
    assert_eq!(of(&locking(&[1_000, 2_000])), [[3_000, 0, 2_733], [7_000, 0, 6_166]]);
    // Half of 9600 later, 5100 + 50 + 20: the next tick comes after the section's end at 5500. Only the
    // less urgent task could be released within.
    assert_eq!(of(&locking(&[400])), [[0; 3]; 0]);
    // A more urgent one can; that of the tick comes when it can.
    let mut woken = locking(&[400]);
    woken.tasks[2].priority = 4;
    assert_eq!(of(&woken), [[6_000, 0, 5_170]]);
    // A section within another is part of it.
    let mut set = locking(&[1_000, 2_000]);
    set.tasks[1].sections.push(Section { lock: 2, cycles: 500, inside: Some(1) });
    assert_eq!(of(&set), of(&locking(&[1_000, 2_000])));
}

#[test]
fn sections_of_the_most_urgent_task_or_of_turns_block_nothing() {
    let mut set = locking(&[1_000, 2_000]);
    let turns = bench(Order::Batches, Protocol::Cooperative, Clock::Tick, 3);
    assert_eq!(turns.within_sections(&set, &calibration(), step), [[0; 3]; 0]);
    set.tasks[1].priority = 3;
    assert_eq!(preemptive(3).within_sections(&set, &calibration(), step), [[0; 3]; 0]);
}
