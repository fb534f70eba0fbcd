//! Runs an image and collects what it prints until it ends.

use rtmark_import::Program;
use rtmark_observe::RunClock;
use rtmark_sim::{Image, Machine};
use rtmark_units::{Cycles, Instructions};

use crate::run::{Ending, Session};

/// The most console output to keep, in bytes; no suite prints this much.
const MAX_CONSOLE: usize = 64 << 20;

/// Cycles for which a program may continue to print the line that announces its end.
const REST_OF_LINE: u64 = 10_000_000;

/// The result of a run at full speed.
#[derive(Debug)]
pub(super) struct ConsoleRun {
    pub console: Vec<u8>,
    pub ending: Ending,
    /// The ending, in words.
    pub ending_text: String,
    /// How long the run was.
    pub ran: Cycles,
    /// The number of instructions executed.
    pub instructions: Instructions,
    /// The core's clock, as it turns out at the end.
    pub clock: RunClock,
    /// Where its main stack grew beyond its end, in words, if it did.
    pub stack_overflow: Option<String>,
    /// What has no model.
    pub without_model: Vec<String>,
    /// Whether the program announced its end, and with which result.
    pub announced: Option<AnnouncedResult>,
}

/// How a benchmark program announces its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnnouncedResult {
    Well,
    Failed,
}

/// Makes a machine stop when the program prints one of its end texts. Returns the number of each text
/// with its meaning.
pub(super) fn stop_at_end(
    machine: &mut Machine,
    program: &Program,
) -> Vec<(usize, AnnouncedResult)> {
    let ends = program.ends.iter().map(|text| (text, AnnouncedResult::Well));
    let fails = program.fails.iter().map(|text| (text, AnnouncedResult::Failed));
    ends.chain(fails)
        .map(|(text, announced)| (machine.stop_at_output(text.as_bytes()), announced))
        .collect()
}

/// Runs an image until it ends, the program announces its end, or the given number of cycles has
/// passed.
pub(super) fn run(
    mut machine: Machine,
    image: &Image,
    program: Option<&Program>,
    limit: Cycles,
    advanced: &mut impl FnMut(Cycles, Cycles),
) -> ConsoleRun {
    let texts = program.map(|program| stop_at_end(&mut machine, program)).unwrap_or_default();
    let mut session = Session::with(machine, image);
    let mut console = Vec::new();
    let keep = |machine: &mut Machine, console: &mut Vec<u8>| {
        let printed = machine.take_console();
        if console.len() < MAX_CONSOLE {
            console.extend(printed);
        }
    };
    let ending = session.run(limit, |machine| {
        keep(machine, &mut console);
        advanced(machine.cycles(), limit);
    });
    let ran = session.machine.cycles();
    let announced = match ending {
        Ending::Output(text) => {
            texts.iter().find(|(number, _)| *number == text).map(|(_, announced)| *announced)
        }
        _ => None,
    };
    let ending_text = session.describe(&ending);
    // The line continues after the text, perhaps with the figure.
    let last = ran.saturating_add(Cycles(REST_OF_LINE));
    let mut at = ran;
    while announced.is_some() && at < last && !console.ends_with(b"\n") {
        at = at.saturating_add(Cycles(REST_OF_LINE / 100));
        session.run(at, |machine| keep(machine, &mut console));
    }
    let stack_overflow = session.stack_overflow();
    let machine = &session.machine;
    let (instructions, clock) = (machine.instructions(), RunClock::of(machine, image));
    let without_model = rtmark_observe::model_notes(machine);
    ConsoleRun {
        console,
        ending,
        ending_text,
        ran,
        instructions,
        clock,
        stack_overflow,
        without_model,
        announced,
    }
}
