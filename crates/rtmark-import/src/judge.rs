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
mod tests {
    use rtmark_model::Percentile;

    use super::*;
    use crate::row::Number;

    /// Returns a row in cycles and nanoseconds.
    fn timed(name: &str, cycles: f64, ns: f64) -> Row {
        let mut row = Row::new(Suite::ZephyrLatencyMeasure, name, 1, Basis::Cycles);
        row.twin = Some((cycles, ns));
        row.mean(&Number::of(cycles))
    }

    fn row_of(suite: Suite, basis: Basis, summary: Summarised) -> Row {
        let mut row = Row::new(suite, "r", 1, basis);
        row.figures = Figures::Summary(summary);
        row
    }

    fn judged(rows: Vec<Row>, section: Section) -> (Vec<Row>, Section) {
        let mut log = Log::new();
        log.rows = rows;
        log.sections = vec![section];
        judge(&mut log);
        (log.rows, log.sections.remove(0))
    }

    fn kinds(row: &Row) -> Vec<FlagKind> {
        row.flags.iter().map(|flag| flag.kind).collect()
    }

    /// Returns the flags of one row by itself.
    fn alone_of(summary: Summarised) -> Vec<FlagKind> {
        let row = row_of(Suite::RtosBenchmark, Basis::Ns, summary);
        kinds(&judged(vec![row], Section::default()).0[0])
    }

    fn figures(mean: f64, min: f64, max: f64) -> Summarised {
        Summarised { mean: Some(mean), min: Some(min), max: Some(max), ..Summarised::default() }
    }

    #[test]
    fn averages_are_within_one_unit_of_the_extremes() {
        assert_eq!(alone_of(figures(10.0, 10.0, 12.0)), []);
        assert_eq!(alone_of(figures(9.0, 10.0, 12.0)), [], "cut");
        assert_eq!(alone_of(figures(8.9, 10.0, 12.0)), [FlagKind::Contradiction]);
        assert_eq!(alone_of(figures(13.0, 10.0, 12.0)), [], "rounded");
        assert_eq!(alone_of(figures(13.1, 10.0, 12.0)), [FlagKind::Contradiction]);
        assert_eq!(alone_of(figures(10.0, 0.0, 12.0)), [FlagKind::CoarseClock]);
        assert_eq!(alone_of(figures(0.0, 0.0, 12.0)), [FlagKind::Zero], "and nothing more");
    }

    #[test]
    fn figures_that_no_samples_have_are_flagged() {
        let without_mean = |min, max| Summarised { mean: None, ..figures(0.0, min, max) };
        assert_eq!(alone_of(without_mean(10.0, 12.0)), []);
        assert_eq!(alone_of(without_mean(13.0, 12.0)), [], "rounded");
        assert_eq!(alone_of(without_mean(14.0, 12.0)), [FlagKind::Contradiction]);
        let percentiles = |values: [f64; 2]| {
            let value = |(per_cent, value)| Percentile { per_cent, value };
            let percentiles = [99.0, 50.0].into_iter().zip(values).map(value).collect();
            alone_of(Summarised { percentiles, ..without_mean(10.0, 12.0) })
        };
        assert_eq!(percentiles([12.0, 10.0]), []);
        assert_eq!(percentiles([10.0, 12.0]), [FlagKind::Contradiction], "99 % are below 50 %");
        assert_eq!(percentiles([14.0, 11.0]), [FlagKind::Contradiction], "above the largest");
        let empty = Summarised { count: Some(0), ..figures(11.0, 10.0, 12.0) };
        assert_eq!(alone_of(empty), [FlagKind::Contradiction]);
    }

