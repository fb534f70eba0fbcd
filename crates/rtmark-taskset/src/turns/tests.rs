use rtmark_plan::Protocol;

use super::*;
use crate::image::Clock;
use crate::image::tests::bench;

#[test]
fn a_job_of_the_first_task_is_compared_with_a_quiet_one() {
    use Mark::{Begin, End, Tick};
    let marks = [
        (Tick, 1),
        (End(0), 2),
        (Begin(0), 1_000),
        (Tick, 1_100),
        (Begin(1), 1_150),
        (End(1), 1_200),
        (Tick, 1_300),
        (End(0), 2_050),
        (Tick, 2_100),
        (Begin(1), 2_150),
        (End(1), 2_200),
        (Begin(0), 3_000),
        (End(0), 3_990),
        (Begin(0), 5_000),
        (Tick, 5_001),
    ];
    assert_eq!(first_task_jobs(&marks, 1_000), [(50, 2), (0, 0)]);
}

#[test]
fn a_row_per_task_puts_each_in_its_slot() {
    for order in [Order::Rounds, Order::Fifo] {
        let bench = bench(order, Protocol::Cooperative, Clock::Tick, 4);
        let rows = bench.filled(|at| (at == 1).then(|| row(9, 3, 2, &[plain(7)])));
        assert_eq!(rows.iter().map(|row| row.priority).collect::<Vec<_>>(), [4, 3, 2, 1]);
        assert_eq!(bench.slots(&rows), [0, 1, 2, 3]);
        assert_eq!(rows[1], row(3, 3, 2, &[plain(7)]));
        let never = |at: usize| rows[at] == row(4 - at as u64, 1, NEVER, &[]);
        assert!(never(0) && never(2) && never(3));
        assert!(bench.check(&table(rows)).is_ok());
    }
}
