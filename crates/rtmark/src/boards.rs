//! Boards as the command line names them.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtmark_board::{Device, Loader, PrintsBy, Serial};
use rtmark_model::{Answer, Catalogue};
use rtmark_runner::recording::{self, Recorded, RecordingError};
use rtmark_runner::{Bench, BoardFile, Platform, Rehearsal, Selection, boards, socs};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::GENERATOR;

/// How a board is reached.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Boards (docs/boards.md)")]
pub struct BoardFlags {
    /// The serial port that the board prints to, such as /dev/ttyACM0; its firmware is then built
    /// to print by a UART
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// The speed of that port, where it is not what the board's file says
    #[arg(long, value_name = "BAUD", requires = "port",
          value_parser = clap::value_parser!(u32).range(1..))]
    baud: Option<u32>,
    /// A shell command that puts firmware on the board and starts it; `{elf}` in it stands for the
    /// file. Without, whatever is on the board is listened to
    #[arg(long, value_name = "COMMAND", requires = "port")]
    load: Option<String>,
    /// The debug probe, as VID:PID or VID:PID:SERIAL, where there are several
    #[arg(long, value_name = "PROBE", conflicts_with = "port")]
    probe: Option<String>,
    /// The chip as probe-rs calls it, where the board's file does not say it
    #[arg(long, value_name = "CHIP")]
    chip: Option<String>,
    /// For how many seconds a board may say nothing
    #[arg(long, value_name = "SECONDS", default_value_t = rtmark_board::SILENCE.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Keep what is printed in this file, so that it can be read again with --from
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Read a recording in place of a board
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["port", "probe", "chip", "record"])]
    from: Option<PathBuf>,
}

/// By what clocked firmware prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Prints {
    /// Calls to a debugger
    Semihosting,
    /// A UART of the board
    Uart,
}

impl From<Prints> for PrintsBy {
    fn from(prints: Prints) -> Self {
        match prints {
            Prints::Semihosting => Self::Semihosting,
            Prints::Uart => Self::Uart,
        }
    }
}

fn known() -> String {
    let all = boards::builtin().unwrap_or_default();
    let names = all.iter().map(|file| format!("{} ({})", file.board.name, file.board.soc));
    names.collect::<Vec<_>>().join(", ")
}

/// The one board among the socs that were asked for.
pub fn one_board(asked: &[String]) -> Result<BoardFile, CliError> {
    if let [one] = asked {
        return Ok(boards::find(one)?);
    }
    Err(one_is_wanted())
}

/// What is wrong where no board is named, or several are.
pub fn one_is_wanted() -> CliError {
    let message = "only one board can be measured at a time";
    let hint = format!("name it, its soc or its file with --soc; there are {}", known());
    CliError::new(Exit::Usage, message, hint)
}

/// What a board would run, on the simulator in its place.
pub fn rehearsal(name: &str, prints: Prints) -> Result<Platform, CliError> {
    let rehearsal = match prints {
        Prints::Semihosting => Rehearsal::new(socs::find(name)?),
        Prints::Uart => {
            let file = boards::find(name)?;
            with_console(&file)?;
            Rehearsal::of_board(&file, PrintsBy::Uart)
        }
    };
    Ok(Platform::Rehearsal(Box::new(rehearsal)))
}

fn with_console(file: &BoardFile) -> Result<&rtmark_board::Console, CliError> {
    file.board.console.as_ref().ok_or_else(|| {
        let message =
            format!("{} says of no UART that {} could print by", file.origin, file.board.name);
        let hint = "use a debug probe, or give the board's file a [console]: docs/boards.md";
        CliError::new(Exit::Usage, message, hint)
    })
}

impl BoardFlags {
    /// The recording that is read in place of a board.
    pub fn from(&self) -> Option<&Path> {
        self.from.as_deref()
    }

    /// Whether any of them was given that makes sense with a board only.
    pub fn name_a_board(&self) -> bool {
        self.port.is_some() || self.probe.is_some() || self.chip.is_some() || self.from.is_some()
    }

    /// Whether what is printed is to be kept.
    pub fn keep(&self) -> bool {
        self.record.is_some()
    }

