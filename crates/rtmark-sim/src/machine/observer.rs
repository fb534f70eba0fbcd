//! Following a run instruction by instruction, for traces, profiles and debuggers.
//!
//! An observed run goes through a loop of its own, which executes the same
//! instructions by the same code as [`Machine::run`] and takes the same cycles; a
//! run that nobody observes pays nothing. Observers see the machine and cannot
//! change it.

use std::ops::ControlFlow;

use rtmark_units::Cycles;

use crate::debug::{CoreModel, Instruction, Marks, Observed};
use crate::machine::{Core, Machine, on};
use crate::state::stop::Stop;

/// What an observed run tells. Every method may be left out.
pub trait Observer {
    /// The instruction at the program counter is about to execute, in the cycle that
    /// [`Machine::cycles`](crate::Machine::cycles) says. [`ControlFlow::Break`] ends the run before it, with
    /// [`Stop::Observer`].
    fn before(&mut self, _machine: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The core has slept until now.
    fn slept(&mut self, _machine: &Machine) {}

    /// An instruction has executed, or its condition has passed over it.
    fn executed(&mut self, _machine: &Machine, _instruction: &Instruction) {}

    /// The handler of the exception with this number is about to execute.
    fn entered(&mut self, _machine: &Machine, _exception: u16) {}

    /// The handler of the exception with this number has returned: to what it
    /// interrupted, or straight to another handler, whose entry is told next.
    fn returned(&mut self, _machine: &Machine, _exception: u16) {}
}

/// Two that observe the same run; either may end it.
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

impl Machine {
    /// Runs as [`Machine::run`] does, with everything told to an observer on the way. Between two
    /// calls of the observer's methods lies whatever the core waited for.
    pub fn run_observed(&mut self, until: Cycles, observer: &mut impl Observer) -> Stop {
        let stop = match self.core {
            Core::CortexM(_) => self.observe(Core::cortex_m, until, observer),
            Core::CortexR5(_) => self.observe(Core::cortex_r5, until, observer),
            Core::RiscV(_) => self.observe(Core::riscv, until, observer),
            #[cfg(test)]
            Core::Toy(_) => self.observe(Core::toy, until, observer),
        };
        on!(&self.core, core => core.reason(stop))
    }

    fn observe<C: Observed>(
        &mut self,
        which: fn(&mut Core) -> Option<&mut C>,
        until: Cycles,
        observer: &mut impl Observer,
    ) -> Stop {
        // The core is the one that was asked for, and stays so.
        macro_rules! core {
            () => {
                match which(&mut self.core) {
                    Some(core) => core,
                    None => return Stop::Limit,
                }
            };
        }
        core!().begin_observed(until);
        loop {
            let before = core!().marks();
            let reached = match core!().reach_observed() {
                Ok(reached) => reached,
                Err(stop) => return stop,
            };
            let Some(reached) = reached else {
                let now = core!().marks();
                self.tell_exceptions(before, now, observer);
                if now.taken == before.taken && now.idle > before.idle {
                    observer.slept(self);
                }
                continue;
            };
            if observer.before(self).is_break() {
                return Stop::Observer;
            }
            let (executed, step) = core!().execute_observed(reached);
            if let Some(instruction) = executed {
                observer.executed(self, &instruction);
            }
            let now = core!().marks();
            self.tell_exceptions(before, now, observer);
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    fn tell_exceptions(&self, before: Marks, now: Marks, observer: &mut impl Observer) {
        if now.left != before.left {
            observer.returned(self, before.handler);
        }
        if now.taken != before.taken {
            observer.entered(self, now.handler);
        }
    }
}
