//! What `rtmark run` leaves in its store, and the commands that look after it.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rtmark_store::{RunInfo, Store};
use serde_json::Value;

use crate::common::{CommandResult, Probe, START, printing, rtmark, run_rtmark};
use crate::run::Tree;

const SCENARIOS: &[&str] =
    &["a.s0", "a.s1", "a.s2", "a.s3", "a.s4", "a.s5", "a.s6", "a.s7", "a.s8", "a.s9"];

/// A tree with ten scenarios that are all answered in no time.
fn tree() -> Tree {
    let tree = Tree::of(SCENARIOS);
    let mut probes: Vec<Probe<'_>> = Vec::new();
    for (index, scenario) in (0..).zip(SCENARIOS) {
        probes.extend([(5, index, *scenario), (1, START, *scenario), (2, START + 6, *scenario)]);
    }
    let lines: Vec<_> = SCENARIOS.iter().map(|scenario| format!("{scenario} ok")).collect();
    tree.image(&printing(&lines.join("\n"), true), &probes);
    tree
}

const RUN: &[&str] = &["run", "--catalogue", "catalogue", "--soc", "stm32c031", "--fresh"];

fn store(tree: &Tree) -> Store {
    Store::open(tree.path("data/rtmark/store.sqlite")).expect("opens")
}

fn runs(tree: &Tree) -> Vec<RunInfo> {
    store(tree).runs().expect("readable")
}

fn say(tree: &Tree, arguments: &[&str]) -> CommandResult {
    run_rtmark(&tree.path(""), arguments)
}

