//! QEMU as a child that cannot outlive its deadline.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::machine::{Emulator, Machine};

/// How much a program may print, in bytes. What goes on printing is ended.
pub const LONGEST_CONSOLE: u64 = 256 << 20;

/// How much is kept of QEMU's own messages, in bytes.
const LONGEST_MESSAGES: u64 = 64 << 10;

/// Why a program did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QemuError {
    /// QEMU is not installed.
    #[error("{program} is missing")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// QEMU did not start, or could not be listened to.
    #[error("{program}: {source}")]
    Run {
        /// The program.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The program was still running at its deadline, and was ended.
    #[error("it was still running after {deadline:?}")]
    Deadline {
        /// How long it was given.
        deadline: Duration,
        /// What it had printed.
        console: Vec<u8>,
    },
    /// The program printed more than is listened to, and was ended.
    #[error("it printed more than {LONGEST_CONSOLE} bytes")]
    Flood,
}

/// What a run left.
#[derive(Clone, Debug)]
pub struct Output {
    /// What the program printed by semihosting.
    pub console: Vec<u8>,
    /// QEMU's own messages.
    pub messages: String,
    /// How QEMU ended, which is how the program ended if it ended itself.
    pub status: ExitStatus,
}

impl Emulator {
    /// Its version in its own words.
    ///
    /// # Errors
    /// When it is not installed or does not run.
    pub fn version(self) -> Result<String, QemuError> {
        let output = Command::new(self.program())
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| self.trouble(source))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    fn trouble(self, source: io::Error) -> QemuError {
        let program = self.program();
        match source.kind() {
            io::ErrorKind::NotFound => QemuError::Missing { program, package: self.package() },
            _ => QemuError::Run { program, source },
        }
    }
}

/// Reads to the end or to a limit; past it, what writes finds nobody listening.
fn drain(from: impl Read + Send + 'static, limit: u64) -> JoinHandle<io::Result<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.take(limit + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// A file that goes when it is dropped.
fn scratch(contents: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("rtmark-").tempfile()?;
    file.write_all(contents)?;
    Ok(file)
}

/// A child that is ended when it is dropped, however that comes.
struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        // SIGKILL: QEMU ignores gentler signals now and then. It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Machine {
    /// The arguments that QEMU is given for an executable and the starter's file.
    pub fn arguments(&self, elf: &str, starter: &str) -> Vec<String> {
        let shift = self.core_counter.map_or(0, |counter| counter.shift);
        // What sleeps does not wait for the host's clock.
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
            // In an option's value a comma stands twice.
            option => option
                .replace("{elf}", &elf.replace(',', ",,"))
                .replace("{starter}", &starter.replace(',', ",,")),
        });
        let fixed = fixed.into_iter().map(str::to_owned);
        fixed.chain(self.arguments.iter().cloned()).chain(load).collect()
    }

    /// Runs an executable until it ends itself, for so long and no longer.
    ///
    /// # Errors
    /// When QEMU is missing or fails, or the program does not end, or floods the console.
    pub fn run(&self, elf: &[u8], deadline: Duration) -> Result<Output, QemuError> {
        let started = Instant::now();
        let trouble = |source| self.emulator.trouble(source);
        let starter: Vec<u8> = self.starter.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (file, starter) = (scratch(elf), scratch(&starter));
        let (file, starter) = (file.map_err(trouble)?, starter.map_err(trouble)?);
        let path = |file: &NamedTempFile| file.path().to_string_lossy().into_owned();
        let child = Command::new(self.emulator.program())
            .args(self.arguments(&path(&file), &path(&starter)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(trouble)?;
        let mut child = Held(child);
        let missing = || trouble(io::Error::other("a pipe is missing"));
        let console = drain(child.0.stdout.take().ok_or_else(missing)?, LONGEST_CONSOLE);
        let messages = drain(child.0.stderr.take().ok_or_else(missing)?, LONGEST_MESSAGES);
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = child.0.try_wait().map_err(trouble)? {
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
            result.unwrap_or_else(|_| Err(io::Error::other("a reader failed"))).map_err(trouble)
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
