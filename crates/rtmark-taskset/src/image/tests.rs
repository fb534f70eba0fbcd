use super::*;
use crate::calibrate::{locked, nested, plain, row};

/// Where the tests' images have their table, and the counters of their queues.
const TABLE: u32 = 0x2000_0000;
const TRAFFIC: u32 = 0x2000_1000;

pub(crate) const ALARM: Alarm = Alarm { exception: 44, granule: 168, start: 50_000 };

/// Returns an image with this many tasks and no program.
pub(crate) fn bench(order: Order, protocol: Protocol, clock: Clock, tasks: usize) -> Bench {
    let text = include_str!("../../../../socs/stm32f405.toml");
    Bench {
        fresh: Machine::new(&Soc::from_toml(text).expect("in order")),
        probes: Probes { begins: vec![Vec::new(); tasks], ..Probes::default() },
        clock,
        order,
        protocol,
        interrupts_from: 40,
        table: TABLE,
        traffic: TRAFFIC,
    }
}

pub(crate) fn preemptive(tasks: usize) -> Bench {
    bench(Order::Preemptive, Protocol::Inheritance, Clock::Tick, tasks)
}

fn of_priorities(priorities: &[u64]) -> Vec<Row> {
    priorities.iter().map(|priority| row(*priority, 1, 0, &[])).collect()
}

#[test]
fn rows_are_the_images_tasks_in_order_unless_priorities_belong_to_the_image() {
    let rows = of_priorities(&[2, 3, 1]);
    assert_eq!(preemptive(5).slots(&rows), [0, 1, 2]);
    // The image's last tasks are its most urgent ones.
    let levels = bench(Order::Preemptive, Protocol::Ceiling, Clock::Alarm(ALARM), 5);
    assert_eq!(levels.slots(&rows), [3, 4, 2]);
    assert_eq!(levels.slots(&of_priorities(&[2, 2, 1])), [3, 3, 2], "two of one level");
    // A round begins with the image's first task.
    let rounds = bench(Order::Rounds, Protocol::Cooperative, Clock::Tick, 5);
    assert_eq!(rounds.slots(&rows), [1, 0, 2]);
    assert_eq!(rounds.slots(&of_priorities(&[2, 1, 2])), [0, 2, 1], "equals in the set's order");
}

/// Returns the words of a machine's table: how many precede the rows, and the rows.
fn written(bench: &Bench, table: &Table) -> (Vec<u32>, Vec<Vec<u32>>) {
    let machine = bench.machine(table).expect("it fits");
    let bytes = machine.peek(TABLE, 4 * (7 + MAX_TASKS * 17));
    let words: Vec<u32> = bytes.as_chunks().0.iter().map(|it| u32::from_le_bytes(*it)).collect();
    let (head, rows) = words.split_at(7);
    (head.to_vec(), rows.chunks(17).map(<[u32]>::to_vec).collect())
}

#[test]
fn the_table_has_the_words_that_plan_h_describes() {
    let [outer, inner] = nested(10);
    let table = Table {
        tick: 480,
        rows: vec![
            Row { interrupt: Some(1), ..row(3, 4, 5, &[plain(20), outer, inner]) },
            row(1, 6, 7, &[locked(30)]),
        ],
        interrupts: vec![InterruptSource { rounds: 9, distance: 1, offset: 2 }],
        queues: vec![
            Channel { from: 0, to: 1, items: 11 },
            Channel { from: 1, to: 0, items: 12 },
            Channel { from: 0, to: 1, items: 13 },
        ],
    };
    let (head, rows) = written(&preemptive(2), &table);
    assert_eq!(head, [480, 9, 0, 11, 12, 13, 0]);
    // Released by interrupt 2 (from 1), receives from queue 1, sends to 0 and 2; the nested lock is in the
    // second byte.
    assert_eq!(rows[0][..13], [3, 4, 5, 2, 0b010, 0b101, 3, 20, 0, 10, 0x0201, 10, 0]);
    assert_eq!(rows[1][..9], [1, 6, 7, 0, 0b101, 0b010, 1, 30, 1]);
    assert!(rows[0][13..].iter().chain(&rows[1][9..]).all(|word| *word == 0));
    assert!(rows[2..].iter().flatten().all(|word| *word == 0), "no other task");
}

#[test]
fn times_of_alarms_are_counts_of_the_timer() {
    let table = Table { tick: 10 * 168, rows: vec![row(1, 4, 5, &[])], ..Table::default() };
    let clocked = bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), 1);
    assert_eq!(written(&clocked, &table).1[0][..3], [1, 40, 50]);
}

#[test]
fn a_ceiling_locks_number_is_its_most_urgent_users() {
    let locking = |lock| Stretch { lock: Some(lock), ..plain(1) };
    let rows = vec![
        row(1, 1, 0, &[locking(0), locking(1)]),
        row(2, 1, 0, &[locking(0)]),
        row(3, 1, 0, &[]),
    ];
    let table = Table { tick: 168, rows, ..Table::default() };
    // Of five tasks, the rows are the last three: 3, 4 and 5, counted from 1.
    let levels = bench(Order::Preemptive, Protocol::Ceiling, Clock::Alarm(ALARM), 5);
    let rows = written(&levels, &table).1;
    assert_eq!((rows[2][8], rows[2][10]), (4, 3));
    assert_eq!(rows[3][8], 4);
    assert_eq!((rows[0][6], rows[1][6], rows[4][6]), (0, 0, 0));
}

