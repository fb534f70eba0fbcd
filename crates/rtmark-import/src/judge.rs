//! Finds out what is wrong with rows, as far as they and their neighbours show.
//!
//! A flag only prevents a row from being compared; its figures stay as they were printed.

use rtmark_model::{Basis, FlagKind, Summarised};

use crate::Suite;
use crate::log::Log;
use crate::row::{Figures, Rounding, Row, Section};

/// The multiple of its section's middle row from which a row is implausible.
const MAX_RATIO_TO_MEDIAN: f64 = 50.0;

/// The ratio of the largest to the smallest sample from which a row is implausible.
const MAX_SPREAD: f64 = 1_000.0;

/// The number of samples assumed for a row if its suite does not state it: the suite's default.
const USUAL_COUNT: f64 = 1_000.0;

/// The longest plausible time of anything these suites measure, in nanoseconds.
const LONGEST_NS: f64 = 1e10;

/// Flags rows, and determines the clock by which the rows of each section were timed.
pub fn judge(log: &mut Log) {
    let sections = std::mem::take(&mut log.sections);
    let mut first = 0;
    let mut judged = Vec::with_capacity(sections.len());
    for (number, mut section) in sections.into_iter().enumerate() {
        let rest = log.rows.get_mut(first..).unwrap_or_default();
        let count = rest.iter().take_while(|row| row.section == number).count();
        let rows = rest.get_mut(..count).unwrap_or_default();
        first += count;
        for row in rows.iter_mut() {
            check_row(row, &section);
        }
        clock(rows, &mut section);
        check_against_section(rows);
        judged.push(section);
    }
    log.sections = judged;
}

/// Checks a row by itself.
fn check_row(row: &mut Row, section: &Section) {
    if row.suite == Suite::RtosBenchmark
        && let Some(summary) = row.summary_mut()
    {
        summary.resolution = summary.resolution.or(section.resolution_ns);
    }
    let (min, max) = match &row.figures {
        Figures::Absent => return,
        Figures::Samples(samples, resolution) => {
            let resolution = *resolution as f64;
            let Some(statistics) = samples.statistics() else {
                row.flag(FlagKind::Incomplete, "it has no sample");
                return;
            };
            resolution_flags(row, statistics.typical() as f64, Some(resolution));
            return;
        }
        Figures::Summary(summary) => (summary.min, summary.max),
    };
    let Some(typical) = row.typical() else {
        if row.flags.is_empty() {
            row.flag(FlagKind::Incomplete, "it has no figure");
        }
        return;
    };
    let Some(summary) = row.summary().cloned() else { return };
    resolution_flags(row, typical, summary.resolution);
    check_order(row, &summary);
    if min == Some(0.0) && typical > 0.0 && !matches!(row.suite, Suite::Cyclictest) {
        row.flag(FlagKind::CoarseClock, "its smallest sample took no time");
    }
    if let (Some(mean), Some(min), Some(max)) = (summary.mean, min, max) {
        // Averages are often rounded or truncated.
        if mean + 1.0 < min || mean > max + 1.0 {
            row.flag(
                FlagKind::Contradiction,
                "its average is not between its smallest and largest",
            );
        }
        let count = summary.count.map_or(USUAL_COUNT, |count| count as f64);
        let above = mean - min;
        if count > 1.0 && mean > min * 1.1 && (max - min) / count >= above / 2.0 {
            let why = format!(
                "one sample of {max:.0} accounts for at least half of the excess over {min:.0}"
            );
            row.flag(FlagKind::PoisonedAverage, why);
        }
    }
    if let (Some(min), Some(max)) = (min, max)
        && row.suite != Suite::Cyclictest
        && min > 0.0
        && max > min * MAX_SPREAD
    {
        let why = format!("its largest sample is {:.0} times its smallest", max / min);
        row.flag(FlagKind::Implausible, why);
    }
    if row.suite == Suite::RtosBenchmark && row.basis == Basis::Ns && typical > LONGEST_NS {
        row.flag(FlagKind::Implausible, "no call takes longer than ten seconds");
    }
}

