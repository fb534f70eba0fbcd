//! A plan's page is self-contained, and safe whatever names contain.

use rtmark_plan::{
    Actor, Costs, Curves, Document, Form, KernelPlan, Model, PeriodPoint, QueueRun, ReleasePlan,
    RunPlan, SCHEMA_VERSION, Set, SlicePlan, Task, TaskRun, TasksPoint, Timeline, WakePlan,
    WitnessPlan,
};

fn ran(who: Actor, from: u64, until: u64) -> SlicePlan {
    SlicePlan { who, from, until, lock: None }
}

fn document() -> Document {
    let tasks = vec![
        Task::new("fast", 2, 2_000, 10_000),
        Task::new("<script>alert(1)</script>", 1, 5_000, 50_000),
    ];
    let set = Set { tick: 1_000, tasks, ..Set::default() };
    let model = Model::of("freertos").expect("known");
    let plan = KernelPlan::new(&set, &model, &Costs::zero(), 0.0);
    let slow = || Actor::Task(set.tasks[1].name.clone());
    let fast = || Actor::Task("fast".to_owned());
    let timeline = Timeline {
        from: 90_000,
        until: 108_000,
        ran: vec![
            ran(Actor::Clock, 100_000, 100_100),
            ran(fast(), 100_200, 102_200),
            SlicePlan { lock: Some("l&l".to_owned()), ..ran(slow(), 102_300, 105_300) },
            ran(Actor::Interrupt("i".to_owned()), 105_300, 105_400),
            ran(slow(), 105_400, 107_400),
        ],
        releases: vec![
            ReleasePlan { task: "fast".to_owned(), at: 100_000 },
            ReleasePlan { task: set.tasks[1].name.clone(), at: 100_000 },
        ],
    };
    let run = |at: usize, longest, timeline| TaskRun {
        name: set.tasks[at].name.clone(),
        bound: plan.tasks[at].response,
        longest,
        jobs: 3,
        witness: Some(WitnessPlan {
            job: 1,
            released: 100_000,
            ended: 100_000 + longest,
            offsets: vec![0, 0],
        }),
        timeline,
    };
    let tasks = vec![run(0, 2_200, None), run(1, 7_400, Some(timeline))];
    let run = RunPlan {
        not_run: None,
        elf_sha256: String::new(),
        offsets_tried: 1,
        tasks,
        queues: vec![QueueRun { name: "q & r".into(), sent: 9, received: 7, lost: 2 }],
        wake: Some(WakePlan { cycles: 1_000, awake: 375 }),
        breakdown_percent: None,
    };
    let plan = plan.on_image(&set, &model, &Costs::zero(), 0.0).with_run(run);
    Document {
        schema_version: SCHEMA_VERSION,
        generator: "a test".to_owned(),
        file: "system & more.toml".to_owned(),
        soc: "a chip".to_owned(),
        clock_hz: 10_000_000,
        tick_hz: None,
        slack_percent_wanted: 0.0,
        kernels: vec![plan],
    }
}

#[test]
fn names_stay_names() {
    let page = document().page();
    assert!(!page.contains("<script"), "no script, whatever a task is called");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("system &amp; more.toml") && page.contains("l&amp;l"));
    assert!(
        page.contains("9 messages were sent through q &amp; r")
            && page.contains("LOST: 2, because")
    );
    for outside in ["http://", "https://", "url(", "<img", "<link"] {
        assert!(!page.contains(outside), "{outside}: the page is complete in itself");
    }
}

/// Beside the lanes there is room for 17 letters; what is longer would begin outside the picture.
#[test]
fn the_names_of_lanes_fit_beside_them() {
    let mut document = document();
    let long = "a task whose name is as long as names of tasks may be, so it is cut";
    document.kernels[0].tasks[0].name = long.to_owned();
    let page = document.page();
    assert!(page.contains(&format!("<h3>{long}</h3>")), "the heading has all of it");
    let lanes = page
        .split("text-anchor=\"end\"")
        .skip(1)
        .filter_map(|text| text.split_once('>')?.1.split("</text>").next());
    let lanes: Vec<_> = lanes.map(|name| name.split("<title>").next().unwrap_or(name)).collect();
    let longest = lanes.iter().map(|name| name.replace("&lt;", "<").replace("&gt;", ">"));
    assert!(longest.clone().all(|name| name.chars().count() <= 17), "{lanes:?}");
    assert!(
        longest
            .clone()
            .any(|name| name.starts_with("a task whose nam") && name.ends_with('\u{2026}'))
    );
}

