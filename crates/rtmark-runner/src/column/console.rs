//! Runs an image and collects what it prints until it ends.

use rtmark_import::Program;
use rtmark_sim::{Image, Machine};
use rtmark_units::Cycles;

use crate::run::{Ending, Session};

/// The most console output to keep, in bytes; no suite prints this much.
const LONGEST: usize = 64 << 20;

/// Cycles for which a program may continue to print the line that announces its end.
const REST_OF_LINE: u64 = 10_000_000;

/// The result of a run at full speed.
#[derive(Debug)]
pub(super) struct Printed {
    pub console: Vec<u8>,
    pub ending: Ending,
    /// The ending, in words.
    pub told: String,
    /// How long the run was.
    pub ran: Cycles,
    /// Whether the program announced its end, and with which result.
    pub said: Option<Said>,
}

/// How a benchmark program announces its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Well,
    Failed,
}

/// Makes a machine stop when the program prints one of its end texts. Returns the number of each text
/// with its meaning.
pub(super) fn stop_at_end(machine: &mut Machine, program: &Program) -> Vec<(usize, Said)> {
    let ends = program.ends.iter().map(|text| (text, Said::Well));
    let fails = program.fails.iter().map(|text| (text, Said::Failed));
    ends.chain(fails).map(|(text, said)| (machine.stop_at_output(text.as_bytes()), said)).collect()
}

/// Runs an image until it ends, the program announces its end, or the given number of cycles has
/// passed.
pub(super) fn run(
    mut machine: Machine,
    image: &Image,
    program: Option<&Program>,
    limit: Cycles,
    advanced: &mut impl FnMut(Cycles, Cycles),
) -> Printed {
    let texts = program.map(|program| stop_at_end(&mut machine, program)).unwrap_or_default();
    let mut session = Session::with(machine, image);
    let mut console = Vec::new();
    let keep = |machine: &mut Machine, console: &mut Vec<u8>| {
        let printed = machine.take_console();
        if console.len() < LONGEST {
            console.extend(printed);
        }
    };
    let ending = session.run(limit, |machine| {
        keep(machine, &mut console);
        advanced(machine.cycles(), limit);
    });
    let ran = session.machine.cycles();
    let said = match ending {
        Ending::Output(text) => {
            texts.iter().find(|(number, _)| *number == text).map(|(_, said)| *said)
        }
        _ => None,
    };
    let told = session.tell(&ending);
    // The line continues after the text, perhaps with the figure.
    let last = ran.saturating_add(Cycles(REST_OF_LINE));
    let mut at = ran;
    while said.is_some() && at < last && !console.ends_with(b"\n") {
        at = at.saturating_add(Cycles(REST_OF_LINE / 100));
        session.run(at, |machine| keep(machine, &mut console));
    }
    Printed { console, ending, told, ran, said }
}
