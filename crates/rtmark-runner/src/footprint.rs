//! What memory a kernel's firmware takes: flash, RAM, and the stacks of a run.

use rtmark_model::{Failure, FailureKind, Scenario};
use rtmark_observe::{StackUse, Stacks};
use rtmark_sim::Soc;
use rtmark_units::Cycles;

use crate::measure::{Probed, select};
use crate::run::{Ending, Session};

/// Runs a scenario to its end and tells how much of their stacks its tasks and interrupts
/// have used.
///
/// # Errors
/// When the image does not fit the soc, or the run does not end by itself.
pub fn stacks(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    budget: Cycles,
) -> Result<Vec<StackUse>, Failure> {
    let fail = |kind, message: String| Failure {
        kind,
        message,
        hint: "`rtmark run` shows whether the scenario can be measured".into(),
        console: String::new(),
    };
    let load = |message: String| fail(FailureKind::Load, message);
    let mut session = Session::new(soc, &probed.image).map_err(|error| load(error.to_string()))?;
    select(&mut session, probed, &scenario.id).map_err(load)?;
    let mut stacks = Stacks::new(probed.image.symbols());
    let ending = session.run_observed(budget, &mut stacks, |machine| {
        machine.take_console();
    });
    match ending {
        Ending::Exit(_) => Ok(stacks.uses()),
        other => Err(fail(FailureKind::Budget, session.tell(&other))),
    }
}
