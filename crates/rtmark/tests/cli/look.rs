//! Looking at a run of `rtmark sim`: traces, profiles, the JSON result's schema.

use std::path::Path;

use serde_json::Value;

use crate::common::{
    BREAKPOINT, CommandResult, EXIT, Elf, LOOP, Second, UNDEFINED, printing, rtmark, run_rtmark,
    storing,
};

/// Runs `rtmark sim` on an image of this code.
fn sim(folder: &Path, code: &[u16], more: &[&str]) -> CommandResult {
    let path = folder.join("image.elf");
    Elf { code, ..Elf::default() }.write(&path);
    let path = path.display().to_string();
    run_rtmark(folder, &[&["sim", &path, "--soc", "stm32c031"], more].concat())
}

fn validator(schema: &str) -> jsonschema::Validator {
    let schema = serde_json::from_str(schema).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

/// `movs r0, #3; bl f; bl f; b .; f: push {lr}; bl g; subs r0, #1; pop {pc}; g: bx lr`
const CALLS: &[u16] = &[
    0x2003, 0xF000, 0xF803, 0xF000, 0xF801, 0xE7FE, 0xB500, 0xF000, 0xF802, 0x3801, 0xBD00, 0x4770,
];

#[test]
fn a_trace_lists_every_instruction() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let result = sim(folder.path(), &printing("hello", true), &["--trace"]);
    assert_eq!(result.code, 0, "{result:#?}");
    let lines: Vec<_> = result.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{result:#?}");
    assert!(lines[0].contains("08000040  2004"), "{result:#?}");
    assert!(lines[0].contains("start") && lines[0].ends_with("movs    r0, #4"), "{result:#?}");
    assert!(lines[1].contains("ldr     r1, [pc, #16]"), "{result:#?}");
    // The console has made room.
    assert!(result.stderr.contains("hello"), "{result:#?}");

    let file = folder.path().join("a.trace");
    let to_file = format!("--trace={}", file.display());
    let plain = sim(folder.path(), &printing("hello", true), &[]);
    let result = sim(folder.path(), &printing("hello", true), &[&to_file]);
    assert_eq!((result.stdout.as_str(), &result.stderr), ("hello\n", &plain.stderr));
    let text = std::fs::read_to_string(file).expect("written");
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn trace_bounds_are_respected() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let marks = ["--trace", "--trace-from", "0x08000042", "--trace-to", "start+8"];
    let result = sim(folder.path(), &printing("x", true), &marks);
    assert_eq!(result.stdout.lines().count(), 3, "{result:#?}");
    // A cycle comes once, so that the trace does not begin anew.
    let mixed = ["--trace", "--trace-from=@1", "--trace-to", "start+4"];
    let result = sim(folder.path(), &printing("x", true), &mixed);
    assert_eq!(result.stdout.lines().count(), 1, "{result:#?}");
    let between = ["--trace", "--trace-from=@100", "--trace-to=@130", "--max-cycles=1000"];
    let result = sim(folder.path(), LOOP, &between);
    let cycles = result.stdout.lines().map(|line| line.trim().split(' ').next().expect("a cycle"));
    let cycles: Vec<u64> = cycles.map(|cycle| cycle.parse().expect("a number")).collect();
    assert!(cycles.len() >= 10 && cycles.iter().all(|cycle| (100..130).contains(cycle)));
    // What lies before and behind is executed, and nobody looks on.
    let all = sim(folder.path(), LOOP, &["--trace", "--max-cycles=20000"]);
    let cycle = |line: &str| line.trim().split(' ').next().and_then(|cycle| cycle.parse().ok());
    let within =
        |line: &&str| cycle(line).is_some_and(|cycle: u64| (15_000..15_060).contains(&cycle));
    let expected: Vec<&str> = all.stdout.lines().filter(within).collect();
    let arguments = ["--trace", "--trace-from=@15000", "--trace-to=@15060", "--max-cycles=20000"];
    let part = sim(folder.path(), LOOP, &arguments);
    assert_eq!(part.stdout.lines().collect::<Vec<_>>(), expected);
    assert!(expected.len() > 10 && part.stderr == all.stderr, "{part:#?}");
    let result = sim(folder.path(), LOOP, &["--trace-from", "start"]);
    assert_eq!(result.code, 2, "{result:#?}");
    sim(folder.path(), LOOP, &["--trace", "--trace-from", "nowhere"]).assert_error(2, &["nowhere"]);
    sim(folder.path(), LOOP, &["--trace", "--format", "json"]).assert_error(2, &["--trace"]);
    sim(folder.path(), LOOP, &["--trace=/nonexistent/x"]).assert_error(2, &["/nonexistent/x"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_not_a_usage_error() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let full = |option: &str, value: &str| {
        let result = sim(folder.path(), EXIT, &[&format!("{option}={value}")]);
        result.assert_error(if value == "/dev/full" { 1 } else { 2 }, &[value]);
    };
    for option in ["--trace", "--profile", "--flame", "--snapshot"] {
        full(option, "/dev/full");
        full(option, "/nowhere/at/all");
    }
    let full_disk =
        || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut traced = rtmark(folder.path());
    traced.args(["sim", "image.elf", "--soc", "stm32c031", "--trace"]).stdout(full_disk());
    CommandResult::from(traced.output().expect("rtmark runs")).assert_error(1, &["output failed"]);
    for help in ["--help", "help", "--version"] {
        let mut told = rtmark(folder.path());
        told.arg(help).stdout(full_disk());
        CommandResult::from(told.output().expect("rtmark runs"))
            .assert_error(1, &["output failed"]);
    }
}

#[test]
fn a_profile_adds_up() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (folded, flame) = (folder.path().join("a.folded"), folder.path().join("a.svg"));
    let arguments = [
        "--max-cycles=500",
        &format!("--profile={}", folded.display()),
        &format!("--flame={}", flame.display()),
    ];
    let result = sim(folder.path(), CALLS, &arguments);
    assert!(result.stdout.contains("own cycles") && result.stdout.contains("start"), "{result:#?}");
    let text = std::fs::read_to_string(&folded).expect("written");
    let cycles = text.lines().map(|line| line.rsplit(' ').next().expect("a count"));
    let cycles: u64 = cycles.map(|count| count.parse::<u64>().expect("a number")).sum();
    assert!(result.stderr.contains(&format!("{cycles} cycles")), "{cycles} of {result:#?}");
    // All in one symbol, and yet called from it: a stack as deep as the calls.
    assert!(text.contains("start;start;start "), "{text}");
    let plain = std::fs::read_to_string(&flame).expect("written");
    assert!(plain.contains("<svg") && plain.contains("search("), "it searches: {plain}");

    let against = |base: &Path| {
        let base = format!("--flame-base={}", base.display());
        sim(
            folder.path(),
            CALLS,
            &["--max-cycles=300", &format!("--flame={}", flame.display()), &base],
        )
    };
    assert_eq!(against(&folded).code, result.code);
    let compared = std::fs::read_to_string(&flame).expect("written");
    assert!(compared.contains("%; -"), "fewer cycles: {compared}");
    against(&flame).assert_error(2, &["--flame-base", "no folded stacks", "--profile=FILE"]);
    against(Path::new("missing")).assert_error(2, &["--flame-base", "missing: No such file"]);
}

/// Static functions of different files may have one name, and so may instances of a generic one.
#[test]
fn a_profile_says_how_many_functions_have_a_name() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // `g` as another function with the name `start`.
    let twice =
        Elf { code: CALLS, second: "start", second_is: Second::Function(22), ..Elf::default() };
    twice.write(&folder.path().join("image.elf"));
    let run = |more: &[&str]| {
        let arguments = ["sim", "image.elf", "--soc=stm32c031", "--max-cycles=200"];
        run_rtmark(folder.path(), &[&arguments, more].concat())
    };
    let table = run(&["--profile"]).stdout;
    assert!(table.contains("start (2 functions)\n"), "{table}");
    let json: Value =
        serde_json::from_str(&run(&["--profile", "--format=json"]).stdout).expect("JSON");
    let addresses = serde_json::json!([0x0800_0040, 0x0800_0056]);
    assert_eq!(json["profile"][0]["namesakes"], addresses, "{json:#}");
}

#[test]
fn an_images_footprint_matches_its_schema() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let validator = validator(include_str!("../../../../docs/schema/footprint.schema.json"));
    Elf { code: &printing("hi", true), ..Elf::default() }.write(&folder.path().join("image.elf"));
    for more in [&["--format=json"][..], &["--format=json", "--by=symbol"]] {
        let arguments = ["footprint", "--image=a=image.elf", "--soc=stm32c031"];
        let result = run_rtmark(folder.path(), &[&arguments, more].concat());
        let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
        let errors: Vec<_> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {json:#}");
    }
}

#[test]
fn the_result_matches_its_schema() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let validator = validator(include_str!("../../../../docs/schema/sim.schema.json"));
    let runs: [&[&str]; 4] = [
        &["--format=json"],
        &["--format=json", "--clock=48MHz"],
        &["--format=json", "--profile", "--dump=0x20000000:8"],
        &["--format=json", "--max-cycles=3"],
    ];
    for more in runs {
        let result = sim(folder.path(), &printing("hi", true), more);
        let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
        let errors: Vec<_> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {json:#}");
    }
    let result = sim(folder.path(), CALLS, &["--format=json", "--profile", "--max-cycles=200"]);
    let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
    let function = &json["profile"][0];
    assert_eq!(
        (&function["name"], &function["inclusive_cycles"]),
        (&"start".into(), &json["cycles"])
    );
    assert_eq!(function["calls"], 5, "{json:#}");
}

#[test]
fn a_resumed_snapshot_continues_identically() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("a.snapshot").display().to_string();
    let json =
        |result: &CommandResult| -> Value { serde_json::from_str(&result.stdout).expect("JSON") };
    let more = ["--max-cycles=900", "--set=r7=5", "--irq=3@40", "--format=json"];
    let plain = json(&sim(folder.path(), CALLS, &more));
    let keep = ["--snapshot", &file, "--snapshot-at=500"];
    let kept = json(&sim(folder.path(), CALLS, &[&more[..], &keep].concat()));
    assert_eq!(plain, kept);
    std::fs::remove_file(folder.path().join("image.elf")).expect("it was there");
    let resume = ["sim", "--resume", &file, "--max-cycles=900", "--format=json"];
    let resumed = run_rtmark(folder.path(), &resume);
    assert_eq!(json(&resumed), plain, "{resumed:#?}");
    let early =
        run_rtmark(folder.path(), &["sim", "--resume", &file, "--max-cycles=510", "--trace"]);
    let first = early.stdout.lines().next().expect("a line").trim().to_owned();
    assert!(first.starts_with("50"), "{early:#?}");

    let twice = run_rtmark(folder.path(), &["sim", "--resume", &file, "--soc", "stm32c031"]);
    assert_eq!(twice.code, 2, "{twice:#?}");
    let mut bytes = std::fs::read(&file).expect("written");
    bytes[8] = 99;
    std::fs::write(&file, &bytes).expect("writable");
    run_rtmark(folder.path(), &resume).assert_error(2, &["version 99"]);
    (bytes[8], bytes[90]) = (1, bytes[90] ^ 1);
    std::fs::write(&file, &bytes).expect("writable");
    run_rtmark(folder.path(), &resume).assert_error(2, &["damaged"]);
}

