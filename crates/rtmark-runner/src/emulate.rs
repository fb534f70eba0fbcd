//! One scenario on one of QEMU's machines.

use std::time::Duration;

use rtmark_firmware::probes::Record;
use rtmark_firmware::{select_in_elf, select_word};
use rtmark_model::{Exact, Failure, FailureKind, Scenario, visible};
use rtmark_qemu::{Machine, QemuError};

use crate::clocked::{self, Clocking, Log};
use crate::measure::{Measured, Verdict, enough, index_of, verdict};

/// How long a scenario may take on QEMU, by the clock on the wall.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// An image with clocked probes.
#[derive(Clone, Debug)]
pub struct Clocked {
    /// Its file's contents.
    pub elf: Vec<u8>,
    /// Its probes.
    pub records: Vec<Record>,
    /// Its file, for messages.
    pub path: String,
}

/// Boots an image with one scenario selected on one of QEMU's machines and collects its
/// samples, in instructions.
///
/// # Errors
/// When QEMU is missing, or the firmware ends otherwise than with `ok`, brings too few
/// samples, or has not ended at the deadline.
pub fn emulate(
    machine: &Machine,
    image: &Clocked,
    scenario: &Scenario,
    deadline: Duration,
) -> Result<Measured, Failure> {
    let id = scenario.in_firmware();
    let point = scenario.point.as_ref().map_or(0, |point| point.n);
    let fail = |kind, message: String, hint: &str, console: &[u8]| Failure {
        kind,
        message: format!("{message} [{} on QEMU's {}]", image.path, machine.machine),
        hint: hint.to_owned(),
        console: visible(console),
    };
    let word = index_of(&image.records, id).and_then(|index| select_word(index, point));
    let elf = word.and_then(|word| select_in_elf(&image.elf, word)).ok_or_else(|| {
        let hint = "give the scenario its probes: firmware/c/rtmark_probe.h says how";
        fail(FailureKind::Build, format!("no way to select {id} in it"), hint, &[])
    })?;
    let output = machine.run(&elf, deadline).map_err(|error| {
        let message = error.to_string();
        match error {
            QemuError::Missing { package, .. } => fail(
                FailureKind::ToolMissing,
                message,
                &format!("install QEMU (Debian: apt-get install {package})"),
                &[],
            ),
            QemuError::Deadline { console, .. } => {
                let end = console.len().saturating_sub(4096);
                let hint = "see whether it ends on the simulator, or run the command by hand";
                fail(FailureKind::Budget, message, hint, &console[end..])
            }
            _ => fail(FailureKind::Fault, message, "`rtmark doctor` checks QEMU", &[]),
        }
    })?;
    let told = if output.messages.is_empty() {
        output.status.to_string()
    } else {
        format!("{}; QEMU says: {}", output.status, visible(output.messages.as_bytes()).trim_end())
    };
    let log = Log::read(&output.console).map_err(|error| {
        let hint = "was it built with clocked probes, and did it get to its end?";
        fail(FailureKind::Check, format!("{error} ({told})"), hint, &output.console)
    })?;
    let verdict = verdict(id, point, &log.console).map_err(|problem| {
        let hint =
            "the same firmware on the simulator may tell more: `rtmark run` without --backend";
        fail(FailureKind::Check, format!("{problem} ({told})"), hint, &log.console)
    })?;
    if !output.status.success() {
        let message = format!("it printed ok, but ended with {told}");
        return Err(fail(FailureKind::Check, message, "look at how it ends", &log.console));
    }
    let facts = match verdict {
        Verdict::Ok(facts) => facts,
        Verdict::Declined(reason) => return Ok(Measured::declined(reason)),
    };
    let samples = clocked::samples(&log, &image.records, &scenario.span, id);
    let clocking = samples.map_err(|error| {
        let hint = "raise EVENTS in firmware/c/rtmark_clock.c";
        fail(FailureKind::Check, error.to_string(), hint, &log.console)
    })?;
    let progress = format!("{} events were noted", log.events.len());
    enough(scenario, &clocking.samples, clocking.spoilt, &progress).map_err(
        |(kind, message)| {
            fail(kind, message, "check the probes of this scenario in its source", &log.console)
        },
    )?;
    let Clocking { samples, unpaired, .. } = clocking;
    Ok(Measured {
        samples: Exact(samples),
        unpaired,
        facts,
        declined: None,
        masked: None,
        ran: rtmark_units::Cycles::ZERO,
    })
}
