//! The plans that ship, with FreeRTOS on the machine: `docs/plan`.

use std::path::{Path, PathBuf};
use std::process::Command;

use rtmark_firmware::{Builder, Tree, Variant};
use rtmark_runner::socs;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn builds() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build")
}

fn schema(name: &str) -> Value {
    let path = root().join(format!("docs/schema/{name}.schema.json"));
    let text = std::fs::read_to_string(path).expect("there");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs a plan, and returns its exit code and its document.
fn plan(file: &Path, more: &[&str]) -> (i32, Value) {
    answered("plan", file, more)
}

/// Runs a plan with FreeRTOS, whose document is of a schema.
fn answered(of: &str, file: &Path, more: &[&str]) -> (i32, Value) {
    answered_by("freertos", of, file, more)
}

fn answered_by(kernel: &str, of: &str, file: &Path, more: &[&str]) -> (i32, Value) {
    let data = tempfile::tempdir().expect("a scratch folder");
    let output = rtmark(data.path())
        .arg(file)
        .args(["--kernel", kernel, "--placements", "1", "--format", "json"])
        .args(more)
        .output()
        .expect("rtmark runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = serde_json::from_slice(&output.stdout);
    let document = document.unwrap_or_else(|error| panic!("{error}: {stderr}"));
    assert!(jsonschema::is_valid(&schema(of), &document), "{document:#}");
    (output.status.code().expect("a code"), document)
}

/// For how much of the time the processor was awake in runs.
fn wake_percent(kernel: &Value) -> f64 {
    let wake = |key: &str| kernel["run"]["wake"][key].as_f64().expect("seen");
    wake("awake") * 100.0 / wake("cycles")
}

#[test]
fn shipped_plans_hold_and_no_run_exceeds_its_bound() {
    for name in ["motor", "sensor", "audio"] {
        let file = root().join(format!("docs/plan/{name}.toml"));
        let text = std::fs::read_to_string(&file).expect("there");
        let system: Value = toml::from_str(&text).expect("TOML");
        assert!(jsonschema::is_valid(&schema("plan-system"), &system), "{name}");
        let run = ["--run", "--offsets", "3", "--max-cycles", "8000000"];
        let (code, document) = plan(&file, &run);
        assert_eq!(code, 0, "{name}: {document:#}");
        let kernel = &document["kernels"][0];
        assert_eq!(kernel["verdict"], "holds", "{name}");
        assert_eq!(kernel["costs_of"], "image", "{name}");
        let of_suite = &kernel["of_suite"];
        assert_eq!(
            of_suite["tasks"].as_array().map(Vec::len),
            kernel["tasks"].as_array().map(Vec::len)
        );
        assert!(kernel["costs"] != of_suite["costs"], "{name}: placement moves costs");
        let tasks = kernel["tasks"].as_array().expect("tasks");
        for task in tasks {
            let terms = task["terms"].as_array().expect("terms").iter();
            let sum: i64 = terms.map(|term| term["cycles"].as_i64().expect("cycles")).sum();
            assert_eq!(task["response"].as_i64(), Some(sum), "{name}: {task:#}");
        }
        let runs = kernel["run"]["tasks"].as_array().expect("runs");
        assert_eq!(runs.len(), tasks.len(), "{name}");
        for (run, task) in runs.iter().zip(tasks) {
            let number = |key: &str| run[key].as_u64().expect("a number");
            assert!(number("longest") <= number("bound"), "{name}: {run:#}");
            assert_eq!(
                run["bound"], task["response"],
                "{name}: bound and verdict rest on one image"
            );
            // No job ends before it has executed; of its work no more than its loop's last round is lost.
            let work = task["work"].as_u64().expect("work");
            assert!(number("longest") + 200 > work && number("jobs") > 0, "{name}: {run:#}");
        }
        // The idle task spins, as FreeRTOS' documents configure it.
        assert!((wake_percent(kernel) - 100.0).abs() < 1e-9, "{name}: {kernel:#}");
        let bound = kernel["breakdown_percent"].as_f64().expect("bounded");
        let ran = kernel["run"]["breakdown_percent"].as_f64().expect("ran");
        // What bounds allow, runs hold.
        assert!(ran > kernel["utilisation_percent"].as_f64().expect("load"), "{name}");
        assert!(bound <= ran + 1.0, "{name}: {bound} {ran}");
    }
}

/// The mixed load's queue goes into the image: each job of one end sends, and of the other receives.
#[test]
fn plans_with_queues_run() {
    let file = root().join("docs/plan/load.toml");
    let run = ["--run", "--offsets", "2", "--max-cycles", "2000000"];
    let (code, document) = plan(&file, &run);
    assert_eq!(code, 0, "{document:#}");
    let kernel = &document["kernels"][0];
    assert_eq!((&kernel["verdict"], &kernel["run"]["not_run"]), (&"holds".into(), &Value::Null));
    let number = |of: &Value, key: &str| of[key].as_u64().expect("a number");
    for run in kernel["run"]["tasks"].as_array().expect("runs") {
        assert!(number(run, "longest") <= number(run, "bound"), "{run:#}");
    }
    let [queue] = &kernel["run"]["queues"].as_array().expect("queues")[..] else { panic!("one") };
    assert_eq!((&queue["name"], number(queue, "lost")), (&"items".into(), 0));
    // At the end of each run a message may be on its way: after its send, and before the next look.
    let runs = number(&kernel["run"], "offsets_tried");
    let jobs = number(&kernel["run"]["tasks"][2], "jobs");
    let (sent, received) = (number(queue, "sent"), number(queue, "received"));
    assert!(jobs > 50 && (jobs..=jobs + runs).contains(&sent), "{jobs} {queue:#}");
    assert!(received <= sent && sent <= received + 3 * runs, "{queue:#}");
    let costs = kernel["costs"].as_array().expect("costs");
    for cost in ["send", "receive", "look"] {
        let found = costs.iter().find(|it| it["cost"] == cost).expect("measured");
        assert!(number(&found["figure"], "cycles") > 0, "{found:#}");
    }

    // One that holds more than those of the image is told by name, and its bounds stand.
    let folder = tempfile::tempdir().expect("a scratch folder");
    let long = folder.path().join("system.toml");
    let text = std::fs::read_to_string(&file).expect("there");
    std::fs::write(&long, text.replace("items = 8", "items = 33")).expect("writable");
    let (code, document) = plan(&long, &run);
    let kernel = &document["kernels"][0];
    assert_eq!((code, &kernel["verdict"]), (0, &"holds".into()), "{document:#}");
    let why = kernel["run"]["not_run"].as_str().expect("a reason");
    assert!(why.contains("items holds 33 messages"), "{why}");
}

/// A sensor node for kernels whose tasks give way only at the ends of their jobs, one of them by its former
/// name.
const STATION: &str = r#"
soc = "stm32c031"
kernels = ["freertos", "embassy", "lilos", "evloop"]
profile = "product"
tick = "1ms"
locks = ["bus", "log"]

[[interrupt]]
name = "ready"
distance = "7ms"
work = "5us"

[[task]]
name = "sample"
on = "ready"
priority = 3
work = "80us"

[[task]]
name = "filter"
period = "2ms"
priority = 2
work = "150us"
lock = [{ name = "bus", for = "10us" }]

[[task]]
name = "report"
period = "20ms"
priority = 1
work = "300us"
lock = [{ name = "bus", for = "20us" }]

[[queue]]
name = "samples"
from = "sample"
to = "report"
items = 8
"#;

/// lilos and the event loop have images and models: no run is above its bound, and no bound is far above.
#[test]
fn plans_run_on_kernels_without_preemption() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("station.toml");
    std::fs::write(&file, STATION).expect("writable");
    let run = ["--run", "--offsets", "6", "--max-cycles", "4000000"];
    for kernel in ["lilos", "ring"] {
        let (code, document) = answered_by(kernel, "plan", &file, &run);
        assert_eq!(code, 0, "{kernel}: {document:#}");
        let plan = &document["kernels"][0];
        assert_eq!((&plan["verdict"], &plan["missing"]), (&"holds".into(), &Value::Array(vec![])));
        assert_eq!(plan["run"]["not_run"], Value::Null, "{kernel}");
        assert!(plan["of_suite"]["missing"].as_array().is_some_and(Vec::is_empty), "{plan:#}");
        for (run, own) in plan["run"]["tasks"].as_array().expect("runs").iter().zip([20, 30, 30]) {
            let number = |key: &str| run[key].as_u64().expect("a number");
            let (longest, bound) = (number("longest"), number("bound"));
            assert!(longest <= bound && number("jobs") > 0, "{kernel}: {run:#}");
            assert!((bound - longest) * 100 <= bound * own, "{kernel}: {run:#}");
        }
        assert_eq!(plan["run"]["queues"][0]["lost"], 0, "{kernel}");
    }

    // A round of more than a tick loses ticks; the event loop's handlers come in between.
    std::fs::write(&file, STATION.replace("\"300us\"", "\"900us\"")).expect("writable");
    let (code, document) = answered_by("lilos", "plan", &file, &[]);
    let why = document["kernels"][0]["tasks"][1]["no_bound"].as_str().expect("a reason");
    assert!(code == 3 && why.contains("ticks are lost"), "{why}");
    let (code, _) = answered_by("ring", "plan", &file, &[]);
    assert_eq!(code, 0);
}

/// One lock within another goes into the images of FreeRTOS and RTIC; others say that they have none.
#[test]
fn nested_locks_run_if_the_image_supports_them() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("station.toml");
    let inner = "for = \"20us\" }, { name = \"log\", for = \"8us\", inside = \"bus\" }]";
    let text = STATION
        .replace("for = \"20us\" }]", inner)
        .replace("\"embassy\",", "\"embassy\", \"rtic\",");
    assert!(text.contains("inside") && text.contains("rtic"));
    std::fs::write(&file, text).expect("writable");
    let run = ["--run", "--offsets", "3", "--max-cycles", "3000000"];
    for kernel in ["freertos", "rtic"] {
        let (code, document) = answered_by(kernel, "plan", &file, &run);
        let run = &document["kernels"][0]["run"];
        assert_eq!((code, &run["not_run"]), (0, &Value::Null), "{kernel}: {document:#}");
        for task in run["tasks"].as_array().expect("runs") {
            let number = |key: &str| task[key].as_u64().expect("a number");
            assert!(number("longest") <= number("bound"), "{kernel}: {task:#}");
        }
    }
    let (code, document) = answered_by("lilos", "plan", &file, &run);
    let why = document["kernels"][0]["run"]["not_run"].as_str().expect("a reason");
    assert!(code == 0 && why.contains("report: the image has no nested locks"), "{why}");
}

