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
    assert_eq!(of(110.0, 1100.0, 100), [], "an average near the smallest is none that was spoilt");
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
    let rows =
        || vec![timed("a", 240.0, 5000.0), timed("b", 485.0, 10_104.0), timed("c", 66.0, 1375.0)];
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
        vec![timed("a", 240.0, 5000.0), timed("b", 480.0, 10_000.0), timed("c", 960.0, 20_400.0)],
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
        let rows = vec![of("Allocation: Malloc", 153.0, 150.0), free, of("Yield: x", 153.0, 150.0)];
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

/// Returns the clock of a section with these cycles and nanoseconds, and the rows with a flag.
fn clock_of(twins: &[(f64, f64)], stated: Option<(f64, Rounding)>) -> (Option<f64>, Vec<usize>) {
    let rows = twins.iter().map(|(cycles, ns)| timed("a", *cycles, *ns)).collect();
    let section = Section { clock: stated, ..Section::default() };
    let (rows, section) = judged(rows, section);
    let flagged = rows.iter().enumerate().filter(|(_, row)| !row.flags.is_empty());
    (section.clock.map(|(clock, _)| clock), flagged.map(|(at, _)| at).collect())
}

#[test]
fn a_row_that_was_truncated_to_a_single_cycle_fits_its_clock() {
    // A cycle of 48 MHz takes 20.8 ns; printed are 1 and 20. Of 1.9 cycles and 39.6 ns, 1 and 39 are.
    let twins = [(240.0, 5000.0), (480.0, 10_000.0), (1.0, 20.0), (1.0, 39.0)];
    assert_eq!(clock_of(&twins, None), (Some(48e6), vec![]));
    // A row without cycles or without nanoseconds says nothing of the clock.
    let twins = [(240.0, 5000.0), (0.0, 10_000.0), (480.0, 0.0), (0.0, 0.0)];
    let rows =
        twins.map(|(cycles, ns)| Row { twin: Some((cycles, ns)), ..timed("a", 240.0, 5000.0) });
    let (rows, section) = judged(rows.to_vec(), Section::default());
    assert_eq!(section.clock.map(|(clock, _)| clock), Some(48e6));
    assert!(rows.iter().all(|row| row.flags.is_empty()), "{rows:?}");
}

#[test]
fn the_clock_is_that_of_rows_in_cycles() {
    let mut rows =
        vec![timed("a", 240.0, 5000.0), timed("b", 2400.0, 5000.0), timed("c", 2400.0, 5000.0)];
    for row in &mut rows[1..] {
        row.basis = Basis::Ns;
    }
    let (rows, section) = judged(rows, Section::default());
    assert_eq!(section.clock.map(|(clock, _)| clock), Some(48e6));
    assert!(rows.iter().all(|row| row.flags.is_empty()), "{rows:?}");
}

#[test]
fn rows_far_from_the_middle_have_no_say_wherever_they_stand() {
    let usual = [(240.0, 5000.0), (480.0, 10_000.0), (960.0, 20_000.0)];
    for other in [(480.0, 5000.0), (120.0, 5000.0)] {
        for at in 0..=3 {
            let mut twins = usual.to_vec();
            twins.insert(at, other);
            assert_eq!(clock_of(&twins, None), (Some(48e6), vec![at]), "{other:?}");
        }
    }
}

#[test]
fn a_row_near_the_middle_narrows_the_clock_unless_it_contradicts_those_before() {
    // 47.6 MHz precisely, and 48.4 MHz roughly.
    let twins = [(476_000.0, 1e7), (24.0, 505.0), (24.0, 506.0)];
    assert_eq!(clock_of(&twins, None), (Some(47.6e6), vec![]));
    // 48.0 and 48.3 MHz, both precisely: the first one counts.
    let twins = [(480_000.0, 1e7), (483_000.0, 1e7), (480_000.0, 1e7)];
    assert_eq!(clock_of(&twins, None), (Some(48e6), vec![]));
    let twins = [(483_000.0, 1e7), (480_000.0, 1e7), (483_000.0, 1e7)];
    assert_eq!(clock_of(&twins, None), (Some(48.3e6), vec![]));
}

