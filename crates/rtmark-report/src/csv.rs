//! Renders one CSV line for each answer, for spreadsheets and scripts.

use std::collections::BTreeMap;

use rtmark_model::{Answer, Backend, Mode, Series, Summarised, Summary};

use crate::imported::{figure, nanoseconds};
use crate::matrix::{Block, blocks, column, from_log};
use crate::notes::one_line;

/// The columns in order. New ones are only ever added at the end.
pub const COLUMNS: &[&str] = &[
    "soc",
    "core",
    "clock_hz",
    "kernel",
    "version",
    "profile",
    "scenario",
    "backend",
    "answer",
    "basis",
    "samples",
    "first",
    "steady",
    "min",
    "p50",
    "p90",
    "p99",
    "max",
    "mean",
    "sigma",
    "disturbed",
    "disturbed_max",
    "typical",
    "typical_ns",
    "floor_multiple",
    "flash_bytes",
    "ram_bytes",
    "elf_sha256",
    "timing_model",
    "reason",
    "masked",
    "masked_by",
    "masked_set",
    "masked_cleared",
    "emptied",
    "emptied_max",
    "curve",
    "n",
    "held_by",
    "held_from",
    "held_to",
    "modes",
    "placements",
    "placed_min",
    "placed_max",
    "layout",
    "instructions",
    "p99_9",
    "statistic",
    "flags",
    "suite",
    "row",
    "file",
    "line",
    "selected_clock_hz",
];

