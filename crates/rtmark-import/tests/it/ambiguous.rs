//! Files in rtmark's own forms that say one thing in two ways: none of them is silently preferred.

use rtmark_import::{GivenFacts, Options, import};
use rtmark_model::{Answer, Catalogue, Readings, Series};
use rtmark_units::Hertz;

/// Returns the first warning about a file of which nothing can be read.
fn warning(text: &str) -> String {
    let imported = import(text.as_bytes(), "x", &Catalogue::default(), &Options::default());
    let imported = imported.expect("a log");
    assert!(imported.answers.is_empty(), "{text}: {:?}", imported.answers);
    imported.warnings.first().unwrap_or_else(|| panic!("no warning: {text}")).message.clone()
}

#[test]
fn a_column_that_occurs_twice_is_refused() {
    let said = warning("scenario,unit,value,value\nthread.yield,cycles,5,6\n");
    assert!(said.contains("the column `value` occurs twice"), "{said}");
}

/// As spreadsheets write it in countries with decimal commas, or when they export text.
#[test]
fn other_separators_are_refused_by_name() {
    for (separator, word) in [(";", "semicolons"), ("\t", "tabs")] {
        let said = warning(&"Scenario,unit,value\nisr.mine,cycles,5\n".replace(',', separator));
        let columns = format!("its columns are separated by {word}, not by commas");
        assert!(said.contains(&columns), "{said}");
    }
}

#[test]
fn names_of_columns_may_have_capitals() {
    let csv = "Scenario,Unit,Value\nisr.mine,cycles,5\n".as_bytes();
    let imported = import(csv, "x", &Catalogue::default(), &Options::default()).expect("a log");
    assert_eq!((imported.answers.len(), imported.warnings.len()), (1, 0), "{imported:?}");
}

#[test]
fn samples_beside_figures_are_refused() {
    let csv = warning("scenario,unit,value,mean\nthread.yield,cycles,5,44\n");
    assert!(csv.contains("has both samples and mean: give one or the other"), "{csv}");
    let json = warning(
        r#"{"rtmark_import":1,"rows":[{"scenario":"a.b","unit":"ns","samples":[5],"min":9}]}"#,
    );
    assert!(json.contains("has both samples and min"), "{json}");
}

#[test]
fn a_clock_of_zero_is_refused() {
    let said = warning("scenario,unit,value,clock_hz\nthread.yield,ns,5,0\n");
    assert!(said.contains("clock_hz is 0; leave it out if the clock is not known"), "{said}");
}

/// Zephyr prints `300 cycles , 3000 ns` at 100 MHz; board files state clocks that are a little off.
#[test]
fn a_time_beside_cycles_counts_unless_the_clock_is_known_to_have_been_another() {
    let log = include_bytes!("../fixtures/timing_info.log").as_slice();
    for (megahertz, ns) in [
        (None, Some(3_000.0)),
        (Some(100), Some(3_000.0)),
        (Some(98), Some(3_000.0)),
        (Some(102), Some(3_000.0)),
        (Some(80), None),
        (Some(200), None),
    ] {
        let clock = megahertz.map(|megahertz| Hertz(megahertz * 1_000_000));
        let given = GivenFacts { clock, ..GivenFacts::default() };
        let options = Options { given, ..Options::default() };
        let imported = import(log, "x", &Catalogue::default(), &options).expect("a log");
        let mut series = imported.answers.iter().filter_map(Answer::series);
        let is_yield = |series: &&Series| {
            series.provenance.log.as_ref().is_some_and(|log| log.row == "Thread Yield")
        };
        let Readings::Summarised(summary) = &series.find(is_yield).expect("a row").readings else {
            panic!("{megahertz:?}")
        };
        assert_eq!(summary.ns, ns, "{megahertz:?}");
    }
}
