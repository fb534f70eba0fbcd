//! Runs task sets on kernels' own binaries, and compares them with their bounds.

use std::path::Path;

use oorandom::Rand64;
use rtmark_firmware::{Builder, Tree, Variant};
use rtmark_plan::draw::{self, SetParameters};
use rtmark_plan::{
    Actor, Interrupt, Model, Order, Protocol, Queue, Release, Section, Set, Task, Timer,
};
use rtmark_sim::Soc;
use rtmark_taskset::{Bench, Calibration, MAX_ITEMS, MAX_QUEUES, Observed, SearchEffort};

fn model(kernel: &str) -> Model {
    Model::of(kernel).expect("known")
}

fn bench(kernel: &str, soc: &Soc) -> Bench {
    let tree = Tree::find(None).expect("the firmware's folder");
    let kernels = tree.kernels().expect("in order");
    let found = kernels.iter().find(|it| it.manifest.id.as_str() == kernel).expect("there");
    let variant = if kernel == "freertos" { "product+priorities=32" } else { "product" };
    let variant: Variant = variant.parse().expect("good");
    let changes = variant.of(&found.manifest, soc.core.name()).expect("possible");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let builder = Builder::new(tree).in_folder(&folder);
    let built = builder.build_plan(found, soc, &changes).expect("built");
    Bench::new(soc, &built["plan"].elf, &model(kernel)).expect("an image of task sets")
}

