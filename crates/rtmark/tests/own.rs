//! The guide to kernels and scenarios of one's own, followed as a new user would: its files in a
//! folder outside the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("writable");
    for entry in std::fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// The guide's folder elsewhere, under a name that make cannot read.
fn ours(home: &Path) -> PathBuf {
    let ours = home.join("ours");
    copy(&repository().join("docs/own/c"), &ours.join("in C #1"));
    copy(&repository().join("docs/own/rust"), &ours.join("in Rüst"));
    std::fs::copy(repository().join("docs/own/scenarios.toml"), ours.join("scenarios.toml"))
        .expect("copied");
    ours
}

/// The guide's kernel in C and its scenarios, in a folder `kernels`; returns the kernel's own folder.
fn ours_in_c(home: &Path) -> PathBuf {
    let kernel = home.join("kernels/c");
    copy(&repository().join("docs/own/c"), &kernel);
    let scenarios = repository().join("docs/own/scenarios.toml");
    std::fs::copy(scenarios, home.join("kernels/scenarios.toml")).expect("copied");
    kernel
}

fn rtmark(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(arguments)
        .current_dir(home)
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_STORE", home.join("store.sqlite"))
        .env("RTMARK_BUILD", Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build"))
        .output()
        .expect("rtmark runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn user_kernels_and_scenarios_are_measured_beside_the_suites() {
    let home = tempfile::tempdir().expect("a scratch folder");
    ours(home.path());
    let arguments =
        ["run", "--own", "ours", "-k", "ourloop", "ourfilter", "floor", "--soc", "stm32c031"];
    let arguments = [&arguments[..], &["-s", "filter.*", "notify.*", "--format", "json"]].concat();
    let output = rtmark(home.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let answer = |kernel: &str, scenario: &str| {
        let mut answers = document["answers"].as_array().expect("answers").iter();
        let key = |answer: &Value| {
            answer["key"]["kernel"] == kernel && answer["key"]["scenario"] == scenario
        };
        answers.find(|answer| key(answer)).unwrap_or_else(|| panic!("{kernel} {scenario}")).clone()
    };
    let median = |kernel: &str, scenario: &str| {
        let answer = answer(kernel, scenario);
        assert_eq!(answer["answer"], "measured", "{answer}");
        answer["statistics"]["steady"]["p50"].as_u64().expect("a figure")
    };
    assert!((20..1000).contains(&median("ourloop", "filter.median")));
    assert!((20..1000).contains(&median("ourfilter", "filter.median")));
    assert!((1..100).contains(&median("ourloop", "notify.give.immediate")));
    assert!((1..100).contains(&median("floor", "notify.give.immediate")));
    let settings = &answer("ourfilter", "filter.median")["provenance"]["settings"];
    assert_eq!((&settings["opt"], &settings["lto"]), (&"2".into(), &true.into()), "{settings}");
    let settings = &answer("ourloop", "filter.median")["provenance"]["settings"];
    assert_eq!((&settings["opt"], &settings["lto"]), (&"2".into(), &true.into()), "{settings}");
    // As its own release profile says.
    let arguments = ["run", "--own", "ours", "-k", "ourfilter", "--soc", "stm32c031"];
    let arguments = [&arguments[..], &["--profile", "documented", "--format", "json"]].concat();
    let document: Value =
        serde_json::from_slice(&rtmark(home.path(), &arguments).stdout).expect("JSON");
    let mut documented = document["answers"].as_array().expect("answers").iter();
    let of_filter = |answer: &&Value| answer["key"]["scenario"] == "filter.median";
    let documented = documented.find(of_filter).expect("an answer");
    assert_eq!(documented["provenance"]["settings"]["opt"], "s", "{documented}");
    let why = |kernel: &str, scenario: &str| answer(kernel, scenario)["reason"].to_string();
    assert!(why("floor", "filter.median").contains("somebody's own"));
    assert!(why("ourfilter", "notify.give.immediate").contains("no such image"));
    assert!(why("ourloop", "notify.handover").contains("does not contain it"));
}

/// A name that differs between the firmware and scenarios.toml is an error, which names both. If no name is
/// unknown, a scenario that the firmware lacks is not applicable.
#[test]
fn a_scenario_misspelt_in_firmware_is_an_error() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let source = ours(home.path()).join("in C #1/filter.c");
    let run = ["run", "-q", "--own", "ours", "-k", "ourloop", "--soc", "stm32c031", "-s"];
    let of = |scenario: &str| rtmark(home.path(), &[&run[..], &[scenario]].concat());
    let good = std::fs::read_to_string(&source).expect("there");
    std::fs::write(&source, good.replace("filter.median", "filter.medain")).expect("writable");
    let output = of("filter.median");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(said.contains("contains filter.medain, which no catalogue describes"), "{said}");
    std::fs::write(&source, good).expect("writable");
    assert!(of("notify.handover").status.success());
}

#[test]
fn user_kernels_are_listed_and_their_errors_reported() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let ours = ours(home.path());
    std::fs::write(home.path().join("rtmark.toml"), "own = [\"ours\"]\n").expect("writable");
    let list = |what: &str| text(&rtmark(home.path(), &["list", what]).stdout);
    assert!(list("kernels").contains("ourfilter"));
    assert!(list("scenarios").contains("filter.median"));

    let refused = |own: &str| {
        let output = rtmark(home.path(), &["list", "kernels", "--own", own]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(refused("nowhere").contains("nowhere"));
    let manifest = ours.join("in C #1/kernel.toml");
    let good = std::fs::read_to_string(&manifest).expect("there");
    std::fs::write(&manifest, good.replace("ourloop", "floor")).expect("writable");
    assert!(refused("ours").contains("another kernel is called floor"));
    std::fs::write(&manifest, good.replace("images", "pictures")).expect("writable");
    assert!(refused("ours").contains("pictures"));
}

#[test]
fn sources_lie_in_folders_of_their_own() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let kernel = ours_in_c(home.path());
    let measure = |sources: &str| {
        let makefile = std::fs::read_to_string(kernel.join("Makefile")).expect("readable");
        let line = makefile.lines().find(|line| line.starts_with("SOURCES := "));
        let line = line.expect("the guide's Makefile is another one");
        let makefile = makefile.replace(line, &format!("SOURCES := {sources}"));
        std::fs::write(kernel.join("Makefile"), makefile).expect("writable");
        let arguments = ["run", "-q", "-k", "ourloop", "--soc", "stm32c031", "--own", "kernels"];
        rtmark(home.path(), &[&arguments[..], &["-s", "filter.*", "--placements", "1"]].concat())
    };
    let rows = |output: &Output| -> Vec<String> {
        let rows = text(&output.stdout);
        rows.lines().filter(|row| row.starts_with("filter.")).map(str::to_owned).collect()
    };
    let beside = measure("main.c");
    std::fs::create_dir_all(kernel.join("start/early")).expect("writable");
    std::fs::rename(kernel.join("main.c"), kernel.join("start/early/main.c")).expect("writable");
    let below = measure("start/early/main.c");
    assert!(below.status.success(), "{}", text(&below.stderr));
    assert!(!rows(&beside).is_empty(), "{}", text(&beside.stdout));
    assert_eq!(rows(&beside), rows(&below));

    // Their objects lie in one folder: of two with one name, one would silently be left out.
    // One of them may be an image's own.
    for (name, sources) in [
        ("main", "start/main.c start/early/main.c"),
        ("filter", "start/early/main.c start/filter.c"),
    ] {
        std::fs::write(kernel.join(format!("start/{name}.c")), "").expect("writable");
        let refused = measure(sources);
        let stderr = text(&refused.stderr);
        let words = format!("more than one source is named {name}");
        assert!(!refused.status.success() && stderr.contains(&words), "{stderr}");
    }
}

/// What a stack overwrites may go unnoticed by the program, and its figures are worth nothing.
#[test]
fn a_stack_that_grows_into_the_data_is_told() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let kernel = ours_in_c(home.path());
    let source = std::fs::read_to_string(kernel.join("filter.c")).expect("readable");
    let deep = "#include <stdint.h>\n\
        static __attribute__((noinline)) uint32_t deep(uint32_t left)\n{\n\
            volatile uint32_t words[64] = { left };\n\
            return left == 0u ? words[0] : deep(left - 1u) + words[0];\n}\n";
    let measure = |depth: u32| {
        let begin = "RTMARK_BEGIN(\"filter.median\");";
        let changed = source
            .replace(begin, &format!("rtmark_expect(\"deep\", deep({depth}) > 0u, 1u);\n{begin}"));
        assert_ne!(changed, source, "the guide's source is another one");
        std::fs::write(kernel.join("filter.c"), deep.to_owned() + &changed).expect("writable");
        let arguments = ["run", "-q", "-k", "ourloop", "--soc", "stm32c031", "--own", "kernels"];
        let more = ["-s", "filter.median", "--placements", "1", "--format", "json"];
        let output = rtmark(home.path(), &[&arguments[..], &more].concat());
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        document["answers"][0].to_string()
    };
    // Each call takes more than 256 bytes of the 12 KiB.
    let fits = measure(20);
    assert!(fits.contains("\"answer\":\"measured\""), "{fits}");
    // Far beyond is a fault, of which the stack is the cause.
    let overflows = measure(100);
    for words in ["the main stack grew to 0x2000", "beyond its end at 0x2000", "\"kind\":\"load\""]
    {
        assert!(overflows.contains(words), "{words}: {overflows}");
    }
}

#[test]
fn the_gate_annotates_the_function_of_a_user_kernel_that_became_slower() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let kernel = ours_in_c(home.path());
    let measure = || {
        let arguments = ["run", "-q", "-k", "ourloop", "--soc", "stm32c031", "--own", "kernels"];
        let output = rtmark(home.path(), &[&arguments[..], &["-s", "filter.*"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    measure();
    let source = std::fs::read_to_string(kernel.join("filter.c")).expect("readable");
    let begins = "uint32_t place = taken;";
    let slower = source.replace(begins, &format!("{begins}\n__asm volatile(\"nop\");"));
    assert_ne!(slower, source, "the guide's source is another one");
    std::fs::write(kernel.join("filter.c"), slower).expect("writable");
    measure();
    let begin = 1 + source.lines().position(|line| line.contains("median(")).expect("a function");
    let arguments = ["gate", "--baseline", "latest~1", "--own", "kernels", "--format", "github"];
    let annotation = text(&rtmark(home.path(), &arguments).stdout);
    let place = annotation.strip_prefix("::error file=kernels/c/filter.c,line=");
    let line = place.and_then(|place| place.split(',').next()?.parse::<usize>().ok());
    // Of a function whose constants are propagated, the first line may be missing.
    assert!(line.is_some_and(|line| (begin..begin + 16).contains(&line)), "{annotation}");
}

#[test]
fn bisect_finds_the_commit_that_slowed_a_user_kernel() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let top = home.path().join("our product");
    let kernel = top.join("bench/kernels/in C");
    copy(&repository().join("docs/own/c"), &kernel);
    std::fs::copy(
        repository().join("docs/own/scenarios.toml"),
        top.join("bench/kernels/scenarios.toml"),
    )
    .expect("copied");
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").arg("-C").arg(&top).args(who).args(arguments).output();
        let output = output.expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    let source = std::fs::read_to_string(kernel.join("filter.c")).expect("readable");
    let slower = source.replace(
        "RTMARK_BEGIN(\"filter.median\");",
        "RTMARK_BEGIN(\"filter.median\");\n        __asm volatile(\"nop\\n nop\\n nop\");",
    );
    assert_ne!(slower, source, "the guide's source is another one");
    // One cannot be built, and is the one in the middle, which git asks for first.
    let commits = [
        ("first", &source),
        ("second", &source),
        ("third", &source),
        ("broken", &"#error".to_owned()),
        ("mended", &source),
        ("slower", &slower),
        ("last", &slower),
    ];
    for (message, filter) in commits {
        std::fs::write(kernel.join("filter.c"), filter).expect("writable");
        std::fs::write(top.join("README"), message).expect("writable");
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", message]);
    }
    git(&["tag", "v1", "HEAD~6"]);
    let arguments =
        ["bisect", "filter.median", "-k", "ourloop", "--soc", "stm32c031", "--good", "v1"];
    let arguments = [&arguments[..], &["--own", "bench/kernels"]].concat();
    let output = rtmark(&top.join("bench"), &arguments);
    let (found, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{found}\n{stderr}");
    assert!(found.contains("ourloop filter.median on stm32c031: the median was "), "{found}");
    assert!(found.contains(" cycles at the good commit"), "figures have a unit: {found}");
    let culprit = format!("{} is the first bad commit", git(&["rev-parse", "HEAD~1"]));
    assert!(found.contains(&culprit) && found.contains("slower"), "{found}\n{stderr}");
    assert!(stderr.contains("cannot be measured"), "the broken one was asked for: {stderr}");
    // Nothing is left behind.
    assert_eq!(git(&["status", "--short"]), "");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&["branch", "--show-current"]), "main");

    // What it cannot look for is said before anything is built twice.
    let refused = |more: &[&str], words: &str| {
        let output = rtmark(&top, &[&arguments[..arguments.len() - 2], more].concat());
        let stderr = text(&output.stderr);
        assert!(!output.status.success() && stderr.contains(words), "{stderr}");
    };
    refused(&[], "--own");
    // A folder of rtmark.toml serves as well, if the repository contains it.
    let config = |own: &str| std::fs::write(top.join("rtmark.toml"), format!("own = [{own:?}]\n"));
    config(&home.path().display().to_string()).expect("writable");
    refused(&[], "is no folder of this repository");
    config("bench/kernels").expect("writable");
    let output = rtmark(&top.join("bench"), &arguments[..arguments.len() - 2]);
    let (found, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(found.contains(&culprit), "{found}\n{stderr}");
    std::fs::remove_file(top.join("rtmark.toml")).expect("removable");
    refused(&["--own", "/bench/kernels"], "the path is absolute");
    refused(&["--own", "kernels"], "kernels");
    refused(&["--own", "bench/kernels", "--bad", "HEAD~2"], "choose other commits");
    refused(&["--own", "bench/kernels", "--bad", "HEAD~3"], "the bad commit, ");
    refused(&["--own", "bench/kernels", "--bad", "no-such"], "git fetch --unshallow");
}

#[test]
fn bisect_checks_out_submodules_and_leaves_nothing_behind() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let git = |folder: &Path, arguments: &[&str]| {
        let who = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(who).args(arguments).env("GIT_ALLOW_PROTOCOL", "file");
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    // The filter is a library in a repository of its own.
    let (library, top) = (home.path().join("library"), home.path().join("product"));
    let source = std::fs::read_to_string(repository().join("docs/own/c/filter.c"));
    let source = source.expect("readable");
    let begin = "RTMARK_BEGIN(\"filter.median\");";
    let slower = source.replace(begin, &format!("{begin}\n__asm volatile(\"nop\\n nop\");"));
    std::fs::create_dir(&library).expect("writable");
    git(&library, &["init", "--quiet", "--initial-branch", "main"]);
    copy(&repository().join("docs/own/c"), &top.join("kernels/c"));
    let scenarios = repository().join("docs/own/scenarios.toml");
    std::fs::copy(scenarios, top.join("kernels/scenarios.toml")).expect("copied");
    std::fs::write(top.join("kernels/c/filter.c"), "#include \"library/filter.c\"\n")
        .expect("writable");
    git(&top, &["init", "--quiet", "--initial-branch", "main"]);
    for (at, filter) in [&source, &source, &slower, &slower].into_iter().enumerate() {
        std::fs::write(library.join("filter.c"), format!("/* {at} */\n{filter}"))
            .expect("writable");
        git(&library, &["add", "--all"]);
        git(&library, &["commit", "--quiet", "--message", "a change"]);
        if at == 0 {
            let url = library.display().to_string();
            git(&top, &["submodule", "--quiet", "add", &url, "kernels/c/library"]);
        }
        git(&top.join("kernels/c/library"), &["pull", "--quiet", "origin", "main"]);
        git(&top, &["add", "--all"]);
        git(&top, &["commit", "--quiet", "--message", &format!("update {at}")]);
    }
    let mut bisect = Command::new(env!("CARGO_BIN_EXE_rtmark"));
    bisect
        .args(["bisect", "filter.median", "-k", "ourloop", "--soc", "stm32c031"])
        .args(["--own", "kernels", "--good", "HEAD~3"])
        .current_dir(&top)
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("GIT_ALLOW_PROTOCOL", "file")
        // As within a hook of another repository.
        .env("GIT_DIR", home.path().join("another"));
    let output = bisect.output().expect("rtmark runs");
    let (found, stderr) = (text(&output.stdout), text(&output.stderr));
    let culprit = format!("{} is the first bad commit", git(&top, &["rev-parse", "HEAD~1"]));
    assert!(found.contains(&culprit), "{found}\n{stderr}");
    let checkouts = || git(&top, &["worktree", "list"]).lines().count();
    assert_eq!(checkouts(), 1);

    // Ctrl-C leaves nothing behind, either, even in the middle of a checkout, which git cannot list yet.
    let begun =
        || std::fs::read_dir(top.join(".git/worktrees")).is_ok_and(|mut all| all.next().is_some());
    let mut running = bisect.spawn().expect("rtmark runs");
    while !begun() {
        assert!(running.try_wait().expect("a child").is_none(), "it ended before it began");
    }
    let interrupt = Command::new("kill").args(["-INT", &running.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    assert_eq!(running.wait().expect("a child").code(), Some(12));
    assert_eq!(checkouts(), 1);
}
