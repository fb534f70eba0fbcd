//! A plan as an HTML page: a timeline of each task's longest response, and the composition of its
//! bound.
//!
//! The page is a single file without scripts; its charts use the page's colours and follow its
//! theme.

mod curves;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::answer::{Document, KernelPlan, TaskPlan, TaskRun, WitnessPlan};
use crate::term::{Kind, Term};
use crate::timeline::{Actor, Timeline};

const STYLE: &str = include_str!("page.css");

/// Width of charts in their own units; the page scales them.
const WIDTH: f64 = 1000.0;
/// Left end of the time axis; lane labels are to its left.
const LEFT: f64 = 110.0;
/// Most letters of a label that begin right of the picture's edge.
const LABEL: usize = 17;
/// Right end of the time axis.
const RIGHT: f64 = WIDTH - 16.0;
/// Distance between lanes.
const LANE: f64 = 24.0;
/// Height of a bar in a lane.
const BAR: f64 = 15.0;
/// Least width of a bar, so that it stays visible.
const LEAST: f64 = 0.6;

/// Colours of a page, by what the time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Own,
    Before,
    Blocking,
    Kernel,
    Held,
    Lock,
    Interrupt,
    Earlier,
}

impl Colour {
    const ALL: [Self; 8] = [
        Self::Own,
        Self::Before,
        Self::Blocking,
        Self::Interrupt,
        Self::Kernel,
        Self::Held,
        Self::Lock,
        Self::Earlier,
    ];

    const fn class(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Before => "before",
            Self::Blocking => "blocking",
            Self::Kernel => "kernel",
            Self::Held => "held",
            Self::Lock => "lock",
            Self::Interrupt => "interrupt",
            Self::Earlier => "earlier",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Own => "the task itself",
            Self::Before => "other tasks",
            Self::Blocking => "blocking by locks",
            Self::Kernel => "the kernel: ticks, alarms, switches",
            Self::Held => "held back by the kernel",
            Self::Lock => "locks and messages",
            Self::Interrupt => "interrupts",
            Self::Earlier => "earlier jobs and late releases",
        }
    }

    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Work => Self::Own,
            Kind::Preemption | Kind::Turns => Self::Before,
            Kind::Blocking => Self::Blocking,
            Kind::HeldBack => Self::Held,
            Kind::Tick | Kind::Release | Kind::Start | Kind::End => Self::Kernel,
            Kind::Lock | Kind::Message => Self::Lock,
            Kind::Interrupt => Self::Interrupt,
            Kind::Earlier | Kind::Jitter | Kind::BeforeRelease => Self::Earlier,
        }
    }
}

/// Maps cycles to x coordinates of a chart.
struct Scale {
    from: f64,
    width: f64,
}

impl Scale {
    /// Creates a scale for an interval, in cycles relative to a job's release.
    fn new(from: f64, until: f64) -> Self {
        Self { from, width: (until - from).max(1.0) }
    }

    fn at(&self, cycles: f64) -> f64 {
        let share = ((cycles - self.from) / self.width).clamp(0.0, 1.0);
        LEFT + share * (RIGHT - LEFT)
    }

    /// Returns axis ticks at round numbers of microseconds: their cycles and labels.
    fn ticks(&self, clock_hz: u64) -> Vec<(f64, String)> {
        let micro = clock_hz.max(1) as f64 / 1e6;
        let rough = self.width / micro / 8.0;
        let decade = 10_f64.powf(rough.max(1e-3).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|it| it * decade).into_iter();
        let step = step.filter(|step| *step >= rough).fold(10.0 * decade, f64::min);
        let first = (self.from / micro / step).ceil() as i64;
        let last = ((self.from + self.width) / micro / step).floor() as i64;
        let tick = |number: i64| {
            let value = number as f64 * step;
            (value * micro, format!("{}", (value * 1000.0).round() / 1000.0))
        };
        (first..=last).map(tick).collect()
    }
}

/// Formats a coordinate.
fn place(value: f64) -> String {
    format!("{value:.1}")
}

fn rect(class: &str, x: f64, y: f64, width: f64, height: f64, title: &str) -> Markup {
    html! {
        rect class=(class) x=(place(x)) y=(place(y)) width=(place(width.max(LEAST)))
            height=(place(height)) {
            @if !title.is_empty() { title { (title) } }
        }
    }
}

