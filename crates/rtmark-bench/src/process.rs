//! Runs processes, and measures what they use.

use std::error::Error;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use wait4::Wait4;

/// The argument with which the program runs one image instead: the file, the soc file.
pub const RUN: &str = "--run";

/// The resources used by one run.
pub struct Run {
    /// Processor time.
    pub seconds: f64,
    /// The peak memory.
    pub bytes: u64,
    pub output: String,
}

/// Runs a command to its end.
pub fn measure(command: &mut Command) -> Result<Run, Box<dyn Error>> {
    let program = command.get_program().to_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let mut output = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut output)?;
    }
    let used = child.wait4()?;
    let seconds = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    if !used.status.success() {
        return Err(format!("{command:?}: {}", used.status).into());
    }
    Ok(Run { seconds, bytes: used.rusage.maxrss, output })
}

/// Runs an image on a simulator, and returns the number of executed instructions as well.
pub fn simulate(program: &Path, elf: &Path, soc: &Path) -> Result<(Run, u64), Box<dyn Error>> {
    let run = measure(Command::new(program).arg(RUN).arg(elf).arg(soc))?;
    let instructions = run.output.trim().parse()?;
    Ok((run, instructions))
}

/// A QEMU machine.
#[derive(Clone, Copy, Debug)]
pub struct Emulator {
    pub program: &'static str,
    pub machine: &'static str,
}

impl Emulator {
    /// Returns a machine with an Arm core.
    pub const fn arm(machine: &'static str) -> Self {
        Self { program: "qemu-system-arm", machine }
    }
}

/// Returns the processor seconds of one run on QEMU.
pub fn emulate(on: Emulator, elf: &Path, mode: &[&str]) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "300", on.program, "-M", on.machine, "-nographic"])
        .args(["-monitor", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native"])
        .args(mode)
        .arg("-kernel")
        .arg(elf);
    Ok(measure(&mut command)?.seconds)
}