#[test]
fn runs_are_listed_shown_named_removed_and_pruned() {
    let tree = tree();
    let empty = say(&tree, &["log"]);
    assert!(empty.code == 0 && empty.stdout.contains("no runs"), "{empty:#?}");
    say(&tree, &["show"]).assert_error(4, &["no complete run yet", "rtmark log"]);
    let history = ["history", "a.s0", "-k", "k", "--soc", "stm32c031"];
    say(&tree, &history).assert_error(4, &["no results yet", "rtmark run"]);
    tree.run(&["--name", "1st"]).assert_error(2, &["`1st` is not allowed", "begin with a letter"]);
    assert_eq!(runs(&tree).len(), 0, "nothing was begun");
    assert_eq!(tree.run(&["--name", "first", "-s", "a.s0", "a.s1"]).code, 0);
    let fresh = tree.run(&["-s", "a.s0", "--format", "json", "--fresh"]);
    let shown = say(&tree, &["show", "--format", "json"]);
    assert_eq!(shown.stdout, fresh.stdout, "show says what run said");
    let some = say(&tree, &["show", "first", "-s", "*.s1", "--format", "csv"]);
    assert_eq!(some.stdout.lines().count(), 2, "{some:#?}");
    say(&tree, &["show", "first", "-s", "b.*"]).assert_error(4, &["no scenario of run", "`b.*`"]);
    let near = ["show", "-k", "k", "kk"];
    say(&tree, &near).assert_error(4, &["fits `kk`; did you mean `k`?"]);
    say(&tree, &["show", "frist"]).assert_error(4, &["is called `frist`; did you mean `first`?"]);
    say(&tree, &["name", "--remove", "fist"]).assert_error(4, &["`fist`; did you mean `first`?"]);
    // It was meant as the run.
    say(&tree, &["show", "-k", "k", "first"]).assert_error(4, &["`first` is a run", "before it"]);

    let log = say(&tree, &["log", "--format", "json"]);
    let log: Value = serde_json::from_str(&log.stdout).expect("JSON");
    let schema = include_str!("../../../../docs/schema/log.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    jsonschema::validate(&schema, &log).expect("as the schema says");
    let first = &log["runs"][1];
    assert_eq!((&first["names"][0], &first["answers"]), (&"first".into(), &2.into()));
    let id = first["id"].as_str().expect("text")[..10].to_owned();
    let table = say(&tree, &["log", "-s", "a.s1"]).stdout;
    assert!(table.contains("first") && table.lines().count() == 1, "{table}");
    assert!(say(&tree, &["log", "-n", "1"]).stdout.contains("and 1 older"));
    assert_eq!(
        say(&tree, &["log", "-s", "b.*"]).stdout,
        "no run matches, of 2 runs in the store\n"
    );
    assert_eq!(say(&tree, &["log", "-n", "0"]).code, 2);

    say(&tree, &["name", "nope", "x"]).assert_error(4, &["no run is called `nope`"]);
    assert_eq!(say(&tree, &["name", &id, "renamed"]).code, 0);
    assert_eq!(say(&tree, &["show", "renamed"]).code, 0);
    assert_eq!(say(&tree, &["name", "--remove", "first"]).code, 0);
    say(&tree, &["show", "first"]).assert_error(4, &["`first`"]);

    assert_eq!(say(&tree, &["rm", "renamed", "--reason", "a trial"]).code, 0);
    say(&tree, &["show", &id]).assert_error(4, &[&id]);
    assert!(say(&tree, &["log", "--all"]).stdout.contains("removed: a trial"));
    assert_eq!(say(&tree, &["rm", "--undo", &id]).code, 0);
    assert_eq!(say(&tree, &["show", &id]).code, 0);
    let dry = say(&tree, &["prune", "--keep", "0", "--dry-run"]);
    assert!(dry.stderr.contains("1 run with 1 answer"), "the named one stays: {dry:#?}");
    assert_eq!(say(&tree, &["rm", &id]).code, 0);
    let pruned = say(&tree, &["prune"]);
    assert!(pruned.stderr.contains("deleted 1 run with 2 answers"), "{pruned:#?}");
    assert_eq!(runs(&tree).len(), 1);
}

#[test]
fn commits_refer_to_runs() {
    let tree = tree();
    let git = |arguments: &[&str]| {
        let author = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
        let folder = tree.path("");
        let output =
            Command::new("git").arg("-C").arg(folder).args(author).args(arguments).output();
        assert!(output.expect("git runs").status.success(), "{arguments:?}");
    };
    git(&["init", "-q", "-b", "trunk"]);
    git(&["add", "catalogue", "firmware"]);
    git(&["commit", "-q", "-m", "one"]);
    assert_eq!(tree.run(&["-s", "a.s0"]).code, 0);
    git(&["tag", "v1"]);
    std::fs::write(tree.path("firmware/k/notes"), "x").expect("writable");
    git(&["add", "firmware/k/notes"]);
    assert_eq!(tree.run(&["-s", "a.s1"]).code, 0);
    git(&["commit", "-q", "-m", "two"]);
    let shown = say(&tree, &["show", "v1", "--format", "csv"]);
    assert!(shown.stdout.contains("a.s0"), "{shown:#?}");
    let runs = runs(&tree);
    let commit = runs[1].revision.as_deref().expect("known");
    assert_eq!(runs[0].revision.as_deref(), Some(format!("{commit}+").as_str()), "it was changed");
    assert!(say(&tree, &["show", &commit[..9], "--format", "csv"]).stdout.contains("a.s0"));
    say(&tree, &["show", "trunk"]).assert_error(4, &["trunk", "commit"]);
}

#[test]
fn configuration_comes_after_flags_and_environment() {
    let tree = tree();
    let write = |text: &str| std::fs::write(tree.path("rtmark.toml"), text).expect("writable");
    write("store = \"kept/here.db\"\n[run]\nscenario = [\"a.s3\"]\nsoc = [\"stm32c031\"]\n");
    let common = ["run", "--catalogue", "catalogue", "--format", "csv"];
    let plain = say(&tree, &common);
    assert_eq!(plain.stdout.lines().count(), 2, "{plain:#?}");
    assert!(plain.stdout.contains("a.s3") && tree.path("kept/here.db").is_file());
    let flag = say(&tree, &[&common[..], &["-s", "a.s4"]].concat());
    assert!(flag.stdout.contains("a.s4") && !flag.stdout.contains("a.s3"), "{flag:#?}");
    let mut variable = rtmark(&tree.path(""));
    assert!(
        variable.args(common).env("RTMARK_STORE", "other.db").status().expect("runs").success()
    );
    assert!(tree.path("other.db").is_file());
    std::fs::create_dir_all(tree.path("deep/er")).expect("made");
    let below = run_rtmark(&tree.path("deep/er"), &["log"]);
    assert!(below.stdout.lines().count() == 2, "found from below: {below:#?}");
    write("[run]\nkernels = [\"k\"]\n");
    say(&tree, &["log"]).assert_error(2, &["rtmark.toml", "line 2", "unknown field `kernels`"]);
}

/// Starts a run that tells on stderr what it has recorded.
fn start(tree: &Tree) -> Child {
    let mut command = rtmark(&tree.path(""));
    command.args(RUN).arg("-v").stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("rtmark runs")
}

/// What a run says: its id, and the scenarios that it has recorded.
struct Talk {
    lines: Lines<BufReader<ChildStderr>>,
    id: Option<String>,
    recorded: Vec<String>,
}

impl Talk {
    fn of(child: &mut Child) -> Self {
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Self { lines, id: None, recorded: Vec::new() }
    }

    /// Listens to so many lines more, or to the end.
    fn hear(&mut self, lines: usize) {
        for line in self.lines.by_ref().take(lines).map_while(Result::ok) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["run", run] => self.id = Some((*run).to_owned()),
                ["measured", .., scenario] => self.recorded.push((*scenario).to_owned()),
                _ => {}
            }
        }
    }
}

