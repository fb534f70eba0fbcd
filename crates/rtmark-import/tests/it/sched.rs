//! Several runs of Zephyr's `tests/benchmarks/sched` in one log.

use rtmark_import::{Options, import};
use rtmark_model::{Answer, Catalogue, Readings};

const WARM: &str = "unpend  180 ready  300 switch  330 pend  360 tot 1170 (avg    0)\n";
const ROUND: &str = "unpend  132 ready  257 switch  278 pend  321 tot  988 (avg  988)\n";
const BOOT: &str = "*** Booting Zephyr OS build v4.2.0 ***\n";

/// Returns the number of samples of each run's first row, with the number of rounds before them.
fn runs(log: &str) -> Vec<(u64, String)> {
    let imported = import(log.as_bytes(), "x", &Catalogue::default(), &Options::default());
    let answers = imported.expect("a log").answers;
    let rows = answers.iter().filter_map(Answer::series);
    rows.filter(|series| series.key.scenario.as_str() == "zephyr-sched.unpend")
        .map(|series| match &series.readings {
            Readings::Sampled(sampled) => {
                (sampled.samples.len(), series.facts["rounds_to_warm_up"].clone())
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn rounds_to_warm_up_are_counted_and_left_out() {
    assert_eq!(runs(&(WARM.repeat(3) + &ROUND.repeat(2))), [(2, "3".to_owned())]);
    assert_eq!(runs(ROUND), [(1, "0".to_owned())]);
}

/// Whether the second run shows its beginning or not.
#[test]
fn another_run_has_rows_of_its_own() {
    let row = "thread.start.kernel.from.kernel - Start thread : 480 cycles , 10000 ns :\n";
    let other = format!("{BOOT}{row}");
    for between in [BOOT, &other, "fin\n", "PROJECT EXECUTION SUCCESSFUL\n", WARM] {
        let log = format!("{WARM}{ROUND}{ROUND}{between}{ROUND}");
        let warm = u64::from(between == WARM).to_string();
        assert_eq!(runs(&log), [(2, "1".to_owned()), (1, warm)], "{log}");
    }
}
