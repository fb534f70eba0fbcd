//! Worst cases: how long an interrupt waited, where, and what held it back.

use rtmark_model::Answer;

use crate::matrix::grouped;
use crate::report::Report;
use crate::sheet::{Chart, Column, Line, Place, Row, Scales, Sheet, Style};
use crate::worst::{Stretch, Timed, Witness, Worst};

/// The number of results with charts, the worst first.
const CHARTED: usize = 24;
/// The number of witnesses shown for each result.
const WITNESSES: usize = 3;
/// The number of stretches shown for each result.
const STRETCHES: usize = 5;
/// The number of slices into which a path is divided.
const SLICES: f64 = 480.0;

/// Renders all results, the worst first: a summary with one line each, then each one in detail.
pub fn worst_cases(report: &Report<'_>) -> Vec<Sheet> {
    if report.worst.is_empty() {
        return Vec::new();
    }
    let mut results: Vec<&Worst> = report.worst.iter().collect();
    results.sort_by_key(|worst| std::cmp::Reverse(worst.handler().map_or(i64::MIN, |t| t.max)));
    let about = "An interrupt became pending at every cycle of each scenario\u{2019}s spans, one at a \
                 time. Figures are the cycles until the first instruction of its handler: exact for \
                 the path that the scenario takes, but not a bound over all inputs.";
    let mut summary = Sheet::new("worst", "Worst case", about);
    summary.columns = ["kernel", "scenario", "soc"].map(Column::text).into();
    summary.columns.extend(["points", "min", "p50", "p99", "max"].map(Column::number));
    summary.columns.extend(["worst case at", "held back by"].map(Column::text));
    for worst in &results {
        let Some(timed) = worst.handler() else { continue };
        let witness = timed.witnesses.first();
        let kernel = worst.kernel.clone().unwrap_or_else(|| worst.image.clone());
        let row = Row::new([
            kernel.clone(),
            worst.scenario.clone().unwrap_or_default(),
            worst.soc.clone(),
            grouped(worst.points) + if worst.complete { "" } else { ", incomplete" },
            timed.min.to_string(),
            timed.p50.to_string(),
            timed.p99.to_string(),
            timed.max.to_string(),
            witness.map(|witness| witness.at.to_string()).unwrap_or_default(),
            witness.map(Witness::held).unwrap_or_default(),
        ]);
        summary.rows.push(row.kernel(&kernel).scenario(worst.scenario.as_deref().unwrap_or("")));
    }
    let mut sheets = vec![summary];
    for (rank, worst) in results.into_iter().enumerate() {
        let number = rank + 1;
        let mut latencies = latencies(report, worst, number);
        if rank < CHARTED {
            latencies.charts = worst.latencies.iter().flat_map(|t| charts(worst, t)).collect();
        }
        let of = [Some(latencies), witnesses(worst, number), stretches(worst, number)];
        sheets.extend(of.into_iter().flatten().map(|mut sheet| {
            sheet.place = Place::Below;
            let scenario = worst.scenario.as_deref().unwrap_or_default();
            for row in &mut sheet.rows {
                row.kernel.clone_from(&worst.kernel);
                row.scenario = Some(scenario.to_owned());
            }
            sheet
        }));
    }
    sheets
}

/// Returns an interrupt's name.
fn called(interrupt: i32) -> String {
    match interrupt {
        -1 => "SysTick".to_owned(),
        -2 => "PendSV".to_owned(),
        _ => format!("interrupt {interrupt}"),
    }
}

fn latencies(report: &Report<'_>, worst: &Worst, number: usize) -> Sheet {
    let part = if worst.complete { "all" } else { "INCOMPLETE: some" };
    let functions = if worst.functions_unknown {
        "which functions were not executed is unknown, because the image names none".to_owned()
    } else {
        format!("{} functions of the image were not executed", worst.not_executed.len())
    };
    let mut about = format!(
        "{} at {} with priority {:#04x}, {} points, {part} of them; timing model {}; {}; {functions}.",
        worst.core,
        called(worst.interrupt),
        worst.priority,
        grouped(worst.points),
        worst.timing_model,
        worst.reach,
    );
    if !worst.is_of_the_firmware_of(report.answers.iter().filter_map(Answer::series)) {
        about.push_str(" The search used another build than this report\u{2019}s figures.");
    }
    let mut sheet = Sheet::new(format!("worst-{number}"), worst.title(), about);
    sheet.columns = vec![Column::text("cycles")];
    sheet.columns.extend(["min", "p50", "p90", "p99", "max"].map(Column::number));
    sheet.columns.push(Column::number("chance in 1000 random tries"));
    sheet.columns.push(Column::number("without an answer"));
    sheet.rows = worst
        .latencies
        .iter()
        .map(|t| {
            let [min, p50, p90, p99, max] =
                [t.min, t.p50, t.p90, t.p99, t.max].map(|n| n.to_string());
            let chance = format!("{:.1} %", t.chance_in_1000 * 100.0);
            Row::new([t.text.clone(), min, p50, p90, p99, max, chance, t.missing.to_string()])
        })
        .collect();
    sheet
}