/// How often a run is killed.
const KILLS: usize = 30;

#[test]
fn a_kill_at_any_moment_loses_no_finished_result() {
    let tree = tree();
    assert_eq!(say(&tree, RUN).code, 0, "firmware is built once");
    let mut interrupted = 0;
    for kill in 0..KILLS {
        // Two at once, so that each is killed while the other one writes.
        let mut children = [start(&tree), start(&tree)];
        let mut talks = children.each_mut().map(Talk::of);
        // Spread over the whole of a run: after its first line, its second one ..., and a while.
        talks[0].hear(kill % 15);
        std::thread::sleep(Duration::from_micros(kill as u64 * 613 % 4000));
        for (child, talk) in children.iter_mut().zip(&mut talks) {
            child.kill().expect("killed");
            talk.hear(usize::MAX);
            child.wait().expect("dead");
        }
        let store = store(&tree);
        let runs = store.runs().expect("readable after a kill");
        for Talk { id, recorded, .. } in talks {
            let Some(id) = id else { continue };
            let run = runs.iter().find(|run| run.id == id).expect("the run is there");
            let answers = store.answers(&id).expect("readable");
            let kept: Vec<_> = answers.iter().map(|a| a.key().scenario.as_str()).collect();
            for scenario in &recorded {
                assert!(kept.contains(&scenario.as_str()), "{scenario} of {id} is lost");
            }
            if run.finished_ms.is_none() {
                interrupted += 1;
            } else {
                assert_eq!(kept.len(), SCENARIOS.len(), "complete runs are complete");
            }
        }
    }
    assert!(interrupted > KILLS / 4, "{interrupted} of {} were hit in the middle", 2 * KILLS);
    let log = say(&tree, &["log", "--incomplete", "--all"]);
    assert!(log.stdout.lines().filter(|line| line.contains("incomplete")).count() >= interrupted);
    assert_eq!(say(&tree, RUN).code, 0, "and the store goes on");
}

