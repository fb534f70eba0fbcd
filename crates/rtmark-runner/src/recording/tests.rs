use rtmark_model::Firmware;

use super::*;
use crate::clocked::tests::{CALIBRATION, ended, records};

fn catalogue() -> Catalogue {
    Catalogue::builtin().expect("good")
}

fn scenario() -> Scenario {
    let scenario = catalogue().get(&"thread.yield".parse().expect("a name")).cloned();
    scenario.expect("known")
}

/// A run of 101 spans, of 20 cycles more each than probes cost.
fn recorded(backend: Backend, last: &str) -> Recorded {
    let id = scenario().id;
    let probe = |kind| Record { kind, scenario: id.clone() };
    let own =
        [Kind::Scenario(3), Kind::Begin(0x130), Kind::End(0x140), Kind::EndAtSleep].map(probe);
    let image = Clocked {
        elf: Vec::new(),
        records: records().into_iter().chain(own).collect(),
        path: "a.elf".to_owned(),
    };
    let key = Key {
        soc: "bench".to_owned(),
        kernel: "floor".parse().expect("a name"),
        version: "1".to_owned(),
        profile: "product".to_owned(),
        scenario: id,
        backend,
    };
    let spans =
        (0..101).map(|n| format!("@  00000131 {:08x} 00000141 {:08x}\n", n << 8, (n << 8) + 32));
    let log = format!("@^ 00000003\n{CALIBRATION}{}", spans.collect::<String>());
    let console = ended(&log, 0) + last;
    let firmware = Firmware { image: "thread".to_owned(), ..Firmware::default() };
    let provenance = Provenance { firmware, ..Provenance::default() };
    Recorded::new(key, Hertz(1_000_000), provenance, &image, &scenario(), console.as_bytes())
}

fn written(runs: &[Recorded]) -> String {
    let mut file = Vec::new();
    begin(&mut file, "rtmark 1").expect("written");
    for run in runs {
        run.append(&mut file).expect("written");
    }
    String::from_utf8(file).expect("text")
}

/// A board's cycles are samples, the simulator's exact; both come from the console alone.
#[test]
fn a_recording_answers_without_the_board() {
    for (backend, is_exact) in [(Backend::Board, false), (Backend::Sim, true)] {
        let run = recorded(backend, "thread.yield ok\n");
        assert_eq!((run.select, run.sites.len()), (3, records().len() - 2 + 2));
        let read = read(written(&[run]).as_bytes()).expect("a recording");
        let Answer::Measured(series) = read[0].answer(&catalogue()) else { panic!("measured") };
        let values = match &series.readings {
            Readings::Exact(samples) if is_exact => &samples.0,
            Readings::Sampled(Sampled { resolution: 1, samples }) if !is_exact => samples,
            other => panic!("{other:?}"),
        };
        assert!(values.iter().map(|(value, _)| value).eq([20; 101]), "{values:?}");
        assert_eq!((series.clock, series.span.overhead), (Hertz(1_000_000), Overhead::Subtracted));
        assert_eq!(series.key, read[0].key);
    }
}

#[test]
fn a_recorded_failure_stays_one() {
    let answer = recorded(Backend::Board, "thread.yield FAILED\n").answer(&catalogue());
    let Answer::Failed { failure, .. } = answer else { panic!("failed") };
    assert!(failure.message.contains("[thread of floor as recorded]"), "{}", failure.message);
    let mut unknown = recorded(Backend::Board, "thread.yield ok\n");
    unknown.key.scenario = "thread.nothing".parse().expect("a name");
    let Answer::Failed { failure, .. } = unknown.answer(&catalogue()) else { panic!("failed") };
    assert_eq!(failure.message, "the catalogue has no scenario thread.nothing");
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    let run = recorded(Backend::Board, "");
    let good = written(std::slice::from_ref(&run));
    let (header, line) = good.split_once('\n').expect("lines");
    let stopped = written(&[Recorded { clock: Hertz(0), ..run.clone() }]);
    let refusals = [
        (String::new(), "line 1: the file is empty"),
        ("{}\n".to_owned(), "line 1: this is not an rtmark recording"),
        (good.replace(":1,\"generator", ":2,\"generator"), "line 1: it is of version 2, not 1"),
        (format!("{header}\n\n{{}}\n"), "line 3: missing field"),
        (format!("{good}\n{line}"), "line 4: floor's thread.yield is in line 2, too"),
        (stopped, "line 2: the clock of floor's thread.yield is 0 Hz"),
    ];
    for (file, wanted) in refusals {
        let error = read(file.as_bytes()).expect_err(wanted).to_string();
        assert!(error.starts_with(wanted), "{wanted}: {error}");
    }
    assert_eq!(read(format!("{header}\n").as_bytes()).expect("begun").len(), 0);
    let endless = read(io::BufReader::new(io::repeat(b' '))).expect_err("endless").to_string();
    assert!(endless.starts_with("line 1: this is not an rtmark recording"), "{endless}");
}
