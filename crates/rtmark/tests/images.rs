//! `rtmark run --image`: columns from images that somebody else has built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn scratch() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("images");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn builds() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build")
}

fn rtmark(arguments: &[&str]) -> Output {
    let store = tempfile::tempdir().expect("a folder");
    Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(arguments)
        .env("RTMARK_STORE", store.path().join("store.sqlite"))
        .env("RTMARK_BUILD", builds())
        .env("XDG_CONFIG_HOME", store.path())
        .output()
        .expect("rtmark runs")
}

fn answers(output: &Output) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    document["answers"].as_array().expect("answers").clone()
}

/// What it says, with each run of blanks as one.
fn stderr_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "│").collect();
    words.join(" ")
}

/// A program with functions of Zephyr's names, built with these options.
fn guest(name: &str, options: &[&str]) -> String {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/guests");
    let image = scratch().join(format!("{name}.elf"));
    let output = Command::new("arm-none-eabi-gcc")
        .args(["-mcpu=cortex-m3", "-mthumb", "-O1", "-g", "-Wall", "-Werror", "-nostdlib"])
        .args(["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-fno-ipa-sra", "-T"])
        .args([guests.join("mps2/mps2.ld"), guests.join("columns/zephyr.c")])
        .args(options)
        .arg("-o")
        .arg(&image)
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    image.display().to_string()
}

/// The images that these figures come from, by what they are called.
fn built(answers: &[Value]) -> BTreeMap<String, String> {
    let image = |answer: &Value| {
        let firmware = &answer["provenance"]["firmware"];
        let text = |key: &str| firmware[key].as_str().expect("a text").to_owned();
        let path = builds().join("kept").join(text("elf_sha256")).with_extension("elf");
        (text("image"), path.display().to_string())
    };
    answers.iter().map(image).collect()
}

/// First, least, typical and largest sample of each scenario of a column.
fn figures(answers: &[Value], column: &str) -> Vec<(String, [u64; 4])> {
    let of_column = answers.iter().filter(|answer| answer["key"]["kernel"] == column);
    let figures = |answer: &Value| {
        let statistics = answer.get("statistics")?;
        let steady = &statistics["steady"];
        let all = [&statistics["first"], &steady["min"], &steady["p50"], &steady["max"]];
        let name = answer["key"]["scenario"].as_str()?.to_owned();
        Some((name, all.map(|figure| figure.as_u64().expect("cycles"))))
    };
    of_column.filter_map(figures).collect()
}

