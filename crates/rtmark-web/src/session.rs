//! A run of one image, in slices.

use rtmark_sim::{Cycles, ExitStatus, Image, Machine, Soc, Stop};
use serde::Serialize;

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The program ended itself.
    Exit,
    /// It did something that the core refuses, or stands at a breakpoint.
    Fault,
    /// It sleeps, and nothing can wake it.
    Asleep,
    /// It had run for as long as it might.
    Limit,
    /// The simulator is wrong.
    Internal,
}

/// A machine that runs an image.
#[derive(Debug)]
pub struct Session {
    machine: Machine,
}

impl Session {
    /// Loads an image into a chip. A raw binary belongs where the chip's vectors are.
    pub fn begin(soc: &str, image: &[u8]) -> Result<Self, String> {
        let soc = Soc::from_toml(soc).map_err(|error| format!("the soc file: {error}"))?;
        let image = Image::from_bytes(image, soc.vector_base())
            .map_err(|error| format!("the image: {error}; ELF, UF2, Intel HEX and raw are read"))?;
        let mut machine = Machine::new(&soc);
        machine.load(&image).map_err(|error| {
            format!("the image does not fit {}: {error}; choose the chip that it is for", soc.name)
        })?;
        Ok(Self { machine })
    }

    /// The chip.
    pub fn soc(&self) -> &Soc {
        self.machine.soc()
    }

    /// Runs on for so many cycles, and no further than `most` since reset. Says how the run has
    /// ended, if it has.
    pub fn advance(&mut self, cycles: u64, most: u64) -> Option<(Ended, String)> {
        let until = self.machine.cycles().0.saturating_add(cycles).min(most);
        let stop = self.machine.run(Cycles(until));
        let told = |how, text: &str| Some((how, text.to_owned()));
        match stop {
            Stop::Limit if self.machine.cycles().0 < most => None,
            Stop::Limit => told(Ended::Limit, "it still ran when its time was over"),
            Stop::Exit(ExitStatus(0)) => told(Ended::Exit, "the program ended itself"),
            Stop::Exit(ExitStatus(status)) => {
                Some((Ended::Exit, format!("the program ended itself with status {status}")))
            }
            Stop::Fault(report) => Some((Ended::Fault, report.to_string())),
            Stop::Lockup(report) => Some((Ended::Fault, format!("the core has stopped: {report}"))),
            Stop::Breakpoint(address) => {
                Some((Ended::Fault, format!("a breakpoint instruction at {address:#010x}")))
            }
            Stop::Asleep => told(Ended::Asleep, "it sleeps, and nothing can wake it"),
            Stop::ResetRequested => match self.machine.reset() {
                Ok(()) => None,
                Err(error) => Some((Ended::Fault, error.to_string())),
            },
            Stop::HostCall | Stop::Observer => None,
            Stop::Internal(error) => Some((Ended::Internal, error.to_string())),
            other => {
                Some((Ended::Internal, format!("it stopped for a reason of no name: {other:?}")))
            }
        }
    }

    /// What the program has printed since this was asked last.
    pub fn console(&mut self) -> String {
        String::from_utf8_lossy(&self.machine.take_console()).into_owned()
    }

    /// Cycles and instructions since reset.
    pub fn counts(&self) -> (u64, u64) {
        (self.machine.cycles().0, self.machine.instructions().0)
    }
}
