//! Boards: firmware is put on one, it runs, and what it prints comes back.
//!
//! A [`Board`] is what a file says of one: its soc, its chip's name to programmers, the UART that
//! prints. A [`Device`] is one that is there: behind a serial port ([`Serial`]), or behind a debug
//! probe (`Probe`, with the feature `probe`). [`listen()`] turns the bytes of a line that may be slow,
//! noisy or cut into a run, or says what is wrong with it.
//!
//! What is printed is not understood here beyond where a run begins and ends, and nothing is
//! measured. This crate prints nothing.

mod board;
mod listen;
#[cfg(feature = "probe")]
mod probe;
mod serial;

use std::io;
use std::time::Duration;

pub use board::{Board, BoardError, Console};
pub use listen::{BEGIN, END, Limits, Silence, has_ended, listen};
#[cfg(feature = "probe")]
pub use probe::Probe;
pub use serial::{Loader, Serial};

/// A board that is there.
pub trait Device: Send + std::fmt::Debug {
    /// How it is reached, for messages and provenance: `serial port /dev/ttyACM0 at 115200 baud`.
    fn link(&self) -> String;

    /// By what its firmware must print.
    fn prints_by(&self) -> PrintsBy;

    /// Puts an executable on it, starts it, and listens until its run ends.
    ///
    /// # Errors
    /// When that cannot be done, or the run does not come to its end.
    fn run(&mut self, elf: &[u8]) -> Result<Heard, DeviceError>;
}

/// By what firmware prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintsBy {
    /// Calls to a debugger.
    Semihosting,
    /// A UART of the chip.
    Uart,
}

/// What a run left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// All that was printed.
    pub console: Vec<u8>,
    /// What the chip says of itself, where it was asked.
    pub chip_id: Option<String>,
}

/// Why there is no run to the end.
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
        /// The ports that there are.
        others: Vec<String>,
    },
    /// The command that loads firmware did not succeed.
    #[error("`{command}` {how}\n{output}")]
    Load {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// The end of what it said.
        output: String,
    },
    /// Nothing more came before the run's end.
    #[error("{silence}")]
    Silent {
        /// What came before.
        silence: Silence,
        /// That itself.
        console: Vec<u8>,
    },
    /// The line went away.
    #[error("{link} went away while the firmware was printing: {source}")]
    Gone {
        /// How the board was reached.
        link: String,
        /// What the system says.
        source: io::Error,
        /// What had come.
        console: Vec<u8>,
    },
    /// More was printed than is listened to.
    #[error("it printed more than {limit} bytes without an end")]
    Flood {
        /// The limit.
        limit: usize,
    },
    /// No debug probe, or none that fits.
    #[error("{0}")]
    NoProbe(String),
    /// The chip behind the probe is not the one that was named, or cannot be reached.
    #[error("{0}")]
    WrongChip(String),
    /// Anything else about the probe.
    #[error("{0}")]
    Probe(String),
    /// The chip stopped where no program stops by itself.
    #[error("{0}")]
    Stopped(String),
}

impl DeviceError {
    /// What had been printed.
    pub fn console(&self) -> &[u8] {
        match self {
            Self::Silent { console, .. } | Self::Gone { console, .. } => console,
            _ => &[],
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Open { source, others, port } => match source.kind() {
                io::ErrorKind::PermissionDenied => format!(
                    "you may not open it: `sudo usermod -aG dialout $USER` and log in anew (on \
                     other systems than Debian the group may be another; `ls -l {port}` shows it)"
                ),
                _ if others.is_empty() => {
                    "no serial port is there: is the board plugged in, and is its cable one for \
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
            Self::Gone { .. } => {
                "is the cable loose, or did loading another program take the port? A board that \
                 resets its USB with itself needs a port that stays, such as its debugger's"
                    .to_owned()
            }
            Self::Flood { .. } => {
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
                "see whether the same firmware ends on the simulator: --backend sim --clocked"
                    .to_owned()
            }
        }
    }
}

/// For how long a board may say nothing, unless told otherwise.
pub const SILENCE: Duration = Duration::from_secs(30);
