//! `rtmark worst` and `rtmark merge` over a small image made here.

use std::path::Path;

use serde_json::Value;

use crate::common::{CommandResult, EXIT, Elf, LOOP, Probe, START, run_rtmark, storing};

/// A loop that masks interrupts in each round, with a handler for interrupt 8.
pub fn image(folder: &Path) {
    let mut code = vec![0xBF00; 16];
    // Over the vector and the handler.
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00]);
    // movs r0, #100; round: cpsid i; five nops; cpsie i; subs r0, #1; bne round
    code.extend([0x2064, 0xB672, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0x3801, 0xD1F6]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] = &[(1, START + 40, "a.b"), (2, START + 60, "a.b")];
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
}

/// A program with handlers for interrupts 8 and 9, of which the second is longer, and 100 times
/// two to the power of `doublings` rounds.
fn image_of_two(folder: &Path, doublings: u16) {
    let mut code = vec![0xBF00; 16];
    // Over the vectors and the handlers.
    code[0] = 0xE016;
    for handler in [START + 0x28, START + 0x2C] {
        code.extend([handler as u16 | 1, (handler >> 16) as u16]);
    }
    code.extend([0x4770, 0xBF00, 0xBF00, 0x4770]);
    // movs r0, #100; lsls r0, #doublings; nop
    code.extend([0x2064, doublings << 6, 0xBF00]);
    // round: cpsid i; five nops; cpsie i; subs r0, #1; bne round
    code.extend([0xB672, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0x3801, 0xD1F6]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] = &[(1, START + 48, "a.b"), (2, START + 72, "a.b")];
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
}

/// A loop that masks interrupts in each round, with a handler for SysTick alone.
fn image_of_tick(folder: &Path) {
    // b over; bx lr; over: movs r0, #100; round: cpsid i; five nops; cpsie i; subs r0, #1; bne round
    let mut code = vec![0xE000, 0x4770, 0x2064];
    code.extend([0xB672, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0x3801, 0xD1F6, 0xBF00]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] = &[(1, START + 6, "a.b"), (2, START + 24, "a.b")];
    let file = folder.join("a.elf");
    Elf { code: &code, probes, ..Elf::default() }.write(&file);
    let mut bytes = std::fs::read(&file).expect("written");
    let reset = (START | 1).to_le_bytes();
    let reset = bytes.windows(8).position(|words| words == [[0, 4, 0, 0x20], reset].concat());
    let vector = reset.expect("vectors") + 15 * 4;
    bytes[vector..vector + 4].copy_from_slice(&(START + 3).to_le_bytes());
    std::fs::write(&file, bytes).expect("writable");
}

pub fn worst(folder: &Path, more: &[&str]) -> CommandResult {
    run_rtmark(folder, &[&["worst", "a.elf", "--soc", "stm32c031"], more].concat())
}

pub fn json(result: &CommandResult) -> Value {
    serde_json::from_str(&result.stdout).unwrap_or_else(|error| panic!("{error}: {result:#?}"))
}

pub fn expect_success(result: CommandResult) -> CommandResult {
    assert_eq!(result.code, 0, "{result:#?}");
    result
}