/// RTIC costs more in the motor controller's image than in the suite's. A deadline between both bounds is
/// met by what the suite's costs say, and missed by what decides: the image's.
#[test]
fn the_verdict_of_a_run_rests_on_its_image() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("motor.toml");
    let text = std::fs::read_to_string(root().join("docs/plan/motor.toml")).expect("there");
    let text = text.replace("slack_percent = 10.0", "slack_percent = 0.0");
    std::fs::write(&file, &text).expect("writable");
    let run = ["--run", "--offsets", "1", "--max-cycles", "3400000"];
    let rtic = |more: &[&str]| answered_by("rtic", "plan", &file, more);
    let (code, document) = rtic(&run);
    assert_eq!(code, 0, "{document:#}");
    let kernel = &document["kernels"][0];
    // Awake for no less than what tasks and handlers execute, and asleep for the rest.
    let load = kernel["utilisation_percent"].as_f64().expect("load");
    assert!((load - 3.0..90.0).contains(&wake_percent(kernel)), "{kernel:#}");
    let bound = |plan: &Value| plan["tasks"][3]["response"].as_u64().expect("a bound");
    let (suite, image) = (bound(&kernel["of_suite"]), bound(kernel));
    assert!(suite < image, "{suite} {image}");

    let between = format!("work = \"1.5ms\"\ndeadline = {}", suite.midpoint(image));
    std::fs::write(&file, text.replace("work = \"1.5ms\"", &between)).expect("writable");
    let (code, document) = rtic(&[]);
    let kernel = &document["kernels"][0];
    assert_eq!(
        (code, &kernel["verdict"], &kernel["costs_of"]),
        (0, &"holds".into(), &"suite".into())
    );
    assert_eq!(bound(kernel), suite);
    let (code, document) = rtic(&run);
    let kernel = &document["kernels"][0];
    assert_eq!(
        (code, &kernel["verdict"], &kernel["costs_of"]),
        (3, &"misses".into(), &"image".into())
    );
    assert_eq!(kernel["of_suite"]["verdict"], "holds");
    assert!(kernel["tasks"][3]["slack"].as_i64().is_some_and(|slack| slack < 0), "{kernel:#}");

    // People are told whose costs decide, with a run and without.
    for (more, expected) in
        [(&run[..], "the image that ran the set"), (&[], "in the suite's images")]
    {
        let common = ["--kernel", "rtic", "--placements", "1"];
        let (_, shown, _) = ended(rtmark(folder.path()).arg(&file).args(common).args(more));
        assert!(shown.contains(expected), "{shown}");
    }
}

