//! Runs one point again and records every step.

use std::ops::ControlFlow;

use rtmark_sim::{Blocker, Cycles, Instruction, Irq, Machine, Observer, Register};

use crate::findings::{Aspect, Case};
use crate::fork::follow;
use crate::held::merged;
use crate::meet::{EarlierState, Interleaving, meet};
use crate::path::Path;

/// The largest number of steps kept for a witness.
const MAX_STEPS: usize = 20_000;

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The instruction at this address begins.
    Instruction(u32),
    /// The handler of this exception is about to execute.
    Entered(u16),
    /// The handler of this exception has returned.
    Returned(u16),
    /// The core slept until now.
    Slept,
}

/// A step of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessStep {
    /// The cycle in which it happens.
    pub cycle: u64,
    /// What happens.
    pub moment: Moment,
    /// What holds the interrupt back at this moment, if it is pending and held.
    pub held: Option<Blocker>,
    /// The cycle at the end of the step's instruction, if the interrupt is free from then on.
    pub freed: Option<u64>,
}

/// The record of a point that was run again.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The interrupt.
    pub interrupt: Irq,
    /// The cycle in which it becomes pending.
    pub point: u64,
    /// The other one of two interrupts, the cycle in which it becomes pending, and how they met.
    pub other: Option<(Irq, u64, Option<Interleaving>)>,
    /// Its cost, measured in the same way as in the findings.
    pub cycles: i64,
    /// The cycle in which it is served.
    pub served: u64,
    /// The steps from the instruction during which the interrupt, or the earlier one of two, becomes
    /// pending until the interrupt is served.
    pub steps: Vec<WitnessStep>,
}

struct Recorder {
    interrupt: Irq,
    point: u64,
    /// When the earlier one of two becomes pending.
    since: u64,
    until: u64,
    steps: Vec<WitnessStep>,
    entered: bool,
}

impl Recorder {
    fn note(&mut self, machine: &Machine, moment: Moment) {
        let cycle = machine.cycles().0;
        let waits = cycle >= self.point && !self.entered;
        let held = if waits { machine.interrupt_blocker(self.interrupt) } else { None };
        // Of the steps before the point, only the last instruction matters.
        if cycle < self.since {
            self.steps.clear();
        }
        if self.steps.len() < MAX_STEPS {
            self.steps.push(WitnessStep { cycle, moment, held: held.map(merged), freed: None });
        }
    }
}