fn soc(name: &str) -> Soc {
    let path = format!("{}/../../socs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("there");
    Soc::from_toml(&text).expect("in order")
}

/// Returns the parameters of random sets for a kernel. In turns, a job waits for the longest poll
/// of all, so their periods are closer together and the load is lower.
fn parameters(draw: &mut Rand64, model: &Model, bench: &Bench, granule: u64) -> SetParameters {
    let tasks = (draw.rand_range(2..7) as usize).min(bench.tasks());
    let drawn = draw.rand_float();
    let (utilisation, tick, periods) = match model.order {
        Order::Batches | Order::Fifo => (0.2 + 0.5 * drawn, 12_000, (10, 50)),
        // A round has to be shorter than a tick.
        Order::Rounds => (0.1 + 0.6 * drawn, 60_000, (1, 6)),
        Order::Preemptive => (0.3 + 0.55 * drawn, 12_000, (2, 50)),
    };
    SetParameters {
        tasks,
        utilisation,
        tick: u64::next_multiple_of(tick, granule.max(1)),
        periods,
        least_work: 1_000,
        locks: draw.rand_range(0..3) as usize,
        interrupts: draw.rand_range(0..3) as usize,
    }
}

/// The result of comparing runs with bounds.
#[derive(Default)]
struct Compared {
    /// For each task, how much longer the bound is, as a share of the bound.
    gaps: Vec<f64>,
    /// Runs that exceeded their bound or lost a message.
    above: Vec<String>,
    /// The number of sets with bounds.
    sets: u64,
    /// The number of these sets that have queues, and of the messages sent through them.
    queued: u64,
    sent: u64,
    /// The number of these sets with nested sections.
    nested: u64,
}

/// Draws sets, half of them with queues, and compares the longest responses found with the bounds.
fn compare(kernel: &str, name: &str, count: u64, seed: u64) -> Compared {
    let soc = soc(name);
    let bench = bench(kernel, &soc);
    let calibration = bench.calibrate().expect("measured");
    let model = model(kernel);
    let granule = match model.timer {
        Timer::Tick => 0,
        Timer::Alarm => u64::from(soc.clock.0) / 1_000_000,
    };
    let mut draw = Rand64::new(u128::from(seed));
    // Separate generators, so that the tasks of a seed do not depend on queues and nesting.
    let mut draw_queues = Rand64::new(u128::from(seed) << 32);
    let mut draw_nested = Rand64::new(u128::from(seed) << 33);
    let nests = model.protocol != Protocol::Cooperative;
    let mut compared = Compared::default();
    for number in 0..count {
        let parameters = parameters(&mut draw, &model, &bench, granule);
        let mut set = Set { granule: granule.into(), ..draw::set(&mut draw, &parameters) };
        let nested = if nests { draw::nest(&mut draw_nested, &mut set) } else { 0 };
        let queues = (draw_queues.rand_range(0..8) as usize).saturating_sub(3).min(MAX_QUEUES);
        draw::connect(&mut draw_queues, &mut set, queues, MAX_ITEMS);
        let bounds = model.bounds(&set, &calibration.costs);
        if bounds.iter().any(Result::is_err) {
            continue;
        }
        compared.sets += 1;
        compared.nested += u64::from(nested > 0);
        compared.queued += u64::from(!set.queues.is_empty());
        // Turns coincide only for few offsets, so try more.
        let offsets = if model.order.takes_turns() { 12 } else { 3 };
        let effort = SearchEffort { offsets, seed: number, cycles: 2_000_000 };
        let searched = bench.search(&set, &calibration, effort).expect("it runs");
        for (queue, traffic) in set.queues.iter().zip(&searched.queues) {
            compared.sent += traffic.sent;
            if traffic.lost > 0 {
                let name = &queue.name;
                compared.above.push(format!("set {number}: {name} lost {traffic:?} {set:#?}"));
            }
        }
        for ((task, bound), found) in set.tasks.iter().zip(&bounds).zip(searched.tasks) {
            let bound = bound.as_ref().expect("looked at").response;
            if found.longest > bound {
                compared.above.push(format!(
                    "{name}, set {number}: {} took {} of {bound}: {found:?} {set:#?} {:#?}",
                    task.name, found.longest, calibration.costs
                ));
            }
            compared.gaps.push(1.0 - found.longest as f64 / bound as f64);
        }
    }
    compared
}

#[test]
fn no_run_of_freertos_exceeds_its_bound() {
    no_run_exceeds_its_bound("freertos");
}

#[test]
fn no_run_of_rtic_exceeds_its_bound() {
    no_run_exceeds_its_bound("rtic");
}

#[test]
fn no_run_of_embassy_exceeds_its_bound() {
    no_run_exceeds_its_bound("embassy");
}

#[test]
fn no_run_of_lilos_exceeds_its_bound() {
    no_run_exceeds_its_bound("lilos");
}

#[test]
fn no_run_of_the_event_loop_exceeds_its_bound() {
    no_run_exceeds_its_bound("ring");
}

/// `RTMARK_SETS=1200 cargo test -p rtmark-taskset -- --nocapture` draws more sets, and
/// `RTMARK_SEED=2` draws others.
#[expect(clippy::print_stdout, reason = "the figures of a longer run are to be read")]
fn no_run_exceeds_its_bound(kernel: &str) {
    let variable = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // About half of an executor's sets have a bound.
    let usual = if model(kernel).order.takes_turns() { 100 } else { 25 };
    let count = variable("RTMARK_SETS").unwrap_or(usual);
    let seed = variable("RTMARK_SEED").unwrap_or(1);
    for name in ["stm32f405", "stm32c031"] {
        let Compared { mut gaps, above, sets, queued, sent, nested } =
            compare(kernel, name, count, seed);
        let shown: Vec<_> = above.iter().map(|text| text.split('{').next()).collect();
        assert!(above.is_empty(), "{shown:#?} are above their bounds, the first one: {}", above[0]);
        gaps.sort_by(f64::total_cmp);
        let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share) as usize] * 100.0;
        println!(
            "{kernel}, {name}, seed {seed}: {sets} of {count} sets bounded and run, with {} tasks, {queued} \
             with queues, {sent} messages, {nested} with nested locks; gap: \
             median {:.1} %, 95th percentile {:.1} %, largest {:.1} %",
            gaps.len(),
            at(0.5),
            at(0.95),
            at(1.0)
        );
        // With few tasks, the 95th percentile rests on only one or two of them.
        let hides = at(0.5) > 20.0 || gaps.len() >= 100 && at(0.95) > 50.0;
        assert!(!hides, "{kernel}, {name}: the bound hides much");
    }
}

/// Returns the longest responses over all offsets of a set, in steps of `unit` cycles, and the
/// number of runs that took.
///
/// Only differences between offsets matter, so the first task stays fixed. The tasks before a
/// further one repeat with their hyperperiod; relative to them, its offset makes a difference only
/// modulo the greatest common divisor of that hyperperiod and its own period.
fn over_all_offsets(
    bench: &Bench,
    calibration: &Calibration,
    set: &Set,
    unit: u64,
) -> (Vec<u64>, u64) {
    let mut set = set.clone();
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let (mut so_far, mut counts) = (set.tasks[0].period, Vec::new());
    for task in &set.tasks[1..] {
        let common = gcd(so_far, task.period);
        counts.push(common / unit);
        so_far *= task.period / common;
    }
    let slowest = set.tasks.iter().map(|task| task.period).max().expect("some");
    let mut exact = vec![0; set.tasks.len()];
    let all: u64 = counts.iter().product();
    for mut number in 0..all {
        for (task, count) in set.tasks[1..].iter_mut().zip(&counts) {
            task.offset = number % count * unit;
            number /= count;
        }
        let ran = bench.run(&set, calibration, so_far + 2 * slowest).expect("it runs");
        for (exact, seen) in exact.iter_mut().zip(ran.tasks) {
            *exact = seen.longest.max(*exact);
        }
    }
    (exact, all)
}

