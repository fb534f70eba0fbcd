//! Goes back in time with earlier copies of the machine, and by running on from them.
//!
//! A machine is a value and runs the same way every time, so any moment can be reached from the copy
//! before it. What the debugger has changed is part of the past, as in GDB's own recordings (its manual,
//! "Recording Inferior's Execution and Replaying It"): whoever goes back before a change and forwards
//! again finds it made again at the same moment. A change in the past begins a new future, and the one
//! that was known is forgotten.

use std::ops::ControlFlow;

use rtmark_sim::{Cycles, Instructions, Machine, Observer, Register, Stop, UnmappedAddress};

use crate::stops::{Stops, Watchpoint};

/// The number of copies kept; beyond that, every second one of the older half is dropped.
const MAX_COPIES: usize = 64;

/// A position in a run. Several instructions may begin in one cycle, and while the core sleeps, cycles
/// pass without an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub cycles: Cycles,
    instructions: Instructions,
}

impl Moment {
    pub fn of(machine: &Machine) -> Self {
        Self { cycles: machine.cycles(), instructions: machine.instructions() }
    }
}

/// What the debugger has changed.
#[derive(Clone, Debug)]
pub enum Change {
    /// Bytes in memory, or a word in a register of the soc.
    Memory(u32, Vec<u8>),
    /// Core registers.
    Registers(Vec<(Register, u32)>),
}

impl Change {
    /// Makes the change.
    pub fn make(&self, machine: &mut Machine) -> Result<(), UnmappedAddress> {
        match self {
            Self::Memory(address, bytes) => {
                let word = <[u8; 4]>::try_from(bytes.as_slice()).map(u32::from_le_bytes);
                match (machine.poke(*address, bytes), word) {
                    (Err(_), Ok(word)) => machine.store_word(*address, word),
                    (result, _) => result,
                }
            }
            Self::Registers(values) => {
                for (register, value) in values {
                    machine.set_register(*register, *value);
                }
                Ok(())
            }
        }
    }
}

/// The session's past, from its beginning on, and the future as far as it is known.
pub struct History {
    /// In order of time, each with the changes of its moment; the first is the beginning.
    copies: Vec<Machine>,
    /// In the order in which they were made, which is that of time.
    changes: Vec<(Moment, Change)>,
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

/// An observer of a run up to a moment.
struct Before<'a, O> {
    end: Moment,
    observer: &'a mut O,
}

impl<O: Observer> Observer for Before<'_, O> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if Moment::of(machine) >= self.end {
            return ControlFlow::Break(());
        }
        self.observer.before(machine)
    }
}

/// Observes nothing.
struct Nobody;

impl Observer for Nobody {
    fn before(&mut self, _: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs up to a moment, unless the observer or something else ends the run before it.
fn run_before(machine: &mut Machine, end: Moment, observer: &mut impl Observer) -> Stop {
    let mut before = Before { end, observer };
    let stop = machine.run_observed(end.cycles, &mut before);
    if stop == Stop::Limit && Moment::of(machine) < end {
        return machine.run_observed(Cycles(u64::MAX), &mut before);
    }
    stop
}

/// Records the last stop before a certain instruction.
struct LastHit<'a> {
    stops: &'a Stops,
    before: u64,
    hit: Option<(u64, Hit)>,
}

/// Where a program is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    Breakpoint,
    Watch(Watchpoint),
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
            self.hit = Some((count, Hit::Watch(watch)));
        }
        ControlFlow::Continue(())
    }
}

impl History {
    /// Begins the history here.
    pub fn new(machine: &Machine) -> Self {
        Self { copies: vec![machine.clone()], changes: Vec::new() }
    }

    /// Keeps a copy of the present.
    pub fn save(&mut self, machine: &Machine) {
        let now = Moment::of(machine);
        if self.copies.last().is_some_and(|last| Moment::of(last) >= now) {
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

    /// Makes a change in the present. What followed once will not happen again.
    pub fn change(&mut self, machine: &mut Machine, change: Change) -> Result<(), UnmappedAddress> {
        change.make(machine)?;
        let now = Moment::of(machine);
        self.changes.retain(|(at, _)| *at <= now);
        self.changes.push((now, change));
        // This also replaces the beginning if nothing has run yet.
        self.copies.retain(|copy| Moment::of(copy) < now);
        self.save(machine);
        Ok(())
    }

    /// Returns when the next known change is, after the present.
    pub fn next_change(&self, machine: &Machine) -> Option<Moment> {
        let now = Moment::of(machine);
        let next = self.changes.partition_point(|(at, _)| *at <= now);
        self.changes.get(next).map(|(at, _)| *at)
    }

    /// Makes the known changes of a moment again, to which a run has just come.
    pub fn repeat_changes(&self, machine: &mut Machine, now: Moment) {
        for (_, change) in self.changes.iter().filter(|(at, _)| *at == now) {
            let made = change.make(machine);
            debug_assert!(made.is_ok(), "it has been made before");
        }
    }

    /// Runs on to a moment of the known future, at full speed, with the known changes. Returns what ends the run
    /// at or before that moment, if anything does.
    pub fn advance(&self, machine: &mut Machine, to: Moment) -> Option<Stop> {
        while Moment::of(machine) < to {
            let end = self.next_change(machine).map_or(to, |change| change.min(to));
            let mut stop = machine.run(end.cycles);
            // Several instructions may begin in the last cycle.
            if stop == Stop::Limit && Moment::of(machine) < end {
                stop = run_before(machine, end, &mut Nobody);
            }
            let goes_on = matches!(stop, Stop::Limit | Stop::Observer) || self.changes_at(end);
            if Moment::of(machine) < end || !goes_on {
                return Some(stop);
            }
            self.repeat_changes(machine, end);
        }
        None
    }

    /// Returns whether there are known changes of a moment.
    fn changes_at(&self, moment: Moment) -> bool {
        self.changes.iter().any(|(at, _)| *at == moment)
    }

    /// Runs until the observer stops, with the known changes.
    fn run(&self, machine: &mut Machine, observer: &mut impl Observer) -> Stop {
        while let Some(end) = self.next_change(machine) {
            let stop = run_before(machine, end, observer);
            if Moment::of(machine) < end {
                return stop;
            }
            self.repeat_changes(machine, end);
        }
        machine.run_observed(Cycles(u64::MAX), observer)
    }

    /// Returns the machine before the instruction that `count` others preceded; `None` before the
    /// beginning.
    pub fn at(&self, count: u64) -> Option<Machine> {
        let before = |copy: &&Machine| copy.instructions().0 <= count;
        let mut machine = self.copies.iter().rev().find(before)?.clone();
        self.run(&mut machine, &mut Until(count));
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
            let stop = self.run(&mut copy.clone(), &mut last);
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

#[cfg(test)]
mod tests;
