//! Runs a program on the simulator, and compares how both sides end.

use rtmark_sim::{Cycles, ExitStatus, Machine, Observer, Stop};

use crate::qemu::Output;

struct NullObserver;

impl Observer for NullObserver {}

/// The result of a run on the simulator.
#[derive(Debug, PartialEq, Eq)]
pub struct RunResult {
    /// How it ended.
    pub stop: Stop,
    /// When it ended.
    pub cycles: Cycles,
    /// What it has printed.
    pub console: Vec<u8>,
}

impl RunResult {
    /// Runs a machine at full speed.
    pub fn of(machine: &mut Machine, until: Cycles) -> Self {
        let stop = machine.run(until);
        Self { stop, cycles: machine.cycles(), console: machine.take_console() }
    }

    /// Tells whether a run with an observer of every instruction ends in the same way.
    pub fn matches_observed_run(&self, mut machine: Machine, until: Cycles) -> bool {
        let stop = machine.run_observed(until, &mut NullObserver);
        *self == Self { stop, cycles: machine.cycles(), console: machine.take_console() }
    }

    /// Describes how both sides ended, unless both succeeded.
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

/// Converts records to words.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