/// Runs a plan in a folder: its exit code, and what is said on stdout and on stderr, there without its
/// frame and line breaks.
fn run_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    ended(rtmark(folder).args(arguments))
}

fn rtmark(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtmark"));
    command.current_dir(folder).env("RTMARK_STORE", folder.join("store.sqlite"));
    command.env("RTMARK_FIRMWARE", root().join("firmware")).env("RTMARK_BUILD", builds());
    command.args(["plan", "--quiet"]);
    command
}

fn ended(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("rtmark runs");
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stderr = plain(&output.stderr);
    let words: Vec<_> = stderr.split_whitespace().filter(|word| *word != "│").collect();
    (output.status.code().expect("a code"), plain(&output.stdout), words.join(" "))
}

/// What is wrong with a file is told with its line and reason, before anything is built, from any folder.
#[test]
fn bad_input_is_reported_with_line_and_reason() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let task = "[[task]]\nname = \"one\"\nperiod = \"1ms\"\npriority = 1\n";
    let locks = |first: &str, second: &str| {
        format!(
            "lock = [{{ name = \"{first}\", for = 90 }}, {{ name = \"{second}\", for = 9, inside = \"{first}\" }}]\n"
        )
    };
    let circle = format!(
        "{task}work = 200\n{}[[task]]\nname = \"two\"\nperiod = 9000\npriority = 2\nwork = 200\n{}",
        locks("a", "b"),
        locks("b", "a")
    );
    let cases = [
        (
            format!("{task}work = \"1.2ms\"\ndeadline = \"2ms\"\n"),
            8,
            "work of all tasks",
            "120.0 % of the processor",
        ),
        (
            format!("{task}work = \"0.5ms\"\ndeadline = \"0.4ms\"\n"),
            9,
            "deadline of task one",
            "less than the 24000",
        ),
        (circle, 9, "lock of task one", "deadlock"),
        (
            format!("{task}work = {{ elf = \"none.elf\", function = \"step\" }}\n"),
            8,
            "work of task one",
            "none.elf",
        ),
        (
            format!("{task}work = {{ scenario = \"queue.sned\" }}\n"),
            8,
            "work of task one",
            "no scenario `queue.sned`",
        ),
        (format!("{task}work = 9\nstack = 20000\n"), 9, "stack of task one", "12288 of RAM"),
        (format!("{task}work = 9\nwrok = 9\n"), 9, "wrok", "unknown field"),
        (format!("{task}work = 9\npriority = 2\n"), 9, "priority", "duplicate key"),
        (format!("{task}work = -9\n"), 8, "-9", "cannot be negative"),
        ("[[task]\n".to_owned(), 4, "", ""),
        (String::new(), 1, "task", "no [[task]]"),
    ];
    for (text, line, key, problem) in cases {
        let head = "soc = \"stm32c031\"\nkernels = [\"freertos\"]\nlocks = [\"a\", \"b\"]\n";
        std::fs::write(folder.path().join("system.toml"), format!("{head}{text}"))
            .expect("writable");
        let build = folder.path().join("build");
        let mut command = rtmark(folder.path());
        let (code, stdout, stderr) = ended(command.arg("system.toml").env("RTMARK_BUILD", &build));
        assert_eq!((code, stdout.as_str()), (2, ""), "{text}: {stderr}");
        let at = format!("system.toml:{line}: {key}");
        assert!(stderr.contains(&at) && stderr.contains(problem), "{at}, {problem}: {stderr}");
        // Sources may have been unpacked; nothing is built of them.
        let built = std::fs::read_dir(&build).into_iter().flatten();
        let built = built.map(|it| it.expect("readable").file_name());
        assert!(built.into_iter().all(|name| name == "firmware"), "{text}");
    }
    for (arguments, wanted) in [
        (&["no-such-file.toml"][..], "--init"),
        (&["system.toml", "--offsets", "3"], "--run"),
        (&["system.toml", "--sweep", "clock=9..1"], "ends before it begins"),
    ] {
        let (code, _, stderr) = run_in(folder.path(), arguments);
        assert!(code == 2 && stderr.contains(wanted), "{arguments:?}: {stderr}");
    }
}

