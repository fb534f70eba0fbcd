//! The clock by which a run's cycles become times.
//!
//! The clock registers determine it where the soc has a clock tree, otherwise what the program itself
//! states, otherwise the soc's file. This module decides which, and says what a user should know of it.

use std::fmt::Write as _;
use std::time::Duration;

use rtmark_sim::{ClockControl, ClockHistory, ClockOperand, ClockTree, Image, Machine};
use rtmark_units::{Cycles, Hertz, Nanoseconds};

use crate::run::{Ending, Session};
use crate::stated_clock::StatedClock;

/// The most frequencies that a description lists.
const SHOWN: usize = 4;

/// When to end a run that does not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimit {
    /// At this many cycles since reset.
    Cycles(Cycles),
    /// At this time since reset, on the core's clock.
    Time(Duration),
}

impl RunLimit {
    /// Returns the cycle of the limit, as far as the core's clock is known now.
    pub fn cycle(self, machine: &Machine) -> Cycles {
        match self {
            Self::Cycles(cycles) => cycles,
            Self::Time(time) => machine.clock_history().cycle_at(time),
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
            let until = self.cycle(&session.machine);
            let ending = run(session, until)?;
            if !matches!(ending, Ending::Limit) || self.cycle(&session.machine) <= until {
                return Ok(ending);
            }
        }
    }
}

/// The clock of a run that has ended.
#[derive(Clone, Debug)]
pub struct RunClock {
    /// The frequencies, by which times are calculated.
    pub history: ClockHistory,
    /// Where they come from.
    pub origin: ClockOrigin,
    /// What a user should know of them, one sentence each.
    pub notes: Vec<String>,
    end: Cycles,
}

/// What determines the clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockOrigin {
    /// The chip's clock registers, or that no register changes the clock.
    Registers,
    /// The program's symbol with this name.
    Program(&'static str),
    /// The soc's file.
    Soc,
}

impl ClockOrigin {
    /// Returns the word for it in documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::Program(_) => "program",
            Self::Soc => "soc",
        }
    }
}

/// Returns whether a program can change the core's clock.
fn can_change(tree: &ClockTree) -> bool {
    tree.clocks.iter().any(|clock| {
        let fields = clock.ratio.iter().flat_map(|factor| [&factor.multiply, &factor.divide]);
        let is_field =
            |operand: &Option<ClockOperand>| matches!(operand, Some(ClockOperand::Field(_)));
        clock.select.is_some() || fields.into_iter().any(is_field)
    })
}

/// Returns what else may explain a clock that is not as expected.
fn crystal_hint(tree: &ClockTree) -> &'static str {
    if tree.has_crystal() { "; for a board with another crystal, --crystal" } else { "" }
}

/// Formats a clock as the option `--clock` takes it.
fn option(clock: Hertz) -> String {
    clock.to_string().replace(' ', "")
}

impl RunClock {
    /// Determines the clock of a run, at its end.
    pub fn of(machine: &Machine, image: &Image) -> Self {
        let (soc, end) = (machine.soc(), machine.cycles());
        let fixed =
            |clock, origin, notes| Self { history: ClockHistory::new(clock), origin, notes, end };
        if soc.clock_control == ClockControl::Fixed {
            return fixed(soc.clock, ClockOrigin::Soc, Vec::new());
        }
        let stated = StatedClock::read(machine, image.symbols());
        let (fallback, origin, why) = match stated {
            // Where it is the soc's but for rounding, the soc's is meant.
            Some(stated @ StatedClock { symbol, .. }) => {
                let clock = if stated.differs_from(soc.clock) { stated.clock } else { soc.clock };
                (clock, ClockOrigin::Program(symbol), format!("as the program's {symbol} states"))
            }
            None => (soc.clock, ClockOrigin::Soc, "as the soc's file says".to_owned()),
        };
        let Some(tree) = &soc.clock_tree else {
            let note = stated.filter(|stated| stated.differs_from(soc.clock)).map(|_| {
                format!(
                    "times are at {fallback}, {why}, but peripherals that count time run at the soc's \
                     {}: for both, --clock {}",
                    soc.clock,
                    option(fallback)
                )
            });
            return fixed(fallback, origin, note.into_iter().collect());
        };
        if let Some(unknown) = machine.unknown_clock() {
            let note = format!(
                "from cycle {} on the clock registers select a clock that the simulator cannot determine: \
                 {}; times are at {fallback}, {why}; for others, --clock{}",
                unknown.since.0,
                unknown.reason,
                crystal_hint(tree)
            );
            return fixed(fallback, origin, vec![note]);
        }
        let history = machine.clock_history().clone();
        let (now, mut notes) = (history.clock(), Vec::new());
        if history.changes().len() == 1 && can_change(tree) && now != soc.clock {
            notes.push(format!(
                "the program leaves the core at the clock after reset, {now}, of the soc's {}",
                soc.clock
            ));
        }
        notes.extend(stated.filter(|stated| stated.differs_from(now)).map(|stated| {
            let StatedClock { clock, symbol } = stated;
            format!(
                "times are at the {now} that the clock registers give; the program's {symbol} states \
                 {clock}: for that, --clock {}{}",
                option(clock),
                crystal_hint(tree)
            )
        }));
        Self { history, origin: ClockOrigin::Registers, notes, end }
    }

    /// Returns the frequency that the core had for most of the run.
    pub fn main(&self) -> Hertz {
        self.history.main_clock(self.end)
    }

    /// Returns the length of the run.
    pub fn duration(&self) -> Nanoseconds {
        self.history.time_at(self.end)
    }

    /// Describes the frequencies, in the order in which the core had them.
    pub fn describe(&self) -> String {
        let mut changes = self.history.changes();
        let mut text = changes.next().map_or_else(String::new, |first| first.clock.to_string());
        let more = changes.len().saturating_sub(SHOWN);
        for change in changes.take(SHOWN) {
            let _ = write!(text, ", then {} from cycle {}", change.clock, change.cycle.0);
        }
        if more > 0 {
            let _ = write!(text, ", and {more} more changes, the last to {}", self.history.clock());
        }
        text
    }
}
