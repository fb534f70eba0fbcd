//! What the cycles of a scenario's typical sample were spent on.
//!
//! The scenario runs twice: at full speed, to know its samples, and again until the one
//! that stands for them has passed, this time observed. The runs are the same to the
//! cycle.

use rtmark_firmware::select;
use rtmark_model::{Failure, FailureKind, Samples, Scenario};
use rtmark_observe::{Attribution, SpanCost};
use rtmark_sim::{InternalError, Soc};
use rtmark_units::Cycles;

use crate::measure::{Manner, Measured, Notes, Probed, measure_noting};
use crate::mistake;
use crate::run::{Ending, Session};

/// Cycles before a span from which on the run is observed, to know where it is when the
/// span begins. The run may pass a limit by an instruction or the entry of an exception.
pub(crate) const LEAD: Cycles = Cycles(2_000);

/// What a typical sample was spent on.
#[derive(Clone, Debug)]
pub struct Explained {
    /// All samples.
    pub measured: Measured,
    /// Which of them is explained, counted from 0.
    pub sample: u64,
    /// When it began, in cycles since reset.
    pub began: Cycles,
    /// What it was spent on.
    pub cost: SpanCost,
}

/// The first sample that is as long as is typical, and undisturbed if any is.
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

/// The simulator was wrong in a run that was observed.
pub(crate) fn mistaken(error: &InternalError, probed: &Probed) -> Failure {
    Failure {
        kind: FailureKind::Internal,
        hint: mistake::hint(),
        ..failed(mistake::told(error, &probed.image, &probed.elf))
    }
}

/// A run of a scenario, from reset to a cycle.
///
/// # Errors
/// When the image does not fit the soc, or lacks the scenario.
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

/// Measures a scenario and attributes the cycles of its typical sample.
/// `advanced` is told now and then how many cycles of the measurement have passed.
///
/// # Errors
/// As [`measure()`](crate::measure()).
pub fn explain(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    budget: Cycles,
    advanced: impl FnMut(Cycles),
) -> Result<Explained, Failure> {
    let manner = Manner { notes: Notes::Spans, ..Manner::default() };
    let (measured, spans) = measure_noting(soc, probed, scenario, budget, manner, advanced)?;
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
        return Err(mistaken(&error, probed));
    }
    let cost = attribution.cost();
    Ok(Explained { measured, sample: sample as u64, began: from, cost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Disturbance;

    #[test]
    fn the_first_typical_sample_stands_for_all() {
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
