//! Groups regressions by their causes.

use rtmark_model::Line;

use crate::gate::Finding;
use crate::{Comparison, Gate, Pair};

/// Regressions with the same cause: figures that grew because the same functions were changed, or that
/// fail with the same message.
pub struct Cause<'a> {
    /// The functions that were changed, if known.
    pub functions: &'a [String],
    /// Where the first of them begins.
    pub place: Option<&'a Line>,
    pub findings: Vec<&'a Finding>,
}

impl<'a> Cause<'a> {
    /// Returns the regressions by cause, in their order.
    pub fn all(comparison: &'a Comparison, gate: &'a Gate) -> Vec<Self> {
        let mut causes: Vec<Self> = Vec::new();
        for finding in &gate.regressions {
            let pair = comparison.pairs.iter().find(|pair| pair.key == finding.key);
            let functions = pair.map_or(&[][..], |pair: &Pair| pair.changed.as_slice());
            let one = |cause: &&mut Self| {
                let first = cause.findings[0];
                if functions.is_empty() {
                    // A failure has no figure, so only the message can be compared.
                    let alike = finding.excess.is_none() && first.text == finding.text;
                    first.key == finding.key || alike
                } else {
                    cause.functions == functions
                }
            };
            match causes.iter_mut().find(one) {
                Some(cause) => cause.findings.push(finding),
                None => causes.push(Self {
                    functions,
                    place: pair.and_then(|pair| pair.place.as_ref()),
                    findings: vec![finding],
                }),
            }
        }
        causes
    }

    /// Returns the findings by series, in their order.
    pub fn by_key(&self) -> Vec<Vec<&'a Finding>> {
        by_key(self.findings.iter().copied())
    }

    /// Describes the consequence in a word.
    pub fn consequence(&self) -> &'static str {
        if self.findings[0].excess.is_some() { "slower" } else { "fail" }
    }
}

/// Groups findings by series, in their order.
pub fn by_key<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Vec<&'a Finding>> {
    let mut all: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        match all.iter_mut().find(|some| some[0].key == finding.key) {
            Some(some) => some.push(finding),
            None => all.push(vec![finding]),
        }
    }
    all
}
