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

    /// Runs up to the limit. `run` runs up to a cycle; with a time, it is called again where the clock has changed.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run<'a, E>(
        self,
        session: &mut Session<'a>,
        mut run: impl FnMut(&mut Session<'a>, Cycles) -> Result<Ending, E>,
    ) -> Result<Ending, E> {
        session.machine.stop_at_slower_clock(matches!(self, Self::Time(_)));
        let ending = loop {
            let until = self.cycle(session);
            match run(session, until)? {
                Ending::SlowerClock if self.cycle(session) > session.machine.cycles() => {}
                Ending::SlowerClock => break Ending::Limit,
                Ending::Limit if self.cycle(session) > until => {}
                ending => break ending,
            }
        };
        session.machine.stop_at_slower_clock(false);
        Ok(ending)
    }
}
