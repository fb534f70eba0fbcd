//! One point followed in a copy of the machine.

use std::ops::ControlFlow;

use rtmark_sim::{Blocker, Cycles, Interrupted, Machine, Observer, Register, Stop, WatchId};
use serde::{Deserialize, Serialize};

use crate::held::told;
use crate::path::{Path, Reach};

/// How a program ended that an interrupt had come into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was content.
    Fine,
    /// It gave this status, which is not success.
    Status(u32),
    /// A fault, or a breakpoint.
    Fault,
    /// It sleeps and nothing will wake it.
    Asleep,
    /// It had not ended in time.
    Unfinished,
    /// It asked for a reset, or for something else that ends a run.
    Other,
}

impl Verdict {
    /// What is wrong, in words.
    pub fn text(self) -> String {
        match self {
            Self::Fine => "its own check is content".into(),
            Self::Status(status) => format!("its own check fails, with status {status}"),
            Self::Fault => "it faults".into(),
            Self::Asleep => "it sleeps for ever".into(),
            Self::Unfinished => "it does not come to its end".into(),
            Self::Other => "it ends in another way".into(),
        }
    }
}

impl From<&Stop> for Verdict {
    fn from(stop: &Stop) -> Self {
        match stop {
            Stop::Exit(status) if status.0 == 0 => Self::Fine,
            // It has printed what it was to end with.
            Stop::Output(_) => Self::Fine,
            Stop::Exit(status) => Self::Status(status.0),
            Stop::Fault(_) | Stop::Lockup(_) | Stop::Breakpoint(_) => Self::Fault,
            Stop::Asleep => Self::Asleep,
            Stop::Limit => Self::Unfinished,
            _ => Self::Other,
        }
    }
}

/// Why an interrupt was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unserved {
    /// The program ended before, while this held the interrupt back.
    Ended(Option<Blocker>),
    /// It would have taken more than the question's patience.
    Late,
}

impl Unserved {
    /// Of a machine whose run has stopped.
    pub(crate) fn of(machine: &Machine, stop: &Stop, interrupt: u16) -> Self {
        match stop {
            Stop::Limit => Self::Late,
            _ => Self::Ended(machine.holds_back(interrupt).map(told)),
        }
    }
}

/// What came of an interrupt, in cycles since reset; `None` where it did not come in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outcome {
    /// The handler's first instruction.
    pub entered: Option<u64>,
    /// The first instruction of the task that it wakes.
    pub woken: Option<u64>,
    /// The instruction that was interrupted, again.
    pub resumed: Option<u64>,
    /// Not when, but how much later the span ends than without the interrupt.
    pub delay: Option<i64>,
    /// How the program ended, where that was waited for.
    pub verdict: Option<Verdict>,
    /// Why the handler was not entered, if it was not.
    pub unserved: Option<Unserved>,
}

impl Outcome {
    /// The interrupt is not served.
    pub(crate) fn never(why: Unserved) -> Self {
        Self { unserved: Some(why), ..Self::default() }
    }
}

/// Waits for the handler in an observed run.
struct Entry<'a> {
    path: &'a Path,
    exception: u16,
    /// The cycle in which the interrupt becomes pending.
    at: u64,
    /// Where the interrupted code goes on, once the handler has come up.
    back: Option<Interrupted>,
}

impl Observer for Entry<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        // A first instruction that gives way to another interrupt has not been executed, and comes again.
        if self.path.served(machine, self.at).is_some() {
            return ControlFlow::Break(());
        }
        let begins = machine.exception() == self.exception && machine.cycles().0 >= self.at;
        if begins && self.back.is_none() {
            self.back = Some(machine.interrupted());
        }
        ControlFlow::Continue(())
    }
}

/// Waits in an observed run for the interrupted code to go on.
struct GoingOn {
    back: Interrupted,
    /// When its next instruction was about to execute.
    at: Option<u64>,
}

/// Whether the interrupted code is about to go on.
fn goes_on(machine: &Machine, Interrupted { pc, sp, exception, .. }: Interrupted) -> bool {
    let stands = machine.register(Register::Pc) == pc && machine.register(Register::Sp) == sp;
    stands && machine.exception() == exception
}

