//! `rtmark worst` and `rtmark sim` over interrupts that only the default handler serves.

use std::path::Path;

use crate::common::{EXIT, Elf, Probe, START, Second, run_rtmark, storing};
use crate::worst::{expect_success, json, valid, worst};

/// A loop that masks interrupts in each round, with a default handler that never returns for interrupts 1 to 8, a
/// handler for interrupt 9, and half of the soc's clock.
fn image_with_default_handler(folder: &Path) {
    elf_with_default_handler(&folder.join("a.elf"), &Elf::default());
}

/// The same in a file of this kind.
fn elf_with_default_handler(path: &Path, kind: &Elf<'_>) {
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
    Elf { code: &code, probes, ..*kind }.write(path);
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
    let endless = "the handler of interrupt 5 does not return within 200000 cycles";
    assert!(text.stderr.contains(endless), "{text:#?}");

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

/// The default handler may return, so that nothing else tells that it served the interrupt.
#[test]
fn a_default_handler_that_returns_is_noted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image_with_default_handler(folder);
    let elf = folder.join("a.elf");
    let mut bytes = std::fs::read(&elf).expect("written");
    // The branch to itself becomes a return.
    let endless = [0xFE_u8, 0xE7, 0x00, 0xBF, 0x00, 0xBF, 0x70, 0x47];
    let at = bytes.windows(endless.len()).position(|it| it == endless).expect("the handler");
    bytes[at..at + 2].copy_from_slice(&[0x70, 0x47]);
    std::fs::write(&elf, bytes).expect("writable");
    let run = |irqs: &[&str]| {
        let enabled = "--set=0xE000E100=0x220";
        let plain = ["sim", "a.elf", "--soc", "stm32c031", "--max-cycles", "9999", enabled];
        expect_success(run_rtmark(folder, &[plain.as_slice(), irqs].concat())).stderr
    };
    let note = "IRQ 5 has no handler of its own";
    assert_eq!(run(&["--irq=5@400", "--irq=5@500", "--irq=9@600"]).matches(note).count(), 1);
    assert!(!run(&["--irq=9@400"]).contains("of its own"));
}

/// Without debug information functions have names nevertheless; without names nothing is known about them.
#[test]
fn functions_that_were_not_executed_need_names_alone() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let elf = folder.join("a.elf");
    let kind = Elf { second: "unused", second_is: Second::Function(0xB0), ..Elf::default() };
    elf_with_default_handler(&elf, &kind);
    let bytes = std::fs::read(&elf).expect("written");
    let found = |bytes: &[u8]| {
        std::fs::write(&elf, bytes).expect("writable");
        let text = expect_success(worst(folder, &["--interrupt", "9"])).stdout;
        let all = ["--interrupt", "9", "--format", "json"];
        let all = json(&expect_success(worst(folder, &all)));
        valid(&all);
        (text, all["results"][0].clone())
    };
    let (text, named) = found(&bytes);
    assert!(text.contains("not executed: 1 function of the image\n  unused\n"), "{text}");
    assert_eq!(named["not_executed"], serde_json::json!(["unused"]));
    assert!(named.get("functions_unknown").is_none(), "{named}");

    // Function symbols become symbols of no type.
    let mut nameless = bytes;
    for size in [0xC0_u32, 0x10] {
        let function = [size.to_le_bytes().as_slice(), &[0x12]].concat();
        let at = nameless.windows(5).position(|it| it == function).expect("a symbol");
        nameless[at + 4] = 0x10;
    }
    let (text, nameless) = found(&nameless);
    assert!(text.contains("which functions were not executed is unknown"), "{text}");
    assert_eq!(
        (&nameless["functions_unknown"], &nameless["not_executed"]),
        (&true.into(), &serde_json::json!([]))
    );
}

/// A handler may return at the first moment and at no later one.
#[test]
fn handlers_that_return_at_first_alone_are_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let mut code = vec![0xBF00; 2];
    // Over the vectors and the handlers.
    code[0] = 0xE01C;
    for handler in [[START + 0x38; 8].as_slice(), &[START + 0x28]].concat() {
        code.extend([handler as u16 | 1, (handler >> 16) as u16]);
    }
    // cmp r7, #0; beq +2; b .; bx lr
    code.extend([0x2F00, 0xD000, 0xE7FE, 0x4770]);
    code.resize(28, 0xBF00);
    code.push(0x4770);
    code.push(0xBF00);
    // movs r7, #0; movs r0, #100; then as long with r7 = 1
    for round in [0x2700, 0x2701] {
        code.extend([round, 0x2064, 0x3801, 0xD1FD]);
    }
    code.extend(EXIT);
    let probes: &[Probe<'_>] = &[(1, START + 62, "a.b"), (2, START + 76, "a.b")];
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
    let refused = worst(folder, &["--interrupt", "9", "--second", "5"]);
    refused.assert_error(2, &["the handler of interrupt 9 does not return", "--distance CYCLES"]);
}

#[test]
fn an_interrupt_that_the_program_leaves_alone_is_enabled_by_the_command() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    Elf { code: EXIT, ..Elf::default() }.write(&folder.join("a.elf"));
    let sim = |more: &[&str]| {
        run_rtmark(folder, &[&["sim", "a.elf", "--soc", "stm32f405"], more].concat())
    };
    let unheld = sim(&["--arm", "5=0x41"]);
    unheld.assert_error(2, &["--arm", "5 cannot have priority 0x41", "0x40"]);
    sim(&["--arm", "200=0"]).assert_error(2, &["--arm", "has no interrupt 200"]);
    for wrong in ["5", "5=", "5=256", "x=0"] {
        assert_eq!(sim(&["--arm", wrong]).code, 2, "{wrong}");
    }
    let saved = sim(&["--arm", "5=0x40", "--snapshot", "a.snapshot"]);
    assert_eq!(run_rtmark(folder, &["sim", "--resume", "a.snapshot"]).code, saved.code);
}
