//! A program on both sides: what is run here, and how the two ends are told.

use rtmark_sim::{Cycles, ExitStatus, Machine, Observer, Stop};

use crate::qemu::Output;

struct Nobody;

impl Observer for Nobody {}

/// What a run here came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub stop: Stop,
    /// And when.
    pub cycles: Cycles,
    /// What it has printed.
    pub console: Vec<u8>,
}

impl Ended {
    /// Runs a machine at full speed.
    pub fn of(machine: &mut Machine, until: Cycles) -> Self {
        let stop = machine.run(until);
        Self { stop, cycles: machine.cycles(), console: machine.take_console() }
    }

    /// Whether a run of which each instruction is told to an observer ends likewise.
    pub fn is_told_alike(&self, mut machine: Machine, until: Cycles) -> bool {
        let stop = machine.run_observed(until, &mut Nobody);
        *self == Self { stop, cycles: machine.cycles(), console: machine.take_console() }
    }

    /// How both sides have ended, unless each has come to a good end.
    pub fn failure(&self, theirs: &Output) -> Option<String> {
        if self.stop == Stop::Exit(ExitStatus(0)) && theirs.success {
            return None;
        }
        let stop = match &self.stop {
            Stop::Fault(report) | Stop::Lockup(report) => report.to_string(),
            other => format!("{other:?}"),
        };
        Some(format!("{stop}; QEMU: success {}, {}", theirs.success, theirs.messages))
    }
}

/// Notes as words.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
