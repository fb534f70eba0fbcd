//! `rtmark sim`: how runs end, and what is refused.

mod clocks;
mod inputs;
#[cfg(unix)]
mod interrupted;
mod rom;
mod vectors;

use std::path::PathBuf;

use serde_json::Value;

use crate::common::{
    ADD_ONE, BAD_LOAD, BREAKPOINT, CommandResult, EXIT, EXIT_FAILED, Elf, LOCKUP, LOOP, SLEEP,
    START, UNDEFINED, printing, raw, rtmark, run_rtmark, to_hex, to_uf2,
};

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sim(&self, image: &str, more: &[&str]) -> CommandResult {
        let path = self.path(image).display().to_string();
        let arguments = [&["sim", &path, "--soc", "stm32c031"], more].concat();
        run_rtmark(self.folder.path(), &arguments)
    }

    fn run(&self, elf: &Elf<'_>, more: &[&str]) -> CommandResult {
        elf.write(&self.path("image.elf"));
        self.sim("image.elf", more)
    }

    fn run_code(&self, code: &[u16], more: &[&str]) -> CommandResult {
        self.run(&Elf { code, ..Elf::default() }, more)
    }
}

#[test]
fn a_program_prints_and_ends() {
    let scratch = Scratch::new();
    let result = scratch.run_code(&printing("hello", true), &[]);
    assert_eq!((result.code, result.stdout.as_str()), (0, "hello\n"), "{result:#?}");
    assert!(
        result.stderr.contains("cycles") && result.stderr.contains("instructions"),
        "{result:#?}"
    );
    let result = scratch.run_code(&printing("hello", true), &["-q"]);
    assert_eq!((result.code, result.stderr.as_str()), (0, ""), "{result:#?}");
    let result = scratch.run_code(&printing("no", false), &[]);
    assert_eq!((result.code, result.stdout.as_str()), (11, "no\n"), "{result:#?}");
    assert_eq!(scratch.run_code(EXIT_FAILED, &[]).code, 11);
}

#[test]
fn a_run_prints_json() {
    let scratch = Scratch::new();
    let result = scratch.run_code(&printing("\u{1b}[31mred", true), &["--format", "json"]);
    let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
    assert_eq!(json["ending"], "exit");
    assert_eq!(json["console"], "\\u{1b}[31mred\n");
    assert!(json["cycles"].as_u64() >= Some(6), "{json}");
    assert_eq!(json["instructions"], 6);
}

#[test]
fn runs_end_at_expected_output_or_timeout() {
    let scratch = Scratch::new();
    let prints = printing("PROJECT done", true);
    let whole = scratch.run_code(&prints, &[]);
    // It stops behind the call that prints, before the one that ends it.
    let until = scratch.run_code(&prints, &["--until-output", "done"]);
    assert_eq!((until.code, until.stdout.as_str()), (0, "PROJECT done\n"), "{until:#?}");
    assert!(until.stderr.contains("after its output"), "{until:#?}");
    let instructions = |result: &CommandResult| {
        let text = result.stderr.split(" instructions").next().expect("some");
        text.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a count")
    };
    assert!(instructions(&until) < instructions(&whole), "{until:#?}");
    let failed = ["--until-output", "never", "--fail-output", "other", "--fail-output", "JECT d"];
    scratch
        .run_code(&prints, &failed)
        .assert_error(11, &["the program printed `JECT d`", "--fail-output"]);
    // What is awaited and never comes is no success, however the run ends; without that, it is one.
    assert_eq!(whole.code, 0, "{whole:#?}");
    let awaited = ["--until-output", "never"];
    scratch.run_code(&prints, &awaited).assert_error(12, &["`never` was never printed"]);
    let called = [&awaited as &[&str], &["--entry", "start"]].concat();
    assert_eq!(scratch.run_code(ADD_ONE, &called[2..]).code, 0);
    scratch.run_code(ADD_ONE, &called).assert_error(12, &["`never` was never printed"]);
    let late = [&awaited as &[&str], &["--for", "10us"]].concat();
    scratch.run_code(LOOP, &late).assert_error(12, &["`never` was never printed"]);
    let either = [&awaited as &[&str], &["--until-output", "done"]].concat();
    assert_eq!(scratch.run_code(&prints, &either).code, 0);

    // 12 MHz after a reset: 10 µs are 120 cycles.
    let lasts = scratch.run_code(LOOP, &["--for", "10us", "--format", "json"]);
    let json: Value = serde_json::from_str(&lasts.stdout).expect("JSON");
    assert_eq!((lasts.code, &json["ending"]), (0, &serde_json::json!("for")), "{lasts:#?}");
    assert!((120..140).contains(&json["cycles"].as_u64().expect("cycles")), "{json}");
    let wrong = ["10", "ms", "1h", "-1s"].map(|time| (time, "such as 100ms"));
    let wrong =
        wrong.into_iter().chain([("0ms", "a longer one"), ("999999999999999999s", "too long")]);
    for (time, word) in wrong {
        let refused = scratch.run_code(LOOP, &[&format!("--for={time}")]);
        assert!(refused.code == 2 && refused.stderr.contains(word), "{refused:#?}");
    }
    let nothing = scratch.run_code(LOOP, &["--until-output="]);
    assert!(nothing.code == 2 && nothing.stderr.contains("give a text"), "{nothing:#?}");
}