#[test]
fn calls_and_probes_of_our_images_give_equal_figures() {
    // Optimised as a whole, functions are given what nobody but the compiler knows.
    let choice = ["run", "-k", "freertos", "--soc", "stm32f405", "--profile", "product+lto=off"];
    let more = ["--placements", "1", "--format", "json", "-s", "semaphore.*", "queue.*", "mutex.*"];
    let one_of_each = ["semaphore.give.immediate", "queue.send.immediate", "mutex.lock.immediate"];
    let first = rtmark(&[&choice[..], &more[..5], &one_of_each].concat());
    assert!(first.status.success(), "{}", stderr_of(&first));
    let built = built(&answers(&first));
    let images = ["semaphore", "queue", "mutex"].map(|image| format!("{image}={}", built[image]));
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let other = ["run", "--soc", "stm32f405", "-s", "thread.yield", "--image", images[0]];
    let other = rtmark(&other);
    assert!(stderr_of(&other).contains("nothing was measured"), "{}", stderr_of(&other));
    assert_eq!(other.status.code(), Some(4));
    // That chip has no memory where the image's stack is.
    let wrong = ["run", "--soc", "stm32c031", "-s", "semaphore.give.immediate", "--image"];
    let wrong = rtmark(&[&wrong[..], &images[..1]].concat());
    assert!(!stderr_of(&wrong).contains("--max-cycles"), "{}", stderr_of(&wrong));
    assert_eq!(wrong.status.code(), Some(11));
    let output = rtmark(&[&choice[..], &["--image"], &images, &more].concat());
    assert!(output.status.success(), "{}", stderr_of(&output));
    let answers = answers(&output);
    let native = figures(&answers, "freertos");
    let mut compared = 0;
    for column in ["semaphore", "queue", "mutex"] {
        for (scenario, by_calls) in figures(&answers, column) {
            let (_, by_probes) =
                native.iter().find(|(name, _)| *name == scenario).expect("the same scenarios");
            // Only what loads the arguments is not in the calls.
            for (call, span) in by_calls.iter().zip(by_probes) {
                assert!(
                    (1..=16).contains(&(span - call)),
                    "{scenario}: {by_calls:?} {by_probes:?}"
                );
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 29, "of semaphores, queues and mutexes");

    // What a call is spent on adds up to it, and stands beside the scenario's span.
    let why = |scenario: &str, more: &[&str]| {
        let sides = ["why", "freertos", "semaphore", "-s", scenario, "--soc", "stm32f405"];
        let profile = ["--profile", "product+lto=off", "--image", images[0]];
        rtmark(&[&sides[..], &profile, more].concat())
    };
    for scenario in ["semaphore.give.immediate", "semaphore.give.wake+ctx"] {
        let output = why(scenario, &["--format", "json"]);
        assert!(output.status.success(), "{}", stderr_of(&output));
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let cycles = |value: &Value| value["cycles"].as_u64().expect("cycles");
        let cost = &document["b"]["cost"];
        let parts = cost["parts"].as_array().expect("parts");
        let sum: u64 = parts.iter().map(cycles).sum();
        let by_calls = figures(&answers, "semaphore");
        let (_, [_, _, typical, _]) =
            by_calls.iter().find(|(name, _)| name == scenario).expect("measured");
        assert_eq!((cycles(cost), sum), (*typical, *typical), "{cost}");
        let named = |name: &str| parts.iter().any(|part| part["function"] == name);
        assert!(named("xQueueGenericSend"), "{cost}");
        assert!((1..=16).contains(&(cycles(&document["a"]["cost"]) - typical)));
    }
    let absent = why("thread.yield", &[]);
    assert_eq!(absent.status.code(), Some(4), "{}", stderr_of(&absent));
    assert!(stderr_of(&absent).contains("semaphore has no thread.yield"), "{}", stderr_of(&absent));
    assert_eq!(why("nothing.at.all", &[]).status.code(), Some(4));
}

fn columns(images: &[(&str, &str)], more: &[&str]) -> Output {
    let mut arguments = vec!["run".to_owned(), "--soc".into(), "mps2-an385".into()];
    for (name, image) in images {
        arguments.push("--image".into());
        arguments.push(format!("{name}={image}"));
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    rtmark(&[&arguments, more].concat())
}

fn of<'a>(answers: &'a [Value], scenario: &str) -> Vec<&'a Value> {
    answers.iter().filter(|answer| answer["key"]["scenario"] == scenario).collect()
}

#[test]
fn benchmark_programs_become_columns() {
    let image = guest("whole", &[]);
    let output = columns(&[("zephyr", &image)], &["--format", "json"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let answers = answers(&output);
    // By calls, where they have the span: ten of them, whose first is one of the equal ones.
    for scenario in ["semaphore.give.immediate", "semaphore.take.immediate", "mutex.lock.recursive"]
    {
        let found = of(&answers, scenario);
        let [answer] = found.as_slice() else { panic!("{scenario}: {found:?}") };
        assert_eq!(answer["key"]["backend"], "sim", "{scenario}");
        assert_eq!(answer["key"]["kernel"], "zephyr", "{scenario}");
        assert_eq!(answer["key"]["version"], "3.7.99-guest", "{scenario}");
        let count = if scenario == "mutex.lock.recursive" { 9 } else { 10 };
        assert_eq!(answer["statistics"]["count"], count, "{scenario}");
        assert_eq!(answer["provenance"]["firmware"]["image"], "whole.elf");
        assert_eq!(answer["provenance"]["firmware"]["elf_sha256"].as_str().map(str::len), Some(64));
    }
    let typical = |scenario: &str| {
        let found = of(&answers, scenario);
        found[0]["statistics"]["steady"]["p50"].as_u64().expect("a figure")
    };
    assert_eq!(of(&answers, "mutex.lock.immediate")[0]["statistics"]["count"], 1);
    assert!(typical("semaphore.take.immediate") > typical("semaphore.give.immediate"));
    // What it prints is read as a log; a row whose span no call has stands in the table, too.
    let printed = of(&answers, "zephyr-latency-measure.semaphore.give.immediate.kernel");
    assert_eq!(printed[0]["key"]["backend"], "log");
    let yielded = of(&answers, "thread.yield");
    assert_eq!(yielded[0]["key"]["backend"], "sim");
    assert_eq!(yielded[0]["span"]["overhead"], "included");
    assert_eq!(yielded[0]["readings"]["summarised"]["mean"], 300.0);
    let other = guest("other_clock", &["-DOTHER_CLOCK"]);
    let output = columns(&[("zephyr", &other)], &["--format", "json"]);
    let others = self::answers(&output);
    assert!(of(&others, "thread.yield").is_empty(), "those are not the core's cycles");
    assert_eq!(of(&others, "zephyr-latency-measure.thread.yield.preemptive.ctx.k_to_k").len(), 1);
    // What is only near says what differs.
    let near = of(&answers, "calls.k_malloc.returns");
    assert_eq!(near[0]["provenance"]["log"]["near"]["scenario"], "heap.malloc.16b");
    assert_eq!(near[0]["readings"]["summarised"]["count"], 10.0);
    let near = of(&answers, "zephyr-latency-measure.fifo.put.immediate.kernel");
    assert_eq!(near[0]["provenance"]["log"]["near"]["scenario"], "queue.send.immediate");
}

#[test]
fn similar_spans_have_a_table_part_of_their_own() {
    let (one, two) = (guest("whole", &[]), guest("plain", &["-DPLAIN"]));
    let output = columns(&[("one", &one), ("two", &two)], &[]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let give = text.lines().find(|line| line.contains("semaphore.give.immediate")).expect("a row");
    assert!(give.split_whitespace().count() >= 3, "{give}");
    // Lines are folded anywhere.
    let unfolded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["timed from the call instruction", "k_malloc returns", "like heap.malloc.16b, but"]
    {
        assert!(unfolded.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn an_aborted_suite_is_reported_with_its_finished_rows() {
    let short = ["--max-cycles", "3000000", "--format", "json"];
    for (name, option, code, expected) in [
        ("half", "-DHALF", 12, "latency_measure did not announce its end"),
        ("fault", "-DFAULT", 11, "fault"),
    ] {
        let image = guest(name, &[option]);
        let output = columns(&[("zephyr", &image)], &short);
        let shown = stderr_of(&output);
        assert_eq!(output.status.code(), Some(code), "{name}: {shown}");
        assert!(shown.contains(expected) && shown.contains("are kept"), "{name}: {shown}");
        let answers = answers(&output);
        assert_eq!(of(&answers, "semaphore.give.immediate").len(), 1, "{name}");
        assert_eq!(of(&answers, "image.run")[0]["answer"], "failed", "{name}");
    }
}

#[test]
fn applications_have_rows_from_calls_alone() {
    let image = guest("plain", &["-DPLAIN"]);
    let output = columns(&[("mine", &image)], &["--max-cycles", "100000", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let answers = answers(&output);
    assert_eq!(of(&answers, "semaphore.take.poll_empty")[0]["statistics"]["count"], 10);
    assert!(of(&answers, "thread.yield").is_empty());
    assert!(of(&answers, "image.run").is_empty());
}

#[test]
fn without_debug_information_nothing_is_guessed() {
    let image = guest("undebugged", &["-DPLAIN", "-g0"]);
    let output = columns(&[("mine", &image)], &["--max-cycles", "100000", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let shown = stderr_of(&output);
    assert!(shown.contains("k_mutex.lock_count"), "{shown}");
    let answers = answers(&output);
    assert_eq!(of(&answers, "semaphore.give.immediate").len(), 1);
    assert!(of(&answers, "mutex.lock.immediate").is_empty());
    assert!(of(&answers, "mutex.lock.recursive").is_empty());
}

#[test]
fn unsuitable_images_are_rejected_with_a_reason() {
    let image = guest("plain", &["-DPLAIN"]);
    let text = scratch().join("text.elf");
    std::fs::write(&text, "no image").expect("written");
    let named = |name: &str| format!("{name}={image}");
    let (good, upper) = (named("mine"), named("Mine"));
    let (missing, wrong) = ("mine=/no/such.elf", format!("mine={}", text.display()));
    for (arguments, code, expected) in [
        (vec!["--image", &image, "--soc", "mps2-an385"], 2, "the name is missing"),
        (vec!["--image", &upper, "--soc", "mps2-an385"], 2, "lower-case"),
        (vec!["--image", missing, "--soc", "mps2-an385"], 2, "/no/such.elf"),
        (vec!["--image", &wrong, "--soc", "mps2-an385"], 2, "text.elf"),
        (vec!["--image", &good, &good, "--soc", "mps2-an385"], 2, "is given twice"),
        (vec!["--image", &good], 2, "--soc"),
        (
            vec!["--image", &good, "--soc", "mps2-an385", "--basis", "instructions"],
            2,
            "counting cycles",
        ),
        (vec!["--image", &good, "--soc", "rp2040"], 2, "another chip"),
    ] {
        let output = rtmark(&[&["run"], &arguments[..]].concat());
        let shown = stderr_of(&output);
        assert!(shown.contains(expected), "{arguments:?}: {shown}");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}");
    }
    let stripped = scratch().join("stripped.elf");
    let status = Command::new("arm-none-eabi-objcopy")
        .arg("--strip-all")
        .args([Path::new(&image), &stripped])
        .status();
    assert!(status.expect("objcopy starts").success());
    let stripped = stripped.display().to_string();
    let output = columns(&[("mine", &stripped)], &["--max-cycles", "100000"]);
    let shown = stderr_of(&output);
    assert!(shown.contains("has no symbols"), "{shown}");
    assert_eq!(output.status.code(), Some(12), "{shown}");
}

#[test]
fn properties_missing_from_a_file_are_reported_with_the_reason() {
    let image = guest("told", &["-DPLAIN"]);
    let of = |name: &str| scratch().join(format!("{name}.elf")).display().to_string();
    let copy = |to: &str, options: &[&str]| {
        let mut command = Command::new("arm-none-eabi-objcopy");
        let status = command.args(options).args([&image, &of(to)]).current_dir(scratch()).status();
        assert!(status.expect("objcopy starts").success());
        of(to)
    };
    copy("told-kept", &["--only-keep-debug"]);
    let link = "--add-gnu-debuglink=told-kept.elf";
    for (file, expected) in [
        (
            copy("told-plain", &["--strip-debug"]),
            "source lines, and what the compiler has inlined, are",
        ),
        (
            copy("told-bare", &["--strip-all"]),
            "functions and source lines are unknown: it was built",
        ),
        (
            copy("told-split", &["--strip-debug", link]),
            "file of their own, told-kept.elf; `eu-unstrip",
        ),
        (copy("told-packed", &["--compress-debug-sections=zlib"]), "information is compressed"),
    ] {
        let image = [file.as_str(), "--soc", "mps2-an385", "--max-cycles", "20000"];
        let timeline = of("told.pftrace");
        for command in
            [&["sim", "--masked=1"][..], &["calls"], &["trace", "-o", &timeline], &["sim"]]
        {
            let shown = stderr_of(&rtmark(&[command, &image].concat()));
            // Nobody asks where anything is.
            assert_eq!(shown.contains(expected), command != ["sim"], "{command:?} {file}: {shown}");
        }
        let output = columns(&[("mine", &file)], &["--max-cycles", "100000"]);
        let shown = stderr_of(&output);
        let expected = if file.contains("bare") { "has no symbols" } else { expected };
        assert!(shown.contains(expected), "{file}: {shown}");
    }
    let whole =
        stderr_of(&rtmark(&["calls", &image, "--soc", "mps2-an385", "--max-cycles", "20000"]));
    assert!(!whole.contains("unknown"), "{whole}");
}

#[test]
fn linker_script_constants_are_not_functions() {
    let image = guest("located", &["-DPLAIN"]);
    let symbols = Command::new("arm-none-eabi-nm").arg(&image).output().expect("nm starts");
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let give = symbols.lines().find(|line| line.ends_with(" z_impl_k_sem_give")).expect("there");
    let address = u32::from_str_radix(&give[..8], 16).expect("an address");
    // As Kconfig's are, and by chance an address amid a function.
    let constant = format!("-Wl,--defsym=CONFIG_SIZE={}", address + 4);
    // And as Zephyr's are, which have the type of variables.
    let typed = scratch().join("constant.s");
    let address = format!("{:#x}", address + 4);
    let source =
        format!(".globl CONFIG_SIZE\n.equ CONFIG_SIZE, {address}\n.type CONFIG_SIZE, %object\n");
    std::fs::write(&typed, source).expect("writable");
    for constant in [constant.as_str(), &typed.display().to_string()] {
        let image = guest("constant", &["-DPLAIN", constant]);
        let limit = ["--max-cycles", "20000"];
        let output =
            rtmark(&[&["sim", &image, "--soc", "mps2-an385", "--profile"], &limit[..]].concat());
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("z_impl_k_sem_give"), "{output:?}");
        assert!(!shown.contains("CONFIG_SIZE"), "{shown}");
    }
}

/// Zephyr's statement that SysTick counts its core's clock, of 12 MHz.
const OF_12_MHZ: [&str; 2] = [
    "-Wl,--defsym=CONFIG_CORTEX_M_SYSTICK=1",
    "-Wl,--defsym=CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC=12000000",
];

#[test]
fn times_are_of_the_clock_that_the_program_states() {
    let image = guest("clock", &OF_12_MHZ);
    let output = columns(&[("zephyr", &image)], &["--format", "json"]);
    assert!(stderr_of(&output).contains("times are at 12 MHz, as its CONFIG_SYS_CLOCK_HW"));
    let answers = answers(&output);
    assert_eq!(of(&answers, "semaphore.give.immediate")[0]["clock"], 12_000_000);
    // Peripherals run at the soc's clock there, and what to do is said.
    let run = |more: &[&str]| {
        let run = ["sim", &image, "--soc", "mps2-an385", "--max-cycles", "120000", "--format"];
        let output = rtmark(&[&run[..], &["json"], more].concat());
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        document["nanoseconds"].as_u64().expect("a time")
    };
    assert_eq!((run(&[]), run(&["--clock", "25MHz"])), (10_000_000, 4_800_000));
    let sim = ["sim", &image, "--soc", "mps2-an385", "--max-cycles", "120000"];
    let stated = stderr_of(&rtmark(&sim));
    assert!(stated.contains("at 12 MHz, as the program's CONFIG_SYS_CLOCK_HW"), "{stated}");
    assert!(stated.contains("the soc's 25 MHz: for both, --clock 12MHz"), "{stated}");
    let given = stderr_of(&rtmark(&[&sim[..], &["--clock", "12MHz"]].concat()));
    assert!(given.contains("at 12 MHz") && !given.contains("states"), "{given}");
    let wrong = rtmark(&[&sim[..], &["--clock", "fast"]].concat());
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr_of(&wrong));
}

#[test]
fn wrappers_are_as_good_as_inlined() {
    let image = guest("wrapped", &["-DWRAPPED"]);
    let output = columns(&[("zephyr", &image)], &["--format", "json"]);
    let found = of(&answers(&output), "semaphore.give.immediate")[0].clone();
    assert_eq!(found["statistics"]["count"], 10, "{found}");
    let calls = ["calls", &image, "--soc", "mps2-an385", "--max-cycles", "20000"];
    let output = rtmark(&[&calls[..], &["--format", "json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let called = document["runs"][0]["paid"]["called"].as_array().expect("functions");
    let gives: Vec<_> = called.iter().filter(|one| one["function"] == "k_sem_give").collect();
    let [give] = gives.as_slice() else { panic!("{called:?}") };
    assert_eq!((&give["symbol"], &give["calls"]), (&"z_impl_k_sem_give".into(), &10.into()));
    let place = &give["sites"][0]["place"];
    assert_ne!(place["function"], "k_sem_give", "that is the wrapper: {place}");
}

#[test]
fn short_programs_are_observed_to_their_end() {
    // Its calls come after more than a second of its clock.
    let image = guest("late", &["-DLATE"]);
    let output = columns(&[("zephyr", &image)], &["--format", "json"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert!(!stderr_of(&output).contains("calls are those of the first"));
    let found = of(&answers(&output), "semaphore.give.immediate")[0].clone();
    assert_eq!(found["statistics"]["count"], 10, "{found}");
}
