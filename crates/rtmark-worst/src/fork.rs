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

/// What is looked for in an observed run.
struct Eye<'a> {
    path: &'a Path,
    exception: u16,
    /// The cycle in which the interrupt becomes pending.
    at: u64,
    /// The handler's first instruction was executed. One that gives way to another interrupt
    /// has not been, and comes again.
    entered: bool,
    /// Where the interrupted code goes on, once the handler has come up.
    back: Option<Interrupted>,
    outcome: Outcome,
    woken_seen: bool,
    ended_seen: bool,
}

impl Observer for Eye<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let handled = machine.exception();
        self.entered = self.entered || self.path.served(machine, self.at).is_some();
        if !self.entered {
            let begins = handled == self.exception && machine.cycles().0 >= self.at;
            if begins && self.back.is_none() {
                self.back = Some(machine.interrupted());
            }
            return ControlFlow::Continue(());
        }
        let question = self.path.question();
        if question.reach == Reach::Entry {
            return ControlFlow::Break(());
        }
        let pc = machine.register(Register::Pc);
        if self.outcome.resumed.is_none()
            && self.back.is_some_and(|back| {
                let Interrupted { pc: to, sp, exception, .. } = back;
                pc == to && handled == exception && sp == machine.register(Register::Sp)
            })
        {
            self.outcome.resumed = Some(machine.cycles().0);
        }
        let all = self.outcome.resumed.is_some()
            && (question.woken.is_none() || self.woken_seen)
            && (question.ends.is_empty() || self.ended_seen);
        // What is seen is noted when the instruction executes: one more look.
        self.woken_seen |= question.woken == Some(pc);
        self.ended_seen |= question.ends.contains(&pc);
        if all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
    let mut eye = Eye {
        path,
        exception: path.question().interrupt + 16,
        at,
        entered: false,
        back: None,
        outcome: Outcome::default(),
        woken_seen: false,
        ended_seen: false,
    };
    let until = at.saturating_add(path.question().patience);
    // However the run ends: what has not come by then has not come.
    let stop = copy.run_observed(Cycles(until), &mut eye);
    path.look_at(&copy);
    let Some(since) = path.served(&copy, at) else {
        return Outcome::never(Unserved::of(&copy, &stop, path.question().interrupt));
    };
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
        resumed: eye.outcome.resumed,
        verdict: None,
        unserved: None,
        delay: ended.zip(usual).map(|(ended, usual)| ended.cast_signed() - usual.cast_signed()),
    }
}
