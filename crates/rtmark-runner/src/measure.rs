//! Measures one scenario on a simulated machine of its own.

use std::collections::BTreeMap;

use rtmark_firmware::probes::{Kind, Record};
use rtmark_firmware::select;
use rtmark_model::{
    Basis, Exact, Expected, Failure, FailureKind, HeldInterval, InstructionCounts, LONE_ENDS_FACT,
    SELECTED_CLOCK_FACT, Samples, Scenario, ScenarioId, Unpaired, WITHOUT_MODEL_FACT, visible,
};
use rtmark_observe::{Edge, SpanRecorder, ignored_clock, model_notes};
use rtmark_sim::{Image, Machine, MaskedInterval, Soc, Watch};
use rtmark_units::{Cycles, Hertz};

use crate::internal_error;
use crate::probe_watch::probe_watch;
use crate::run::{Ending, Session};

/// How much console output is kept, in bytes: a runaway program prints for ever.
const CONSOLE_KEPT: usize = 64 * 1024;

/// An image with its probes.
#[derive(Clone, Debug)]
pub struct Probed {
    /// The image.
    pub image: Image,
    /// The file that it was read from, for its debug information.
    pub elf: Vec<u8>,
    /// Its probes.
    pub records: Vec<Record>,
    /// Its file, for messages.
    pub path: String,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The samples, in the requested basis.
    pub samples: Exact,
    /// How many instructions each sample executed, if the basis is something else.
    pub executed: Option<InstructionCounts>,
    /// Probe hits that did not form a sample.
    pub unpaired: Unpaired,
    /// The facts that the firmware reported besides `ok`.
    pub facts: BTreeMap<String, String>,
    /// The longest time with interrupts masked, from the first begin to the last end.
    pub masked: Option<MaskedInterval>,
    /// The longest wait of the interrupt that the scenario looks at, and what caused it.
    pub held: Option<Box<HeldInterval>>,
    /// How long the whole run took.
    pub ran: Cycles,
    /// Why the firmware could not measure this point of a curve: that many objects do not fit on this
    /// soc.
    pub declined: Option<String>,
}

impl Measured {
    /// Returns the result of a point that the firmware declined for this reason.
    pub(crate) fn declined(reason: String) -> Self {
        Self {
            samples: Exact(Samples::new()),
            executed: None,
            unpaired: Unpaired::default(),
            facts: BTreeMap::new(),
            masked: None,
            held: None,
            ran: Cycles::ZERO,
            declined: Some(reason),
        }
    }
}

/// The firmware's verdict on a scenario, from its last line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Success, with facts.
    Ok(BTreeMap<String, String>),
    /// That many do not fit.
    Declined(String),
}

/// Makes a machine watch a scenario's probes; returns `None` if the image lacks a begin or an end probe.
fn watch_probes<'a>(
    machine: &mut Machine,
    records: &[Record],
    scenario: &'a Scenario,
    options: MeasureOptions,
) -> Option<SpanRecorder<'a>> {
    let mut recorder = SpanRecorder::new(machine, &scenario.span, options.basis);
    if options.recording == Recording::Spans {
        recorder.record_intervals();
    }
    for record in records.iter().filter(|record| record.scenario == *scenario.in_firmware()) {
        if matches!(record.kind, Kind::BeginAtReset) {
            recorder.begin_at_reset(machine);
        }
        let Some((watch, edge)) = probe_watch(record.kind) else { continue };
        // If a tick begins the span, the watch says which exception that is.
        if let (Watch::Pend(exception), Expected::Exactly(1..)) = (watch, scenario.span.ticks) {
            machine.count_ticks_of(exception);
        }
        let watch = machine.watch(watch);
        if edge == Edge::Begin && options.caches == Caches::Emptied {
            machine.empty_caches_at(watch);
        }
        recorder.mark(watch, edge);
    }
    recorder.is_complete().then_some(recorder)
}

/// Boots an image with one scenario selected and collects its samples, counted in cycles or
/// instructions. `advanced` is called now and then with the cycles that have passed.
///
/// # Errors
/// When the image does not fit, faults, ends without printing `ok`, yields too few samples, or is still
/// running after `budget`.
pub fn measure(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    basis: Basis,
    budget: Cycles,
    advanced: impl FnMut(Cycles),
) -> Result<Measured, Failure> {
    let options = MeasureOptions { basis, ..MeasureOptions::default() };
    measure_with(soc, probed, scenario, budget, options, advanced).map(|(measured, _)| measured)
}

/// The begin and end of each sample of a run.
pub(crate) type Spans = Vec<(Cycles, Cycles)>;

/// How a scenario is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasureOptions {
    /// The unit in which spans are counted.
    pub basis: Basis,
    /// How caches are treated.
    pub caches: Caches,
    /// What is recorded besides samples.
    pub recording: Recording,
}

impl Default for MeasureOptions {
    fn default() -> Self {
        Self { basis: Basis::Cycles, caches: Caches::default(), recording: Recording::default() }
    }
}

