//! Answers for one kernel: verdicts, and the reasons for missing bounds.

mod common;

use rtmark_plan::{
    Bound, Cost, Costs, CostsOf, Document, Form, Interrupt, KernelPlan, Kind, Model, NoBound,
    Origin, Outcome, Queue, QueueRun, Release, RunPlan, Section, Set, Spans, Task, Verdict, search,
};

const TICK: u64 = 10_000;

fn set(tasks: Vec<Task>) -> Set {
    Set { tick: TICK, tasks, locks: vec!["a".into(), "b".into()], ..Set::default() }
}

/// Three tasks, high, middle and low, released by the clock.
fn three() -> Set {
    set(vec![
        Task::new("high", 3, 2_000, 2 * TICK),
        Task::new("middle", 2, 4_000, 5 * TICK),
        Task::new("low", 1, 9_000, 10 * TICK),
    ])
}

fn freertos() -> Model {
    Model::of("freertos").expect("known")
}

/// Every scenario takes from 90 to 100 cycles, with a few exceptions.
fn costs(set: &Set, others: &[(&str, u64)]) -> Costs {
    freertos().measured(set, &mut |scenario| {
        let other = others.iter().find(|(name, _)| *name == scenario);
        let worst = other.map_or(100, |(_, cycles)| *cycles);
        if worst == 0 {
            return Err(format!("{scenario} has no answer: it was left out"));
        }
        Ok(Spans { least: worst - worst / 10, worst, samples: 7 })
    })
}

fn held(lock: usize, cycles: u64, inside: Option<usize>) -> Section {
    Section { lock, cycles, inside }
}

#[test]
fn a_bound_equals_the_sum_by_hand() {
    let mut set = three();
    set.tasks[1].sections.push(held(0, 500, None));
    set.tasks[2].sections.push(held(0, 700, None));
    let costs = costs(&set, &[("timer.tick", 60), ("timer.wake", 200)]);
    let bounds = freertos().bounds(&set, &costs);
    let response = |index: usize| bounds[index].as_ref().expect("bounded").response;
    // Start: 200 - 54 + 100. Releases of lower tasks: the rise, (100 - 90) / 1. Held back: 100.
    let start = 246;
    assert_eq!(response(0), 2_000 + start + 60 + 2 * 10 + 100);
    // Its own lock: 200. The section of low with its lock: 200, and the switch there and back: 200.
    let high = 2_000 + start + 100;
    let own = 4_000 + 200 + start + 100;
    assert_eq!(response(1), own + 700 + 200 + 200 + high + 60 + 10);
    // Two ticks, one of which releases no task; the second job of high contends for no lock. Middle
    // may wait.
    let middle = 4_000 + 200 + 200 + start + 100;
    let low = 9_000 + 200 + start;
    assert_eq!(response(2), low + middle + high + 2 * 60);
    let measured = costs.known[&Cost::Start].clone();
    assert_eq!(measured.scenario, "timer.wake less timer.tick, and thread.yield.alone");
    let terms = &bounds[2].as_ref().expect("bounded").terms;
    let tick = terms.iter().find(|term| term.kind == Kind::Tick).expect("there");
    assert_eq!((tick.each, tick.times, tick.cycles), (60, 2, 120));
    assert!(matches!(&tick.origin, Origin::Measured { worst: 60, samples: 7, .. }), "{tick:?}");
}

#[test]
fn a_missing_scenario_leaves_the_bound_unknown() {
    let set = three();
    let costs = costs(&set, &[("growth.delay.delayed.4", 0)]);
    let plan = KernelPlan::new(&set, &freertos(), &costs, 0.0);
    assert_eq!(plan.verdict, Verdict::Unknown);
    assert_eq!(plan.missing[0].cost, Cost::End);
    assert!(plan.breakdown_percent.is_none());
    let why = plan.tasks[2].no_bound.as_deref().expect("none");
    assert!(why.contains("growth.delay.delayed.4 has no answer"), "{why}");
    let file = Document { file: "a|b\n.toml".into(), ..document(plan) };
    for form in [Form::Text, Form::Markdown] {
        assert!(file.text(form).contains("is not available"), "{}", file.text(form));
    }
}

fn run_of(longest: [u64; 3], bounds: [Option<u64>; 3]) -> RunPlan {
    common::run_of(["high", "middle", "low"], longest, bounds)
}