/// Flags figures of no sample, and a smallest sample, percentiles and a largest sample that do not increase.
fn check_order(row: &mut Row, summary: &Summarised) {
    if summary.count == Some(0) {
        row.flag(FlagKind::Contradiction, "it has figures, but no sample");
    }
    let mut percentiles = summary.percentiles.clone();
    percentiles.sort_by(|a, b| a.per_cent.total_cmp(&b.per_cent));
    let between = percentiles.iter().map(|percentile| percentile.value);
    let ordered: Vec<f64> = summary.min.into_iter().chain(between).chain(summary.max).collect();
    // They may be rounded.
    if ordered.windows(2).any(|pair| matches!(pair, [less, more] if *less > more + 1.0)) {
        let why = "its smallest sample, percentiles and largest sample do not increase";
        row.flag(FlagKind::Contradiction, why);
    }
    // Other suites may count samples that their extremes leave out.
    if let (Suite::Rtmark, Some(min), Some(max)) = (row.suite, summary.min, summary.max) {
        if summary.count == Some(1) && max > min + 1.0 {
            row.flag(
                FlagKind::Contradiction,
                "its only sample is both the smallest and the largest",
            );
        }
        if summary.sigma.is_some_and(|sigma| sigma > max - min + 1.0) {
            let why =
                "its standard deviation exceeds the distance of its smallest and largest sample";
            row.flag(FlagKind::Contradiction, why);
        }
    }
}

fn resolution_flags(row: &mut Row, typical: f64, resolution: Option<f64>) {
    if typical == 0.0 {
        row.flag(FlagKind::Zero, "it took no time");
    }
    match resolution {
        Some(step)
            if row.basis == Basis::Ns && step >= 1e6 && row.suite == Suite::RtosBenchmark =>
        {
            row.flag(
                FlagKind::ImpossibleClock,
                format!("its clock advances once every {step:.0} ns"),
            );
        }
        Some(step) if typical > 0.0 && typical <= step => {
            let why = format!("it is no longer than a step of its clock ({step:.0})");
            row.flag(FlagKind::CoarseClock, why);
        }
        _ => {}
    }
}

/// Returns the range of clocks, in hertz, for which a row's cycles and nanoseconds agree.
fn clock_range(row: &Row) -> Option<(f64, f64)> {
    let (cycles, ns) = row.twin.filter(|(cycles, ns)| *cycles >= 1.0 && *ns >= 1.0)?;
    // Both were truncated to whole numbers.
    Some((cycles / (ns + 1.0) * 1e9, (cycles + 1.0) / ns * 1e9))
}

fn clock(rows: &mut [Row], section: &mut Section) {
    let in_cycles = |row: &&Row| row.basis == Basis::Cycles;
    let sound = |row: &&Row| row.flags.iter().all(|flag| flag.kind == FlagKind::CoarseClock);
    let intervals: Vec<_> =
        rows.iter().filter(in_cycles).filter(sound).filter_map(clock_range).collect();
    let mut middles: Vec<f64> = intervals.iter().map(|(from, to)| (from + to) / 2.0).collect();
    middles.sort_by(f64::total_cmp);
    let Some(&middle) = middles.get(middles.len() / 2) else { return };
    let near = |(from, to): &&(f64, f64)| from / 1.02 <= middle && middle <= to * 1.02;
    let (mut from, mut to) = (0.0_f64, f64::INFINITY);
    for (low, high) in intervals.iter().filter(near) {
        // As long as the ranges overlap.
        if *low <= to && *high >= from {
            (from, to) = (from.max(*low), to.min(*high));
        }
    }
    let (derived, step) = roundest(from, to, middle);
    let stated = section.clock;
    let chosen = match stated {
        // The rows imply a clock that is not round but near the stated one, which is due to rounding.
        Some((clock, _)) if step < 100e3 && (clock / derived - 1.0).abs() < 0.01 => clock,
        _ => derived,
    };
    section.clock = Some((chosen, Rounding::Exact));
    let in_megahertz = |hertz: f64| format!("{} MHz", (hertz / 1e3).round() / 1e3);
    let disagrees = match stated {
        None => None,
        Some((clock, Rounding::WholeMegahertz)) => (derived < clock - 1e6
            || derived > clock + 1.6e6)
            .then(|| format!("the log says {}", in_megahertz(clock))),
        Some((clock, Rounding::WholeNanoseconds)) => {
            let (stated, derived) = (1e9 / clock, 1e9 / derived);
            (derived < stated - 1.0 || derived > stated + 1.0)
                .then(|| format!("the log says that a cycle takes {stated:.0} ns"))
        }
        Some((clock, Rounding::Exact)) => ((clock / derived - 1.0).abs() > 0.02)
            .then(|| format!("the log says {}", in_megahertz(clock))),
    };
    for row in rows.iter_mut().filter(|row| row.basis == Basis::Cycles) {
        if let Some(stated) = &disagrees {
            let why = format!(
                "{stated}, cycles and ns of the rows are those of {}",
                in_megahertz(derived)
            );
            row.flag(FlagKind::ImpossibleClock, why);
        } else if derived < 1e6 {
            let why = format!("a clock of {derived:.0} Hz cannot time this");
            row.flag(FlagKind::ImpossibleClock, why);
        }
        let apart = |(from, to): (f64, f64)| from > chosen * 1.03 || to < chosen / 1.03;
        if clock_range(row).is_some_and(apart) {
            let why = format!("its cycles and ns are not those of {}", in_megahertz(chosen));
            row.flag(FlagKind::Contradiction, why);
        }
    }
}

