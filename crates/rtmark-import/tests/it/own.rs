//! Files in rtmark's own forms: what belongs together, how numbers are written, and what is said of those
//! that cannot be read.

use rtmark_import::{Imported, Options, import};
use rtmark_model::{Catalogue, FlagKind, Readings, Series};

fn read(text: &str) -> Imported {
    let imported = import(text.as_bytes(), "x", &Catalogue::default(), &Options::default());
    imported.expect("a log")
}

fn all(imported: &Imported) -> Vec<&Series> {
    imported.answers.iter().map(|answer| answer.series().expect("measured")).collect()
}

fn samples(series: &Series) -> (Vec<u64>, u64) {
    match &series.readings {
        Readings::Sampled(sampled) => {
            (sampled.samples.iter().map(|(value, _)| value).collect(), sampled.resolution)
        }
        other => panic!("{other:?}"),
    }
}

fn flags(series: &Series) -> Vec<(FlagKind, &str)> {
    series.flags.iter().map(|flag| (flag.kind, flag.why.as_str())).collect()
}

/// A program that measures two things in turn prints their samples in turn.
#[test]
fn samples_of_a_series_belong_together_wherever_they_stand() {
    let csv = "scenario,unit,value,mean,note\n\
               a.one,cycles,10,,\n\
               a.two,cycles,20,,\n\
               a.three,cycles,,7,\n\
               a.one,cycles,11,,\n\
               a.two,cycles,21,,\n\
               a.one,cycles,12,,\n\
               a.one,cycles,99,,other\n";
    let imported = read(csv);
    let names: Vec<_> = imported.answers.iter().map(|a| a.key().scenario.as_str()).collect();
    assert_eq!(names, ["a.one", "a.two", "a.three", "a.one"], "in order of their first lines");
    let series = all(&imported);
    assert_eq!(samples(series[0]).0, [10, 11, 12]);
    assert_eq!(samples(series[1]).0, [20, 21]);
    assert_eq!(samples(series[3]).0, [99], "another note is another series");
    // What follows another header is another run.
    let twice = format!("{csv}{csv}");
    assert_eq!(read(&twice).answers.len(), 8);
}

#[test]
fn a_number_that_ends_in_its_exponent_is_not_read() {
    for value in ["5e", "5e-", "5e+", "5ex", "5e1x", "5e1.0"] {
        let imported = read(&format!("scenario,unit,value\na.b,s,{value}\n"));
        assert!(samples(all(&imported)[0]).0.is_empty(), "{value}");
        let said = &imported.warnings[0].message;
        assert!(said.contains(&format!("value is not a number: a.b,s,{value}")), "{said}");
    }
}

/// As Python and C's `%g` write them.
#[test]
fn numbers_with_exponents_are_read_exactly() {
    let csv =
        read("scenario,unit,value,clock_hz\na.b,s,5e-05,4.8e+07\na.b,s,1.0000001E-3,4.8e+07\n");
    let json = read(
        r#"{"rtmark_import":1,"rows":[{"scenario":"a.b","unit":"s","clock_hz":48000000.0,"samples":[5e-05,1.0000001e-3]}]}"#,
    );
    for imported in [csv, json] {
        let series = all(&imported);
        assert_eq!(samples(series[0]).0, [50_000, 1_000_000], "{imported:?}");
        assert_eq!(series[0].clock.0, 48_000_000);
        let said = imported.warnings.iter().map(|warning| &*warning.message);
        assert_eq!(said.collect::<Vec<_>>(), ["a.b: samples rounded to whole ns: 1"]);
    }
    let csv = read("scenario,unit,mean,min,max,count\na.b,us,1.7e+00,1.1e0,2e+00,1e3\n");
    let summary = all(&csv)[0].readings.summarised().expect("a summary").clone();
    let figures = (summary.mean, summary.min, summary.max, summary.count);
    assert_eq!(figures, (Some(1700.0), Some(1100.0), Some(2000.0), Some(1000)));
}

#[test]
fn figures_that_cannot_be_read_are_flagged() {
    let flag = |column: &str, text: &str| {
        (FlagKind::Incomplete, format!("{column} is not a number: `{text}`"))
    };
    let json_samples =
        r#"{"rtmark_import":1,"rows":[{"scenario":"a.b","unit":"ns","samples":[5,"x",null,6]}]}"#;
    for (file, expected) in [
        ("scenario,unit,mean,max\na.b,ns,5,n/a\n", vec![flag("max", "n/a")]),
        ("scenario,unit,mean,max\na.b,ns,1e,9\n", vec![flag("mean", "1e")]),
        ("scenario,unit,mean,count\na.b,ns,5,1.5\n", vec![flag("count", "1.5")]),
        ("scenario,unit,value\na.b,ns,-\na.b,ns,5\na.b,ns,6\n", vec![flag("value", "-")]),
        (json_samples, vec![flag("a sample", "\\\"x\\\""), flag("a sample", "null")]),
    ] {
        let imported = read(file);
        let series = all(&imported);
        let expected: Vec<_> = expected.iter().map(|(kind, why)| (*kind, why.as_str())).collect();
        assert_eq!(flags(series[0]), expected, "{file}");
        assert_eq!((series.len(), imported.unreadable > 0), (1, true), "{file}: {imported:?}");
    }
    assert_eq!(samples(all(&read(json_samples))[0]).0, [5, 6]);
}

/// A clock that gave 0.85 us does not advance once in a microsecond.
#[test]
fn the_resolution_of_a_clock_is_at_most_the_last_place_of_its_figures() {
    for (unit, values, resolution, value) in [
        ("us", ["0.85", "1.7"], None, 10),
        ("us", ["3", "4.0"], None, 100),
        ("us", ["3", "1e3"], None, 1_000),
        ("s", ["5e-05", "5.1e-05"], None, 1_000),
        ("us", ["0.8512345", "1"], None, 1),
        ("cycles", ["8.5", "9"], None, 1),
        ("us", ["0.85", "1.7"], Some("0.05"), 50),
    ] {
        let row = |value: &str| format!("a.b,{unit},{value},{}\n", resolution.unwrap_or_default());
        let rows: String = values.into_iter().map(row).collect();
        let imported = read(&format!("scenario,unit,value,resolution\n{rows}"));
        let series = all(&imported);
        assert_eq!(samples(series[0]).1, value, "{unit} {values:?}");
        assert_eq!(flags(series[0]), [], "{unit} {values:?}");
    }
    let coarse = read("scenario,unit,value\na.b,us,1\na.b,us,1\n");
    assert_eq!(all(&coarse)[0].flags[0].kind, FlagKind::CoarseClock);
}

/// `jq -S` and many libraries print keys in this order.
#[test]
fn a_document_with_sorted_keys_is_recognised_however_long_it_is() {
    let row = r#"{"mean":5,"scenario":"a.b","unit":"ns"}"#;
    for count in [1, 1000] {
        let rows = vec![row; count].join(",\n");
        let json =
            format!("\u{feff}\n{{\"defaults\":{{}},\"rows\":[{rows}],\"rtmark_import\":1}}\n");
        let found = read(&json);
        assert_eq!((found.answers.len(), found.warnings.len()), (count, 0));
    }
    // Logs of others may begin in the same way.
    let riot = "{ \"result\" : 309811, \"ticks\" : 580 }\n".repeat(1000);
    assert_eq!(read(&riot).answers.len(), 1000);
}