#[test]
fn too_little_slack_is_a_regression() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("sensor.toml");
    let text = std::fs::read_to_string(root().join("docs/plan/sensor.toml")).expect("there");
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replace(from, to)).expect("writable");
        let (code, document) = plan(&file, &[]);
        (code, document["kernels"][0]["verdict"].as_str().expect("a verdict").to_owned())
    };
    assert_eq!(changed("slack_percent = 20.0", "slack_percent = 80.0"), (3, "tight".into()));
    assert_eq!(changed("deadline = \"1ms\"", "deadline = \"160us\""), (3, "misses".into()));
}

/// Each point of a sweep is the plan of a chip with that clock, and says as much as a plan alone.
#[test]
fn a_sweep_shows_the_lowest_clock_that_holds() {
    let file = root().join("docs/plan/sensor.toml");
    let (_, alone) = plan(&file, &[]);
    let sweep = ["--sweep", "clock=16,25,26,48", "tick=1000,100"];
    let (code, swept) = answered("plan-sweep", &file, &sweep);
    assert_eq!(code, 0, "{swept:#}");
    let points = swept["points"].as_array().expect("points");
    let at = |point: &Value| (point["tick_hz"].as_u64(), point["clock_hz"].as_u64());
    let wanted = [100, 1000]
        .map(|tick| [16, 25, 26, 48].map(|clock| (Some(tick), Some(clock * 1_000_000))))
        .concat();
    assert_eq!(points.iter().map(at).collect::<Vec<_>>(), wanted);

    let mut last = points[7].clone();
    assert!(last.as_object_mut().expect("a plan").remove("tick_hz").is_some());
    assert_eq!(last, alone, "the chip's own clock and the file's own tick");
    // Work takes as many cycles, of which a slower clock has fewer.
    let load = |point: &Value| {
        let kernel = &point["kernels"][0];
        kernel["utilisation_percent"].as_f64().expect("a load")
    };
    for point in &points[4..] {
        let megahertz = point["clock_hz"].as_f64().expect("a clock") / 1e6;
        assert!((load(point) * megahertz - 50.0 * 48.0).abs() < 1.0, "{point:#}");
    }
    // What is found by scaling all costs is found by going through the clocks.
    let slowest = alone["kernels"][0]["slowest_clock_percent"].as_f64().expect("it holds") * 0.48;
    assert!((25.0..26.0).contains(&slowest), "{slowest}");
    let verdict = |point: &Value| point["kernels"][0]["verdict"].clone();
    assert_eq!(
        points[4..].iter().map(verdict).collect::<Vec<_>>(),
        ["misses", "misses", "tight", "holds"]
    );
    // A period of 5 ms is not a whole number of ticks of 10 ms.
    assert!(points[..4].iter().all(|point| verdict(point) != "holds"), "{swept:#}");

    let folder = tempfile::tempdir().expect("a scratch folder");
    let (code, _, stderr) = ended(rtmark(folder.path()).arg(&file).args(["--sweep", "clock=96"]));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("48000000 Hz of stm32c031"), "{stderr}");
}

