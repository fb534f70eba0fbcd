//! Instructions counted twice: by the simulator, which watches the plain firmware, and by a
//! counter of QEMU's, which clocked probes in the same firmware read. What the probes cost
//! is taken off, so every span must have the same length, instruction for instruction.
//!
//! That holds for kernels in C. In Rust a call changes what the compiler keeps in registers, so the
//! image with clocked probes is compared with itself: the simulator runs it as well, and watches
//! the places where the calls return.
//!
//! Left out are spans that contain an interrupt: between the store that makes one pending
//! and its handler, QEMU may execute another number of instructions than the pipeline of
//! a core does.

use std::collections::BTreeMap;
use std::path::Path;

use rtmark_firmware::{Builder, Kernel, SettingChanges, Tree, Variant, probes};
use rtmark_model::{Answer, Basis, Catalogue, Expected, Scenario, Series};
use rtmark_runner::{
    Clocked, DEADLINE, Measured, Plan, Platform, Probed, Selection, Suite, clocked, emulate,
    machines, measure, socs,
};
use rtmark_sim::Image;

/// A soc, the kernels to run on it, and the most samples that a scenario may take.
type Bench = (&'static str, &'static [&'static str], u64);

/// Those that poll a hundred thousand times do so on one soc.
const BENCHES: [Bench; 4] = [
    ("stm32f405", &["floor", "freertos", "ring"], u64::MAX),
    ("stm32c031", &["freertos"], 1000),
    ("stm32f100", &["freertos"], 1000),
    ("mps2-an505", &["freertos"], 1000),
];

/// A tick may hit one sample in so many. QEMU does not tell which.
const TICKS: usize = 1000;
/// The least that a tick takes, in instructions.
const TICK: u64 = 15;

fn is_plain(expected: Expected) -> bool {
    expected == Expected::Exactly(0)
}

fn answers((soc, kernels, most): Bench, platform: Platform) -> BTreeMap<String, Answer> {
    let builder = Builder::new(Tree::find(None).expect("the firmware tree"))
        .in_folder(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build"));
    let catalogue = Catalogue::builtin().expect("good");
    let pattern = |name: &str| name.parse().expect("a pattern");
    let plain = catalogue
        .scenarios()
        .iter()
        .filter(|scenario| is_plain(scenario.span.ticks) && is_plain(scenario.span.interrupts))
        .filter(|scenario| scenario.samples <= most);
    let selection = Selection {
        kernels: kernels.iter().copied().map(pattern).collect(),
        // The workloads and delays are long, and say no more.
        scenarios: plain
            .map(|scenario| scenario.id.as_str())
            .filter(|id| !id.starts_with("workload."))
            .map(|id| pattern(&id.replace('+', "[+]")))
            .collect(),
    };
    let known = builder.tree().kernels().expect("kernels");
    // What a compiler inlines at link time depends on what probes are there.
    let variant: Variant = "product+lto=off".parse().expect("a variant");
    let plan = Plan::new(&catalogue, &known, &[platform], &[variant], &selection).expect("good");
    let Ok(answers) = Suite::plain(builder, "test").run(&plan, &mut ());
    let name = |answer: &Answer| {
        let key = answer.key();
        format!("{soc} {} {}", key.kernel, key.scenario)
    };
    answers.into_iter().map(|answer| (name(&answer), answer)).collect()
}

/// What is wrong with the counts of a span, if anything is.
fn difference(here: &Series, there: &Series) -> Option<String> {
    let kept = |series: &'_ Series| series.readings.samples().cloned().expect("both keep theirs");
    let (ours, theirs) = (kept(here), kept(there));
    let ours: Vec<_> = ours.iter().collect();
    let theirs: Vec<_> = theirs.iter().map(|(value, _)| value).collect();
    if ours.len() != theirs.len() {
        return Some(format!("{} samples here, {} on QEMU", ours.len(), theirs.len()));
    }
    let mut ticks = 0;
    for (index, (&(our, hit), &their)) in ours.iter().zip(&theirs).enumerate() {
        if hit.tick || hit.interrupt || our == their {
            continue;
        }
        ticks += 1;
        if their < our + TICK || ticks > 1 + theirs.len() / TICKS {
            return Some(format!("sample {index} is {our} here, {their} on QEMU"));
        }
    }
    None
}

#[test]
fn spans_without_interrupts_have_equal_instruction_counts() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for bench in BENCHES {
        let soc = bench.0;
        let file = socs::find(soc).expect("built in");
        let here = Platform::Sim(Box::new(file), Basis::Instructions);
        let here = answers(bench, here);
        let there = answers(bench, machines::find(soc).expect("built in").into());
        for (name, answer) in there {
            match (&here[&name], &answer) {
                (Answer::Measured(here), Answer::Measured(there)) => {
                    compared += 1;
                    assert_eq!((here.basis, there.basis), (Basis::Instructions, here.basis));
                    wrong.extend(difference(here, there).map(|what| format!("{name}: {what}")));
                }
                (Answer::NotApplicable { .. }, Answer::NotApplicable { .. }) => {}
                // Clocked probes see no exceptions.
                (Answer::Measured(_), Answer::NotApplicable { reason, .. })
                    if reason.contains("no instruction there could read a counter") => {}
                // QEMU's machine may have more RAM than the chip.
                (Answer::NotApplicable { reason, .. }, Answer::Measured(_))
                    if reason.starts_with("no room") => {}
                (here, there) => wrong.push(format!("{name}: {here:?}, on QEMU {there:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 200, "{compared} spans");
}

/// A soc, and the images of kernels in Rust.
const IN_RUST: [(&str, &str, &[&str]); 3] = [
    ("stm32f405", "embassy", &["thread", "semaphore", "queue"]),
    ("stm32f405", "rtic", &["thread", "mutex"]),
    ("stm32f405", "lilos", &["thread", "notify"]),
];

/// What each sample has on the simulator beyond QEMU's: the end's own call, whose return is where
/// it is watched, and the calls of other scenarios' probes in between.
fn calls(there: &Measured) -> impl Iterator<Item = u64> + use<> {
    let cost = |name: &str| there.facts[name].parse::<u64>().expect("a number");
    let (begin, end) = (cost("~probe_begin"), cost("~probe_end"));
    (0..3).flat_map(move |begins| (1..4).map(move |ends| begins * begin + ends * end))
}

fn equal_counts(here: &Measured, there: &Measured) -> Result<(), String> {
    let values = |of: &Measured| of.samples.0.iter().map(|(value, _)| value).collect::<Vec<_>>();
    let (here, theirs) = (values(here), values(there));
    let median = |mut values: Vec<u64>| {
        values.sort_unstable();
        values[values.len() / 2]
    };
    let (our, their) = (median(here), median(theirs));
    if calls(there).any(|calls| our == their + calls) {
        return Ok(());
    }
    Err(format!("{our} with its probes here, {their} without them on QEMU"))
}

#[test]
fn rust_images_have_equal_instruction_counts() {
    let builder = Builder::new(Tree::find(None).expect("the firmware tree"))
        .in_folder(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build"));
    let catalogue = Catalogue::builtin().expect("good");
    let kernels = builder.tree().kernels().expect("kernels");
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (soc, id, groups) in IN_RUST {
        let is_it = |kernel: &&Kernel| kernel.manifest.id.as_str() == id;
        let kernel = kernels.iter().find(is_it).expect("a kernel");
        let file = socs::find(soc).expect("built in");
        let machine = machines::find(soc).expect("built in");
        let is_wanted = |image: &str| groups.contains(&image);
        let target = machine.target.clone().only(&kernel.manifest, is_wanted);
        let built = builder.build(kernel, target, &SettingChanges::default()).expect("it builds");
        for (group, built) in built {
            let image = Image::from_elf(&built.elf).expect("an image");
            let section = image.section(probes::SECTION).expect("probes");
            let records = probes::parse(section).expect("good");
            let path = built.path.display().to_string();
            let probed = Probed {
                image,
                elf: built.elf.clone(),
                records: records.clone(),
                path: path.clone(),
            };
            let on_qemu = Clocked { elf: built.elf, records: records.clone(), path };
            let arguments = |scenario: &&Scenario| {
                scenario.id.group() == group
                    && is_plain(scenario.span.ticks)
                    && is_plain(scenario.span.interrupts)
                    && scenario.samples <= 1000
                    && probes::index_of(&records, &scenario.id).is_some()
                    && clocked::can_be_clocked(&records, &scenario.id)
            };
            for scenario in catalogue.scenarios().iter().filter(arguments) {
                let budget = rtmark_sim::Cycles(2_000_000_000);
                let here =
                    measure(&file.soc, &probed, scenario, Basis::Instructions, budget, |_| {});
                let there = emulate(&machine.machine, &on_qemu, scenario, DEADLINE);
                let result = match (here, there) {
                    (Ok(here), Ok(there)) => equal_counts(&here, &there),
                    (Err(failure), _) | (_, Err(failure)) => Err(failure.to_string()),
                };
                compared += 1;
                wrong
                    .extend(result.err().map(|what| format!("{soc} {id} {}: {what}", scenario.id)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 20, "{compared} spans");
}
