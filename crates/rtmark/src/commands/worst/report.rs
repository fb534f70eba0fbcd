//! The findings of a search, as JSON shows them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rtmark_model::Place;
use rtmark_observe::RunClock;
use rtmark_observe::{Calls, ExceptionNames, Lines, Map, handler_note};
use rtmark_sim::{Blocker, Cycles, Instruction, Irq, Machine, Observer};
use rtmark_worst::{
    Aspect, Case, Findings, Interleaving, Latencies, Path, Reach, Stretches, Unserved, Window,
    Witness,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::replay::replay_command;
use super::subject::Subject;

/// The version of [`Document`], raised when a field changes its meaning or is removed.
pub const SCHEMA_VERSION: u32 = 1;
/// The maximum number of witnesses, each at a different place.
const WITNESSES: usize = 5;
/// The maximum number of stretches.
const STRETCHES: usize = 10;
/// The number of measurements at random moments that the search is compared with.
const MEASUREMENTS: u32 = 1000;
/// How many cycles before a witness calls are followed, to know the stack.
const FOLLOWED: u64 = 4_000_000;

/// The output of `rtmark worst --format json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    pub schema_version: u32,
    /// The program that wrote the document.
    pub generator: String,
    pub results: Vec<Found>,
}

/// The findings for one scenario of one firmware image.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    pub soc: String,
    pub core: String,
    pub image: String,
    pub elf_sha256: String,
    /// The version of the timing rules; equal versions give equal cycles.
    pub timing_model: String,
    /// The interrupt that was injected, as CMSIS numbers it: -1 is SysTick, -2 PendSV.
    #[schemars(with = "i32")]
    pub interrupt: Irq,
    /// Its priority, as stored in the priority register.
    pub priority: u8,
    /// The priority that the program assigns later, if it is a different one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_priority: Option<u8>,
    /// With --second: the other interrupt, and how the two interleaved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondReport>,
    /// The number of cycles at which the interrupt became pending; with --second, those of the earlier
    /// interrupt.
    pub points: u64,
    /// The number of windows of the run that contain these points.
    pub windows: usize,
    /// Whether all points were searched. If not, the findings cover only a part.
    pub complete: bool,
    /// The scope of the findings: exact for the path that this run takes, not a bound over all inputs.
    pub reach: &'static str,
    pub latencies: Vec<Timed>,
    /// What else to know: that times are of another clock than the program sets, or that the interrupt has no
    /// handler of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Requested latencies that have no result at any point.
    pub unanswered: Vec<Unanswered>,
    /// With --check: the number of points after which the program ran to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// With --check: the points after which the program failed.
    pub races: Vec<Race>,
    /// The longest intervals in which the interrupt was held back, by whatever cause.
    pub held_back: Vec<Stretch>,
    /// The longest interval of each cause alone: each mask register, each handler, and single
    /// instructions. It may be part of a longer interval with several causes.
    pub held_back_by_one: Vec<Stretch>,
    /// Functions of the image that no window executed. The findings do not cover them.
    pub not_executed: Vec<String>,
    /// Whether it is unknown which functions were not executed, because the image names none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub functions_unknown: bool,
}

/// The second of two interrupts, and how the two interleaved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SecondReport {
    #[schemars(with = "i32")]
    pub interrupt: Irq,
    /// Its priority, as stored in the priority register.
    pub priority: u8,
    /// The priority that the program gives it by the end of the last window, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_priority: Option<u8>,
    /// The maximum distance between the two, in cycles. If absent, they were tried up to the return of
    /// the earlier one's handler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u64>,
    /// The number of pairs of points at which the two became pending.
    pub pairs: u64,
    pub meetings: Vec<Meeting>,
}

/// The pairs in which the two interrupts interleaved in one way.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Meeting {
    /// The kind of interleaving: nested, tail_chained, late_arrival or apart.
    pub how: &'static str,
    /// The kind of interleaving, in words.
    pub text: &'static str,
    pub pairs: u64,
    /// How long each of the two waited.
    pub latencies: Vec<Timed>,
}

