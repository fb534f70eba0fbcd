//! Commands that need no firmware.

use std::path::Path;

use crate::common::{CommandResult, EXIT, Elf, printing, run_rtmark};

fn here(arguments: &[&str]) -> CommandResult {
    run_rtmark(&std::env::temp_dir(), arguments)
}

#[test]
fn lists_show_available_items() {
    let scenarios = here(&["list", "scenarios"]);
    assert_eq!(scenarios.code, 0);
    assert!(scenarios.stdout.contains("semaphore.give.wake+ctx"), "{scenarios:#?}");
    assert!(!scenarios.stdout.contains("zephyr"), "the short list stays short");
    let more = here(&["list", "scenarios", "-v"]).stdout;
    assert!(more.contains("equal to zephyr-latency-measure: semaphore.give.wake+ctx.k_to_k"));
    assert!(here(&["list", "socs"]).stdout.contains("stm32f405"));
    assert!(here(&["list", "cores"]).stdout.contains("cortex-m0plus"));
    let json = here(&["list", "socs", "--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[0]["core"], "cortex-m0plus");
    assert_eq!(json[0]["timing"]["core"], "documented");
    assert_eq!(json[0]["time_base"], "TIM3");
    assert!(here(&["list", "socs", "-v"]).stdout.contains("128 KiB RAM; time base: TIM2; timing:"));
    assert_eq!(here(&["list", "nothing"]).code, 2);
}

/// What a kernel of one's own is called may not break lines or control a terminal.
#[test]
fn lists_show_hostile_texts_in_one_line() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let folder = home.path().join("ours");
    std::fs::create_dir_all(&folder).expect("made");
    let hostile = "x\\ny\\u202ez\\u001b[2J";
    let kernel = format!(
        "id = \"ours\"\nname = \"{hostile}\"\nversion = \"1\"\nlicense = \"MIT\"\nsource = \"here\"\n\
         language = \"C\"\nbuild = \"make\"\nimages = [\"a\"]\ncores = [\"cortex-m0plus\"]\n"
    );
    let scenarios = format!(
        "[[scenario]]\nid = \"a.one\"\nanswers = \"{hostile}\"\nfrom = \"{hostile}\"\nto = \"y\"\n\
         switches = 0\nsamples = 1\n"
    );
    std::fs::write(folder.join("kernel.toml"), kernel).expect("writable");
    std::fs::write(folder.join("scenarios.toml"), scenarios).expect("writable");
    let list = |what: &str| run_rtmark(home.path(), &["list", what, "-v", "--own", "ours"]);
    let [kernels, scenarios] = ["kernels", "scenarios"].map(list);
    for (shown, begin) in [(kernels, "ours"), (scenarios, "a.one")] {
        let mut lines = shown.stdout.lines();
        let line = lines.find(|line| line.split(' ').next() == Some(begin));
        let line = line.unwrap_or_else(|| panic!("{shown:#?}"));
        assert!(line.contains(r"x y\u{202e}z\u{1b}[2J"), "{line}");
        assert!(!shown.stdout.contains(['\u{202e}', '\u{1b}']), "{shown:#?}");
    }
}

#[test]
fn socs_state_the_basis_of_their_timing() {
    let socs = here(&["list", "socs", "-v"]).stdout;
    let line = |soc: &str| {
        let found = socs.lines().find(|line| line.split(' ').next() == Some(soc));
        found.unwrap_or_else(|| panic!("{soc} in {socs}")).to_owned()
    };
    for (soc, basis) in [
        ("stm32f100", "core measured, memory measured, exceptions measured"),
        ("stm32f405", "core measured, memory estimated, exceptions documented"),
        ("mps2-an385", "core measured, memory documented, exceptions measured"),
        ("rp2040", "core documented, memory estimated, exceptions documented"),
    ] {
        assert!(line(soc).ends_with(&format!("timing: {basis}")), "{}", line(soc));
    }
    assert!(socs.contains("stm32f100 flash: "), "the chip's own scores: {socs}");
}

#[test]
fn kernels_are_found_in_sources_beside_the_binary() {
    let kernels = here(&["list", "kernels"]);
    let ids: Vec<_> = kernels.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids, ["floor", "freertos", "ring", "embassy", "lilos", "rtic"], "{kernels:#?}");
}

