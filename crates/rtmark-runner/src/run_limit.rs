//! Where a run that does not end by itself is ended.

use std::time::Duration;

use rtmark_observe::RunClock;
use rtmark_sim::{Image, Machine};
use rtmark_units::Cycles;

use crate::run::{Ending, Session};

/// When to end a run that does not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimit {
    /// At this many cycles since reset.
    Cycles(Cycles),
    /// At this time since reset, on the core's clock.
    Time(Duration),
}

impl RunLimit {
    /// Returns the cycle of the limit by the clock of the run up to now. It is the clock of the run's times, so
    /// that a run of a second is reported as one.
    pub fn cycle(self, session: &Session<'_>) -> Cycles {
        self.cycle_of(&session.machine, session.image())
    }

    /// Returns the cycle of the limit by the clock of a machine that runs an image.
    pub fn cycle_of(self, machine: &Machine, image: &Image) -> Cycles {
        match self {
            Self::Cycles(cycles) => cycles,
            Self::Time(time) => RunClock::of(machine, image).history.cycle_at(time),
        }
    }

    /// Runs up to the limit. `run` runs up to a cycle; it is called again where the clock has become faster.
    /// Where it becomes slower, the run is longer than the time by what is left at that moment, at most.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run<'a, E>(
        self,
        session: &mut Session<'a>,
        mut run: impl FnMut(&mut Session<'a>, Cycles) -> Result<Ending, E>,
    ) -> Result<Ending, E> {
        loop {
            let until = self.cycle(session);
            let ending = run(session, until)?;
            if !matches!(ending, Ending::Limit) || self.cycle(session) <= until {
                return Ok(ending);
            }
        }
    }
}