/// The distribution of one latency.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Timed {
    /// The latency: handler, second (the second interrupt's handler), task, resume or delay.
    pub what: &'static str,
    /// The latency, in words.
    pub text: String,
    /// The number of points with a result; with --second, the number of pairs.
    pub points: u64,
    /// The number of points without a result, because the program ended first or it took too long.
    pub missing: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_missing: Option<u64>,
    /// The reasons for missing results, each with its number of points.
    pub unserved: Vec<(String, u64)>,
    pub min: i64,
    pub p50: i64,
    pub p90: i64,
    pub p99: i64,
    pub max: i64,
    pub mean: f64,
    /// The probability that 1000 measurements at random points would have found the maximum.
    pub chance_in_1000: f64,
    /// The latencies in cycles, each with its number of points.
    pub histogram: Vec<(i64, u64)>,
    /// The number, minimum and maximum of each of the path's 480 sections that contains points.
    pub along_the_path: Vec<(u32, i64, i64)>,
    pub witnesses: Vec<WorstCase>,
}

/// A requested latency without any result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unanswered {
    /// The latency: handler, second, task, resume or delay.
    pub what: &'static str,
    /// The latency, in words.
    pub text: String,
    /// The number of points, none of which has a result.
    pub missing: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_missing: Option<u64>,
    /// The reasons for missing results, each with its number of points.
    pub unserved: Vec<(String, u64)>,
}

/// An instruction before which the interrupt makes the program fail.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Race {
    /// What failed at the first point.
    pub what: String,
    /// The first point, as a cycle since reset.
    pub point: u64,
    pub points: u64,
    pub at: Place,
    /// The call stack, outermost function first.
    pub stack: Vec<String>,
    /// The command that reproduces the failure.
    pub command: String,
}

/// A worst case in detail.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorstCase {
    pub cycles: i64,
    /// The same in nanoseconds, on the core's clock at that moment.
    pub nanoseconds: i64,
    /// The core's clock at that moment, in hertz.
    pub clock_hz: u32,
    /// The cycle since reset in which the interrupt becomes pending.
    pub point: u64,
    /// The instruction that executes at that moment.
    pub at: Place,
    /// The call stack, outermost function first: that of the task, or starting with an exception in
    /// brackets.
    pub stack: Vec<String>,
    /// What held the interrupt back and for how many cycles; instructions and exception entries that had
    /// to finish come last. The cycles add up to the time from the point until the interrupt was served.
    pub held: Vec<(String, u64)>,
    /// With --second: the other interrupt in this case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherInterrupt>,
    /// The command that reproduces the case.
    pub command: String,
}

/// The other one of two interrupts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OtherInterrupt {
    #[schemars(with = "i32")]
    pub interrupt: Irq,
    /// The cycle since reset in which it becomes pending.
    pub point: u64,
    /// The kind of interleaving: nested, tail_chained, late_arrival or apart; absent if only one of the
    /// two was served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<&'static str>,
}

/// An interval in which the interrupt was held back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stretch {
    pub cycles: u64,
    pub count: u64,
    /// The causes in the order in which they began, each with its cycles if there are several.
    pub held_by: String,
    /// The first instruction of the interval.
    pub from: Place,
    /// The first instruction before which the interrupt would have been taken; if `open`, the last one of
    /// the run.
    pub to: Place,
    /// Whether the interrupt was still held back where the run ended or was given up.
    pub open: bool,
    /// The call stack when the longest interval of this kind began, outermost function first, as far as
    /// it is known.
    pub stack: Vec<String>,
    /// When the longest interval of this kind began, in cycles since reset.
    pub began: u64,
}

/// What an interrupt waits for if nothing holds it back.
const UNINTERRUPTIBLE: &str = "instructions and entries that had to end";

/// Describes what held an interrupt back.
pub fn held_by(blocker: Blocker, names: &ExceptionNames) -> String {
    match blocker {
        Blocker::Active(exception) => format!("priority of {}", names.name(exception)),
        Blocker::Disabled => "the interrupt being disabled".into(),
        other => other.name().into(),
    }
}

/// Describes why an interrupt was not served.
fn not_served(why: Unserved, names: &ExceptionNames) -> String {
    match why {
        Unserved::Ended(Some(held)) => {
            format!("the program ended while {} held it back", held_by(held, names))
        }
        Unserved::Ended(None) => "the program ended first".into(),
        Unserved::Late => "the search gave up after too many cycles".into(),
    }
}