    #[test]
    fn a_sample_that_makes_up_half_the_average_is_flagged() {
        let of = |mean: f64, max: f64, count: u64| {
            alone_of(Summarised { count: Some(count), ..figures(mean, 100.0, max) })
        };
        // A sample of 1100 among ten adds 100 to the average.
        assert_eq!(of(200.0, 1100.0, 10), [FlagKind::PoisonedAverage]);
        assert_eq!(of(300.0, 1100.0, 10), [FlagKind::PoisonedAverage], "exactly half");
        assert_eq!(of(301.0, 1100.0, 10), [], "less than half");
        assert_eq!(
            of(110.0, 1100.0, 100),
            [],
            "an average near the smallest is none that was spoilt"
        );
        assert_eq!(of(111.0, 1100.0, 100), [FlagKind::PoisonedAverage]);
        let tenth = Summarised { count: Some(10), ..figures(11.0, 10.0, 110.0) };
        assert_eq!(alone_of(tenth), [], "a tenth above it is near");
        assert_eq!(of(1000.0, 1100.0, 1), [], "of one sample nothing is an average");
        // If the count is not stated, a thousand samples are assumed.
        assert_eq!(alone_of(figures(150.0, 100.0, 25_100.0)), [FlagKind::PoisonedAverage]);
        assert_eq!(alone_of(figures(150.0, 100.0, 25_099.0)), []);
    }

    #[test]
    fn samples_above_a_thousand_times_the_smallest_are_flagged() {
        let of = |max: f64| alone_of(Summarised { count: Some(1 << 40), ..figures(2.0, 2.0, max) });
        assert_eq!(of(2000.0), []);
        assert_eq!(of(2001.0), [FlagKind::Implausible]);
        let linux = of_suite_wide(Suite::Cyclictest);
        assert_eq!(linux, [], "what an operating system does is not judged so");
        assert_eq!(of_suite_wide(Suite::ZephyrSchedQueues), [FlagKind::Implausible]);
    }

    fn of_suite_wide(suite: Suite) -> Vec<FlagKind> {
        let wide = Summarised { count: Some(1 << 40), ..figures(2.0, 2.0, 2001.0) };
        kinds(&judged(vec![row_of(suite, Basis::Ns, wide)], Section::default()).0[0])
    }

    #[test]
    fn calls_above_ten_seconds_are_flagged() {
        let of = |suite, mean: f64| {
            let mean = Summarised { mean: Some(mean), ..Summarised::default() };
            kinds(&judged(vec![row_of(suite, Basis::Ns, mean)], Section::default()).0[0])
        };
        assert_eq!(of(Suite::RtosBenchmark, 1e10), []);
        assert_eq!(of(Suite::RtosBenchmark, 1.1e10), [FlagKind::Implausible]);
        assert_eq!(of(Suite::ThreadMetric, 1.1e10), []);
    }

    #[test]
    fn clock_steps_longer_than_the_span_are_flagged() {
        let of = |suite, basis, typical: f64, step: f64| {
            let summary =
                Summarised { mean: Some(typical), resolution: Some(step), ..Summarised::default() };
            kinds(&judged(vec![row_of(suite, basis, summary)], Section::default()).0[0])
        };
        assert_eq!(of(Suite::Rtmark, Basis::Ns, 31.0, 30.0), []);
        assert_eq!(of(Suite::Rtmark, Basis::Ns, 30.0, 30.0), [FlagKind::CoarseClock]);
        assert_eq!(of(Suite::Rtmark, Basis::Ns, 0.0, 30.0), [FlagKind::Zero], "and nothing more");
        // A row of rtos-benchmark, timed by a clock of milliseconds.
        let coarse = of(Suite::RtosBenchmark, Basis::Ns, 5e6, 1e6);
        assert!(!coarse.is_empty(), "{coarse:?}");
        assert_eq!(of(Suite::RtosBenchmark, Basis::Ns, 5e6, 0.9e6), []);
        assert_eq!(of(Suite::Rtmark, Basis::Ns, 5e6, 1e6), []);
        assert_eq!(of(Suite::RtosBenchmark, Basis::Cycles, 5e6, 1e6), []);
        // What the log states about the clock applies to rows of that suite that do not state it.
        let section = Section { resolution_ns: Some(40.0), ..Section::default() };
        let row = row_of(Suite::RtosBenchmark, Basis::Ns, figures(39.0, 39.0, 41.0));
        assert_eq!(kinds(&judged(vec![row], section.clone()).0[0]), [FlagKind::CoarseClock]);
        let row = row_of(Suite::ThreadMetric, Basis::Ns, figures(39.0, 39.0, 41.0));
        assert_eq!(kinds(&judged(vec![row], section).0[0]), []);
    }