fn witnesses(worst: &Worst, number: usize) -> Option<Sheet> {
    let about = "Where the interrupt became pending, the call stack at that point, and the command \
                 that repeats the run.";
    let title = format!("Witnesses of {}", worst.title());
    let mut sheet = Sheet::new(format!("witnesses-{number}"), title, about);
    sheet.columns =
        vec![Column::text("what"), Column::number("cycles"), Column::number("pending in")];
    sheet.columns.extend(["at", "in", "held back by"].map(Column::text));
    sheet.columns.push(Column::code("command"));
    for timed in &worst.latencies {
        for witness in timed.witnesses.iter().take(WITNESSES) {
            sheet.rows.push(Row::new([
                timed.text.clone(),
                witness.cycles.to_string(),
                witness.point.to_string(),
                witness.at.to_string(),
                witness.stack.join(" > "),
                witness.held(),
                format!("rtmark {}", witness.command),
            ]));
        }
    }
    (!sheet.rows.is_empty()).then_some(sheet)
}

fn stretches(worst: &Worst, number: usize) -> Option<Sheet> {
    let title = format!("Longest held back in {}", worst.title());
    let about = "The longest stretches in which the interrupt would not have been taken, whatever \
                 held it back; and the longest for each cause alone.";
    let mut sheet = Sheet::new(format!("held-{number}"), title, about);
    sheet.columns = vec![Column::number("cycles"), Column::number("times")];
    sheet.columns.extend(["by", "from", "to"].map(Column::text));
    let whole = worst.held_back.iter().take(STRETCHES);
    let row = |stretch: &Stretch, held_by: String| {
        Row::new([
            grouped(stretch.cycles),
            grouped(stretch.count),
            held_by,
            stretch.from.to_string(),
            stretch.to.to_string(),
        ])
    };
    sheet.rows = whole.map(|stretch| row(stretch, stretch.held_by.clone())).collect();
    let alone = worst.held_back_by_one.iter();
    sheet.rows.extend(alone.map(|stretch| row(stretch, format!("{} alone", stretch.held_by))));
    (!sheet.rows.is_empty()).then_some(sheet)
}

/// Draws the latency along the path, and its distribution.
fn charts(worst: &Worst, timed: &Timed) -> [Chart; 2] {
    let line = |name: &str, style, points| Line {
        name: name.to_owned(),
        kernel: worst.kernel.clone(),
        style,
        points,
    };
    // A slice without points breaks the line; its position follows from its number.
    let along = |of: &dyn Fn(&(u32, i64, i64)) -> i64| -> Vec<(f64, f64)> {
        let place = |slice: u32| (f64::from(slice) * 1000.0 / SLICES).round() / 10.0;
        timed.along_the_path.iter().map(|at| (place(at.0), of(at) as f64)).collect()
    };
    let along = Chart {
        title: format!("{}: {}, along the path", worst.title(), timed.text),
        across: "% of the path".into(),
        up: "cycles".into(),
        scales: Scales::Even,
        places: Vec::new(),
        lines: vec![
            line("min", Style::Steps, along(&|at| at.1)),
            line("max", Style::Band, along(&|at| at.2)),
        ],
    };
    let counts = timed.histogram.iter().map(|(cycles, points)| (*cycles as f64, *points));
    let often = Chart {
        title: format!(
            "{}: {}, share of moments that wait at least as long",
            worst.title(),
            timed.text
        ),
        across: "cycles".into(),
        up: "share of moments".into(),
        scales: Scales::Exceedance,
        places: Vec::new(),
        lines: vec![Line::exceedance("moments", worst.kernel.clone(), counts)],
    };
    [along, often]
}