/// Parts of a sweep come to what it is in one go; without all of them that is said.
#[test]
fn parts_of_a_sweep_are_merged() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = root().join("docs/plan/sensor.toml");
    let part = |share: &str| {
        let sweep = ["--sweep", "clock=24,36,48", "tick=100,1000", "--partition", share];
        let common = ["--kernel", "freertos", "--placements", "1", "--format", "json"];
        let (code, document, stderr) =
            ended(rtmark(folder.path()).arg(&file).args(sweep).args(common));
        assert_eq!(code, 0, "{stderr}");
        let name = folder.path().join(format!("{}.json", share.replace('/', "of")));
        std::fs::write(&name, &document).expect("writable");
        (name.display().to_string(), document)
    };
    let (_, whole) = part("1/1");
    let parts = ["2/4", "1/4", "4/4", "3/4"].map(part);
    let lengths = parts.each_ref().map(|(_, text)| {
        let sweep: Value = serde_json::from_str(text).expect("JSON");
        sweep["points"].as_array().map(Vec::len)
    });
    assert_eq!(lengths, [Some(2), Some(1), Some(2), Some(1)]);
    let names = parts.each_ref().map(|(name, _)| name.as_str());
    let joined = |names: &[&str]| {
        let mut merge = Command::new(env!("CARGO_BIN_EXE_rtmark"));
        ended(merge.current_dir(folder.path()).args(["merge", "--format", "json"]).args(names))
    };
    assert_eq!(joined(&names), (0, whole, String::new()));
    let (code, _, stderr) = joined(&names[1..]);
    assert!(code == 12 && stderr.contains("4 of 6 points are there"), "{code}: {stderr}");
}