/// How the caches and buffers of memories are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Caches {
    /// They hold whatever the program has left there.
    #[default]
    AsLeft,
    /// They are emptied at the beginning of each span.
    Emptied,
}

/// What is recorded besides samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Recording {
    /// Nothing.
    #[default]
    None,
    /// The begin and end of each sample.
    Spans,
}

/// The longest run, in cycles, that is repeated with emptied caches.
const REPEATED: Cycles = Cycles(5_000_000);

/// Returns the samples of a scenario with the caches emptied before each one. Returns `None` if the soc
/// has no cache, if the run of `measured` was long, or if this run fails: the scenario already has an
/// answer.
pub(crate) fn measure_emptied(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    measured: &Measured,
) -> Option<Samples> {
    if measured.ran > REPEATED || !soc.has_caches() {
        return None;
    }
    let options = MeasureOptions { caches: Caches::Emptied, ..MeasureOptions::default() };
    let budget = Cycles(measured.ran.0.saturating_mul(32));
    let (measured, _) = measure_with(soc, probed, scenario, budget, options, |_| {}).ok()?;
    Some(measured.samples.0)
}

/// Does what [`measure`] does in the given manner; also returns the samples' times if they are
/// recorded.
pub(crate) fn measure_with(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    budget: Cycles,
    options: MeasureOptions,
    mut advanced: impl FnMut(Cycles),
) -> Result<(Measured, Spans), Failure> {
    let id = scenario.in_firmware();
    let point = scenario.point.as_ref().map_or(0, |point| point.n);
    let again = format!("rtmark sim {} --soc {} --select {}", probed.path, soc.name, scenario.id);
    let fail = |kind, message: String, hint: &str, console: &[u8]| Failure {
        kind,
        message: format!("{message} [{}]", probed.path),
        hint: with_commands(hint, &again),
        console: visible(console),
    };
    let build = |message: String| {
        fail(
            FailureKind::Build,
            message,
            "give the scenario its probes: firmware/c/rtmark_probe.h and the crate rtmark-probe say how",
            &[],
        )
    };

    let mut session = Session::new(soc, &probed.image).map_err(|error| {
        let hint = "build the firmware for this soc, or choose another soc with --soc";
        fail(FailureKind::Load, error.to_string(), hint, &[])
    })?;
    select(&mut session.machine, &probed.image, &probed.records, &scenario.id)
        .map_err(|error| build(error.to_string()))?;
    let mut recorder = watch_probes(&mut session.machine, &probed.records, scenario, options)
        .ok_or_else(|| build(format!("scenario {id} lacks a begin or an end probe")))?;
    session.machine.watch_masks();
    let after_reset = session.machine.selected_clock();
    let mut console = Vec::new();
    let ending = session.run(budget, |machine| {
        recorder.record(machine);
        let room = CONSOLE_KEPT.saturating_sub(console.len());
        console.extend(machine.take_console().iter().take(room));
        advanced(machine.cycles());
    });

    let ending_text = match &ending {
        Ending::Internal(error) => internal_error::describe(error, &probed.image, &probed.elf),
        other => session.describe(other),
    };
    let impossible = recorder.impossible(&session.machine);
    let (pairing, spans) = recorder.finish();
    let counts_others = options.basis != Basis::Instructions;
    let executed = counts_others.then(|| InstructionCounts(pairing.executed().clone()));
    let (hits, (samples, mut unpaired)) = (pairing.hits(), pairing.finish());
    if !scenario.restarts.exceeded_by(unpaired.restarted) {
        unpaired.restarted = 0;
    }
    let progress = progress(hits, samples.len());
    if let Some(overflow) = session.stack_overflow() {
        // What came of it, such as a fault, says less.
        let hint =
            "choose a soc with more RAM, or let the program use less; `{again}` shows the same run";
        return Err(fail(FailureKind::Load, overflow, hint, &console));
    }
    if let Some((kind, hint)) = cut_short(&ending) {
        return Err(fail(kind, format!("{ending_text}; {progress}"), hint, &console));
    }
    if let Some(impossible) = impossible {
        let message =
            format!("a figure of {} that no core could achieve: {impossible}", scenario.id);
        return Err(fail(FailureKind::Internal, message, "{mistake}", &console));
    }
    let check = |message, hint| fail(FailureKind::Check, message, hint, &console);
    let verdict = verdict(id, point, &console).map_err(|verdict_text| {
        check(format!("{verdict_text} ({ending_text})"), "`{again}` shows all that it prints")
    })?;
    if matches!(ending, Ending::Exit(status) if status.0 != 0) {
        let message = format!("it printed ok, but ended with {ending_text}");
        return Err(check(message, "`{again}` shows the same run"));
    }
    let mut facts = match verdict {
        Verdict::Ok(facts) => facts,
        Verdict::Declined(reason) => return Ok((Measured::declined(reason), Spans::new())),
    };
    check_sample_count(scenario, &samples, 0, &progress).map_err(|(kind, message)| {
        fail(kind, message, "check the probes of this scenario in its source", &console)
    })?;
    facts.extend(machine_facts(&session.machine, after_reset));
    if scenario.has_too_many_lone_ends(unpaired.ends) {
        facts.insert(LONE_ENDS_FACT.to_owned(), unpaired.ends.to_string());
    }
    let (masked, ran) = (session.machine.longest_masked(), session.machine.cycles());
    Ok((
        Measured {
            samples: Exact(samples),
            executed,
            unpaired,
            facts,
            declined: None,
            masked,
            held: None,
            ran,
        },
        spans.unwrap_or_default(),
    ))
}

