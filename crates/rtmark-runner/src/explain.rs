//! Explains what the cycles of a scenario's typical sample were spent on.
//!
//! The scenario runs twice: at full speed to collect its samples, and again, observed, until the
//! typical one has passed. Both runs are identical to the cycle.

use rtmark_firmware::select;
use rtmark_model::{Failure, FailureKind, Samples, Scenario};
use rtmark_observe::{Attribution, SpanCost};
use rtmark_sim::{InternalError, Soc};
use rtmark_units::Cycles;

use crate::internal_error;
use crate::measure::{MeasureOptions, Measured, Probed, Recording, measure_with};
use crate::run::{Ending, Session};

/// The number of cycles before a span at which observation starts, so that the observer knows the call
/// stack when the span begins. The run may overshoot a limit by one instruction or exception entry.
pub(crate) const LEAD: Cycles = Cycles(2_000);

/// The explanation of a typical sample.
#[derive(Clone, Debug)]
pub struct Explained {
    /// All samples.
    pub measured: Measured,
    /// The index of the explained sample, from 0.
    pub sample: u64,
    /// When it began, in cycles since reset.
    pub began: Cycles,
    /// What its cycles were spent on.
    pub cost: SpanCost,
}

/// Returns the first sample of typical length, an undisturbed one if there is any.
pub(crate) fn representative(samples: &Samples) -> Option<usize> {
    let typical = samples.statistics()?.median();
    let fits = |disturbed: bool| {
        let mut samples = samples.iter().enumerate();
        let first_apart = samples.by_ref().take(1).count();
        samples
            .find(|(_, (value, hit))| *value == typical && hit.any() == disturbed)
            .map(|(at, _)| at)
            .filter(|at| *at >= first_apart)
    };
    fits(false).or_else(|| fits(true)).or(Some(0))
}

fn failed(message: String) -> Failure {
    Failure {
        kind: FailureKind::Load,
        message,
        hint: "`rtmark run` shows whether the scenario can be measured".into(),
        console: String::new(),
    }
}

/// Returns the failure that reports a mistake of the simulator during an observed run.
pub(crate) fn internal_failure(error: &InternalError, probed: &Probed) -> Failure {
    Failure {
        kind: FailureKind::Internal,
        hint: internal_error::hint(),
        ..failed(internal_error::describe(error, &probed.image, &probed.elf))
    }
}

/// Runs a scenario from reset to the given cycle.
///
/// # Errors
/// When the image does not fit the soc, or does not hold the scenario.
pub(crate) fn reach<'a>(
    soc: &Soc,
    probed: &'a Probed,
    scenario: &Scenario,
    cycle: Cycles,
) -> Result<Session<'a>, Failure> {
    let mut session =
        Session::new(soc, &probed.image).map_err(|error| failed(error.to_string()))?;
    select(&mut session.machine, &probed.image, &probed.records, &scenario.id)
        .map_err(|error| failed(error.to_string()))?;
    session.run(cycle, |machine| {
        machine.take_console();
    });
    Ok(session)
}

/// Measures a scenario and attributes the cycles of its typical sample. `advanced` is called now and
/// then with the cycles of the measurement that have passed.
///
/// # Errors
/// Those of [`measure()`](crate::measure()).
pub fn explain(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    budget: Cycles,
    advanced: impl FnMut(Cycles),
) -> Result<Explained, Failure> {
    let options = MeasureOptions { recording: Recording::Spans, ..MeasureOptions::default() };
    let (measured, spans) = measure_with(soc, probed, scenario, budget, options, advanced)?;
    let sample = representative(&measured.samples.0).unwrap_or(0);
    let span = spans.get(sample).ok_or_else(|| failed("it has no sample to explain".into()))?;
    let (from, to) = *span;
    let mut session = reach(soc, probed, scenario, from.saturating_sub(LEAD))?;
    let symbols = probed.image.symbols();
    let mut attribution = Attribution::new(&session.machine, symbols, from, to);
    let ending = session.run_observed(to.saturating_add(LEAD), &mut attribution, |machine| {
        machine.take_console();
    });
    if let Ending::Internal(error) = ending {
        return Err(internal_failure(&error, probed));
    }
    let cost = attribution.cost();
    Ok(Explained { measured, sample: sample as u64, began: from, cost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Disturbance;

    #[test]
    fn the_first_typical_sample_represents_all() {
        let hit = Disturbance { tick: true, interrupt: false };
        let of = |values: &[(u64, Disturbance)]| {
            let mut samples = Samples::new();
            for (value, hit) in values {
                samples.push(*value, *hit);
            }
            representative(&samples)
        };
        let none = Disturbance::NONE;
        assert_eq!(of(&[(5, none), (5, hit), (7, none), (5, none), (5, none)]), Some(3));
        assert_eq!(of(&[(5, none)]), Some(0));
        assert_eq!(of(&[(5, none), (9, hit)]), Some(1));
        assert_eq!(of(&[]), None);
    }
}
