//! Noise of a serial line in a figure: what is left of it is no figure.

use rtmark_import::{Options, import};
use rtmark_model::{Catalogue, FlagKind};

#[test]
fn a_number_with_noise_in_it_is_not_read() {
    // Latin-1, so that every character is a byte.
    let row = "thread.start.kernel.from.kernel - Start thread : 480 cycles , 10000 ns :\n";
    let metric = "**** Thread-Metric Cooperative Scheduling Test **** Relative Time: 30\n\
                  Time Period Total:  30\u{ff}00000\n";
    let histogram = "# Histogram\n000003 000100\n000004 0\u{ff}0850\n# Total: 000000100\n";
    let triples =
        "** A stats [avg, min, max] in nanoseconds **\n a : 1\u{ff}5, 10, 20\n b : 15, 10, 20\n";
    for (log, rows, what) in [
        ("sem.a - x : 1\u{ff}39 cycles , 5000 ns :\n", 0, "is not `name : N cycles"),
        (&format!("{row}sem.a - x : 2 cycles , 50\u{ff}00 ns :\n"), 1, "is not `name : N cycles"),
        (&format!("{row}Queue: 1\u{ff}7 us\n"), 1, "a row, but noise is in a number"),
        ("Queue: 1\u{ff}7 us\n", 0, "a row, but noise is in a number"),
        (triples, 1, "a row"),
        (metric, 1, "its total is not a number"),
        (histogram, 1, "is not a latency"),
        ("scenario,unit,value\na.b,ns,1\u{ff}39\na.b,ns,139\n", 1, "value is not a number"),
    ] {
        let log: Vec<u8> =
            log.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect();
        let imported = import(&*log, "x", &Catalogue::default(), &Options::default());
        let imported = imported.expect("a log");
        assert_eq!((imported.answers.len(), imported.unreadable), (rows, 1), "{imported:?}");
        assert!(imported.warnings[0].message.contains(what), "{what}: {:?}", imported.warnings);
    }
}

/// The name of the row is not what the program printed.
#[test]
fn a_row_with_noise_at_another_number_is_flagged() {
    let log = b"thread.7\xff - x : 480 cycles , 10000 ns :\n";
    let imported = import(&log[..], "x", &Catalogue::default(), &Options::default());
    let answers = imported.expect("a log").answers;
    let flags = &answers[0].series().expect("measured").flags;
    assert_eq!(flags.iter().map(|flag| flag.kind).collect::<Vec<_>>(), [FlagKind::Incomplete]);
}

/// Samples of `cyclictest -v` begin with the first one of the first thread; other programs print such lines, too.
#[test]
fn three_numbers_are_a_sample_only_behind_a_first_one() {
    let rows = |lines: &[&str]| {
        let text = lines.join("\n") + "\n";
        let log = import(text.as_bytes(), "x", &Catalogue::default(), &Options::default());
        log.map_or(0, |log| log.answers.len())
    };
    let [first, second] = ["       0:       0:       7", "       0:       1:       5"];
    let [later, another] = ["       0:      17:       6", "       1:       0:       8"];
    for (lines, expected) in [
        (&[first, second, another][..], 2),
        (&[second, later], 1),
        (&[later], 0),
        (&[another], 0),
        (&[another, later], 0),
    ] {
        assert_eq!(rows(lines), expected, "{lines:?}");
    }
}