#[test]
fn events_that_never_occurred_are_reported() {
    let scratch = Scratch::new();
    let code = printing("hello", true);
    let awaited = |more: &[&str], note: &str| {
        let ended = scratch.run_code(&code, more);
        let exit = if more[0].starts_with("--until") { 12 } else { 0 };
        assert_eq!(ended.code, exit, "{ended:#?}");
        assert!(ended.stderr.contains(note), "{ended:#?}");
        assert!(!scratch.run_code(&code, &[more, &["-q"]].concat()).stderr.contains(note));
    };
    awaited(&["--until-output", "PASSED"], "--until-output: `PASSED` was never printed");
    awaited(&["--until", "0x08000000"], "--until: 0x08000000");
    awaited(&["--irq", "5@100000"], "--irq 5@100000: the run ended in cycle");
    let between = ["--trace=a.trace", "--trace-from", "@100000"];
    awaited(&between, "--trace: no instruction executed between");
    scratch
        .run_code(&code, &["--until-output", "PASSED"])
        .assert_error(12, &["exit: success, but no text of --until-output was printed"]);
    // What came is not said to be missing.
    for options in
        [&["--until-output", "hell"] as &[&str], &["--until", "start"], &["--irq", "5@1"]]
    {
        let ended = scratch.run_code(&code, options);
        assert!(!ended.stderr.contains("never"), "{ended:#?}");
        assert!(!ended.stderr.contains("the run ended"), "{ended:#?}");
    }
}

#[test]
fn cycle_counts_parse_as_decimal_and_hexadecimal() {
    let scratch = Scratch::new();
    for cycles in ["1_000", "0x3E8", "0x3_e8"] {
        let cut = scratch.run_code(LOOP, &["--max-cycles", cycles]);
        cut.assert_error(12, &["when 100"]);
    }
    for none in ["0", "1e3", "+5", ""] {
        let result = scratch.run_code(LOOP, &["--max-cycles", none]);
        assert_eq!(result.code, 2, "{result:#?}");
    }
}