/// Small sets allow trying every offset: no run exceeds the bound, and the search comes near the
/// longest response of all. Periods are given in units of the kernel's clock, which is `unit`
/// cycles.
#[expect(clippy::print_stdout, reason = "the figures are to be read")]
fn the_search_finds_what_all_offsets_have(
    (kernel, name): (&str, &str),
    unit: u64,
    sets: &[Vec<Task>],
    share: f64,
) {
    let bench = bench(kernel, &soc(name));
    let calibration = bench.calibrate().expect("measured");
    let model = model(kernel);
    for tasks in sets {
        let mut set =
            Set { tick: unit, tasks: tasks.clone(), locks: vec!["l".into()], ..Set::default() };
        for task in &mut set.tasks {
            (task.period, task.deadline) = (task.period * unit, task.deadline * unit);
        }
        if model.timer == Timer::Alarm {
            (set.tick, set.granule) = (12_000, unit.into());
        }
        let bounds = model.bounds(&set, &calibration.costs);
        let effort = SearchEffort { offsets: 150, seed: 3, cycles: 4_000_000 };
        let searched = bench.search(&set, &calibration, effort).expect("it runs").tasks;
        let (exact, runs) = over_all_offsets(&bench, &calibration, &set, unit);
        for ((exact, found), bound) in exact.iter().zip(&searched).zip(bounds) {
            let bound = bound.expect("bounded").response;
            println!(
                "{kernel}, {runs} offsets: exactly {exact}, searched {}, bound {bound}",
                found.longest
            );
            assert!(*exact <= bound, "{exact} of {bound}: {set:?}");
            // Which job comes first in a run, and at which release the run ends, makes a small
            // difference.
            assert!(found.longest <= *exact + *exact / 50, "{found:?} {exact}: {set:?}");
            assert!(found.longest as f64 >= *exact as f64 * share, "{found:?} {exact}: {set:?}");
        }
    }
}

/// Offsets tried include adverse ones; each run has about 150 jobs of the task with the shorter period.
#[test]
fn every_run_counts() {
    const PERIOD: u64 = 24_000;
    for (kernel, adverse) in [("freertos", 1), ("embassy", 3)] {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let tasks = vec![
            Task { release: Release::Interrupt(0), ..Task::new("a", 3, 1_000, PERIOD) },
            locking("b", 2, 6_000, PERIOD, 4_000),
            Task::new("c", 1, 1_000, 50 * PERIOD),
        ];
        let interrupts = vec![Interrupt { name: "i".into(), distance: PERIOD, work: 100 }];
        let locks = vec!["l".to_owned()];
        let set =
            Set { tick: 12_000, granule: 48.into(), tasks, locks, interrupts, ..Set::default() };
        let effort = SearchEffort { offsets: 2, seed: 1, cycles: 100 * PERIOD };
        let searched = bench.search(&set, &calibration, effort).expect("it runs");
        assert_eq!(searched.runs, 3 + adverse, "{kernel}: a section of b, or each task behind all");
        assert!((145..160).contains(&(searched.tasks[1].jobs / u64::from(searched.runs))));
    }
}

fn locking(name: &str, priority: u32, work: u64, period: u64, held: u64) -> Task {
    Task {
        sections: vec![Section { lock: 0, cycles: held, inside: None }],
        ..Task::new(name, priority, work, period)
    }
}

#[test]
fn the_search_finds_what_all_offsets_have_with_freertos() {
    // The lower-priority task holds the lock across ticks.
    let sets = [
        vec![locking("a", 2, 9_000, 4, 1_500), locking("b", 1, 30_000, 7, 14_000)],
        vec![
            locking("a", 3, 6_000, 3, 800),
            locking("b", 2, 15_000, 6, 5_000),
            locking("c", 1, 20_000, 8, 13_000),
        ],
    ];
    the_search_finds_what_all_offsets_have(("freertos", "stm32c031"), 12_000, &sets, 0.99);
}