#[test]
fn the_worst_moment_is_reported_and_can_be_reopened() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image(folder);
    let options = ["--explain", "--picture", "a.svg", "--snapshot", "a.snapshot"];
    let result = expect_success(worst(folder, &options));
    for word in ["all searched", "PRIMASK", "longest stretches", "cpsie", "not a bound"] {
        assert!(result.stdout.contains(word), "no `{word}` in {result:#?}");
    }
    let picture = std::fs::read_to_string(folder.join("a.svg")).expect("drawn");
    for word in ["<svg", "role=\"img\"", "<desc", "prefers-color-scheme:dark"] {
        assert!(picture.contains(word), "{word}");
    }

    let all = json(&expect_success(worst(folder, &["--format", "json"])));
    valid(&all);
    let handler = &all["results"][0]["latencies"][0];
    let value = |name: &str| handler[name].as_i64().expect("a number");
    // Masked for five NOPs and CPSIE, and for the wait states of the code on the way.
    assert!(value("max") >= value("min") + 6, "{handler}");
    let points: i64 = handler["histogram"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry[1].as_i64().expect("a number"))
        .sum();
    assert_eq!(points, value("points"));
    let witness = &handler["witnesses"][0];
    assert_eq!(witness["cycles"], handler["max"]);
    // What held it back adds up to the wait.
    let held = witness["held"].as_array().expect("a list");
    let sum: i64 = held.iter().map(|one| one[1].as_i64().expect("cycles")).sum();
    assert_eq!(Some(sum), witness["cycles"].as_i64(), "{witness}");
    assert!(held.iter().any(|one| one[0] == "PRIMASK"), "{witness}");

    // The snapshot is of that moment, and the command leads to the handler when it says.
    let resumed =
        expect_success(run_rtmark(folder, &["sim", "--resume", "a.snapshot", "--format", "json"]));
    assert_eq!(json(&resumed)["ending"], "exit");
    let command = witness["command"].as_str().expect("text");
    let handler_address = format!("--until={:#x}", START + 0x24);
    let words: Vec<_> = command.split(' ').chain([handler_address.as_str()]).collect();
    let replayed = json(&expect_success(run_rtmark(
        folder,
        &[words.as_slice(), &["--format", "json"]].concat(),
    )));
    let (point, cycles) = (witness["point"].as_u64(), witness["cycles"].as_u64());
    let served = point.zip(cycles).map(|(point, cycles)| point + cycles).expect("numbers");
    let stopped = replayed["cycles"].as_u64().expect("a number");
    // It stops before the handler's code has been waited for.
    assert!((served - 3..=served).contains(&stopped), "{served} {stopped}");
}

#[test]
fn an_image_without_external_handlers_is_searched_by_its_tick() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image_of_tick(folder);
    let refused = worst(folder, &[]);
    refused
        .assert_error(2, &["interrupt 8 has no handler", "at reset it has handlers for SysTick"]);
    let unknown = worst(folder, &["--interrupt", "NMI"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("`NMI` is not an interrupt"));

    let all = json(&expect_success(worst(folder, &["--interrupt", "systick", "--format", "json"])));
    valid(&all);
    assert_eq!(all["results"][0]["interrupt"], -1);
    let latency = &all["results"][0]["latencies"][0];
    let [least, most] = ["min", "max"].map(|name| latency[name].as_u64().expect("a number"));
    assert!((15..most - 5).contains(&least) && most < 40, "{latency}");
    let witness = &latency["witnesses"][0];
    let command = witness["command"].as_str().expect("text");
    let point = witness["point"].as_u64().expect("a number");
    assert!(command.contains(&format!("--irq=SysTick@{point}")), "{command}");
    // The command leads to the handler when the search says.
    let until = format!("--until={:#x}", START + 2);
    let words: Vec<_> = command.split(' ').chain([until.as_str(), "--format", "json"]).collect();
    let stopped = json(&expect_success(run_rtmark(folder, &words)))["cycles"].as_u64();
    let served = point + most;
    assert!(stopped.is_some_and(|at| (served - 3..=served).contains(&at)), "{served} {stopped:?}");

    // Inputs are part of the command, quoted for a shell.
    std::fs::write(folder.join("a b"), "in").expect("a scratch file");
    let given = ["--interrupt", "systick", "--pin=PA0=1@1ms", "--uart-in=a b", "--format", "json"];
    let with_input = json(&expect_success(worst(folder, &given)));
    let command = &with_input["results"][0]["latencies"][0]["witnesses"][0]["command"];
    let command = command.as_str().expect("text");
    assert!(command.contains(" '--uart-in=a b' --pin=PA0=1@1ms --arm="), "{command}");

    let text = expect_success(worst(folder, &["--interrupt", "SysTick", "--explain"])).stdout;
    for word in ["interrupt SysTick at priority 0x00", "SysTick becomes pending", "PRIMASK"] {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
    let high = ["--interrupt", "SysTick", "--priority", "0xC0", "--format", "json"];
    let high = json(&expect_success(worst(folder, &high)));
    let command = high["results"][0]["latencies"][0]["witnesses"][0]["command"].as_str();
    assert!(command.is_some_and(|it| it.contains("--arm=SysTick=0xc0")), "{command:?}");
}

/// A loop on a Cortex-M4F that holds back by BASEPRI in each round, with a handler for interrupt 8, after these
/// instructions.
fn image_with_basepri(folder: &Path, first: &[u16]) {
    let mut code = vec![0xBF00; 16];
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00]);
    code.extend(first);
    let begin = START + 46 + 2 * first.len() as u32;
    // movs r0, #100; movs r1, #0x60; movs r2, #0; round: msr basepri, r1; five nops; msr basepri, r2;
    // subs r0, #1; bne round
    code.extend([0x2064, 0x2160, 0x2200, 0xF381, 0x8811, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xBF00]);
    code.extend([0xF382, 0x8811, 0x3801, 0xD1F5]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] = &[(1, begin, "a.b"), (2, begin + 22, "a.b")];
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
}

