use rtmark_plan::Costs;

use super::*;

#[test]
fn rounds_fit_into_what_a_stretch_leaves() {
    let of = |thousand, cycles| {
        Calibration { thousand, stretch: 30, job: 0, costs: Costs::zero() }.rounds(cycles)
    };
    assert_eq!(of(6_000, 630), 100);
    assert_eq!(of(6_000, 629), 99, "the last one does not fit");
    assert_eq!((of(6_000, 36), of(6_000, 35), of(6_000, 10)), (1, 0, 0));
    assert_eq!(of(0, 31), 1_000, "a loop that takes no time counts as one of a cycle per thousand");
}

#[test]
fn extremes_are_the_least_and_the_longest_of_all_samples() {
    let of = |spans: &[u64]| {
        let Extremes { least, worst, samples } = Extremes::of(spans.iter().copied(), "x").ok()?;
        Some((least, worst, samples))
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[7]), Some((7, 7, 1)));
    assert_eq!(of(&[7, 3, 9, 5]), Some((3, 9, 4)));
    let both = Extremes { least: 3, worst: 9, samples: 4 }.with(Extremes {
        least: 5,
        worst: 20,
        samples: 2,
    });
    assert_eq!((both.least, both.worst, both.samples), (3, 20, 6));
    assert_eq!(Extremes::of([], "a wake").expect_err("none"), SetError::NotObserved("a wake"));
}

#[test]
fn a_span_ends_at_the_first_end_after_the_last_beginning() {
    let marks = [
        (Mark::Taken, 1),
        (Mark::Take, 10),
        (Mark::Take, 12),
        (Mark::Switched, 13),
        (Mark::Taken, 17),
        (Mark::Taken, 30),
        (Mark::Take, 40),
        (Mark::Tick, 41),
        (Mark::Taken, 43),
        (Mark::Take, 50),
        (Mark::Taken, 58),
    ];
    let of =
        |not: fn(Mark) -> bool| spans(&marks, |it| it == Mark::Take, |it| it == Mark::Taken, not);
    assert_eq!(of(|_| false), [5, 3, 8]);
    assert_eq!(of(is_tick), [5, 8], "a tick is in the second one");
    let from_tick = spans(&marks, is_tick, |it| it == Mark::Taken, |_| false);
    assert_eq!(from_tick, [2]);
    // A mark that ends a span may begin the next one.
    let ticks = [(Mark::Tick, 3), (Mark::Tick, 10), (Mark::Tick, 21)];
    assert_eq!(spans(&ticks, is_tick, is_tick, |_| false), [7, 11]);
    // One that excludes a span begins none.
    assert_eq!(spans(&ticks, is_tick, |it| it == Mark::Taken, is_tick), [0; 0]);
}

#[test]
fn one_more_costs_the_most_from_the_least_with_fewer_to_the_longest_with_more() {
    let of = |least, worst| Extremes { least, worst, samples: 1 };
    assert_eq!(rise(&[of(10, 12), of(15, 18), of(17, 31), of(30, 33)]), 16, "31 less 15");
    assert_eq!(rise(&[of(10, 12)]), 0);
    assert_eq!(rise(&[of(20, 22), of(10, 12)]), 0, "fewer are longer");
}

#[test]
fn what_is_not_seen_of_ticks_is_what_a_job_took_longer() {
    use Mark::{Begin, End, Switched, Tick, TickDone};
    let alone = [
        (Begin(0), 1_000),
        (Tick, 1_200),
        (TickDone, 1_240),
        (Tick, 1_500),
        (TickDone, 1_560),
        (End(0), 2_111),
    ];
    // 1111 cycles, of which 100 were seen in two ticks: (1111 - 1000 - 100) / 2, rounded up.
    assert_eq!(unseen(&alone, 1_000), 6);
    assert_eq!(unseen(&alone, 1_020), 0);
    assert_eq!(unseen(&alone[..5], 0), 0, "it has not ended");
    // With another task, a tick is seen until that task's end, and its end until the switch.
    let preempted = [
        (Begin(0), 5_000),
        (Tick, 5_100),
        (TickDone, 5_150),
        (Begin(1), 5_160),
        (End(1), 5_300),
        (Switched, 5_350),
        (End(0), 6_290),
    ];
    assert_eq!(unseen(&preempted, 1_000), 40, "1290 less 250");
    let both = [&alone[..], &preempted[..]].concat();
    assert_eq!(unseen(&both, 1_000), 40, "the most of all jobs");
    // A job without a tick in it counts, too.
    assert_eq!(unseen(&[(Begin(0), 0), (End(0), 1_003)], 1_000), 3);
}

/// Six cycles a round, 30 around a stretch, 100 around a job.
#[test]
fn rounds_stretches_and_jobs_are_told_apart_by_three_jobs() {
    let job = |around: u64| {
        move |stretches: &[Stretch]| {
            let rounds: u64 = stretches.iter().map(|it| it.rounds).sum();
            Ok(around + stretches.len() as u64 * 30 + rounds * 6)
        }
    };
    // Two cycles are added to a stretch, and what is left then for the job gets two more.
    assert_eq!(loop_cycles(job(100)), Ok((6_000, 32, 100)));
    assert_eq!(loop_cycles(job(0)), Ok((6_000, 32, 2)));
    let late = |_: &[Stretch]| Err(SetError::NotObserved("a job"));
    assert_eq!(loop_cycles(late), Err(SetError::NotObserved("a job")));
    // One cycle more in ten thousand rounds: a thousand are rounded up.
    let fine = |stretches: &[Stretch]| {
        let rounds: u64 = stretches.iter().map(|it| it.rounds).sum();
        Ok(130 + rounds * 6 + rounds / 11_000)
    };
    assert_eq!(loop_cycles(fine).map(|(thousand, ..)| thousand), Ok(6_001));
}
