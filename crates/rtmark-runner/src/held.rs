//! Finds the longest time for which a program would hold an interrupt back, whatever the cause.
//!
//! The program runs twice: at full speed, to make sure that its own check passes and to find the
//! interval of interest, and again observed. Both runs are identical to the cycle.

use rtmark_model::{Disturbance, Exact, Failure, FailureKind, HeldBack, Samples, Scenario};
use rtmark_observe::{HeldBackRecorder, HeldInterrupt, Lines, Map};
use rtmark_sim::Soc;
use rtmark_units::Cycles;

use crate::explain::{internal_failure, reach};
use crate::measure::{MeasureOptions, Measured, Probed, Recording, measure_with};
use crate::run::Ending;

/// Runs the program of a scenario and returns the longest time for which an interrupt of this priority
/// would have been held back in it.
///
/// # Errors
/// Those of [`measure()`](crate::measure()).
pub(crate) fn held_back(
    soc: &Soc,
    probed: &Probed,
    (scenario, held_back): (&Scenario, &HeldBack),
    priority: u8,
    budget: Cycles,
    advanced: impl FnMut(Cycles),
) -> Result<Measured, Failure> {
    let program = Scenario { id: held_back.program.clone(), held_back: None, ..scenario.clone() };
    let options = MeasureOptions { recording: Recording::Spans, ..MeasureOptions::default() };
    let (measured, spans) = measure_with(soc, probed, &program, budget, options, advanced)?;
    let (Some((from, _)), Some((_, to))) = (spans.first(), spans.last()) else {
        return Ok(measured);
    };
    let mut session = reach(soc, probed, &program, *from)?;
    let whose = HeldInterrupt::OfPriority(priority);
    let mut observer = HeldBackRecorder::new(&session.machine, &probed.image, whose);
    let ending = session.run_observed(*to, &mut observer, |machine| {
        machine.take_console();
    });
    if let Ending::Internal(error) = ending {
        return Err(internal_failure(&error, probed));
    }
    let lines = Lines::new(&probed.elf);
    let intervals = observer.intervals(Map::new(&probed.image, lines.as_ref()));
    let Some(longest) = intervals.into_iter().next() else {
        return Err(Failure {
            kind: FailureKind::Check,
            message: format!("nothing ever held {} back [{}]", held_back.interrupt, probed.path),
            hint:
                "every instruction does so for at least its own cycles: please report this as a bug"
                    .into(),
            console: String::new(),
        });
    };
    let mut samples = Samples::new();
    samples.push(longest.cycles, Disturbance::NONE);
    Ok(Measured {
        samples: Exact(samples),
        // Those of the load's own spans.
        executed: None,
        masked: None,
        held: Some(Box::new(longest)),
        ..measured
    })
}