    #[test]
    fn rows_without_a_figure_are_flagged_once() {
        assert_eq!(alone_of(Summarised::default()), [FlagKind::Incomplete]);
        let mut row = row_of(Suite::Riot, Basis::Ns, Summarised::default());
        row.flag(FlagKind::Failed, "x");
        assert_eq!(kinds(&judged(vec![row], Section::default()).0[0]), [FlagKind::Failed]);
        let mut row = Row::new(Suite::Riot, "r", 1, Basis::Ns);
        row.figures = Figures::Absent;
        assert_eq!(kinds(&judged(vec![row], Section::default()).0[0]), []);
        let mut row = Row::new(Suite::Riot, "r", 1, Basis::Ns);
        row.figures = Figures::Samples(rtmark_model::Samples::new(), 1);
        assert_eq!(kinds(&judged(vec![row], Section::default()).0[0]), [FlagKind::Incomplete]);
    }

    #[test]
    fn the_clock_is_the_roundest_that_fits_all_rows() {
        let rows = || {
            vec![timed("a", 240.0, 5000.0), timed("b", 485.0, 10_104.0), timed("c", 66.0, 1375.0)]
        };
        let (flagless, section) = judged(rows(), Section::default());
        assert_eq!(section.clock.map(|(clock, _)| clock), Some(48e6));
        assert!(flagless.iter().all(|row| row.flags.is_empty()), "{flagless:?}");
        let judge_clock = |clock: f64, rounding: Rounding| {
            let section = Section { clock: Some((clock, rounding)), ..Section::default() };
            let (rows, section) = judged(rows(), section);
            let bad = rows.iter().all(|row| kinds(row) == [FlagKind::ImpossibleClock]);
            let good = rows.iter().all(|row| row.flags.is_empty());
            assert_ne!(bad, good, "{rows:?}");
            (section.clock.map(|(clock, _)| clock), good)
        };
        let whole = Rounding::WholeMegahertz;
        assert_eq!(judge_clock(48e6, whole), (Some(48e6), true));
        assert_eq!(judge_clock(49e6, whole), (Some(48e6), true), "one that was rounded up");
        assert_eq!(judge_clock(50e6, whole), (Some(48e6), false));
        assert_eq!(judge_clock(46.5e6, whole), (Some(48e6), true));
        assert_eq!(judge_clock(46e6, whole), (Some(48e6), false));
        assert_eq!(judge_clock(48.9e6, Rounding::Exact), (Some(48e6), true));
        assert_eq!(judge_clock(49.5e6, Rounding::Exact), (Some(48e6), false));
        assert_eq!(judge_clock(1e9 / 20.0, Rounding::WholeNanoseconds), (Some(48e6), true));
        assert_eq!(judge_clock(1e9 / 22.0, Rounding::WholeNanoseconds), (Some(48e6), false));
        assert_eq!(judge_clock(1e9 / 19.0, Rounding::WholeNanoseconds), (Some(48e6), false));
    }

    #[test]
    fn rows_that_imply_another_clock_are_flagged() {
        let rows = vec![
            timed("a", 240.0, 5000.0),
            timed("b", 480.0, 10_000.0),
            timed("c", 960.0, 20_000.0),
            timed("d", 960.0, 21_000.0),
        ];
        let (rows, section) = judged(rows, Section::default());
        assert_eq!(section.clock.map(|(clock, _)| clock), Some(48e6));
        let all: Vec<_> = rows.iter().map(kinds).collect();
        assert_eq!(all, [vec![], vec![], vec![], vec![FlagKind::Contradiction]]);
        // Three per cent are due to rounding.
        let (rows, _) = judged(
            vec![
                timed("a", 240.0, 5000.0),
                timed("b", 480.0, 10_000.0),
                timed("c", 960.0, 20_400.0),
            ],
            Section::default(),
        );
        assert!(rows.iter().all(|row| row.flags.is_empty()), "{rows:?}");
    }

