//! The same firmware gives the same run: on one thread and on eight, from a copy taken
//! on the way, and from a snapshot file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtmark_sim::{Cycles, Image, Machine, MemoryKind, Soc, Stop};
use serde_json::Value;

const SOCS: [&str; 2] = ["stm32c031", "stm32f405"];
/// Long enough to be past the startup code and among the tasks.
const CYCLES: u64 = 600_000;

fn build_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build")
}

fn rtmark(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtmark"));
    command.args(arguments).env("RTMARK_BUILD", build_folder()).env_remove("RTMARK_FIRMWARE");
    let output = command.output().expect("rtmark runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 11 | 12)), "{arguments:?}: {text}");
    output.stdout
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

/// Every image that the figures of `scenario` on a soc come from, built by a run of the suite.
fn images(soc: &str, scenario: &str) -> Vec<PathBuf> {
    let home = tempfile::tempdir().expect("a scratch folder");
    let store = home.path().join("store.sqlite").display().to_string();
    let run = ["-q", "run", "--soc", soc, "--scenario", scenario, "--store", &store];
    let document = json(&rtmark(&[&run[..], &["--format=json"]].concat()));
    let answers = document["answers"].as_array().expect("answers");
    let digests: BTreeSet<_> = answers
        .iter()
        .filter_map(|answer| answer["provenance"]["firmware"]["elf_sha256"].as_str())
        .collect();
    assert!(digests.len() > 4, "{digests:?}");
    let kept = build_folder().join("kept");
    digests.into_iter().map(|digest| kept.join(digest).with_extension("elf")).collect()
}

/// What a run comes to: all that the program and its user could see.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    cycles: u64,
    instructions: u64,
    stop: Stop,
    console: Vec<u8>,
    memory: Vec<Vec<u8>>,
}

fn finish(mut machine: Machine, mut console: Vec<u8>) -> Run {
    let stop = machine.run(Cycles(CYCLES));
    console.extend(machine.take_console());
    let rams = machine.soc().memories.iter().filter(|memory| memory.kind == MemoryKind::Ram);
    let memory = rams.map(|ram| machine.peek(ram.base, ram.size as usize)).collect();
    let (cycles, instructions) = (machine.cycles().0, machine.instructions().0);
    Run { cycles, instructions, stop, console, memory }
}

fn machine(soc: &Soc, path: &Path) -> Machine {
    let bytes = std::fs::read(path).expect("readable");
    let mut machine = Machine::new(soc);
    machine.load(&Image::from_elf(&bytes).expect("an image")).expect("it fits");
    machine
}

#[test]
fn firmware_runs_are_deterministic() {
    for name in SOCS {
        let file = format!("{}/../../socs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let soc = Soc::from_toml(&std::fs::read_to_string(file).expect("there")).expect("good");
        let images = [images(name, "workload.prime.two_tasks"), images(name, "thread.*")].concat();
        let one: Vec<_> =
            images.iter().map(|path| finish(machine(&soc, path), Vec::new())).collect();
        let most = one.iter().map(|run| run.instructions).max();
        assert!(most > Some(100_000), "they only sleep: {most:?}");

        let eight = std::thread::scope(|scope| {
            let of = |thread: usize| {
                let images = &images;
                let soc = &soc;
                let mine = (thread..images.len()).step_by(8);
                scope.spawn(move || {
                    mine.map(|at| (at, finish(machine(soc, &images[at]), Vec::new())))
                        .collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = (0..8).map(of).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("no panic"))
                .collect::<Vec<_>>()
        });
        assert_eq!(eight.len(), images.len());
        for (at, run) in eight {
            assert!(run == one[at], "{} on another thread", images[at].display());
        }

        for (path, run) in images.iter().zip(&one) {
            let mut first = machine(&soc, path);
            if first.run(Cycles(CYCLES / 3)) != Stop::Limit {
                continue;
            }
            let console = first.take_console();
            let copy = first.clone();
            // The original goes its own way first.
            assert!(finish(first, console.clone()) == *run, "{} in two runs", path.display());
            assert!(finish(copy, console) == *run, "{} copied", path.display());
        }
    }
}

#[test]
fn snapshots_resume_to_the_same_end() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("a.snapshot").display().to_string();
    let most = format!("--max-cycles={CYCLES}");
    for soc in SOCS {
        for path in images(soc, "thread.*") {
            let path = path.display().to_string();
            let plain = ["sim", &path, "--soc", soc, &most, "--format=json"];
            let keep = ["--snapshot", &file, "--snapshot-at=20000"];
            let plain = json(&rtmark(&plain));
            rtmark(&[&["sim", &path, "--soc", soc, &most], &keep[..]].concat());
            let resumed = json(&rtmark(&["sim", "--resume", &file, &most, "--format=json"]));
            for key in ["cycles", "instructions", "state_sha256", "registers", "ending"] {
                assert_eq!(plain[key], resumed[key], "{key} of {path}");
            }
        }
    }
}
