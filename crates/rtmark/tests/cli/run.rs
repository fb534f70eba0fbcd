//! `rtmark run` over firmware trees made here: what goes wrong, and what is then said.
//!
//! The trees' makefiles copy images, so that nothing is compiled.

use std::path::{Path, PathBuf};

use crate::common::{
    BAD_LOAD, CommandResult, EXIT, Elf, LOOP, Probe, SLEEP, START, printing, printing_after,
    rtmark, run_rtmark, storing,
};

/// A firmware tree with one kernel and one soc in a scratch folder.
pub struct Tree {
    folder: tempfile::TempDir,
}

const SCENARIOS: &[&str] = &["a.one", "a.two"];

impl Tree {
    fn new() -> Self {
        Self::of(SCENARIOS)
    }

    /// A tree whose catalogue has these scenarios.
    pub fn of(scenarios: &[&str]) -> Self {
        let tree = Self { folder: tempfile::tempdir().expect("a scratch folder") };
        let kernel = tree.path("firmware/k");
        std::fs::create_dir_all(&kernel).expect("made");
        tree.manifest("");
        // By this rtmark tells its own sources from a project's folder of that name.
        std::fs::create_dir_all(tree.path("firmware/c")).expect("made");
        std::fs::write(tree.path("firmware/c/image.mk"), "").expect("writable");
        let makefile = "all:\n\t@cp $(CURDIR)/a.elf $(RTMARK_OUT)/a.elf\n";
        std::fs::write(kernel.join("Makefile"), makefile).expect("writable");
        let catalogue = tree.path("catalogue");
        std::fs::create_dir_all(&catalogue).expect("made");
        let entry = |id: &&str| {
            format!(
                "[[scenario]]\nid = \"{id}\"\nanswers = \"?\"\nfrom = \"x\"\nto = \"y\"\n\
                 switches = 0\nsamples = 1\nbudget_ms = 10\n"
            )
        };
        let text: String = scenarios.iter().map(entry).collect();
        std::fs::write(catalogue.join("a.toml"), text).expect("writable");
        tree
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn manifest(&self, more: &str) {
        let text = format!(
            "id = \"k\"\nname = \"K\"\nversion = \"1\"\nlicense = \"MIT\"\nsource = \"here\"\n\
             language = \"C\"\nbuild = \"make\"\nimages = [\"a\"]\ncores = [\"cortex-m0plus\"]\n{more}"
        );
        std::fs::write(self.path("firmware/k/kernel.toml"), text).expect("writable");
    }

    pub fn image(&self, code: &[u16], probes: &[Probe<'_>]) -> &Self {
        Elf { code, probes, ..Elf::default() }.write(&self.path("firmware/k/a.elf"));
        self
    }

    pub fn run(&self, more: &[&str]) -> CommandResult {
        let common = ["run", "--catalogue", "catalogue", "--soc", "stm32c031"];
        run_rtmark(self.folder.path(), &[&common, more].concat())
    }

    fn one(&self) -> CommandResult {
        self.run(&["--scenario", "a.one"])
    }
}

/// Probes of an image whose span is its first three instructions.
const PROBES: &[Probe<'static>] = &[
    (5, 0, "a.one"),
    (1, START, "a.one"),
    (2, START + 6, "a.one"),
    (5, 1, "a.two"),
    (1, START, "a.two"),
    (2, START + 6, "a.two"),
];

#[test]
fn a_scenario_is_measured_printed_and_stored() {
    let tree = Tree::new();
    tree.image(&printing("a.one ok answer=42", true), PROBES);
    let result = tree.one();
    assert_eq!(result.code, 0, "{result:#?}");
    assert!(result.stdout.contains("a.one") && result.stdout.contains("stm32c031"), "{result:#?}");
    assert!(!result.stdout.contains('\u{1b}'), "no colours into a file");
    assert!(tree.path("data/rtmark/store.sqlite").is_file());

    let result = tree.run(&["--scenario", "a.one", "--format", "json"]);
    assert!(result.stderr.contains("1 recalled"), "{result:#?}");
    let json: serde_json::Value = serde_json::from_str(&result.stdout).expect("JSON");
    let series = &json["answers"][0];
    assert_eq!(series["answer"], "measured");
    assert_eq!(series["facts"]["answer"], "42");
    assert_eq!(series["statistics"]["count"], 1);
    let fresh =
        tree.run(&["--scenario", "a.one", "--format", "json", "--fresh", "--store", "x/y.db"]);
    assert!(!fresh.stderr.contains("recalled"), "{fresh:#?}");
    assert_eq!(fresh.stdout, result.stdout, "the same firmware gives the same figures");
    assert!(tree.path("x/y.db").is_file());

    let csv = tree.run(&["--scenario", "a.one", "--format", "csv", "-q"]);
    assert_eq!((csv.stdout.lines().count(), csv.stderr.as_str()), (2, ""), "{csv:#?}");
    let md = tree.run(&["--scenario", "a.one", "--format", "md"]);
    assert!(md.stdout.contains("| a.one |"), "{md:#?}");
}

/// A log with a row that has the span of `a.one`, one like it, and one of another kind.
const LOG_OF_OTHERS: &str = "\
*** Booting Zephyr OS build v4.2.0 ***
thread.yield.preemptive.ctx.k_to_k       - Context switch via k_yield          :     240 cycles ,     5000 ns :
thread.start.kernel.from.kernel          - Start thread                        :     480 cycles ,    10000 ns :
";

#[test]
fn others_figures_appear_beside_ours_if_span_and_core_match() {
    let tree = Tree::new();
    tree.image(&printing("a.one ok", true), PROBES);
    // The row's own span is that of the built-in scenario; here it is that of `a.one`.
    let catalogue = tree.path("catalogue/a.toml");
    let text = std::fs::read_to_string(&catalogue).expect("readable").replacen(
        "budget_ms = 10\n",
        "budget_ms = 10\nequal = [{ suite = \"zephyr-latency-measure\", \
         row = \"thread.yield.preemptive.ctx.k_to_k\" }]\n",
        1,
    );
    std::fs::write(&catalogue, text).expect("writable");
    std::fs::write(tree.path("uart.log"), LOG_OF_OTHERS).expect("writable");
    let import = |more: &[&str]| {
        let common = ["import", "uart.log", "-q", "--catalogue", "catalogue"];
        let result = run_rtmark(&tree.path(""), &[&common, more].concat());
        assert_eq!(result.code, 0, "{result:#?}");
    };

    // Lines are folded anywhere.
    let unfolded =
        |result: &CommandResult| result.stdout.split_whitespace().collect::<Vec<_>>().join(" ");

    // A board that nobody knows has no core, so that there is nothing to compare with.
    import(&["--soc", "a board"]);
    let beside = tree.run(&["-s", "a.one", "--imported"]);
    assert!(unfolded(&beside).contains("no figure of others"), "{beside:#?}");
    assert!(unfolded(&beside).contains("state it with `rtmark import --core`"), "{beside:#?}");
    import(&["--soc", "a board", "--core", "cortex-m0plus"]);
    let beside = tree.run(&["-s", "a.one", "--imported"]);
    assert_eq!(beside.code, 0, "{beside:#?}");
    let line = beside.stdout.lines().find(|line| line.contains("zephyr 4.2.0"));
    let line = line.unwrap_or_else(|| panic!("{beside:#?}"));
    for part in ["a board", "cortex-m0plus", "48 MHz", "mean", "240", "5.00 \u{b5}s", "[1]"] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(unfolded(&beside).contains("[1] uart.log:2 (zephyr-latency-measure"), "{beside:#?}");
    assert!(!beside.stdout.contains("480"), "another span is no row of ours: {beside:#?}");
    let none = tree.run(&["-s", "a.one"]);
    assert!(!none.stdout.contains("zephyr"), "{none:#?}");

    // Published figures have the same row, and none of them is of this core.
    let published = tree.run(&["-s", "a.one", "--published"]);
    let remark = "on cortex-m4, which is not among ours";
    assert!(unfolded(&published).contains(remark), "{published:#?}");
    tree.run(&["--published", "--format", "csv"])
        .assert_error(2, &["only apply to tables", "list published"]);

    // The report has both, in each form; a removed import is not shown.
    for format in ["html", "md"] {
        let report = ["report", "--format", format, "--catalogue", "catalogue"];
        let report = run_rtmark(&tree.path(""), &report);
        assert_eq!(report.code, 0, "{report:#?}");
        for part in ["Figures of others beside ours", "a board", "uart.log:2", "not compared"] {
            assert!(report.stdout.contains(part), "{part} in {report:#?}");
        }
    }
    let runs = run_rtmark(&tree.path(""), &["log", "--format", "json"]);
    let runs: serde_json::Value = serde_json::from_str(&runs.stdout).expect("JSON");
    for run in runs["runs"].as_array().expect("runs") {
        if run["command"].as_str().is_some_and(|command| command.contains("import")) {
            let id = run["id"].as_str().expect("an id");
            assert_eq!(run_rtmark(&tree.path(""), &["rm", id]).code, 0);
        }
    }
    let removed = tree.run(&["-s", "a.one", "--imported"]);
    assert!(!removed.stdout.contains("zephyr"), "{removed:#?}");
}

#[test]
fn one_failure_does_not_lose_the_others() {
    let tree = Tree::new();
    tree.image(&printing("a.one ok", true), PROBES);
    let result = tree.run(&[]);
    result.assert_error(11, &["k a.two on stm32c031", "without saying `a.two ok`", "rtmark sim"]);
    assert!(result.stdout.contains("FAILED [1]"), "{result:#?}");
    assert!(
        result.stdout.lines().any(|line| line.contains("a.one") && line.contains("ns")),
        "{result:#?}"
    );
}

#[test]
fn firmware_that_fails_before_the_end_is_reported() {
    let tree = Tree::new();
    let refused = |code: &[u16], exit, words: &[&str]| {
        tree.image(code, PROBES).one().assert_error(exit, words);
    };
    let everywhere = ["k a.one on stm32c031", "a.elf", "rtmark sim"];
    let all = |more: &[&'static str]| [&everywhere, more].concat();
    refused(BAD_LOAD, 11, &all(&["0x08000044", "start+0x4"]));
    refused(SLEEP, 12, &all(&["asleep", "never its end probe"]));
    refused(LOOP, 12, &all(&["still running", "--max-cycles"]));
    refused(&printing("a.one FAILED: 3 items", true), 11, &all(&["it says: FAILED: 3 items"]));
    refused(&printing("a.one ok", false), 11, &all(&["printed ok, but ended"]));
    refused(&printing("\u{1b}[2Jhm", true), 11, &all(&["the end of its output:", "\\u{1b}[2Jhm"]));
}

#[test]
fn unreached_probes_are_reported() {
    let tree = Tree::new();
    let aside = [(5, 0, "a.one"), (1, START + 0x80, "a.one"), (2, START + 0x82, "a.one")];
    tree.image(&printing("a.one ok", true), &aside)
        .one()
        .assert_error(12, &["never reached a probe"]);
    let no_end = [(5, 0, "a.one"), (1, START, "a.one"), (2, START + 0x82, "a.one")];
    tree.image(&printing("a.one ok", true), &no_end)
        .one()
        .assert_error(12, &["never its end probe"]);
    let lacking = [(5, 0, "a.one"), (1, START, "a.one")];
    tree.image(EXIT, &lacking).one().assert_error(10, &["lacks a begin or an end probe"]);
}

#[test]
fn firmware_and_catalogue_must_agree() {
    let tree = Tree::new();
    tree.image(EXIT, &[(5, 1, "a.two")])
        .one()
        .assert_error(10, &["neither an answer", "kernel.toml"]);
    tree.image(EXIT, &[]).one().assert_error(10, &["no section .rtmark"]);
    tree.image(EXIT, &[(5, 0, "b.one")])
        .one()
        .assert_error(10, &["scenario b.one belongs in the image b"]);
    tree.image(EXIT, &[(9, 0, "a.one")]).one().assert_error(10, &["kind 9"]);

    tree.manifest("[[not_applicable]]\nscenario = \"a.*\"\nreason = \"It cannot.\"\n");
    let result = tree.image(EXIT, PROBES).one();
    assert_eq!(result.code, 0, "not even built: {result:#?}");
    assert!(
        result.stdout.contains("n/a [1]") && result.stdout.contains("It cannot."),
        "{result:#?}"
    );
    tree.manifest("[[not_applicable]]\nscenario = \"a.one\"\nreason = \"It cannot.\"\n");
    tree.image(EXIT, PROBES)
        .run(&[])
        .assert_error(10, &["not applicable, but its firmware contains it"]);
}

#[test]
fn failed_builds_are_reported() {
    let tree = Tree::new();
    tree.one()
        .assert_error(10, &["building k for stm32c031 failed", "cp: cannot stat", "command: make"]);
    std::fs::write(tree.path("firmware/k/Makefile"), "all:\n\t@true\n").expect("writable");
    tree.one().assert_error(10, &["did not produce", "a.elf"]);
    std::fs::write(tree.path("firmware/k/Makefile"), "all:\n\t@echo x > $(RTMARK_OUT)/a.elf\n")
        .expect("writable");
    tree.one().assert_error(10, &["a.elf", "not an ELF file"]);
}

#[test]
fn missing_tools_are_reported() {
    let tree = Tree::new();
    let result: CommandResult = rtmark(tree.folder.path())
        .args(["run", "--catalogue", "catalogue", "--soc", "stm32c031"])
        .env("CROSS_COMPILE", "/nowhere/arm-")
        .output()
        .expect("rtmark runs")
        .into();
    result.assert_error(13, &["/nowhere/arm-gcc is missing", "gcc-arm-none-eabi"]);
}

#[test]
fn filters_that_select_nothing_are_rejected() {
    let tree = Tree::new();
    tree.image(&printing("a.one ok", true), PROBES);
    tree.run(&["--kernel", "kk"]).assert_error(4, &["no kernel fits `kk`", "rtmark list kernels"]);
    tree.run(&["--scenario", "b.*"]).assert_error(4, &["no scenario fits `b.*`"]);
    let soc = |name: &str| run_rtmark(tree.folder.path(), &["run", "--soc", name]);
    soc("nope").assert_error(4, &["no soc is called `nope`"]);
    soc("nope*").assert_error(4, &["no soc matches `nope*`"]);
    tree.run(&["--profile", "produkt"])
        .assert_error(4, &["no profile fits `produkt`; did you mean `product`?", "`documented`"]);
    for (former, now) in [("default", "documented"), ("lean", "product"), ("safe", "checked")] {
        let error = format!("no profile fits `{former}`; did you mean `{now}`?");
        tree.run(&["--profile", former]).assert_error(4, &[&error]);
    }
    tree.run(&["--set", "tick_hz=3"]).assert_error(
        4,
        &["product+tick_hz=3`", "K has no setting tick_hz to choose", "`switches`"],
    );
    assert_eq!(tree.run(&["--scenario", "["]).code, 2);
}

#[test]
fn profiles_are_separate_columns_and_series() {
    let tree = Tree::new();
    tree.image(&printing("a.one ok", true), PROBES);
    let choices = "[switches]\nasserts = [true, false]\nopt = ['2', '3']\n\
                   lto = [false]\n[profiles.ours]\nopt = '3'\n";
    tree.manifest(choices);
    // The makefile builds another program where it is asked for one.
    let makefile = "all:\n\t@cp $(CURDIR)/a.elf $(RTMARK_OUT)/a.elf\n\
                    \t@echo '$(RTMARK_SET)' >> $(CURDIR)/asked\n";
    std::fs::write(tree.path("firmware/k/Makefile"), makefile).expect("writable");
    let one = ["--scenario", "a.one", "--format", "json", "--profile"];
    let result = tree.run(&[&one[..], &["product", "documented", "ours"]].concat());
    assert_eq!(result.code, 0, "{result:#?}");
    let json: serde_json::Value = serde_json::from_str(&result.stdout).expect("JSON");
    let answers = json["answers"].as_array().expect("answers");
    let profiles: Vec<_> = answers.iter().map(|answer| &answer["key"]["profile"]).collect();
    assert_eq!(profiles, ["product", "documented", "ours"]);
    let arguments = std::fs::read_to_string(tree.path("firmware/k/asked")).expect("written");
    let mut arguments: Vec<_> = arguments.lines().collect();
    arguments.sort_unstable();
    assert_eq!(arguments, ["", "ASSERTS=0", "OPT=3"]);

    // One firmware in two profiles: what is known of one is told of the other under its own name.
    let again = tree.run(&[&one[..], &["product", "--opt", "3", "--set", "asserts=on"]].concat());
    assert!(again.stdout.contains("\"product+asserts=on+opt=3\""), "{again:#?}");
    let table = tree.run(&["--scenario", "a.one", "--profile", "documented", "product"]).stdout;
    let heads = table.lines().filter(|line| line.contains("product")).count();
    assert_eq!(table.matches("a.one").count(), 1, "one row, two columns: {table}");
    assert!(heads > 0, "{table}");
    let csv =
        tree.run(&["--scenario", "a.one", "--profile", "documented", "product", "--format", "csv"]);
    let column = csv.stdout.lines().skip(1).map(|line| line.split(',').nth(5).expect("a profile"));
    assert_eq!(column.collect::<Vec<_>>(), ["documented", "product"], "{csv:#?}");

    tree.run(&["--set", "asserts=perhaps"]).assert_error(2, &["asserts wants `on` or `off`"]);
    tree.run(&["--set", "speed=9"]).assert_error(2, &["`speed=9` names no setting"]);
    let near = "names no setting; did you mean `time_slicing`?";
    tree.run(&["--set", "time_slicin=off"]).assert_error(2, &[near]);
    tree.run(&["--set", "trace=on"]).assert_error(4, &["product+trace=on", "`switches`"]);
}

/// Times of one's own firmware are at the soc's clock, whatever it writes to the clock registers. Where that
/// is another one, every output says so.
#[test]
fn a_clock_that_firmware_sets_is_said_beside_times_of_another() {
    let tree = Tree::new();
    // RCC_CR of the STM32C031: half of the 48 MHz, and then the 48 MHz that the soc's file says.
    for (value, other) in [(0xD00, Some("24000000")), (0x500, None)] {
        let code = printing_after(&storing(0x4002_1000, value), "a.one ok", true);
        tree.image(&code, PROBES);
        let show = |format: &str| tree.run(&["-s", "a.one", "--format", format]).stdout;
        let notes = [show("table"), show("md")]
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', ""));
        for text in notes {
            let note = "k sets the core's clock to 24 MHz by its registers, but times are at the soc's 48 MHz";
            assert_eq!(text.contains(note), other.is_some(), "{text}");
        }
        let json: serde_json::Value = serde_json::from_str(&show("json")).expect("JSON");
        assert_eq!(json["answers"][0]["facts"]["~selected_clock_hz"].as_str(), other, "{json}");
        let csv = show("csv");
        let column = csv.lines().map(|line| line.rsplit(',').next().expect("a column"));
        let expected = ["selected_clock_hz", other.unwrap_or("")];
        assert_eq!(column.collect::<Vec<_>>(), expected, "{csv}");
        tree.run(&["-s", "a.one", "--fresh"]);
        let home = tree.path("");
        let compared = run_rtmark(&home, &["compare", "latest~1", "latest"]);
        assert_eq!(compared.stderr.matches("sets the core's clock").count(), other.iter().count());
        run_rtmark(&home, &["report", "--output", "a.html"]);
        let page = std::fs::read_to_string(tree.path("a.html")).expect("written");
        assert_eq!(page.contains("clock to 24"), other.is_some());
        let path = tree.path("firmware/k/a.elf").display().to_string();
        let sim = run_rtmark(&tree.path(""), &["sim", &path, "--soc", "stm32c031"]);
        assert_eq!(sim.stderr.contains("--clock 24MHz"), other.is_some(), "{sim:#?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_image_may_have_a_name_that_is_not_utf8() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt as _;

    let tree = Tree::new();
    let name = OsStr::from_bytes(b"caf\xe9=1.elf");
    let elf = Elf { code: &printing("a.one ok", true), probes: PROBES, ..Elf::default() };
    elf.write(&tree.path("").join(name));
    let mut image = OsString::from("app=");
    image.push(name);
    let mut command = rtmark(&tree.path(""));
    command.args(["run", "--catalogue", "catalogue", "--soc", "stm32c031", "-s", "a.one"]);
    let result: CommandResult = command.arg("--image").arg(image).output().expect("runs").into();
    // It is read, and no kernel is found in it.
    result.assert_error(4, &["app: caf", "nothing was measured"]);
    command.arg(OsStr::from_bytes(b"\xff.elf"));
    let result: CommandResult = command.output().expect("runs").into();
    result.assert_error(2, &["the name is missing"]);
}

#[test]
fn ends_of_spans_without_a_begin_are_noted() {
    let tree = Tree::new();
    let probes =
        [(5, 0, "a.one"), (2, START, "a.one"), (1, START + 2, "a.one"), (2, START + 6, "a.one")];
    tree.image(&printing("a.one ok", true), &probes);
    let catalogue = tree.path("catalogue/a.toml");
    let text = std::fs::read_to_string(&catalogue).expect("there");
    for (allowed, noted) in [("0", true), ("1", false)] {
        let limited = text.replace("samples = 1", &format!("samples = 1\nlone_ends = {allowed}"));
        std::fs::write(&catalogue, limited).expect("writable");
        let result = tree.run(&["--scenario", "a.one", "--fresh"]);
        let said = result.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = "k a.one: 1 span ended without a begin, and was not counted.";
        assert_eq!(said.contains(note), noted, "{result:#?}");
    }
}

#[test]
fn settings_recorded_in_an_image_are_used() {
    let tree = Tree::new();
    let records = [&[(6, 1, "asserts"), (6, 100, "tick_hz")], PROBES].concat();
    tree.image(&printing("a.one ok", true), &records);
    let json = tree.run(&["--scenario", "a.one", "--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let settings = &json["answers"][0]["provenance"]["settings"];
    assert_eq!((&settings["asserts"], &settings["tick_hz"]), (&true.into(), &100.into()));
    assert_eq!(settings["code_in"], "flash");

    tree.manifest("[settings]\ntick_hz = 1000\n");
    tree.one().assert_error(10, &["kernel.toml declares tick_hz 1000, but it is built with 100"]);
    tree.manifest("[switches]\nasserts = [true, false]\n");
    tree.run(&["--scenario", "a.one", "--set", "asserts=off"])
        .assert_error(10, &["asserts off was requested, but it was built with on"]);
    tree.image(&printing("a.one ok", true), &[&[(6, 1, "speed")], PROBES].concat());
    tree.one().assert_error(10, &["no setting is called `speed`"]);
}

#[test]
fn invalid_input_files_are_rejected() {
    let tree = Tree::new();
    tree.image(&printing("a.one ok", true), PROBES);
    tree.manifest("colour = 1\n");
    tree.one().assert_error(2, &["kernel.toml", "line 10", "unknown field `colour`"]);
    tree.manifest("");
    std::fs::write(tree.path("catalogue/b.toml"), "[[scenario]]\nid = \"a.x\"\n")
        .expect("writable");
    tree.one().assert_error(2, &["b.toml", "missing field"]);
    std::fs::remove_file(tree.path("catalogue/b.toml")).expect("there");
    std::fs::write(tree.path("noise.db"), [0x55; 5000]).expect("writable");
    tree.run(&["--store", "noise.db"]).assert_error(1, &["noise.db", "not a database", "--store"]);
    let nowhere = |path: &Path| run_rtmark(path, &["run", "--firmware", "nowhere"]);
    nowhere(tree.folder.path())
        .assert_error(2, &["no firmware sources", "nowhere", "RTMARK_FIRMWARE"]);
}
