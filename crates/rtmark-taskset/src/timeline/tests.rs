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

fn task(name: &str, lock: Option<&str>) -> (Actor, Option<String>) {
    (Actor::Task(name.to_owned()), lock.map(str::to_owned))
}

use Mark::{Begin, End, Entered, Give, Given, Handled, Take, Taken, TickDone, TickEntered};

#[test]
fn the_most_urgent_job_that_has_begun_runs() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[Begin(2)]), Some(task("c", None)));
    assert_eq!(of(&[Begin(2), Begin(0)]), Some(task("a", None)));
    assert_eq!(of(&[Begin(2), Begin(0), End(0)]), Some(task("c", None)));
    assert_eq!(of(&[Begin(0), End(0)]), None);
}

#[test]
fn handlers_go_before_jobs_from_their_first_instruction_to_their_return() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    assert_eq!(of(&[Begin(0), TickEntered]), Some((Actor::Clock, None)));
    assert_eq!(of(&[Begin(0), TickEntered, TickDone]), Some(task("a", None)));
    let interrupt = |name: &str| Some((Actor::Interrupt(name.to_owned()), None));
    assert_eq!(of(&[Begin(0), TickEntered, Entered(1)]), interrupt("j"));
    assert_eq!(of(&[TickEntered, Entered(0), Handled(0)]), Some((Actor::Clock, None)));
    assert_eq!(of(&[Begin(0), Mark::Pended(0), Mark::Tick, Mark::Switched]), Some(task("a", None)));
}

#[test]
fn a_tick_stays_pending_during_a_round() {
    let of = |marks: &[Mark]| after(Order::Rounds, marks);
    assert_eq!(of(&[Begin(0), TickEntered]), Some(task("a", None)));
    assert_eq!(of(&[Begin(0), TickEntered, End(0)]), Some((Actor::Clock, None)));
    assert_eq!(of(&[TickEntered]), Some((Actor::Clock, None)));
}

#[test]
fn a_lock_is_held_from_taken_to_given() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    assert_eq!(of(&[Begin(0), Take]), Some(task("a", None)));
    assert_eq!(of(&[Begin(0), Take, Taken]), Some(task("a", Some("l"))));
    assert_eq!(of(&[Begin(0), Take, Taken, Give]), Some(task("a", None)));
    assert_eq!(of(&[Begin(0), Take, Taken, Give, Given]), Some(task("a", None)));
    // The nested lock is the innermost one while it is held.
    let nested = [Begin(1), Take, Taken, Take, Taken, Give, Give];
    assert_eq!(of(&nested[..5]), Some(task("b", Some("m"))));
    assert_eq!(of(&nested[..6]), Some(task("b", Some("l"))));
    assert_eq!(of(&nested), Some(task("b", None)));
    // The next job takes its first lock again.
    let again = [&nested[..], &[End(1), Begin(1), Take, Taken]].concat();
    assert_eq!(of(&again), Some(task("b", Some("l"))));
}

#[test]
fn a_job_that_waits_for_a_lock_lets_its_holder_run() {
    let of = |marks: &[Mark]| after(Order::Preemptive, marks);
    // The first task waits for the second one, which holds the outer lock.
    let waits = [Begin(1), Take, Taken, Begin(0), Take];
    assert_eq!(of(&waits), Some(task("b", Some("l"))));
    let given = [&waits[..], &[Take, Taken, Give, Give, Taken]].concat();
    assert_eq!(of(&given[..7]), Some(task("b", Some("m"))));
    assert_eq!(of(&given), Some(task("a", Some("l"))), "the most urgent one that waits has it");
    // A chain: the second one waits for the third one's lock in turn.
    let chain = [Begin(2), Take, Taken, Begin(1), Take, Taken, Begin(0), Take, Take];
    assert_eq!(of(&chain), Some(task("c", Some("m"))));
}

#[test]
fn a_timeline_shows_what_ran_around_a_response_and_joins_what_continues() {
    use Mark::{Switched, Tick};
    let (set, mut table) = set_and_table();
    // Offsets count from cycle 1000, a tick has 100 cycles: released at 1000, 1200, …; at 1300; at 2200.
    for (row, (period, offset)) in table.rows.iter_mut().zip([(2, 0), (90, 3), (90, 12)]) {
        (row.period, row.offset) = (period, offset);
    }
    let marks = [
        (Begin(2), 900),
        (Tick, 1_200),
        (TickEntered, 1_210),
        (TickDone, 1_230),
        (Begin(0), 1_250),
        (Take, 1_300),
        (Taken, 1_320),
        (Switched, 1_340),
        (Give, 1_400),
        (End(0), 1_440),
        (End(2), 1_900),
    ];
    // A response of 240 cycles: 20 before it and 6 after it are shown.
    let witness = Witness { job: 1, released: 1_200, ended: 1_440 };
    let shown = timeline_of(&set, Order::Preemptive, &table, &marks, 1_000, witness);
    assert_eq!((shown.from, shown.until), (1_180, 1_446));
    let slices: Vec<_> = shown
        .ran
        .iter()
        .map(|it| (it.from, it.until, it.who.clone(), it.lock.as_deref()))
        .collect();
    let task = |name: &str| Actor::Task(name.to_owned());
    let by_hand = [
        (1_180, 1_210, task("c"), None),
        (1_210, 1_230, Actor::Clock, None),
        (1_230, 1_250, task("c"), None),
        (1_250, 1_320, task("a"), None),
        (1_320, 1_400, task("a"), Some("l")),
        (1_400, 1_440, task("a"), None),
        (1_440, 1_446, task("c"), None),
    ];
    assert_eq!(slices, by_hand);
    let releases: Vec<_> = shown.releases.iter().map(|it| (it.task.as_str(), it.at)).collect();
    assert_eq!(releases, [("a", 1_200), ("b", 1_300), ("a", 1_400)]);
}

#[test]
fn releases_at_the_first_cycle_of_a_timeline_are_in_it_and_those_at_its_end_are_not() {
    let (set, mut table) = set_and_table();
    (table.rows[1].offset, table.rows[2].offset) = (90, 90);
    // Released every 100 cycles from 1000 on. With 120 cycles, 10 are shown before and 3 after.
    let releases = |released: u64| {
        let witness = Witness { job: 0, released, ended: released + 120 };
        let shown = timeline_of(&set, Order::Preemptive, &table, &[], 1_000, witness);
        assert_eq!(shown.ran, []);
        shown.releases.iter().map(|it| it.at).collect::<Vec<_>>()
    };
    assert_eq!(releases(1_110), [1_100, 1_200], "from 1100 to 1233");
    assert_eq!(releases(1_111), [1_200], "from 1101 to 1234");
    assert_eq!(releases(1_077), [1_100], "from 1067 to 1200");
    assert_eq!(releases(1_078), [1_100, 1_200], "from 1068 to 1201");
}
