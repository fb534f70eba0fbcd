//! Renders small sets of answers with every renderer.

use std::collections::BTreeMap;

use rtmark_model::{
    Answer, Backend, Basis, Compiler, Counted, Disturbance, Exact, Expected, Failure, FailureKind,
    Firmware, HeldInterval, Key, LogSource, Overhead, Place, Provenance, Readings, Samples, Series,
    Span, Suite, Summarised, Tier, TimingBasis, Unpaired,
};
use rtmark_units::Hertz;

fn key(kernel: &str, scenario: &str) -> Key {
    Key {
        soc: "stm32c031".into(),
        kernel: kernel.parse().expect("good"),
        version: if kernel == "floor" { "1" } else { "11.2.0" }.into(),
        profile: "product".into(),
        scenario: scenario.parse().expect("good"),
        backend: Backend::Sim,
    }
}

fn series(kernel: &str, scenario: &str, values: &[u64]) -> Series {
    let mut samples = Samples::new();
    for &value in values {
        // By convention here a tick hit samples over 1000.
        samples.push(value, Disturbance { tick: value > 1000, interrupt: false });
    }
    Series {
        key: key(kernel, scenario),
        basis: Basis::Cycles,
        span: Span {
            from: "a".into(),
            to: "b".into(),
            counted: Counted::All,
            switches: 1,
            overhead: Overhead::None,
            ticks: Expected::Exactly(0),
            interrupts: Expected::Any,
        },
        clock: Hertz(48_000_000),
        readings: Readings::Exact(Exact(samples)),
        unpaired: Unpaired::default(),
        facts: BTreeMap::new(),
        flags: Vec::new(),
        masked: None,
        held: None,
        executed: None,
        emptied: None,
        placements: Vec::new(),
        no_multiple: None,
        provenance: Provenance {
            rtmark: "0.1.0".into(),
            rtmark_sha256: None,
            timing_model: Some("1".into()),
            timing_basis: Some(TimingBasis {
                core: Tier::Documented,
                memory: Tier::Estimated,
                exceptions: Tier::Measured,
            }),
            emulator: None,
            soc_sha256: "00".into(),
            core: "cortex-m0plus".into(),
            firmware: Firmware {
                image: "thread".into(),
                layout: 0,
                elf_sha256: "11".into(),
                flash_bytes: 8832,
                ram_bytes: 6048,
            },
            compiler: Compiler::default(),
            settings: BTreeMap::new(),
            commit: None,
            log: None,
            board: None,
        },
    }
}

fn measured(kernel: &str, scenario: &str, values: &[u64]) -> Answer {
    Answer::Measured(Box::new(series(kernel, scenario, values)))
}

