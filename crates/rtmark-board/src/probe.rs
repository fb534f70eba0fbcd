//! A board behind a debug probe: probe-rs loads the firmware and answers its semihosting calls.
//!
//! Compiled against probe-rs, and not yet tried on a board.

use std::io::Cursor;
use std::time::{Duration, Instant};

use probe_rs::flashing::{DownloadOptions, ElfLoader, ElfOptions};
use probe_rs::probe::DebugProbeSelector;
use probe_rs::probe::list::Lister;
use probe_rs::semihosting::SemihostingCommand;
use probe_rs::{
    BreakpointCause, Core, CoreStatus, HaltReason, MemoryInterface, Permissions, Session,
};

use crate::listen::{Limits, Silence};
use crate::{Capture, Device, DeviceError, OutputChannel};

/// How long the chip may take to halt.
const HALT: Duration = Duration::from_secs(1);

/// CPUID of every Cortex-M (DDI 0403, B3.2.3).
const CPUID: u64 = 0xE000_ED00;

/// A board behind a debug probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The probe, as `VID:PID` or `VID:PID:SERIAL`; if absent, the only one.
    pub selector: Option<String>,
    /// The chip's name in probe-rs.
    pub chip: String,
    /// How long to wait for a run to begin, and then for more of it.
    pub silence: Duration,
}

impl Probe {
    fn attach(&self) -> Result<Session, DeviceError> {
        let lister = Lister::new();
        let listed = lister.list_all();
        let names = || listed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let unreachable = |error: &dyn std::fmt::Display| DeviceError::Probe(error.to_string());
        let probe = match (&self.selector, listed.as_slice()) {
            (Some(selector), _) => {
                let parsed: DebugProbeSelector = selector.parse().map_err(|error| {
                    DeviceError::NoProbe(format!("no probe is called `{selector}`: {error}"))
                })?;
                lister.open(parsed).map_err(|error| {
                    let found = if listed.is_empty() { "none".to_owned() } else { names() };
                    DeviceError::NoProbe(format!("probe {selector}: {error}; found: {found}"))
                })?
            }
            (None, []) => return Err(DeviceError::NoProbe("no debug probe was found".to_owned())),
            (None, [one]) => one.open().map_err(|error| unreachable(&error))?,
            (None, _) => {
                let found = format!("several debug probes were found, name one: {}", names());
                return Err(DeviceError::NoProbe(found));
            }
        };
        let wrong = |error: probe_rs::Error| {
            DeviceError::WrongChip(format!(
                "no {} responds at the probe: {}",
                self.chip,
                error_chain(&error)
            ))
        };
        probe.attach(self.chip.as_str(), Permissions::default()).map_err(wrong)
    }

    fn load(&self, session: &mut Session, elf: &[u8]) -> Result<(), DeviceError> {
        let failed = |error: &dyn std::error::Error| {
            DeviceError::WrongChip(format!(
                "{} could not be programmed: {}",
                self.chip,
                error_chain(error)
            ))
        };
        let mut loader = session.target().flash_loader();
        loader
            .load_image(session, &mut Cursor::new(elf), ElfLoader(ElfOptions::default()), None)
            .map_err(|error| failed(&error))?;
        loader.commit(session, DownloadOptions::default()).map_err(|error| failed(&error))
    }
}

/// Formats an error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// The meaning of a core's halt for a run.
enum Stop {
    /// It continues, and has printed this.
    Printed(String),
    /// The program has ended.
    Ended,
}

fn serve(core: &mut Core<'_>, reason: HaltReason) -> Result<Stop, DeviceError> {
    let trouble = |error: probe_rs::Error| DeviceError::Probe(error_chain(&error));
    let HaltReason::Breakpoint(BreakpointCause::Semihosting(call)) = reason else {
        let text = format!("the chip stopped where rtmark's firmware does not: {reason:?}");
        return Err(DeviceError::Stopped(text));
    };
    match call {
        SemihostingCommand::WriteConsole(request) => {
            request.read(core).map(Stop::Printed).map_err(trouble)
        }
        // The last line of the output determines the result, as on a serial port.
        SemihostingCommand::ExitSuccess | SemihostingCommand::ExitError(_) => Ok(Stop::Ended),
        other => Err(DeviceError::Stopped(format!("the firmware asks its debugger for {other:?}"))),
    }
}

impl Device for Probe {
    fn link(&self) -> String {
        let which = self.selector.as_ref().map_or(String::new(), |probe| format!(" {probe}"));
        format!("debug probe{which}, by probe-rs, to {}", self.chip)
    }

    fn output_channel(&self) -> OutputChannel {
        OutputChannel::Semihosting
    }

    fn run(&mut self, elf: &[u8]) -> Result<Capture, DeviceError> {
        let trouble = |error: probe_rs::Error| DeviceError::Probe(error_chain(&error));
        let limits = Limits::with_silence(self.silence);
        let mut session = self.attach()?;
        self.load(&mut session, elf)?;
        let mut core = session.core(0).map_err(trouble)?;
        core.reset_and_halt(HALT).map_err(trouble)?;
        let id = core.read_word_32(CPUID).map_err(trouble)?;
        core.run().map_err(trouble)?;

        let mut console = Vec::new();
        let mut heard = Instant::now();
        loop {
            match core.status().map_err(trouble)? {
                CoreStatus::Halted(reason) => match serve(&mut core, reason)? {
                    Stop::Printed(text) => {
                        heard = Instant::now();
                        console.extend_from_slice(text.as_bytes());
                        if console.len() > limits.bytes {
                            return Err(DeviceError::TooMuchOutput { limit: limits.bytes });
                        }
                        core.run().map_err(trouble)?;
                    }
                    Stop::Ended => {
                        return Ok(Capture { console, chip_id: Some(format!("CPUID {id:#010x}")) });
                    }
                },
                CoreStatus::LockedUp => {
                    let text = "the chip is locked up: a fault while a fault was handled";
                    return Err(DeviceError::Stopped(text.to_owned()));
                }
                CoreStatus::Running | CoreStatus::Sleeping | CoreStatus::Unknown => {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            if heard.elapsed() > self.silence {
                let silence = if console.is_empty() {
                    Silence::NoOutput(self.silence)
                } else {
                    Silence::Unfinished(self.silence)
                };
                return Err(DeviceError::Silent { silence, console });
            }
        }
    }
}
