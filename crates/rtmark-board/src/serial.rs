//! A board behind a serial port, loaded by a user's command or not at all.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serialport::{ClearBuffer, SerialPort};

use crate::listen::{Limits, listen};
use crate::{Capture, Device, DeviceError, OutputChannel};

/// How long one read of the port waits.
const POLL: Duration = Duration::from_millis(50);

/// Where the firmware on the board is used: nothing of it can be read through a serial port but what it prints.
const NOT_LOADED: &str =
    ", not loaded: recognised by its probes' addresses, its content not compared";

/// How long loading may take.
const LOADING: Duration = Duration::from_mins(3);

/// How much of a loader's output is kept.
const MAX_LOADER_OUTPUT: usize = 4096;

/// A shell command that loads firmware onto a board and starts it; `{elf}` in it stands for the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loader(pub String);

/// A board behind a serial port.
#[derive(Clone, Debug)]
pub struct Serial {
    /// The port: `/dev/ttyACM0`, `COM3`.
    pub port: String,
    /// Its speed.
    pub baud: u32,
    /// How the firmware is loaded; without a loader, the firmware on the board is used.
    pub loader: Option<Loader>,
    /// How long to wait for a run to begin, and then for more of it.
    pub silence: Duration,
}

impl Serial {
    /// Finds the port, without opening it.
    ///
    /// # Errors
    /// When there is no such port.
    pub fn find(&self) -> Result<(), DeviceError> {
        // Elsewhere a port's name is not that of a file.
        if cfg!(unix) {
            std::fs::metadata(&self.port).map_err(|error| self.not_opened(error))?;
        }
        Ok(())
    }

    fn not_opened(&self, source: io::Error) -> DeviceError {
        let ports = serialport::available_ports().unwrap_or_default();
        let others = ports.into_iter().map(|port| port.port_name);
        let others = others.filter(|name| *name != self.port).collect();
        DeviceError::Open { port: self.port.clone(), source, others }
    }

    fn open(&self) -> Result<Box<dyn SerialPort>, DeviceError> {
        let opened = serialport::new(&self.port, self.baud).timeout(POLL).open();
        let port = opened.map_err(|error| self.not_opened(error.into()))?;
        // Earlier bytes do not belong to this run. Not every system can discard them.
        let _ = port.clear(ClearBuffer::Input);
        Ok(port)
    }
}

impl Device for Serial {
    fn link(&self) -> String {
        let not_loaded = if self.loader.is_some() { "" } else { NOT_LOADED };
        format!("serial port {} at {} baud{not_loaded}", self.port, self.baud)
    }

    fn output_channel(&self) -> OutputChannel {
        OutputChannel::Uart
    }

    fn run(&mut self, elf: &[u8]) -> Result<Capture, DeviceError> {
        // Opened before the firmware starts, so that nothing is missed.
        let mut port = self.open()?;
        if let Some(loader) = &self.loader {
            loader.load(elf)?;
        }
        let console = listen(&mut port, &self.link(), Limits::with_silence(self.silence))?;
        Ok(Capture { console, chip_id: None })
    }
}

impl Loader {
    fn load(&self, elf: &[u8]) -> Result<(), DeviceError> {
        let failed = |how: String, output: String| DeviceError::Load {
            command: self.0.clone(),
            how,
            output,
        };
        let broken = |error: io::Error| failed(format!("cannot be run: {error}"), String::new());
        let mut file =
            tempfile::Builder::new().prefix("rtmark-").suffix(".elf").tempfile().map_err(broken)?;
        file.write_all(elf).and_then(|()| file.flush()).map_err(broken)?;
        let path = file.path().to_string_lossy().into_owned();
        let mut output = tempfile::tempfile().map_err(broken)?;
        let (one, two) = (output.try_clone(), output.try_clone());
        let (one, two) = (one.map_err(broken)?, two.map_err(broken)?);
        let mut child = shell(&self.0.replace("{elf}", &path))
            .stdin(Stdio::null())
            .stdout(one)
            .stderr(two)
            .spawn()
            .map_err(broken)?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(broken)? {
                break Some(status);
            }
            if started.elapsed() > LOADING {
                // It may have ended just now.
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(format!("ended with {status}"), end_of_output(&mut output))),
            None => Err(failed(
                format!("had not finished after {LOADING:?}"),
                end_of_output(&mut output),
            )),
        }
    }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    shell
}

fn end_of_output(file: &mut File) -> String {
    let mut text = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut text));
    let from = text.len().saturating_sub(MAX_LOADER_OUTPUT);
    match read {
        Ok(_) => String::from_utf8_lossy(&text[from..]).trim_end().to_owned(),
        Err(error) => format!("(its output cannot be read: {error})"),
    }
}
