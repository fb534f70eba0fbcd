//! The workflow and the hook of `docs/ci`, run as they stand in a scratch repository with a
//! FreeRTOS kernel, into which a commit puts one instruction more.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A repository with a FreeRTOS kernel, and the environment of a workflow's steps.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let scratch = Self { folder: tempfile::tempdir().expect("a scratch folder") };
        let source = published_kernel();
        let kernel = scratch.kernel();
        std::fs::create_dir_all(kernel.join("portable/GCC")).expect("made");
        let copy = |from: &str, to: &str| {
            let status =
                Command::new("cp").arg("-R").arg(source.join(from)).arg(kernel.join(to)).status();
            assert!(status.expect("cp runs").success(), "{from}");
        };
        for file in
            ["tasks.c", "queue.c", "list.c", "event_groups.c", "stream_buffer.c", "timers.c"]
        {
            copy(file, ".");
        }
        copy("include", ".");
        copy("portable/MemMang", "portable");
        for port in ["ARM_CM0", "ARM_CM4F"] {
            copy(&format!("portable/GCC/{port}"), "portable/GCC");
        }
        scratch.git(&["init", "--quiet", "--initial-branch", "main"]);
        scratch.git(&["config", "user.name", "x"]);
        scratch.git(&["config", "user.email", "x@x"]);
        scratch.git(&["config", "commit.gpgsign", "false"]);
        scratch.commit("as published");
        scratch
    }

    fn kernel(&self) -> PathBuf {
        self.folder.path().join("kernel")
    }

    fn shell(&self, script: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_rtmark"));
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", program.parent().expect("a folder").display());
        let scratch = self.folder.path();
        Command::new("sh")
            .args(["-euc", script])
            .current_dir(self.kernel())
            .env("PATH", path)
            .env("RTMARK_STORE", scratch.join("store.sqlite"))
            .env("RTMARK_BUILD", Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate-build"))
            .env("XDG_CONFIG_HOME", scratch.join("config"))
            .env_remove("RTMARK_FIRMWARE")
            .env("RUNNER_TEMP", scratch)
            .env("GITHUB_STEP_SUMMARY", scratch.join("summary.md"))
            .env("BASE", "main")
            .env("WHAT", "--kernel freertos --scenario thread.yield --soc stm32f405")
            .output()
            .expect("sh runs")
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git").arg("-C").arg(self.kernel()).args(arguments).status();
        assert!(status.expect("git runs").success(), "{arguments:?}");
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--no-verify", "--message", message]);
    }

    /// One instruction more where a task is switched.
    fn slow_down(&self) {
        self.insert("vTaskSwitchContext", "nop");
    }

    /// Instructions where a function of the kernel begins.
    fn insert(&self, function: &str, instructions: &str) {
        let file = self.kernel().join("tasks.c");
        let text = std::fs::read_to_string(&file).expect("readable");
        let entry = format!("traceENTER_{function}();");
        assert!(text.contains(&entry), "the kernel's source is another one");
        let longer = format!("{entry} __asm volatile ( \"{instructions}\" );");
        std::fs::write(&file, text.replace(&entry, &longer)).expect("writable");
    }
}

/// Where the sources are that the firmware's own build fetches.
fn published_kernel() -> PathBuf {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "freertos-source", "--target", host])
        .arg("--manifest-path")
        .arg(root().join("firmware/Cargo.toml"))
        .env_remove("RTMARK_FREERTOS_KERNEL")
        .current_dir(root().join("firmware"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

/// The script of a workflow's step.
fn step(name: &str) -> String {
    step_of("docs/ci/rtmark.yml", name)
}

/// The script of a step of any file.
fn step_of(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(root().join(file)).expect("readable");
    let mut lines = text.lines().skip_while(|line| line.trim() != format!("- name: {name}"));
    assert!(lines.next().is_some(), "{file} has a step {name}");
    let mut lines = lines.skip_while(|line| line.trim() != "run: |");
    let indent = lines.next().expect("a script").find("run").expect("there") + 2;
    let script = lines.take_while(|line| line.len() > indent && line[..indent].trim().is_empty());
    script.map(|line| line.trim().to_owned() + "\n").collect()
}

#[track_caller]
fn ended(output: &Output, code: i32) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stdout}\n{stderr}");
    stdout
}