impl Observer for Recorder {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        self.note(machine, Moment::Instruction(machine.register(Register::Pc)));
        if machine.cycles().0 >= self.until {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn slept(&mut self, machine: &Machine) {
        self.note(machine, Moment::Slept);
    }

    fn executed(&mut self, machine: &Machine, _: &Instruction) {
        // The entry that may follow is no instruction, and has no step of its own.
        if let Some(last) = self.steps.last_mut()
            && last.held.is_some()
            && last.freed.is_none()
            && machine.interrupt_blocker(self.interrupt).is_none()
        {
            let mut ahead = machine.clone();
            ahead.settle();
            last.freed = Some(ahead.cycles().0);
        }
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        // An earlier entry, of the program's own, served what was pending before.
        let is_due = machine.cycles().0 >= self.point;
        self.entered |= is_due && exception == self.interrupt.exception();
        self.note(machine, Moment::Entered(exception));
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.note(machine, Moment::Returned(exception));
    }
}

impl Path {
    /// Runs a point again from the beginning of the path. Returns `None` if it has no answer for this
    /// aspect.
    pub fn witness(&self, aspect: Aspect, case: Case) -> Option<Witness> {
        let point = case.point;
        let Some(distance) = case.distance else {
            let mut machine = self.before(point);
            let outcome = follow(self, &mut machine, point);
            let (served, cycles) = match aspect {
                Aspect::Handler => (outcome.entered?, None),
                Aspect::Task => (outcome.woken?, None),
                Aspect::Resume => (outcome.resumed?, None),
                // The code that it interrupts may continue much later, or never.
                Aspect::Delay => (outcome.resumed.or(outcome.entered)?, Some(outcome.delay?.ok()?)),
                Aspect::Second => return None,
            };
            let interrupt = self.question().interrupt;
            machine.pend_interrupt(interrupt, Cycles(point));
            let steps = record(machine, interrupt, [point, point], served);
            let cycles = cycles.unwrap_or(served.cast_signed() - point.cast_signed());
            return Some(Witness { interrupt, point, other: None, cycles, served, steps });
        };
        let (own, other) = match aspect {
            Aspect::Handler => (self.line(), self.second()?.1),
            Aspect::Second => (self.second()?.1, self.line()),
            _ => return None,
        };
        let beside = point.saturating_add_signed(distance);
        let since = point.min(beside);
        let mut machine = self.before(since);
        let first = if distance < 0 { other } else { own };
        machine.pend_interrupt(first.interrupt, Cycles(since));
        let (served, how) = if distance < 0 {
            let met = meet(self, &machine, [other, own], EarlierState::default(), [beside, point]);
            (met.later.ok()?, met.how)
        } else {
            let met = meet(self, &machine, [own, other], EarlierState::default(), [point, beside]);
            (met.earlier.ok()?, met.how)
        };
        let second = if distance < 0 { own } else { other };
        machine.pend_interrupt(second.interrupt, Cycles(point.max(beside)));
        Some(Witness {
            interrupt: own.interrupt,
            point,
            other: Some((other.interrupt, beside, how)),
            cycles: served.cast_signed() - point.cast_signed(),
            served,
            steps: record(machine, own.interrupt, [point, since], served),
        })
    }

    /// Returns the machine at a boundary some distance before a point.
    fn before(&self, point: u64) -> Machine {
        let machine = self.at(point.saturating_sub(256));
        // If the step before the point is longer than that, start from the beginning.
        if machine.cycles().0 >= point { self.start().clone() } else { machine }
    }
}

/// Records the steps of a machine in which an interrupt becomes pending, until it is served.
fn record(
    mut machine: Machine,
    interrupt: Irq,
    [point, since]: [u64; 2],
    served: u64,
) -> Vec<WitnessStep> {
    let mut recorder =
        Recorder { interrupt, point, since, until: served, steps: Vec::new(), entered: false };
    let _ = machine.run_observed(Cycles(served.saturating_add(64)), &mut recorder);
    recorder.steps
}

impl Witness {
    /// Returns the instruction during which the interrupt becomes pending.
    pub fn interrupted(&self) -> Option<u32> {
        let until = self.steps.iter().filter(|step| step.cycle <= self.point);
        let instruction = |step: &WitnessStep| match step.moment {
            Moment::Instruction(address) => Some(address),
            _ => None,
        };
        until
            .filter_map(instruction)
            .next_back()
            .or_else(|| self.steps.iter().find_map(instruction))
    }

    /// Returns what held the interrupt back, with the cycles of each, in order of first appearance;
    /// `None` stands for instructions and entries that had to finish.
    pub fn blockers(&self) -> Vec<(Option<Blocker>, u64)> {
        let mut blockers: Vec<(Option<Blocker>, u64)> = Vec::new();
        let ends = self.steps.iter().skip(1).map(|step| step.cycle).chain([self.served]);
        for (step, end) in self.steps.iter().zip(ends) {
            // The last steps may be later than the moment in question: if the handler's code has to be
            // waited for, the instruction after its first one is recorded as well, and so is its return
            // if it has no other instruction.
            let [begin, end] =
                [step.cycle, end].map(|cycle| cycle.min(self.served).max(self.point));
            let freed = step.freed.unwrap_or(end).clamp(begin, end);
            for (held, cycles) in [(step.held, freed - begin), (None, end - freed)] {
                match blockers.iter_mut().find(|(known, _)| *known == held) {
                    _ if cycles == 0 => {}
                    Some((_, sum)) => *sum += cycles,
                    None => blockers.push((held, cycles)),
                }
            }
        }
        blockers
    }
}