#[test]
fn notes_are_in_every_form() {
    let (set, model) = (three(), freertos());
    let costs = costs(&set, &[]);
    let plan = KernelPlan {
        notes: vec!["k sets the clock".into()],
        ..KernelPlan::new(&set, &model, &costs, 0.0)
    };
    // The image's own costs change nothing about the clock.
    let plan = plan.on_image(&set, &model, &costs, 0.0);
    let document = document(plan);
    let forms = [document.text(Form::Text), document.text(Form::Markdown), document.page()];
    for form in forms {
        assert_eq!(form.matches("k sets the clock").count(), 1, "{form}");
    }
    let kept = serde_json::to_string(&document).expect("JSON");
    assert_eq!(serde_json::from_str::<Document>(&kept).expect("reads back"), document);
}

fn document(plan: KernelPlan) -> Document {
    Document {
        schema_version: 1,
        generator: "test".into(),
        file: "system.toml".into(),
        soc: "s".into(),
        clock_hz: 1,
        tick_hz: None,
        slack_percent_wanted: 0.0,
        kernels: vec![plan],
    }
}

/// The image's costs decide the verdict, whether they are higher or lower than the suite's.
#[test]
fn the_verdict_rests_on_the_image_that_runs() {
    let set = three();
    let (cheap, dear) = (costs(&set, &[]), costs(&set, &[("timer.wake", 20_000)]));
    let of = |suite: &Costs, image: &Costs| {
        let plan = KernelPlan::new(&set, &freertos(), suite, 0.0);
        assert_eq!(plan.costs_of, CostsOf::Suite);
        let before = (plan.verdict, plan.tasks[0].response, plan.breakdown_percent);
        let plan = plan.on_image(&set, &freertos(), image, 0.0);
        assert_eq!(plan.costs_of, CostsOf::Image);
        let suite = plan.of_suite.as_ref().expect("kept");
        assert_eq!((suite.verdict, suite.tasks[0].response, suite.breakdown_percent), before);
        plan
    };
    let short = of(&cheap, &dear);
    assert_eq!(
        (short.verdict, short.of_suite.as_ref().map(|it| it.verdict)),
        (Verdict::Misses, Some(Verdict::Holds))
    );
    assert_eq!(document(short.clone()).outcome(), Outcome::Short);
    let text = document(short).text(Form::Text);
    assert!(
        text.contains("in the image that ran the set") && text.contains("bound, suite's costs"),
        "{text}"
    );
    let holds = of(&dear, &cheap);
    assert_eq!(
        (holds.verdict, holds.of_suite.as_ref().map(|it| it.verdict)),
        (Verdict::Holds, Some(Verdict::Misses))
    );
    assert_eq!(document(holds).outcome(), Outcome::Holds);
    let alone = document(KernelPlan::new(&set, &freertos(), &cheap, 0.0)).text(Form::Text);
    assert!(
        alone.contains("in the suite's images") && !alone.contains("bound, suite's costs"),
        "{alone}"
    );
}

/// The results of runs count whatever the bounds say: both a missed deadline and an exceeded bound.
#[test]
fn runs_overrule_bounds() {
    let set = three();
    let costs = costs(&set, &[]);
    let plan =
        || KernelPlan::new(&set, &freertos(), &costs, 0.0).on_image(&set, &freertos(), &costs, 0.0);
    let bounds: Vec<_> = plan().tasks.iter().map(|task| task.response).collect();
    let bounds = [bounds[0], bounds[1], bounds[2]];
    let within = plan().with_run(run_of([2_000, 4_000, 9_000], bounds));
    assert_eq!((within.verdict, document(within).outcome()), (Verdict::Holds, Outcome::Holds));
    let above = [bounds[0].expect("bounded") + 1, 4_000, 9_000];
    let above = document(plan().with_run(run_of(above, bounds)));
    assert_eq!(above.outcome(), Outcome::AboveBound);
    assert!(above.text(Form::Text).contains("high took longer than its bound"));
    let unbounded = plan().with_run(run_of([2_000, 5 * TICK + 1, 9_000], [None; 3]));
    assert_eq!(
        (unbounded.verdict, document(unbounded).outcome()),
        (Verdict::Misses, Outcome::Short)
    );
}

