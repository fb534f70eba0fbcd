//! What a search has found, as JSON and as text.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use rtmark_model::Place;
use rtmark_observe::{Calls, Lines, Map, exception_name};
use rtmark_runner::socs;
use rtmark_sim::{Cycles, Instruction, Machine, Observer};
use rtmark_worst::{
    Aspect, Findings, Held, Latencies, Moment, Path, Reach, SLICES, Unserved, Witness,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::subject::Subject;

/// Rises when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;
/// Witnesses of different places that are told.
const WITNESSES: usize = 5;
/// Stretches that are told.
const INTERVALS: usize = 10;
/// Measurements at random moments, to which the search is compared.
const MEASUREMENTS: u32 = 1000;
/// Functions that no window executed, of which the text names so many.
const NOT_EXECUTED: usize = 12;
/// How long before a witness calls are followed, in cycles.
const FOLLOWED: u64 = 4_000_000;

/// What `rtmark worst --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    pub schema_version: u32,
    /// The program that wrote it.
    pub generator: String,
    pub results: Vec<Found>,
}

/// What was found for one scenario of one firmware.
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
    /// The version of the timing rules: equal versions give equal cycles.
    pub timing_model: String,
    /// The external interrupt that was injected.
    pub interrupt: u16,
    /// Its priority, as the register holds it.
    pub priority: u8,
    /// Cycles in which it became pending.
    pub points: u64,
    /// Stretches of the run from which those are.
    pub windows: usize,
    /// Whether every point was searched. If not, all of the below is about a part.
    pub complete: bool,
    /// Exact for the path that this load takes, and no bound over all inputs.
    pub reach: &'static str,
    pub latencies: Vec<Timed>,
    /// With --check: points after which the program ran to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// With --check: where the program was not content afterwards.
    pub races: Vec<Race>,
    /// The longest stretches in which the interrupt was held back.
    pub held_back: Vec<Stretch>,
    /// Functions of the image that no window executed, so that nothing is known of them.
    pub not_executed: Vec<String>,
}

/// One thing that was timed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Timed {
    /// handler, task, resume or delay.
    pub what: &'static str,
    /// The same in words.
    pub text: &'static str,
    pub points: u64,
    /// Points without an answer: the program ended before, or it took too long.
    pub missing: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_missing: Option<u64>,
    /// Why points have no answer, and how many.
    pub unserved: Vec<(String, u64)>,
    pub min: i64,
    pub p50: i64,
    pub p90: i64,
    pub p99: i64,
    pub max: i64,
    pub mean: f64,
    /// How likely 1000 measurements at random moments would have met the maximum.
    pub chance_in_1000: f64,
    /// Cycles, and how many points took so many.
    pub histogram: Vec<(i64, u64)>,
    /// Of each of the path's 480 slices that has points: its number, the least, the most.
    pub along_the_path: Vec<(u32, i64, i64)>,
    pub witnesses: Vec<Told>,
}

/// An instruction before which the interrupt does harm.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Race {
    /// What was wrong at the first point.
    pub what: String,
    /// The first point: a cycle since reset.
    pub point: u64,
    pub points: u64,
    pub at: Place,
    /// The functions that have called each other up to there, the outermost first.
    pub stack: Vec<String>,
    /// Runs it again.
    pub command: String,
}

/// A worst case with all that is known of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Told {
    pub cycles: i64,
    /// The cycle since reset in which the interrupt becomes pending.
    pub point: u64,
    /// The instruction that executes then.
    pub at: Place,
    /// The functions that have called each other up to there, the outermost first: the task's
    /// own, or an exception in brackets.
    pub stack: Vec<String>,
    /// What held it back and for how many cycles; instructions and entries that had to end are
    /// the rest.
    pub held: Vec<(String, u64)>,
    /// Runs it again.
    pub command: String,
}

/// A stretch in which the interrupt was held back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stretch {
    pub cycles: u64,
    pub count: u64,
    pub held_by: String,
    /// The first instruction during which it was.
    pub from: Place,
    /// The first one before which it would have been taken again.
    pub to: Place,
    /// The functions that had called each other when the longest of its kind began, as far as
    /// they were followed.
    pub stack: Vec<String>,
    /// When that was.
    pub began: u64,
}

