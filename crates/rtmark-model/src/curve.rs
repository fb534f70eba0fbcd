//! Curves: the combined answers of one kernel to all points of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, Basis, Fit, Key, Series, fit};

/// The cost of one operation against a count, for a kernel on a soc.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its key; the scenario is named without a count.
    pub key: Key,
    /// The unit of the vertical axis; none if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The measured points, by increasing count.
    pub points: Vec<CurvePoint>,
    /// The points that were not measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// How the cost grows; none if too few points were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// The count.
    pub n: u32,
    /// The typical sample, in the curve's basis.
    pub cost: u64,
}

/// A point without a figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// The count.
    pub n: u32,
    /// Why, in a sentence.
    pub reason: String,
    /// Whether something went wrong, rather than there being nothing to measure.
    #[serde(default)]
    pub failed: bool,
}

impl Curve {
    /// Returns the curves among these answers, in the order of their first points.
    pub fn of(answers: &[Answer]) -> Vec<Self> {
        let mut curves: Vec<Self> = Vec::new();
        for answer in answers {
            let Some((scenario, n)) = answer.key().scenario.point() else { continue };
            let key = Key { scenario, ..answer.key().clone() };
            let basis = answer.series().map(|series| series.basis);
            // Figures of different kinds do not form a curve.
            let alike = |known: Option<Basis>| known.is_none() || basis.is_none() || known == basis;
            let known = curves.iter().position(|curve| curve.key == key && alike(curve.basis));
            let index = known.unwrap_or_else(|| {
                let (points, missing) = (Vec::new(), Vec::new());
                curves.push(Self { key, basis: None, points, missing, fit: None });
                curves.len() - 1
            });
            let Some(curve) = curves.get_mut(index) else { continue };
            let typical = answer.series().and_then(Series::statistics).map(|s| s.typical());
            match (answer, typical) {
                (_, Some(cost)) => {
                    curve.basis = basis;
                    curve.points.push(CurvePoint { n, cost });
                }
                (Answer::NotApplicable { reason, .. }, _) => {
                    curve.missing.push(Missing { n, reason: reason.clone(), failed: false });
                }
                (Answer::Failed { failure, .. }, _) => {
                    curve.missing.push(Missing { n, reason: failure.to_string(), failed: true });
                }
                (Answer::Measured(_), None) => {
                    curve.missing.push(Missing {
                        n,
                        reason: "The series is empty.".into(),
                        failed: true,
                    });
                }
            }
        }
        for curve in &mut curves {
            curve.points.sort_by_key(|point| point.n);
            curve.missing.sort_by_key(|missing| missing.n);
            let points: Vec<_> = curve.points.iter().map(|point| (point.n, point.cost)).collect();
            curve.fit = fit(&points);
        }
        curves
    }

    /// Returns why there is no figure at all, if all points share the reason.
    pub fn common_reason(&self) -> Option<&str> {
        let first = self.missing.first().filter(|_| self.points.is_empty())?;
        self.missing.iter().all(|missing| missing.reason == first.reason).then_some(&*first.reason)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Failure, FailureKind};

    fn key(kernel: &str, scenario: &str) -> Value {
        json!({"soc": "s", "kernel": kernel, "version": "1", "profile": "product",
               "scenario": scenario, "backend": "sim"})
    }

    /// An answer whose first sample is 1, and all others the typical one.
    fn measured(kernel: &str, scenario: &str, basis: &str, typical: u64) -> Answer {
        let answer = json!({
            "answer": "measured", "key": key(kernel, scenario), "basis": basis, "clock": 48_000_000,
            "span": {"from": "x", "to": "y", "switches": 1, "overhead": "none", "ticks": 0,
                     "interrupts": 0},
            "readings": {"exact": [{"value": 1}, {"value": typical, "times": 9}]},
            "provenance": {"rtmark": "0", "core": "cortex-m0plus"},
        });
        serde_json::from_value(answer).expect("an answer")
    }

    fn empty(kernel: &str, scenario: &str) -> Answer {
        let Answer::Measured(mut series) = measured(kernel, scenario, "cycles", 1) else {
            unreachable!("it is measured")
        };
        series.readings = serde_json::from_value(json!({"exact": []})).expect("readings");
        Answer::Measured(series)
    }

