//! Recipes: which scenarios measure which cost, and how their samples combine into it.

use crate::blocking::Protocol;
use crate::costs::{Cost, Costs, Figure, Missing};
use crate::model::{Model, Order, Timer};
use crate::set::{Release, Set, Task};

/// The samples of a scenario over all measured code layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// The least sample.
    pub least: u64,
    /// The largest sample.
    pub worst: u64,
    /// The number of samples.
    pub samples: u64,
}

/// The points at which growth curves are measured.
const POINTS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How many of these points at least the cost of one more released task is computed from.
const LEAST_RELEASED: usize = 4;

/// How a cost is computed from scenarios.
enum Recipe {
    /// The largest sample of one scenario.
    One(String),
    /// The largest sample of several scenarios.
    Most(Vec<&'static str>),
    /// The sum of the largest samples of two scenarios.
    Sum(&'static str, &'static str),
    /// The largest sample of the first, minus the least of the second, plus the largest of the
    /// third.
    Less(&'static str, &'static str, &'static str),
    /// The largest sample of the first minus the least of the second.
    Without(&'static str, &'static str),
    /// Zero, with the reason.
    Nothing(&'static str),
    /// The steepest rise per task between adjacent points of a curve, of these.
    Rise(&'static str, &'static [u64]),
    /// Not available for this kernel, with the reason.
    None(String),
}

fn recipe(model: &Model, set: &Set, cost: Cost) -> Recipe {
    let one = |id: &str| Recipe::One(id.to_owned());
    let ticks = model.timer == Timer::Tick;
    let locks = set.tasks.iter().any(|task| !task.sections.is_empty());
    let semaphores = model.kernel == "freertos";
    let loops = model.order == Order::Fifo;
    match cost {
        Cost::Tick if ticks => one("timer.tick"),
        Cost::Tick => one("growth.tick.due.1"),
        // Up to as many as a tick may release: it may rise more steeply there.
        Cost::Release => {
            let is_clocked = |task: &&Task| task.release == Release::Clock;
            let tasks = set.tasks.iter().filter(is_clocked).count() as u64;
            match POINTS.iter().position(|point| *point >= tasks) {
                Some(at) => Recipe::Rise("growth.tick.due", &POINTS[..LEAST_RELEASED.max(at + 1)]),
                None => Recipe::None(format!("growth.tick.due has no point for {tasks} tasks")),
            }
        }
        // A task preempted within its waiting call yields once more when it resumes.
        Cost::Start if ticks && model.order.takes_turns() => {
            Recipe::Without("timer.wake", "timer.tick")
        }
        Cost::Start if ticks => Recipe::Less("timer.wake", "timer.tick", "thread.yield.alone"),
        Cost::Start => one("timer.wake"),
        // A closure that ends does not wait: timers and signals enqueue it again.
        Cost::End | Cost::Wait if loops => one("thread.end"),
        Cost::End => {
            let tasks = set.tasks.len() as u64;
            match POINTS.iter().find(|point| **point >= tasks) {
                Some(point) => Recipe::One(format!("growth.delay.delayed.{point}")),
                None => {
                    Recipe::None(format!("growth.delay.delayed has no point for {tasks} tasks"))
                }
            }
        }
        Cost::Wait if semaphores => one("semaphore.take.blocking"),
        Cost::Wait => one("notify.take.blocking"),
        // A round that polls no task: the work of polled tasks is not a cost of the kernel.
        Cost::HeldBack if model.order == Order::Rounds => one("timer.idle"),
        Cost::HeldBack => {
            let mut all = vec!["load.held.may_call"];
            // A suspended scheduler delays what a mask does not.
            if model.protocol == Protocol::Inheritance && locks {
                all.extend(["mutex.lock.blocking", "mutex.unlock.wake+ctx"]);
            }
            // No masked stretch of a call is longer than the whole call.
            if set.tasks.iter().any(|task| task.sends + task.looks > 0) {
                all.extend(["queue.send.immediate", "queue.receive.immediate"]);
            }
            Recipe::Most(all)
        }
        Cost::Lock if loops => {
            Recipe::Nothing("closures run to completion: there is no lock to take")
        }
        Cost::Lock => Recipe::Sum("mutex.lock.immediate", "mutex.unlock.immediate"),
        Cost::Contended => Recipe::Sum("mutex.lock.blocking", "mutex.unlock.wake+ctx"),
        Cost::Interrupt => one("isr.round_trip"),
        Cost::Wake if semaphores => Recipe::Sum("isr.wake.semaphore", "thread.yield.alone"),
        Cost::Wake => one("isr.wake.thread"),
        Cost::Send => one("queue.send.immediate"),
        // A look into an empty queue ends before there is anything to copy.
        Cost::Receive | Cost::Look => one("queue.receive.immediate"),
    }
}

impl Recipe {
    fn scenarios(&self) -> Vec<String> {
        match self {
            Self::One(id) => vec![id.clone()],
            Self::Most(all) => all.iter().map(|id| (*id).to_owned()).collect(),
            Self::Sum(a, b) | Self::Without(a, b) => vec![(*a).to_owned(), (*b).to_owned()],
            Self::Less(a, b, c) => [a, b, c].map(|id| (*id).to_owned()).to_vec(),
            Self::Rise(id, points) => points.iter().map(|point| format!("{id}.{point}")).collect(),
            Self::None(_) | Self::Nothing(_) => Vec::new(),
        }
    }

    fn figure(
        &self,
        spans: &mut dyn FnMut(&str) -> Result<Spans, String>,
    ) -> Result<Figure, String> {
        let figure =
            |scenario: String, cycles, least, samples| Figure { cycles, scenario, least, samples };
        match self {
            Self::One(id) => {
                let found = spans(id)?;
                Ok(figure(id.clone(), found.worst, found.least, found.samples))
            }
            Self::Most(all) => {
                let mut most: Option<Figure> = None;
                for id in all {
                    let found = spans(id)?;
                    if most.as_ref().is_none_or(|most| most.cycles < found.worst) {
                        most =
                            Some(figure((*id).to_owned(), found.worst, found.least, found.samples));
                    }
                }
                most.ok_or_else(|| "no scenario was named".to_owned())
            }
            Self::Sum(a, b) => {
                let (first, second) = (spans(a)?, spans(b)?);
                let cycles = first.worst + second.worst;
                let least = first.least + second.least;
                Ok(figure(format!("{a} and {b}"), cycles, least, first.samples + second.samples))
            }
            Self::Less(a, b, c) => {
                let (first, second, third) = (spans(a)?, spans(b)?, spans(c)?);
                let cycles = first.worst.saturating_sub(second.least) + third.worst;
                let least = first.least.saturating_sub(second.worst);
                let samples = first.samples + second.samples + third.samples;
                Ok(figure(format!("{a} less {b}, and {c}"), cycles, least, samples))
            }
            Self::Without(a, b) => {
                let (first, second) = (spans(a)?, spans(b)?);
                let cycles = first.worst.saturating_sub(second.least);
                let least = first.least.saturating_sub(second.worst);
                Ok(figure(format!("{a} less {b}"), cycles, least, first.samples + second.samples))
            }
            Self::Nothing(why) => Ok(figure((*why).to_owned(), 0, 0, 0)),
            Self::Rise(id, points) => {
                let points: Vec<(u64, Spans)> = points
                    .iter()
                    .map(|point| Ok((*point, spans(&format!("{id}.{point}"))?)))
                    .collect::<Result<_, String>>()?;
                let rise = |pair: &[(u64, Spans)]| {
                    let ((from, low), (to, high)) = (pair[0], pair[1]);
                    let more = to - from;
                    let least = high.least.saturating_sub(low.worst) / more;
                    (high.worst.saturating_sub(low.least).div_ceil(more), least)
                };
                let rises: Vec<_> = points.windows(2).map(rise).collect();
                let cycles = rises.iter().map(|(worst, _)| *worst).max().unwrap_or(0);
                let least = rises.iter().map(|(_, least)| *least).min().unwrap_or(0);
                let samples = points.iter().map(|(_, spans)| spans.samples).sum();
                Ok(figure(format!("the rise of {id}"), cycles, least, samples))
            }
            Self::None(why) => Err(why.clone()),
        }
    }
}

impl Model {
    /// Returns the scenarios that measure the costs of a set.
    pub fn scenarios(&self, set: &Set) -> Vec<String> {
        let costs = self.costs(set).into_iter();
        let mut all: Vec<_> = costs.flat_map(|cost| recipe(self, set, cost).scenarios()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Computes costs from scenarios. `spans` returns a scenario's samples, or why there are none.
    pub fn measured(
        &self,
        set: &Set,
        spans: &mut dyn FnMut(&str) -> Result<Spans, String>,
    ) -> Costs {
        let mut costs = Costs::default();
        for cost in self.costs(set) {
            match recipe(self, set, cost).figure(spans) {
                Ok(figure) => {
                    costs.known.insert(cost, figure);
                }
                Err(why) => costs.missing.push(Missing { cost, why }),
            }
        }
        costs
    }

    /// Describes the scheduling order in a few words.
    pub fn order_description(&self) -> &'static str {
        match self.order {
            Order::Preemptive => "by priority, at any time",
            Order::Batches => "in turns, each poll to its end",
            Order::Rounds => "in rounds, by priority in each, each poll to its end",
            Order::Fifo => "in the order of their releases, each to its end",
        }
    }
}