/// A lost message is always reported: if no deadline was missed, the analysis is wrong.
#[test]
fn a_lost_message_is_a_finding() {
    let set = three();
    let costs = costs(&set, &[]);
    let of = |lost, longest| {
        let queue = QueueRun { name: "lines".into(), sent: 1_200, received: 1_195, lost };
        let run = RunPlan { queues: vec![queue], ..run_of(longest, [None; 3]) };
        document(KernelPlan::new(&set, &freertos(), &costs, 0.0).with_run(run))
    };
    let outcome = |document: Document| {
        let text = document.text(Form::Text);
        (document.kernels[0].verdict, document.outcome(), text.contains("LOST: 2, because"))
    };
    let (short, late) = ([2_000, 4_000, 9_000], [2_000, 5 * TICK + 1, 9_000]);
    assert_eq!(outcome(of(0, short)), (Verdict::Holds, Outcome::Holds, false));
    assert_eq!(outcome(of(2, short)), (Verdict::Misses, Outcome::LostMessage, true));
    assert_eq!(outcome(of(2, late)), (Verdict::Misses, Outcome::Short, true));
    assert!(of(0, short).text(Form::Text).contains("1 200 messages were sent through lines"));
}

/// Messages are in the bounds of both ends; if one end may be late, the receiver has no bound.
#[test]
fn messages_count_while_their_ends_are_in_time() {
    let mut set = three();
    let before = freertos().bounds(&set, &costs(&set, &[]));
    // Low receives what high sends: 20 ticks and 2 make 11 periods of high.
    let queue = Queue { name: "q".into(), from: 0, to: 2, items: 11 };
    set.connect(queue).expect("as many as gather");
    let dear = costs(&set, &[("queue.send.immediate", 300), ("queue.receive.immediate", 200)]);
    let after = freertos().bounds(&set, &dear);
    let bound = |bounds: &[Result<Bound, NoBound>], at: usize| {
        bounds[at].as_ref().expect("bounded").response
    };
    // If there is a lower-priority task, the longest stretch held back may be the longest call.
    assert_eq!(bound(&after, 0), bound(&before, 0) + 300 + 200);
    assert_eq!(bound(&after, 1), bound(&before, 1) + 300 + 200);
    let sent = bound(&after, 2).div_ceil(2 * TICK) * 300;
    assert_eq!(bound(&after, 2), bound(&before, 2) + sent + 11 * 200 + 200);
    set.tasks[0].deadline = 2_000;
    let late = freertos().bounds(&set, &dear);
    assert!(late[0].is_ok() && late[1].is_ok(), "no message is theirs to receive");
    assert!(matches!(&late[2], Err(NoBound::LateEnd { task, .. }) if task == "high"), "{late:?}");
    let plan = KernelPlan::new(&set, &freertos(), &dear, 0.0);
    assert_eq!(plan.verdict, Verdict::Misses);
    // If an end has no bound, it is unknown whether it is late.
    set.tasks[0].period += 1;
    let unknown = freertos().bounds(&set, &dear);
    let of = |bound: &Result<Bound, NoBound>| bound.as_ref().err().cloned();
    assert!(matches!(of(&unknown[0]), Some(NoBound::BetweenTicks { .. })), "{unknown:?}");
    let why = NoBound::UnboundedEnd { task: "high".into() };
    assert_eq!(of(&unknown[2]), Some(why), "its own reason is not that of others");
    assert_eq!(KernelPlan::new(&set, &freertos(), &dear, 0.0).verdict, Verdict::Unknown);
    set.tasks[0].period -= 1;
    // In turns, all tasks wait for the receiver.
    let embassy = Model::of("embassy").expect("known");
    let zero = Costs::zero();
    assert!(embassy.bounds(&set, &zero).iter().all(Result::is_err));
    set.tasks[0].deadline = 2 * TICK;
    assert!(embassy.bounds(&set, &zero).iter().all(Result::is_ok));
}

