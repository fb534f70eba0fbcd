//! The default suite on the real kernels, built here: every kernel answers every
//! scenario, and the answers hang together.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use rtmark_model::{Catalogue, Scenario};
use serde_json::Value;

/// Runs `rtmark` with a store of this test's own; builds are kept from run to run.
fn rtmark(home: &Path, arguments: &[&str]) -> (String, String) {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(arguments)
        .arg("--store")
        .arg(home.join("store.sqlite"))
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_BUILD", build)
        .output()
        .expect("rtmark runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{}\n{stderr}", output.status);
    (stdout, stderr)
}

struct Suite(Vec<Value>);

impl Suite {
    fn of(json: &str) -> Self {
        let document: Value = serde_json::from_str(json).expect("JSON");
        Self(document["answers"].as_array().expect("answers").clone())
    }

    fn answer(&self, soc: &str, kernel: &str, scenario: &str) -> &Value {
        let fits = |answer: &&Value| {
            let key = &answer["key"];
            key["soc"] == soc && key["kernel"] == kernel && key["scenario"] == scenario
        };
        self.0
            .iter()
            .find(fits)
            .unwrap_or_else(|| panic!("{soc} {kernel} {scenario} has an answer"))
    }

    /// Whether the scenario was asked for.
    fn asked(&self, scenario: &str) -> bool {
        self.0.iter().any(|answer| answer["key"]["scenario"] == scenario)
    }

    /// The median of the steady samples, or the only sample; `None` when the kernel has said
    /// that the scenario does not apply to it.
    fn typical(&self, soc: &str, kernel: &str, scenario: &str) -> Option<u64> {
        let statistics = &self.answer(soc, kernel, scenario)["statistics"];
        let steady = statistics["steady"]["p50"].as_u64();
        steady.or(statistics["first"].as_u64())
    }

    /// The least of all samples, cold or steady, of all layouts; `None` as above.
    fn least(&self, soc: &str, kernel: &str, scenario: &str) -> Option<u64> {
        let answer = self.answer(soc, kernel, scenario);
        let statistics = &answer["statistics"];
        let shown = [&statistics["first"], &statistics["steady"]["min"]];
        let placements = answer["placements"].as_array().into_iter().flatten();
        let runs = placements.flat_map(|each| each["samples"].as_array().into_iter().flatten());
        let values = runs.map(|run| &run["value"]);
        shown.into_iter().chain(values).filter_map(Value::as_u64).min()
    }
}

/// The default suite, measured once for the tests that look at it; in fewer layouts than users
/// see, which takes a third of the time.
static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a scratch folder");
    Suite::of(&rtmark(home.path(), &["run", "--placements", "3", "--format", "json"]).0)
});

const SOCS: [&str; 2] = ["stm32c031", "stm32f405"];
const KERNELS: [&str; 6] = ["floor", "freertos", "ring", "embassy", "lilos", "rtic"];

#[test]
fn the_default_suite_has_a_figure_for_every_scenario() {
    let suite = &*SUITE;
    let scenarios = Catalogue::builtin().expect("good");

    for soc in SOCS {
        for kernel in KERNELS {
            for scenario in scenarios.scenarios() {
                let answer = suite.answer(soc, kernel, scenario.id.as_str());
                let what = format!("{soc} {kernel} {}", scenario.id);
                if answer["answer"] == "not-applicable" {
                    assert!(answer["reason"].as_str().is_some_and(|r| r.len() > 20), "{what}");
                    continue;
                }
                assert_eq!(answer["answer"], "measured", "{what}: {answer}");
                assert_eq!(answer["basis"], "cycles", "{what}");
                assert!(answer["statistics"]["count"].as_u64() >= Some(scenario.samples), "{what}");
                let hash = answer["provenance"]["firmware"]["elf_sha256"].as_str();
                assert_eq!(hash.map(str::len), Some(64), "{what}");
                let flags = answer["provenance"]["compiler"]["flags"].as_array();
                assert!(flags.is_some_and(|flags| !flags.is_empty()), "{what} states its flags");
            }
            for mode in ["single", "one_task", "two_tasks"] {
                let facts = &suite.answer(soc, kernel, &format!("workload.prime.{mode}"))["facts"];
                let counted = [&facts["primes"], &facts["numbers"], &facts["divisions"]];
                assert_eq!(counted, ["10", "177", "202336"], "{soc} {kernel} {mode}");
                assert_eq!(facts["last"], "268435631", "{soc} {kernel} {mode}");
            }
        }
    }
}

