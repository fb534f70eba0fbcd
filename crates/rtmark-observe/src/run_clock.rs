//! The clock by which a run's cycles become times.
//!
//! The clock registers determine it where the soc has a clock tree, otherwise what the program itself
//! states, otherwise the soc's file. This module decides which, and says what a user should know of it.

use std::fmt;
use std::fmt::Write as _;

use rtmark_model::{PROBES_SECTION, SELECT_SYMBOL, clock_note};
use rtmark_sim::{ClockControl, ClockHistory, ClockOperand, ClockTree, Image, Machine};
use rtmark_units::{Cycles, Hertz, Nanoseconds};

use crate::stated_clock::{StatedClock, differs};

/// Crystals of boards: among them those of Nucleos (8 MHz), Pyboards (12 MHz) and Black Pills (25 MHz).
const CRYSTALS: [Hertz; 10] = {
    const MHZ: u32 = 1_000_000;
    [
        Hertz(4 * MHZ),
        Hertz(8 * MHZ),
        Hertz(10 * MHZ),
        Hertz(12 * MHZ),
        Hertz(16 * MHZ),
        Hertz(20 * MHZ),
        Hertz(24 * MHZ),
        Hertz(25 * MHZ),
        Hertz(26 * MHZ),
        Hertz(32 * MHZ),
    ]
};

/// The most frequencies that a description lists.
const SHOWN: usize = 4;

/// Returns what determines the core's clock in a run of an image: for rtmark's own images the soc's file, because
/// they are built for its clock and program no PLL; for all others the clock registers. Probes alone do not make
/// an image one of rtmark's own: anybody's firmware may contain them.
pub fn clock_control(image: &Image) -> ClockControl {
    let selects = image.symbols().address_of(SELECT_SYMBOL).is_some();
    let is_own = selects && image.section(PROBES_SECTION).is_some();
    if is_own { ClockControl::Fixed } else { ClockControl::Registers }
}

/// The clock of a run, up to some moment.
#[derive(Clone, Debug)]
pub struct RunClock {
    /// The frequencies, by which times are calculated.
    pub history: ClockHistory,
    /// Where they come from.
    pub origin: ClockOrigin,
    /// What a user should know of them.
    pub notes: Vec<ClockNote>,
    end: Cycles,
}

/// What a user should know of a run's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockNote {
    /// A sentence, without its period.
    pub text: String,
    /// The continuation of the sentence that names options of the command line; may be empty.
    pub options: String,
}

impl fmt::Display for ClockNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, options } = self;
        write!(f, "{text}{options}")
    }
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

/// Returns the clock to which a program has set the core by its registers, if the clock of the run does not
/// follow them and is another one. `after_reset` is the clock that they selected before the program ran.
pub fn ignored_clock(machine: &Machine, after_reset: Option<Hertz>) -> Option<Hertz> {
    let soc = machine.soc();
    let selected = machine.selected_clock().filter(|_| soc.clock_control == ClockControl::Fixed)?;
    (differs(selected, soc.clock) && after_reset != Some(selected)).then_some(selected)
}

/// Returns what else may explain a clock that is not as expected: the crystal with which the registers give the clock that
/// the program states, if one of those that boards have does.
fn crystal_hint(machine: &Machine, tree: &ClockTree, stated: Option<&StatedClock>) -> String {
    if !tree.has_crystal() {
        return String::new();
    }
    let gives = |stated: &StatedClock, crystal| {
        machine.clock_with_crystal(crystal).is_some_and(|clock| !stated.differs_from(clock))
    };
    let found = |stated: &&StatedClock| CRYSTALS.into_iter().find(|it| gives(stated, *it));
    match stated.and_then(|stated| Some((stated.clock, found(&stated)?))) {
        Some((clock, crystal)) => format!(
            "; with a crystal of {crystal} the registers give {clock}: --crystal {}",
            option(crystal)
        ),
        None => "; for a board with another crystal, --crystal".to_owned(),
    }
}

/// Formats a clock as the option `--clock` takes it.
fn option(clock: Hertz) -> String {
    clock.to_string().replace(' ', "")
}

impl RunClock {
    /// Determines the clock of a run that has come to where a machine is.
    pub fn of(machine: &Machine, image: &Image) -> Self {
        let (soc, end) = (machine.soc(), machine.cycles());
        let fixed =
            |clock, origin, notes| Self { history: ClockHistory::new(clock), origin, notes, end };
        if soc.clock_control == ClockControl::Fixed {
            // The machine has run, and does not keep what its registers were.
            let after_reset = || Machine::new(soc).selected_clock();
            let selected =
                ignored_clock(machine, None).and_then(|_| ignored_clock(machine, after_reset()));
            let note = selected.map(|selected| ClockNote {
                text: clock_note("the program", selected, soc.clock),
                options: format!(": for the other, --clock {}", option(selected)),
            });
            return fixed(soc.clock, ClockOrigin::Soc, note.into_iter().collect());
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
            let note = stated.filter(|stated| stated.differs_from(soc.clock)).map(|_| ClockNote {
                text: format!(
                    "times are at {fallback}, {why}, but peripherals that count time run at the \
                         soc's {}",
                    soc.clock
                ),
                options: format!(": for both, --clock {}", option(fallback)),
            });
            return fixed(fallback, origin, note.into_iter().collect());
        };
        if let Some(unknown) = machine.unknown_clock() {
            let note = ClockNote {
                text: format!(
                    "from cycle {} on the clock registers select a clock that the simulator cannot \
                     determine: {}; times are at {fallback}, {why}",
                    unknown.since.0, unknown.reason
                ),
                options: format!(
                    "; for others, --clock{}",
                    crystal_hint(machine, tree, stated.as_ref())
                ),
            };
            return fixed(fallback, origin, vec![note]);
        }
        let history = machine.clock_history().clone();
        let (now, mut notes) = (history.clock(), Vec::new());
        if history.changes().len() == 1 && can_change(tree) && differs(now, soc.clock) {
            notes.push(ClockNote {
                text: format!(
                    "the program leaves the core at the clock after reset, {now}, of the soc's {}",
                    soc.clock
                ),
                options: String::new(),
            });
        }
        notes.extend(stated.filter(|stated| stated.differs_from(now)).map(|stated| {
            let StatedClock { clock, symbol } = stated;
            let crystal = crystal_hint(machine, tree, Some(&stated));
            ClockNote {
                text: format!(
                    "times are at the {now} that the clock registers give; the program's {symbol} \
                     states {clock}"
                ),
                options: format!(": for that, --clock {}{crystal}", option(clock)),
            }
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