/// What held an interrupt back, in words.
pub fn held_by(held: Held) -> String {
    match held {
        Held::Primask => "PRIMASK".into(),
        Held::Faultmask => "FAULTMASK".into(),
        Held::Basepri => "BASEPRI".into(),
        Held::Priority(exception) => format!("priority of {}", exception_name(exception)),
        Held::Disabled => "the interrupt being disabled".into(),
    }
}

/// Why an interrupt was not served, in words.
fn not_served(why: Unserved) -> String {
    match why {
        Unserved::Ended(Some(held)) => {
            format!("the program ended while {} held it back", held_by(held))
        }
        Unserved::Ended(None) => "the program ended before".into(),
        Unserved::Late => "it was given up after too many cycles".into(),
    }
}

/// Tells addresses in the words of an image.
pub struct Words<'a> {
    subject: &'a Subject,
    lines: Option<Lines<'a>>,
}

/// Follows calls up to a cycle.
struct UpTo<'a> {
    calls: Calls<'a>,
    cycle: u64,
}

impl Observer for UpTo<'_> {
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

impl<'a> Words<'a> {
    pub fn new(subject: &'a Subject) -> Self {
        Self { subject, lines: Lines::new(&subject.elf) }
    }

    pub fn place(&self, address: u32) -> Place {
        Map::new(&self.subject.image, self.lines.as_ref()).place(address)
    }

    /// The calls under way in a cycle of the path, the outermost first.
    fn stack(&self, path: &Path, cycle: u64) -> Vec<String> {
        let mut machine = path.at(cycle.saturating_sub(FOLLOWED));
        let mut up_to = UpTo { calls: Calls::new(self.subject.image.symbols()), cycle };
        let _ = machine.run_observed(Cycles(cycle), &mut up_to);
        up_to.calls.stack().into_iter().map(str::to_owned).collect()
    }

    fn told(&self, path: &Path, witness: &Witness) -> Told {
        let address = witness.steps.iter().find_map(|step| match step.moment {
            Moment::Instruction(address) => Some(address),
            _ => None,
        });
        let held = witness.holders().into_iter();
        let held = held.filter_map(|(held, cycles)| Some((held_by(held?), cycles))).collect();
        Told {
            cycles: witness.cycles,
            point: witness.point,
            at: self.place(address.unwrap_or_default()),
            stack: self.stack(path, witness.point),
            held,
            command: replay(self.subject, path, witness.point).join(" "),
        }
    }
}

/// The arguments of `rtmark` that run a point again.
pub fn replay(subject: &Subject, path: &Path, point: u64) -> Vec<String> {
    let question = path.question();
    let number = u32::from(question.interrupt);
    let enable = 0xE000_E100 + number / 32 * 4;
    let priority = 0xE000_E400 + number / 4 * 4;
    let mut words = vec!["sim".to_owned(), subject.path.clone()];
    // A built-in soc goes by its name: its file may be nowhere near.
    let known = socs::find(&subject.soc.soc.name);
    let built_in = known.is_ok_and(|known| known.sha256 == subject.soc.sha256);
    let soc = if built_in { &subject.soc.soc.name } else { &subject.soc.origin };
    words.extend(["--soc".to_owned(), soc.clone()]);
    words.extend(subject.scenario.iter().map(|id| format!("--select={id}")));
    words.push(format!("--set={enable:#x}={:#x}", 1_u32 << (number % 32)));
    words.push(format!(
        "--set={priority:#x}={:#x}",
        u32::from(question.priority) << (number % 4 * 8)
    ));
    words.push(format!("--irq={number}@{point}"));
    words
}

fn timed(words: &Words<'_>, path: &Path, aspect: Aspect, found: &Latencies) -> Option<Timed> {
    let quantile = |part| found.quantile(part).unwrap_or_default();
    let worst = found.worst()?;
    let places = found.worst_places().into_iter();
    let witnesses = places.filter_map(|(_, case)| path.witness(aspect, case.point));
    let slices = found.slices.iter();
    Some(Timed {
        what: aspect.name(),
        text: aspect.text(),
        points: found.points(),
        missing: found.missing,
        first_missing: found.first_missing,
        unserved: found.unserved.iter().map(|(why, points)| (not_served(*why), *points)).collect(),
        min: found.least().unwrap_or_default(),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        max: worst.cycles,
        mean: found.mean().unwrap_or_default(),
        chance_in_1000: found.chance_of_worst(MEASUREMENTS).unwrap_or_default(),
        histogram: found.counts.iter().map(|(cycles, points)| (*cycles, *points)).collect(),
        along_the_path: slices.map(|(at, slice)| (*at, slice.least, slice.most)).collect(),
        witnesses: witnesses.take(WITNESSES).map(|witness| words.told(path, &witness)).collect(),
    })
}