/// Renders answers as comma-separated values (RFC 4180) with a header line.
///
/// # Errors
/// Writing to a `String` causes none; the CSV writer's own errors are passed on.
pub fn csv(answers: &[Answer]) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let blocks = blocks(answers);
    let mut places: BTreeMap<(&str, Backend), Vec<&Block<'_>>> = BTreeMap::new();
    for block in &blocks {
        places.entry((block.soc, block.backend)).or_default().push(block);
    }
    for answer in answers {
        let key = answer.key();
        let block =
            places.get(&(key.soc.as_str(), key.backend)).into_iter().flatten().find(|block| {
                block.answer(&key.scenario, column(answer)).is_some_and(|a| std::ptr::eq(a, answer))
            });
        let series = answer.series();
        if let Some(series) = series.filter(|_| from_log(answer)) {
            writer.write_record(log_columns(series))?;
            continue;
        }
        let figures = block.zip(series).and_then(|(block, series)| block.figures(series));
        let statistics = figures.as_ref().map(|figures| figures.statistics);
        let steady = statistics.and_then(|s| s.steady);
        let disturbed = statistics.and_then(|s| s.disturbed);
        let of = |field: fn(&Summary) -> u64| text(steady.as_ref().map(field));
        let (word, reason) = match answer {
            Answer::Measured(_) => ("measured", String::new()),
            Answer::NotApplicable { reason, .. } => ("not-applicable", one_line(reason)),
            Answer::Failed { failure, .. } => ("failed", one_line(&failure.to_string())),
        };
        let provenance = series.map(|series| &series.provenance);
        let firmware = provenance.map(|provenance| &provenance.firmware);
        let emptied = figures.as_ref().and_then(|figures| figures.emptied);
        let masked = series.and_then(|series| series.masked.as_ref());
        let held = series.and_then(|series| series.held.as_ref());
        let executed = series.and_then(|series| series.executed.as_ref());
        let point = key.scenario.point();
        writer.write_record([
            key.soc.clone(),
            text(provenance.map(|p| &p.core)),
            text(series.map(|s| s.clock.0)),
            key.kernel.to_string(),
            one_line(&key.version),
            key.profile.clone(),
            key.scenario.to_string(),
            key.backend.to_string(),
            word.to_owned(),
            text(series.map(|s| s.basis)),
            text(statistics.map(|s| s.count)),
            text(statistics.map(|s| s.first)),
            of(|s| s.count),
            of(|s| s.min),
            of(|s| s.p50),
            of(|s| s.p90),
            of(|s| s.p99),
            of(|s| s.max),
            text(steady.map(|s| s.mean)),
            text(steady.map(|s| s.sigma)),
            text(disturbed.map(|s| s.count)),
            text(disturbed.map(|s| s.max)),
            text(statistics.map(|s| s.typical())),
            text(figures.as_ref().and_then(|f| f.time).map(|time| time.0)),
            text(figures.as_ref().and_then(|f| f.multiple)),
            text(firmware.map(|f| f.flash_bytes)),
            text(firmware.map(|f| f.ram_bytes)),
            text(firmware.map(|f| &f.elf_sha256)),
            text(provenance.and_then(|p| p.timing_model.as_ref())),
            reason,
            text(masked.map(|m| m.cycles)),
            text(masked.map(|m| m.by)),
            one_line(&text(masked.map(|m| &m.set))),
            one_line(&text(masked.map(|m| &m.cleared))),
            text(emptied.map(|e| e.typical())),
            text(emptied.map(|e| e.largest())),
            text(point.as_ref().map(|(curve, _)| curve)),
            text(point.as_ref().map(|(_, n)| n)),
            one_line(&text(held.map(|h| h.by.join(", ")))),
            one_line(&text(held.map(|h| &h.from))),
            one_line(&text(held.map(|h| &h.to))),
            text(figures.as_ref().map(|f| modes(&f.modes))),
            text(figures.as_ref().and_then(|f| f.spread).map(|spread| spread.placements)),
            text(figures.as_ref().and_then(|f| f.spread).map(|spread| spread.min)),
            text(figures.as_ref().and_then(|f| f.spread).map(|spread| spread.max)),
            text(firmware.map(|f| f.layout)),
            text(executed.and_then(|e| e.0.statistics()).map(|s| s.typical())),
            text(steady.and_then(|s| s.p99_9)),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            text(series.and_then(Series::selected_clock).map(|clock| clock.0)),
        ])?;
    }
    let bytes = writer.into_inner().map_err(::csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the columns for a row of a log: what its figures are, which one is typical, and what is
/// wrong with it.
fn log_columns(series: &Series) -> Vec<String> {
    let key = &series.key;
    let statistics = series.statistics();
    let steady = statistics.as_ref().and_then(|s| s.steady);
    let summary = series.readings.summarised();
    // For samples, the computed statistic; for a summary, the stated one.
    let either = |of: fn(&Summary) -> u64, value: Option<f64>| match &steady {
        Some(steady) => of(steady).to_string(),
        None => text(value),
    };
    let per_cent = |wanted: f64| {
        let mut all = summary.into_iter().flat_map(|summary| &summary.percentiles);
        all.find(|p| (p.per_cent - wanted).abs() < 1e-9).map(|p| p.value)
    };
    let of = |value: fn(&Summarised) -> Option<f64>| summary.and_then(value);
    let figure = figure(series);
    let time = figure.as_ref().and_then(|(_, value)| nanoseconds(series, *value));
    let count = statistics.as_ref().map(|s| s.count).or(summary.and_then(|s| s.count));
    let source = series.provenance.log.as_ref();
    let flags: Vec<_> = series.flags.iter().map(ToString::to_string).collect();
    let record = |column: &str| match column {
        "soc" => one_line(&key.soc),
        "core" => one_line(&series.provenance.core),
        // An unknown clock leaves the column empty.
        "clock_hz" => text(Some(series.clock.0).filter(|clock| *clock > 0)),
        "kernel" => key.kernel.to_string(),
        "version" => one_line(&key.version),
        "profile" => one_line(&key.profile),
        "scenario" => key.scenario.to_string(),
        "backend" => key.backend.to_string(),
        "answer" => "measured".to_owned(),
        "basis" => series.basis.to_string(),
        "samples" => text(count),
        "first" => text(statistics.as_ref().map(|s| s.first as f64).or(of(|s| s.first))),
        "steady" => text(steady.as_ref().map(|s| s.count)),
        "min" => either(|s| s.min, of(|s| s.min)),
        "p50" => either(|s| s.p50, per_cent(50.0)),
        "p90" => either(|s| s.p90, per_cent(90.0)),
        "p99" => either(|s| s.p99, per_cent(99.0)),
        "p99_9" => text(steady.as_ref().and_then(|s| s.p99_9).map(|v| v as f64).or(per_cent(99.9))),
        "max" => either(|s| s.max, of(|s| s.max)),
        "mean" => text(steady.as_ref().map(|s| s.mean).or(of(|s| s.mean))),
        "sigma" => text(steady.as_ref().map(|s| s.sigma).or(of(|s| s.sigma))),
        "typical" => text(figure.as_ref().map(|(_, value)| *value)),
        "typical_ns" => text(time.map(|ns| (ns * 1000.0).round() / 1000.0)),
        "statistic" => text(figure.as_ref().map(|(statistic, _)| statistic)),
        "flags" => one_line(&flags.join("; ")),
        "suite" => text(source.map(|source| source.suite)),
        "row" => one_line(&text(source.map(|source| &source.row))),
        "file" => one_line(&text(source.map(|source| &source.file))),
        "line" => text(source.map(|source| source.line)),
        _ => String::new(),
    };
    COLUMNS.iter().map(|column| record(column)).collect()
}

/// Formats several modes with their sample counts: `135 x 50, 249 x 50`.
fn modes(modes: &[Mode]) -> String {
    let each = modes.iter().map(|mode| format!("{} x {}", mode.value, mode.times));
    if modes.len() > 1 { each.collect::<Vec<_>>().join(", ") } else { String::new() }
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
