//! Boards, and the platforms for their firmware: the board itself, or the simulator in its place.

use std::sync::{Arc, Mutex, PoisonError};

use rtmark_board::{Board, Capture, Device, DeviceError, Heard, OutputChannel};
use rtmark_firmware::{Console, Target, sha256};
use rtmark_model::{Failure, FailureKind, Scenario, visible};
use rtmark_sim::{Image, Soc};
use rtmark_units::{Cycles, Hertz};

use crate::description_file::{self, DescriptionFile, FileError, FileKind};
use crate::internal_error;
use crate::judge::{Clocked, RunEnd, judge};
use crate::measure::Measured;
use crate::run::{Ending, SLICE, Session};
use crate::socs::{self, SocFile};

/// A board and the file it was read from.
#[derive(Clone, Debug)]
pub struct BoardFile {
    /// The board.
    pub board: Board,
    /// Its soc.
    pub soc: SocFile,
    /// SHA-256 of both files, in hexadecimal.
    pub sha256: String,
    /// Where it comes from: a path, or the name of a file built into this program.
    pub origin: String,
}

impl DescriptionFile for BoardFile {
    const KIND: FileKind = FileKind::Board;
    const BUILTIN: &'static [(&'static str, &'static str)] = description_file::files_of![
        "boards":
        "nucleo-c031c6.toml",
        "stm32vldiscovery.toml",
        "stm32f405.toml",
        "nucleo-l432kc.toml",
        "nrf52840-dk.toml",
    ];

    fn from_text(origin: &str, text: &str) -> Result<Self, FileError> {
        let board = Board::from_toml(text).map_err(|source| Self::invalid(origin, source))?;
        let soc = socs::find(&board.soc).map_err(|source| Self::wrong_soc(origin, source))?;
        let sha256 = sha256(format!("{}{}", sha256(text.as_bytes()), soc.sha256).as_bytes());
        Ok(Self { board, soc, sha256, origin: origin.to_owned() })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        [self.board.name.as_str(), self.board.soc.as_str()].into_iter()
    }
}

/// Returns the boards that are built into this program.
///
/// # Errors
/// Never in a released program: tests read every built-in file. They are parsed like a user's files.
pub fn builtin() -> Result<Vec<BoardFile>, FileError> {
    description_file::builtin()
}

/// Finds a board by its name, by its soc's name, or by the path of its file. A name that ends in
/// `.toml` or contains a path separator is taken as a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or parsed.
pub fn find(name_or_path: &str) -> Result<BoardFile, FileError> {
    description_file::find(name_or_path)
}

impl BoardFile {
    /// Returns what a build for this board needs to know.
    pub fn target(&self, output_channel: OutputChannel) -> Target {
        let soc = &self.soc.soc;
        let console = self.board.console.as_ref().map(|console| Console {
            start: console.start.clone(),
            data: console.data,
            status: console.status,
            mask: console.mask,
            ready: console.ready,
        });
        let console = console.filter(|_| output_channel == OutputChannel::Uart);
        Target { console, ..Target::from(soc).clocked(soc.core) }
    }

    /// The core's clock.
    pub fn clock(&self) -> Hertz {
        Hertz(self.board.clock_hz)
    }
}

/// A board that is connected to this computer.
#[derive(Clone, Debug)]
pub struct Bench {
    /// What its file says.
    pub file: BoardFile,
    /// What a build for it needs to know.
    pub target: Target,
    /// How it is reached.
    pub link: String,
    /// The board itself, which runs one scenario at a time.
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    device: Box<dyn Device>,
    /// Set once the board could not be reached: why later scenarios are not attempted.
    given_up: Option<Failure>,
}

impl Bench {
    /// Creates a board that is reached through `device`.
    pub fn new(file: BoardFile, device: Box<dyn Device>) -> Self {
        let target = file.target(device.output_channel());
        let link = device.link();
        Self { file, target, link, state: Arc::new(Mutex::new(State { device, given_up: None })) }
    }