#[test]
fn the_search_finds_what_all_offsets_have_with_rtic() {
    let sets = [
        vec![locking("a", 2, 4_000, 100, 1_000), locking("b", 1, 8_000, 150, 3_500)],
        vec![
            locking("a", 3, 3_000, 100, 800),
            locking("b", 2, 4_000, 120, 2_000),
            Task::new("c", 1, 5_000, 151),
        ],
    ];
    the_search_finds_what_all_offsets_have(("rtic", "stm32f405"), 168, &sets, 0.9);
}

#[test]
fn the_search_finds_what_all_offsets_have_with_embassy() {
    let sets = [
        vec![locking("a", 2, 3_000, 150, 500), locking("b", 1, 5_000, 200, 1_500)],
        vec![
            locking("a", 3, 2_000, 160, 400),
            locking("b", 2, 2_500, 180, 900),
            Task::new("c", 1, 3_000, 211),
        ],
    ];
    the_search_finds_what_all_offsets_have(("embassy", "stm32f405"), 168, &sets, 0.9);
}

#[test]
fn the_search_finds_what_all_offsets_have_with_lilos() {
    let sets = [
        vec![locking("a", 2, 5_000, 2, 800), locking("b", 1, 12_000, 5, 3_000)],
        vec![
            locking("a", 3, 4_000, 2, 800),
            Task::new("b", 2, 7_000, 3),
            locking("c", 1, 9_000, 4, 3_000),
        ],
    ];
    the_search_finds_what_all_offsets_have(("lilos", "stm32c031"), 24_000, &sets, 0.95);
}

#[test]
fn the_search_finds_what_all_offsets_have_with_the_event_loop() {
    let sets = [
        vec![locking("a", 2, 9_000, 5, 800), locking("b", 1, 30_000, 7, 3_000)],
        vec![
            locking("a", 3, 6_000, 5, 800),
            Task::new("b", 2, 15_000, 6),
            locking("c", 1, 20_000, 8, 3_000),
        ],
    ];
    the_search_finds_what_all_offsets_have(("ring", "stm32c031"), 12_000, &sets, 0.95);
}

/// The timeline of a longest response shows the task itself for its work, others for theirs, and
/// never two at once.
#[test]
fn a_timeline_accounts_for_the_response() {
    for kernel in Model::KERNELS {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let section = |cycles| Section { lock: 0, cycles, inside: None };
        let handled = Interrupt { name: "i".into(), distance: 250_000, work: 1_000 };
        // The longest section has another one nested in it, if images support that.
        let mut longest = vec![section(9_000)];
        if model(kernel).protocol != Protocol::Cooperative {
            longest.push(Section { lock: 1, cycles: 3_000, inside: Some(0) });
        }
        let tasks = vec![
            Task {
                release: Release::Interrupt(0),
                sections: vec![section(800)],
                ..Task::new("a", 3, 5_000, 250_000)
            },
            Task::new("b", 2, 8_000, 120_000),
            Task { sections: longest, ..Task::new("c", 1, 40_000, 480_000) },
        ];
        let locks = vec!["l".to_owned(), "m".to_owned()];
        let interrupts = vec![handled];
        let tick = if kernel == "lilos" { 60_000 } else { 12_000 };
        let set = Set { tick, granule: 48.into(), tasks, locks, interrupts, ..Set::default() };
        let effort = SearchEffort { offsets: 10, seed: 1, cycles: 4_000_000 };
        let found = bench.search(&set, &calibration, effort).expect("it runs").tasks;
        for (task, found) in set.tasks.iter().zip(&found) {
            let timeline = bench.timeline(&set, &calibration, found).expect("it runs again");
            let timeline = timeline.expect("a witness");
            let witness = found.witness.expect("one");
            assert!(timeline.from <= witness.released && timeline.until >= witness.ended);
            let mut before = timeline.from;
            let (mut own, mut held, mut pieces) = (0, 0, 0);
            for ran in &timeline.ran {
                assert!(ran.from >= before && ran.until > ran.from, "{kernel}: {timeline:?}");
                before = ran.until;
                let within = ran.from >= witness.released && ran.until <= witness.ended;
                if within && ran.who == Actor::Task(task.name.clone()) {
                    own += ran.until - ran.from;
                    pieces += 1;
                    held += if ran.lock.is_some() { ran.until - ran.from } else { 0 };
                }
            }
            // Includes the calls of locks, the entries of handlers before their first instructions,
            // and the switches to other tasks.
            assert!(
                (task.work - 200..task.work + 800 * pieces).contains(&own),
                "{kernel}, {}: {own} in {pieces} pieces",
                task.name
            );
            let outermost = task.sections.iter().filter(|section| section.inside.is_none());
            let stated: u64 = outermost.map(|section| section.cycles).sum();
            assert!(
                (stated.saturating_sub(200)..stated + 800 * pieces).contains(&held),
                "{kernel}: {held}"
            );
            assert!(
                timeline
                    .releases
                    .iter()
                    .any(|release| { release.task == task.name && release.at == witness.released })
            );
        }
    }
}

