//! Follows one point in a copy of the machine.

use std::ops::ControlFlow;

use rtmark_sim::{Blocker, Cycles, Interrupted, Irq, Machine, Observer, Register, Stop, WatchId};
use serde::{Deserialize, Serialize};

use crate::held::merged;
use crate::path::{Path, Reach};

/// How a program ended after an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its own check passed.
    Fine,
    /// It exited with this status, which is not success.
    Status(u32),
    /// A fault, or a breakpoint.
    Fault,
    /// Its main stack grew into other data, as [`Machine::watch_stack`] looks for, whatever came of it.
    StackOverflow,
    /// It sleeps, and nothing will wake it.
    Asleep,
    /// It did not end in time.
    Unfinished,
    /// It requested a reset, or something else that ends a run.
    Other,
}

impl Verdict {
    /// Describes what is wrong.
    pub fn text(self) -> String {
        match self {
            Self::Fine => "its own check passes".into(),
            Self::Status(status) => format!("its own check fails, with status {status}"),
            Self::Fault => "it faults".into(),
            Self::StackOverflow => "its main stack grows into other data".into(),
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
            // It printed the text that marks a good end.
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
    /// The program ended first, while this was holding the interrupt back.
    Ended(Option<Blocker>),
    /// It would have taken longer than the question allows.
    Late,
}

impl Unserved {
    /// Determines it from a machine whose run has stopped.
    pub(crate) fn of(machine: &Machine, stop: &Stop, interrupt: Irq) -> Self {
        match stop {
            Stop::Limit => Self::Late,
            _ => Self::Ended(machine.interrupt_blocker(interrupt).map(merged)),
        }
    }
}

/// What followed an interrupt, in cycles since reset; `None` if it did not happen in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outcome {
    /// The handler's first instruction.
    pub entered: Option<u64>,
    /// The first instruction of the woken task.
    pub woken: Option<u64>,
    /// The interrupted instruction, about to execute again.
    pub resumed: Option<u64>,
    /// Not a time, but how much later the span ends than without the interrupt, or why that is unknown;
    /// `None` if there is no span, or if that was not asked for.
    pub delay: Option<Result<i64, Unserved>>,
    /// How the program ended, if that was asked for.
    pub verdict: Option<Verdict>,
    /// Why the handler was not entered, if it was not.
    pub unserved: Option<Unserved>,
}

impl Outcome {
    /// Returns the outcome of an interrupt that is not served.
    pub(crate) fn unserved(why: Unserved) -> Self {
        Self { unserved: Some(why), ..Self::default() }
    }
}

/// An observer that waits for the handler.
struct Entry<'a> {
    path: &'a Path,
    exception: u16,
    /// The cycle in which the interrupt becomes pending.
    at: u64,
    /// Where the interrupted code continues, once the handler has been entered.
    back: Option<Interrupted>,
}

impl Observer for Entry<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        // Another interrupt's handler that this one takes over has already begun as its handler.
        let begins = machine.exception() == self.exception && machine.cycles().0 >= self.at;
        if begins && self.back.is_none() {
            self.back = Some(machine.interrupted());
        }
        // A first instruction that gives way to another interrupt has not been executed, and comes
        // again.
        if self.path.served(machine, self.at).is_some() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// An observer that waits for the interrupted code to continue.
struct ResumptionObserver {
    back: Interrupted,
    /// When its next instruction was about to execute.
    at: Option<u64>,
}

/// Tells whether the interrupted code is about to continue.
fn is_resuming(machine: &Machine, Interrupted { pc, sp, exception, .. }: Interrupted) -> bool {
    let stands = machine.register(Register::Pc) == pc && machine.register(Register::Sp) == sp;
    stands && machine.exception() == exception
}