#[test]
fn failed_programs_are_reported() {
    let scratch = Scratch::new();
    let refused = |code, exit, words: &[&str]| {
        scratch.run_code(code, &["--max-cycles", "100000"]).assert_error(exit, words);
    };
    refused(UNDEFINED, 11, &["0x08000040", "start", "end a panic", "--deliver-faults"]);
    // cpsid i; svc #0
    refused(&[0xB672, 0xDF00], 11, &["0x08000042", "PRIMASK", "--deliver-faults"]);
    // An undefined instruction at the beginning of RAM, and a jump there.
    let stray = &[0x2101, 0x0749, 0x20DE, 0x0200, 0x6008, 0x3101, 0x4708];
    refused(stray, 11, &["0x20000000", "in RAM where the image has no code", "a wrong pointer"]);
    refused(BAD_LOAD, 11, &["0x08000044", "start", "0x60000000"]);
    refused(BREAKPOINT, 11, &["breakpoint", "0x08000040 (start)"]);
    refused(LOCKUP, 11, &["lockup", "handling exception 2"]);
    refused(SLEEP, 12, &["asleep", "start"]);
    refused(
        LOOP,
        12,
        &["still running at 0x08000040 (start)", "cycles had passed", "--max-cycles"],
    );
}

#[test]
fn files_that_are_not_images_are_rejected() {
    let scratch = Scratch::new();
    scratch.sim("none.elf", &[]).assert_error(2, &["none.elf", "No such file"]);
    let whole = Elf::default().bytes();
    for length in [0, 1, 4, 20, 51, 60, 120, whole.len() / 2, whole.len() - 1] {
        std::fs::write(scratch.path("cut.elf"), &whole[..length]).expect("writable");
        scratch.sim("cut.elf", &[]).assert_error(2, &["cut.elf"]);
    }
    std::fs::write(scratch.path("a.hex"), ":10000000").expect("writable");
    scratch.sim("a.hex", &[]).assert_error(2, &["a.hex", "Intel HEX file: line 1"]);
    std::fs::write(scratch.path("text"), "this is no firmware").expect("writable");
    scratch.sim("text", &[]).assert_error(2, &["no vector table at 0x08000000", "--base"]);
    let own = std::env::current_exe().expect("a path").display().to_string();
    let other = run_rtmark(scratch.folder.path(), &["sim", &own, "--soc", "stm32c031"]);
    other.assert_error(2, &["64-bit", "rtmark list cores"]);
    scratch
        .run(&Elf { relocatable: true, ..Elf::default() }, &[])
        .assert_error(2, &["object file"]);
}

#[test]
fn images_that_do_not_fit_the_soc_are_rejected() {
    let scratch = Scratch::new();
    let elsewhere = Elf { base: 0x6000_0000, ..Elf::default() };
    scratch.run(&elsewhere, &[]).assert_error(2, &["0x60000000", "stm32c031"]);
    let beyond = Elf { base: 0x0800_7F80, ..Elf::default() };
    scratch.run(&beyond, &[]).assert_error(2, &["0x08007f80"]);
}

#[test]
fn invalid_socs_are_rejected() {
    let scratch = Scratch::new();
    Elf::default().write(&scratch.path("image.elf"));
    let with = |soc: &str| run_rtmark(scratch.folder.path(), &["sim", "image.elf", "--soc", soc]);
    with("stm32c03").assert_error(4, &["did you mean `stm32c031`?"]);
    with("none.toml").assert_error(2, &["none.toml", "No such file"]);
    let good = include_str!("../../../../socs/stm32c031.toml");
    std::fs::write(scratch.path("odd.toml"), format!("colour = 1\n{good}")).expect("writable");
    with("odd.toml").assert_error(2, &["odd.toml", "line 1", "unknown field `colour`"]);
    std::fs::write(scratch.path("own.toml"), good.replace("stm32c031", "mine")).expect("writable");
    assert_eq!(with("own.toml").code, 0);
}

#[test]
fn a_scenario_is_selected_by_name() {
    let scratch = Scratch::new();
    let probes = [(5, 3, "a.b"), (1, START, "a.b")];
    let elf = Elf { probes: &probes, ..Elf::default() };
    assert_eq!(scratch.run(&elf, &["--select", "a.b"]).code, 0);
    scratch.run(&elf, &["--select", "a.c"]).assert_error(2, &["no scenario a.c", "it has a.b"]);
    scratch.run(&Elf::default(), &["--select", "a.b"]).assert_error(2, &["no probes"]);
    let result = scratch.run(&elf, &["--select", "A B"]);
    assert_eq!(result.code, 2, "{result:#?}");
}