/// A function of a firmware is measured on the soc, and one that is not there is named.
#[test]
fn work_is_measured_from_a_function() {
    let tree = Tree::find(Some(&root().join("firmware"))).expect("the tree");
    let kernels = tree.kernels().expect("in order");
    let kernel = kernels.iter().find(|it| it.manifest.id.as_str() == "freertos").expect("there");
    let soc = socs::find("stm32c031").expect("a soc").soc;
    let switched = Variant::default().of(&kernel.manifest, soc.core.name()).expect("possible");
    let builder = Builder::new(tree).in_folder(&builds());
    let elf = builder.build_plan(kernel, &soc, &switched).expect("built")["plan"].path.clone();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("system.toml");
    let text = |function: &str| {
        format!(
            "soc = \"stm32c031\"\nkernels = [\"freertos\"]\n[[task]]\nname = \"one\"\nperiod = \"1ms\"\n\
             priority = 1\nwork = {{ elf = {:?}, function = \"{function}\" }}\n",
            elf.display().to_string()
        )
    };
    // PendSV's handler calls it: some dozens of instructions.
    std::fs::write(&file, text("vTaskSwitchContext")).expect("writable");
    let (code, document) = plan(&file, &[]);
    assert_eq!(code, 0, "{document:#}");
    let work = document["kernels"][0]["tasks"][0]["work"].as_u64().expect("work");
    assert!((15..400).contains(&work), "{work}");
    std::fs::write(&file, text("no_such_function")).expect("writable");
    let (code, _, stderr) = ended(rtmark(folder.path()).arg(&file).args(["--placements", "1"]));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("no function") && stderr.contains("work of task one"), "{stderr}");
}

#[test]
fn unknown_profiles_are_rejected_at_their_line() {
    let data = tempfile::tempdir().expect("a scratch folder");
    let file = data.path().join("system.toml");
    let example = std::fs::read_to_string(root().join("docs/plan/motor.toml")).expect("there");
    let mut lines = example.lines().enumerate();
    let found = lines.find(|(_, line)| line.starts_with("kernels"));
    let (above, kernels) = found.expect("a list");
    for (profile, problem) in [
        ("produkt", "has no profile produkt"),
        ("Product", "is not a profile"),
        ("product+nonsense=1", "nonsense"),
    ] {
        let changed = format!("profile = {profile:?}\n{kernels}");
        std::fs::write(&file, example.replacen(kernels, &changed, 1)).expect("writable");
        let (code, _, stderr) =
            ended(rtmark(data.path()).arg(&file).args(["--kernel", "freertos"]));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(&format!("system.toml:{}: profile", above + 1)), "{stderr}");
        assert!(stderr.contains(problem), "{stderr}");
    }
}

/// RP2040's alarm has the interrupt that images elsewhere pend for tasks; nRF52840's counter, which its users
/// have, counts no whole microseconds.
#[test]
fn alarms_release_tasks_on_kernels_that_count_microseconds() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("system.toml");
    let answer = |kernel: &str, soc: &str| {
        let text = format!(
            "soc = \"{soc}\"\nkernels = [\"embassy\", \"rtic\"]\n\
             [[task]]\nname = \"control\"\nperiod = \"1ms\"\npriority = 2\nwork = \"50us\"\n\
             [[interrupt]]\nname = \"line\"\ndistance = \"3ms\"\nwork = \"4us\"\n\
             [[task]]\nname = \"bus\"\non = \"line\"\npriority = 1\nwork = \"50us\"\n"
        );
        std::fs::write(&file, text).expect("writable");
        let run = ["--run", "--offsets", "1", "--max-cycles", "2000000"];
        let (code, document) = answered_by(kernel, "plan", &file, &run);
        assert_eq!(code, 0, "{kernel}, {soc}: {document:#}");
        document["kernels"][0].clone()
    };
    for kernel in ["embassy", "rtic"] {
        let there = answer(kernel, "rp2040");
        assert_eq!(
            (&there["profile"], &there["run"]["not_run"]),
            (&"product".into(), &Value::Null)
        );
        let tasks = there["run"]["tasks"].as_array().expect("runs");
        for task in tasks {
            let number = |key: &str| task[key].as_u64().expect("a number");
            assert!(number("jobs") > 3 && number("longest") <= number("bound"), "{task:#}");
        }
        assert_eq!(tasks.len(), 2);
    }
    let there = answer("embassy", "nrf52840");
    assert_eq!(there["profile"], "product+tick_hz=1000", "{there:#}");
    let why = there["run"]["not_run"].as_str().expect("a reason");
    assert!(why.contains("no time base that counts microseconds"), "{why}");
}