fn line(class: &str, x: f64, top: f64, bottom: f64) -> Markup {
    html! { line class=(class) x1=(place(x)) x2=(place(x)) y1=(place(top)) y2=(place(bottom)) {} }
}

fn words(class: &str, x: f64, y: f64, anchor: &str, text: &str) -> Markup {
    html! { text class=(class) x=(place(x)) y=(place(y)) text-anchor=(anchor) { (text) } }
}

/// Returns the label of a lane: its task's name, cut to what fits.
fn lane_label(name: &str) -> String {
    let cut = name.chars().nth(LABEL).is_some();
    let end = if cut { "\u{2026}" } else { "" };
    name.chars().take(if cut { LABEL - 1 } else { LABEL }).chain(end.chars()).collect()
}

fn axis(scale: &Scale, clock_hz: u64, top: f64, bottom: f64) -> Markup {
    html! {
        @for (at, text) in scale.ticks(clock_hz) {
            (line("rule", scale.at(at), top, bottom))
            (words("aside", scale.at(at), bottom + 13.0, "middle", &text))
        }
        (words("aside", LEFT - 8.0, bottom + 13.0, "end", "µs"))
    }
}

impl Document {
    /// Renders the plan as a self-contained HTML page.
    pub fn page(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width,initial-scale=1";
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; style-src 'unsafe-inline'";
                    title { "rtmark plan: " (self.file) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { (self.file) " on " (self.soc) }
                    p.aside {
                        "At " (self.clock_hz as f64 / 1e6) " MHz; made by " (self.generator)
                        ". A response counts from the cycle in which what releases the job becomes \
                         pending to the job's last instruction."
                    }
                    @for plan in &self.kernels { (plan.section(self.clock_hz)) }
                    (curves::breakdown(&self.kernels))
                }
            }
        };
        page.into_string()
    }
}

impl KernelPlan {
    fn section(&self, clock_hz: u64) -> Markup {
        let runs = self.run.iter().flat_map(|run| &run.tasks);
        let not_run = self.run.as_ref().and_then(|run| run.not_run.as_ref());
        html! {
            h2 { (self.kernel) " " (self.version) ": " (self.verdict.name()) }
            p { (self.profile) "; " (self.order) "; load "
                (format!("{:.1} %", self.utilisation_percent))
                @if let Some(share) = self.breakdown_percent {
                    ", by bounds up to " (format!("{share:.1} %"))
                }
                @if let Some(share) = self.run.as_ref().and_then(|run| run.breakdown_percent) {
                    ", in runs up to " (format!("{share:.1} %"))
                }
                "."
            }
            @for note in &self.notes { p { (note) } }
            p { "Verdict and bounds rest on costs " (self.costs_of.description()) "." }
            @if let Some(wake) = self.run.as_ref().and_then(|run| run.wake) {
                p { (wake.sentence(self.utilisation_percent)) }
            }
            @for queue in self.run.iter().flat_map(|run| &run.queues) {
                p { (queue.sentence()) }
            }
            @if let Some(why) = not_run { p { "Not run: " (why) "." } }
            ul.legend {
                @for colour in Colour::ALL {
                    li { i class=(colour.class()) {} (colour.name()) }
                }
            }
            @if not_run.is_some() || self.run.is_none() {
                @for task in &self.tasks { (self.task(task, None, clock_hz)) }
            } @else {
                @for (task, run) in self.tasks.iter().zip(runs) {
                    (self.task(task, Some(run), clock_hz))
                }
            }
        }
    }

    fn task(&self, task: &TaskPlan, run: Option<&TaskRun>, clock_hz: u64) -> Markup {
        let micros = |cycles: u64| format!("{:.1} µs", cycles as f64 * 1e6 / clock_hz as f64);
        let suite = self.of_suite.iter().flat_map(|suite| &suite.tasks);
        let suite = suite.into_iter().find(|suite| suite.name == task.name);
        let drawn = run.and_then(|run| Some((run.witness.as_ref()?, run.timeline.as_ref()?)));
        html! {
            h3 { (task.name) }
            p {
                "Deadline " (micros(task.deadline))
                @if let Some(response) = task.response { ", bound " (micros(response)) }
                @if let Some(why) = &task.no_bound { ", no bound: " (why) }
                @if let Some(run) = run {
                    ", longest of " (run.jobs) " jobs " (micros(run.longest))
                }
                "."
            }
            @if let Some((witness, timeline)) = drawn {
                (self.gantt(task, witness, timeline, clock_hz))
            }
            (bars(task, suite, run, clock_hz))
            @if !task.terms.is_empty() { (terms(&task.terms)) }
        }
    }