/// Describes addresses and exceptions with an image's symbols and lines.
pub struct Describer<'a> {
    subject: &'a Subject,
    lines: Option<Lines<'a>>,
    /// The names of exceptions when the first window starts.
    pub names: ExceptionNames,
}

/// Follows calls up to a cycle.
struct CallsUntil<'a> {
    calls: Calls<'a>,
    cycle: u64,
}

impl Observer for CallsUntil<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if machine.cycles().0 >= self.cycle {
            return ControlFlow::Break(());
        }
        self.calls.before(machine)
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.calls.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.calls.entered(machine, exception);
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.calls.returned(machine, exception);
    }
}

impl<'a> Describer<'a> {
    pub fn new(subject: &'a Subject, path: &Path) -> Self {
        let begins = path.question().windows.first().map_or(0, |window| window.from);
        let names = ExceptionNames::new(&path.at(begins), subject.image.symbols());
        Self { subject, lines: Lines::new(&subject.elf), names }
    }

    pub fn place(&self, address: u32) -> Place {
        Map::new(&self.subject.image, self.lines.as_ref()).place(address)
    }

    /// Returns the call stack in a cycle of the path, outermost function first.
    fn stack(&self, path: &Path, cycle: u64) -> Vec<String> {
        self.reach(path, cycle).1
    }

    /// Returns the machine in a cycle of the path, with its call stack, outermost function first.
    fn reach(&self, path: &Path, cycle: u64) -> (Machine, Vec<String>) {
        let mut machine = path.at(cycle.saturating_sub(FOLLOWED));
        let mut up_to = CallsUntil { calls: Calls::new(self.subject.image.symbols()), cycle };
        let _ = machine.run_observed(Cycles(cycle), &mut up_to);
        let stack = up_to.calls.stack().into_iter().map(str::to_owned).collect();
        (machine, stack)
    }

    fn with_stack(&self, path: &Path, stretch: Stretch) -> Stretch {
        Stretch { stack: self.stack(path, stretch.began), ..stretch }
    }

    /// Describes a stretch, without its stack.
    fn stretch(&self, stretches: &Stretches) -> Stretch {
        let Stretches { longest, count, is_open } = stretches;
        let by: Vec<_> = match longest.by[..] {
            [(held, _)] => vec![held_by(held, &self.names)],
            ref by => by
                .iter()
                .map(|(held, cycles)| format!("{} {cycles}", held_by(*held, &self.names)))
                .collect(),
        };
        Stretch {
            cycles: longest.cycles,
            count: *count,
            held_by: by.join(", "),
            from: self.place(longest.from),
            to: self.place(longest.to),
            open: *is_open,
            stack: Vec::new(),
            began: longest.began,
        }
    }

    fn witness(&self, path: &Path, case: Case, witness: &Witness) -> WorstCase {
        let held = witness.blockers().into_iter();
        // Started instructions and entries, including the interrupt's own, come last.
        let (by, begun): (Vec<_>, Vec<_>) = held.partition(|(held, _)| held.is_some());
        let named = |(held, cycles): (Option<Blocker>, u64)| {
            (
                held.map_or_else(|| UNINTERRUPTIBLE.to_owned(), |held| held_by(held, &self.names)),
                cycles,
            )
        };
        let held = by.into_iter().chain(begun).map(named).collect();
        let (machine, stack) = self.reach(path, witness.point);
        let clock = RunClock::of(&machine, &self.subject.image);
        let clock = clock.history.clock_at(Cycles(witness.point));
        let time = Cycles(witness.cycles.unsigned_abs()).at(clock).0;
        let nanoseconds = i64::try_from(time).unwrap_or(i64::MAX) * witness.cycles.signum();
        WorstCase {
            cycles: witness.cycles,
            nanoseconds,
            clock_hz: clock.0,
            point: witness.point,
            at: self.place(witness.interrupted().unwrap_or_default()),
            stack,
            held,
            other: witness.other.map(|(interrupt, point, how)| OtherInterrupt {
                interrupt,
                point,
                how: how.map(Interleaving::name),
            }),
            command: replay_command(self.subject, path, witness.interrupt, case),
        }
    }
}

/// Returns an interrupt's name in a text: `IRQ 8`, `SysTick`.
pub fn called(irq: Irq) -> String {
    irq.external().map_or_else(|| irq.to_string(), |number| format!("IRQ {number}"))
}