impl Found {
    pub fn new(subject: &Subject, path: &Path, findings: &Findings) -> Self {
        let words = Words::new(subject);
        let question = path.question();
        let intervals = findings.longest_intervals().into_iter().take(INTERVALS);
        let latencies = Aspect::ALL
            .into_iter()
            .filter_map(|aspect| timed(&words, path, aspect, findings.aspect(aspect)?));
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
            points: findings.points,
            windows: question.windows.len(),
            complete: findings.pieces.len() == path.len(),
            reach: "exact for the path that this load takes; no bound over all inputs",
            latencies: latencies.collect(),
            checked: (question.reach == Reach::Check).then_some(findings.checked),
            races: races(&words, path, findings),
            held_back: intervals
                .enumerate()
                .map(|(rank, interval)| Stretch {
                    stack: if rank < WITNESSES {
                        words.stack(path, interval.began)
                    } else {
                        Vec::new()
                    },
                    cycles: interval.cycles,
                    count: interval.count,
                    held_by: held_by(interval.held),
                    from: words.place(interval.from),
                    to: words.place(interval.to),
                    began: interval.began,
                })
                .collect(),
            not_executed: not_executed(subject, &words, findings),
        }
    }

    /// The heading of it.
    pub fn title(&self) -> String {
        let name = match (&self.kernel, &self.scenario) {
            (Some(kernel), Some(scenario)) => format!("{kernel} {scenario}"),
            (_, Some(scenario)) => format!("{} {scenario}", self.image),
            _ => self.image.clone(),
        };
        format!("{name} on {} ({})", self.soc, self.core)
    }

    /// All of it in words.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let part = if self.complete { "every one of them" } else { "INCOMPLETE: a part of them" };
        let _ = writeln!(
            text,
            "{} · interrupt {} at priority {:#04x} · {} points in {} window{}, {part}",
            self.title(),
            self.interrupt,
            self.priority,
            self.points,
            self.windows,
            if self.windows == 1 { "" } else { "s" },
        );
        let _ = writeln!(
            text,
            "\n{:<46}{:>7}{:>7}{:>7}{:>7}{:>7}  1000 random tries meet it",
            "cycles", "min", "p50", "p90", "p99", "max"
        );
        for timed in &self.latencies {
            let _ = writeln!(
                text,
                "{:<46}{:>7}{:>7}{:>7}{:>7}{:>7}  {:>6.2} %",
                timed.text,
                timed.min,
                timed.p50,
                timed.p90,
                timed.p99,
                timed.max,
                timed.chance_in_1000 * 100.0
            );
            if timed.missing > 0 {
                let first = timed.first_missing.unwrap_or_default();
                let points = timed.missing;
                let why = timed.unserved.iter();
                let why: Vec<_> = why.map(|(why, points)| format!("; at {points} {why}")).collect();
                let _ = writeln!(
                    text,
                    "    no answer at {points} points, the first in cycle {first}{}",
                    why.concat()
                );
            }
        }
        if let Some(checked) = self.checked {
            let _ = match self.races.len() {
                0 => writeln!(
                    text,
                    "\nno race: the program ended well after each of {checked} points"
                ),
                places => {
                    let points: u64 = self.races.iter().map(|race| race.points).sum();
                    writeln!(
                        text,
                        "\nRACES: {points} of {checked} points do harm, at {places} places"
                    )
                }
            };
            for race in self.races.iter().take(INTERVALS) {
                let _ = writeln!(
                    text,
                    "  {}: pended in cycle {} before {:#010x} {}, {} points",
                    race.what, race.point, race.at.address, race.at, race.points
                );
                if !race.stack.is_empty() {
                    let _ = writeln!(text, "        in   {}", race.stack.join(" > "));
                }
            }
        }
        for timed in &self.latencies {
            let _ = writeln!(text, "\n{}, along the path (most of each part)", timed.text);
            let _ = writeln!(text, "  {}", spark(&timed.along_the_path));
            for (rank, told) in timed.witnesses.iter().enumerate().take(3) {
                told.write(&mut text, if rank == 0 { "worst" } else { "next " });
            }
        }
        if !self.held_back.is_empty() {
            let _ = writeln!(text, "\nlongest held back");
            for stretch in &self.held_back {
                let _ = writeln!(
                    text,
                    "{:>7} cycles by {}, {} time{}: from {} to {}",
                    stretch.cycles,
                    stretch.held_by,
                    stretch.count,
                    if stretch.count == 1 { "" } else { "s" },
                    stretch.from,
                    stretch.to
                );
                if !stretch.stack.is_empty() {
                    let _ = writeln!(text, "        in   {}", stretch.stack.join(" > "));
                }
            }
        }
        let _ = writeln!(
            text,
            "\n{}; {} functions of the image were not executed in it",
            self.reach,
            self.not_executed.len()
        );
        let (told, rest) = self.not_executed.split_at(self.not_executed.len().min(NOT_EXECUTED));
        if !told.is_empty() {
            let more = if rest.is_empty() { "" } else { ", ... (all of them in --format json)" };
            let _ = writeln!(text, "  {}{more}", told.join(", "));
        }
        text
    }
}