#[test]
fn verdicts_follow_slack() {
    let set = three();
    let costs = costs(&set, &[]);
    let verdict = |set: &Set, wanted| KernelPlan::new(set, &freertos(), &costs, wanted).verdict;
    assert_eq!(verdict(&set, 0.0), Verdict::Holds);
    assert_eq!(verdict(&set, 95.0), Verdict::Tight);
    let mut late = set.clone();
    late.tasks[2].deadline = 12_000;
    assert_eq!(verdict(&late, 0.0), Verdict::Misses);
    let mut much = set.clone();
    much.tasks[2].work = 80_000;
    assert_eq!(
        verdict(&much, 0.0),
        Verdict::Misses,
        "more than all of the time, with the kernel's"
    );
    // The first cause of failure is reported.
    let plan = KernelPlan::new(&set, &freertos(), &costs, 0.0);
    let breakdown = plan.breakdown_percent.expect("bounded");
    assert!(breakdown > plan.utilisation_percent && breakdown < 100.0);
    let factor = search::breakdown(&set, |set| freertos().holds(set, &costs));
    assert!(freertos().holds(&set.scaled(factor), &costs));
    assert!(!freertos().holds(&set.scaled(factor + 1), &costs));
    let clock = search::slowest_clock(&set, |set| freertos().holds(set, &costs)).expect("holds");
    assert!(clock < search::WHOLE && freertos().holds(&set.clocked(clock), &costs));
    assert!(!freertos().holds(&set.clocked(clock - 1), &costs));
    // The clock cannot be slower than the load.
    assert!(clock as f64 / 100.0 > plan.utilisation_percent);
    assert_eq!(search::slowest_clock(&late, |set| freertos().holds(set, &costs)), None);
}

#[test]
fn a_missing_bound_has_a_reason() {
    let why = |set: &Set| {
        let bounds = freertos().bounds(set, &costs(set, &[]));
        bounds.into_iter().find_map(Result::err).expect("one has none")
    };
    let mut between = three();
    between.tasks[1].period += 1;
    assert!(matches!(why(&between), NoBound::BetweenTicks { what: "period", .. }));
    let mut equal = three();
    equal.tasks[1].priority = 3;
    assert!(matches!(why(&equal), NoBound::SharedLevel { .. }));
    let mut handler = three();
    handler.interrupts.push(Interrupt { name: "i".into(), distance: 90_000, work: TICK });
    assert!(matches!(why(&handler), NoBound::LostTicks { .. }), "{:?}", why(&handler));
    handler.interrupts[0].work = TICK / 2;
    assert!(freertos().holds(&handler, &costs(&handler, &[])));
    // Low is woken by an interrupt that recurs before its job is done.
    let mut often = three();
    often.tasks[2].release = Release::Interrupt(0);
    often.tasks[2].period = 14_000;
    often.tasks[2].work = 9_500;
    often.tasks[0].work = 1;
    often.tasks[0].period = 10 * TICK;
    often.tasks[1].work = 25_000;
    often.tasks[1].period = 10 * TICK;
    often.interrupts.push(Interrupt { name: "i".into(), distance: 14_000, work: 100 });
    assert!(matches!(why(&often), NoBound::LostReleases { .. }), "{:?}", why(&often));
}

#[test]
fn intransitive_inheritance_is_reported_as_a_chain() {
    // High waits for lock a, held by low, which waits for lock b, held by the lowest; middle
    // preempts it.
    let mut set = set(vec![
        Task { sections: vec![held(0, 100, None)], ..Task::new("high", 4, 2_000, 2 * TICK) },
        Task::new("middle", 3, 4_000, 5 * TICK),
        Task {
            sections: vec![held(0, 300, None), held(1, 100, Some(0))],
            ..Task::new("low", 2, 9_000, 10 * TICK)
        },
        Task { sections: vec![held(1, 200, None)], ..Task::new("lowest", 1, 500, 10 * TICK) },
    ]);
    let costs = costs(&set, &[]);
    let bounds = freertos().bounds(&set, &costs);
    let Err(NoBound::Chain(chain)) = &bounds[0] else { panic!("{:?}", bounds[0]) };
    for name in ["high", "lock a", "low", "lock b", "lowest", "middle"] {
        assert!(chain.0.contains(name), "{name}: {}", chain.0);
    }
    // With ceilings, or without a task in between, there is a bound.
    let rtic = Model { protocol: rtmark_plan::Protocol::Ceiling, ..freertos() };
    assert!(rtic.bounds(&set, &costs).iter().all(Result::is_ok));
    set.tasks.remove(1);
    let bounds = freertos().bounds(&set, &costs);
    let high = bounds[0].as_ref().expect("bounded");
    let blocked: i64 = high
        .terms
        .iter()
        .filter(|term| term.kind == Kind::Blocking && term.origin == Origin::Stated)
        .map(|term| term.cycles)
        .sum();
    assert_eq!(blocked, 300 + 200, "the outer section, and the one that it waits for");
}