/// Describes what is timed, with the interrupts' numbers if there are two.
fn text_of(path: &Path, aspect: Aspect) -> String {
    let question = path.question();
    match (aspect, question.second) {
        (Aspect::Handler, Some(_)) => {
            format!("{}'s pend to its handler's first instruction", called(question.interrupt))
        }
        (Aspect::Second, Some(second)) => {
            format!("{}'s pend to its handler's first instruction", called(second.interrupt))
        }
        _ => aspect.text().to_owned(),
    }
}

/// Describes how two interrupts met.
fn second_report(
    describer: &Describer<'_>,
    path: &Path,
    findings: &Findings,
) -> Option<SecondReport> {
    let second = path.question().second?;
    let meeting = |how: Interleaving| {
        let of = |aspect| Some((aspect, findings.meetings.get(&(how, aspect))?));
        let latencies: Vec<_> = [Aspect::Handler, Aspect::Second]
            .into_iter()
            .filter_map(of)
            .filter_map(|(aspect, found)| timed(describer, path, aspect, found, 1))
            .collect();
        let pairs = latencies.first()?.points;
        Some(Meeting { how: how.name(), text: how.text(), pairs, latencies })
    };
    Some(SecondReport {
        interrupt: second.interrupt,
        priority: second.priority,
        later_priority: path.later_priority(second.interrupt),
        distance: second.distance,
        pairs: findings.pairs,
        meetings: Interleaving::ALL.into_iter().filter_map(meeting).collect(),
    })
}

/// Describes latencies, with up to `most` witnesses.
fn timed(
    describer: &Describer<'_>,
    path: &Path,
    aspect: Aspect,
    found: &Latencies,
    most: usize,
) -> Option<Timed> {
    let quantile = |part| found.quantile(part).unwrap_or_default();
    let worst = found.worst()?;
    let places = found.worst_places().into_iter();
    let witnesses = places.filter_map(|(_, case)| Some((case, path.witness(aspect, case)?)));
    let slices = found.slices.iter();
    Some(Timed {
        what: aspect.name(),
        text: text_of(path, aspect),
        points: found.points(),
        missing: found.missing,
        first_missing: found.first_missing,
        unserved: unserved(describer, found),
        min: found.least().unwrap_or_default(),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        max: worst.cycles,
        mean: found.mean().unwrap_or_default(),
        chance_in_1000: found.chance_of_worst(MEASUREMENTS).unwrap_or_default(),
        histogram: found.counts.iter().map(|(cycles, points)| (*cycles, *points)).collect(),
        along_the_path: slices.map(|(at, slice)| (*at, slice.least, slice.most)).collect(),
        witnesses: witnesses
            .take(most)
            .map(|(case, witness)| describer.witness(path, case, &witness))
            .collect(),
    })
}

/// Describes why points have no result.
fn unserved(describer: &Describer<'_>, found: &Latencies) -> Vec<(String, u64)> {
    let why = found.unserved.iter();
    why.map(|(why, points)| (not_served(*why, &describer.names), *points)).collect()
}

/// Describes the latencies that have no result at any point.
fn unanswered(describer: &Describer<'_>, path: &Path, findings: &Findings) -> Vec<Unanswered> {
    let requested = Aspect::ALL.into_iter().filter_map(|it| Some((it, findings.aspects.get(&it)?)));
    let never = requested.filter(|(_, found)| found.counts.is_empty() && found.missing > 0);
    let unanswered = never.map(|(aspect, found)| Unanswered {
        what: aspect.name(),
        text: text_of(path, aspect),
        missing: found.missing,
        first_missing: found.first_missing,
        unserved: unserved(describer, found),
    });
    unanswered.collect()
}