#[test]
fn the_gate_fails_on_one_more_instruction_in_the_switch() {
    let scratch = Scratch::new();
    // The hook lets a commit pass that changes nothing, and refuses the slower one.
    std::fs::copy(
        root().join("docs/ci/pre-commit"),
        scratch.kernel().join(".git/hooks/pre-commit"),
    )
    .expect("copied");
    std::fs::write(scratch.kernel().join("README"), "x").expect("writable");
    ended(&scratch.shell("git add README && git commit --quiet --message unchanged 2>&1"), 0);
    scratch.git(&["checkout", "--quiet", "-b", "slower"]);
    scratch.slow_down();
    let refused = scratch.shell("git commit --quiet --all --message slower 2>&1");
    let output = ended(&refused, 1);
    assert!(
        output.contains("regression") && output.contains("freertos thread.yield on stm32f405"),
        "{output}"
    );

    scratch.commit("slower");
    ended(&scratch.shell(&step("Measure the base")), 0);
    ended(&scratch.shell(&step("Measure the change")), 0);
    let annotations = ended(&scratch.shell(&step("Gate")), 3);
    assert!(
        annotations.contains(",title=freertos thread.yield on stm32f405::median "),
        "{annotations}"
    );
    assert!(annotations.starts_with("::error file=tasks.c,line="), "{annotations}");
    assert!(
        annotations.contains("in vTaskSwitchContext (") && annotations.contains("+1 instructions)"),
        "the function is named: {annotations}"
    );
    let summary =
        std::fs::read_to_string(scratch.folder.path().join("summary.md")).expect("written");
    assert!(summary.starts_with("### Refused: 1 scenario beyond budget\n"), "{summary}");
    let why = "\n**vTaskSwitchContext** was changed (tasks.c:";
    assert!(
        summary.contains(why)
            && summary.contains("\n| thread.yield | freertos | stm32f405 | median "),
        "{summary}"
    );
    let junit = std::fs::read_to_string(scratch.kernel().join("rtmark.xml")).expect("written");
    assert!(junit.contains("failures=\"1\"") && junit.contains("\" time=\"0."), "{junit}");

    // The action does the same, by its own steps.
    let action = |name: &str| {
        let inputs = "export MEASURES=freertos BUDGET= GITHUB_OUTPUT=\"$RUNNER_TEMP/outputs\"\n";
        scratch.shell(&(inputs.to_owned() + &step_of("action.yml", name)))
    };
    ended(&action("Measure the base"), 0);
    ended(&action("Measure the change"), 0);
    let annotation = ended(&action("Gate"), 3);
    assert!(annotation.starts_with("::error file=tasks.c,line="), "{annotation}");
    let outputs = std::fs::read_to_string(scratch.folder.path().join("outputs")).expect("written");
    let file = outputs.trim().strip_prefix("summary=").expect("an output");
    let summary = std::fs::read_to_string(file).expect("written");
    assert!(summary.contains("beyond budget"), "{summary}");

    // An accepted regression passes, and says why.
    let budget = "[[acknowledged]]\nscenario = 'thread.*'\nup_to = 100000\nreason = 'a trial'\n";
    std::fs::write(scratch.folder.path().join("budget.toml"), budget).expect("writable");
    let accepted = scratch.shell("rtmark gate change --baseline base --budget ../budget.toml");
    assert!(ended(&accepted, 0).contains("(a trial)"));

    // The history names the commit, and git bisect finds it.
    let history = "rtmark history thread.yield --kernel freertos --soc stm32f405";
    assert!(ended(&scratch.shell(history), 0).contains("\u{25c6} +"));
    for number in 0..3 {
        std::fs::write(scratch.kernel().join("README"), number.to_string()).expect("writable");
        scratch.commit("unrelated");
    }
    let bisect = "rtmark bisect thread.yield --kernel freertos --soc stm32f405 --good main";
    let found = ended(&scratch.shell(bisect), 0);
    assert!(found.contains("is the first bad commit") && found.contains("slower"), "{found}");
    let last = found.lines().last().expect("a line");
    assert!(last.contains("cycles before that commit, "), "{found}");
    let log =
        Command::new("git").arg("-C").arg(scratch.kernel()).args(["worktree", "list"]).output();
    let log = String::from_utf8_lossy(&log.expect("git runs").stdout).into_owned();
    assert!(!log.contains("rtmark-bisect"), "the folder aside is gone: {log}");
}