/// Three tasks in a row: the first sends to the second, which sends to the third.
fn in_a_row() -> Set {
    let tasks = vec![
        Task::new("a", 3, 1_000, 24_000),
        Task { offset: 12_000, ..Task::new("b", 2, 2_000, 72_000) },
        Task::new("c", 1, 4_000, 240_000),
    ];
    let mut set = Set { tick: 12_000, granule: 48.into(), tasks, ..Set::default() };
    for (name, from, to) in [("ab", 0, 1), ("bc", 1, 2), ("ac", 0, 2)] {
        let items = set.accumulated(from, to);
        set.connect(Queue { name: name.into(), from, to, items }).expect("as many as gather");
    }
    set
}

/// Each job sends one message, and each message sent was received or waits for the next job.
#[test]
fn messages_arrive_as_the_schedule_predicts() {
    for kernel in Model::KERNELS {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let set = in_a_row();
        // The run ends 100 000 cycles later, when no task is running.
        for (cycles, long_jobs) in [(2_340_000, 11), (3_540_000, 16)] {
            let ran = bench.run(&set, &calibration, cycles).expect("it runs");
            assert_eq!(ran.tasks[2].jobs, long_jobs, "{kernel}");
            for (queue, traffic) in set.queues.iter().zip(&ran.queues) {
                assert_eq!(traffic.sent, ran.tasks[queue.from].jobs, "{kernel}, {}", queue.name);
                assert_eq!(traffic.lost, 0, "{kernel}, {}", queue.name);
                // Everything sent before the receiver's last job has been received.
                let (from, to) = (&set.tasks[queue.from], &set.tasks[queue.to]);
                let last = to.offset + to.period * (ran.tasks[queue.to].jobs - 1);
                let before = (last - from.offset).div_ceil(from.period);
                assert!(
                    (before..=before + 1).contains(&traffic.received),
                    "{kernel}, {}: {traffic:?}, {before} before the last job",
                    queue.name
                );
            }
        }
    }
}

/// With forty messages per job, a bound that omits them is exceeded, and one that includes them is
/// not.
#[test]
fn bounds_need_message_costs() {
    for kernel in Model::KERNELS {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let (model, costs) = (model(kernel), &calibration.costs);
        let tasks =
            vec![Task::new("often", 2, 1_000, 24_000), Task::new("seldom", 1, 2_000, 240_000)];
        let tick = if kernel == "lilos" { 24_000 } else { 12_000 };
        let without = Set { tick, granule: 48.into(), tasks, ..Set::default() };
        let mut set = without.clone();
        for name in ["p", "q", "r", "s"] {
            set.connect(Queue { name: name.into(), from: 0, to: 1, items: 24 }).expect("room");
        }
        let effort = SearchEffort { offsets: 5, seed: 1, cycles: 2_000_000 };
        let longest = bench.search(&set, &calibration, effort).expect("it runs").tasks[1].longest;
        let bound = |set: &Set| model.bounds(set, costs)[1].as_ref().expect("bounded").response;
        let (with, less) = (bound(&set), bound(&without));
        assert!(less < longest && longest <= with, "{kernel}: {less} {longest} {with}");
        // Ten messages accumulate in each queue here, or one more if two of them coincide.
        set.tasks[1].receives = 4 * 11;
        let close = bound(&set);
        assert!(longest <= close && close < with, "{kernel}: {longest} {close} {with}");
    }
}

