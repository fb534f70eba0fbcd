//! `rtmark worst` and `rtmark sim` over interrupts that only the default handler serves.

use std::path::Path;

use crate::common::{EXIT, Elf, Probe, START, run_rtmark, storing};
use crate::worst::{expect_success, json, valid, worst};

/// A loop that masks interrupts in each round, with a default handler that never returns for interrupts 1 to 8, a
/// handler for interrupt 9, and half of the soc's clock.
fn image_with_default_handler(folder: &Path) {
    let mut code = vec![0xBF00; 4];
    // Over the vectors and the handlers.
    code[0] = 0xE016;
    code.truncate(2);
    for handler in [[START + 0x28; 8].as_slice(), &[START + 0x2C]].concat() {
        code.extend([handler as u16 | 1, (handler >> 16) as u16]);
    }
    code.extend([0xE7FE, 0xBF00, 0xBF00, 0x4770]);
    code.extend(storing(0x4002_1000, 0xD00));
    // movs r0, #100; round: cpsid i; five nops; cpsie i; subs r0, #1; bne round; nop
    code.extend([0x2064, 0xB672, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0x3801, 0xD1F6]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] = &[(1, START + 66, "a.b"), (2, START + 84, "a.b")];
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
}

/// Who misspells a handler's name gets the default handler, and figures of it.
#[test]
fn interrupts_that_only_the_default_handler_serves_are_noted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image_with_default_handler(folder);
    let note = "IRQ 5 has no handler of its own: its vector leads to 0x08000068, as those of 7 other \
                interrupts do";
    let clock = "the program sets the core's clock to 24 MHz by its registers, but times are at the soc's 48 MHz";
    let text = expect_success(worst(folder, &["--interrupt", "5"])).stdout;
    assert!(text.contains(&format!("note: {note}\n")) && text.contains(clock), "{text}");
    let all = json(&expect_success(worst(folder, &["--interrupt", "5", "--format", "json"])));
    valid(&all);
    let notes = &all["results"][0]["notes"];
    assert!(
        notes[0] == note && notes[1].as_str().is_some_and(|it| it.starts_with(clock)),
        "{notes}"
    );
    let own = expect_success(worst(folder, &["--interrupt", "9"])).stdout;
    assert!(!own.contains("of its own") && own.contains(clock), "{own}");

    // Pairs of moments have no end without a distance.
    let pairs = ["--interrupt", "9", "--second", "5"];
    let refused = worst(folder, &pairs);
    refused.assert_error(2, &["the handler of interrupt 5 does not return", "--distance CYCLES"]);
    let text = expect_success(worst(folder, &[pairs.as_slice(), &["--distance", "9"]].concat()));
    assert!(text.stdout.contains(note), "{text:#?}");

    let run = |irq: &str, more: &[&str]| {
        let enabled = "--set=0xE000E100=0x220";
        let plain = ["sim", "a.elf", "--soc", "stm32c031", "--max-cycles", "9999", enabled, irq];
        run_rtmark(folder, &[&plain, more].concat())
    };
    let stuck = run("--irq=5@400", &[]);
    assert!(stuck.code != 0 && stuck.stderr.contains(note), "{stuck:#?}");
    let stuck = json(&run("--irq=5@400", &["--format", "json"]));
    assert_eq!(stuck["notes"][0], note);
    assert!(!expect_success(run("--irq=9@400", &[])).stderr.contains("of its own"));
}
