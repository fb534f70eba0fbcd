//! Output of cyclictest that is damaged, of another kind, or larger than what is kept.

use rtmark_import::{Imported, Options, import};
use rtmark_model::{Answer, Catalogue, FlagKind, Series};

fn read(log: &str) -> Imported {
    let imported = import(log.as_bytes(), "x", &Catalogue::default(), &Options::default());
    imported.expect("a log")
}

fn series(imported: &Imported) -> Vec<&Series> {
    imported.answers.iter().filter_map(Answer::series).collect()
}

fn kinds(series: &Series) -> Vec<FlagKind> {
    series.flags.iter().map(|flag| flag.kind).collect()
}

/// A histogram of 1000 latencies of each of two threads, with what is printed behind its bins.
fn histogram(totals: &str) -> String {
    format!(
        "# Histogram\n000003 000100\t000300\n000004 000850\t000650\n000005 000050\t000050\n{totals}"
    )
}

/// A thread that wakes before its time has a negative latency: the clock was set, or is not the same on all cores.
/// One that wakes in time has none.
#[test]
fn negative_latencies_are_flagged_wherever_they_are_printed() {
    let status = "T: 0 ( 1001) P:80 I:1000 C:   1000 Min:     -3 Act:    4 Avg:    5 Max:      41\n\
                  T: 1 ( 1002) P:80 I:1500 C:    667 Min:      0 Act:    4 Avg:    5 Max:      41\n";
    let totals = histogram(
        "# Min Latencies: -0003 00000\n# Avg Latencies: 00004 00004\n# Max Latencies: 00005 00005\n",
    );
    let verbose =
        "       0:       0:      -7\n       0:       1:       5\n       1:       0:       5\n";
    for log in [status, &totals, verbose] {
        let imported = read(log);
        let flags: Vec<_> = series(&imported).into_iter().map(kinds).collect();
        assert_eq!(flags, [vec![FlagKind::Wrapped], vec![]], "{log}");
    }
}

/// The total is the sum of the bins. One that includes what is beyond the histogram's end is no contradiction.
#[test]
fn a_total_that_is_not_that_of_the_bins_is_a_contradiction() {
    for (totals, flags) in [
        ("# Total: 000001000 000001000\n", 0),
        ("# Total: 000001000 000001000\n# Histogram Overflows: 00000 00000\n", 0),
        ("# Total: 000001000 000001000\n# Histogram Overflows: 00030 00030\n", 0),
        ("# Total: 000001030 000001030\n# Histogram Overflows: 00030 00030\n", 0),
        ("# Total: 000000970 000000970\n# Histogram Overflows: 00030 00030\n", 1),
        ("# Total: 000001001 000001001\n# Histogram Overflows: 00000 00000\n", 1),
        ("# Total: 000000999 000000999\n", 1),
    ] {
        let imported = read(&histogram(totals));
        for series in series(&imported) {
            let contradictions =
                kinds(series).into_iter().filter(|kind| *kind == FlagKind::Contradiction).count();
            assert_eq!(contradictions, flags, "{totals}{:?}", series.flags);
            let count = series.readings.summarised().and_then(|summary| summary.count);
            let expected = if totals.contains("00030 ") { 1030 } else { 1000 };
            assert_eq!(count, Some(expected), "{totals}");
        }
    }
}

/// Its last bins are the ones that matter. The status lines before it may be complete.
#[test]
fn a_histogram_that_ends_amid_its_bins_is_incomplete() {
    let status = "T: 0 ( 1001) P:80 I:1000 C:   1000 Min:      3 Act:    4 Avg:    4 Max:      41\n\
                  T: 1 ( 1002) P:80 I:1500 C:   1000 Min:      3 Act:    4 Avg:    4 Max:      41\n";
    let totals = "# Total: 000001000 000001000\n";
    for (log, flags) in [
        (status.to_owned(), vec![]),
        (format!("{status}{}", histogram(totals)), vec![]),
        (format!("{status}{}", histogram("")), vec![FlagKind::Incomplete]),
        (histogram(""), vec![FlagKind::Incomplete]),
    ] {
        let imported = read(&log);
        let found: Vec<_> = series(&imported).into_iter().map(kinds).collect();
        assert_eq!(found, [flags.clone(), flags], "{log}");
    }
}

/// Other programs print lines that begin with a number, too.
#[test]
fn a_histogram_is_over_behind_its_totals() {
    let totals = "# Total: 000001000 000001000\n# Min Latencies: 00003 00003\n";
    let rest = "000006 000001\t000001\n12 tests passed\n";
    for (log, unreadable) in
        [(histogram(&format!("{totals}{rest}")), 0), (histogram("000006 x\n") + totals, 1)]
    {
        let imported = read(&log);
        assert_eq!((imported.answers.len(), imported.unreadable), (2, unreadable), "{log}");
        for series in series(&imported) {
            assert_eq!(kinds(series), [], "{log}");
            let summary = series.readings.summarised().expect("a summary");
            assert_eq!((summary.histogram.len(), summary.count), (3, Some(1000)), "{log}");
        }
    }
}