/// Rows at 32.75 MHz are a multiple of 50 kHz only.
#[test]
fn a_stated_clock_within_one_per_cent_is_better_than_one_that_is_not_round() {
    let chosen = |cycles: f64, stated: f64| {
        clock_of(&[(cycles, 1e7), (2.0 * cycles, 2e7)], Some((stated, Rounding::Exact))).0
    };
    assert_eq!(chosen(327_500.0, 32.768e6), Some(32.768e6));
    assert_eq!(chosen(327_500.0, 32.6e6), Some(32.6e6));
    assert_eq!(chosen(327_500.0, 33.1e6), Some(32.75e6), "more than one per cent");
    assert_eq!(chosen(327_500.0, 32.4e6), Some(32.75e6), "less than one per cent");
    assert_eq!(chosen(327_000.0, 32.768e6), Some(32.7e6), "a multiple of 100 kHz is round");
}

#[test]
fn a_rounded_clock_may_be_off_by_its_last_digit() {
    let agrees = |cycles: f64, stated: f64, rounding| {
        clock_of(&[(cycles, 1e7), (2.0 * cycles, 2e7)], Some((stated, rounding))).1.is_empty()
    };
    let whole = |stated: f64| agrees(480_000.0, stated, Rounding::WholeMegahertz);
    // Truncated from 48.0 MHz and a little more, or rounded up.
    assert_eq!((whole(46.4e6), whole(46.3e6)), (true, false));
    assert_eq!((whole(49e6), whole(49.1e6)), (true, false));
    // Cycles of 20 ns.
    let nanoseconds = |stated: f64| agrees(500_000.0, 1e9 / stated, Rounding::WholeNanoseconds);
    assert_eq!((nanoseconds(19.0), nanoseconds(18.9)), (true, false));
    assert_eq!((nanoseconds(21.0), nanoseconds(21.1)), (true, false));
}

#[test]
fn the_middle_row_is_that_of_rows_of_one_suite_which_took_time() {
    // Rows in nanoseconds, whose clock is not derived; the last one is looked at.
    let last = |rows: &[(Suite, f64)]| {
        let row = |(suite, mean): &(Suite, f64)| {
            let mean = Summarised { mean: Some(*mean), ..Summarised::default() };
            row_of(*suite, Basis::Ns, mean)
        };
        kinds(judged(rows.iter().map(row).collect(), Section::default()).0.last().expect("one"))
    };
    let (one, other) = (Suite::ZephyrLatencyMeasure, Suite::ZephyrTimingInfo);
    let of = |all: &[f64]| last(&all.iter().map(|mean| (one, *mean)).collect::<Vec<_>>());
    assert_eq!(of(&[10.0, 100.0, 100.0, 5000.0]), [], "the third of four");
    assert_eq!(of(&[10.0, 90.0, 100.0, 5000.0]), []);
    assert_eq!(of(&[10.0, 10.0, 10.0, 501.0]), [FlagKind::Implausible]);
    // Those that took no time, and those of the other suite, do not count.
    let zeros = [0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 100.0, 100.0, 5000.0];
    assert_eq!(of(&zeros), []);
    let mut both = vec![(other, 1.0); 9];
    both.extend([100.0, 100.0, 100.0, 5000.0].map(|mean| (one, mean)));
    assert_eq!(last(&both), []);
}

#[test]
fn a_row_that_failed_says_nothing_of_the_clock_but_one_of_a_coarse_clock_does() {
    let flagged = |kind, cycles: f64| {
        let mut row = timed("a", cycles, 5000.0);
        row.flag(kind, "x");
        row
    };
    let clock = |rows| judged(rows, Section::default()).1.clock.map(|(clock, _)| clock);
    let failed = flagged(FlagKind::Failed, 480.0);
    assert_eq!(clock(vec![failed.clone(), failed.clone(), timed("b", 240.0, 5000.0)]), Some(48e6));
    assert_eq!(clock(vec![failed]), None);
    assert_eq!(clock(vec![flagged(FlagKind::CoarseClock, 240.0)]), Some(48e6));
}
