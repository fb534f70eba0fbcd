//! Runs observed at landmarks, compared with runs observed at every instruction.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rtmark_sim::{Cycles, Instruction, LandmarkObserver, Landmarks, Machine, Observer, Register};

use super::Random;

/// The number of bytes of code that can contain borders.
const CODE: u32 = 0x4000;

/// An observer that ignores all events.
pub struct NullObserver;

impl Observer for NullObserver {}

impl LandmarkObserver for NullObserver {
    fn ran_until(&mut self, _: &Machine, _: Cycles) {}
}

/// Returns borders in the code at some addresses, at a random density.
pub fn borders(random: &mut Random, bases: &[u32]) -> Vec<u32> {
    let every = 2 + random.below(60);
    let halfwords = bases.iter().flat_map(|base| (0..CODE / 2).map(move |at| base + 2 * at));
    halfwords.filter(|_| random.below(every) == 0).collect()
}

/// Returns landmarks at borders.
pub fn landmarks(borders: &[u32]) -> Landmarks {
    Landmarks::new(borders.iter().map(|border| (*border, None)))
}

/// An event other than an instruction: its exception, the cycle in which everything before it had
/// ended, and the cycle in which it was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Slept(u64, u64),
    Entered(u16, u64, u64),
    Returned(u16, u64, u64),
}

/// An observer that records all events.
#[derive(Default)]
struct Log {
    /// The instructions reported before their execution, with their cycles.
    instructions: Vec<(u32, u64)>,
    executed: u64,
    events: Vec<Event>,
    /// The cycle up to which everything has been reported.
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
        self.instructions.push((machine.register(Register::Pc), self.now));
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
    fn ran_until(&mut self, _: &Machine, now: Cycles) {
        self.now = now.0;
    }
}

/// The numbers of executed instructions.
pub struct Executed {
    pub every: u64,
    /// Those executed singly in a run observed at landmarks.
    pub alone: u64,
}

/// Asserts that a run until a cycle reports the same exceptions and sleep at landmarks as at every
/// instruction, and ends in the same state. At landmarks every instruction reported must really
/// execute, and every border reached must be reported.
pub fn assert_same_events(
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
        // A fault's entry begins after the instruction that raised it, which does not execute.
        let same = match (*one, *other) {
            (Event::Entered(1..=15, began, _), Event::Entered(exception, before, entered)) => {
                before <= began && *one == Event::Entered(exception, began, entered)
            }
            (one, other) => one == other,
        };
        assert!(same, "{what}: {one:?} for {other:?}");
    }
    let mut left = all.instructions.iter();
    let unknown =
        log.instructions.iter().find(|instructions| !left.any(|known| known == *instructions));
    assert_eq!(unknown, None, "{what}: told at landmarks alone");
    let instructions: HashSet<_> = log.instructions.iter().collect();
    let borders: HashSet<_> = borders.iter().collect();
    let mut at_borders = all.instructions.iter().filter(|(pc, _)| borders.contains(pc));
    assert_eq!(at_borders.find(|it| !instructions.contains(it)), None, "{what}: not told");
    Executed { every: all.executed, alone: log.executed }
}
