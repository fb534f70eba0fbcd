//! Earlier copies of the machine, from which any moment of the run can be reached again.

use std::ops::ControlFlow;

use rtmark_sim::{Cycles, Machine, Observer, Soc, Stop};

/// The approximate total size of all copies, in bytes.
const ROOM: u64 = 96 << 20;
/// The initial distance between copies, in cycles.
const EVERY: u64 = 500_000;

/// A machine, and the number of bytes that it has printed.
#[derive(Clone, Debug)]
pub struct Present {
    pub machine: Machine,
    pub printed: usize,
}

/// The copies since reset.
#[derive(Debug)]
pub struct History {
    /// In order of time; the first is the beginning.
    copies: Vec<Present>,
    most: usize,
    every: u64,
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

impl History {
    /// Begins the history here.
    pub fn new(beginning: Present) -> Self {
        let bytes = |soc: &Soc| -> u64 {
            let range = soc.memories.iter().map(rtmark_sim::Memory::range);
            range.map(|range| range.end - range.start).sum()
        };
        let most = (ROOM / bytes(beginning.machine.soc()).max(1)).clamp(4, 64) as usize;
        Self { copies: vec![beginning], most, every: EVERY }
    }

    /// Returns the next cycle for which a copy is wanted.
    pub fn due(&self) -> u64 {
        let newest = self.copies.last().map_or(0, |copy| copy.machine.cycles().0);
        newest.saturating_add(self.every)
    }

    /// Keeps a copy, if one is due. If there are too many, every second one is dropped.
    pub fn keep(&mut self, present: &Present) {
        if present.machine.cycles().0 < self.due() {
            return;
        }
        self.copies.push(present.clone());
        if self.copies.len() > self.most {
            let mut at = 0;
            self.copies.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
    }

    /// Returns the beginning.
    pub fn beginning(&self) -> Option<&Present> {
        self.copies.first()
    }

    /// Returns the last copy that is no later than a cycle.
    pub fn before(&self, cycle: u64) -> Option<&Present> {
        self.copies.iter().rev().find(|copy| copy.machine.cycles().0 <= cycle)
    }

    /// Returns the state before the instruction that this many others preceded. `now` is a nearby later
    /// cycle.
    pub fn at(&self, instructions: u64, now: u64) -> Option<Present> {
        let near = [2_000, 50_000, 1_000_000].into_iter().find_map(|distance| {
            let there = self.at_cycle(now.checked_sub(distance)?)?;
            (there.machine.instructions().0 <= instructions).then_some(there)
        });
        let mut present = near.or_else(|| {
            let before = |copy: &&Present| copy.machine.instructions().0 <= instructions;
            self.copies.iter().rev().find(before).cloned()
        })?;
        let stop = present.machine.run_observed(Cycles(now), &mut Until(instructions));
        present.printed += present.machine.take_console().len();
        (stop == Stop::Observer || present.machine.instructions().0 == instructions)
            .then_some(present)
    }

    /// Returns the state at the first boundary at or after a cycle that the run has already reached.
    pub fn at_cycle(&self, cycle: u64) -> Option<Present> {
        let mut present = self.before(cycle)?.clone();
        if present.machine.cycles().0 < cycle {
            let _ = present.machine.run(Cycles(cycle));
            present.printed += present.machine.take_console().len();
        }
        Some(present)
    }
}