#[test]
fn two_processes_write_at_once() {
    let tree = tree();
    assert_eq!(say(&tree, RUN).code, 0);
    let mut children = [start(&tree), start(&tree), start(&tree)];
    for child in &mut children {
        Talk::of(child).hear(usize::MAX);
        assert!(child.wait().expect("ends").success());
    }
    let runs = runs(&tree);
    let all: Vec<_> = runs.iter().map(|run| (run.answers, run.finished_ms.is_some())).collect();
    assert_eq!(all, [(SCENARIOS.len() as u64, true); 4]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_results_are_kept() {
    let tree = tree();
    assert_eq!(say(&tree, RUN).code, 0);
    let size = std::fs::metadata(tree.path("data/rtmark/store.sqlite")).expect("there").len();
    // Files may grow to the size that the store has: its journal reaches that in the middle.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", size / 512);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).arg(env!("CARGO_BIN_EXE_rtmark")).args(RUN);
    shell.current_dir(tree.path("")).env("XDG_DATA_HOME", tree.path("data"));
    let full: CommandResult =
        shell.env("RTMARK_BUILD", tree.path("build")).output().expect("runs").into();
    full.assert_error(1, &["no room to write", "store.sqlite", "make room"]);
    let runs = runs(&tree);
    assert_eq!(runs.len(), 2, "the store opens");
    assert!(runs[0].finished_ms.is_none() && runs[0].answers > 0, "{runs:#?}");
    assert_eq!(runs[1].answers, SCENARIOS.len() as u64, "what was there is there");
    assert_eq!(say(&tree, RUN).code, 0, "with room it goes on");
}

#[test]
fn unusable_stores_are_reported() {
    let tree = tree();
    let log = |name: &str| say(&tree, &["log", "--store", name]);
    std::fs::write(tree.path("noise.db"), [0x55; 5000]).expect("writable");
    log("noise.db").assert_error(1, &["noise.db", "damaged or not a store", "recover"]);
    log("catalogue").assert_error(2, &["catalogue", "is a folder"]);
    log("typo.db").assert_error(2, &["no store typo.db", "rtmark run"]);
    assert!(!tree.path("typo.db").exists(), "looking makes nothing");
    tree.run(&["--store", "catalogue/a.toml/x"]).assert_error(1, &["cannot make the folder"]);
}

#[test]
fn an_empty_store_explains_how_to_record_a_run() {
    let tree = tree();
    for command in [&["show"][..], &["report"], &["compare", "latest"], &["export"]] {
        say(&tree, command).assert_error(4, &["no complete run yet", "`rtmark run` makes one"]);
    }
}

#[test]
fn a_history_has_one_basis_and_suggests_similar_names() {
    let tree = tree();
    for basis in ["cycles", "instructions", "cycles"] {
        assert_eq!(tree.run(&["-s", "a.s0", "--basis", basis]).code, 0);
    }
    let history = ["history", "a.s0", "-k", "k", "--soc", "stm32c031"];
    let shown = say(&tree, &history);
    assert!(shown.stdout.contains("in cycles, 2 runs"), "{shown:#?}");
    assert!(!shown.stdout.contains("not comparable"), "{shown:#?}");
    assert!(shown.stderr.contains("1 figure with another backend or basis left out"), "{shown:#?}");
    let named = say(&tree, &[&history[..], &["--backend", "sim"]].concat());
    assert_eq!(named.stdout, shown.stdout);
    let none = say(&tree, &[&history[..], &["--backend", "qemu"]].concat());
    none.assert_error(4, &["no run has a.s0 of k on stm32c031", "--backend"]);
    for (index, wrong, right) in
        [(1, "a.s00", "a.s0"), (3, "kk", "k"), (5, "stm32c013", "stm32c031")]
    {
        let mut arguments = history;
        arguments[index] = wrong;
        say(&tree, &arguments).assert_error(4, &[wrong, &format!("did you mean `{right}`?")]);
    }
}

#[test]
fn comparing_a_run_with_itself_is_reported() {
    let tree = tree();
    assert_eq!(tree.run(&["-s", "a.s0", "--name", "base"]).code, 0);
    let commands = [&["compare", "latest"][..], &["gate", "--baseline", "base"]];
    let same = say(&tree, commands[0]);
    assert!(same.code == 0 && same.stderr.contains("the same run"), "{same:#?}");
    // A gate that holds a run against itself is never passed.
    say(&tree, commands[1]).assert_error(4, &["the same run", "let a run finish"]);
    say(&tree, &["-q", "gate", "--baseline", "base"]).assert_error(4, &["the same run"]);
    // The run that was to be held against the baseline died: no gate is passed by that.
    let store = store(&tree);
    std::thread::sleep(Duration::from_millis(5));
    let died = store.begin("rtmark run", "0", None).expect("begun").id()[..8].to_owned();
    say(&tree, commands[0]).assert_error(4, &["the same run", "let a run finish"]);
    say(&tree, commands[1]).assert_error(4, &[&died, "is incomplete", "let a run finish"]);
    // Not even by an earlier one, nor by what the dead one has measured when it is named.
    assert_eq!(tree.run(&["-s", "a.s0"]).code, 0);
    assert_eq!(say(&tree, commands[1]).code, 0);
    std::thread::sleep(Duration::from_millis(5));
    let died = store.begin("rtmark run", "0", None).expect("begun").id()[..8].to_owned();
    for gate in [commands[1], &["gate", &died, "--baseline", "base"]] {
        say(&tree, gate).assert_error(4, &[&died, "is incomplete"]);
    }
}

/// A misspelt pattern beside one that fits must not leave out what a gate was to judge.
#[test]
fn each_pattern_has_to_fit_an_answer() {
    let tree = tree();
    assert_eq!(tree.run(&["-s", "a.s0", "--name", "base"]).code, 0);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(tree.run(&["-s", "a.s0", "a.s1"]).code, 0);
    let commands = [
        &["gate", "--baseline", "base"][..],
        &["compare", "base", "latest"],
        &["show"],
        &["report", "latest", "base", "-o", "-"],
    ];
    let filters = [
        (&["-s", "a.s0", "a.s9"][..], "no scenario of run", "fits `a.s9`"),
        (&["-k", "k", "kk"], "no kernel of run", "fits `kk`"),
        (&["--soc", "*", "s9"], "no soc of run", "fits `s9`"),
    ];
    for command in commands {
        for (filter, kind, pattern) in filters {
            say(&tree, &[command, filter].concat()).assert_error(4, &[kind, pattern]);
        }
        // What only one of the runs has is new, not misspelt.
        assert_eq!(say(&tree, &[command, &["-s", "a.s0", "a.s1"]].concat()).code, 0, "{command:?}");
    }
}

#[test]
fn newer_interrupted_runs_are_mentioned() {
    let tree = tree();
    assert_eq!(tree.run(&["-s", "a.s0"]).code, 0);
    let store = Store::open(tree.path("data/rtmark/store.sqlite")).expect("opened");
    std::thread::sleep(Duration::from_millis(5));
    let id = store.begin("rtmark run", "0", None).expect("begun").id()[..8].to_owned();
    let shown = say(&tree, &["show"]);
    assert!(shown.code == 0 && shown.stderr.contains(&id), "{shown:#?}");
    assert!(shown.stderr.contains("incomplete"), "{shown:#?}");
    assert!(!say(&tree, &["-q", "show"]).stderr.contains(&id));
}

/// Beginning a run is what fails when the journal has no room for it, not what comes after.
#[cfg(unix)]
#[test]
fn a_full_disk_at_the_start_is_reported() {
    let tree = tree();
    std::fs::write(
        tree.path("log.csv"),
        "kernel,version,soc,clock_hz,scenario,unit,value,span\n\
         freertos,11.1,b,100000000,thread.yield,cycles,250,catalogue\n",
    )
    .expect("writable");
    let path = tree.path("data/rtmark/store.sqlite");
    // As long as this one is open, the journal stays.
    let store = Store::open(&path).expect("made");
    let journal =
        || std::fs::metadata(tree.path("data/rtmark/store.sqlite-wal")).map_or(0, |m| m.len());
    while journal() < 40_000 {
        store.begin("rtmark run", "0", None).expect("begun");
    }
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", journal() / 512);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_rtmark"), "import", "log.csv"]);
    shell.current_dir(tree.path("")).env("XDG_DATA_HOME", tree.path("data"));
    let full: CommandResult = shell.output().expect("runs").into();
    full.assert_error(1, &["no room to write", "store.sqlite", "make room"]);
}

#[test]
fn bundles_are_written_atomically() {
    let tree = tree();
    assert_eq!(tree.run(&["-s", "a.s0"]).code, 0);
    let text = say(&tree, &["export"]);
    assert!(text.stdout.starts_with("{\"rtmark_bundle\":1,"), "{text:#?}");
    assert_eq!(text.stdout.lines().count(), 4);
    assert_eq!(say(&tree, &["export", "latest", "-o", "b.gz"]).code, 0);
    assert!(std::fs::read(tree.path("b.gz")).expect("there").starts_with(&[0x1f, 0x8b]));
    let mut reader = rtmark(&tree.path(""));
    reader.args(["export", "latest"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut reader = reader.spawn().expect("rtmark runs");
    drop(reader.stdout.take());
    let closed: CommandResult = reader.wait_with_output().expect("it ends").into();
    assert!(closed.code == 0 && !closed.stderr.contains("pipe"), "{closed:#?}");
    say(&tree, &["export", "-o", "nowhere/b.gz"]).assert_error(2, &["nowhere/b.gz"]);
    let files = std::fs::read_dir(tree.path("")).expect("a folder").flatten();
    assert!(!files.map(|f| f.file_name()).any(|name| name.to_string_lossy().contains(".part")));
}