impl Told {
    fn write(&self, text: &mut String, word: &str) {
        let _ = writeln!(
            text,
            "  {word} {} cycles: pended in cycle {} at {:#010x} {}",
            self.cycles, self.point, self.at.address, self.at
        );
        if !self.stack.is_empty() {
            let _ = writeln!(text, "        in   {}", self.stack.join(" > "));
        }
        if !self.held.is_empty() {
            let held: Vec<_> =
                self.held.iter().map(|(what, cycles)| format!("{what} {cycles}")).collect();
            let _ = writeln!(text, "        held by {}", held.join(", "));
        }
    }
}

fn races(words: &Words<'_>, path: &Path, findings: &Findings) -> Vec<Race> {
    let mut failures: Vec<_> = findings.failures.iter().collect();
    failures.sort_by_key(|(_, failure)| failure.point);
    failures
        .into_iter()
        .enumerate()
        .map(|(rank, (&address, failure))| Race {
            what: failure.verdict.text(),
            point: failure.point,
            points: failure.points,
            at: words.place(address),
            stack: if rank < WITNESSES { words.stack(path, failure.point) } else { Vec::new() },
            command: replay(words.subject, path, failure.point).join(" "),
        })
        .collect()
}

/// A path as a line of blocks, each the most of its part.
fn spark(path: &[(u32, i64, i64)]) -> String {
    const WIDTH: u64 = 80;
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = path.iter().map(|(_, _, most)| *most).max().unwrap_or(1).max(1);
    let mut line = vec![None; WIDTH as usize];
    for (slice, _, value) in path {
        let at = (u64::from(*slice) * WIDTH / SLICES).min(WIDTH - 1) as usize;
        line[at] = line[at].max(Some(*value));
    }
    line.into_iter()
        .map(|value: Option<i64>| match value {
            Some(value) => BLOCKS[(value.max(0) * 7 / most).clamp(0, 7) as usize],
            None => ' ',
        })
        .collect()
}

/// Functions whose source lines are known and of which nothing was executed.
fn not_executed(subject: &Subject, words: &Words<'_>, findings: &Findings) -> Vec<String> {
    let symbols = subject.image.symbols();
    let mut starts: Vec<u32> = symbols.iter().map(|(address, _)| address & !1).collect();
    starts.dedup();
    let ends = starts.iter().skip(1).copied();
    let functions = starts.iter().copied().zip(ends);
    functions
        .filter(|(from, _)| {
            words.lines.as_ref().is_some_and(|lines| !lines.inlined_at(*from).is_empty())
        })
        .filter(|(from, to)| !findings.has_executed(*from, *to))
        .filter_map(|(from, _)| words.place(from).function)
        .collect()
}