/// The time of RP2350's RISC-V cores is in its SIO, not in a core-local interruptor as elsewhere. Embassy sets
/// alarms on TIMER0, as on the chip's Arm cores.
#[test]
fn kernels_tick_from_each_chips_timer() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let soc = "rp2350-riscv";
    let kernels = ["freertos", "ring", "embassy"];
    let scenarios = ["thread.yield", "timer.tick", "timer.wake"];
    let arguments = ["run", "--placements", "1", "--format", "json", "--soc", soc, "--kernel"];
    let arguments = [&arguments[..], &kernels, &["--scenario"], &scenarios].concat();
    let suite = Suite::of(&rtmark(home.path(), &arguments).0);
    for kernel in kernels {
        let ticks = kernel != "embassy";
        let typical = scenarios.map(|scenario| suite.typical(soc, kernel, scenario));
        assert_eq!(typical.map(|it| it.is_some()), [true, ticks, true], "{kernel}: {typical:?}");
    }
    let wake = suite.answer(soc, "embassy", "timer.wake");
    assert_eq!(wake["provenance"]["settings"]["time_base"], "TIMER0", "{wake:#}");
}

const CORTEX_R5: &str = "zynqmp-r5";
const CORTEX_R5_KERNELS: [&str; 4] = ["floor", "freertos", "ring", "embassy"];

/// Runs these scenarios in all kernels that a Cortex-R5 has, built as the rest says.
fn on_cortex_r5(scenarios: &[&str], rest: &[&str]) -> Suite {
    let home = tempfile::tempdir().expect("a scratch folder");
    let command = ["run", "--placements", "1", "--format", "json", "--soc", CORTEX_R5];
    let chosen = [&["--kernel"], &CORTEX_R5_KERNELS[..], &["--scenario"], scenarios].concat();
    Suite::of(&rtmark(home.path(), &[&command, rest, &chosen].concat()).0)
}

/// What the kernels answer there, but for what takes long.
static CORTEX_R5_SUITE: LazyLock<Suite> = LazyLock::new(|| {
    let tasks = "{thread,semaphore,mutex,rwlock,queue,stream,events,notify,async,heap,pool}.*";
    let timers = "timer.{tick,wake,now,start,stop,expiry,idle}";
    on_cortex_r5(&[tasks, "{isr,tm,boot}.*", timers, "growth.{yield,wake,queue}.*"], &[])
});

/// A Cortex-R5 has a controller of its own, and the time of another timer: both are measured as elsewhere,
/// parts are less than the whole, and no sample counts as hit by what belongs to it. Embassy sets alarms, so
/// that nothing ticks.
#[test]
fn interrupts_and_ticks_of_a_cortex_r5_are_measured() {
    let suite = &*CORTEX_R5_SUITE;
    for kernel in CORTEX_R5_KERNELS {
        let answered = |id: &str| suite.typical(CORTEX_R5, kernel, id);
        let of = |id: &str| answered(id).unwrap_or_else(|| panic!("{kernel} {id}"));
        assert!(of("isr.entry") + of("isr.return") < of("isr.round_trip"), "{kernel}");
        assert!(of("isr.round_trip") < of("isr.wake.thread"), "{kernel}");
        assert!(of("isr.tail_chain") > of("isr.return"), "{kernel}: there is no tail-chaining");
        assert!(of("isr.entry") < of("timer.wake"), "{kernel}");
        assert_eq!(answered("timer.tick").is_some(), kernel != "embassy");
        assert!(answered("timer.tick") < Some(of("timer.wake")), "{kernel}");
        assert!(of("isr.entry") < of("tm.interrupt"), "{kernel}");
        let preempts = ["floor", "freertos"].contains(&kernel);
        assert_eq!(answered("tm.interrupt_preempt").is_some(), preempts, "{kernel}");
        assert_eq!(answered("thread.resume.preempt").is_some(), preempts, "{kernel}");
        for scenario in ["isr.entry", "isr.round_trip", "timer.tick", "timer.wake"] {
            let statistics = &suite.answer(CORTEX_R5, kernel, scenario)["statistics"];
            assert_eq!(statistics["disturbed"], Value::Null, "{kernel} {scenario}: {statistics}");
        }
        assert!(
            of("isr.entry") <= of("isr.nested"),
            "{kernel}: nothing is saved where handlers nest"
        );
        assert!(of("isr.nested") < of("isr.round_trip"), "{kernel}: it waits for no handler's end");
    }
    let same = ["isr.wake.thread", "isr.wake.semaphore"];
    let [thread, semaphore] = same.map(|id| suite.typical(CORTEX_R5, "freertos", id));
    assert_eq!(thread, semaphore, "they are one program");
    let provenance = &suite.answer(CORTEX_R5, "embassy", "timer.wake")["provenance"];
    assert_eq!(provenance["settings"]["time_base"], "TTC0, 100000000 Hz");
    let flags = provenance["compiler"]["flags"].to_string();
    assert!(flags.contains("-Ctarget-cpu=cortex-r5"), "{flags}");
}

