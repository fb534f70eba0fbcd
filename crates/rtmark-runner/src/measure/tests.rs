use rtmark_model::{HeldBack, Victim};

use super::*;
use crate::held::held_back;
use crate::tests::programs::{BEGIN, MASK, NOP, Program, UNMASK, scenario, soc, soc_with};

#[test]
fn the_last_verdict_counts() {
    let id = "a.b".parse().expect("good");
    let of = |console: &str| verdict(&id, 0, console.as_bytes());
    assert_eq!(of("hello\na.b ok\n"), Ok(Verdict::Ok(BTreeMap::new())));
    let Ok(Verdict::Ok(facts)) = of("a.b ok primes=10 last=7\n") else {
        panic!("it is ok");
    };
    assert_eq!(facts["primes"], "10");
    assert_eq!(of("a.b FAILED: 3 items\n").expect_err("failed"), "it says: FAILED: 3 items");
    assert!(of("a.bc ok\n").expect_err("another").contains("without saying `a.b ok`"));
    assert!(of("a.b okay\n").is_err());
    assert!(of("a.b ok x\n").expect_err("no fact").contains("not key=value"));
    assert!(of("").is_err());
    assert!(of("a.b n/a: no room\n").is_err(), "only points may be declined");
}

#[test]
fn a_point_is_reported_or_declined() {
    let id = "a.b".parse().expect("good");
    let of = |console: &str| verdict(&id, 16, console.as_bytes());
    assert!(matches!(of("a.b ok n=16\n"), Ok(Verdict::Ok(_))));
    assert!(of("a.b ok n=1\n").expect_err("another").contains("n=16"));
    assert!(of("a.b ok\n").expect_err("none").contains("n=16"));
    let declined = of("a.b n/a: no room for 16 tasks\n");
    assert_eq!(declined, Ok(Verdict::Declined("no room for 16 tasks".into())));
}

fn values(samples: &Samples) -> Vec<u64> {
    samples.iter().map(|(value, _)| value).collect()
}

fn run(
    probed: &Probed,
    scenario: &Scenario,
    options: MeasureOptions,
) -> Result<(Measured, Spans), Failure> {
    measure_with(&soc(), probed, scenario, Cycles(10_000), options, |_| {})
}

/// One cycle and one instruction for each `nop`, five times, of which nothing is disturbed.
#[test]
fn samples_are_the_cycles_or_the_instructions_between_probes() {
    for nops in [1, 3, 20] {
        let probed = Program { body: vec![NOP; nops], ..Program::default() }.probed();
        let recording = Recording::Spans;
        let options = MeasureOptions { recording, ..MeasureOptions::default() };
        let (measured, spans) = run(&probed, &scenario(), options).expect("measured");
        let wanted = vec![nops as u64; 5];
        assert_eq!(values(&measured.samples.0), wanted);
        assert_eq!(measured.executed.map(|counts| values(&counts.0)), Some(wanted.clone()));
        assert_eq!(measured.unpaired, Unpaired::default());
        assert!(measured.samples.0.iter().all(|(_, hit)| !hit.any()));
        let lengths: Vec<u64> = spans.iter().map(|(from, to)| to.0 - from.0).collect();
        assert_eq!(lengths, wanted);
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{spans:?}");
        assert!(measured.ran > spans[4].1);
        let options = MeasureOptions { basis: Basis::Instructions, ..MeasureOptions::default() };
        let (counted, spans) = run(&probed, &scenario(), options).expect("measured");
        assert_eq!(values(&counted.samples.0), wanted);
        assert!(counted.executed.is_none() && spans.is_empty());
    }
}