    /// The way to a board.
    pub fn bench(&self, file: BoardFile) -> Result<Bench, CliError> {
        let silence = Duration::from_secs(self.timeout);
        let device: Box<dyn Device> = match &self.port {
            Some(port) => {
                let baud = self.baud.unwrap_or(with_console(&file)?.baud);
                let loader = self.load.clone().map(Loader);
                Box::new(Serial { port: port.clone(), baud, loader, silence })
            }
            None => self.by_probe(&file, silence)?,
        };
        Ok(Bench::new(file, device))
    }

    #[cfg(feature = "board")]
    fn by_probe(&self, file: &BoardFile, silence: Duration) -> Result<Box<dyn Device>, CliError> {
        let chip = self.chip.clone().or_else(|| file.board.chip.clone()).ok_or_else(|| {
            let message = format!("{} does not say what probe-rs calls its chip", file.origin);
            CliError::new(Exit::Usage, message, "name it with --chip; `probe-rs chip list` has all")
        })?;
        let selector = self.probe.clone();
        Ok(Box::new(rtmark_board::Probe { selector, chip, silence }))
    }

    #[cfg(not(feature = "board"))]
    fn by_probe(&self, file: &BoardFile, _: Duration) -> Result<Box<dyn Device>, CliError> {
        let message = match self.probe.as_ref().or(self.chip.as_ref()) {
            Some(_) => "this rtmark was built without debug probes".to_owned(),
            None => format!(
                "{} is to be reached by a debug probe, without which this rtmark was built",
                file.board.name
            ),
        };
        let hint = "`make board` builds rtmark with them; or name the serial port that the board \
                    prints to with --port, and a command that loads its firmware with --load";
        Err(CliError::new(Exit::Missing, message, hint))
    }

    /// The file that keeps what is printed, begun.
    pub fn recorder(&self) -> Result<Option<Recorder>, CliError> {
        let Some(path) = &self.record else { return Ok(None) };
        Recorder::new(path.clone()).map(Some)
    }
}

/// Keeps what is printed.
#[derive(Debug)]
pub struct Recorder {
    file: BufWriter<File>,
    path: PathBuf,
    error: Option<CliError>,
}

impl Recorder {
    fn new(path: PathBuf) -> Result<Self, CliError> {
        let begun = File::create(&path).and_then(|file| {
            let mut file = BufWriter::new(file);
            recording::begin(&mut file, GENERATOR)?;
            Ok(file)
        });
        match begun {
            Ok(file) => Ok(Self { file, path, error: None }),
            Err(error) => Err(unwritable(&path, &error)),
        }
    }

    /// Keeps a run. An error is told by [`Recorder::finish`].
    pub fn keep(&mut self, recorded: &Recorded) {
        if let Err(error) = recorded.append(&mut self.file).and_then(|()| self.file.flush()) {
            self.error.get_or_insert_with(|| unwritable(&self.path, &error));
        }
    }

    /// Whether all was kept.
    pub fn finish(self) -> Result<(), CliError> {
        self.error.map_or(Ok(()), Err)
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::unwritten(path, error, "name a file that can be written with --record")
}

/// The runs of a recording that were asked for.
pub fn recorded(path: &Path, selection: &Selection) -> Result<Vec<Recorded>, CliError> {
    let refuse = |error: &RecordingError| {
        let hint = "name a file that --record has written";
        CliError::new(Exit::Usage, format!("{}: {error}", path.display()), hint)
    };
    let file = File::open(path).map_err(|error| refuse(&error.into()))?;
    let mut runs = recording::read(BufReader::new(file)).map_err(|error| refuse(&error))?;
    runs.retain(|run| {
        let fits = |patterns: &[rtmark_model::Pattern], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
        };
        fits(&selection.kernels, run.key.kernel.as_str())
            && fits(&selection.scenarios, run.key.scenario.as_str())
    });
    if runs.is_empty() {
        let message = format!("{} holds none of what was asked for", path.display());
        let hint = "leave out --kernel and --scenario to see what it holds";
        return Err(CliError::new(Exit::NothingSelected, message, hint));
    }
    Ok(runs)
}

/// What they come to.
pub fn answers(runs: &[Recorded], catalogue: &Catalogue) -> Vec<Answer> {
    runs.iter().map(|run| run.answer(catalogue)).collect()
}