/// Returns what to know of a machine after the run: a clock that times do not follow, and what has no model.
fn machine_facts(machine: &Machine, after_reset: Option<Hertz>) -> Vec<(String, String)> {
    let clock = ignored_clock(machine, after_reset).map(|clock| clock.0.to_string());
    let notes = model_notes(machine);
    let without_model = (!notes.is_empty()).then(|| notes.join("; "));
    [(SELECTED_CLOCK_FACT, clock), (WITHOUT_MODEL_FACT, without_model)]
        .into_iter()
        .filter_map(|(fact, text)| Some((fact.to_owned(), text?)))
        .collect()
}

/// Describes a run's progress by how often it reached its begin and end probes.
fn progress((begins, ends): (u64, u64), samples: u64) -> String {
    match (begins, ends) {
        (0, 0) => "it never reached a probe".into(),
        (0, _) => format!("it never reached its begin probe, but its end probe {ends} times"),
        (_, 0) => format!("it reached its begin probe {begins} times, but never its end probe"),
        _ => format!("it had yielded {samples} samples"),
    }
}

/// Fills in a hint of [`cut_short`]: the command that runs the same again, and how to report a mistake.
pub(crate) fn with_commands(hint: &str, again: &str) -> String {
    hint.replace("{again}", again).replace("{mistake}", &internal_error::hint())
}

/// Returns the kind of failure that an ending amounts to, with a hint; `None` if the program ended
/// itself.
pub(crate) fn cut_short(ending: &Ending) -> Option<(FailureKind, &'static str)> {
    match ending {
        Ending::Exit(_) => None,
        Ending::Fault(_)
        | Ending::Lockup(_)
        | Ending::Breakpoint(_)
        | Ending::Reset
        | Ending::Watchdog { .. } => {
            Some((FailureKind::Fault, "`{again}` shows the same run by itself"))
        }
        Ending::Internal(_) => Some((FailureKind::Internal, "{mistake}")),
        Ending::Asleep => Some((FailureKind::Budget, "find out what it waits for with `{again}`")),
        Ending::Limit
        | Ending::Observer
        | Ending::SlowerClock
        | Ending::Output(_)
        | Ending::Other(_) => Some((
            FailureKind::Budget,
            "if it needs longer, allow more with --max-cycles; `{again}` shows the same run",
        )),
    }
}

/// Checks that there are as many samples as the catalogue asks for, counting those that the measurement
/// itself spoilt.
pub(crate) fn check_sample_count(
    scenario: &Scenario,
    samples: &Samples,
    spoilt: u64,
    progress: &str,
) -> Result<(), (FailureKind, String)> {
    if samples.is_empty() {
        return Err((
            FailureKind::Budget,
            format!("it ended without completing a span: {progress}"),
        ));
    }
    let (brought, wanted) = (samples.len(), scenario.samples);
    if brought + spoilt < wanted {
        let message = format!("it yielded {brought} samples, but the catalogue asks for {wanted}");
        return Err((FailureKind::Check, message));
    }
    Ok(())
}

/// Parses the firmware's verdict on a scenario, or returns what is wrong with it. At a point of a curve
/// the verdict must repeat the requested count as the fact `n`.
pub(crate) fn verdict(id: &ScenarioId, point: u32, console: &[u8]) -> Result<Verdict, String> {
    let text = visible(console);
    let verdict_text =
        |line: &str| line.strip_prefix(id.as_str())?.strip_prefix(' ').map(str::to_owned);
    let Some(verdict_text) = text.lines().rev().find_map(verdict_text) else {
        return Err(format!("it ended without saying `{id} ok`"));
    };
    if let Some(reason) = verdict_text.strip_prefix("n/a: ").filter(|_| point > 0) {
        return Ok(Verdict::Declined(reason.to_owned()));
    }
    let mut words = verdict_text.split(' ');
    if words.next() != Some("ok") {
        return Err(format!("it says: {verdict_text}"));
    }
    let fact = |word: &str| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    let facts: BTreeMap<_, _> = words
        .map(|word| fact(word).ok_or_else(|| format!("`{word}` is not key=value: {verdict_text}")))
        .collect::<Result<_, _>>()?;
    if point > 0 && facts.get("n") != Some(&point.to_string()) {
        return Err(format!("it does not say that it measured n={point}: {verdict_text}"));
    }
    Ok(Verdict::Ok(facts))
}

#[cfg(test)]
mod tests;
