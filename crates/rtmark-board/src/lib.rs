//! Runs firmware on boards: loads it, starts it, and returns what it prints.
//!
//! A [`Board`] is the description in a file: its soc, its chip's name in programming tools, the UART
//! that prints. A [`Device`] is a connected board: behind a serial port ([`Serial`]), or behind a debug
//! probe (`Probe`, with the feature `probe`). [`listen()`] extracts a run from the bytes of a line that
//! may be slow, noisy or cut, or reports what is wrong with it.
//!
//! This crate interprets the output only to find where a run begins and ends, and measures nothing. It
//! prints nothing itself.

mod board;
mod listen;
#[cfg(feature = "probe")]
mod probe;
mod serial;

use std::io;
use std::time::Duration;

pub use board::{Board, BoardError, Console};
pub use listen::{BEGIN, END, Heard, Limits, Silence, listen};
#[cfg(feature = "probe")]
pub use probe::Probe;
pub use serial::{Loader, Serial};

/// A connected board.
pub trait Device: Send + std::fmt::Debug {
    /// Describes how it is connected, for messages and provenance: `serial port /dev/ttyACM0 at 115200
    /// baud`.
    fn link(&self) -> String;

    /// Returns how its firmware must print.
    fn output_channel(&self) -> OutputChannel;

    /// Loads an executable, starts it, and listens until its run ends.
    ///
    /// # Errors
    /// When that fails, or the run does not reach its end.
    fn run(&mut self, elf: &[u8]) -> Result<Capture, DeviceError>;
}

/// How firmware prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputChannel {
    /// Through semihosting calls to a debugger.
    Semihosting,
    /// Through a UART of the chip.
    Uart,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Everything that was printed.
    pub console: Vec<u8>,
    /// The chip's identification, if it was read.
    pub chip_id: Option<String>,
}

/// The reason why a run did not reach its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The serial port cannot be opened.
    #[error("serial port {port}: {source}")]
    Open {
        /// The port.
        port: String,
        /// Why.
        source: io::Error,
        /// The ports that exist.
        others: Vec<String>,
    },
    /// The command that loads firmware failed.
    #[error("`{command}` {how}\n{output}")]
    Load {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// The end of its output.
        output: String,
    },
    /// The board fell silent before the end of the run.
    #[error("{silence}")]
    Silent {
        /// What had arrived before.
        silence: Silence,
        /// The bytes that had arrived.
        console: Vec<u8>,
    },
    /// The connection was lost.
    #[error("{link} went away while the firmware was printing: {source}")]
    Disconnected {
        /// How the board was connected.
        link: String,
        /// The operating system's error.
        source: io::Error,
        /// The bytes that had arrived.
        console: Vec<u8>,
    },
    /// The output exceeded the limit.
    #[error("it printed more than {limit} bytes without an end")]
    TooMuchOutput {
        /// The limit.
        limit: usize,
    },
    /// There is no debug probe, or no matching one.
    #[error("{0}")]
    NoProbe(String),
    /// The chip behind the probe is not the expected one, or cannot be reached.
    #[error("{0}")]
    WrongChip(String),
    /// Any other problem with the probe.
    #[error("{0}")]
    Probe(String),
    /// The chip stopped where no program stops by itself.
    #[error("{0}")]
    Stopped(String),
}

impl DeviceError {
    /// Returns what had been printed.
    pub fn console(&self) -> &[u8] {
        match self {
            Self::Silent { console, .. } | Self::Disconnected { console, .. } => console,
            _ => &[],
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Open { source, others, port } => match source.kind() {
                io::ErrorKind::PermissionDenied => format!(
                    "you lack permission: `sudo usermod -aG dialout $USER` and log in again (on \
                     other systems than Debian the group may be another; `ls -l {port}` shows it)"
                ),
                _ if others.is_empty() => {
                    "there is no serial port: is the board plugged in, and does its cable carry \
                     data?"
                        .to_owned()
                }
                _ => format!("there are {}: name one with --port", others.join(", ")),
            },
            Self::Load { .. } => {
                "run the command by hand until it succeeds; {elf} in it stands for the firmware's \
                 file"
                    .to_owned()
            }
            Self::Silent { silence, .. } => silence.hint().to_owned(),
            Self::Disconnected { .. } => {
                "is the cable loose, or did loading another program take the port? A board that \
                 resets its USB with itself needs a port that stays, such as its debugger's"
                    .to_owned()
            }
            Self::TooMuchOutput { .. } => {
                "is that rtmark's firmware? Let rtmark load it: --load".to_owned()
            }
            Self::NoProbe(_) => {
                "plug one in, or let another program load and a serial port listen: --port, \
                 --load; on Linux a probe needs a udev rule to be opened without root"
                    .to_owned()
            }
            Self::WrongChip(_) => {
                "name the chip as probe-rs does with --chip, or choose the soc that it is with \
                 --soc"
                    .to_owned()
            }
            Self::Probe(_) => {
                "unplug it and try again; another program may be using it (a debugger, an IDE)"
                    .to_owned()
            }
            Self::Stopped(_) => {
                "check whether the same firmware ends on the simulator: --backend sim --clocked"
                    .to_owned()
            }
        }
    }
}

/// How long to wait by default for a run to begin, and then for more of it.
pub const SILENCE: Duration = Duration::from_secs(30);
