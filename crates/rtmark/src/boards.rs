//! Options for boards, and access to boards and their recordings.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtmark_board::{Device, Loader, OutputChannel, Serial};
use rtmark_model::{Answer, Catalogue};
use rtmark_runner::recording::{self, Recorded, RecordingError};
use rtmark_runner::{Bench, BoardFile, Platform, Rehearsal, Selection, boards, socs};

use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{GENERATOR, say};
use crate::replacement::Replacement;

/// How to reach a board.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Boards (docs/boards.md)")]
pub struct BoardFlags {
    /// Serial port that the board prints to, such as /dev/ttyACM0; its firmware is then built to
    /// print through a UART
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Baud rate of the port [default: that of the board file]
    #[arg(long, value_name = "BAUD", requires = "port",
          value_parser = clap::value_parser!(u32).range(1..))]
    baud: Option<u32>,
    /// Shell command that flashes the firmware and starts it; `{elf}` is replaced by the file's path
    /// [default: none; read from the firmware that is already on the board]
    #[arg(long, value_name = "COMMAND", requires = "port")]
    load: Option<String>,
    /// Debug probe to use if there are several, as VID:PID or VID:PID:SERIAL
    #[arg(long, value_name = "PROBE", conflicts_with = "port")]
    probe: Option<String>,
    /// Chip, as probe-rs names it [default: that of the board file]
    #[arg(long, value_name = "CHIP")]
    chip: Option<String>,
    /// Seconds after which to give up on the board if no run begins, or nothing more of it comes
    #[arg(long, value_name = "SECONDS", default_value_t = rtmark_board::SILENCE.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Record the output in this file, to read it again with --from
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Read a recording instead of a board
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["port", "probe", "chip", "record"])]
    from: Option<PathBuf>,
}

/// How clocked firmware prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockedOutput {
    /// By semihosting calls
    Semihosting,
    /// Through a UART of the board
    Uart,
}

impl From<ClockedOutput> for OutputChannel {
    fn from(prints: ClockedOutput) -> Self {
        match prints {
            ClockedOutput::Semihosting => Self::Semihosting,
            ClockedOutput::Uart => Self::Uart,
        }
    }
}

fn known() -> String {
    let all = boards::builtin().unwrap_or_default();
    let names = all.iter().map(|file| format!("{} ({})", file.board.name, file.board.soc));
    names.collect::<Vec<_>>().join(", ")
}

/// Finds the single board that the user asked for.
pub fn find_one_board(names: &[String]) -> Result<BoardFile, CliError> {
    if let [one] = names {
        return Ok(boards::find(one)?);
    }
    Err(not_one_board_error())
}

/// Returns the error for naming no board, or more than one.
pub fn not_one_board_error() -> CliError {
    let message = "exactly one board must be named: boards are measured one at a time";
    let hint = format!("name the board, its soc or its file with --soc; known boards: {}", known());
    CliError::new(Exit::Usage, message, hint)
}

/// Returns the simulator as a platform that runs a board's firmware.
pub fn rehearsal(name: &str, prints: ClockedOutput) -> Result<Platform, CliError> {
    let rehearsal = match prints {
        ClockedOutput::Semihosting => Rehearsal::new(socs::find(name)?),
        ClockedOutput::Uart => {
            let file = boards::find(name)?;
            with_console(&file)?;
            Rehearsal::of_board(&file, OutputChannel::Uart)
        }
    };
    Ok(Platform::Rehearsal(Box::new(rehearsal)))
}

fn with_console(file: &BoardFile) -> Result<&rtmark_board::Console, CliError> {
    file.board.console.as_ref().ok_or_else(|| {
        let message = format!(
            "{}: no UART is given through which {} could print",
            file.origin, file.board.name
        );
        let hint = "use a debug probe, or add a [console] table to the board file (docs/boards.md)";
        CliError::new(Exit::Usage, message, hint)
    })
}

impl BoardFlags {
    /// Returns the recording to read instead of a board.
    pub fn from(&self) -> Option<&Path> {
        self.from.as_deref()
    }

    /// Returns whether an option was given that only makes sense with a board.
    pub fn requires_board(&self) -> bool {
        self.port.is_some() || self.probe.is_some() || self.chip.is_some() || self.from.is_some()
    }

    /// Returns whether to record the output.
    pub fn keep(&self) -> bool {
        self.record.is_some()
    }

    /// Says what is not checked of the firmware on a board.
    pub fn note_what_is_unchecked(&self, verbosity: Verbosity) {
        if self.port.is_some() && self.load.is_none() && !verbosity.quiet {
            say(
                "note: without --load, the firmware on the board is recognised by its probes' addresses only; a \
                 build with the same addresses but other code would go unnoticed",
            );
        }
    }

    /// Prepares access to a board, by serial port or debug probe.
    pub fn bench(&self, file: BoardFile) -> Result<Bench, CliError> {
        let silence = Duration::from_secs(self.timeout);
        let device: Box<dyn Device> = match &self.port {
            Some(port) => {
                let baud = self.baud.unwrap_or(with_console(&file)?.baud);
                let loader = self.load.clone().map(Loader);
                let serial = Serial { port: port.clone(), baud, loader, silence };
                // Before everything is built for it.
                serial.find().map_err(|error| {
                    let hint = error.hint();
                    CliError::new(Exit::Missing, error, hint)
                })?;
                Box::new(serial)
            }
            None => self.probe_device(&file, silence)?,
        };
        Ok(Bench::new(file, device))
    }