#[test]
fn no_kernel_is_below_the_floor_of_a_cortex_r5() {
    let scenarios = Catalogue::builtin().expect("good");
    let suite = &*CORTEX_R5_SUITE;
    let scenarios = scenarios.scenarios().iter();
    let asked: Vec<_> = scenarios.filter(|it| suite.asked(it.id.as_str())).collect();
    let others = &CORTEX_R5_KERNELS[1..];
    for kernel in others {
        let both = |id| suite.least(CORTEX_R5, "floor", id).and(suite.least(CORTEX_R5, kernel, id));
        let compared = asked.iter().filter(|scenario| both(scenario.id.as_str()).is_some());
        assert!(compared.count() > 50, "{kernel}");
    }
    let below = below_the_floor(&[suite], &asked, &[CORTEX_R5], others);
    assert!(below.is_empty(), "the floor is not the least:\n{}", below.join("\n"));
}

/// As kernels are built, the vendor's start-up code has switched prediction off.
#[test]
fn branch_prediction_of_a_cortex_r5_can_be_on() {
    let suite = on_cortex_r5(&["thread.yield.alone"], &["--set", "branch_prediction=on"]);
    for kernel in CORTEX_R5_KERNELS {
        let of = |suite: &Suite| suite.typical(CORTEX_R5, kernel, "thread.yield.alone");
        assert!(of(&suite).is_some() && of(&suite) < of(&CORTEX_R5_SUITE), "{kernel}");
        let answer = suite.answer(CORTEX_R5, kernel, "thread.yield.alone");
        assert_eq!(answer["provenance"]["settings"]["branch_prediction"], true, "{answer:#}");
    }
}

/// Nothing is built for a load that a kernel says it lacks, or for a core that a kernel is not for.
#[test]
fn searches_of_loads_that_a_core_lacks_say_why() {
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["worst", "--load", "--soc", CORTEX_R5, "--kernel", "lilos", "rtic"])
        .env_remove("RTMARK_FIRMWARE")
        .output()
        .expect("rtmark runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    for why in [
        "rtic has no mixed load on cortex-r5: ",
        "lilos has no mixed load on cortex-r5: lilos 1.3 is for Cortex-M only.",
    ] {
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn recalled_figures_equal_measured_ones() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let layouts = ["--placements", "2"];
    let only =
        [&["run", "--format", "csv"][..], &layouts, &["--scenario", "thread.*", "isr.*"]].concat();
    let (measured, _) = rtmark(home.path(), &only);
    let (known, stderr) = rtmark(home.path(), &only);
    assert!(stderr.contains("recalled"), "{stderr}");
    assert_eq!(known, measured);
    let fresh = rtmark(home.path(), &[&only[..], &["--fresh"]].concat()).0;
    assert_eq!(known, fresh, "the same firmware gives the same figures");
}

/// What is cheaper than the floor in the same scenario, by the least samples of several
/// measurements of the suite: those of one layout of the code, or of many.
fn below_the_floor(
    suites: &[&Suite],
    scenarios: &[&Scenario],
    socs: &[&str],
    kernels: &[&str],
) -> Vec<String> {
    let mut below = Vec::new();
    for soc in socs {
        for scenario in scenarios.iter().filter(|scenario| scenario.no_multiple.is_none()) {
            let id = scenario.id.as_str();
            let least = |kernel| suites.iter().filter_map(|s| s.least(soc, kernel, id)).min();
            let Some(floor) = least("floor") else { continue };
            for kernel in kernels {
                let theirs = least(kernel).filter(|theirs| *theirs < floor);
                below.extend(theirs.map(|t| format!("{soc} {id}: {kernel} {t}, floor {floor}")));
            }
        }
    }
    below
}

#[test]
fn no_kernel_is_below_the_floor() {
    let scenarios = Catalogue::builtin().expect("good");
    let all: Vec<_> = scenarios.scenarios().iter().collect();
    let below = below_the_floor(&[&*SUITE], &all, &SOCS, &KERNELS[1..]);
    assert!(below.is_empty(), "the floor is not the least:\n{}", below.join("\n"));
}

