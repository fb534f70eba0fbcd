//! Goes back in time with earlier copies of the machine, and by running on from them.
//!
//! A machine is a value and runs the same way every time, so any moment can be reached from the copy
//! before it. A change from outside starts a new history at that point.

use std::ops::ControlFlow;

use rtmark_sim::{Cycles, Machine, Observer, Register, Stop};

use crate::stops::Stops;

/// The number of copies kept; beyond that, every second one of the older half is dropped.
const MAX_COPIES: usize = 64;

/// The session's past, from its beginning on.
pub struct History {
    /// In order of time; the first is the beginning.
    copies: Vec<Machine>,
}

/// Stops before the instruction with this many instructions before it.
struct Until(u64);

impl Observer for Until {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if machine.instructions().0 >= self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Records the last stop before a certain instruction.
struct LastHit<'a> {
    stops: &'a Stops,
    before: u64,
    hit: Option<(u64, Hit)>,
}

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    Breakpoint,
    /// The watched address.
    Watch(u32),
}

impl Observer for LastHit<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let count = machine.instructions().0;
        if count >= self.before {
            return ControlFlow::Break(());
        }
        if self.stops.is_breakpoint(machine.register(Register::Pc)) {
            self.hit = Some((count, Hit::Breakpoint));
        }
        if let Some(watch) = self.stops.watched(machine) {
            self.hit = Some((count, Hit::Watch(watch.address)));
        }
        ControlFlow::Continue(())
    }
}

impl History {
    /// Begins the history here.
    pub fn new(machine: &Machine) -> Self {
        Self { copies: vec![machine.clone()] }
    }

    /// Keeps a copy of the present.
    pub fn save(&mut self, machine: &Machine) {
        if self.copies.last().is_some_and(|last| last.cycles() >= machine.cycles()) {
            return;
        }
        self.copies.push(machine.clone());
        if self.copies.len() > MAX_COPIES {
            let mut at = 0;
            self.copies.retain(|_| {
                at += 1;
                at > MAX_COPIES / 2 || at % 2 == 1
            });
        }
    }

    /// Handles a change from outside: what followed the present once will not happen again.
    pub fn discard_future(&mut self, machine: &Machine) {
        let now = machine.cycles();
        // The beginning stays, changed or not.
        self.copies.retain(|copy| copy.cycles() < now);
        self.copies.push(machine.clone());
    }

    /// Returns the machine before the instruction that `count` others preceded; `None` before the
    /// beginning.
    pub fn at(&self, count: u64) -> Option<Machine> {
        let before = |copy: &&Machine| copy.instructions().0 <= count;
        let mut machine = self.copies.iter().rev().find(before)?.clone();
        machine.run_observed(Cycles(u64::MAX), &mut Until(count));
        Some(machine)
    }

    /// Returns the last stop before the present, or the beginning.
    pub fn last_stop_before(&self, machine: &Machine, stops: &Stops) -> (Option<Hit>, Machine) {
        let mut before = machine.instructions().0;
        for copy in self.copies.iter().rev() {
            if copy.instructions().0 >= before {
                continue;
            }
            let mut last = LastHit { stops, before, hit: None };
            let stop = copy.clone().run_observed(Cycles(u64::MAX), &mut last);
            debug_assert!(stop == Stop::Observer || last.hit.is_none(), "it has run before");
            if let Some((count, hit)) = last.hit
                && let Some(machine) = self.at(count)
            {
                return (Some(hit), machine);
            }
            before = copy.instructions().0;
        }
        let beginning = self.copies.first().unwrap_or(machine);
        (None, beginning.clone())
    }
}