/// A value of BASEPRI holds back all priorities of its group.
#[test]
fn the_chosen_priority_respects_grouping() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    for (group, priority) in [(0, 0x60), (4, 0x60), (5, 0x40), (6, 0x00), (7, 0x00)] {
        image_with_basepri(folder, &storing(0xE000_ED0C, 0x05FA_0000 | group << 8));
        let words = ["worst", "a.elf", "--soc", "stm32f405", "--format", "json"];
        let found = json(&expect_success(run_rtmark(folder, &words)));
        assert_eq!(found["results"][0]["priority"], priority, "group {group}");
        assert_eq!(found["results"][0]["latencies"][0]["max"], 16, "group {group}");
    }
}

#[test]
fn an_images_own_masks_choose_the_priority() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image_with_basepri(folder, &[]);
    let search = |more: &[&str]| {
        let plain = ["worst", "a.elf", "--soc", "stm32f405", "--format", "json"];
        expect_success(run_rtmark(folder, &[&plain, more].concat()))
    };
    let longest = |result: &CommandResult| {
        json(result)["results"][0]["latencies"][0]["max"].as_u64().expect("a number")
    };
    let own = search(&[]);
    assert!(own.stderr.contains("priority 0x60 is the most urgent"), "{own:#?}");
    assert_eq!(json(&own)["results"][0]["priority"], 0x60);
    for more in [["--priority", "0x50"].as_slice(), &["--above"]] {
        let above = search(more);
        assert!(!above.stderr.contains("note"), "{above:#?}");
        // Held back from one MSR to the other: five NOPs, minus what the interrupt takes to arrive.
        assert_eq!((longest(&above), longest(&own)), (12, 16));
    }
}

