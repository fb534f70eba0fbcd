//! Busy periods by hand: which job of one is the worst, what its response is made of, and where the search
//! ends.

use rtmark_plan::{Arrivals, Bound, Kind, Part, Question, Stream, Unbounded};

fn work(cycles: u64) -> Vec<Part> {
    vec![Part::stated(Kind::Work, "own", cycles)]
}

fn stream(cycles: u64, arrivals: Arrivals) -> Stream {
    Stream { parts: vec![Part::stated(Kind::Preemption, "other", cycles)], arrivals }
}

fn every(cycles: u64, period: u64) -> Stream {
    stream(cycles, Arrivals::every(period))
}

/// A task of `own` cycles in each `period`, delayed once by `once` cycles.
fn question(own: u64, period: u64, once: u64, streams: Vec<Stream>) -> Question {
    let once = vec![Part::stated(Kind::Blocking, "lower", once)];
    let (jitter, last, after) = (0, 0, Vec::new());
    Question { period, jitter, own: work(own), after, last, once, streams }
}

/// The example of Lehoczky (1990): 26 in 70 cycles above 62 in 100. The fifth of seven jobs is the worst.
#[test]
fn a_later_jobs_terms_add_up_to_its_response() {
    let bound = question(62, 100, 0, vec![every(26, 70)]).bound().expect("bounded");
    assert_eq!(bound.windows, [114, 202, 316, 404, 518, 606, 694]);
    assert_eq!((bound.response, bound.job), (118, 4));
    let terms: Vec<_> = bound.terms.iter().map(|it| (it.kind, it.times, it.cycles)).collect();
    let by_hand = [
        (Kind::Work, 1, 62),
        (Kind::Earlier, 4, 248),
        (Kind::Preemption, 8, 208),
        (Kind::BeforeRelease, 1, -400),
    ];
    assert_eq!(terms, by_hand);
}

/// Jobs end at 11, 21, 31 and 38: three responses of 11.
#[test]
fn the_first_of_equally_long_jobs_is_shown() {
    let bound = question(7, 10, 1, vec![every(3, 13)]).bound().expect("bounded");
    assert_eq!(bound.windows, [11, 21, 31, 38]);
    assert_eq!((bound.response, bound.job), (11, 0));
}

/// A delay of B before jobs that take half of the time ends after 2 B cycles and B jobs.
#[test]
fn a_busy_period_of_a_hundred_thousand_jobs_is_searched_and_no_longer_one() {
    let of = |once| question(1, 2, once, Vec::new()).bound();
    let Bound { response, windows, .. } = of(100_000).expect("bounded");
    assert_eq!((response, windows.len()), (100_001, 100_000));
    assert_eq!(of(100_001), Err(Unbounded::Long { cycles: 200_002 }));
    assert_eq!(of(200_000), Err(Unbounded::Long { cycles: 400_000 }));
}

#[test]
fn a_window_of_two_to_the_fifty_is_the_longest() {
    const LIMIT: u64 = 1 << 50;
    let of = |once| question(1, 1 << 60, once, vec![every(1, 1 << 60)]).bound();
    assert_eq!(of(LIMIT - 2).map(|bound| bound.response), Ok(LIMIT));
    assert_eq!(of(LIMIT - 1), Err(Unbounded::Long { cycles: LIMIT }));
    assert_eq!(of(LIMIT), Err(Unbounded::Long { cycles: LIMIT }));
}

/// Arrivals that only ticks release, and those beyond one per tick, demand what they are, not what ticks are.
#[test]
fn demand_is_that_of_arrivals_not_of_ticks() {
    // 60 % and one arrival of 50 in 1000 cycles, of a possible one per tick of 100: 65 %.
    let fewer = Arrivals::Fewer { tick: 100, of: vec![(1_000, 0)] };
    assert_eq!(
        question(600, 1_000, 0, vec![stream(50, fewer)]).bound().map(|it| it.response),
        Ok(650)
    );
    // Two arrivals in 100 cycles each, less one per tick of 100: 50 in 100. With 60 %, it is too much.
    let beyond = Arrivals::Beyond { tick: 100, of: vec![(100, 0), (100, 0)] };
    let overload = question(600, 1_000, 0, vec![stream(50, beyond)]).bound();
    assert_eq!(overload, Err(Unbounded::Overload { per_mille: 1_100 }));
    let text = overload.map_err(|error| error.to_string());
    assert_eq!(
        text.err().as_deref(),
        Some("it and the tasks that go before it demand 110.0 % of the processor")
    );
    let text = Unbounded::Overload { per_mille: 1_234 }.to_string();
    assert!(text.contains("demand 123.4 %"), "{text}");
}