#[test]
fn manuals_and_completions_are_generated_from_the_arguments() {
    let man = here(&["man"]).stdout;
    assert!(man.contains(".TH rtmark") && man.contains("EXIT STATUS"), "{man}");
    assert!(here(&["man", "run"]).stdout.contains("scenario"));
    here(&["man", "nothing"]).assert_error(2, &["nothing"]);
    here(&["man", "fotprint"]).assert_error(2, &["did you mean `footprint`?"]);
    for shell in ["bash", "zsh", "fish"] {
        assert!(here(&["completions", shell]).stdout.contains("rtmark"), "{shell}");
    }
    let codes = here(&["help", "exit-codes"]).stdout;
    assert!(codes.contains(" 12  firmware ran out of its cycle budget"), "{codes}");
    assert_eq!(here(&["--version"]).stdout, concat!("rtmark ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// A project has its kernels in a folder, which is what `--own` takes.
#[test]
fn the_folder_with_a_projects_kernels_is_suggested() {
    let home = tempfile::tempdir().expect("a scratch folder");
    assert_eq!(run_rtmark(home.path(), &["init", "ours", "--kernel", "c"]).code, 0);
    let kernels = Path::new("ours").join("kernels").display().to_string();
    let list = |own: &str| run_rtmark(home.path(), &["list", "scenarios", "--own", own]);
    list("ours").assert_error(2, &["no folder with a kernel.toml", &kernels]);
    assert_eq!(list(&kernels).code, 0);
}

#[test]
fn one_kernel_alone_is_not_compared() {
    here(&["fairness", "freertos"]).assert_error(2, &["a single kernel", "--measure"]);
}

#[test]
fn help_lists_a_commands_own_options_first() {
    let help = here(&["run", "--help"]).stdout;
    let place = |option: &str| help.find(option).unwrap_or_else(|| panic!("{option} in {help}"));
    assert!(place("\n      --catalogue") < place("\n  -q, --quiet"), "{help}");
    assert!(place("\n      --profile") < place("\nBoards ("), "under its own heading: {help}");
    assert!(place("\nBoards (") < place("\n      --port"), "{help}");
}

#[test]
fn usage_errors_show_all_ways_to_choose_firmware() {
    for command in ["worst", "calls", "trace"] {
        let result = here(&[command]);
        assert_eq!(result.code, 2, "{result:#?}");
        for way in ["--soc <SOC>... <IMAGE>", "--scenario <GLOB>...", "--load"] {
            assert!(result.stderr.contains(way), "no `{way}` in {result:#?}");
        }
        assert_eq!(
            result.stderr.contains("--output <FILE> --load"),
            command == "trace",
            "{result:#?}"
        );
    }
}

/// An option with several values takes what was meant as a file, too.
#[test]
fn arguments_that_an_option_has_taken_are_named() {
    let calls = ["calls", "--soc", "stm32f405", "app.elf"];
    let plan = ["-q", "plan", "-k", "freertos", "x.toml"];
    for (arguments, option, taken) in [(&calls[..], "--soc", "app.elf"), (&plan, "-k", "x.toml")] {
        let tip = format!("tip: `{option}` takes all values that follow it, `{taken}` included");
        let result = here(arguments);
        assert!(result.code == 2 && result.stderr.contains(&tip), "{result:#?}");
    }
    for none in [&["plan", "-k", "freertos"][..], &["plan", "--soc=a", "b"], &["worst", "--soc=a"]]
    {
        assert!(!here(none).stderr.contains("takes all values"), "{none:?}");
    }
}

#[test]
fn help_names_the_default_socs() {
    let help = here(&["footprint", "-h"]).stdout;
    let words: Vec<_> = help.split_whitespace().collect();
    let help = words.join(" ");
    assert!(help.contains("[default: the socs of the default suite]"), "{help}");
}

#[test]
fn invalid_patterns_are_rejected_before_building() {
    let result = here(&["why", "floor:thread.yield", "floor:thread.*", "--soc", "stm32c031"]);
    result.assert_error(2, &["`thread.*` is a pattern"]);
    assert!(!result.stderr.contains("building"), "{result:#?}");
}

#[test]
fn wrong_arguments_are_usage_errors() {
    for arguments in
        [&["run", "--format", "xml"][..], &["fly"], &["sim"], &["-q", "-v", "list", "socs"]]
    {
        let result = here(arguments);
        assert_eq!(result.code, 2, "{result:#?}");
        assert!(result.stderr.contains("--help"), "{result:#?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_stdout_is_an_error() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let image = home.path().join("a.elf");
    Elf { code: EXIT, ..Elf::default() }.write(&image);
    let image = image.display();
    let traced = format!("sim {image} --soc stm32c031 --trace");
    let named = format!("sim {image} --soc stm32c031 --trace=/dev/stdout");
    let plain = ["list socs", "list kernels --format json", "completions bash"];
    for arguments in plain.into_iter().chain([traced.as_str(), &named]) {
        let mut shell = std::process::Command::new("sh");
        let script = format!("exec \"$0\" {arguments} >&-");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_rtmark")]);
        let result = CommandResult::from(shell.output().expect("a shell"));
        result.assert_error(1, &["output failed", "Bad file descriptor"]);
    }
    // Who wants no output says so otherwise.
    let mut quiet = std::process::Command::new(env!("CARGO_BIN_EXE_rtmark"));
    let status = quiet.args(["list", "socs"]).stdout(std::process::Stdio::null()).status();
    assert!(status.expect("rtmark runs").success());
}

#[test]
fn init_creates_a_project_that_runs() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let begun = run_rtmark(home.path(), &["init", "my bench", "--kernel", "rust", "c"]);
    assert_eq!((begun.code, begun.stdout.as_str()), (0, ""), "{begun:#?}");
    let bench = home.path().join("my bench");
    let kernels = run_rtmark(&bench, &["list", "kernels"]).stdout;
    for kernel in ["floor", "freertos", "ourloop", "ourfilter"] {
        assert!(kernels.contains(kernel), "no {kernel} in {kernels}");
    }
    assert!(run_rtmark(&bench, &["list", "scenarios"]).stdout.contains("filter.median"));
    // Nothing that somebody has written is written over.
    let changed = bench.join("rtmark.toml");
    std::fs::write(&changed, "store = \"mine.sqlite\"\n").expect("writable");
    run_rtmark(&bench, &["init"]).assert_error(2, &["rtmark.toml already exists"]);
    assert_eq!(std::fs::read_to_string(changed).expect("there"), "store = \"mine.sqlite\"\n");
    // Git keeps results out of a project's history, and everything else that it kept out before.
    let ignored =
        |folder: &Path| std::fs::read_to_string(folder.join(".gitignore")).expect("there");
    assert_eq!(ignored(&bench), "/results.sqlite*\n");
    std::fs::write(home.path().join(".gitignore"), "target").expect("writable");
    let plain = run_rtmark(home.path(), &["init", "--quiet"]);
    assert_eq!((plain.code, plain.stderr.as_str()), (0, ""));
    assert_eq!(ignored(home.path()), "target\n/results.sqlite*\n");
    assert_eq!(std::fs::read_dir(home.path()).expect("there").count(), 3, "two files, one folder");
}

/// Those of rtmark.toml, as for every other command.
#[test]
fn doctor_tries_the_places_that_a_run_would_use() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let configured = |text: &str| {
        std::fs::write(home.path().join("rtmark.toml"), text).expect("writable");
        run_rtmark(home.path(), &["doctor", "--build-dir", "made"])
    };
    let lines = |result: &CommandResult, place: &str| {
        let lines = result.stdout.lines().filter(|line| line.contains(place));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let good = configured("store = \"mine.sqlite\"\n");
    let [store] = lines(&good, " store: ").try_into().expect("one line");
    assert!(store.starts_with("ok ") && store.ends_with("mine.sqlite"), "{good:#?}");
    assert!(!home.path().join("mine.sqlite").exists());
    // A file where a folder would have to be.
    let bad = configured("store = \"rtmark.toml/mine.sqlite\"\n");
    let [store] = lines(&bad, " store: ").try_into().expect("one line");
    assert!(store.starts_with("MISSING ") && store.contains("--store or RTMARK_STORE"), "{bad:#?}");
    let mut nowhere = crate::common::rtmark(home.path());
    std::fs::remove_file(home.path().join("rtmark.toml")).expect("there");
    nowhere.env_remove("HOME").env_remove("XDG_DATA_HOME").args(["doctor", "--build-dir", "made"]);
    let nowhere = CommandResult::from(nowhere.output().expect("rtmark runs"));
    let [store] = lines(&nowhere, " store: ").try_into().expect("one line");
    assert!(store.starts_with("MISSING ") && store.contains("RTMARK_STORE"), "{nowhere:#?}");
    assert_eq!(bad.code, 13);
}

/// An empty path would mean the folder of the file itself.
#[test]
fn empty_paths_in_the_configuration_are_refused() {
    let home = tempfile::tempdir().expect("a scratch folder");
    for line in ["build = \"\"", "own = [\"mine\", \"\"]", "gate.budget = \"\""] {
        std::fs::write(home.path().join("rtmark.toml"), format!("\n{line}\n")).expect("writable");
        let refused = run_rtmark(home.path(), &["list", "kernels"]);
        refused.assert_error(2, &["rtmark.toml", "line 2", "the path is empty"]);
    }
}

#[test]
fn cached_builds_are_listed_and_removed() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let build = home.path().join("some where/builds/key/stm32c031/documented/floor");
    std::fs::create_dir_all(&build).expect("writable");
    std::fs::write(build.join("thread.elf"), [0; 2000]).expect("writable");
    let at = ["cache", "--build-dir", "some where"];
    let listing = run_rtmark(home.path(), &at).stdout;
    assert!(listing.contains("some where") && listing.contains("2.0 kB"), "{listing}");
    let kept = run_rtmark(home.path(), &["cache", "--build-dir", "some where", "prune"]);
    assert!(kept.code == 0 && build.exists(), "{kept:#?}");
    let gone =
        run_rtmark(home.path(), &["cache", "--build-dir", "some where", "prune", "--days", "0"]);
    assert!(gone.code == 0 && !build.exists(), "{gone:#?}");
    let wrong = run_rtmark(home.path(), &["cache", "prune", "--most", "much"]);
    assert_eq!(wrong.code, 2, "{wrong:#?}");
}

#[test]
fn lists_match_the_published_schema() {
    let text = include_str!("../../../../docs/schema/list.schema.json");
    let schema: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let home = tempfile::tempdir().expect("a scratch folder");
    for what in ["kernels", "scenarios", "socs", "cores", "machines", "boards", "published"] {
        let listed = run_rtmark(home.path(), &["list", what, "--format", "json"]).stdout;
        let mut listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        let problems: Vec<_> = schema.iter_errors(&listed).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{what}: {problems:?}");
        // It says what is there: with a key less it is another form.
        let first = listed[0].as_object_mut().expect("an entry");
        first.remove("description");
        assert!(!schema.is_valid(&listed), "{what}");
    }
}

/// What takes minutes must not be lost because its file has no place.
#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_work() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let code = printing("hello", true);
    Elf { code: &code, ..Elf::default() }.write(&folder.path().join("a.elf"));
    std::fs::write(folder.path().join("system.toml"), rtmark_plan::EXAMPLE).expect("writable");
    let refused = |arguments: &[&str], file: &str, hint: &str| {
        let result = run_rtmark(folder.path(), arguments);
        result.assert_error(2, &[file, hint]);
        assert_eq!(result.stdout, "", "{result:#?}");
        assert!(!result.stderr.contains("none.elf"), "the file comes first: {result:#?}");
    };
    let no_folder = "choose a file in a folder that exists";
    for option in ["--profile=no/x", "--flame=no/x", "--snapshot=no/x"] {
        refused(&["sim", "a.elf", "--soc", "stm32c031", option], "no/x", no_folder);
    }
    let soc = ["--soc", "stm32c031"];
    refused(&[&["trace", "none.elf", "-o", "no/x"], &soc[..]].concat(), "no/x", no_folder);
    for option in ["--picture", "--state", "--snapshot"] {
        let worst = [&["worst", "none.elf", option, "no/x"], &soc[..]].concat();
        refused(&worst, "no/x", no_folder);
    }
    let plan = |file| ["plan", "system.toml", "--run", "--report", file];
    refused(&plan("no/x.html"), "no/x.html", no_folder);
    refused(&plan("."), ".", "choose a file that you may write");
    refused(&["study", "prime-async", "--out", "a.elf"], "a.elf", "give a folder");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").flatten().collect();
    assert_eq!(left.len(), 2, "nothing is left behind: {left:?}");
}
