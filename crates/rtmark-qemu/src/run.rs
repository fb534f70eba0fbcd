//! Runs QEMU as a child process that cannot outlive its deadline.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::machine::{Emulator, Machine};

/// The console output, in bytes, after which a program is stopped.
pub const LONGEST_CONSOLE: u64 = 256 << 20;

/// How much of QEMU's own messages is kept, in bytes.
const LONGEST_MESSAGES: u64 = 64 << 10;

/// The reason why a program did not reach its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QemuError {
    /// QEMU is not installed.
    #[error("{program} is missing")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// QEMU did not start, or its output could not be read.
    #[error("{program}: {source}")]
    Run {
        /// The program.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The program was still running at its deadline, and was stopped.
    #[error("it was still running after {deadline:?}")]
    Deadline {
        /// The time limit.
        deadline: Duration,
        /// What it had printed.
        console: Vec<u8>,
    },
    /// The program printed too much, and was stopped.
    #[error("it printed more than {LONGEST_CONSOLE} bytes")]
    Flood,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// What the program printed through semihosting.
    pub console: Vec<u8>,
    /// QEMU's own messages.
    pub messages: String,
    /// QEMU's exit status, which is the program's own if it ended itself.
    pub status: ExitStatus,
}

impl Emulator {
    /// Returns its version as it prints it.
    ///
    /// # Errors
    /// When it is not installed or does not run.
    pub fn version(self) -> Result<String, QemuError> {
        let output = Command::new(self.program())
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| self.run_error(source))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    fn run_error(self, source: io::Error) -> QemuError {
        let program = self.program();
        match source.kind() {
            io::ErrorKind::NotFound => QemuError::Missing { program, package: self.package() },
            _ => QemuError::Run { program, source },
        }
    }
}

/// Reads to the end or up to a limit; beyond it, the writer finds the pipe closed.
fn drain(from: impl Read + Send + 'static, limit: u64) -> JoinHandle<io::Result<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.take(limit + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// Creates a temporary file that is deleted when dropped.
fn scratch(contents: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("rtmark-").tempfile()?;
    file.write_all(contents)?;
    Ok(file)
}

/// A child process that is killed when dropped, however that happens.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // SIGKILL, as QEMU sometimes ignores gentler signals. It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Machine {
    /// Returns QEMU's arguments for an executable and the starter's file.
    pub fn arguments(&self, elf: &str, starter: &str) -> Vec<String> {
        let shift = self.core_counter.map_or(0, |counter| counter.shift);
        // Sleep does not wait for the host's clock.
        let icount = format!("shift={shift},sleep=off");
        let fixed = [
            "-M",
            &self.machine,
            "-display",
            "none",
            "-serial",
            "none",
            "-monitor",
            "none",
            "-icount",
            &icount,
            "-chardev",
            "stdio,id=console",
            "-semihosting-config",
            "enable=on,target=native,chardev=console",
        ];
        let load = self.load.iter().map(|word| match word.as_str() {
            "{elf}" => elf.to_owned(),
            "{starter}" => starter.to_owned(),
            // In an option's value, commas are doubled.
            option => option
                .replace("{elf}", &elf.replace(',', ",,"))
                .replace("{starter}", &starter.replace(',', ",,")),
        });
        let fixed = fixed.into_iter().map(str::to_owned);
        fixed.chain(self.arguments.iter().cloned()).chain(load).collect()
    }

    /// Runs an executable until it ends itself, within a time limit.
    ///
    /// # Errors
    /// When QEMU is missing or fails, or the program does not end in time or floods the console.
    pub fn run(&self, elf: &[u8], deadline: Duration) -> Result<Output, QemuError> {
        let started = Instant::now();
        let run_error = |source| self.emulator.run_error(source);
        let starter: Vec<u8> = self.starter.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (file, starter) = (scratch(elf), scratch(&starter));
        let (file, starter) = (file.map_err(run_error)?, starter.map_err(run_error)?);
        let path = |file: &NamedTempFile| file.path().to_string_lossy().into_owned();
        let child = Command::new(self.emulator.program())
            .args(self.arguments(&path(&file), &path(&starter)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(run_error)?;
        let mut child = KillOnDrop(child);
        let missing = || run_error(io::Error::other("a pipe is missing"));
        let console = drain(child.0.stdout.take().ok_or_else(missing)?, LONGEST_CONSOLE);
        let messages = drain(child.0.stderr.take().ok_or_else(missing)?, LONGEST_MESSAGES);
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = child.0.try_wait().map_err(run_error)? {
                break Some(status);
            }
            if started.elapsed() > deadline {
                break None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        drop(child);
        let joined = |handle: JoinHandle<io::Result<Vec<u8>>>| {
            let result = handle.join();
            result.unwrap_or_else(|_| Err(io::Error::other("a reader failed"))).map_err(run_error)
        };
        let (console, messages) = (joined(console)?, joined(messages)?);
        if console.len() as u64 > LONGEST_CONSOLE {
            return Err(QemuError::Flood);
        }
        let messages = String::from_utf8_lossy(&messages).into_owned();
        match status {
            Some(status) => Ok(Output { console, messages, status }),
            None => Err(QemuError::Deadline { deadline, console }),
        }
    }
}