/// The least slack is the least distance of a bound from its deadline, negative where that is missed, and
/// a cost matters as much as the slack grows without it.
#[test]
fn the_least_slack_and_what_reduces_it_are_those_by_hand() {
    let model = Model::of("rtic").expect("known");
    let mut costs = Costs::zero();
    let system = |deadline: u64| {
        let urgent = Task { deadline, ..Task::new("urgent", 2, 30, 100) };
        Set { granule: 1.into(), ..set(vec![urgent, Task::new("slow", 1, 50, 200)]) }
    };
    let slack = |set: &Set, costs: &Costs| search::least_slack(set, &model, costs);
    // Responses of 30 and 80.
    assert_eq!(slack(&system(100), &costs), Some(70));
    assert_eq!(slack(&system(20), &costs), Some(-10));
    assert_eq!(search::sensitivity(&system(100), &model, &costs), []);
    // Responses of 35 and 90, as each job begins five later.
    costs.known.get_mut(&Cost::Start).expect("known").cycles = 5;
    assert_eq!(slack(&system(100), &costs), Some(65));
    assert_eq!(search::sensitivity(&system(100), &model, &costs), [(Cost::Start, 5)]);
    // More than all of the processor: the slow task has no bound.
    let full =
        Set { tasks: vec![Task::new("a", 2, 60, 100), Task::new("b", 1, 90, 200)], ..system(100) };
    assert_eq!(slack(&full, &costs), None);
    assert_eq!(search::sensitivity(&full, &model, &costs), []);
}

/// Only costs of what the tasks do are needed.
#[test]
fn costs_of_calls_that_no_task_makes_are_not_needed() {
    let mut set = three();
    let has = |set: &Set, cost: Cost| freertos().costs(set).contains(&cost);
    let calls = [Cost::Send, Cost::Receive, Cost::Look, Cost::Lock, Cost::Contended];
    assert_eq!(calls.map(|cost| has(&set, cost)), [false; 5]);
    set.tasks[0].sends = 1;
    assert_eq!(calls.map(|cost| has(&set, cost)), [true, false, false, false, false]);
    (set.tasks[1].receives, set.tasks[1].looks) = (1, 1);
    assert_eq!(calls.map(|cost| has(&set, cost)), [true, true, true, false, false]);
    set.tasks[2].sections.push(held(0, 5, None));
    assert_eq!(calls.map(|cost| has(&set, cost)), [true; 5]);
}

/// Whole ticks stay whole ticks at another clock, and other times scale by themselves.
#[test]
fn at_another_clock_periods_are_as_many_ticks() {
    let mut set = set(vec![Task::new("ticks", 1, 10, 7 * 15)]);
    set.tick = 15;
    set.interrupts.push(Interrupt { name: "i".into(), distance: 7 * 15, work: 1 });
    // A tick of 4.9995 cycles becomes 4, and a time of 34.9965 cycles 34.
    let slow = set.clocked(3_333);
    assert_eq!((slow.tick, slow.tasks[0].period, slow.tasks[0].work), (4, 7 * 4, 10));
    assert_eq!(slow.interrupts[0].distance, 34);
    let odd = Set { tasks: vec![Task::new("between", 1, 10, 16)], ..set };
    assert_eq!(odd.clocked(3_333).tasks[0].period, 5);
}

/// A tick that becomes due while a task waits for its next release is handled after that call, and before
/// the next tick.
#[test]
fn the_longest_call_that_waits_must_leave_time_for_a_tick() {
    let mut costs = Costs::zero();
    let mut bound = |end: u64| {
        for (cost, cycles) in [(Cost::Tick, 4_000), (Cost::End, end)] {
            costs.known.get_mut(&cost).expect("known").cycles = cycles;
        }
        let set = set(vec![Task::new("only", 1, 10, 10 * TICK)]);
        freertos().bounds(&set, &costs).remove(0)
    };
    assert!(bound(6_000).is_ok());
    let lost = NoBound::LostTicks { cycles: 10_001, tick: TICK };
    assert_eq!(bound(6_001).expect_err("one cycle too long"), lost);
}

/// A task that is late leaves the number of messages as counted if it neither sends nor receives any.
#[test]
fn a_late_task_without_queues_leaves_the_bounds_of_receivers() {
    let mut set = three();
    set.tasks[1].deadline = 5_999;
    let queue = Queue { name: "q".into(), from: 0, to: 2, items: 99 };
    set.connect(queue).expect("room enough");
    let bounds = freertos().bounds(&set, &Costs::zero());
    let responses: Vec<_> =
        bounds.iter().map(|it| it.as_ref().map(|it| it.response).ok()).collect();
    assert_eq!(responses, [Some(2_000), Some(6_000), Some(15_000)]);
}