#[test]
fn a_snapshot_at_the_end_reports_that_ending() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("a.snapshot").display().to_string();
    let ends = [(UNDEFINED, "fault"), (LOOP, "limit"), (BREAKPOINT, "breakpoint"), (EXIT, "exit")];
    for (code, ending) in ends {
        sim(folder.path(), code, &["--max-cycles=300", "--snapshot", &file]);
        let resume = ["sim", "--resume", &file, "--max-cycles=400", "--format=json"];
        let result = run_rtmark(folder.path(), &resume);
        let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
        assert_eq!(json["ending"], ending, "{result:#?}");
    }
    sim(folder.path(), CALLS, &["--until=start+6", "--snapshot", &file]);
    let result = run_rtmark(folder.path(), &["sim", "--resume", &file, "--max-cycles=100"]);
    assert!(result.stderr.contains("still running"), "{result:#?}");
}

/// On a Cortex-M7, several instructions may complete in the cycle that ends the run.
#[test]
fn a_snapshot_of_what_was_printed_can_be_resumed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let code = printing("PASS", true);
    Elf { code: &code, ..Elf::default() }.write(&folder.join("a.elf"));
    for soc in ["stm32f405", "stm32h743"] {
        let run = ["sim", "a.elf", "--soc", soc, "--until-output", "PASS", "--snapshot", "a"];
        let printed = run_rtmark(folder, &run);
        assert!(printed.code == 0 && printed.stdout.contains("PASS"), "{printed:#?}");
        let resumed = run_rtmark(folder, &["sim", "--resume", "a", "--format", "json"]);
        let json: Value = serde_json::from_str(&resumed.stdout).expect("JSON");
        assert_eq!(json["ending"], "exit", "{resumed:#?}");
    }
}

