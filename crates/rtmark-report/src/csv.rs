//! One line for each answer, for spreadsheets and scripts.

use rtmark_model::{Answer, Mode, Summary};

use crate::matrix::{blocks, column};
use crate::notes::one_line;

/// The columns, in order. New ones are only ever added at the end.
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
];

/// Renders answers as comma-separated values (RFC 4180) with a line of names.
///
/// # Errors
/// None that a `String` could cause; the writer's own are passed on.
pub fn csv(answers: &[Answer]) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let blocks = blocks(answers);
    for answer in answers {
        let key = answer.key();
        let block = blocks.iter().find(|block| {
            block.answer(&key.scenario, column(answer)).is_some_and(|a| std::ptr::eq(a, answer))
        });
        let series = answer.series();
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
            key.version.clone(),
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
        ])?;
    }
    let bytes = writer.into_inner().map_err(::csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Several modes with how many samples each has: `135 x 50, 249 x 50`.
fn modes(modes: &[Mode]) -> String {
    let each = modes.iter().map(|mode| format!("{} x {}", mode.value, mode.times));
    if modes.len() > 1 { each.collect::<Vec<_>>().join(", ") } else { String::new() }
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