#[test]
fn numbers_beyond_a_word_are_refused() {
    let of = |period| {
        let table = Table { tick: 480, rows: vec![row(1, period, 0, &[])], ..Table::default() };
        preemptive(1).machine(&table).is_ok()
    };
    assert_eq!((of((1 << 32) - 1), of(1 << 32)), (true, false));
}

#[test]
fn traffic_is_three_words_per_queue() {
    let bench = preemptive(1);
    let mut machine = bench.fresh.clone();
    for (at, word) in (0..).zip([5, 3, 2, 70, 60, 10, 9]) {
        machine.poke_word(TRAFFIC + 4 * at, word).expect("memory");
    }
    let queue = Channel { from: 0, to: 1, items: 1 };
    let of =
        |count| bench.traffic(&machine, &Table { queues: vec![queue; count], ..Table::default() });
    let first = Traffic { sent: 5, received: 3, lost: 2 };
    assert_eq!(of(0), []);
    assert_eq!(of(1), [first]);
    assert_eq!(of(2), [first, Traffic { sent: 70, received: 60, lost: 10 }]);
}

fn refusal(bench: &Bench, table: &Table) -> String {
    bench.check(table).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn ticks_beyond_systick_are_refused() {
    let of = |tick| refusal(&preemptive(1), &Table { tick, ..Table::default() });
    assert!(of(1).contains("a tick of 1 cycles"));
    assert_eq!((of(2), of(1 << 24)), (String::new(), String::new()));
    assert!(of((1 << 24) + 1).contains("SysTick has 24 bits"));
    let alarm = bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), 1);
    let of = |tick| refusal(&alarm, &Table { tick, ..Table::default() });
    assert_eq!((of(168), of(168 << 24)), (String::new(), String::new()));
    assert!(of(169).contains("not whole microseconds"));
}

#[test]
fn tables_larger_than_the_image_are_refused() {
    let of_rows =
        |bench: &Bench, rows| refusal(bench, &Table { tick: 480, rows, ..Table::default() });
    assert_eq!(of_rows(&preemptive(2), of_priorities(&[1, 1])), "");
    assert_eq!(of_rows(&preemptive(2), of_priorities(&[1, 2, 3])), "3 tasks; the image has 2");
    let levels = bench(Order::Preemptive, Protocol::Ceiling, Clock::Tick, 3);
    assert_eq!(of_rows(&levels, of_priorities(&[2, 1])), "");
    assert!(of_rows(&levels, of_priorities(&[1, 1])).contains("two tasks of one level"));

    let stretches = |count| of_rows(&preemptive(1), vec![row(1, 1, 0, &vec![plain(1); count])]);
    assert_eq!((stretches(5), stretches(6).is_empty()), (String::new(), false));
    let lock = |lock| {
        of_rows(&preemptive(1), vec![row(1, 1, 0, &[Stretch { inner: Some(lock), ..locked(1) }])])
    };
    assert_eq!((lock(1), lock(2)), (String::new(), "more than 2 locks".to_owned()));
    let woken = |by: [Option<usize>; 2]| {
        let rows = by.map(|interrupt| Row { interrupt, ..row(1, 1, 0, &[]) });
        of_rows(&preemptive(2), rows.to_vec())
    };
    assert_eq!((woken([None, None]), woken([Some(0), Some(1)])), (String::new(), String::new()));
    assert_eq!(woken([Some(1), Some(1)]), "an interrupt that releases two tasks");

    let source = InterruptSource { rounds: 1, distance: 1, offset: 0 };
    let of = |interrupts, queues| {
        let queues = vec![Channel { from: 0, to: 0, items: 1 }; queues];
        refusal(
            &preemptive(1),
            &Table { tick: 480, interrupts: vec![source; interrupts], queues, rows: Vec::new() },
        )
    };
    assert_eq!(of(2, 4), "");
    assert_eq!(of(3, 4), "more than 2 interrupts");
    assert_eq!(of(2, 5), "5 queues; the image has 4");
}

#[test]
fn probes_are_found_by_name_and_kind() {
    let record = |kind, name: &str| Record { kind, scenario: name.parse().expect("good") };
    let job = |n: u32| {
        let name = format!("plan.job.{n}");
        [record(Kind::Begin(10 * n + 1), &name), record(Kind::End(10 * n + 2), &name)]
    };
    let mut records = [job(0), job(1)].concat();
    records.push(record(Kind::End(13), "plan.job.1"));
    for (at, name) in [(50, "plan.take"), (60, "plan.give")] {
        records.extend([record(Kind::Begin(at), name), record(Kind::End(at + 1), name)]);
    }
    let found = Probes::of(&records).expect("complete");
    assert_eq!(found.begins, [[1], [11]]);
    assert_eq!(found.ends, [vec![2], vec![12, 13]]);
    assert_eq!((found.take, found.give), ([vec![50], vec![51]], [vec![60], vec![61]]));
    let without = |kind: Kind| {
        let rest: Vec<Record> = records.iter().filter(|it| it.kind != kind).cloned().collect();
        Probes::of(&rest).expect_err("incomplete").to_string()
    };
    assert!(without(Kind::Begin(50)).contains("no probe plan.take"));
    assert!(without(Kind::End(61)).contains("no probe plan.give"));
    assert!(without(Kind::End(2)).contains("no probe plan.job.0"));
    assert!(Probes::of(&records[5..]).expect_err("incomplete").to_string().contains("no tasks"));
}

#[test]
fn the_clocks_exception_is_systick_or_the_timers() {
    assert_eq!(preemptive(1).exception(), 15);
    let alarm = bench(Order::Batches, Protocol::Cooperative, Clock::Alarm(ALARM), 3);
    assert_eq!((alarm.exception(), alarm.tasks()), (44, 3));
}