pub fn valid(document: &Value) {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/worst.schema.json");
    let schema = std::fs::read_to_string(schema).expect("published");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems: Vec<_> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn two_interrupts_meet_at_every_distance() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image_of_two(folder, 0);
    let two = ["--second", "9", "--priority", "0x80", "--second-priority", "0"];
    let result = expect_success(worst(folder, &[two.as_slice(), &["--explain"]].concat()));
    let words = ["interrupts 8 at priority 0x80 and 9 at 0x00", "nested", "tail-chained", "late"];
    for word in words.into_iter().chain(["handler has returned", "IRQ 9 becomes pending"]) {
        assert!(result.stdout.contains(word), "no `{word}` in {result:#?}");
    }

    let worst_json = |more: &[&str]| {
        expect_success(worst(folder, &[two.as_slice(), &["--format", "json"], more].concat()))
    };
    let all = json(&worst_json(&["--distance", "30"]));
    valid(&all);
    let result = &all["results"][0];
    let (points, second) = (result["points"].as_u64().expect("a number"), &result["second"]);
    // Each point with each distance before and after, and none twice.
    assert_eq!(second["pairs"].as_u64(), Some(points * 61), "{second}");
    let meetings = second["meetings"].as_array().expect("a list");
    let pairs: u64 = meetings.iter().filter_map(|met| met["pairs"].as_u64()).sum();
    assert_eq!(pairs, points * 61, "all are served");
    let hows: Vec<_> = meetings.iter().map(|met| met["how"].as_str().expect("text")).collect();
    assert_eq!(hows, ["nested", "tail_chained", "late_arrival", "apart"]);

    // The more urgent one waits for the mask alone, the other one for its handler, too.
    let timed = &result["latencies"];
    assert!(timed[0]["max"].as_i64() > timed[1]["max"].as_i64(), "{timed}");
    for (timed, number) in [(&timed[0], 8), (&timed[1], 9)] {
        let witness = &timed["witnesses"][0];
        assert_eq!(witness["cycles"], timed["max"]);
        assert_eq!(witness["other"]["interrupt"], 17 - number);
        let handler = START + 0x28 + if number == 9 { 4 } else { 0 };
        let until = format!("--until={handler:#x}");
        let command = witness["command"].as_str().expect("text");
        let words: Vec<_> = command.split(' ').chain([until.as_str()]).collect();
        let run =
            expect_success(run_rtmark(folder, &[words.as_slice(), &["--format", "json"]].concat()));
        let (point, cycles) = (witness["point"].as_u64(), witness["cycles"].as_u64());
        let served = point.zip(cycles).map(|(point, cycles)| point + cycles).expect("numbers");
        let stopped = json(&run)["cycles"].as_u64().expect("a number");
        assert!((served - 3..=served).contains(&stopped), "{served} {stopped}");
    }

    worst_json(&["--distance", "30", "--state", "p.worst"]);
    worst(folder, &["--state", "p.worst"]).assert_error(2, &["another search"]);
    expect_success(worst(folder, &[two.as_slice(), &["--snapshot", "p.snapshot"]].concat()));
    let resumed =
        expect_success(run_rtmark(folder, &["sim", "--resume", "p.snapshot", "--format", "json"]));
    assert_eq!(json(&resumed)["ending"], "exit");

    worst(folder, &["--second", "8"]).assert_error(2, &["cannot be distinguished", "--second"]);
    worst(folder, &["--second", "77"]).assert_error(2, &["interrupts 0 to 31", "77"]);
    assert_eq!(worst(folder, &["--distance", "7"]).code, 2);
}

#[test]
fn merged_parts_of_pairs_equal_the_whole_search() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    // Long enough for each part to have its own piece.
    image_of_two(folder, 5);
    let two = ["--second", "9", "--priority", "0x80", "--second-priority", "0"];
    let arguments = |more: &[&str]| {
        let form = ["--distance", "1", "--format", "json"];
        worst(folder, &[two.as_slice(), &form, more].concat())
    };
    let pairs = |result: &CommandResult| json(result)["results"][0]["second"]["pairs"].as_u64();
    let whole = expect_success(arguments(&["--state", "whole.worst"]));
    let parts = ["1/3", "2/3", "3/3"].map(|part| {
        let part = arguments(&["--partition", part, "--state", &format!("{}.worst", &part[..1])]);
        pairs(&expect_success(part)).expect("a number")
    });
    assert!(parts.iter().all(|&pairs| pairs > 10_000), "{parts:?}");
    assert_eq!(pairs(&whole), Some(parts.iter().sum()));
    let again = [&two[..], &["--distance", "1", "--partition", "2/3", "--state", "2.worst"]];
    let again = expect_success(worst(folder, &again.concat()));
    assert!(again.stdout.contains("all of part 2/3 searched"), "{again:#?}");

    for form in ["text", "json"] {
        let joined = |parts: &[&str]| {
            expect_success(run_rtmark(folder, &[&["merge", "--format", form], parts].concat()))
                .stdout
        };
        let at_once = joined(&["whole.worst"]);
        assert_eq!(joined(&["1.worst", "2.worst", "3.worst"]), at_once);
        assert_eq!(joined(&["3.worst", "1.worst", "2.worst"]), at_once);
    }
    let merged = expect_success(run_rtmark(
        folder,
        &["merge", "2.worst", "3.worst", "1.worst", "--format=json"],
    ));
    assert_eq!(json(&merged)["results"], json(&whole)["results"]);
    run_rtmark(folder, &["merge", "1.worst", "3.worst"]).assert_error(12, &["parts are missing"]);
}