#[test]
fn a_timeline_has_a_bar_for_everything_that_ran() {
    let page = document().page();
    let gantt = page.split("<figure>").find(|part| part.contains("Who ran in the longest"));
    let gantt = gantt.and_then(|part| part.split("</svg>").next()).expect("a timeline");
    let count = |class: &str| gantt.matches(&format!("<rect class=\"{class}\"")).count();
    assert_eq!(["own", "before", "interrupt", "kernel"].map(count), [2, 1, 1, 1], "{gantt}");
    assert_eq!(gantt.matches("class=\"release\"").count(), 2);
    assert_eq!(gantt.matches("class=\"holds\"").count(), 1);
    // No element in a chart is self-closing: whatever followed it would become its child and not be
    // drawn.
    for element in ["line", "rect", "text"] {
        let [begins, ends] = [format!("<{element} "), format!("</{element}>")];
        assert_eq!(gantt.matches(&begins).count(), gantt.matches(&ends).count(), "{element}");
    }
    // The response takes 7 400 of 18 000 cycles in a chart 874 units wide between its margins.
    let span = gantt.split("class=\"span\"").nth(1).and_then(|part| part.split("width=\"").nth(1));
    let width: f64 = span.and_then(|it| it.split('"').next()?.parse().ok()).expect("a width");
    assert!((width - 874.0 * 7_400.0 / 18_000.0).abs() < 0.2, "{width}");
}

/// Breakdown by tasks and periods is drawn on request: a line per kernel, with a mark for each
/// point that has a load.
#[test]
fn breakdown_is_drawn_as_lines() {
    let mut document = document();
    assert!(!document.page().contains("<polyline"));
    let by_tasks = [(2, Some(90.0)), (4, Some(50.0)), (6, None)];
    let by_tasks =
        by_tasks.map(|(tasks, breakdown_percent)| TasksPoint { tasks, breakdown_percent });
    let by_period =
        [(50.0, None), (100.0, Some(90.0))].map(|(period_percent, breakdown_percent)| {
            PeriodPoint { period_percent, breakdown_percent }
        });
    let curves = Curves { by_tasks: by_tasks.to_vec(), by_period: by_period.to_vec() };
    let one = document.kernels.remove(0);
    let of = |kernel: &str| KernelPlan {
        kernel: kernel.to_owned(),
        curves: Some(curves.clone()),
        ..one.clone()
    };
    document.kernels = vec![of("one"), of("<b>two</b>")];
    let page = document.page();
    assert_eq!(page.matches("<polyline").count(), 4, "two pictures with two lines");
    assert_eq!(page.matches("<circle").count(), 2 * (2 + 1));
    assert!(page.contains("one, 4: 50.0 %") && page.contains("one, 100 %: 90.0 %"));
    assert!(!page.contains("<b>") && page.contains("&lt;b&gt;two"));
    // 90 % is one tenth of 180 below the top, which is at 10.
    assert!(page.contains("cy=\"28.0\""), "{page}");
    // Each mark is above its place's name and within the frame, which the rules show.
    let chart = page.split("<svg").find(|part| part.contains("<polyline")).expect("a chart");
    let values = |element: &str, key: &str| -> Vec<f64> {
        let key = format!(" {key}=\"");
        let elements = chart.split('<').filter(|part| part.starts_with(element));
        let texts = elements.filter_map(|part| part.split_once(&key)?.1.split('"').next());
        texts.filter_map(|text| text.parse().ok()).collect()
    };
    let (left, right) = (values("line", "x1")[0], values("line", "x2")[0]);
    let marks = values("circle", "cx");
    assert!(left < marks[0] && marks[0] < marks[1] && marks[1] < right, "{left} {marks:?} {right}");
    assert_eq!(marks[..2], marks[2..], "the same places for both kernels");
    assert!(marks.iter().all(|mark| values("text", "x").contains(mark)), "{chart}");
}

/// The pieces of a bound add up to the bound.
#[test]
fn bars_are_as_long_as_their_bounds() {
    let document = document();
    let task = &document.kernels[0].tasks[1];
    let sum: i64 = task.terms.iter().map(|term| term.cycles).sum();
    assert_eq!(task.response, u64::try_from(sum).ok());
    let page = document.page();
    let bars = page.split("<figure>").filter(|part| part.contains("is made of")).nth(1);
    let bars = bars.and_then(|part| part.split("</svg>").next()).expect("bars");
    assert!(bars.contains("own work") && bars.contains("tasks that go before, fast"), "{bars}");
    assert!(bars.contains("the kernel: 200 cycles"), "{bars}");
    assert!(bars.contains("the timer's handler: 100 cycles"), "{bars}");
    assert_eq!(bars.matches("text-anchor=\"end\"").count(), 4, "three bars and a unit: {bars}");
}

/// Both forms show how long the processor slept.
#[test]
fn time_awake_and_asleep_is_reported() {
    let document = document();
    for text in [document.page(), document.text(Form::Markdown)] {
        assert!(text.contains("awake for 37.5 % of the time and asleep for 62.5 %"), "{text}");
        assert!(text.contains("demand 30.0 %"), "{text}");
    }
}

/// Scenarios may cost less than the image that runs; the report says so if a run shows it.
#[test]
fn a_run_above_the_bound_of_scenarios_is_reported() {
    let mut document = document();
    let has_warning =
        |document: &Document| document.text(Form::Text).contains("made with the suite's costs");
    assert_eq!(document.kernels[0].tasks[1].response, Some(7_000));
    assert!(has_warning(&document), "7 400 cycles of 7 000");
    let run = document.kernels[0].run.as_mut().expect("a run");
    (run.tasks[0].longest, run.tasks[1].longest) = (2_000, 7_000);
    assert!(!has_warning(&document));
}