    #[test]
    fn clocks_below_a_megahertz_are_flagged() {
        let slow = |hertz: f64| {
            let row = |name, cycles: f64| timed(name, cycles, (cycles * 1e9 / hertz).floor());
            let (rows, _) = judged(vec![row("a", 500.0), row("b", 900.0)], Section::default());
            kinds(&rows[0])
        };
        assert_eq!(slow(32_768.0), [FlagKind::ImpossibleClock]);
        assert_eq!(slow(1e6), []);
    }

    #[test]
    fn cooperative_switches_above_four_preemptive_ones_are_flagged() {
        let cooperative = |cycles: f64| {
            let rows = vec![
                timed("thread.yield.preemptive.ctx.k_to_k", 100.0, 1000.0),
                timed("thread.yield.cooperative.ctx.k_to_k", cycles, cycles * 10.0),
            ];
            kinds(&judged(rows, Section::default()).0[1])
        };
        assert_eq!(cooperative(400.0), []);
        assert_eq!(cooperative(401.0), [FlagKind::Implausible]);
    }

    #[test]
    fn rows_above_fifty_times_the_median_are_flagged() {
        let last = |cycles: f64, count: usize| {
            let mut rows: Vec<_> = (1..count).map(|_| timed("a", 100.0, 1000.0)).collect();
            rows.push(timed("b", cycles, cycles * 10.0));
            kinds(judged(rows, Section::default()).0.last().expect("a row"))
        };
        assert_eq!(last(5000.0, 4), []);
        assert_eq!(last(5001.0, 4), [FlagKind::Implausible]);
        assert_eq!(last(5001.0, 3), [], "too few to know");
    }

    #[test]
    fn equal_malloc_and_free_rows_are_flagged_as_empty() {
        let of = |name: &str, mean: f64, min: f64| {
            let mut row = Row::new(Suite::RtosBenchmark, name, 1, Basis::Ns);
            row.figures = Figures::Summary(figures(mean, min, 300.0));
            row
        };
        let flags = |free: Row| {
            let rows =
                vec![of("Allocation: Malloc", 153.0, 150.0), free, of("Yield: x", 153.0, 150.0)];
            judged(rows, Section::default()).0.iter().map(kinds).collect::<Vec<_>>()
        };
        let bad = || vec![FlagKind::Implausible];
        assert_eq!(flags(of("Allocation: Free", 153.0, 150.0)), [bad(), bad(), vec![]]);
        assert_eq!(flags(of("Allocation: Free", 154.0, 150.0)), [vec![], vec![], vec![]]);
        assert_eq!(flags(of("Allocation: Other", 153.0, 150.0)), [vec![], vec![], vec![]]);
    }

    #[test]
    fn each_section_is_judged_by_itself() {
        let mut log = Log::new();
        let section = |number: usize, clock: f64| {
            [100.0, 200.0, 300.0]
                .map(|cycles| Row { section: number, ..timed("a", cycles, cycles * 1e9 / clock) })
        };
        log.rows = [section(0, 10e6), section(2, 100e6)].concat();
        log.sections = vec![Section::default(), Section::default(), Section::default()];
        judge(&mut log);
        let clocks: Vec<_> = log.sections.iter().map(|s| s.clock.map(|(clock, _)| clock)).collect();
        assert_eq!(clocks, [Some(10e6), None, Some(100e6)]);
        assert!(log.rows.iter().all(|row| row.flags.is_empty()), "{:?}", log.rows);
    }

    #[test]
    fn the_roundest_number_is_a_multiple_of_the_largest_step() {
        let found = |from: f64, to: f64| roundest(from, to, f64::midpoint(from, to));
        assert_eq!(found(47.4e6, 48.2e6), (48e6, 1e6));
        assert_eq!(found(62.2e6, 62.8e6), (62.5e6, 500e3));
        assert_eq!(found(24.57e6, 24.58e6), (24.58e6, 10e3));
        assert_eq!(found(32_767.6, 32_768.4), (32_768.0, 1.0));
        assert_eq!(found(0.2, 0.3), (0.25, 0.0), "nothing is between them");
    }
}