#[test]
fn merged_parts_equal_the_whole_and_searches_resume() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image(folder);
    // Windows of many pieces do not fit this image: one piece, and a part that has none.
    let whole = expect_success(worst(folder, &["--format", "json"]));
    for (part, said) in [("1/2", "all searched"), ("2/2", "part 2/2, which has nothing to search")]
    {
        let name = format!("{}.worst", &part[..1]);
        let part = expect_success(worst(folder, &["--partition", part, "--state", &name]));
        assert!(part.stdout.contains(said), "{part:#?}");
    }
    let merged =
        expect_success(run_rtmark(folder, &["merge", "1.worst", "2.worst", "--format", "json"]));
    assert_eq!(json(&merged)["results"], json(&whole)["results"]);
    let again = expect_success(worst(folder, &["--state", "1.worst", "--format", "json"]));
    assert_eq!(json(&again)["results"], json(&whole)["results"]);
    run_rtmark(folder, &["merge", "2.worst"]).assert_error(12, &["parts are missing"]);

    let follow = expect_success(worst(folder, &["--state", "f.worst", "--follow"]));
    assert!(follow.stdout.contains("interrupted code continues"), "{follow:#?}");
    run_rtmark(folder, &["merge", "1.worst", "f.worst"]).assert_error(5, &["different searches"]);
    worst(folder, &["--state", "f.worst"]).assert_error(2, &["another search"]);
    std::fs::write(folder.join("x.worst"), "RTMARKWC and nothing").expect("writable");
    run_rtmark(folder, &["merge", "x.worst"]).assert_error(2, &["too short"]);
    let none = run_rtmark(folder, &["merge", "a.elf"]);
    none.assert_error(2, &["a.elf", "not a part of a run", "--state"]);
}

#[test]
fn a_program_that_tolerates_the_interrupt_has_no_race() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    image(folder.path());
    let checked = expect_success(worst(folder.path(), &["--check"]));
    assert!(checked.stdout.contains("no race: the program succeeded"), "{checked:#?}");
}

#[test]
fn a_program_that_fails_without_interrupts_is_rejected() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    // A loop for ever, with a handler that returns at once.
    let mut code = vec![0xBF00; 16];
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00]);
    let mut endless = code.clone();
    endless.extend([0xBF00, 0xE7FD]);
    Elf { code: &endless, ..Elf::default() }.write(&folder.join("a.elf"));
    let arguments = ["--check", "--window", "100:200", "--max-cycles", "100000"];
    worst(folder, &arguments).assert_error(12, &["without the interrupt", "--until-output"]);
    // movs r0, #0: semihosting's exit with a reason that is none of success's.
    let mut bad = code;
    bad.extend([0x2018, 0x2100, 0xBEAB, 0xE7FE]);
    Elf { code: &bad, ..Elf::default() }.write(&folder.join("a.elf"));
    worst(folder, &arguments).assert_error(11, &["without the interrupt", "own check fails"]);
}

