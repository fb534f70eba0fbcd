use rtmark_plan::{Interrupt, Task};

use super::*;
use crate::calibrate::{locked, nested, plain, row};

/// Three tasks, from the most urgent to the least. The first takes one lock, the second both, nested, and the
/// third the inner one of those.
fn set_and_table() -> (Set, Table) {
    let tasks = ["a", "b", "c"].map(|name| Task::new(name, 1, 1_000, 10_000));
    let interrupt = |name: &str| Interrupt { name: name.into(), distance: 1, work: 0 };
    let set = Set {
        tasks: tasks.to_vec(),
        locks: vec!["l".into(), "m".into()],
        interrupts: vec![interrupt("i"), interrupt("j")],
        ..Set::default()
    };
    let [outer, inner] = nested(5);
    let other = Stretch { lock: Some(1), ..plain(5) };
    let rows = vec![
        row(3, 1, 0, &[plain(5), locked(5), plain(5)]),
        row(2, 1, 0, &[outer, inner]),
        row(1, 1, 0, &[other]),
    ];
    (set, Table { tick: 100, rows, ..Table::default() })
}

/// Returns what runs after these marks, with the lock that it holds.
fn after(order: Order, marks: &[Mark]) -> Option<(Actor, Option<String>)> {
    let (set, table) = set_and_table();
    let mut state = State {
        set: &set,
        order,
        table: &table,
        jobs: vec![Job::default(); 3],
        clock: false,
        interrupts: vec![false; 2],
    };
    for mark in marks {
        state.apply(*mark);
    }
    state.who()
}

fn task(name: &str, lock: Option<&str>) -> Option<(Actor, Option<String>)> {
    Some((Actor::Task(name.to_owned()), lock.map(str::to_owned)))
}

use Mark::{Begin, End, Entered, Give, Given, Handled, Take, Taken, TickDone, TickEntered};

#[test]
fn the_most_urgent_job_that_has_begun_runs() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[Begin(2)]), task("c", None));
    assert_eq!(of(&[Begin(2), Begin(0)]), task("a", None));
    assert_eq!(of(&[Begin(2), Begin(0), End(0)]), task("c", None));
    assert_eq!(of(&[Begin(0), End(0)]), None);
}

#[test]
fn handlers_go_before_jobs_from_their_first_instruction_to_their_return() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    assert_eq!(of(&[Begin(0), TickEntered]), Some((Actor::Clock, None)));
    assert_eq!(of(&[Begin(0), TickEntered, TickDone]), task("a", None));
    let interrupt = |name: &str| Some((Actor::Interrupt(name.to_owned()), None));
    assert_eq!(of(&[Begin(0), TickEntered, Entered(1)]), interrupt("j"));
    assert_eq!(of(&[TickEntered, Entered(0), Handled(0)]), Some((Actor::Clock, None)));
    assert_eq!(of(&[Begin(0), Mark::Pended(0), Mark::Tick, Mark::Switched]), task("a", None));
}

#[test]
fn a_tick_stays_pending_during_a_round() {
    let of = |marks: &[Mark]| after(Order::Rounds, marks);
    assert_eq!(of(&[Begin(0), TickEntered]), task("a", None));
    assert_eq!(of(&[Begin(0), TickEntered, End(0)]), Some((Actor::Clock, None)));
    assert_eq!(of(&[TickEntered]), Some((Actor::Clock, None)));
}

#[test]
fn a_lock_is_held_from_taken_to_given() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    assert_eq!(of(&[Begin(0), Take]), task("a", None));
    assert_eq!(of(&[Begin(0), Take, Taken]), task("a", Some("l")));
    assert_eq!(of(&[Begin(0), Take, Taken, Give]), task("a", None));
    assert_eq!(of(&[Begin(0), Take, Taken, Give, Given]), task("a", None));
    // The nested lock is the innermost one while it is held.
    let nested = [Begin(1), Take, Taken, Take, Taken, Give, Give];
    assert_eq!(of(&nested[..5]), task("b", Some("m")));
    assert_eq!(of(&nested[..6]), task("b", Some("l")));
    assert_eq!(of(&nested), task("b", None));
    // The next job takes its first lock again.
    let again = [&nested[..], &[End(1), Begin(1), Take, Taken]].concat();
    assert_eq!(of(&again), task("b", Some("l")));
}

#[test]
fn a_job_that_waits_for_a_lock_lets_its_holder_run() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    // The first task waits for the second one, which holds the outer lock.
    let waits = [Begin(1), Take, Taken, Begin(0), Take];
    assert_eq!(of(&waits), task("b", Some("l")));
    let given = [&waits[..], &[Take, Taken, Give, Give, Taken]].concat();
    assert_eq!(of(&given[..7]), task("b", Some("m")));
    assert_eq!(of(&given), task("a", Some("l")), "the most urgent one that waits has it");
    // A chain: the second one waits for the third one's lock in turn.
    let chain = [Begin(2), Take, Taken, Begin(1), Take, Taken, Begin(0), Take, Take];
    assert_eq!(of(&chain), task("c", Some("m")));
}