/// The cycle in which a run of some time ends depends on the clocks that the program sets meanwhile.
#[test]
fn a_snapshot_is_of_the_cycle_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    // RCC_CR.HSEON; RCC_CFGR.SW: from 16 MHz to the crystal; a loop.
    let mut code = storing(0x4002_3800, 0x0001_0083);
    code.extend(storing(0x4002_3808, 1));
    code.extend(LOOP);
    Elf { code: &code, ..Elf::default() }.write(&folder.join("a.elf"));
    let run = ["sim", "a.elf", "--soc", "stm32f405", "--for", "1ms", "--snapshot", "a"];
    for (crystal, at, cycle) in [
        ("8MHz", None, 8_000),
        ("26MHz", None, 26_000),
        ("26MHz", Some("--snapshot-at=20000"), 20_000),
    ] {
        let more = ["--crystal", crystal].into_iter().chain(at).collect::<Vec<_>>();
        let kept = run_rtmark(folder, &[&run[..], &more].concat());
        let resume = ["sim", "--resume", "a", "--max-cycles", "1", "--format", "json"];
        let resumed = run_rtmark(folder, &resume);
        let json: Value = serde_json::from_str(&resumed.stdout).expect("JSON");
        assert_eq!(json["ending"], "limit", "{kept:#?} {resumed:#?}");
        let cycles = json["cycles"].as_u64().expect("a number");
        assert!(cycles.abs_diff(cycle) < 200, "{crystal}: {cycles}");
    }
}