impl Observer for GoingOn {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if goes_on(machine, self.back) {
            self.at = Some(machine.cycles().0);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// When the interrupted code goes on behind the handler, if it does in time. It runs at full speed up to the
/// return that leads there, and is observed from then on: another exception may come first.
fn go_on(copy: &mut Machine, back: Interrupted, until: Cycles) -> Option<u64> {
    // A handler of one instruction has returned with it.
    if goes_on(copy, back) {
        return Some(copy.cycles().0);
    }
    copy.stop_at_resumption(back);
    if copy.run(until) != Stop::Resumed {
        return None;
    }
    let mut going_on = GoingOn { back, at: None };
    let _ = copy.run_observed(until, &mut going_on);
    going_on.at
}

/// Cycles after which it is looked whether all has come that is waited for, at first.
const FIRST_LOOK: u64 = 256;

/// Goes on until the woken task runs and a span has ended, as far as they are asked for.
fn wait_for_watches(path: &Path, copy: &mut Machine, since: u64, until: Cycles) {
    let question = path.question();
    let mut look = FIRST_LOOK;
    loop {
        let has = |wanted: &dyn Fn(WatchId) -> bool| {
            copy.hits().iter().any(|hit| hit.cycle.0 >= since && wanted(hit.watch))
        };
        let woken = question.woken.is_none() || has(&|watch| Some(watch) == path.woken_watch());
        let ended = question.ends.is_empty() || has(&|watch| path.ends_span(watch));
        let to = Cycles(copy.cycles().0.saturating_add(look).min(until.0));
        if (woken && ended) || copy.cycles() >= until || copy.run(to) != Stop::Limit {
            return;
        }
        look *= 2;
    }
}

/// Makes the interrupt pending in a cycle, in a copy of a machine that has not passed it,
/// and follows what happens.
pub fn follow(path: &Path, machine: &Machine, at: u64) -> Outcome {
    let mut copy = machine.clone();
    copy.take_hits();
    copy.pend_interrupt(path.question().interrupt, Cycles(at));
    if path.question().reach == Reach::Check {
        // To the end of the program: the run without the interrupt says how long that is.
        let until = path.ended().max(at).saturating_add(path.question().patience);
        let stop = copy.run(Cycles(until));
        path.look_at(&copy);
        let entered = path.served(&copy, at);
        let unserved = || Unserved::of(&copy, &stop, path.question().interrupt);
        return Outcome {
            entered,
            verdict: Some(Verdict::from(&stop)),
            unserved: entered.is_none().then(unserved),
            ..Outcome::default()
        };
    }
    let until = Cycles(at.saturating_add(path.question().patience));
    let exception = path.question().interrupt + 16;
    let mut entry = Entry { path, exception, at, back: None };
    // However the run ends: what has not come by then has not come.
    let stop = copy.run_observed(until, &mut entry);
    let Some(since) = path.served(&copy, at) else {
        path.look_at(&copy);
        return Outcome::never(Unserved::of(&copy, &stop, path.question().interrupt));
    };
    if path.question().reach == Reach::Entry {
        path.look_at(&copy);
        return Outcome { entered: Some(since), ..Outcome::default() };
    }
    let resumed = entry.back.and_then(|back| go_on(&mut copy, back, until));
    wait_for_watches(path, &mut copy, since, until);
    path.look_at(&copy);
    let hits = copy.take_hits();
    let when = |wanted: &dyn Fn(WatchId) -> bool| {
        let hits = hits.iter().filter(move |hit| wanted(hit.watch));
        hits.map(|hit| hit.cycle.0).collect::<Vec<_>>()
    };
    let first = |cycles: Vec<u64>| cycles.into_iter().find(|&cycle| cycle >= since);
    let ends = when(&|watch| path.ends_span(watch));
    // The span under way when the handler was entered: before that, all went as usual.
    let before = ends.iter().rfind(|&&end| end < since).copied();
    let usual = path.end_after(before.unwrap_or(at.saturating_sub(1)));
    let ended = first(ends);
    Outcome {
        entered: Some(since),
        woken: first(when(&|watch| Some(watch) == path.woken_watch())),
        resumed,
        verdict: None,
        unserved: None,
        delay: ended.zip(usual).map(|(ended, usual)| ended.cast_signed() - usual.cast_signed()),
    }
}