#[test]
fn impossible_searches_are_rejected() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image(folder);
    worst(folder, &["--interrupt", "99"]).assert_error(2, &["interrupts 0 to 31", "99"]);
    worst(folder, &["--interrupt", "5"]).assert_error(2, &["no handler", "0xbf00bf00"]);
    // Of two bits, a level in the lower ones leaves nothing: the most urgent priority.
    worst(folder, &["--priority", "1"]).assert_error(2, &["hold 0x00", "level 1 is 0x40"]);
    worst(folder, &["--priority", "0xff"]).assert_error(2, &["upper 2 of 8 bits: give 0xc0"]);
    for (wrong, word) in [(["--window", "9:5"], "two cycles"), (["--partition", "3/2"], "2/8")] {
        let result = worst(folder, &wrong);
        assert!(result.code == 2 && result.stderr.contains(word), "{result:#?}");
    }
    worst(folder, &["--budget", "0"]).assert_error(12, &["incomplete", "--budget"]);
    // Of two socs, one has no memory where the image lies: the other one's result is not lost.
    let of_one = worst(folder, &["rp2040"]);
    assert!(of_one.stdout.contains("on stm32c031"), "{of_one:#?}");
    of_one.assert_error(2, &["rp2040", "another with --soc"]);
    Elf { code: LOOP, ..Elf::default() }.write(&folder.join("a.elf"));
    worst(folder, &["--max-cycles", "1000"]).assert_error(12, &["no probes", "--window 0:1000"]);
}

#[test]
fn holders_add_up_if_a_one_instruction_handler_waits_for_flash() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let mut code = vec![0xBF00; 16];
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    // The handler: bx lr.
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00]);
    // movs r0, #1; ldr r1, =FLASH_ACR; str r0, [r1]; b over the literal: a wait state.
    code.extend([0x2001, 0x4901, 0x6008, 0xE001, 0x2000, 0x4002]);
    // movs r0, #100; round: cpsid i; five nops; cpsie i; subs r0, #1; bne round
    code.extend([0x2064, 0xB672, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0x3801, 0xD1F6]);
    code.extend(EXIT);
    Elf { code: &code, ..Elf::default() }.write(&folder.join("a.elf"));
    let found = json(&expect_success(worst(folder, &["--window", "30:800", "--format", "json"])));
    let witnesses = found["results"][0]["latencies"][0]["witnesses"].as_array().expect("a list");
    assert!(witnesses.len() > 1, "{found:#?}");
    for witness in witnesses {
        let held = witness["held"].as_array().into_iter().flatten();
        let sum: i64 = held.map(|one| one[1].as_i64().expect("cycles")).sum();
        assert_eq!(Some(sum), witness["cycles"].as_i64(), "{witness:#?}");
    }
}

#[test]
fn later_priority_changes_are_reported() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let mut code = vec![0xBF00; 16];
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00]);
    // movs r0, #0x40; ldr r1, =NVIC_IPR2; str r0, [r1]; nop; b over the literal; nop
    code.extend([0x2040, 0x4902, 0x6008, 0xBF00, 0xE002, 0xBF00, 0xE408, 0xE000]);
    code.extend([0xBF00; 20]);
    code.extend(EXIT);
    Elf { code: &code, ..Elf::default() }.write(&folder.join("a.elf"));
    let found = |window: &str| {
        let arguments = ["--window", window, "--format", "json"];
        json(&expect_success(worst(folder, &arguments)))["results"][0].clone()
    };
    let all = found("0:30");
    assert_eq!((&all["priority"], &all["later_priority"]), (&0.into(), &0x40.into()));
    let text = expect_success(worst(folder, &["--window", "0:30"]));
    assert!(text.stdout.contains("priority 0x00, later set to 0x40 by the program"), "{text:#?}");
    let later = found("20:30");
    assert_eq!((&later["priority"], &later["later_priority"]), (&0x40.into(), &Value::Null));
}

