//! The testbench of a core's RTL: a separate program that receives what to run and reports what
//! happened. `rtl/ibex/bench.cpp` describes the protocol.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::generate::{BASE, END, Program, RAM, SIZE};

/// A completed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    pub cycle: u64,
    pub pc: u32,
    /// Whether it raised an exception instead.
    pub traps: bool,
    /// The register that it wrote, 0 for none, and its value.
    pub rd: u8,
    pub value: u32,
}

/// A store, as seen at the data port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub address: u32,
    /// The written bytes of the word.
    pub bytes: u8,
    pub value: u32,
}

/// The result of a program.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub retired: Vec<Retired>,
    pub stored: Vec<Stored>,
    /// The cycles of jumps to interrupt handlers.
    pub entered: Vec<u64>,
    /// Whether it reached its end.
    pub ended: bool,
}

/// The reason why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It could not be started.
    #[error("cannot start {path}: {source}; build it with scripts/rtl")]
    Start {
        /// The testbench.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It has ended, or communication failed.
    #[error("the testbench does not answer: {0}")]
    Talk(#[from] std::io::Error),
    /// It sent an invalid answer.
    #[error(
        "the testbench answered `{0}`; does its version match? build it again with scripts/rtl"
    )]
    Answer(String),
}

/// A testbench that is waiting for programs.
#[derive(Debug)]
pub struct Bench {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Bench {
    /// Starts the testbench.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(path: &Path) -> Result<Self, BenchError> {
        let failed = |source| BenchError::Start { path: path.display().to_string(), source };
        let mut command = Command::new(path);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(failed)?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let output = output.ok_or_else(|| failed(std::io::Error::other("it has no output")))?;
        Ok(Self { process, input, output: BufReader::new(output) })
    }

    /// Runs a program with wait states at its two ports, for at most this many cycles.
    ///
    /// # Errors
    /// When the testbench does not answer, or its answer is not valid.
    pub fn run(
        &mut self,
        program: &Program,
        (instruction, data): (u8, u8),
        most: u64,
    ) -> Result<Trace, BenchError> {
        let mut job = format!("boot {BASE:x}\nmemory {BASE:x} {SIZE:x}\nmemory {RAM:x} {SIZE:x}\n");
        let _ = writeln!(job, "waits {instruction:x} {data:x}");
        let _ = write!(job, "image {BASE:x} ");
        for byte in &program.image {
            let _ = write!(job, "{byte:02x}");
        }
        job.push('\n');
        for (cycle, bits) in &program.lines {
            let _ = writeln!(job, "line {cycle:x} {bits:x}");
        }
        let _ = writeln!(job, "run {END:x} {most:x}");
        if let Some(input) = &mut self.input {
            input.write_all(job.as_bytes())?;
            input.flush()?;
        }
        self.read()
    }

    fn read(&mut self) -> Result<Trace, BenchError> {
        let mut trace = Trace::default();
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
            match trace.note(line.trim_end()) {
                Some(LineKind::Continues) => {}
                Some(LineKind::Ends) => return Ok(trace),
                None => return Err(BenchError::Answer(line.trim_end().to_owned())),
            }
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It ends when its input ends.
        self.input = None;
        let _status = self.process.wait();
    }
}

/// Tells whether a line was the last of an answer.
enum LineKind {
    Continues,
    Ends,
}

impl Trace {
    /// Parses a line of an answer; returns `None` if it is not valid.
    fn note(&mut self, line: &str) -> Option<LineKind> {
        let mut words = line.split(' ');
        let what = words.next()?;
        let mut number = || u64::from_str_radix(words.next()?, 16).ok();
        match what {
            "i" => {
                let (cycle, pc) = (number()?, number()? as u32);
                let (_bits, traps) = (number()?, number()? != 0);
                let (rd, value) = (number()? as u8, number()? as u32);
                self.retired.push(Retired { cycle, pc, traps, rd, value });
            }
            "w" => {
                let _cycle = number()?;
                let (address, bytes, value) = (number()? as u32, number()? as u8, number()? as u32);
                self.stored.push(Stored { address, bytes, value });
            }
            "t" => self.entered.push(number()?),
            "end" => {
                self.ended = true;
                return Some(LineKind::Ends);
            }
            "late" => return Some(LineKind::Ends),
            _ => return None,
        }
        Some(LineKind::Continues)
    }
}