impl Observer for ResumptionObserver {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if is_resuming(machine, self.back) {
            self.at = Some(machine.cycles().0);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Returns when the interrupted code continues after the handler, if it does in time. The copy runs at
/// full speed up to the return that leads there, and is observed from then on, as another exception may
/// come first.
fn run_until_resumed(copy: &mut Machine, back: Interrupted, until: Cycles) -> Option<u64> {
    // A handler of one instruction has already returned.
    if is_resuming(copy, back) {
        return Some(copy.cycles().0);
    }
    copy.stop_at_resumption(back);
    if copy.run(until) != Stop::Resumed {
        return None;
    }
    let mut observer = ResumptionObserver { back, at: None };
    let _ = copy.run_observed(until, &mut observer);
    observer.at
}

/// The initial interval, in cycles, between checks whether everything awaited has happened.
const FIRST_LOOK: u64 = 256;

/// Runs on until the woken task runs and a span has ended, as far as they are requested.
fn wait_for_watches(path: &Path, copy: &mut Machine, since: u64, until: Cycles) -> Stop {
    let question = path.question();
    let mut look = FIRST_LOOK;
    loop {
        let has = |wanted: &dyn Fn(WatchId) -> bool| {
            copy.hits().iter().any(|hit| hit.cycle.0 >= since && wanted(hit.watch))
        };
        let woken = question.woken.is_none() || has(&|watch| Some(watch) == path.woken_watch());
        let ended = question.ends.is_empty() || has(&|watch| path.ends_span(watch));
        let to = Cycles(copy.cycles().0.saturating_add(look).min(until.0));
        if (woken && ended) || copy.cycles() >= until {
            return Stop::Limit;
        }
        match copy.run(to) {
            Stop::Limit => look *= 2,
            // The interrupted code continues later than it was waited for.
            Stop::Resumed => {}
            stop => return stop,
        }
    }
}

/// Makes the interrupt pending in the given cycle, on a machine that has not passed it, follows what
/// happens, and takes it back.
pub fn follow(path: &Path, machine: &mut Machine, at: u64) -> Outcome {
    if path.question().reach == Reach::Entry {
        return machine.look_ahead(|ahead| pend_and_run(path, ahead, at));
    }
    pend_and_run(path, &mut machine.clone(), at)
}

fn pend_and_run(path: &Path, machine: &mut Machine, at: u64) -> Outcome {
    machine.take_hits();
    // The core sees the interrupt later than it becomes pending, and spans may have ended by then.
    let passed = at.max(machine.cycles().0).saturating_sub(1);
    machine.pend_interrupt(path.question().interrupt, Cycles(at));
    if let Reach::Check { ended } = path.question().reach {
        // Runs to the end of the program: the run without the interrupt shows how long that takes.
        let until = ended.max(at).saturating_add(path.question().patience);
        let stop = machine.run(Cycles(until));
        path.check_machine(machine);
        let entered = path.served(machine, at);
        let unserved = || Unserved::of(machine, &stop, path.question().interrupt);
        let verdict = match machine.stack_overflow() {
            Some(_) => Verdict::StackOverflow,
            None => Verdict::from(&stop),
        };
        return Outcome {
            entered,
            verdict: Some(verdict),
            unserved: entered.is_none().then(unserved),
            ..Outcome::default()
        };
    }
    let until = Cycles(at.saturating_add(path.question().patience));
    let exception = path.question().interrupt.exception();
    let mut entry = Entry { path, exception, at, back: None };
    // However the run ends, whatever has not happened by then counts as missing.
    let stop = machine.run_observed(until, &mut entry);
    let Some(since) = path.served(machine, at) else {
        path.check_machine(machine);
        return Outcome::unserved(Unserved::of(machine, &stop, path.question().interrupt));
    };
    if path.question().reach == Reach::Entry {
        path.check_machine(machine);
        return Outcome { entered: Some(since), ..Outcome::default() };
    }
    // The span in progress when the handler was entered: before that, the run was as usual.
    let before = machine.hits().iter().rev().filter(|hit| path.ends_span(hit.watch));
    let before = before.map(|hit| hit.cycle.0).find(|&end| end < since);
    let usual = path.end_after(before.unwrap_or(passed));
    let resumed = entry.back.and_then(|back| run_until_resumed(machine, back, until));
    let end = usual.and_then(Result::ok).unwrap_or(at);
    let until = Cycles(end.max(at).saturating_add(path.question().patience));
    let stop = wait_for_watches(path, machine, since, until);
    path.check_machine(machine);
    let hits = machine.take_hits();
    let when = |wanted: &dyn Fn(WatchId) -> bool| {
        let hits = hits.iter().filter(move |hit| wanted(hit.watch));
        hits.map(|hit| hit.cycle.0).collect::<Vec<_>>()
    };
    let first = |cycles: Vec<u64>| cycles.into_iter().find(|&cycle| cycle >= since);
    let ended = first(when(&|watch| path.ends_span(watch)));
    let delay = |usual: u64| match ended {
        Some(ended) => Ok(ended.cast_signed() - usual.cast_signed()),
        None if stop == Stop::Limit => Err(Unserved::Late),
        None => Err(Unserved::Ended(None)),
    };
    Outcome {
        entered: Some(since),
        woken: first(when(&|watch| Some(watch) == path.woken_watch())),
        resumed,
        verdict: None,
        unserved: None,
        delay: usual.map(|usual| usual.and_then(delay)),
    }
}