#[cfg(unix)]
#[test]
fn endless_files_are_rejected() {
    let scratch = Scratch::new();
    let too_long = ["/dev/zero", "it holds more than 256 MiB"];
    scratch.sim("/dev/zero", &[]).assert_error(2, &too_long);
    scratch.run_code(LOOP, &["--uart-in", "/dev/zero"]).assert_error(2, &too_long);
    let run = |arguments: &[&str]| run_rtmark(scratch.folder.path(), arguments);
    run(&["sim", "image.elf", "--soc", "/dev/zero"]).assert_error(2, &too_long);
    run(&["plan", "/dev/zero"]).assert_error(2, &too_long);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_not_an_error() {
    use std::process::Stdio;
    let scratch = Scratch::new();
    Elf { code: &printing("hello", true), ..Elf::default() }.write(&scratch.path("image.elf"));
    let mut child = rtmark(scratch.folder.path())
        .args(["sim", "image.elf", "--soc", "stm32c031"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rtmark runs");
    drop(child.stdout.take());
    let result: CommandResult = child.wait_with_output().expect("it ends").into();
    assert_eq!(result.code, 0, "{result:#?}");
}

fn json(result: &CommandResult) -> Value {
    serde_json::from_str(&result.stdout).unwrap_or_else(|error| panic!("{error}: {result:#?}"))
}

#[test]
fn every_image_format_runs_identically() {
    let scratch = Scratch::new();
    let code = printing("hello", true);
    let (bytes, whole) = (raw(&code), Elf { code: &code, ..Elf::default() });
    let elf = json(&scratch.run(&whole, &["--format", "json"]));
    assert_eq!((elf["image_format"].as_str(), &elf["base"]), (Some("ELF"), &Value::Null));
    for (name, contents, format) in [
        ("a.bin", bytes.clone(), "raw binary"),
        ("a.hex", to_hex(&bytes), "Intel HEX"),
        ("a.uf2", to_uf2(&bytes), "UF2"),
    ] {
        std::fs::write(scratch.path(name), contents).expect("writable");
        let result = scratch.sim(name, &["--format", "json"]);
        let ran = json(&result);
        assert_eq!((result.code, ran["console"].as_str()), (0, Some("hello\n")), "{result:#?}");
        assert_eq!(ran["image_format"], format);
        assert_eq!(ran["cycles"], elf["cycles"]);
        assert_eq!(ran["base"].as_u64(), (format == "raw binary").then_some(0x0800_0000));
    }
    let result = scratch.sim("a.bin", &[]);
    assert!(result.stderr.contains("raw binary at 0x08000000, the start of FLASH"), "{result:#?}");
    let result = scratch.sim("a.bin", &["--base", "0x0800_0000"]);
    assert!(result.code == 0 && !result.stderr.contains("the start of FLASH"), "{result:#?}");
    scratch.sim("a.bin", &["--base", "0x60000000"]).assert_error(2, &["0x60000000", "stm32c031"]);
    scratch.sim("a.bin", &["--base", "0xFFFFFFFC"]).assert_error(2, &["last address"]);
    scratch.sim("a.bin", &["--base", "0x08004000"]).assert_error(2, &["no vector table", "--base"]);
    scratch
        .sim("a.hex", &["--base", "0"])
        .assert_error(2, &["--base only applies to raw binaries", "Intel HEX"]);
}

#[test]
fn damaged_files_are_reported_with_the_location() {
    let scratch = Scratch::new();
    let bytes = raw(EXIT);
    let refused = |name: &str, contents: &[u8], words: &[&str]| {
        std::fs::write(scratch.path(name), contents).expect("writable");
        scratch.sim(name, &[]).assert_error(2, &[&[name], words].concat());
    };
    let hex = to_hex(&bytes);
    refused("short.hex", &hex[..hex.len() - 12], &["line 6", "end-of-file record"]);
    let mut spoiled = hex;
    spoiled[40] = b'z';
    refused("odd.hex", &spoiled, &["line 2", "no hex digit"]);
    let uf2 = to_uf2(&bytes);
    refused("short.uf2", &uf2[..500], &["block at offset 0x0", "500 bytes"]);
    refused("empty.bin", b"", &["nothing to load"]);
    refused("image.srec", b"S0030000FC\n", &["S-records", "objcopy -I srec -O ihex"]);
}

#[test]
fn a_single_function_can_be_called() {
    let scratch = Scratch::new();
    let elf = Elf { code: ADD_ONE, ..Elf::default() };
    let result = scratch.run(&elf, &["--entry", "start", "--set", "r0=41"]);
    assert_eq!((result.code, result.stdout.as_str()), (0, ""), "{result:#?}");
    assert!(
        result.stderr.contains("returned from 0x08000040 (start): r0 = 0x0000002a (42)"),
        "{result:#?}"
    );
    let result =
        scratch.run(&elf, &["--entry", "0x0800_0041", "--set", "r0=-1", "--format", "json"]);
    let ran = json(&result);
    assert_eq!((ran["ending"].as_str(), ran["instructions"].as_u64()), (Some("returned"), Some(2)));
    assert_eq!(ran["registers"]["r0"], 0);
    assert_eq!(ran["registers"]["sp"], 0x2000_0400);
    // Without the call, the link register of a reset leads nowhere.
    assert_eq!(scratch.run(&elf, &[]).code, 11);
    scratch.run(&elf, &["--entry", "strat"]).assert_error(2, &["--entry", "`strat`", "`start`"]);
    let twice = Elf { second: "start", ..elf.clone() };
    scratch
        .run(&twice, &["--entry", "start"])
        .assert_error(2, &["2 symbols are called `start`", "0x08000040, 0x08000100"]);
    scratch.run(&elf, &["--entry", "0x60000000"]).assert_error(2, &["no memory at 0x60000000"]);
    scratch.run(&elf, &["--entry", "start", "--set", "pc=0"]).assert_error(2, &["--set pc"]);
}

#[test]
fn a_function_without_vectors_needs_a_stack() {
    let scratch = Scratch::new();
    let code: Vec<u8> = ADD_ONE.iter().flat_map(|half| half.to_le_bytes()).collect();
    std::fs::write(scratch.path("f.bin"), code).expect("writable");
    let call = |more: &[&str]| scratch.sim("f.bin", &[&["--entry", "0x20000000"], more].concat());
    call(&[]).assert_error(2, &["has no stack pointer", "--set sp="]);
    let result = call(&["--base", "0x20000000", "--set", "sp=0x20001000", "--set", "r0=1"]);
    assert!(result.code == 0 && result.stderr.contains("r0 = 0x00000002 (2)"), "{result:#?}");
    let named = scratch.sim("f.bin", &["--entry", "f"]);
    named.assert_error(2, &["the image has no symbols", "raw binary"]);
}

#[test]
fn a_run_stops_at_the_given_address() {
    let scratch = Scratch::new();
    let elf = Elf::default();
    let result = scratch.run(&elf, &["--until", "start+4", "--format", "json"]);
    let ran = json(&result);
    assert_eq!((result.code, ran["ending"].as_str()), (0, Some("until")), "{result:#?}");
    assert_eq!((&ran["registers"]["pc"], &ran["instructions"]), (&(START + 4).into(), &2.into()));
    assert_eq!(ran["registers"]["r1"], 0x20026);
    let result = scratch.run(&elf, &["--until", "start"]);
    assert!(result.stderr.contains("stopped before 0x08000040 (start)"), "{result:#?}");
    // An address that is not reached ends nothing, but was waited for.
    let unreached = ["--until", "0x08000046", "--format", "json"];
    let result = scratch.run(&elf, &unreached);
    assert_eq!((result.code, &json(&result)["ending"]), (12, &"exit".into()));
    assert_eq!(scratch.run(&elf, &[&unreached[..], &["--for", "1ms"]].concat()).code, 12);
    scratch.run(&elf, &unreached[..2]).assert_error(12, &["success, but the address", "inlined"]);
    scratch.run(&elf, &["--until", "0x30000000"]).assert_error(2, &["no memory at 0x30000000"]);
    scratch.run(&elf, &["--until", "nothing_like_it"]).assert_error(2, &["no symbol"]);
    assert_eq!(scratch.run(&elf, &["--until", "0xg"]).code, 2);
}

#[test]
fn memory_is_dumped() {
    let scratch = Scratch::new();
    let arguments = ["--dump", "start:4", "--dump", "0x20000000:0x14"];
    let result = scratch.run_code(EXIT, &arguments);
    let shown = "start: 4 bytes\n08000040  18 20 01 49                                      |. .I|\n\
                 0x20000000: 20 bytes\n";
    assert!(result.stdout.starts_with(shown), "{result:#?}");
    assert!(result.stdout.contains("\n20000010  a5 a5 a5 a5  "), "{result:#?}");
    let result = scratch.run_code(EXIT, &[&arguments, &["--format", "json"][..]].concat());
    let ran = json(&result);
    assert_eq!(
        ran["dumps"][0],
        serde_json::json!({
            "what": "start", "address": START, "bytes": "18200149",
        })
    );
    assert_eq!(ran["dumps"][1]["bytes"].as_str().map(str::len), Some(40));
    let refused = |dump: &str, words: &[&str]| {
        scratch.run_code(EXIT, &["--dump", dump]).assert_error(2, words);
    };
    refused("0x20002FF0:17", &["17 bytes", "only 16 are in memory", "RAM"]);
    refused("0x40000000:4", &["only 0 are in memory"]);
    refused("0x20000000:0xFFFFFFFF", &["only 12288 are in memory"]);
    refused("begin:4", &["no symbol `begin`"]);
    for bad in ["start", "start:", "start:0", ":4", "start:x", "0x1_0000_0000:1"] {
        let result = scratch.run_code(EXIT, &["--dump", bad]);
        assert!(result.code == 2 && result.stderr.contains("--dump"), "{result:#?}");
    }
}

#[test]
fn registers_and_words_can_be_set() {
    let scratch = Scratch::new();
    let set = ["--set", "R7=0x1234", "--set", "primask=1", "--set", "0x20000010=0xDEADBEEF"];
    let more = ["--dump", "0x20000010:4", "--format", "json"];
    let ran = json(&scratch.run_code(EXIT, &[&set[..], &more].concat()));
    assert_eq!(
        (&ran["registers"]["r7"], &ran["registers"]["primask"]),
        (&0x1234.into(), &1.into())
    );
    assert_eq!(ran["dumps"][0]["bytes"], "efbeadde");
    let refused = |set: &str, words: &[&str]| {
        scratch.run_code(EXIT, &["--set", set]).assert_error(2, words);
    };
    refused("s0=1.5", &["cortex-m0plus has no register s0"]);
    refused("basepri=1", &["no register basepri"]);
    refused("0x60000000=1", &["no word can be stored at 0x60000000"]);
    for bad in ["r0", "r16=1", "r0=x", "r0=0x1_0000_0000", "=1", "s32=1"] {
        let result = scratch.run_code(EXIT, &["--set", bad]);
        assert!(result.code == 2 && result.stderr.contains("--set"), "{result:#?}");
    }
}

#[test]
fn floating_point_registers_can_be_set() {
    let scratch = Scratch::new();
    // vadd.f32 s0, s0, s1; bx lr
    let elf = Elf { code: &[0xEE30, 0x0A20, 0x4770], ..Elf::default() };
    elf.write(&scratch.path("image.elf"));
    let call = |more: &[&str]| {
        let call = ["sim", "image.elf", "--soc", "stm32f405", "--entry", "start"];
        run_rtmark(
            scratch.folder.path(),
            &[&call[..], &["--set", "s0=1.5", "--set", "s1=2"], more].concat(),
        )
    };
    call(&[]).assert_error(11, &["FPU", "--set 0xE000ED88=0xF00000"]);
    let result = call(&["--format", "json", "--set", "0xE000ED88=0xF00000"]);
    assert_eq!(
        json(&result)["registers"]["s0"].as_u64(),
        Some(3.5_f32.to_bits().into()),
        "{result:#?}"
    );
}

#[test]
fn statistics_are_printed() {
    let scratch = Scratch::new();
    // ldr r0, =0x5FFFF000; ldr r0, [r0]; bx lr
    let code = [0x4801, 0x6800, 0x4770, 0x46C0, 0xF000, 0x5FFF];
    let result = scratch.run_code(&code, &["-q", "--stats", "--entry", "start"]);
    assert_eq!((result.code, result.stderr.as_str()), (0, ""), "{result:#?}");
    for line in ["instructions  3\n", "exceptions    0\n", "without model 0x5ffff000 read once\n"] {
        assert!(result.stdout.contains(line), "no {line} in {result:#?}");
    }
    assert!(
        result.stdout.contains("cycles/instr. ") && result.stdout.contains("pc        0xfffffffe")
    );
    let result = scratch.run_code(&code, &["--entry", "start", "--format", "json"]);
    let unmodelled = &json(&result)["unmodelled"][0];
    assert_eq!(
        [&unmodelled["address"], &unmodelled["reads"], &unmodelled["writes"]],
        [0x5FFF_F000, 1, 0]
    );
    let result = scratch.run_code(&code, &["--entry", "start"]);
    assert!(result.stderr.contains("no model: 0x5ffff000 read once"), "{result:#?}");
    // ldr r0, =CPACR, which a Cortex-M0+ lacks: the core's own registers have names, too.
    let cpacr = [0x4801, 0x6800, 0x4770, 0x46C0, 0xED88, 0xE000];
    let result = scratch.run_code(&cpacr, &["--entry", "start"]);
    assert!(result.stderr.contains("no model: SCB.CPACR (0xe000ed88) read once"), "{result:#?}");
    let strict = scratch.run_code(&code, &["--entry", "start", "--strict"]);
    strict.assert_error(11, &["register without a model at pc 0x0800", "0x5ffff000", "--strict"]);
}

#[test]
fn dumps_begin_on_their_own_line() {
    let scratch = Scratch::new();
    // movs r0, #3: SYS_WRITEC; ldr r1, =star; bkpt 0xab; bx lr
    let code = [0x2003, 0x4901, 0xBEAB, 0x4770, 0x004C, 0x0800, 0x002A];
    let result = scratch.run_code(&code, &["--entry", "start", "--dump", "start:1"]);
    assert!(result.stdout.starts_with("*\nstart: 1 byte\n08000040  03  "), "{result:#?}");
}

#[test]
fn programs_can_handle_their_own_faults() {
    let scratch = Scratch::new();
    // udf #0; nop; the handler
    let mut image = raw(&[&[0xDE00, 0x46C0], EXIT].concat());
    image[12..16].copy_from_slice(&(START + 4 + 1).to_le_bytes());
    std::fs::write(scratch.path("app.bin"), image).expect("writable");
    assert_eq!(scratch.sim("app.bin", &[]).code, 11);
    let result = scratch.sim("app.bin", &["--deliver-faults"]);
    assert_eq!(result.code, 0, "{result:#?}");
    // Where a run begins and stops is another matter: before the UDF, and in the handler.
    for stop in [START, START + 4, START + 6] {
        for trace in [&[][..], &["--trace"]] {
            let until = format!("--until={stop:#x}");
            let more = ["--deliver-faults", &until, "--entry=0x08000041"];
            let result = scratch.sim("app.bin", &[&more, trace].concat());
            assert_eq!(result.code, 0, "{result:#?}");
            assert!(result.stderr.contains(&format!("stopped before {stop:#010x}")), "{result:#?}");
        }
    }
    // What is called returns, whoever handles faults: udf is gone on behind by the handler.
    let code = [&[0xDE00, 0x4770][..], RETURN_BEHIND].concat();
    let mut image = raw(&code);
    image[12..16].copy_from_slice(&(START + 4 + 1).to_le_bytes());
    std::fs::write(scratch.path("app.bin"), image).expect("writable");
    let called = ["--entry=0x08000041", "--deliver-faults", "--set", "r0=7"];
    let result = scratch.sim("app.bin", &called);
    assert!(result.code == 0 && result.stderr.contains("r0 = 0x00000007"), "{result:#?}");
}

/// A handler that goes on behind the 16-bit instruction that faulted: mrs r0, msp;
/// ldr r1, [r0, #24]; adds r1, #2; str r1, [r0, #24]; bx lr.
const RETURN_BEHIND: &[u16] = &[0xF3EF, 0x8008, 0x6981, 0x3102, 0x6181, 0x4770];

#[test]
fn defmt_logs_are_written_separately() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("app.bin"), raw(LOOP)).expect("writable");
    // RTT's control block with one buffer, whose name and contents follow.
    let words =
        [0x4747_4553, 0x5220_5245, 0x0000_5454, 0, 1, 0, 0x2000_0180, 0x2000_0190, 16, 5, 0, 0];
    let block = (0x2000_0100..).step_by(4).zip(words);
    let rest = [
        (0x2000_0180, 0x6D66_6564),
        (0x2000_0184, 0x74),
        (0x2000_0190, 0x0302_0107),
        (0x2000_0194, 0_u32),
    ];
    let sets: Vec<String> = block
        .chain(rest)
        .map(|(address, word): (u32, _)| format!("--set={address:#x}={word}"))
        .collect();
    let sets: Vec<&str> =
        sets.iter().map(String::as_str).chain(["--max-cycles", "100000"]).collect();
    let result = scratch.sim("app.bin", &sets);
    assert_eq!(result.stdout, "");
    assert!(result.stderr.contains("5 bytes of defmt log"), "{result:#?}");
    let result = scratch.sim("app.bin", &[&sets[..], &["--defmt"]].concat());
    assert_eq!((result.code, result.stdout.as_str()), (12, "\x07\x01\x02\x03\0"), "{result:#?}");
    let log = scratch.path("log").display().to_string();
    let json = scratch
        .sim("app.bin", &[&sets[..], &["--format=json", &format!("--defmt={log}")]].concat());
    assert!(json.stdout.starts_with('{'), "{json:#?}");
    assert_eq!(std::fs::read(log).expect("written"), [7, 1, 2, 3, 0]);
    let result = scratch.sim("app.bin", &["--defmt", "--trace"]);
    assert!(result.code == 2 && result.stderr.contains("--defmt=FILE"), "{result:#?}");
}

#[test]
fn polling_of_unmodelled_registers_is_reported() {
    let scratch = Scratch::new();
    // ldr r1, =an ADC's status; loop: ldr r0, [r1]; lsls r0, r0, #31; bpl loop
    let code = [0x4902, 0x6808, 0x07C0, 0xD5FC, 0xE7FE, 0x46C0, 0x2400, 0x4001];
    let result = scratch.run_code(&code, &["--max-cycles", "100000"]);
    assert_eq!(result.code, 12, "{result:#?}");
    assert!(result.stderr.contains("waiting for ADC1+0x0 (0x40012400)"), "{result:#?}");
}