fn answers() -> Vec<Answer> {
    vec![
        measured("floor", "thread.yield", &[62, 60, 60, 60]),
        measured("freertos", "thread.yield", &[310, 240, 240, 250, 1412]),
        measured("floor", "queue.send.immediate", &[20; 5]),
        Answer::NotApplicable {
            key: key("freertos", "queue.send.immediate"),
            reason: "It has | no\u{1b}[2J queue.".into(),
        },
        Answer::Failed {
            key: key("floor", "thread.resume.preempt"),
            failure: Failure {
                kind: FailureKind::Fault,
                message: "HardFault at 0x08000124 (main+0x4)".into(),
                hint: "run `rtmark sim`".into(),
                console: String::new(),
            },
        },
        measured("freertos", "thread.resume.preempt", &[7; 3]),
    ]
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_failed_build_is_one_note_for_all_its_scenarios() {
    let failed = |scenario, kind| Answer::Failed {
        key: key("freertos", scenario),
        failure: Failure {
            kind,
            message: "building freertos failed\nport.c:7: error\n\ncommand: make".into(),
            hint: "correct it".into(),
            console: String::new(),
        },
    };
    let failures = |kind| ["thread.yield", "queue.handover"].map(|scenario| failed(scenario, kind));
    let text = plain(&rtmark_report::table(&failures(FailureKind::Build), 100));
    let note =
        "[1] freertos: the firmware was not built: building freertos failed port.c:7: error\n";
    assert!(text.contains(note) && !text.contains("[2]"), "{text}");
    let text = plain(&rtmark_report::table(&failures(FailureKind::Fault), 100));
    assert!(text.contains("[2] freertos queue.handover: the firmware faulted"), "{text}");
}

#[test]
fn the_table_shows_the_expected_text() {
    let styled = rtmark_report::table(&answers(), 100);
    let text = plain(&styled);
    assert!(
        text.starts_with("stm32c031 \u{b7} cortex-m0plus at 48 MHz \u{b7} profile product"),
        "{text}"
    );
    // Headings are folded.
    let head = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let basis = "timing: core documented, memory estimated, exceptions measured";
    assert!(head.contains(basis), "{text}");
    assert!(text.contains("240  4.0\u{d7} 5.00 \u{b5}s"), "{text}");
    assert!(text.contains("first 310 \u{b7} max 250\n"), "{text}");
    assert!(text.contains("1 hit, max 1412\n"), "{text}");
    assert!(text.contains("n/a [1]") && text.contains("FAILED [2]"), "{text}");
    assert!(
        text.contains("[2] floor thread.resume.preempt: the firmware faulted: HardFault"),
        "{text}"
    );
    assert!(text.contains("firmware thread"), "{text}");
    assert!(!text.contains('\u{1b}'), "nothing from outside steers the terminal");
}

#[test]
fn wide_tables_get_narrow_columns() {
    let mut answers = answers();
    for kernel in ["embassy", "lilos", "rtic"] {
        answers.push(measured(kernel, "thread.yield", &[100, 90, 90, 91, 142, 1093]));
        answers.push(measured(kernel, "workload.long", &[142_139_362]));
    }
    let whole = plain(&rtmark_report::table(&answers, 200));
    assert!(whole.contains("142 139 362") && whole.contains("1 hit, max 1093"), "{whole}");
    let compact = plain(&rtmark_report::table(&answers, 100));
    assert!(compact.lines().all(|line| line.chars().count() <= 100), "{compact}");
    assert_eq!(compact.matches("thread.yield").count(), 1, "{compact}");
    assert!(compact.contains("90 1.50\u{d7}") && compact.contains("max 142\n"), "{compact}");
    assert!(compact.contains("142.1M") && compact.contains("n/a [1]"), "{compact}");

    // Kernels that still do not fit go below.
    let below = plain(&rtmark_report::table(&answers, 60));
    assert!(below.lines().all(|line| line.chars().count() <= 60), "{below}");
    assert!(below.matches("thread.yield").count() > 1, "{below}");
    for kernel in ["floor", "freertos", "embassy", "lilos", "rtic"] {
        assert!(compact.contains(kernel) && below.contains(kernel), "{below}");
    }
}

#[test]
fn bases_never_share_a_table() {
    let mut other = series("floor", "thread.yield", &[30; 3]);
    other.basis = Basis::Instructions;
    let mut answers = answers();
    answers.push(Answer::Measured(Box::new(other)));
    let text = plain(&rtmark_report::table(&answers, 100));
    assert_eq!(text.matches("stm32c031").count(), 2, "{text}");
    let (_, instructions) = text.split_once("executed instructions").expect("a second table");
    assert!(!instructions.contains("240"), "{instructions}");
}

#[test]
fn summaries_name_their_statistic_and_flagged_ones_show_no_figure() {
    let mut summarised = series("freertos", "thread.yield", &[]);
    summarised.readings = Readings::Summarised(Summarised {
        mean: Some(240.0),
        max: Some(9000.0),
        ..Summarised::default()
    });
    let mut flagged = summarised.clone();
    flagged.key.scenario = "thread.create".parse().expect("good");
    flagged.flags =
        vec![rtmark_model::Flag::new(rtmark_model::FlagKind::Zero, "all of it is zero")];
    let answers = [
        measured("floor", "thread.yield", &[60; 3]),
        Answer::Measured(Box::new(summarised)),
        Answer::Measured(Box::new(flagged)),
    ];
    for text in [plain(&rtmark_report::table(&answers, 100)), rtmark_report::markdown(&answers)] {
        assert!(text.contains("mean 240"), "{text}");
        assert_eq!(text.matches("240").count(), 1, "{text}");
        assert!(text.contains("flagged") && text.contains("zero: all of it is zero"), "{text}");
        assert!(!text.contains('\u{d7}'), "no multiple of unlike things: {text}");
    }
}

#[test]
fn unequal_spans_have_no_ratio() {
    let mut other = series("freertos", "thread.yield", &[240; 3]);
    other.span.switches = 2;
    let answers = [measured("floor", "thread.yield", &[60; 3]), Answer::Measured(Box::new(other))];
    assert!(!plain(&rtmark_report::table(&answers, 100)).contains('\u{d7}'));
}

#[test]
fn rows_below_their_floor_have_a_reason_and_no_ratio() {
    let of = |kernel: &str, value| {
        let mut series = series(kernel, "tm.basic", &[value; 3]);
        series.no_multiple = Some("no kernel takes part".into());
        Answer::Measured(Box::new(series))
    };
    let beside = ["floor", "freertos"].map(|kernel| measured(kernel, "thread.yield", &[60; 3]));
    let answers: Vec<_> =
        [of("floor", 100), of("freertos", 90)].into_iter().chain(beside).collect();
    let text = plain(&rtmark_report::table(&answers, 100));
    let row = |scenario: &str| text.lines().find(|line| line.starts_with(scenario)).unwrap_or("");
    assert!(row("tm.basic [1]").contains("90"), "{text}");
    assert!(!row("tm.basic").contains('\u{d7}'), "{text}");
    assert!(row("thread.yield").contains("1.00\u{d7}"), "{text}");
    assert!(text.contains("[1] no multiple of the floor: no kernel takes part"), "{text}");
}

#[test]
fn csv_has_one_line_for_each_answer() {
    let text = rtmark_report::csv(&answers()).expect("rendered");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 1 + answers().len(), "{text}");
    assert_eq!(lines[0].split(',').count(), rtmark_report::CSV_COLUMNS.len());
    assert!(lines[2].contains(",5,310,3,240,240,250,250,250,"), "{text}");
    assert!(lines[2].contains(",1,1412,240,5000,4,8832,6048,11,1,"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_version_of_several_lines_leaves_the_csv_one_line_for_each_answer() {
    let mut hostile = series("freertos", "thread.yield", &[240; 3]);
    hostile.key.version = "1\n2\u{202e}\u{1b}[2J".into();
    let text = rtmark_report::csv(&[Answer::Measured(Box::new(hostile))]).expect("a table");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains(",1 2\\u{202e}\\u{1b}[2J,"), "{text}");
}

#[test]
fn probes_that_are_no_samples_are_noted() {
    let noted = |restarted, ends| {
        let mut unpaired = series("freertos", "thread.yield", &[240; 3]);
        unpaired.unpaired = Unpaired { restarted, ends: 9, open: 1 };
        let ends = Some(ends).filter(|ends| *ends > 0);
        unpaired.facts.extend(ends.map(|ends: u64| ("~lone_ends".into(), ends.to_string())));
        let answers = [Answer::Measured(Box::new(unpaired))];
        let texts = [rtmark_report::table(&answers, 200), rtmark_report::markdown(&answers)];
        texts.map(|text| plain(&text).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let expect = |(restarted, ends), note: &str| {
        for text in noted(restarted, ends) {
            assert!(text.contains(note), "no `{note}` in {text}");
        }
    };
    expect((0, 1), "thread.yield: 1 span ended without a begin, and was not counted.");
    expect((0, 7), "thread.yield: 7 spans ended without a begin, and were not counted.");
    expect(
        (1, 2),
        "1 span was restarted before the end, and not counted; 2 spans ended without a begin,",
    );
    // Ends that the scenario allows, and a run that ends within a span.
    assert!(noted(0, 0).iter().all(|text| !text.contains("counted")));
}

#[test]
fn what_has_no_model_is_noted() {
    let mut touching = series("freertos", "thread.yield", &[240; 3]);
    touching.facts.insert("~without_model".into(), "no model: SPI1+0x8 read\nonce".into());
    let text = plain(&rtmark_report::table(&[Answer::Measured(Box::new(touching))], 200));
    assert!(text.contains("freertos thread.yield: no model: SPI1+0x8 read once."), "{text}");
}

/// The figure of a span that a tick belongs to, without the scenario saying so, would be that of odd samples.
#[test]
fn figures_of_few_samples_beside_many_hit_ones_are_noted() {
    let tick = Disturbance { tick: true, interrupt: false };
    for (steady, hit, figure) in [
        (1, 5, Some("hit 5 of 7 samples, and the figure is that of one other sample")),
        (2, 5, Some("hit 5 of 8 samples, and the figure is that of 2 other samples")),
        (0, 5, Some("hit 5 of 6 samples, and the figure is theirs")),
        (5, 5, None),
    ] {
        let mut samples = Samples::new();
        (0..=steady).for_each(|_| samples.push(13, Disturbance::NONE));
        (0..hit).for_each(|_| samples.push(62, tick));
        let mut of_ticks = series("freertos", "timer.tick", &[1; 3]);
        of_ticks.readings = Readings::Exact(Exact(samples));
        let answers = [Answer::Measured(Box::new(of_ticks))];
        for text in [rtmark_report::table(&answers, 200), rtmark_report::markdown(&answers)] {
            let text = plain(&text).split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(text.contains("belongs to the span"), figure.is_some(), "{text}");
            assert!(text.contains(figure.unwrap_or_default()), "{text}");
        }
    }
}

#[test]
fn json_matches_the_published_schema() {
    let text = rtmark_report::json("rtmark 0.1.0", &answers()).expect("rendered");
    let document: rtmark_model::Document = serde_json::from_str(&text).expect("reads back");
    assert_eq!(document.schema_version, rtmark_model::SCHEMA_VERSION);
    assert_eq!(document.answers.len(), answers().len());
    let statistics = document.answers[1].statistics.expect("measured");
    assert_eq!((statistics.first, statistics.typical()), (310, 240));
}

#[test]
fn markdown_escapes_what_would_break_the_table() {
    let text = rtmark_report::markdown(&answers());
    assert!(
        text.contains("| thread.yield | **60** 1.25 \u{b5}s (first 62) | **240** 4.0\u{d7}"),
        "{text}"
    );
    assert!(text.contains(r"It has \| no"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn the_heading_of_markdown_says_how_all_were_built() {
    let mut built = series("floor", "thread.yield", &[60; 3]);
    built.provenance.settings.insert("opt".into(), rtmark_model::Setting::Text("2".into()));
    let text = rtmark_report::markdown(&[Answer::Measured(Box::new(built))]);
    assert!(text.contains("; profile product (opt 2), backend sim;"), "{text}");
}

#[test]
fn the_longest_held_interval_has_a_location() {
    let place = |function: &str, line| Place {
        address: 0x0800_0100,
        function: Some(function.into()),
        line: Some(rtmark_model::Line { file: "tasks.c".into(), line }),
        inlined: Vec::new(),
        frames: Vec::new(),
        callers: vec!["xQueueSend".into()],
    };
    let mut load = series("freertos", "load.held.may_call", &[312]);
    load.held = Some(HeldInterval {
        cycles: 312,
        began: 9,
        ended: 321,
        times: 2,
        total_cycles: 600,
        by: vec!["BASEPRI".into(), "SysTick".into()],
        from: place("enter", 17),
        to: place("leave", 21),
        open: false,
    });
    let answers = [Answer::Measured(Box::new(load))];
    let expected = "freertos load.held.may_call: by BASEPRI and SysTick, from xQueueSend > enter \
                (tasks.c:17) to xQueueSend > leave (tasks.c:21)";
    let wide = rtmark_report::table(&answers, 200);
    assert!(wide.contains("312") && wide.contains("[1]") && wide.contains(expected), "{wide}");
    let markdown = rtmark_report::markdown(&answers);
    assert!(markdown.contains("(1)") && markdown.contains("by BASEPRI and SysTick"), "{markdown}");
    let csv = rtmark_report::csv(&answers).expect("renders");
    let expected =
        "\"BASEPRI, SysTick\",xQueueSend > enter (tasks.c:17),xQueueSend > leave (tasks.c:21)";
    assert!(csv.contains(expected), "{csv}");
}

#[test]
fn multimodal_samples_show_mean_and_modes() {
    let lengths: Vec<u64> = std::iter::once(140).chain([135, 249].repeat(50)).collect();
    let answers = [Answer::Measured(Box::new(series("lilos", "thread.yield", &lengths)))];
    for width in [100, 200] {
        let table = rtmark_report::table(&answers, width);
        assert!(table.contains("192") && table.contains("135 | 249"), "{table}");
        assert!(table.contains("a | b: samples cluster around several lengths"), "{table}");
    }
    let csv = rtmark_report::csv(&answers).expect("renders");
    assert!(csv.contains("\"135 x 50, 249 x 50\""), "{csv}");
    // A bar would end the cell.
    let markdown = rtmark_report::markdown(&answers);
    assert!(markdown.contains("(135 \\| 249; "), "{markdown}");
    assert!(markdown.contains("\na \\| b: samples cluster"), "{markdown}");
}

#[test]
fn cold_cache_figures_are_shown_separately() {
    let mut cached = series("freertos", "thread.yield", &[310, 240, 240, 240]);
    let mut emptied = Samples::new();
    (0..4).for_each(|_| emptied.push(377, Disturbance::NONE));
    cached.emptied = Some(emptied);
    let answers = [Answer::Measured(Box::new(cached))];
    let wide = rtmark_report::table(&answers, 200);
    assert!(wide.contains("emptied 377") && wide.contains("emptied: the median"), "{wide}");
    let csv = rtmark_report::csv(&answers).expect("renders");
    assert!(csv.lines().next().is_some_and(|heads| heads.contains(",emptied,emptied_max")));
    assert!(csv.contains(",377,377"), "{csv}");
    let json = rtmark_report::json("rtmark", &answers).expect("renders");
    assert!(json.contains("emptied_statistics"), "{json}");
}

/// Returns a row of a log: its name in the suite, a mean in cycles, and its core.
fn of_a_log(suite: Suite, row: &str, mean: f64, core: &str) -> Series {
    let mut summarised = series("zephyr", "x.y", &[]);
    summarised.key.backend = Backend::Log;
    summarised.key.soc = "<b>board</b>".into();
    summarised.clock = Hertz(120_000_000);
    summarised.readings =
        Readings::Summarised(Summarised { mean: Some(mean), ..Summarised::default() });
    summarised.provenance.core = core.into();
    summarised.provenance.log =
        Some(LogSource { file: "uart.log".into(), line: 7, suite, row: row.into(), near: None });
    summarised
}

#[test]
fn others_figures_appear_beside_ours_if_span_and_core_match() {
    let catalogue = rtmark_model::Catalogue::builtin().expect("good");
    let ours = [
        measured("floor", "thread.yield", &[50; 3]),
        measured("freertos", "thread.yield", &[200; 3]),
    ];
    let suite = Suite::ZephyrLatencyMeasure;
    let row = "thread.yield.preemptive.ctx.k_to_k";
    let mut same_kernel =
        of_a_log(Suite::RtosBenchmark, "Yield: Yield (context switch)", 300.0, "cortex-m0plus");
    same_kernel.key.kernel = "freertos".parse().expect("good");
    same_kernel.key.soc.clone_from(&ours[0].key().soc);
    let mut flagged = of_a_log(suite, row, 77777.0, "cortex-m0plus");
    flagged.flags = vec![rtmark_model::Flag::new(rtmark_model::FlagKind::Wrapped, "so it is")];
    let mut near = of_a_log(suite, "what.ever", 66666.0, "cortex-m0plus");
    let differs = rtmark_model::Near {
        scenario: "thread.yield".parse().expect("good"),
        differs: "it is another thing".into(),
    };
    near.provenance.log.as_mut().expect("a log").near = Some(differs);
    let theirs: Vec<Answer> = [
        of_a_log(suite, row, 315.0, "cortex-m0plus"),
        same_kernel,
        of_a_log(suite, row, 88888.0, "cortex-m7"),
        flagged,
        near,
    ]
    .into_iter()
    .map(|series| Answer::Measured(Box::new(series)))
    .collect();
    let text = plain(&rtmark_report::related(&ours, &theirs, &catalogue, 120));
    let line = |part: &str| {
        text.lines()
            .find(|line| line.contains(part))
            .unwrap_or_else(|| panic!("no {part} in {text}"))
    };
    assert!(line(" 315 ").contains("6.3\u{d7} floor") && line(" 315 ").contains("[1]"), "{text}");
    assert!(line(" 300 ").contains("1.50\u{d7} ours"), "{text}");
    assert!(text.contains("[1] uart.log:7") && text.contains("another chip,"), "{text}");
    assert!(text.contains("another compiler"), "ours is of the same chip: {text}");
    for hidden in ["88 888", "88888", "77777", "66666"] {
        assert!(!text.contains(hidden), "{hidden} is not compared: {text}");
    }
    for why in ["on cortex-m7, which is not among ours", "wrapped: so it is", "it is another thing"]
    {
        assert!(text.contains(why), "{why} in {text}");
    }
}

#[test]
fn imported_rows_name_their_equal_scenario() {
    let catalogue = rtmark_model::Catalogue::builtin().expect("good");
    let suite = Suite::ZephyrLatencyMeasure;
    let answers: Vec<Answer> = ["thread.yield.preemptive.ctx.k_to_k", "of.another.kind"]
        .map(|row| Answer::Measured(Box::new(of_a_log(suite, row, 315.4, "cortex-m4f"))))
        .into();
    let text = plain(&rtmark_report::imported(&answers, &catalogue, 100));
    assert!(text.contains("mean 315.4 cycles  2.63 \u{b5}s  = thread.yield"), "{text}");
    assert!(text.contains("no scenario has this span"), "{text}");
    assert_eq!(text.matches("uart.log").count(), 1, "one heading: {text}");
    let mut other = answers[0].series().expect("measured").clone();
    other.key.profile = "checked".into();
    let answers = [answers[0].clone(), Answer::Measured(Box::new(other))];
    let text = plain(&rtmark_report::imported(&answers, &catalogue, 100));
    assert!(text.contains(" \u{b7} profile checked \u{b7} "), "{text}");
    assert_eq!(text.matches("uart.log").count(), 2, "a heading for each profile: {text}");
}

#[test]
fn imported_rows_are_aligned_whatever_their_names() {
    let catalogue = rtmark_model::Catalogue::builtin().expect("good");
    let long = "time per task switch with a name that is longer than its column is wide";
    let row = |row: &str| {
        let series = of_a_log(Suite::ZephyrLatencyMeasure, row, 315.4, "cortex-m4f");
        Answer::Measured(Box::new(series))
    };
    let first = row("short");
    let nothing =
        Answer::NotApplicable { key: first.key().clone(), reason: "the suite says so".into() };
    let text = plain(&rtmark_report::imported(&[first, nothing, row(long)], &catalogue, 200));
    let place = |line: &str| Some(line[..line.find("mean 315.4")?].chars().count());
    let places: Vec<_> = text.lines().filter_map(place).collect();
    assert!(places.len() == 2 && places[0] == places[1], "{places:?} in {text}");
    assert_eq!(text.matches("uart.log").count(), 1, "one heading, also after n/a: {text}");
}

/// Returns seven points of a curve, of which the last does not fit.
fn curve() -> Vec<Answer> {
    let counts = [1_u32, 2, 4, 8, 16, 32];
    let point = |kernel: &str, n: u32, cost: u64| {
        measured(kernel, &format!("growth.tick.delayed.{n}"), &[cost + 7, cost, cost])
    };
    let mut answers: Vec<_> = counts.map(|n| point("floor", n, 40)).to_vec();
    answers.extend(counts.map(|n| point("freertos", n, 100 + 12 * u64::from(n))));
    for kernel in ["floor", "freertos"] {
        let key = key(kernel, "growth.tick.delayed.64");
        answers.push(Answer::NotApplicable { key, reason: "no room for 64 tasks".into() });
    }
    answers
}

#[test]
fn curves_have_their_own_table() {
    let mut answers = answers();
    answers.extend(curve());
    let text = anstream::adapter::strip_str(&rtmark_report::table(&answers, 100)).to_string();
    let line = |part: &str| {
        let found = text.lines().find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("{part} in\n{text}"))
    };
    let constant = line("growth.tick.delayed");
    assert!(constant.contains("40 at 32") && constant.contains("constant"), "{constant}");
    assert!(constant.ends_with("██████·"), "{constant}");
    let linear = line("linear");
    let shown = ["freertos", "112", "484 at 32", "12.0", "▂▃▃▄▅█·"];
    assert!(shown.iter().all(|part| linear.contains(part)), "{linear}");
    assert!(line("N = ").contains("N = 1 2 4 8 16 32 64"));
    assert!(text.contains("] no room for 64 tasks"), "{text}");
    assert!(!text.contains("delayed.32"), "no row of its own: {text}");
}

#[test]
fn curves_are_in_every_format() {
    let answers = curve();
    let json = rtmark_report::json("test", &answers).expect("rendered");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let curves = json["curves"].as_array().expect("curves");
    assert_eq!(curves.len(), 2);
    assert_eq!(curves[1]["key"]["scenario"], "growth.tick.delayed");
    assert_eq!(curves[1]["fit"]["order"], "linear");
    assert_eq!(curves[1]["points"][5]["cost"], 484);
    assert_eq!(curves[1]["missing"][0]["n"], 64);

    let markdown = rtmark_report::markdown(&answers);
    assert!(markdown.contains("| growth | kernel | order | each | 1 | 2 |"), "{markdown}");
    assert!(markdown.contains("| growth.tick.delayed | freertos | linear"), "{markdown}");
    assert!(!markdown.contains("| scenario |"), "no other rows: {markdown}");

    let csv = rtmark_report::csv(&answers).expect("rendered");
    // New columns are only ever added at the end.
    let header = csv.lines().next().expect("a header").split(',').collect::<Vec<_>>();
    let line = csv.lines().nth(3).expect("a line").split(',').collect::<Vec<_>>();
    let of = |name| header.iter().position(|column| *column == name).map(|at| line[at]);
    assert_eq!((of("curve"), of("n")), (Some("growth.tick.delayed"), Some("4")), "{csv}");
}
