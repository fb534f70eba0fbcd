//! Logs of Thread-Metric that begin amid a test, or lack reports: a report is of one period, however much
//! time has passed since the test began.

use rtmark_import::{Imported, Options, import};
use rtmark_model::{Catalogue, FlagKind, Series};

fn answers(log: &str) -> Imported {
    let imported = import(log.as_bytes(), "x", &Catalogue::default(), &Options::default());
    imported.expect("a log")
}

fn series(log: &str) -> Box<Series> {
    let mut answers = answers(log).answers;
    match answers.pop() {
        Some(rtmark_model::Answer::Measured(series)) if answers.is_empty() => series,
        other => panic!("{other:?} after {answers:?}"),
    }
}

fn mean(series: &Series) -> Option<f64> {
    series.readings.summarised().expect("a summary").mean
}

fn report(time: &str, total: &str) -> String {
    let total =
        if total.is_empty() { String::new() } else { format!("Time Period Total:  {total}\n\n") };
    format!("**** Thread-Metric Cooperative Scheduling Test **** Relative Time: {time}\n{total}")
}

/// Returns a log of reports, each of which counted 3,000,000 in thirty seconds: 10 us each.
fn log(times: &[&str]) -> String {
    times.iter().map(|time| report(time, "3000000")).collect()
}

#[test]
fn a_log_that_begins_amid_a_test_has_periods_of_the_same_length() {
    for times in [&["30"][..], &["30", "60"], &["90", "120"], &["60", "120", "150"], &["60", "150"]]
    {
        let found = series(&log(times));
        assert_eq!((mean(&found), found.flags.len()), (Some(10_000.0), 0), "{times:?}");
        let seconds = 30 * times.len();
        assert_eq!(found.facts.get("seconds"), Some(&seconds.to_string()), "{times:?}");
    }
    // A report without a total tells the time all the same.
    let begun = report("90", "") + &report("120", "3000000");
    assert_eq!(mean(&series(&begun)), Some(10_000.0));
}

/// It may be the third of thirty seconds or the first of ninety.
#[test]
fn the_length_of_an_only_report_must_be_known() {
    let found = series(&log(&["90"]));
    let flags: Vec<_> = found.flags.iter().map(|flag| flag.kind).collect();
    assert_eq!((mean(&found), flags), (None, vec![FlagKind::Incomplete]), "{found:?}");
    assert!(found.flags[0].why.contains("after 90 s"), "{found:?}");
    assert_eq!(found.facts.get("seconds"), None);
    let booted = format!("*** Booting Zephyr OS build v4.2.0 ***\n{}", log(&["90"]));
    assert_eq!(mean(&series(&booted)), Some(30_000.0), "from the beginning");
    assert_eq!(mean(&series(&log(&["5"]))), Some(5e9 / 3e6), "another length");
}

/// A test that counts to the same time again has begun again, as after a reset that nothing shows.
#[test]
fn a_time_that_does_not_increase_begins_another_test() {
    for times in [&["30", "30"][..], &["30", "60", "30"], &["30", "60", "60"]] {
        let found = answers(&log(times));
        assert_eq!(found.answers.len(), 2, "{times:?}");
    }
}

#[test]
fn a_report_without_a_time_is_not_read() {
    for time in ["0", "-30", "%lu"] {
        let log = report(time, "3000000");
        let found = answers(&log);
        assert_eq!((found.answers.len(), found.unreadable), (0, 2), "{log}");
        assert!(found.warnings[0].message.contains("its time is not a number"), "{found:?}");
    }
}

/// A test that fails says so in every period, in other words if other threads are behind.
#[test]
fn errors_of_a_test_become_flags_of_its_row() {
    let error = |number: u64| format!("ERROR: Invalid counter value(s). {number}\n");
    let errors: String = (0..6).map(error).collect();
    let found = series(&(report("30", "") + &errors + "Time Period Total:  3000000\n"));
    let why: Vec<_> = found.flags.iter().map(|flag| (flag.kind, flag.why.clone())).collect();
    let said = |number| format!("the suite says: {}", error(number).trim());
    let expected: Vec<_> = (0..4).map(|number| (FlagKind::Failed, said(number))).collect();
    assert_eq!((mean(&found), why), (Some(10_000.0), expected));
}

#[test]
fn errors_after_another_boot_or_program_are_not_the_tests() {
    let error = "ERROR: Invalid counter value(s).\n";
    let boot = "*** Booting Zephyr OS build v4.2.0 ***\n";
    let row = "thread.start.kernel.from.kernel - Start thread : 480 cycles , 10000 ns :\n";
    for (between, flags) in [
        (String::new(), 1),
        (boot.to_owned(), 0),
        (format!("{boot}{row}"), 0),
        ("PROJECT EXECUTION SUCCESSFUL\n".to_owned(), 0),
    ] {
        let found = answers(&(log(&["30"]) + &between + error));
        let series = found.answers.first().and_then(|answer| answer.series()).expect("measured");
        assert_eq!((mean(series), series.flags.len()), (Some(10_000.0), flags), "{between}");
    }
}
