//! A soc with a Cortex-R5, and its runs.

use rtmark_units::Cycles;

use super::core::StepResult;
use super::state::State;
use crate::soc::Soc;
use crate::state::stop::Stop;

/// A soc with a Cortex-R5 that runs an image.
#[derive(Clone, Debug)]
pub struct CortexR5 {
    pub(crate) state: State,
    /// The cycle up to which the machine is observed.
    pub(super) limit: Cycles,
}

impl CortexR5 {
    /// Creates a machine with empty memories. It starts at the first memory's first address, or at
    /// the vector address of the soc file, in A32 and supervisor mode, with high vectors
    /// unless that is 0.
    pub fn new(soc: &Soc) -> Self {
        Self { state: State::new(soc), limit: Cycles(0) }
    }

    /// Runs until the cycle count reaches `until` or something else ends the run.
    pub(super) fn run_on(&mut self, until: Cycles) -> Stop {
        self.state.core.code.observe_at(None);
        loop {
            if self.state.core.cycle() >= until.0 {
                return Stop::Limit;
            }
            let passed = self.step_until(until).and_then(|_| self.state.run_ahead(until.0));
            if let Err(stop) = passed {
                return stop;
            }
        }
    }

    /// Advances by one step, unless the run is to stop here.
    pub(super) fn step_until(&mut self, until: Cycles) -> Result<StepResult, Stop> {
        match self.state.due_stop() {
            Some(stop) => Err(stop),
            None => self.state.step_until(until.0),
        }
    }
}
