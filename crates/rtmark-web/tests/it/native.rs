//! The program here.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::image::{PRINTED, faults, prints, works};

/// A chip's file.
pub fn soc(name: &str) -> String {
    let path = format!("{}/../../socs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a soc file")
}

/// The events of a run, without those that tell how far it has come.
pub fn events(soc: &str, image: &[u8], cycles: u64) -> Vec<Value> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rtmark-web"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut to = program.stdin.take().expect("piped");
    writeln!(to, "soc={} image={} cycles={cycles}", soc.len(), image.len()).expect("written");
    to.write_all(soc.as_bytes()).expect("written");
    to.write_all(image).expect("written");
    drop(to);
    let output = program.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let event = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    text.lines().map(event).filter(|event| event["event"] != "progress").collect()
}

#[test]
fn a_run_is_told_from_its_beginning_to_its_end() {
    let told = events(&soc("stm32c031"), &prints(), 1_000_000);
    assert_eq!(told[0]["event"], "loaded");
    assert_eq!(told[0]["clock"], 48_000_000);
    assert_eq!(told[1]["text"], PRINTED);
    assert_eq!((&told[2]["event"], &told[2]["how"]), (&"ended".into(), &"exit".into()));
    // Six instructions, of which the last has not come to its end.
    assert!(told[2]["instructions"].as_u64().is_some_and(|count| (5..=6).contains(&count)));
}

#[test]
fn what_never_ends_stops_at_its_limit_and_what_is_wrong_is_told() {
    let told = events(&soc("stm32f405"), &works(), 3_000_017);
    let last = told.last().expect("an end");
    assert_eq!(last["how"], "limit");
    let cycles = last["cycles"].as_u64().expect("a count");
    assert!((3_000_017..3_000_100).contains(&cycles), "{last}");
    let told = events(&soc("stm32c031"), &faults(), 1_000_000);
    assert_eq!(told.last().expect("an end")["how"], "fault", "{told:?}");
    for (soc, image, part) in [
        (soc("stm32c031"), vec![], "the image"),
        (soc("stm32c031"), b"\x7fELF nothing".to_vec(), "the image"),
        (soc("stm32c031"), vec![0xff; 64], "does not fit stm32c031"),
        ("name = 3".to_owned(), prints(), "the soc file"),
    ] {
        let told = events(&soc, &image, 1000);
        assert_eq!(told[0]["event"], "refused", "{told:?}");
        assert!(told[0]["text"].as_str().is_some_and(|text| text.contains(part)), "{told:?}");
    }
}
