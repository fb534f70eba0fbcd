//! Published response times, reproduced with a kernel that costs nothing.

use std::collections::BTreeMap;

use rtmark_plan::{
    Arrivals, Bound, Kind, LockCycles, Model, Part, Protocol, Question, Section, Set, Stream, Task,
    Unbounded, blockers, search,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    example: Vec<Example>,
    hartstone: Vec<Hartstone>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    name: String,
    #[expect(dead_code, reason = "for readers")]
    source: String,
    #[expect(dead_code, reason = "for readers")]
    scale: Option<u64>,
    tasks: Vec<Row>,
    responses: Vec<i64>,
    #[serde(default)]
    jobs: BTreeMap<String, Vec<u64>>,
    #[serde(default)]
    arrived: Vec<u64>,
    #[serde(default)]
    refuted: Vec<i64>,
    /// The gap between frames of a bus: part of interference, but not of a frame's own time.
    #[serde(default)]
    between: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    c: u64,
    t: u64,
    #[serde(default)]
    b: u64,
    #[serde(default)]
    j: u64,
    #[serde(default)]
    d: u64,
    #[serde(default)]
    f: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hartstone {
    name: String,
    raw: u64,
    /// Period in milliseconds, work in kilo-Whetstones.
    tasks: Vec<(u64, u64)>,
    last: f64,
    published: String,
}

fn file() -> File {
    toml::from_str(include_str!("examples.toml")).expect("examples.toml is in order")
}

fn bound(rows: &[Row], index: usize, between: u64) -> Result<Bound, Unbounded> {
    let row = &rows[index];
    let above = rows[..index].iter().map(|row| Stream {
        parts: vec![Part::stated(Kind::Preemption, "above", row.c + between)],
        arrivals: Arrivals::Every { period: row.t, jitter: row.j, distance: row.d },
    });
    let question = Question {
        period: row.t,
        jitter: row.j,
        own: vec![Part::stated(Kind::Work, "own", row.c)],
        after: Vec::new(),
        last: row.f,
        once: vec![Part::stated(Kind::Blocking, "below", row.b)],
        streams: above.collect(),
    };
    question.bound()
}

#[test]
fn published_responses_are_reproduced_exactly() {
    let mut looked_at = 0;
    for example in file().example {
        let name = &example.name;
        let found: Vec<_> = (0..example.tasks.len())
            .map(|index| bound(&example.tasks, index, example.between))
            .collect();
        let responses: Vec<i64> = found
            .iter()
            .map(|found| found.as_ref().map_or(-1, |bound| bound.response as i64))
            .collect();
        assert_eq!(responses, example.responses, "{name}");
        assert!(example.refuted.is_empty() || example.refuted != responses, "{name}");
        for (index, windows) in &example.jobs {
            let index: usize = index.parse().expect("a number");
            let bound = found[index].as_ref().expect("bounded");
            assert_eq!(bound.windows[..windows.len()], windows[..], "{name}, task {index}");
        }
        for ((row, bound), published) in example.tasks.iter().zip(&found).zip(&example.arrived) {
            let bound = bound.as_ref().expect("bounded");
            let arrival = |job: u64| (job * row.t).saturating_sub(row.j).max(job * row.d);
            let taken = bound.windows.iter().zip(0..).map(|(window, job)| window - arrival(job));
            assert_eq!(taken.max(), Some(*published), "{name}, from the arrival");
        }
        for bound in found.iter().flatten() {
            let sum: i64 = bound.terms.iter().map(|term| term.cycles).sum();
            assert_eq!(sum, bound.response as i64, "{name}: terms make up the bound");
        }
        looked_at += responses.len();
    }
    assert!(looked_at > 100, "{looked_at}");
}

#[test]
fn a_task_that_suspends_itself_has_jitter_for_lower_ones() {
    // W22: the second task suspends itself for 5 of 20, which gives it a jitter of 20 - 5 for the
    // third.
    let rows = [
        Row { c: 1, t: 2, b: 0, j: 0, d: 0, f: 0 },
        Row { c: 5, t: 20, b: 0, j: 15, d: 0, f: 0 },
        Row { c: 1, t: 20, b: 0, j: 0, d: 0, f: 0 },
    ];
    assert_eq!(bound(&rows, 2, 0).expect("bounded").response, 22);
}

#[test]
fn hartstones_tests_are_met_and_missed_as_measured() {
    for test in file().hartstone {
        // The unit is a Whetstone: a millisecond has as many units as Whetstones execute in it.
        let rows: Vec<Row> = test
            .tasks
            .iter()
            .map(|&(ms, kw)| Row { c: kw * 1000, t: ms * test.raw, b: 0, j: 0, d: 0, f: 0 })
            .collect();
        let last = rows.len() - 1;
        let found = bound(&rows, last, 0).map(|bound| bound.response as f64 / test.raw as f64);
        match found {
            Ok(found) => assert!((found - test.last).abs() < 0.06, "{}: {found}", test.name),
            Err(_) => assert!(test.last < 0.0, "{}", test.name),
        }
        let met = (0..=last)
            .all(|index| bound(&rows, index, 0).is_ok_and(|bound| bound.response <= rows[index].t));
        assert_eq!(met, test.published == "met", "{}", test.name);
    }
}

/// W8: MAST's controller in quarters, with two switches of a quarter each per job.
fn controller() -> Set {
    let task = |name: &str,
                priority: u32,
                [work, period, deadline]: [u64; 3],
                sections: &[(usize, u64)]| Task {
        deadline: deadline * 4,
        sections: sections
            .iter()
            .map(|&(lock, cycles)| Section { lock, cycles: cycles * 4, inside: None })
            .collect(),
        ..Task::new(name, priority, work * 4 + 2, period * 4)
    };
    Set {
        tick: 1,
        tasks: vec![
            task("emergency", 4, [5, 50, 6], &[]),
            task("control", 3, [20, 100, 100], &[(0, 2), (1, 10)]),
            task("planning", 2, [40, 150, 150], &[(0, 20)]),
            task("status", 1, [100, 350, 350], &[(1, 10)]),
        ],
        locks: vec!["data".into(), "comm".into()],
        ..Set::default()
    }
}

#[test]
fn ceilings_block_once_and_also_tasks_without_locks() {
    let set = controller();
    let blocked = |index, protocol| {
        let all = blockers(&set, index, protocol, LockCycles::default()).expect("bounded");
        all.iter().map(|blocker| blocker.cycles).sum::<u64>()
    };
    let by_ceiling: Vec<_> = (0..4).map(|index| blocked(index, Protocol::Ceiling)).collect();
    assert_eq!(by_ceiling, [0, 80, 40, 0]);
    // With inheritance, both lower-priority tasks can block the one that takes both locks.
    assert_eq!(blocked(1, Protocol::Inheritance), 120);
    assert_eq!(blocked(0, Protocol::Inheritance), 0);
    let model = Model::ideal(Protocol::Ceiling);
    let bounds = model.bounds(&set, &rtmark_plan::Costs::zero());
    let responses: Vec<_> = bounds.into_iter().map(|it| it.expect("bounded").response).collect();
    // 5.5, 46, 82, 276.
    assert_eq!(responses, [22, 184, 328, 1104]);
}

#[test]
fn without_inheritance_the_chain_is_reported() {
    let chain =
        blockers(&controller(), 1, Protocol::None, LockCycles::default()).expect_err("unbounded");
    for name in ["control", "comm", "status", "planning"] {
        assert!(chain.0.contains(name), "{}", chain.0);
    }
}

/// C1 of the reference: a constructed set, with three treatments of the clock interrupt.
#[test]
fn three_treatments_of_the_tick() {
    let tasks = [(800, 5_000), (1_500, 10_000), (4_000, 20_000), (9_000, 50_000)];
    let all: Vec<(u64, u64)> = tasks.iter().map(|&(_, period)| (period, 0)).collect();
    let tick = 1_000;
    let part = |cycles| vec![Part::stated(Kind::Tick, "tick", cycles)];
    let stream = |cycles, arrivals| Stream { parts: part(cycles), arrivals };
    let lumped = vec![stream(20 + 15 + 3 * 8, Arrivals::every(tick))];
    let per_move: Vec<Stream> = std::iter::once(stream(20, Arrivals::every(tick)))
        .chain(all.iter().map(|&(period, _)| stream(15, Arrivals::every(period))))
        .collect();
    let first_next = vec![
        stream(20, Arrivals::every(tick)),
        stream(15, Arrivals::Fewer { tick, of: all.clone() }),
        stream(8, Arrivals::Beyond { tick, of: all.clone() }),
    ];
    let respond = |index: usize, switch: u64, clock: &[Stream]| {
        let mut streams = clock.to_vec();
        for &(work, period) in &tasks[..index] {
            streams.push(stream(work + 2 * switch, Arrivals::every(period)));
        }
        let (work, period) = tasks[index];
        let question = Question {
            period,
            jitter: 0,
            own: part(work + switch),
            after: Vec::new(),
            last: 0,
            once: vec![],
            streams,
        };
        question.bound().expect("bounded").response
    };
    let all_of = |switch, clock: &[Stream]| {
        (0..4).map(|index| respond(index, switch, clock)).collect::<Vec<_>>()
    };
    assert_eq!(all_of(0, &[]), [800, 2300, 7100, 19200]);
    assert_eq!(all_of(10, &[]), [810, 2330, 7170, 19350]);
    assert_eq!(all_of(10, &lumped), [869, 2507, 7642, 28241]);
    assert_eq!(all_of(10, &per_move), [890, 2450, 7405, 19870]);
    assert_eq!(all_of(10, &first_next), [869, 2443, 7405, 19870]);
}

/// Of two releases with each tick, one costs what the first does and one what a further one does: with the
/// tick's own two, nine cycles of ten, and so one cycle of work takes all that is left.
#[test]
fn the_rates_of_first_and_further_releases_add_up_to_the_load() {
    let part = |cycles| vec![Part::stated(Kind::Tick, "tick", cycles)];
    let of = vec![(10, 0), (10, 0)];
    let respond = |further: u64| {
        let stream = |cycles, arrivals| Stream { parts: part(cycles), arrivals };
        let streams = vec![
            stream(2, Arrivals::every(10)),
            stream(3, Arrivals::Fewer { tick: 10, of: of.clone() }),
            stream(further, Arrivals::Beyond { tick: 10, of: of.clone() }),
        ];
        let (own, after, once) = (part(1), Vec::new(), Vec::new());
        Question { period: 10, jitter: 0, own, after, last: 0, once, streams }.bound()
    };
    assert_eq!(respond(4).expect("exactly the processor").response, 10);
    assert_eq!(respond(5), Err(Unbounded::Overload { per_mille: 1100 }));
}

/// Where releases are not lost, a task may be late by more than its period and still have a bound.
#[test]
fn a_task_that_is_late_by_several_periods_has_a_bound() {
    let tasks = vec![Task::new("long", 2, 27, 50), Task::new("often", 1, 4, 10)];
    let set = Set { tick: 1, tasks, ..Set::default() };
    let bounds = Model::ideal(Protocol::None).bounds(&set, &rtmark_plan::Costs::zero());
    // Jobs released at 0, 10, 20, 30 and 40 end at 31, 35, 39, 43 and 47.
    let often = bounds[1].as_ref().expect("bounded");
    assert_eq!((often.response, &often.windows[..]), (31, &[31, 35, 39, 43, 47][..]));
    let terms: Vec<(Kind, u64, i64)> =
        often.terms.iter().map(|term| (term.kind, term.times, term.cycles)).collect();
    assert_eq!(
        terms,
        [(Kind::Work, 1, 4), (Kind::Preemption, 1, 27)],
        "nothing that takes no time"
    );
}

#[test]
fn audsley_finds_the_order_that_rates_do_not() {
    let deadlines = |first, second| {
        let mut set = Set {
            tick: 1,
            tasks: vec![Task::new("short", 0, 52, 100), Task::new("long", 0, 52, 140)],
            ..Set::default()
        };
        (set.tasks[0].deadline, set.tasks[1].deadline) = (first, second);
        let model = Model::ideal(Protocol::Ceiling);
        search::assign(&set, &model, &rtmark_plan::Costs::zero())
    };
    assert_eq!(deadlines(110, 154), Some(vec![1, 2]), "the inverse of rate monotonic");
    assert_eq!(deadlines(100, 140), None);
}

#[test]
fn can_with_faults_grows_by_a_frame_and_an_error_frame() {
    let file = file();
    let example = file.example.iter().find(|it| it.name.starts_with("W19")).expect("there");
    for (index, faults) in [(0, 9), (7, 10)] {
        for count in 0..=faults {
            let mut rows: Vec<Row> = example
                .tasks
                .iter()
                .map(|it| Row { c: it.c, t: it.t, b: it.b, j: 0, d: 0, f: it.f })
                .collect();
            rows[index].b += count * (132 + 29);
            let found = bound(&rows, index, example.between).expect("bounded").windows[0];
            // In microseconds: 1028 + 644 k, 3648 + 644 k.
            let published = if index == 0 { 1028 } else { 3648 } + 644 * count;
            assert_eq!(found * 4, published, "message {index}, {count} faults");
        }
    }
}