/// Opens `a.txt` for writing, writes four bytes of its own name, ends with success if
/// both worked, with failure if not.
fn writing() -> Vec<u16> {
    let mut code = vec![
        0x2001, 0x4908, 0xBEAB, // movs r0, #1; ldr r1, =open; bkpt 0xab
        0x4A0A, 0x6010, // ldr r2, =write in RAM; str r0, [r2]
        0x4907, 0x6051, // ldr r1, =name; str r1, [r2, #4]
        0x2304, 0x6093, // movs r3, #4; str r3, [r2, #8]
        0x2005, 0x0011, 0xBEAB, // movs r0, #5; movs r1, r2; bkpt 0xab
        0x4904, 0x1A09, // ldr r1, =0x20026; subs r1, r0
        0x2018, 0xBEAB, 0xE7FE, 0x46C0, // movs r0, #0x18; bkpt 0xab; b .; nop
    ];
    // The literals follow in words 9 to 13: what r1 points to, the name, the status, RAM.
    let at = crate::common::START + 36;
    let open = at + 16;
    for word in [open, at + 28, 0x20026, 0x2000_0000, at + 28, 4, 5] {
        code.extend([word as u16, (word >> 16) as u16]);
    }
    code.extend([
        u16::from_le_bytes(*b"a."),
        u16::from_le_bytes(*b"tx"),
        u16::from_le_bytes(*b"t\0"),
    ]);
    code
}

