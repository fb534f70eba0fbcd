//! Reads a sample of every log format, written for these tests, and compares the results with recorded
//! ones.
//!
//! `RTMARK_BLESS=1` records the results anew; review them before keeping them.

use std::fmt::Write as _;
use std::path::Path;

use rtmark_import::{Imported, Options, import};
use rtmark_model::{Answer, Catalogue, Readings, Series};

fn figures(series: &Series) -> String {
    match &series.readings {
        Readings::Summarised(s) => {
            let mut text = String::new();
            let named = [
                ("first", s.first),
                ("min", s.min),
                ("mean", s.mean),
                ("max", s.max),
                ("sigma", s.sigma),
                ("step", s.resolution),
                ("ns", s.ns),
            ];
            for (name, value) in named {
                if let Some(value) = value {
                    let _ = write!(text, " {name} {value}");
                }
            }
            for p in &s.percentiles {
                let _ = write!(text, " p{} {}", p.per_cent, p.value);
            }
            for bin in &s.histogram {
                let _ = write!(text, " {}:{}", bin.value, bin.times);
            }
            let count = s.count.map(|count| format!(" of {count}"));
            text + &count.unwrap_or_default()
        }
        Readings::Sampled(sampled) => {
            let samples: Vec<_> = sampled.samples.iter().map(|(value, _)| value).collect();
            format!(" samples {samples:?} step {}", sampled.resolution)
        }
        Readings::Exact(_) => panic!("nothing that is imported is exact"),
    }
}

fn render(imported: &Imported) -> String {
    let mut text = String::new();
    for answer in &imported.answers {
        let key = answer.key();
        let id = format!("{} {} on {}: {}", key.kernel, key.version, key.soc, key.scenario);
        match answer {
            Answer::Measured(series) => {
                let source = series.provenance.log.as_ref().expect("a log");
                let _ = writeln!(text, "{:>3} {id}", source.line);
                let clock = series.clock;
                let _ = writeln!(text, "      {} at {clock}:{}", series.basis, figures(series));
                let span = &series.span;
                let _ = writeln!(
                    text,
                    "      {} -> {}, {} switches, overhead {}",
                    span.from, span.to, span.switches, span.overhead
                );
                for flag in &series.flags {
                    let _ = writeln!(text, "      ! {flag}");
                }
            }
            Answer::NotApplicable { reason, .. } => {
                let _ = writeln!(text, "    {id}\n      n/a: {reason}");
            }
            Answer::Failed { .. } => panic!("a row is no failure of ours"),
        }
    }
    for warning in &imported.warnings {
        let _ = writeln!(text, "{:>3} warning: {}", warning.line, warning.message);
    }
    text
}