/// A program for a Hazard3 whose loop only interrupts of priority 5 and greater interrupt:
/// MEICONTEXT.PREEMPT is 5 there.
fn image_for_hazard3(folder: &Path) {
    let words: [u32; 16] = [
        0x00C0_006F, // j main
        0x3020_0073, // handler: mret
        0x0000_0013, // nop
        0x0000_0297, // main: auipc t0, 0
        0xFF82_8293, // addi t0, t0, -8
        0x3052_9073, // csrw mtvec, t0
        0x0000_12B7, // lui t0, 1
        0x8002_8293, // addi t0, t0, -2048
        0x3042_A073, // csrs mie, t0: external interrupts
        0x3004_6073, // csrsi mstatus, 8
        0x0005_02B7, // lui t0, 0x50
        0xBE52_A073, // csrs meicontext, t0
        0x0640_0313, // li t1, 100
        0xFFF3_0313, // loop: addi t1, t1, -1
        0xFE03_1EE3, // bnez t1, loop
        0x0000_006F, // j .
    ];
    let code: Vec<u16> =
        words.iter().flat_map(|word| [*word as u16, (*word >> 16) as u16]).collect();
    let base: u32 = 0x8000_0000;
    let mut bytes = Elf { code: &code, base, ..Elf::default() }.bytes();
    bytes[18] = 243; // e_machine: RISC-V
    bytes[36..40].fill(0); // e_flags
    for at in 0..bytes.len() - 3 {
        let word = bytes[at..at + 4].try_into().map(u32::from_le_bytes);
        match word {
            // The entry, and the function's symbol: no bit says what it consists of.
            Ok(word) if word == base + 0x41 => bytes[at] = 0x40,
            // The first vector: j . + 0x40.
            Ok(0x2000_0400) => bytes[at..at + 4].copy_from_slice(&0x0400_006F_u32.to_le_bytes()),
            _ => {}
        }
    }
    std::fs::write(folder.join("a.elf"), bytes).expect("writable");
}

#[test]
fn the_most_urgent_priority_of_a_hazard3_is_the_highest_number() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image_for_hazard3(folder);
    let arguments = ["worst", "a.elf", "--soc", "generic-hazard3", "--interrupt", "3"];
    let found = |more: &[&str]| {
        let window = ["--window", "30:130", "--format", "json"];
        json(&expect_success(run_rtmark(folder, &[&arguments[..], &window, more].concat())))["results"][0].clone()
    };
    for above in [&["--above"] as &[&str], &[]] {
        let found = found(above);
        assert_eq!(found["priority"], 0xF0, "{found:#?}");
        let worst = found["latencies"][0]["max"].as_u64().expect("a number");
        assert!(worst < 10, "{found:#?}");
    }
    let least = found(&["--priority", "0"]);
    // None of the moments has an answer, which is said.
    let never = &least["unanswered"][0];
    assert_eq!(
        (&never["what"], &never["missing"]),
        (&"handler".into(), &least["points"]),
        "{least:#?}"
    );
    let text =
        run_rtmark(folder, &[&arguments[..], &["--window", "30:130", "--priority", "0"]].concat());
    assert!(text.stdout.contains("no result at 100 points"), "{text:#?}");
    // Whose calls are looked for makes no difference to what is held back.
    std::fs::write(folder.join("own.toml"), "name = \"own\"\ncalls = [\"start\"]\n")
        .expect("writable");
    let arguments = ["calls", "a.elf", "--soc", "generic-hazard3", "--api", "own.toml"];
    let cut = ["--max-cycles", "500", "--format", "json"];
    let calls = json(&expect_success(run_rtmark(folder, &[&arguments[..], &cut].concat())));
    let held: Vec<_> = calls["runs"][0]["held"].as_array().into_iter().flatten().collect();
    assert!(!held.is_empty(), "{calls:#?}");
    assert!(held.iter().all(|held| held["cycles"].as_u64() < Some(50)), "{held:#?}");
}