/// Returns the roundest number between two, and the power of ten that it is a multiple of.
fn roundest(from: f64, to: f64, middle: f64) -> (f64, f64) {
    for step in [1e6, 500e3, 100e3, 50e3, 10e3, 1e3, 100.0, 10.0, 1.0] {
        let nearest = (f64::midpoint(from, to) / step).round() * step;
        if nearest > 0.0 && from <= nearest && nearest <= to {
            return (nearest, step);
        }
    }
    (middle, 0.0)
}

/// Checks rows against others of their section.
fn check_against_section(rows: &mut [Row]) {
    let sound = |row: &&Row| row.flags.is_empty();
    let by_name = |rows: &[Row], part: &str| {
        rows.iter().filter(sound).find(|row| row.name.contains(part)).and_then(Row::typical)
    };
    let preemptive = by_name(rows, "yield.preemptive.ctx.k_to_k")
        .or_else(|| by_name(rows, "Average thread context switch using yield"))
        .or_else(|| by_name(rows, "Preemptive threads ctx switch"));
    if let Some(preemptive) = preemptive {
        let cooperative = |row: &&mut Row| {
            [
                "yield.cooperative.ctx.k_to_k",
                "context switch time",
                "Cooperative threads ctx switch",
            ]
            .iter()
            .any(|part| row.name.contains(part))
        };
        for row in rows.iter_mut().filter(cooperative) {
            if row.typical().is_some_and(|typical| typical > 4.0 * preemptive) {
                let why = format!("the same switch of preemptive threads takes {preemptive:.0}");
                row.flag(FlagKind::Implausible, why);
            }
        }
    }
    for suite in [Suite::ZephyrLatencyMeasure, Suite::ZephyrTimingInfo] {
        let of_suite = |row: &&Row| row.suite == suite && row.typical().is_some_and(|t| t > 0.0);
        let mut all: Vec<f64> = rows.iter().filter(of_suite).filter_map(Row::typical).collect();
        all.sort_by(f64::total_cmp);
        let Some(&middle) = all.get(all.len() / 2).filter(|_| all.len() >= 4) else { continue };
        for row in rows.iter_mut().filter(|row| row.suite == suite) {
            if row.typical().is_some_and(|typical| typical > MAX_RATIO_TO_MEDIAN * middle) {
                let why = format!("the middle row of the same log has {middle:.0}");
                row.flag(FlagKind::Implausible, why);
            }
        }
    }
    let figures = |rows: &[Row], name: &str| {
        let found = rows.iter().find(|row| row.name.to_lowercase().ends_with(name))?;
        found.summary().map(|summary| (summary.mean, summary.min))
    };
    let (malloc, free) = (figures(rows, ": malloc"), figures(rows, ": free"));
    if malloc.is_some() && malloc == free {
        let heap = |row: &&mut Row| {
            let name = row.name.to_lowercase();
            name.ends_with(": malloc") || name.ends_with(": free")
        };
        for row in rows.iter_mut().filter(heap) {
            row.flag(
                FlagKind::Implausible,
                "malloc and free take exactly the same, as empty functions do",
            );
        }
    }
}

#[cfg(test)]
mod tests;