/// A memory that waits is slower than its instructions, by what the run without waits shows.
#[test]
fn a_span_from_reset_counts_from_the_first_cycle() {
    let program = Program::default();
    let kinds = [Kind::BeginAtReset, Kind::End(BEGIN)];
    let once = Scenario { samples: 1, ..scenario() };
    let recording = Recording::Spans;
    let options = MeasureOptions { recording, ..MeasureOptions::default() };
    let (from_reset, spans) = run(&program.probed_with(&kinds), &once, options).expect("measured");
    let (measured, later) = run(&program.probed(), &once, options).expect("measured");
    assert_eq!(values(&from_reset.samples.0), [later[0].0.0]);
    assert_eq!(spans, [(Cycles::ZERO, later[0].0)]);
    assert_eq!(from_reset.ran, measured.ran);
    // The other four ends have no begin, which a user's own scenario may not have.
    assert_eq!(from_reset.unpaired.ends, 4);
    assert!(!from_reset.facts.contains_key(LONE_ENDS_FACT));
    let own = Scenario { own: true, ..once };
    let (own, _) = run(&program.probed_with(&kinds), &own, options).expect("measured");
    assert_eq!(own.facts.get(LONE_ENDS_FACT).map(String::as_str), Some("4"));
}

/// movs r0, #0x40; lsls r0, r0, #24; str r0, [r0], where no soc file knows a peripheral.
#[test]
fn what_a_program_has_used_without_a_model_is_kept_with_its_figures() {
    let program = Program { body: vec![0x2040, 0x0600, 0x6000], ..Program::default() };
    let (measured, _) =
        run(&program.probed(), &scenario(), MeasureOptions::default()).expect("measured");
    let told = measured.facts.get(WITHOUT_MODEL_FACT).map(String::as_str);
    assert_eq!(told, Some("no model: 0x40000000 written 5 times"));
    let (measured, _) = run(&Program::default().probed(), &scenario(), MeasureOptions::default())
        .expect("measured");
    assert!(measured.facts.is_empty());
}

/// Begins inside open spans, beyond those that the catalogue expects.
#[test]
fn restarted_spans_are_told_of_if_there_are_too_many() {
    let program = Program::default();
    let kinds = [Kind::Begin(BEGIN), Kind::Begin(BEGIN + 2), Kind::End(program.end())];
    for (expected, told) in
        [(Expected::Exactly(4), 5), (Expected::Exactly(5), 0), (Expected::Any, 0)]
    {
        let scenario = Scenario { restarts: expected, ..scenario() };
        let options = MeasureOptions::default();
        let (measured, _) =
            run(&program.probed_with(&kinds), &scenario, options).expect("measured");
        assert_eq!(values(&measured.samples.0), [2; 5]);
        assert_eq!(measured.unpaired.restarted, told, "{expected}");
    }
}

#[test]
fn what_is_no_measurement_is_a_failure_of_its_kind() {
    let program = Program::default;
    let said = |said| Program { said, ..program() };
    let last = |last: &[u16]| Program { last: last.to_vec(), ..program() };
    let end = program().end();
    let probes = |kinds: &[Kind]| program().probed_with(kinds);
    let (check, budget) = (FailureKind::Check, FailureKind::Budget);
    let failures = [
        (said("thread.yield FAILED\n").probed(), check, "it says: FAILED"),
        (said("thread.ok\n").probed(), check, "it ended without saying `thread.yield ok`"),
        (
            Program { reason: 0x2_0023, ..program() }.probed(),
            check,
            "it printed ok, but ended with",
        ),
        (last(&[0xDE00]).probed(), FailureKind::Fault, "it had yielded 5 samples"),
        (last(&[0xBE00]).probed(), FailureKind::Fault, "breakpoint without a debugger"),
        (last(&[0xBF30]).probed(), budget, "asleep for ever"),
        (last(&[0xE7FE]).probed(), budget, "still running"),
        (probes(&[Kind::Begin(BEGIN)]), FailureKind::Build, "lacks a begin or an end probe"),
        (probes(&[Kind::End(end)]), FailureKind::Build, "lacks a begin or an end probe"),
        (probes(&[Kind::Begin(0), Kind::End(0)]), budget, "it never reached a probe"),
        (probes(&[Kind::Begin(0), Kind::End(end)]), budget, "but its end probe 5 times"),
        (probes(&[Kind::Begin(BEGIN), Kind::End(0)]), budget, "its begin probe 5 times, but never"),
    ];
    for (probed, kind, message) in failures {
        let failure = run(&probed, &scenario(), MeasureOptions::default()).expect_err(message);
        assert!(failure.message.contains(message), "{message}: {}", failure.message);
        assert_eq!(failure.kind, kind, "{message}");
        assert!(failure.message.ends_with("[a.elf]") && !failure.hint.is_empty(), "{failure:?}");
    }
    for (asked, brings) in [(4, true), (5, true), (6, false)] {
        let scenario = Scenario { samples: asked, ..scenario() };
        let measured = run(&program().probed(), &scenario, MeasureOptions::default());
        assert_eq!(measured.is_ok(), brings, "{asked} samples");
    }
    let mut elsewhere = soc();
    elsewhere.memories.retain(|memory| memory.base > 0);
    let measured =
        measure(&elsewhere, &program().probed(), &scenario(), Basis::Cycles, Cycles(9), |_| {});
    assert_eq!(measured.expect_err("no flash").kind, FailureKind::Load);
}