    /// Draws what ran: a lane per task, the most urgent at the top, and one for handlers.
    fn gantt(
        &self,
        task: &TaskPlan,
        witness: &WitnessPlan,
        timeline: &Timeline,
        clock_hz: u64,
    ) -> Markup {
        let since = |cycle: u64| cycle as f64 - witness.released as f64;
        let scale = Scale::new(since(timeline.from), since(timeline.until));
        let mut lanes: Vec<&TaskPlan> = self.tasks.iter().collect();
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.priority));
        let lane = |who: &Actor| match who {
            Actor::Task(name) => lanes.iter().position(|lane| lane.name == *name).map(|at| at + 1),
            Actor::Interrupt(_) | Actor::Clock => Some(0),
        };
        let top = |at: usize| 6.0 + at as f64 * LANE;
        let bottom = top(lanes.len() + 1);
        let deadline = task.deadline as f64;
        let label = format!("Who ran in the longest response of {}", task.name);
        html! {
            figure {
                svg viewBox=(format!("0 0 {WIDTH} {}", bottom + 20.0)) role="img" aria-label=(label) {
                    (rect("span", scale.at(0.0), 2.0,
                        scale.at(since(witness.ended)) - scale.at(0.0), bottom - 2.0, ""))
                    (axis(&scale, clock_hz, 2.0, bottom))
                    (words("", LEFT - 8.0, top(0) + 12.0, "end", "handlers"))
                    @for (at, lane) in (1..).zip(&lanes) {
                        (words("", LEFT - 8.0, top(at) + 12.0, "end", &lane_label(&lane.name)))
                    }
                    @for ran in &timeline.ran {
                        @if let Some(at) = lane(&ran.who) {
                            @let (from, until) = (scale.at(since(ran.from)), scale.at(since(ran.until)));
                            (rect(colour(&ran.who, &task.name).class(), from, top(at), until - from,
                                BAR, &slice_title(&ran.who, ran.from, ran.until, ran.lock.as_deref(), witness)))
                            @if ran.lock.is_some() {
                                line.holds x1=(place(from)) x2=(place(until))
                                    y1=(place(top(at) + BAR)) y2=(place(top(at) + BAR)) {}
                            }
                        }
                    }
                    @for release in &timeline.releases {
                        @if let Some(at) = lane(&Actor::Task(release.task.clone())) {
                            (line("release", scale.at(since(release.at)), top(at) - 4.0, top(at) + BAR))
                        }
                    }
                    @if deadline < since(timeline.until) {
                        (line("deadline", scale.at(deadline), 2.0, bottom))
                    }
                }
                figcaption.aside {
                    "Job " (witness.job) ", released in cycle " (witness.released) "; upright lines are \
                     releases, underlined is who holds a lock."
                }
            }
        }
    }
}

fn colour(who: &Actor, own: &str) -> Colour {
    match who {
        Actor::Task(name) if name == own => Colour::Own,
        Actor::Task(_) => Colour::Before,
        Actor::Interrupt(_) => Colour::Interrupt,
        Actor::Clock => Colour::Kernel,
    }
}

fn name(who: &Actor) -> &str {
    match who {
        Actor::Task(name) | Actor::Interrupt(name) => name,
        Actor::Clock => "the timer's handler",
    }
}

fn slice_title(
    who: &Actor,
    from: u64,
    until: u64,
    lock: Option<&str>,
    witness: &WitnessPlan,
) -> String {
    let holding = lock.map_or_else(String::new, |lock| format!(", holding {lock}"));
    let after = from as i64 - witness.released as i64;
    format!("{}{holding}: {} cycles, from {after} on", name(who), until - from)
}

/// The pieces of a bar: colour, tooltip and cycles.
type Pieces = Vec<(Colour, String, f64)>;