/// Parts of two logs, or a line that was printed twice.
#[test]
fn bins_that_do_not_ascend_are_left_out_and_flagged() {
    for again in ["000005", "000004"] {
        let log = histogram(&format!("{again} 000007\t000000\n# Min Latencies: 00003 00003\n"));
        let imported = read(&log);
        let found: Vec<_> = series(&imported).into_iter().map(kinds).collect();
        assert_eq!(found, [vec![FlagKind::Incomplete], vec![]], "{log}");
    }
}

/// Within a run the count and the maximum only grow, the minimum only shrinks, and the options stay.
#[test]
fn a_status_line_that_cannot_follow_another_begins_another_run() {
    let status = |priority: u64, interval: u64, [count, min, max]: [u64; 3]| {
        format!(
            "T: 0 ( 1001) P:{priority} I:{interval} C:{count:7} Min:{min:7} Act:    4 Avg:    4 Max:{max:8}\n"
        )
    };
    let first = status(80, 1000, [1000, 3, 41]);
    for (next, runs) in [
        (status(80, 1000, [1000, 3, 41]), 1),
        (status(80, 1000, [2000, 2, 50]), 1),
        (status(80, 1000, [999, 3, 41]), 2),
        (status(80, 1000, [999, 2, 50]), 2),
        (status(80, 1000, [2000, 4, 41]), 2),
        (status(80, 1000, [2000, 4, 50]), 2),
        (status(80, 1000, [2000, 3, 40]), 2),
        (status(81, 1000, [2000, 2, 50]), 2),
        (status(80, 1500, [2000, 2, 50]), 2),
    ] {
        assert_eq!(read(&format!("{first}{next}")).answers.len(), runs, "{next}");
    }
}

/// `-H` adds a column if there are several threads. The first log ends in its bins.
#[test]
fn the_only_thread_is_no_sum() {
    let bins = "# cyclictest -mq -H 400\n# Histogram\n000003 000100\n000004 000850\n";
    let totals = "# Total: 000000950\n# Min Latencies: 00003\n# Avg Latencies: 00003\n";
    for log in [bins.to_owned(), format!("{bins}{totals}")] {
        let imported = read(&log);
        let counts = series(&imported)
            .into_iter()
            .map(|series| series.readings.summarised().and_then(|summary| summary.count));
        assert_eq!(counts.collect::<Vec<_>>(), [Some(950)], "{log}");
    }
}

/// Figures of an ATSAMV71 at 300 MHz from NuttX's documentation.
#[test]
fn a_run_behind_the_prompt_of_nuttx_is_nuttxs() {
    let run = "cyclictest -p 150 -T /dev/timer1 -m 1 -n 1 -h 20 -D 100 -i 50\n\
               # Histogram\n000009 000000\n000010 603045\n000011 1395782\n000012 000804\n\
               000013 000153\n000014 000034\n000015 000083\n000016 000030\n000017 000000\n\
               # Total: 001999931\n# Min Latencies: 00010\n# Avg Latencies: 00010\n\
               # Max Latencies: 00016\n# Histogram Overflows: 00000\n";
    for (prompt, kernel) in [("nsh> ", "nuttx"), ("$ ", "linux"), ("", "linux")] {
        let imported = read(&format!("{prompt}{run}"));
        let [series] = series(&imported)[..] else { panic!("{imported:?}") };
        let summary = series.readings.summarised().expect("a summary");
        assert_eq!((series.key.kernel.as_str(), summary.count), (kernel, Some(1_999_931)));
        assert_eq!((summary.min, summary.max), (Some(10_000.0), Some(16_000.0)));
        assert_eq!(kinds(series), []);
    }
}

#[test]
fn threads_beyond_the_limit_are_reported() {
    let status = |thread: u64| {
        format!(
            "T:{thread:2} ( {}) P:80 I:1000 C:   1000 Min:      3 Act:    4 Avg:    5 Max:      41\n",
            1001 + thread
        )
    };
    let sample = |thread: u64| format!("{thread:8}:       0:       7\n");
    let all = |line: &dyn Fn(u64) -> String| (0..1025).map(line).collect::<String>();
    for log in [all(&status), all(&sample)] {
        let imported = read(&log);
        assert_eq!((imported.answers.len(), imported.unreadable), (1024, 1));
        let said = &imported.warnings[0];
        assert!(
            said.line == 1025 && said.message.contains("more threads than are kept"),
            "{said:?}"
        );
    }
}