/// A loop of two turns, of which the last is timed. Its first turn fills the cache, unless that is emptied where the
/// span begins.
#[test]
fn emptied_caches_make_each_span_wait() {
    let body = [&[0x2502][..], &[NOP; 20], &[0x3D01, 0xD1E9]].concat();
    let probed_of = Program { body, ..Program::default() };
    let probed = probed_of.probed_with(&[Kind::Begin(BEGIN + 2), Kind::End(probed_of.end())]);
    let scenario = Scenario { restarts: Expected::Any, ..scenario() };
    let run = |soc: &Soc| {
        let measured = measure(soc, &probed, &scenario, Basis::Cycles, Cycles(10_000), |_| {});
        let measured = measured.expect("measured");
        let emptied = measure_emptied(soc, &probed, &scenario, &measured);
        (values(&measured.samples.0), emptied.map(|samples| values(&samples)))
    };
    let timing = "timing = { wait_states = 5, line_bytes = 16, instruction_lines = 64 }\n";
    let (filled, emptied) = run(&soc_with(timing));
    let emptied = emptied.expect("it has a cache");
    assert!(
        emptied.len() == 5 && filled.iter().zip(&emptied).all(|(filled, emptied)| filled < emptied)
    );
    let (plain, emptied) = run(&soc());
    assert_eq!((plain.len(), emptied), (5, None));
}

/// The program masks interrupts for some cycles of each span. What holds one back besides is the same.
#[test]
fn an_interrupt_is_held_back_as_long_as_it_is_masked() {
    let longest = |nops: usize| {
        let body = [&[MASK][..], &vec![NOP; nops], &[UNMASK, NOP]].concat();
        let probed = Program { body, ..Program::default() }.probed();
        let of = HeldBack { interrupt: Victim::MostUrgent, program: scenario().id };
        let looked = Scenario { held_back: Some(of.clone()), ..scenario() };
        let measured = held_back(&soc(), &probed, (&looked, &of), 0, Cycles(10_000), |_| {});
        let measured = measured.expect("measured");
        let held = measured.held.expect("an interval");
        assert_eq!(values(&measured.samples.0), [held.cycles]);
        assert_eq!(held.ended - held.began, held.cycles);
        assert_eq!(held.from.function.as_deref(), Some("main"));
        assert!(measured.executed.is_none() && measured.masked.is_none(), "those of its spans");
        held.cycles
    };
    let (few, many) = (longest(6), longest(16));
    assert_eq!(many - few, 10);
    assert!((6..=12).contains(&few), "{few}");
}

/// `rtmark why`: the parts of the typical sample add up to it.
#[test]
fn the_typical_sample_is_explained_whole() {
    let body = vec![NOP; 7];
    let probed = Program { body, ..Program::default() }.probed();
    let explained = crate::explain(&soc(), &probed, &scenario(), Cycles(10_000), |_| {});
    let explained = explained.expect("explained");
    assert_eq!(values(&explained.measured.samples.0), [7; 5]);
    assert_eq!(explained.sample, 1, "the first one stands apart");
    assert_eq!((explained.cost.whole.cycles, explained.cost.whole.instructions), (7, 7));
    let parts: Vec<_> = explained.cost.parts.iter().map(|part| part.function.as_str()).collect();
    assert_eq!(parts, ["main"]);
    let options = MeasureOptions { recording: Recording::Spans, ..MeasureOptions::default() };
    let (_, spans) = run(&probed, &scenario(), options).expect("measured");
    assert_eq!(explained.began, spans[1].0);
}