    #[cfg(feature = "board")]
    fn probe_device(
        &self,
        file: &BoardFile,
        silence: Duration,
    ) -> Result<Box<dyn Device>, CliError> {
        let chip = self.chip.clone().or_else(|| file.board.chip.clone()).ok_or_else(|| {
            let message = format!("{}: probe-rs's name of the chip is missing", file.origin);
            CliError::new(
                Exit::Usage,
                message,
                "name the chip with --chip; `probe-rs chip list` lists all names",
            )
        })?;
        let selector = self.probe.clone();
        Ok(Box::new(rtmark_board::Probe { selector, chip, silence }))
    }

    #[cfg(not(feature = "board"))]
    fn probe_device(&self, file: &BoardFile, _: Duration) -> Result<Box<dyn Device>, CliError> {
        let message = match self.probe.as_ref().or(self.chip.as_ref()) {
            Some(_) => "this rtmark was built without support for debug probes".to_owned(),
            None => format!(
                "{} needs a debug probe, and this rtmark was built without support for them",
                file.board.name
            ),
        };
        let hint = "`make board` builds rtmark with that support; or give the serial port that the \
                    board prints to with --port, and a command that flashes it with --load";
        Err(CliError::new(Exit::Missing, message, hint))
    }

    /// Starts the recording, if one was asked for.
    pub fn recorder(&self) -> Result<Option<Recorder>, CliError> {
        let Some(path) = &self.record else { return Ok(None) };
        Recorder::new(path.clone()).map(Some)
    }
}

/// Records the output of firmware in a file, which replaces an earlier one with the first run.
#[derive(Debug)]
pub struct Recorder {
    /// The file, until the first run is in it.
    begun: Option<Replacement>,
    file: File,
    path: PathBuf,
    error: Option<CliError>,
}

impl Recorder {
    fn new(path: PathBuf) -> Result<Self, CliError> {
        let begun = Replacement::begin(&path).and_then(|begun| {
            let mut file = begun.file().try_clone()?;
            recording::begin(&mut file, GENERATOR)?;
            Ok((begun, file))
        });
        match begun {
            Ok((begun, file)) => Ok(Self { begun: Some(begun), file, path, error: None }),
            Err(error) => Err(recording_error(&path, &error)),
        }
    }

    /// Records a run. [`Recorder::finish`] reports errors.
    pub fn keep(&mut self, recorded: &Recorded) {
        let mut text = Vec::new();
        let written = recorded.append(&mut text).and_then(|()| self.file.write_all(&text));
        let kept = |()| self.begun.take().map_or(Ok(()), Replacement::keep);
        if let Err(error) = written.and_then(kept) {
            self.error.get_or_insert_with(|| recording_error(&self.path, &error));
        }
    }

    /// Returns the first error, if any run could not be recorded.
    pub fn finish(self) -> Result<(), CliError> {
        self.error.map_or(Ok(()), Err)
    }
}

fn recording_error(path: &Path, error: &std::io::Error) -> CliError {
    CliError::write_error(path, error, "give --record a file that you may write")
}

/// Reads the runs of a recording that match a selection.
pub fn recorded(path: &Path, selection: &Selection) -> Result<Vec<Recorded>, CliError> {
    let refuse = |error: &RecordingError| {
        let hint = "give a file that was written by --record";
        CliError::new(Exit::Usage, format!("{}: {error}", path.display()), hint)
    };
    let file = File::open(path).map_err(|error| refuse(&error.into()))?;
    let mut runs = recording::read(BufReader::new(file)).map_err(|error| refuse(&error))?;
    runs.retain(|run| {
        let fits = |patterns: &[rtmark_model::Pattern],
                    fit: &dyn Fn(&rtmark_model::Pattern) -> bool| {
            patterns.is_empty() || patterns.iter().any(fit)
        };
        fits(&selection.kernels, &|pattern| run.key.kernel.matches(pattern))
            && fits(&selection.scenarios, &|pattern| pattern.matches(run.key.scenario.as_str()))
    });
    if runs.is_empty() {
        let message = format!(
            "{}: none of the recorded runs matches --kernel and --scenario",
            path.display()
        );
        let hint = "leave out --kernel and --scenario to see all runs";
        return Err(CliError::new(Exit::NothingSelected, message, hint));
    }
    Ok(runs)
}

/// Returns the soc that a user means by the name of a soc, or of a board that has it.
pub fn soc_named(name: &str) -> String {
    boards::find(name).map_or_else(|_| name.to_owned(), |file| file.soc.soc.name)
}

/// Keeps the runs of a recording that are of these socs, all if none is given.
pub fn retain_socs(runs: &mut Vec<Recorded>, socs: &[String], path: &Path) -> Result<(), CliError> {
    if socs.is_empty() {
        return Ok(());
    }
    runs.retain(|run| socs.contains(&run.key.soc));
    if runs.is_empty() {
        let message = format!("{}: no recorded run is of {}", path.display(), socs.join(" or "));
        return Err(CliError::new(
            Exit::NothingSelected,
            message,
            "give the soc that was recorded",
        ));
    }
    Ok(())
}

/// Returns the answers of recorded runs.
pub fn answers(runs: &[Recorded], catalogue: &Catalogue) -> Vec<Answer> {
    runs.iter().map(|run| run.answer(catalogue)).collect()
}