/// Draws the composition of the bounds and of the longest run as bars.
fn bars(task: &TaskPlan, suite: Option<&TaskPlan>, run: Option<&TaskRun>, clock_hz: u64) -> Markup {
    let mut rows: Vec<(&str, Pieces, f64)> = Vec::new();
    let mut add = |name, terms: &[Term]| {
        if !terms.is_empty() {
            let before = terms.iter().filter(|term| term.cycles < 0);
            let before: f64 = before.map(|term| -(term.cycles as f64)).sum();
            rows.push((name, pieces(terms), before));
        }
    };
    add("bound", &task.terms);
    add("suite's costs", suite.map_or(&[], |suite| &suite.terms));
    if let Some((witness, timeline)) =
        run.and_then(|it| it.witness.as_ref().zip(it.timeline.as_ref()))
    {
        rows.push(("longest run", shares(&task.name, witness, timeline), 0.0));
    }
    if rows.is_empty() {
        return html! {};
    }
    let ends = rows.iter().map(|(_, pieces, before)| {
        pieces.iter().map(|(_, _, cycles)| cycles).sum::<f64>() - before
    });
    let longest = ends.fold(0.0, f64::max);
    let earliest = rows.iter().map(|(_, _, before)| *before).fold(0.0, f64::max);
    let deadline = task.deadline as f64;
    // A distant deadline would leave too little room for the bars.
    let near = deadline < 2.0 * longest;
    let scale = Scale::new(-earliest, if near { longest.max(deadline) } else { longest } * 1.02);
    let bottom = 6.0 + rows.len() as f64 * LANE;
    html! {
        figure {
            svg viewBox=(format!("0 0 {WIDTH} {}", bottom + 20.0)) role="img"
                aria-label=(format!("What the bound of {} is made of", task.name)) {
                (axis(&scale, clock_hz, 2.0, bottom))
                @for (at, (name, pieces, before)) in rows.iter().enumerate() {
                    @let top = 6.0 + at as f64 * LANE;
                    (words("", LEFT - 8.0, top + 12.0, "end", name))
                    @for (at, (colour, what, cycles)) in pieces.iter().enumerate() {
                        @let from = pieces[..at].iter().map(|(_, _, cycles)| cycles).sum::<f64>() - before;
                        @let (x, end) = (scale.at(from), scale.at(from + cycles));
                        (rect(colour.class(), x, top, end - x, BAR, &format!("{what}: {cycles} cycles")))
                    }
                }
                @if near { (line("deadline", scale.at(deadline), 2.0, bottom)) }
            }
        }
    }
}

/// Returns the terms of a bound as pieces, grouped by colour.
fn pieces(terms: &[Term]) -> Pieces {
    let of = |colour: Colour| {
        let own = terms.iter().filter(move |term| Colour::of(term.kind) == colour);
        own.filter(|term| term.cycles > 0).map(move |term| {
            (colour, format!("{}, {}", term.kind.name(), term.of), term.cycles as f64)
        })
    };
    Colour::ALL.into_iter().flat_map(of).collect()
}

/// Returns how a run's cycles were spent between a release and the end of its job, as pieces.
fn shares(own: &str, witness: &WitnessPlan, timeline: &Timeline) -> Pieces {
    let within = Timeline {
        ran: timeline
            .ran
            .iter()
            .filter(|ran| ran.until > witness.released && ran.from < witness.ended)
            .map(|ran| {
                let mut ran = ran.clone();
                ran.from = ran.from.max(witness.released);
                ran.until = ran.until.min(witness.ended);
                ran
            })
            .collect(),
        ..timeline.clone()
    };
    let shares = within.shares();
    let known: u64 = shares.iter().map(|(_, cycles)| cycles).sum();
    let rest = (witness.ended - witness.released).saturating_sub(known);
    let piece =
        |(who, cycles): &(Actor, u64)| (colour(who, own), name(who).to_owned(), *cycles as f64);
    let mut pieces: Vec<_> = shares.iter().map(piece).collect();
    pieces.push((Colour::Kernel, "the kernel".to_owned(), rest as f64));
    let order = |colour: Colour| Colour::ALL.iter().position(|it| *it == colour);
    pieces.sort_by_key(|(colour, _, _)| order(*colour));
    pieces
}

fn terms(terms: &[Term]) -> Markup {
    html! {
        details {
            summary.aside { "The bound's terms" }
            table {
                tr { th { "term" } th { "of" } th.number { "each" } th.number { "times" }
                    th.number { "cycles" } th { "source" } }
                @for term in terms {
                    tr {
                        td { (term.kind.name()) } td { (term.of) } td.number { (term.each) }
                        td.number { (term.times) } td.number { (term.cycles) } td { (term.source) }
                    }
                }
            }
        }
    }
}