/// What two runs of these scenarios differ by, as `compare` says it to programs.
fn compared(scratch: &Scratch, before: &str, after: &str) -> serde_json::Value {
    let json =
        scratch.shell(&format!("rtmark compare {before} {after} --all --format json || true"));
    serde_json::from_str(&ended(&json, 0)).expect("JSON")
}

#[test]
fn the_gate_fails_only_on_growth_inside_spans() {
    let scratch = Scratch::new();
    let measure = |name: &str| {
        // Spans that the start of the scheduler is no part of. Link-time optimisation puts that behind
        // all else, where it moves nothing.
        let what = "--kernel freertos --profile product+lto=off \
                    --scenario 'thread.*' 'semaphore.*' 'queue.*' 'isr.*' 'heap.*'";
        ended(
            &scratch.shell(&format!(
                "RTMARK_FREERTOS_KERNEL=\"$PWD\" \
                 rtmark run {what} --soc stm32f405 stm32c031 --placements 1 --name {name}"
            )),
            0,
        )
    };
    measure("base");
    scratch.insert("vTaskStartScheduler", "nop\\n nop");
    measure("moved");
    let gate = scratch.shell("rtmark gate moved --baseline base");
    let output = ended(&gate, 0);
    assert!(output.contains("the gate is passed") && !output.contains("regression"), "{output}");
    let pairs = compared(&scratch, "base", "moved");
    let pairs = pairs["pairs"].as_array().expect("pairs");
    let with = |verdict: &str| pairs.iter().filter(|pair| pair["verdict"] == verdict).count();
    assert!(with("moved") > 20, "the experiment moves figures: {}", with("moved"));
    assert_eq!(with("moved") + with("same"), pairs.len());
    // Nobody is blamed for it.
    let blamed =
        |pair: &serde_json::Value| ["cause", "changed"].iter().any(|key| pair.get(key).is_some());
    assert!(!pairs.iter().any(blamed));
    ended(&scratch.shell("rtmark compare base moved"), 0);

    scratch.slow_down();
    measure("changed");
    let output = ended(&scratch.shell("rtmark gate changed --baseline moved"), 3);
    assert!(output.contains("freertos thread.yield on stm32c031"), "{output}");
    let pairs = compared(&scratch, "moved", "changed");
    let yields = pairs["pairs"].as_array().expect("pairs").iter();
    let mut yields = yields.filter(|pair| pair["key"]["scenario"] == "thread.yield");
    assert!(yields.all(|pair| {
        let one_more = &pair["instructions"][0];
        let more = |key: &str| one_more[key].as_i64().expect("a count");
        pair["verdict"] == "worse"
            && pair["changed"] == serde_json::json!(["vTaskSwitchContext"])
            && more("after") - more("before") == 1
    }));
}

/// With flash at address 0, a number of rounds could be an address as well as a number.
#[test]
fn the_gate_fails_on_a_changed_constant_that_could_be_an_address() {
    let scratch = Scratch::new();
    let measure = |name: &str| {
        let what = "--kernel freertos --scenario thread.yield --soc nrf52840 --placements 1";
        let run = format!("RTMARK_FREERTOS_KERNEL=\"$PWD\" rtmark run {what} --name {name}");
        ended(&scratch.shell(&run), 0)
    };
    // The compiler's own registers and flags remain.
    let rounds = "push {r2, r3}\\n mrs r2, apsr\\n ldr r3, 1f\\n 2: subs r3, #1\\n bne 2b\\n \
                  msr apsr_nzcvq, r2\\n pop {r2, r3}\\n b 3f\\n .balign 4\\n 1: .word 20\\n 3:";
    scratch.insert("vTaskSwitchContext", rounds);
    measure("base");
    let file = scratch.kernel().join("tasks.c");
    let text = std::fs::read_to_string(&file).expect("readable");
    std::fs::write(&file, text.replace(".word 20", ".word 40")).expect("writable");
    measure("changed");
    let output = ended(&scratch.shell("rtmark gate changed --baseline base"), 3);
    assert!(output.contains("constants or initial values"), "{output}");
}