    fn not_applicable(kernel: &str, scenario: &str, reason: &str) -> Answer {
        let key = serde_json::from_value(key(kernel, scenario)).expect("a key");
        Answer::NotApplicable { key, reason: reason.to_owned() }
    }

    fn failed(kernel: &str, scenario: &str) -> Answer {
        let key = serde_json::from_value(key(kernel, scenario)).expect("a key");
        let (message, hint, console) = ("at 0x10".to_owned(), String::new(), String::new());
        Answer::Failed {
            key,
            failure: Failure { kind: FailureKind::Fault, message, hint, console },
        }
    }

    fn points(curve: &Curve) -> Vec<(u32, u64)> {
        curve.points.iter().map(|point| (point.n, point.cost)).collect()
    }

    #[test]
    fn answers_to_the_points_of_a_scenario_form_a_curve() {
        let mut answers = vec![measured("k", "semaphore.give", "cycles", 7)];
        for (n, cost) in [(16, 160), (1, 10), (8, 80), (2, 20), (4, 40)] {
            answers.push(measured("k", &format!("growth.ready.{n}"), "cycles", cost));
            answers.push(measured("other", &format!("growth.ready.{n}"), "cycles", 5));
        }
        let curves = Curve::of(&answers);
        let names =
            curves.iter().map(|curve| (curve.key.kernel.as_str(), curve.key.scenario.as_str()));
        assert_eq!(names.collect::<Vec<_>>(), [("k", "growth.ready"), ("other", "growth.ready")]);
        assert_eq!(points(&curves[0]), [(1, 10), (2, 20), (4, 40), (8, 80), (16, 160)]);
        let orders = curves.iter().map(|curve| curve.fit.as_ref().map(|fit| fit.order));
        let expected = [crate::Order::Linear, crate::Order::Constant].map(Some);
        assert_eq!(orders.collect::<Vec<_>>(), expected);
        assert!(curves.iter().all(|curve| curve.basis == Some(Basis::Cycles)));
        assert!(curves.iter().all(|curve| curve.common_reason().is_none()));
    }

    #[test]
    fn cycles_and_instructions_form_no_curve() {
        let curves = Curve::of(&[
            not_applicable("k", "growth.ready.4", "No."),
            measured("k", "growth.ready.1", "cycles", 10),
            measured("k", "growth.ready.1", "instructions", 6),
            measured("k", "growth.ready.2", "cycles", 20),
            failed("k", "growth.ready.3"),
            measured("k", "growth.ready.2", "instructions", 12),
        ]);
        let shown: Vec<_> = curves.iter().map(|curve| (curve.basis, points(curve))).collect();
        let cycles = (Some(Basis::Cycles), vec![(1, 10), (2, 20)]);
        assert_eq!(shown, [cycles, (Some(Basis::Instructions), vec![(1, 6), (2, 12)])]);
        // What has no figure is told once, with the curve that was there first.
        let missing: Vec<_> = curves[0].missing.iter().map(|one| (one.n, one.failed)).collect();
        assert_eq!(missing, [(3, true), (4, false)]);
        assert_eq!(curves[1].missing, []);
    }

    #[test]
    fn a_curve_without_figures_has_a_reason_if_its_points_share_it() {
        let reason = |answers: &[Answer]| {
            let curves = Curve::of(answers);
            assert_eq!(curves.len(), 1);
            curves[0].common_reason().map(str::to_owned)
        };
        let [one, two] = [1, 2].map(|n| not_applicable("k", &format!("growth.ready.{n}"), "No."));
        assert_eq!(reason(&[one.clone(), two.clone()]).as_deref(), Some("No."));
        let other = not_applicable("k", "growth.ready.2", "Never.");
        assert_eq!(reason(&[one.clone(), other]), None);
        assert_eq!(reason(&[one, measured("k", "growth.ready.2", "cycles", 5)]), None);
        assert_eq!(
            reason(&[failed("k", "growth.ready.1")]).as_deref(),
            Some("the firmware faulted: at 0x10")
        );
        assert_eq!(
            reason(&[empty("k", "growth.ready.1")]).as_deref(),
            Some("The series is empty.")
        );
    }
}