impl Found {
    pub fn new(subject: &Subject, path: &Path, findings: &Findings) -> Self {
        let describer = Describer::new(subject, path);
        let not_executed = not_executed(subject, &describer, findings);
        let question = path.question();
        let longest = findings.held.longest().into_iter().take(STRETCHES);
        let latencies = Aspect::ALL.into_iter().filter_map(|aspect| {
            timed(&describer, path, aspect, findings.aspect(aspect)?, WITNESSES)
        });
        Self {
            kernel: subject.kernel.clone(),
            scenario: subject.scenario.as_ref().map(ToString::to_string),
            soc: subject.soc.soc.name.clone(),
            core: subject.soc.soc.core.name().to_owned(),
            image: subject.path.clone(),
            elf_sha256: subject.sha256.clone(),
            timing_model: rtmark_sim::TIMING_MODEL.to_owned(),
            interrupt: question.interrupt,
            priority: question.priority,
            later_priority: path.later_priority(question.interrupt),
            second: second_report(&describer, path, findings),
            points: findings.points,
            windows: question.windows.len(),
            complete: findings.pieces.len() == path.len(),
            reach: "exact for the path that this run takes; not a bound over all inputs",
            latencies: latencies.collect(),
            notes: notes(subject, path),
            unanswered: unanswered(&describer, path, findings),
            checked: matches!(question.reach, Reach::Check { .. }).then_some(findings.checked),
            races: races(&describer, path, findings),
            held_back: longest
                .map(|interval| describer.stretch(interval))
                .enumerate()
                .map(|(rank, stretch)| match rank {
                    0..WITNESSES => describer.with_stack(path, stretch),
                    _ => stretch,
                })
                .collect(),
            held_back_by_one: held_by_one(&describer, path, findings),
            functions_unknown: not_executed.is_none(),
            not_executed: not_executed.unwrap_or_default(),
        }
    }
}

/// Returns what else to know of a search.
fn notes(subject: &Subject, path: &Path) -> Vec<String> {
    let (question, symbols) = (path.question(), subject.image.symbols());
    let ends = |which: fn(&[Window]) -> Option<&Window>| which(&question.windows).copied();
    let begin = path.at(ends(<[_]>::first).map_or(0, |window| window.from));
    let second = question.second.map(|second| second.interrupt);
    let interrupts = [question.interrupt].into_iter().chain(second);
    let handlers = interrupts.filter_map(|it| handler_note(&begin, symbols, it));
    let end = path.at(ends(<[_]>::last).map_or(0, |window| window.to));
    let clock = RunClock::of(&end, &subject.image).notes;
    let clock = clock.iter().filter(|_| !subject.soc.has_given_clock()).map(ToString::to_string);
    handlers.chain(clock).chain(rtmark_observe::model_notes(&end)).collect()
}

/// Returns the longest stretch of each cause alone, longest first.
fn held_by_one(describer: &Describer<'_>, path: &Path, findings: &Findings) -> Vec<Stretch> {
    let mut seen = BTreeSet::new();
    let longest = findings.held.longest_alone().into_iter();
    let of_each = longest.filter(|(held, _)| seen.insert(*held));
    of_each.map(|(_, interval)| describer.with_stack(path, describer.stretch(interval))).collect()
}

fn races(describer: &Describer<'_>, path: &Path, findings: &Findings) -> Vec<Race> {
    let mut failures: Vec<_> = findings.failures.iter().collect();
    failures.sort_by_key(|(_, failure)| failure.point);
    failures
        .into_iter()
        .enumerate()
        .map(|(rank, (&address, failure))| Race {
            what: failure.verdict.text(),
            point: failure.point,
            points: failure.points,
            at: describer.place(address),
            stack: if rank < WITNESSES { describer.stack(path, failure.point) } else { Vec::new() },
            command: replay_command(
                describer.subject,
                path,
                path.question().interrupt,
                Case::new(0, failure.point),
            ),
        })
        .collect()
}

/// Returns the functions of which nothing was executed: those with known source lines, or all if none has any.
/// None if the image names no functions.
fn not_executed(
    subject: &Subject,
    describer: &Describer<'_>,
    findings: &Findings,
) -> Option<Vec<String>> {
    let mut functions: Vec<_> = subject.image.symbols().functions().collect();
    let lines = describer.lines.as_ref();
    let has_lines =
        |start| lines.is_some_and(|lines: &Lines<'_>| !lines.inlined_at(start).is_empty());
    if functions.iter().any(|function| has_lines(function.start)) {
        functions.retain(|function| has_lines(function.start));
    }
    (!functions.is_empty()).then(|| {
        let rest = functions.iter().filter(|it| !findings.has_executed(it.start, it.end));
        rest.filter_map(|function| describer.place(function.start).function).collect()
    })
}