/// Of several layouts the least counts, of the floor as of the others, and cold samples do.
#[test]
fn figures_below_the_floor_are_detected() {
    let text = "[[scenario]]\nid = \"a.b\"\nanswers = \"?\"\nfrom = \"a\"\nto = \"b\"\nswitches = 0\nsamples = 2\n";
    let one = Catalogue::from_files([("a.toml", text)]).expect("good");
    let but = Catalogue::from_files([("a.toml", &*format!("{text}no_multiple = \"so\"\n"))]);
    let suite = |floor: u64, cold: u64, steady: u64| {
        let answers = SOCS.iter().flat_map(|soc| {
            KERNELS.map(|kernel| {
                let (first, min) = if kernel == "floor" { (floor, floor) } else { (cold, steady) };
                serde_json::json!({
                    "key": { "soc": soc, "kernel": kernel, "scenario": "a.b" },
                    "statistics": { "first": first, "steady": { "min": min } },
                })
            })
        });
        Suite(answers.collect())
    };
    let (equal, cold, low) = (suite(10, 10, 10), suite(10, 9, 12), suite(8, 11, 11));
    let below_the_floor = |suites: &[&Suite], scenarios: &Catalogue| {
        let all: Vec<_> = scenarios.scenarios().iter().collect();
        below_the_floor(suites, &all, &SOCS, &KERNELS[1..])
    };
    assert!(below_the_floor(&[&equal], &one).is_empty());
    let below = below_the_floor(&[&equal, &cold], &one);
    assert_eq!(below.len(), SOCS.len() * (KERNELS.len() - 1));
    assert_eq!(below[0], "stm32c031 a.b: freertos 9, floor 10");
    assert!(below_the_floor(&[&cold, &low], &one).is_empty());
    assert!(below_the_floor(&[&cold], &but.expect("good")).is_empty());
}

#[test]
fn figures_are_plausible() {
    let suite = &*SUITE;
    for soc in SOCS {
        for kernel in KERNELS {
            let clock =
                suite.answer(soc, kernel, "timer.delay.1000ms")["clock"].as_u64().expect("a clock");
            let of = |id: &str| suite.typical(soc, kernel, id).expect("a number");
            let delay = of("timer.delay.1000ms");
            let tick = clock / 1000;
            assert!(
                delay.abs_diff(clock) <= 2 * tick,
                "{soc} {kernel}: a second took {delay} cycles"
            );
            let [single, one, two] = ["single", "one_task", "two_tasks"]
                .map(|mode| of(&format!("workload.prime.{mode}")));
            assert!(single < one && one < two, "{soc} {kernel}: {single}, {one}, {two}");
        }
    }
}

/// What a core needs to do the same work.
struct Pace {
    /// Cycles of a round of the middle thread's work in `priority.inversion.*`, fifty iterations.
    round: u64,
    /// Cycles of the mixed load's hyperperiod.
    hyperperiod: u64,
}

/// A subtraction and a branch, three cycles.
const CORTEX_M_PACE: Pace = Pace { round: 150, hyperperiod: 72_000 };
/// The branch is not predicted: eight cycles.
const CORTEX_R5_PACE: Pace = Pace { round: 400, hyperperiod: 144_000 };

/// How far the ends of a hyperperiod may move.
const SLACK: u64 = 200;

/// The groups that are bounded by [`assert_bounds`].
const BOUNDED: [&str; 4] = ["priority.*", "duty.*", "storm.*", "boot.*"];

/// Without a protocol a high thread waits for the whole of the middle one's work, with one for none
/// of it; nobody is awake for longer than time passes; and an interrupt that is served again and
/// again costs no more than one that is served alone.
#[test]
fn priorities_sleep_and_storms_obey_their_bounds() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let command = ["run", "--placements", "1", "--format", "json", "--scenario"];
    let command = [&command[..], &BOUNDED].concat();
    let (json, _) = rtmark(home.path(), &command);
    let suite = Suite::of(&json);
    for (soc, kernel) in SOCS.iter().flat_map(|soc| KERNELS.map(|kernel| (*soc, kernel))) {
        assert_bounds(&suite, soc, kernel, &CORTEX_M_PACE);
    }
}