#[test]
fn semihosting_files_stay_in_their_folder() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let lent = folder.path().join("lent");
    std::fs::create_dir(&lent).expect("created");
    let option = format!("--semihosting-dir={}", lent.display());
    let result = sim(folder.path(), &writing(), &[&option]);
    assert_eq!(result.code, 0, "{result:#?}");
    assert_eq!(std::fs::read(lent.join("a.txt")).expect("written"), b"a.tx");
    let result = sim(folder.path(), &writing(), &[]);
    assert_eq!(result.code, 11, "{result:#?}");
    sim(folder.path(), LOOP, &["--semihosting-dir=/nonexistent"])
        .assert_error(2, &["/nonexistent"]);
}

#[test]
fn masked_intervals_have_length_and_location() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // cpsid i; nop; nop; nop; cpsie i; cpsid i; nop; cpsie i; b back to the beginning
    let code = [0xB672, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0xB672, 0xBF00, 0xB662, 0xE7F6];
    let arguments = ["--masked", "--format=json", "--max-cycles=400"];
    let result = sim(folder.path(), &code, &arguments);
    let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
    let mut intervals = json["masked"].as_array().expect("a list").clone();
    // One may be open when the run ends.
    intervals.retain(|interval| interval["open"].is_null());
    assert_eq!(intervals.len(), 2, "{json:#}");
    let long = &intervals[0];
    // Three instructions and the one that clears, with a wait where a line of flash begins.
    assert!((4..=6).contains(&long["cycles"].as_u64().expect("a number")), "{long:#}");
    assert_eq!(long["by"], serde_json::json!(["PRIMASK"]));
    assert_eq!(long["from"]["function"], "start");
    let begins = long["from"]["address"].as_u64().expect("an address");
    assert_eq!(long["to"]["address"].as_u64(), Some(begins + 8), "{long:#}");
    assert!(long["times"].as_u64() > Some(10), "{long:#}");

    let text = sim(folder.path(), &code, &["--masked=1", "--max-cycles=400"]);
    assert_eq!(text.stdout.lines().filter(|line| line.contains("from start")).count(), 1);
    let all = sim(folder.path(), &code, &["--masked", "--masked-priority=0", "--max-cycles=400"]);
    assert!(all.stdout.contains("one instruction"), "{all:#?}");
    assert_eq!(sim(folder.path(), &code, &["--masked-priority=0"]).code, 2);
    // What begins and ends in one cycle has held nothing back.
    let every = ["--masked=100", "--masked-priority=0", "--format=json", "--max-cycles=400"];
    let every: Value =
        serde_json::from_str(&sim(folder.path(), &code, &every).stdout).expect("JSON");
    let every = every["masked"].as_array().expect("a list");
    assert!(every.iter().all(|interval| interval["cycles"].as_u64() > Some(0)), "{every:#?}");
    // A table without lines would say that nothing was ever held back.
    assert_eq!(sim(folder.path(), &code, &["--masked=0"]).code, 2);
    // Two bits of priority: 4 would be taken for 0.
    sim(folder.path(), &code, &["--masked", "--masked-priority=4"])
        .assert_error(2, &["stm32c031 has no priority 4", "0 to 3"]);
}

/// cpsid i; nop; b back to the nop.
#[test]
fn interrupts_that_are_masked_for_good_are_listed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let code = [0xB672, 0xBF00, 0xE7FD];
    let result = sim(folder.path(), &code, &["--masked", "--format=json", "--max-cycles=400"]);
    let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
    let [open] = json["masked"].as_array().expect("a list").as_slice() else { panic!("{json:#}") };
    assert_eq!((&open["open"], &open["times"]), (&Value::Bool(true), &1.into()), "{json:#}");
    assert!(open["cycles"].as_u64() > Some(350), "{json:#}");
    assert_eq!(open["ended"], json["cycles"], "{json:#}");
    let text = sim(folder.path(), &code, &["--masked", "--max-cycles=400"]).stdout;
    assert!(text.contains(", where the run ended: still held back"), "{text}");
    // So is an interrupt of a priority, for which every instruction is observed.
    let every = sim(folder.path(), &code, &["--masked", "--masked-priority=0", "--max-cycles=400"]);
    assert!(every.stdout.contains("still held back"), "{every:#?}");
}