    /// Runs an image with one scenario selected on the board.
    ///
    /// # Errors
    /// When the board cannot be reached, or the firmware ends without printing `ok`. A board that
    /// cannot be reached at all is not tried again.
    pub(crate) fn run(
        &self,
        image: &Clocked,
        scenario: &Scenario,
    ) -> (Option<Capture>, Result<Measured, Failure>) {
        let place = format!("on the board at {}", self.link);
        let elf = match image.with(scenario, &place) {
            Ok(elf) => elf,
            Err(failure) => return (None, Err(failure)),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = &state.given_up {
            return (None, Err(failure.clone()));
        }
        match state.device.run(&elf) {
            Ok(capture) => {
                let ending_text = "the end of its run";
                let ended = RunEnd { ending_text, succeeded: true, place: &place, counter: None };
                let judged = judge(&capture.console, ended, image, scenario);
                (Some(capture), judged)
            }
            Err(error) => {
                let (kind, for_good) = kind_of(&error);
                let end = error.console().len().saturating_sub(4096);
                let failure = Failure {
                    kind,
                    message: format!("{error} [{}]", self.link),
                    hint: error.hint(),
                    console: visible(&error.console()[end..]),
                };
                if for_good {
                    state.given_up = Some(failure.clone());
                }
                let console = error.console().to_vec();
                let capture = (!console.is_empty()).then_some(Capture { console, chip_id: None });
                (capture, Err(failure))
            }
        }
    }
}

/// Returns the kind of failure, and whether the next scenario would fail in the same way.
fn kind_of(error: &DeviceError) -> (FailureKind, bool) {
    use rtmark_board::Silence;
    match error {
        DeviceError::Silent { silence: Silence::Unfinished(_), .. }
        | DeviceError::TooMuchOutput { .. } => (FailureKind::Budget, false),
        DeviceError::Silent { .. } => (FailureKind::Budget, true),
        DeviceError::Stopped(_) => (FailureKind::Fault, false),
        _ => (FailureKind::ToolMissing, true),
    }
}

/// A board's firmware run on the simulator: the same image, with probes that read a simulated counter.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// The soc.
    pub file: SocFile,
    /// What a build needs to know.
    pub target: Target,
}

impl Rehearsal {
    /// Creates the platform for firmware that a debug probe would load on a board with this soc.
    pub fn new(file: SocFile) -> Self {
        let target = Target::from(&file.soc).clocked(file.soc.core);
        Self { file, target }
    }

    /// Creates the platform for a board's firmware.
    pub fn of_board(file: &BoardFile, output_channel: OutputChannel) -> Self {
        Self { file: file.soc.clone(), target: file.target(output_channel) }
    }
}

/// The additional time allowed beyond a scenario's budget when its firmware prints through a UART,
/// which takes time there.
const PRINTING: Cycles = Cycles(20_000_000_000);

/// Boots an image that has clocked probes in the simulator, with one scenario selected, and collects
/// the samples that it prints, in cycles.
///
/// # Errors
/// When the image does not fit, faults, or ends without printing `ok`.
pub fn rehearse(
    soc: &Soc,
    image: &Clocked,
    scenario: &Scenario,
    budget: Cycles,
) -> (Option<Capture>, Result<Measured, Failure>) {
    let place = format!("in the simulator of {}", soc.name);
    let fail = |kind, message: String, hint: &str, console: &[u8]| Failure {
        kind,
        message: format!("{message} [{} {place}]", image.path),
        hint: hint.to_owned(),
        console: visible(console),
    };
    let elf = match image.with(scenario, &place) {
        Ok(elf) => elf,
        Err(failure) => return (None, Err(failure)),
    };
    let unfit =
        |problem: String| fail(FailureKind::Load, problem, "build the firmware for this soc", &[]);
    let read = match Image::from_elf(&elf) {
        Ok(read) => read,
        Err(error) => return (None, Err(unfit(error.to_string()))),
    };
    let mut session = match Session::new(soc, &read) {
        Ok(session) => session,
        Err(error) => return (None, Err(unfit(error.to_string()))),
    };
    let mut heard = Heard::default();
    let limit = budget.saturating_add(PRINTING);
    let mut until = Cycles::ZERO;
    let ending = loop {
        until = until.saturating_add(SLICE).min(limit);
        let ending = session.run(until, |machine| heard.add(&machine.take_console()));
        // With a UART, the last line marks the end: nothing else ends the run.
        let ended = matches!(ending, Ending::Limit) && heard.has_ended();
        if ended || until == limit || !matches!(ending, Ending::Limit) {
            break if ended { Ending::Asleep } else { ending };
        }
    };
    let ending_text = session.describe(&ending);
    let console = heard.into_console();
    let result = match &ending {
        Ending::Exit(status) => {
            let ended = RunEnd {
                ending_text: &ending_text,
                succeeded: status.0 == 0,
                place: &place,
                counter: None,
            };
            judge(&console, ended, image, scenario)
        }
        // With a UART, the last line says whether the run succeeded.
        Ending::Asleep => {
            let ending_text = "the end of its run";
            let ended = RunEnd { ending_text, succeeded: true, place: &place, counter: None };
            judge(&console, ended, image, scenario)
        }
        Ending::Internal(_) => {
            Err(fail(FailureKind::Internal, ending_text, &internal_error::hint(), &console))
        }
        Ending::Limit => {
            let hint = "check whether the firmware without clocked probes ends";
            Err(fail(FailureKind::Budget, ending_text, hint, &[]))
        }
        _ => {
            let hint = "check whether the firmware without clocked probes runs correctly";
            Err(fail(FailureKind::Fault, ending_text, hint, &console))
        }
    };
    (Some(Capture { console, chip_id: None }), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uart_is_initialised_only_if_it_prints() {
        let board = find("stm32c031").expect("built in");
        assert!(board.target(OutputChannel::Semihosting).console.is_none());
        let console = board.target(OutputChannel::Uart).console.expect("it has one");
        assert_eq!((console.data, console.start.len()), (0x4000_4428, 6));
    }
}
