//! Instructions counted twice: by the simulator, which watches the plain firmware, and by a
//! counter of QEMU's, which clocked probes in the same firmware read. What the probes cost
//! is taken off, so every span must have the same length, instruction for instruction.
//!
//! Left out are spans that contain an interrupt: between the store that makes one pending
//! and its handler, QEMU may execute another number of instructions than the pipeline of
//! a core does.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

use rtmark_firmware::{Builder, Tree, Variant};
use rtmark_model::{Answer, Basis, Catalogue, Expected, Series};
use rtmark_runner::{Event, Ledger, Plan, Platform, Selection, Suite, find_machine, socs};
use rtmark_store::Fingerprint;

/// A soc, the kernels to run on it, and the most samples that a scenario may take.
type Bench = (&'static str, &'static [&'static str], u64);

/// Those that poll a hundred thousand times do so on one soc.
const BENCHES: [Bench; 4] = [
    ("stm32f405", &["floor", "evloop", "freertos"], u64::MAX),
    ("stm32c031", &["freertos"], 1000),
    ("stm32f100", &["freertos"], 1000),
    ("mps2-an505", &["freertos"], 1000),
];

/// A tick may hit one sample in so many. QEMU does not tell which.
const TICKS: usize = 1000;
/// The least that a tick takes, in instructions.
const TICK: u64 = 15;

struct Nothing;

impl Ledger for Nothing {
    type Error = Infallible;

    fn event(&mut self, _: Event<'_>) {}

    fn recall(&mut self, _: &Fingerprint) -> Option<Answer> {
        None
    }

    fn record(&mut self, _: &Answer, _: Option<&Fingerprint>) -> Result<(), Infallible> {
        Ok(())
    }
}

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
    let plan = Plan::new(&catalogue, &known, &[platform], &[Variant::default()], &selection)
        .expect("good");
    let suite = Suite { builder, rtmark: "test".to_owned(), rtmark_sha256: None, max_cycles: None };
    let Ok(answers) = suite.run(&plan, &mut Nothing);
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
        let there = answers(bench, find_machine(soc).expect("built in").into());
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
                    if reason.contains("no instruction stands there") => {}
                (here, there) => wrong.push(format!("{name}: {here:?}, on QEMU {there:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 200, "{compared} spans");
}