#[test]
fn every_format_parses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let catalogue = Catalogue::builtin().expect("good");
    let mut logs: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "found"))
        .collect();
    logs.sort();
    let mut wrong = Vec::new();
    for path in &logs {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(path).expect("readable");
        let found = render(&import(&*bytes, &name, &catalogue, &Options::default()).expect("read"));
        let expected = path.with_file_name(format!("{name}.found"));
        if std::env::var_os("RTMARK_BLESS").is_some() {
            std::fs::write(&expected, &found).expect("writable");
        }
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{name}:\n{found}\ninstead of\n{expected}"));
        }
    }
    assert!(logs.len() >= 20, "{logs:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// RIOT's benchmarks do not print their names.
#[test]
fn a_file_has_the_name_of_the_benchmark() {
    let log =
        b"main(): This is RIOT! (Version: 2026.07)\n{ \"result\" : 309811, \"ticks\" : 580 }\n";
    let catalogue = Catalogue::builtin().expect("good");
    for (file, row) in [
        ("logs/tests_mutex_pingpong.elf", "mutex_pingpong"),
        ("bench_thread_yield_pingpong.log", "thread_yield_pingpong"),
        ("thread_flags_pingpong", "thread_flags_pingpong"),
        ("unheard_of.log", "bench"),
    ] {
        let found = import(&log[..], file, &catalogue, &Options::default()).expect("read");
        let log = found.answers.first().and_then(|answer| match answer {
            Answer::Measured(series) => series.provenance.log.as_ref(),
            _ => None,
        });
        assert_eq!(log.map(|log| log.row.as_str()), Some(row), "{file}");
    }
}

/// A key without a value is as good as absent, and false is no reason for a flag.
#[test]
fn null_in_json_is_absent() {
    let read = |row: &str| {
        let json =
            format!(r#"{{"rtmark_import":1,"defaults":{{"kernel":"k"}},"rows":[{{{row}}}]}}"#);
        let imported = import(json.as_bytes(), "x", &Catalogue::default(), &Options::default());
        imported.expect("a document")
    };
    let row =
        r#""scenario":"a.b","unit":"ns","mean":5,"version":null,"kernel":null,"samples":null"#;
    for flag in ["null", "false", "\"\""] {
        let imported = read(&format!(r#"{row},"flag":{flag}"#));
        let (answers, flagged) = (&imported.answers, imported.flagged());
        assert_eq!(
            (answers.len(), flagged, imported.unreadable),
            (1, 0, 0),
            "{flag}: {imported:?}"
        );
        assert_eq!(answers[0].key().kernel.as_str(), "k", "the default holds");
        let series = answers[0].series().expect("measured");
        assert!(!series.key.version.contains("null"), "{series:?}");
    }
    assert_eq!(read(&format!(r#"{row},"flag":"late""#)).flagged(), 1);
    let refused = read(r#""scenario":"a.b","unit":"ns","mean":5,"kernel":["k"]"#);
    assert!(refused.warnings[0].message.contains("must be a text or a number"), "{refused:?}");
    let unknown = read(&format!(r#"{row},"value":null"#));
    assert!(unknown.warnings[0].message.contains("unknown key `value`"), "{unknown:?}");
}

#[test]
fn figures_of_own_rows_may_not_contradict_each_other() {
    for (figures, flagged) in
        [("10,1.5,9,12,10", 0), ("10,99,9,12,10", 1), ("10,0,9,12,1", 1), ("10,0,10,10,1", 0)]
    {
        let csv = format!("scenario,unit,mean,sigma,min,max,count\na.b,cycles,{figures}\n");
        let imported = import(csv.as_bytes(), "x", &Catalogue::default(), &Options::default());
        let imported = imported.expect("a log");
        assert_eq!((imported.answers.len(), imported.flagged()), (1, flagged), "{imported:?}");
    }
}

/// Whether a file was cut in its last number cannot be seen, but that it may have been can.
#[test]
fn files_that_end_in_a_number_cause_a_warning() {
    let csv = "scenario,unit,value\na.b,cycles,1200\na.b,cycles,1234";
    let zephyr =
        "thread.yield.preemptive.ctx.k_to_k - Context switch via k_yield : 240 cycles , 5000 ns :";
    let warnings = |text: &str| {
        let imported = import(text.as_bytes(), "x", &Catalogue::default(), &Options::default());
        imported.expect("a log").warnings
    };
    for cut in [csv, &csv[..csv.len() - 2]] {
        let said = warnings(cut);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].line == 3 && said[0].message.contains("if it was cut there"), "{said:?}");
    }
    for whole in [format!("{csv}\n"), format!("{csv}\r\n"), zephyr.to_owned()] {
        assert_eq!(warnings(&whole), [], "{whole}");
    }
}

/// Samples are whole nanoseconds or cycles. What is lost by that is said, once a series; a time in
/// microseconds that is a whole number of nanoseconds loses nothing.
#[test]
fn samples_that_are_rounded_cause_a_warning() {
    let csv = "scenario,unit,value\na.b,us,1.1\na.b,us,0.0015\na.b,us,0.0004\na.c,cycles,12\n";
    let json = r#"{"rtmark_import":1,"rows":[
        {"scenario":"a.b","unit":"us","samples":[1.1, 0.0015, 0.0004]},
        {"scenario":"a.c","unit":"cycles","samples":[12]}]}"#;
    for text in [csv, json] {
        let imported = import(text.as_bytes(), "x", &Catalogue::default(), &Options::default());
        let imported = imported.expect("a log");
        let said: Vec<_> = imported.warnings.iter().map(|it| (it.line, &*it.message)).collect();
        assert_eq!(said, [(2, "a.b: samples rounded to whole ns: 2")]);
        let facts = imported.answers.iter().map(|answer| match answer {
            Answer::Measured(series) => series.facts.get("rounded").cloned(),
            other => panic!("{other:?}"),
        });
        let rounded = Some("samples rounded to whole ns: 2".to_owned());
        assert_eq!(facts.collect::<Vec<_>>(), [rounded, None]);
    }
}

#[test]
fn times_in_microseconds_are_converted_exactly() {
    for log in [
        "               nop loop:  1001000us  ---   1.001us per call  ---     999000 calls per sec\n",
        "[Performance][queue_send]: 1.001us\n",
        "** Thread stats [avg, min, max] in microseconds **\n Yield : 1.001, 1, 2\n",
        "scenario,unit,mean\na.b,us,1.001\n",
    ] {
        let imported = import(log.as_bytes(), "x", &Catalogue::default(), &Options::default());
        let answers = imported.expect("a log").answers;
        let [Answer::Measured(series)] = &answers[..] else { panic!("{log}: {answers:?}") };
        let mean = series.readings.summarised().and_then(|summary| summary.mean);
        assert_eq!((series.basis, mean), (rtmark_model::Basis::Ns, Some(1001.0)), "{log}");
    }
}