#[test]
fn priorities_sleep_and_storms_of_a_cortex_r5_obey_their_bounds() {
    let suite = on_cortex_r5(&BOUNDED, &[]);
    for kernel in CORTEX_R5_KERNELS {
        assert_bounds(&suite, CORTEX_R5, kernel, &CORTEX_R5_PACE);
    }
    let inversions = |kernel| {
        ["none", "inheritance", "ceiling"]
            .map(|it| suite.typical(CORTEX_R5, kernel, &format!("priority.inversion.{it}.64")))
    };
    assert!(inversions("freertos").iter().all(Option::is_some), "{:?}", inversions("freertos"));
    assert!(inversions("freertos").is_sorted_by(|a, b| a > b), "{:?}", inversions("freertos"));
    assert!(inversions("floor")[2] < inversions("freertos")[2]);
}

fn assert_bounds(suite: &Suite, soc: &str, kernel: &str, pace: &Pace) {
    let of = |id: &str| suite.typical(soc, kernel, id);
    let here = format!("{soc} {kernel}");
    for (protocol, each) in [("none", pace.round), ("inheritance", 0), ("ceiling", 0)] {
        let at = |n: u64| of(&format!("priority.inversion.{protocol}.{n}"));
        if let Some(first) = at(1) {
            for n in [2, 4, 8, 16, 32, 64] {
                let expected = first + (n - 1) * each;
                assert_eq!(at(n), Some(expected), "{here} {protocol} at {n}");
            }
        }
    }
    let awake = of("duty.awake").expect("every kernel has the load");
    let most = pace.hyperperiod;
    assert!((1..=most + SLACK).contains(&awake), "{here}: awake for {awake}");
    // Its idle task spins.
    assert_eq!(awake.abs_diff(most) <= SLACK, kernel == "freertos", "{here}: {awake}");
    let steady = &suite.answer(soc, kernel, "duty.jitter")["statistics"]["steady"];
    let rank = |name: &str| steady[name].as_u64().expect("so many samples");
    let ranks = ["min", "p50", "p99", "p99_9", "max"].map(rank);
    assert!(ranks.is_sorted(), "{here}: {ranks:?}");
    assert!(of("storm.distance") < of("storm.background"), "{here}");
    // Not even the largest image fills as much memory in as short a time.
    let boot = of("boot.first_task").expect("every kernel starts");
    let ram = &suite.answer(soc, kernel, "boot.first_task")["provenance"]["firmware"];
    let words = ram["ram_bytes"].as_u64().expect("a size") / 4;
    assert!(boot > words.saturating_sub(64) / 2, "{here}: {boot} cycles for {words} words");
}

/// The alarm of the mixed load sends, gives and wakes in every kernel that has the load, in
/// each of many cycles in the thick of it, and the load finds all in order at its end.
#[test]
fn mixed_loads_survive_their_alarm_at_any_cycle() {
    assert_loads_survive("stm32f405", "25000:26500", &KERNELS);
}

/// Its vector is code outside the image, where debug information still has functions that were dropped.
#[test]
fn mixed_loads_of_a_cortex_r5_survive_their_alarm_at_any_cycle() {
    let results = assert_loads_survive(CORTEX_R5, "120000:121500", &CORTEX_R5_KERNELS);
    let stretches = results.iter().filter_map(|found| found["held_back"].as_array()).flatten();
    let begins: Vec<_> = stretches.map(|held| &held["from"]).collect();
    let in_vector: Vec<_> = begins.iter().filter(|from| from["address"] == 0x18).collect();
    assert!(!in_vector.is_empty(), "{begins:?}");
    for from in in_vector {
        assert_eq!(from["function"], Value::Null, "{from}");
    }
}

fn assert_loads_survive(soc: &str, window: &str, expected: &[&str]) -> Vec<Value> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["worst", "--load", "--soc", soc, "--check", "--format", "json"])
        .args(["--window", window])
        .env_remove("RTMARK_FIRMWARE")
        .env("RTMARK_BUILD", build)
        .output()
        .expect("rtmark runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = document["results"].as_array().expect("results");
    let kernels: Vec<_> = results.iter().map(|found| found["kernel"].as_str()).collect();
    let expected: Vec<_> = expected.iter().copied().map(Some).collect();
    assert_eq!(kernels, expected, "in the order of the table");
    for found in results {
        assert!(found["checked"].as_u64() >= Some(1_400), "{found}");
        assert_eq!(found["races"].as_array().map(Vec::len), Some(0), "{found}");
        // All of them were served, and none of them where the handler does nothing.
        assert_eq!(found["latencies"][0]["missing"], 0, "{found}");
    }
    results.clone()
}
