//! The race finder finds the planted bugs of a small corpus, and clears the corrected versions.

use std::path::Path as FilePath;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use rtmark_sim::{CoreKind, Cycles, Image, Machine};
use rtmark_worst::{
    Aspect, Control, Findings, Path, Question, Reach, Share, Verdict, Window, search, spans,
};

use crate::support;

/// Compiles a program of the corpus.
fn image(core: CoreKind, name: &str, corrected: bool) -> Image {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let out = FilePath::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{core}-{corrected}"));
    let cpu = if core.is_mainline() { "-mcpu=cortex-m3" } else { "-mcpu=cortex-m0plus" };
    let mut gcc = Command::new("arm-none-eabi-gcc");
    gcc.args([cpu, "-mthumb", "-O2", "-nostdlib", "-ffreestanding", "-Wall", "-Werror"]);
    gcc.args(corrected.then_some("-DCORRECTED"));
    gcc.arg("-T").arg(folder.join("corpus.ld"));
    gcc.arg("-o").arg(&out).arg(folder.join(format!("{name}.c")));
    assert!(gcc.status().expect("arm-none-eabi-gcc is installed").success(), "{name}");
    Image::from_elf(&std::fs::read(out).expect("compiled")).expect("an image")
}

fn check(core: CoreKind, name: &str, corrected: bool) -> Findings {
    let machine = loaded(core, name, corrected);
    // Without the interrupt, it ends or sleeps.
    let ended = spans(&machine, &[], &[], Cycles(100_000)).cycles;
    searched(machine, Reach::Check { ended })
}

fn loaded(core: CoreKind, name: &str, corrected: bool) -> Machine {
    let mut machine = Machine::new(&support::soc(core));
    machine.load(&image(core, name, corrected)).expect("it fits");
    machine
}

fn searched(machine: Machine, reach: Reach) -> Findings {
    let question = Question {
        interrupt: 0.into(),
        priority: 0,
        windows: vec![Window { from: 0, to: 2_000 }],
        reach,
        patience: 5_000,
        woken: None,
        ends: Vec::new(),
        second: None,
    };
    let path = Path::new(machine, question).expect("fine");
    let cancelled = AtomicBool::new(false);
    let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
    search(&path, &control, Findings::default(), |_| {}).expect("no mistake")
}

#[test]
fn planted_bugs_are_found_and_corrected_twins_are_cleared() {
    let wrong = [
        ("counter", Verdict::Status(1)),
        ("sleep", Verdict::Asleep),
        ("index", Verdict::Status(1)),
        ("ring", Verdict::Status(1)),
    ];
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3] {
        for (name, verdict) in wrong {
            let found = check(core, name, false);
            assert!(found.checked > 8, "{name} on {core}: {}", found.checked);
            assert!(!found.failures.is_empty(), "{name} on {core}: not found");
            let as_planted = found.failures.values().any(|failure| failure.verdict == verdict);
            assert!(as_planted, "{name} on {core}: {:?}", found.failures);
            let bad: u64 = found.failures.values().map(|failure| failure.points).sum();
            assert!(bad < found.checked, "{name} on {core}: not everywhere");
            let twin = check(core, name, true);
            assert!(twin.checked > 8, "{name} on {core}: {}", twin.checked);
            assert!(twin.failures.is_empty(), "{name} on {core}: {:?}", twin.failures);
        }
    }
}

/// Whether the program is followed to its end makes no difference to when the handler begins.
#[test]
fn a_check_tells_latencies_as_well() {
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3] {
        let of_handler = |findings: Findings| findings.aspects.get(&Aspect::Handler).cloned();
        let checked = of_handler(check(core, "ring", true));
        let entered = of_handler(searched(loaded(core, "ring", true), Reach::Entry));
        assert!(checked.is_some(), "{core}");
        assert_eq!(checked, entered, "{core}");
    }
}
