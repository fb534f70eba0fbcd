//! Following a run instruction by instruction, for traces, profiles and debuggers.
//!
//! An observed run has a loop of its own, which executes the same instructions with the same code as
//! [`Machine::run`] and takes the same cycles; an unobserved run pays nothing. Observers see the machine
//! but cannot change it.

use std::ops::ControlFlow;

use rtmark_units::Cycles;

use crate::debug::{BoundaryCounts, CoreModel, Instruction, Observed};
use crate::machine::{Core, Machine, on};
use crate::state::Landmarks;
use crate::state::stop::Stop;

/// Receives the events of an observed run. Every method has a default that does nothing.
pub trait Observer {
    /// The instruction at the program counter is about to execute, in the cycle that
    /// [`Machine::cycles`](crate::Machine::cycles) returns. [`ControlFlow::Break`] ends the run before it,
    /// with [`Stop::Observer`].
    fn before(&mut self, _machine: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The core has slept until now.
    fn slept(&mut self, _machine: &Machine) {}

    /// An instruction has executed, or was skipped because its condition failed.
    fn executed(&mut self, _machine: &Machine, _instruction: &Instruction) {}

    /// The handler of the exception with this number is about to execute.
    fn entered(&mut self, _machine: &Machine, _exception: u16) {}

    /// The handler of the exception with this number has returned: to the code that it interrupted, or
    /// directly to another handler (tail-chaining), whose entry is reported next.
    fn returned(&mut self, _machine: &Machine, _exception: u16) {}
}

/// Two observers of the same run; either may end it.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let first = self.0.before(machine);
        let second = self.1.before(machine);
        if first.is_break() { first } else { second }
    }

    fn slept(&mut self, machine: &Machine) {
        self.0.slept(machine);
        self.1.slept(machine);
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.0.executed(machine, instruction);
        self.1.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.0.entered(machine, exception);
        self.1.entered(machine, exception);
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.0.returned(machine, exception);
        self.1.returned(machine, exception);
    }
}

/// An observer of a run at [`Landmarks`]. It receives every landmark instruction, the instruction that
/// follows each, and all other events. It must not depend on whether it receives more than that.
pub trait LandmarkObserver: Observer {
    /// Instructions up to cycle `now` have executed since the last one reported as about to execute, and
    /// none of them was a landmark. If an exception has been entered by now, its entry is reported next.
    fn ran_until(&mut self, machine: &Machine, now: Cycles);
}

impl<A: LandmarkObserver, B: LandmarkObserver> LandmarkObserver for (A, B) {
    fn ran_until(&mut self, machine: &Machine, now: Cycles) {
        self.0.ran_until(machine, now);
        self.1.ran_until(machine, now);
    }
}

/// Which events of a run are reported, and to which observer.
trait Reporting {
    type Target: Observer;

    fn target(&mut self) -> &mut Self::Target;

    fn landmarks(&self) -> Option<&Landmarks>;

    fn ran_until(&mut self, machine: &Machine, now: Cycles);
}

/// Reports every event.
struct Everything<'a, O>(&'a mut O);

impl<O: Observer> Reporting for Everything<'_, O> {
    type Target = O;

    fn target(&mut self) -> &mut O {
        self.0
    }

    fn landmarks(&self) -> Option<&Landmarks> {
        None
    }

    fn ran_until(&mut self, _machine: &Machine, _now: Cycles) {}
}

/// Reports the events at landmarks.
struct AtLandmarks<'a, O>(&'a mut O, &'a Landmarks);

impl<O: LandmarkObserver> Reporting for AtLandmarks<'_, O> {
    type Target = O;

    fn target(&mut self) -> &mut O {
        self.0
    }

    fn landmarks(&self) -> Option<&Landmarks> {
        Some(self.1)
    }

    fn ran_until(&mut self, machine: &Machine, now: Cycles) {
        self.0.ran_until(machine, now);
    }
}

impl Machine {
    /// Runs as [`Machine::run`] does, and reports every event to an observer. The time between two calls of
    /// the observer's methods includes whatever the core waited for.
    pub fn run_observed(&mut self, until: Cycles, observer: &mut impl Observer) -> Stop {
        self.run_reporting(until, Everything(observer))
    }

    /// Runs as [`Machine::run_observed`] does, but reports only what happens at landmarks and executes the
    /// code between them at full speed. On cores that do not support landmarks, every event is reported.
    pub fn run_observed_at(
        &mut self,
        landmarks: &Landmarks,
        until: Cycles,
        observer: &mut impl LandmarkObserver,
    ) -> Stop {
        self.run_reporting(until, AtLandmarks(observer, landmarks))
    }

    fn run_reporting(&mut self, until: Cycles, reporting: impl Reporting) -> Stop {
        let stop = match self.core {
            Core::CortexM(_) => self.observe(Core::cortex_m, until, reporting),
            Core::CortexR5(_) => self.observe(Core::cortex_r5, until, reporting),
            Core::RiscV(_) => self.observe(Core::riscv, until, reporting),
            #[cfg(test)]
            Core::Toy(_) => self.observe(Core::toy, until, reporting),
        };
        on!(&self.core, core => core.reason(stop))
    }

    fn observe<C: Observed>(
        &mut self,
        which: fn(&mut Core) -> Option<&mut C>,
        until: Cycles,
        mut reporting: impl Reporting,
    ) -> Stop {
        // The machine keeps the core it was created with.
        macro_rules! core {
            () => {
                match which(&mut self.core) {
                    Some(core) => core,
                    None => return Stop::Limit,
                }
            };
        }
        core!().begin_observed(until, reporting.landmarks());
        loop {
            let before = core!().marks();
            let reached = match core!().reach_observed() {
                Ok(reached) => reached,
                Err(stop) => return stop,
            };
            let Some(reached) = reached else {
                let now = core!().marks();
                self.report_exceptions(before, now, reporting.target());
                if now.taken == before.taken && now.idle > before.idle {
                    reporting.target().slept(self);
                }
                continue;
            };
            if reporting.target().before(self).is_break() {
                return Stop::Observer;
            }
            let (passed, mut step) = match reporting.landmarks() {
                Some(_) => core!().run_to_landmark(&reached),
                None => (None, Ok(())),
            };
            if let Some(now) = passed {
                reporting.ran_until(self, now);
            } else {
                let (executed, ended) = core!().execute_observed(reached);
                if let Some(instruction) = executed {
                    reporting.target().executed(self, &instruction);
                }
                step = ended;
            }
            let now = core!().marks();
            self.report_exceptions(before, now, reporting.target());
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    fn report_exceptions(
        &self,
        before: BoundaryCounts,
        now: BoundaryCounts,
        observer: &mut impl Observer,
    ) {
        if now.left != before.left {
            observer.returned(self, before.handler);
        }
        if now.taken != before.taken {
            observer.entered(self, now.handler);
        }
    }
}
