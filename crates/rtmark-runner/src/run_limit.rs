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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rtmark_sim::{ClockControl, Soc};

    use super::*;
    use crate::tests::programs::{Program, soc};

    /// At 1 MHz a millisecond is 1000 cycles.
    #[test]
    fn a_run_ends_at_its_cycle_or_at_its_time() {
        let forever = Program { last: vec![0xE7FE], ..Program::default() }.probed();
        let limits = [
            (RunLimit::Cycles(Cycles(3_000)), 3_000),
            (RunLimit::Time(Duration::from_millis(3)), 3_000),
            (RunLimit::Time(Duration::from_micros(1)), 1),
        ];
        for (limit, cycle) in limits {
            let mut session = Session::new(&soc(), &forever.image).expect("it fits");
            assert_eq!(limit.cycle(&session), Cycles(cycle));
            let mut runs = 0;
            let Ok(ending) = limit.run(&mut session, |session, until| {
                runs += 1;
                Ok::<_, Infallible>(session.run(until, |_| {}))
            });
            assert!(matches!(ending, Ending::Limit), "{ending:?}");
            assert!((cycle..cycle + 5).contains(&session.machine.cycles().0), "{limit:?}");
            assert_eq!(runs, 1);
        }
    }

    /// The program sets the clock from 12 MHz, that of reset, to 48 MHz.
    #[test]
    fn a_run_lasts_its_time_by_a_clock_that_has_become_faster() {
        let soc = include_str!("../../../socs/stm32c031.toml");
        let mut soc = Soc::from_toml(soc).expect("a soc");
        soc.clock_control = ClockControl::Registers;
        // ldr r0, =RCC_CR; movs r1, #5; lsls r1, #8; str r1, [r0]; b .
        let code = [0x4802_u16, 0x2105, 0x0209, 0x6001, 0xE7FE, 0xBF00];
        let mut bytes = [0x2000_1000_u32, 0x0800_0009].map(u32::to_le_bytes).concat();
        bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
        bytes.extend(0x4002_1000_u32.to_le_bytes());
        let image = Image::from_bytes(&bytes, 0x0800_0000).expect("an image");
        let mut session = Session::new(&soc, &image).expect("it fits");
        let limit = RunLimit::Time(Duration::from_millis(1));
        assert_eq!(limit.cycle(&session), Cycles(12_000));
        let Ok(ending) = limit
            .run(&mut session, |session, until| Ok::<_, Infallible>(session.run(until, |_| {})));
        assert!(matches!(ending, Ending::Limit), "{ending:?}");
        let cycles = session.machine.cycles().0;
        assert!((47_800..48_010).contains(&cycles), "{cycles}");
    }

    #[test]
    fn a_run_that_ends_before_its_limit_is_not_continued() {
        let program = Program::default().probed();
        let mut session = Session::new(&soc(), &program.image).expect("it fits");
        let limit = RunLimit::Time(Duration::from_secs(1));
        let Ok(ending) = limit
            .run(&mut session, |session, until| Ok::<_, Infallible>(session.run(until, |_| {})));
        assert!(matches!(ending, Ending::Exit(status) if status.0 == 0), "{ending:?}");
        assert_eq!(limit.run(&mut session, |_, _| Err(7)).map(drop), Err(7));
    }
}
