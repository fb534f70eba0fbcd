//! Measures one scenario on a QEMU machine.

use std::time::Duration;

use rtmark_model::{Failure, FailureKind, Scenario, visible};
use rtmark_qemu::{Machine, QemuError};

use crate::judge::{Clocked, RunEnd, judge};
use crate::measure::Measured;

/// How long a scenario may take on QEMU, in wall-clock time.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// Boots an image with one scenario selected on a QEMU machine and collects its samples, in
/// instructions.
///
/// # Errors
/// When QEMU is missing, or the firmware ends without printing `ok`, yields too few samples, or is
/// still running at the deadline.
pub fn emulate(
    machine: &Machine,
    image: &Clocked,
    scenario: &Scenario,
    deadline: Duration,
) -> Result<Measured, Failure> {
    let place = format!("on QEMU's {}", machine.machine);
    let fail = |kind, message: String, hint: &str, console: &[u8]| Failure {
        kind,
        message: format!("{message} [{} {place}]", image.path),
        hint: hint.to_owned(),
        console: visible(console),
    };
    let elf = image.with(scenario, &place)?;
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
                let hint = "check whether it ends on the simulator, or run the command by hand";
                fail(FailureKind::Budget, message, hint, &console[end..])
            }
            _ => fail(FailureKind::Fault, message, "`rtmark doctor` checks QEMU", &[]),
        }
    })?;
    let ending_text = if output.messages.is_empty() {
        output.status.to_string()
    } else {
        format!("{}; QEMU says: {}", output.status, visible(output.messages.as_bytes()).trim_end())
    };
    let (succeeded, counter) = (output.status.success(), machine.core_counter);
    let ended = RunEnd { ending_text: &ending_text, succeeded, place: &place, counter };
    judge(&output.console, ended, image, scenario)
}
