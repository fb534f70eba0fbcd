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
