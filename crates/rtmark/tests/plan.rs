//! The plans that ship, with FreeRTOS on the machine: `docs/plan`.

use std::path::{Path, PathBuf};
use std::process::Command;

use rtmark_firmware::{Builder, Tree, Variant};
use rtmark_runner::socs;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

/// Runs a plan whose document is of a schema.
fn answered(of: &str, file: &Path, more: &[&str]) -> (i32, Value) {
    let data = tempfile::tempdir().expect("a scratch folder");
    let store = data.path().join("store.sqlite");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .current_dir(root())
        .env("RTMARK_STORE", store)
        .arg("plan")
        .arg(file)
        .args(["--kernel", "freertos", "--placements", "1", "--format", "json", "--quiet"])
        .args(more)
        .output()
        .expect("rtmark runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = serde_json::from_slice(&output.stdout);
    let document = document.unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(jsonschema::is_valid(&schema(of), &document), "{document:#}");
    (output.status.code().expect("a code"), document)
}

#[test]
fn the_plans_that_ship_hold_and_no_run_exceeds_its_bound() {
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
            // No job ends before it has executed; of its work no more than its loop's last round is lost.
            let work = task["work"].as_u64().expect("work");
            assert!(number("longest") + 200 > work && number("jobs") > 0, "{name}: {run:#}");
        }
        let bound = kernel["breakdown_percent"].as_f64().expect("bounded");
        let ran = kernel["run"]["breakdown_percent"].as_f64().expect("ran");
        // What bounds allow, runs hold.
        assert!(ran > kernel["utilisation_percent"].as_f64().expect("load"), "{name}");
        assert!(bound <= ran + 1.0, "{name}: {bound} {ran}");
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
fn a_sweep_shows_from_which_clock_on_it_holds() {
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
    // A period of 5 ms is no whole number of ticks of 10 ms.
    assert!(points[..4].iter().all(|point| verdict(point) != "holds"), "{swept:#}");

    let refused = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .current_dir(root())
        .args(["plan", "docs/plan/sensor.toml", "--sweep", "clock=96"])
        .output()
        .expect("rtmark runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("48000000 Hz of stm32c031"), "{said}");
}

/// A function of a firmware is measured on the soc, and one that is not there is named.
#[test]
fn work_is_measured_of_a_function() {
    let tree = Tree::find(Some(&root().join("firmware"))).expect("the tree");
    let kernels = tree.kernels().expect("in order");
    let kernel = kernels.iter().find(|it| it.manifest.id.as_str() == "freertos").expect("there");
    let soc = socs::find("stm32c031").expect("a soc").soc;
    let switched = Variant::default().of(&kernel.manifest, soc.core.name()).expect("possible");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let builder = Builder::new(tree).in_folder(&folder);
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
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .current_dir(root())
        .env("RTMARK_STORE", folder.path().join("store.sqlite"))
        .arg("plan")
        .arg(&file)
        .args(["--placements", "1", "--quiet"])
        .output()
        .expect("rtmark runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no function") && said.contains("work of task one"), "{said}");
}