/// A late message accumulates with those after it: the receiver's period and deadline alone span
/// three of the sender's periods, yet four messages accumulate.
#[test]
fn as_many_messages_accumulate_as_are_counted() {
    const TICK: u64 = 12_000;
    for kernel in ["freertos", "rtic"] {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let tasks = vec![
            Task { deadline: TICK, offset: 6 * TICK, ..Task::new("to", 3, 1_000, 20 * TICK) },
            // From the first release of both until just after the look.
            Task::new("between", 2, 6 * TICK + 2_000, 420 * TICK),
            Task::new("from", 1, 3_000, 7 * TICK),
        ];
        let mut set = Set { tick: TICK, granule: 48.into(), tasks, ..Set::default() };
        let queue = |items| Queue { name: "q".into(), from: 2, to: 0, items };
        assert_eq!(set.connect(queue(3)), Err(4));
        set.connect(queue(4)).expect("as many as gather");
        let lost = |set: &Set| {
            let ran = bench.run(set, &calibration, 60 * TICK).expect("it runs");
            let in_time = |(task, seen): (&Task, &Observed)| seen.longest <= task.deadline;
            assert!(set.tasks.iter().zip(&ran.tasks).all(in_time), "{kernel}: {ran:?}");
            ran.queues[0].lost
        };
        assert_eq!(lost(&set), 0, "{kernel}");
        set.queues[0].items = 3;
        assert_eq!(lost(&set), 1, "{kernel}");
    }
}

/// A queue that is too short loses messages, and every loss is reported.
#[test]
fn a_lost_message_is_reported() {
    for kernel in Model::KERNELS {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let mut set = in_a_row();
        // Ten messages are sent until the receiver runs again.
        set.queues[2].items = 4;
        let effort = SearchEffort { offsets: 1, seed: 1, cycles: 2_400_000 };
        let searched = bench.search(&set, &calibration, effort).expect("it runs");
        let [first, second, third] = searched.queues[..] else { panic!("three queues") };
        assert_eq!((first.lost, second.lost), (0, 0), "{kernel}");
        assert_eq!(third.sent + third.lost, first.sent, "{kernel}: the same task sends to both");
        assert!(third.lost > third.sent && third.received <= third.sent, "{kernel}: {third:?}");
    }
}

#[test]
fn unsupported_nesting_is_reported() {
    let refused = |kernel: &str, sections: &[Section]| {
        let bench = bench(kernel, &soc("stm32c031"));
        let calibration = bench.calibrate().expect("measured");
        let task = Task { sections: sections.to_vec(), ..Task::new("a", 1, 5_000, 24_000) };
        let locks = vec!["l".to_owned(), "m".to_owned()];
        let set =
            Set { tick: 12_000, granule: 48.into(), tasks: vec![task], locks, ..Set::default() };
        let ran = bench.run(&set, &calibration, 100_000);
        ran.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let outer = Section { lock: 0, cycles: 2_000, inside: None };
    let inner = Section { lock: 1, cycles: 500, inside: Some(0) };
    for kernel in ["embassy", "lilos", "ring"] {
        let message = refused(kernel, &[outer.clone(), inner.clone()]);
        assert_eq!(message, "a: the image has no nested locks", "{kernel}");
    }
    assert_eq!(refused("rtic", &[outer.clone(), inner.clone()]), "");
    let message = refused("freertos", &[outer, inner.clone(), inner]);
    assert_eq!(message, "a: the image has one section within another, not several");
}

#[test]
fn a_set_that_does_not_fit_the_image_is_reported() {
    let bench = bench("freertos", &soc("stm32c031"));
    let calibration = bench.calibrate().expect("measured");
    let of = |tasks: Vec<Task>| {
        let set = Set { tick: 12_000, tasks, ..Set::default() };
        bench.run(&set, &calibration, 100_000).expect_err("refused").to_string()
    };
    let task = |name: &str, period| Task::new(name, 1, 1_000, period);
    assert!(of(vec![task("a", 12_001)]).contains("period of a"), "between ticks");
    let many = (0..9).map(|n| task(&format!("t{n}"), 12_000)).collect();
    assert!(of(many).contains("9 tasks"));
    assert!(of(vec![Task { sends: 1, ..task("a", 12_000) }]).contains("belong to no queue"));
    let queued = |count: usize, items: u64| {
        let tasks = vec![task("a", 12_000), Task { priority: 2, ..task("b", 24_000) }];
        let mut set = Set { tick: 12_000, tasks, ..Set::default() };
        for number in 0..count {
            let name = format!("q{number}");
            set.connect(Queue { name, from: 0, to: 1, items }).expect("as many as gather");
        }
        bench.run(&set, &calibration, 100_000).map_err(|error| error.to_string())
    };
    assert!(queued(MAX_QUEUES, MAX_ITEMS).is_ok());
    assert!(queued(5, 8).expect_err("one too many").contains("5 queues; the image has 4"));
    assert!(queued(1, 33).expect_err("too long").contains("q0 holds 33 messages"));
    assert!(Bench::new(&soc("stm32c031"), b"no ELF", &model("freertos")).is_err());
}
