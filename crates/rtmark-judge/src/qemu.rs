//! Runs QEMU as a child process that cannot outlive its deadline.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The QEMU program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emulator {
    /// For Arm.
    Arm,
    /// For RISC-V of 32 bits.
    RiscV,
}

impl Emulator {
    /// The program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Arm => "qemu-system-arm",
            Self::RiscV => "qemu-system-riscv32",
        }
    }

    /// The Debian package that contains it.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Arm => "qemu-system-arm",
            Self::RiscV => "qemu-system-misc",
        }
    }
}

/// Set to 1 to skip QEMU, so that nothing is compared.
pub const WITHOUT: &str = "RTMARK_WITHOUT_QEMU";

/// The reason why QEMU failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QemuError {
    /// It is not installed.
    #[error(
        "{} is missing: install it (Debian: apt install {}), \
         or set {WITHOUT}=1 to go without this comparison", .0.program(), .0.package()
    )]
    Missing(Emulator),
    /// It did not start or its output could not be read.
    #[error("QEMU could not be run: {0}")]
    Run(#[from] std::io::Error),
    /// It was killed at its deadline.
    #[error("QEMU did not end within {0:?}")]
    Deadline(Duration),
}

/// Tells whether the user has chosen to skip QEMU.
pub fn is_unwanted() -> bool {
    std::env::var_os(WITHOUT).is_some_and(|value| value == "1")
}

/// The result of a run.
#[derive(Debug)]
pub struct Output {
    /// What the program printed through semihosting.
    pub console: Vec<u8>,
    /// QEMU's own messages.
    pub messages: String,
    /// Whether the program ended itself successfully.
    pub success: bool,
}

/// A running QEMU.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    started: Instant,
    console: std::thread::JoinHandle<std::io::Result<Vec<u8>>>,
    messages: std::thread::JoinHandle<std::io::Result<Vec<u8>>>,
}

fn drain(
    mut from: impl Read + Send + 'static,
) -> std::thread::JoinHandle<std::io::Result<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

impl Qemu {
    /// Starts a raw image on an Arm machine, placed where the vectors are read from.
    ///
    /// # Errors
    /// When QEMU is not installed or cannot be started.
    pub fn start(
        machine: &str,
        image: &Path,
        vectors: u32,
        extra: &[&str],
    ) -> Result<Self, QemuError> {
        Self::start_on(Emulator::Arm, machine, image, vectors, extra)
    }

    /// Starts a raw image at an address, on a machine of one of QEMU's programs.
    ///
    /// # Errors
    /// When QEMU is not installed or cannot be started.
    pub fn start_on(
        emulator: Emulator,
        machine: &str,
        image: &Path,
        address: u32,
        extra: &[&str],
    ) -> Result<Self, QemuError> {
        // Not with -kernel, which puts raw images at address 0 on every machine. In an option's value,
        // commas are doubled.
        let path = image.to_string_lossy().replace(',', ",,");
        let loader = format!("loader,file={path},addr={address:#x},force-raw=on");
        let mut child = Command::new(emulator.program())
            .args(["-M", machine, "-display", "none", "-serial", "none", "-monitor", "none"])
            .args(["-semihosting-config", "enable=on,target=native"])
            .args(["-device", &loader])
            .args(extra)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => QemuError::Missing(emulator),
                _ => QemuError::Run(error),
            })?;
        let missing = || std::io::Error::other("a pipe is missing");
        let console = drain(child.stdout.take().ok_or_else(missing)?);
        let messages = drain(child.stderr.take().ok_or_else(missing)?);
        Ok(Self { child, started: Instant::now(), console, messages })
    }

    /// Waits for its end, or ends it.
    ///
    /// # Errors
    /// When it had to be killed, or its output could not be read.
    pub fn finish(mut self, deadline: Duration) -> Result<Output, QemuError> {
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.started.elapsed() > deadline {
                // It sometimes ignores gentler signals; this one is SIGKILL.
                self.child.kill()?;
                self.child.wait()?;
                return Err(QemuError::Deadline(deadline));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let joined = |handle: std::thread::JoinHandle<std::io::Result<Vec<u8>>>| {
            handle.join().unwrap_or_else(|_| Err(std::io::Error::other("a reader failed")))
        };
        Ok(Output {
            console: joined(self.console)?,
            messages: String::from_utf8_lossy(&joined(self.messages)?).into_owned(),
            success: status.success(),
        })
    }
}

/// A file in the system's temporary directory that is deleted when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a file with these contents, and a name that is unique in this process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(contents: &[u8]) -> std::io::Result<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rtmark-judge-{}-{number}.bin", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, contents)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Failing to delete a file is not an error.
        let _ = std::fs::remove_file(&self.0);
    }
}
