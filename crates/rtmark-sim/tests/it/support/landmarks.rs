//! Runs that are observed at landmarks, beside those that are observed at every instruction.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rtmark_sim::{Cycles, Instruction, LandmarkObserver, Landmarks, Machine, Observer, Register};

use super::Random;

/// Bytes of code in which borders are.
const CODE: u32 = 0x4000;

/// Looks at nothing.
pub struct Nobody;

impl Observer for Nobody {}

impl LandmarkObserver for Nobody {
    fn passed(&mut self, _: &Machine, _: Cycles) {}
}

/// Borders in code at some addresses, a few to many of them.
pub fn borders(random: &mut Random, bases: &[u32]) -> Vec<u32> {
    let every = 2 + random.below(60);
    let halfwords = bases.iter().flat_map(|base| (0..CODE / 2).map(move |at| base + 2 * at));
    halfwords.filter(|_| random.below(every) == 0).collect()
}

/// Landmarks at borders.
pub fn landmarks(borders: &[u32]) -> Landmarks {
    Landmarks::new(borders.iter().map(|border| (*border, None)))
}

/// What happens besides instructions: which, when all before it had ended, and when it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Slept(u64, u64),
    Entered(u16, u64, u64),
    Returned(u16, u64, u64),
}

/// Keeps what it is told.
#[derive(Default)]
struct Log {
    /// Instructions about to execute, with their cycles.
    told: Vec<(u32, u64)>,
    executed: u64,
    events: Vec<Event>,
    /// Until when everything has been told.
    now: u64,
}

impl Log {
    fn note(&mut self, machine: &Machine, event: impl FnOnce(u64, u64) -> Event) {
        let now = machine.cycles().0;
        self.events.push(event(self.now, now));
        self.now = now;
    }
}

impl Observer for Log {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        self.now = machine.cycles().0;
        self.told.push((machine.register(Register::Pc), self.now));
        ControlFlow::Continue(())
    }

    fn slept(&mut self, machine: &Machine) {
        self.note(machine, Event::Slept);
    }

    fn executed(&mut self, machine: &Machine, _: &Instruction) {
        self.now = machine.cycles().0;
        self.executed += 1;
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.note(machine, |before, now| Event::Entered(exception, before, now));
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.note(machine, |before, now| Event::Returned(exception, before, now));
    }
}

impl LandmarkObserver for Log {
    fn passed(&mut self, _: &Machine, now: Cycles) {
        self.now = now.0;
    }
}

/// Instructions that executed.
pub struct Executed {
    pub every: u64,
    /// Those of them that did so by themselves, in a run at landmarks.
    pub alone: u64,
}

/// A run until a cycle tells the same of exceptions and sleep at landmarks as at every instruction, and
/// ends the same. At landmarks nothing is told that is not so, and every border is told.
pub fn assert_told_alike(
    machine: &Machine,
    borders: &[u32],
    until: Cycles,
    what: &str,
) -> Executed {
    let (mut machine, mut other) = (machine.clone(), machine.clone());
    let (mut all, mut log) = (Log::default(), Log::default());
    let stop = machine.run_observed(until, &mut all);
    assert_eq!(other.run_observed_at(&landmarks(borders), until, &mut log), stop, "{what}");
    let state = |machine: &Machine| {
        let registers = machine.named_registers().into_iter();
        let registers = registers.map(|(_, register)| machine.register(register));
        let counts = (machine.cycles(), machine.instructions(), machine.exceptions_taken());
        (counts, registers.collect::<Vec<_>>())
    };
    assert_eq!(state(&other), state(&machine), "{what}");
    assert_eq!(log.events.len(), all.events.len(), "{what}");
    for (one, other) in log.events.iter().zip(&all.events) {
        // A fault's entry begins behind the instruction that has raised it, which does not execute.
        let same = match (*one, *other) {
            (Event::Entered(1..=15, began, _), Event::Entered(exception, before, entered)) => {
                before <= began && *one == Event::Entered(exception, began, entered)
            }
            (one, other) => one == other,
        };
        assert!(same, "{what}: {one:?} for {other:?}");
    }
    let mut left = all.told.iter();
    let unknown = log.told.iter().find(|told| !left.any(|known| known == *told));
    assert_eq!(unknown, None, "{what}: told at landmarks alone");
    let told: HashSet<_> = log.told.iter().collect();
    let borders: HashSet<_> = borders.iter().collect();
    let mut at_borders = all.told.iter().filter(|(pc, _)| borders.contains(pc));
    assert_eq!(at_borders.find(|it| !told.contains(it)), None, "{what}: not told");
    Executed { every: all.executed, alone: log.executed }
}
