//! What each rule of the pipeline model contributes: each is left out in turn, and all windows are
//! run again.

use std::collections::BTreeSet;

use rayon::prelude::*;
use rtmark_sim::Rule;

use crate::Failure;
use crate::chip::{Measurements, PreparedMachines, Sample};
use crate::settings::Part;
use crate::test::Half;
use crate::{score, test};

/// How the measurements change when a rule is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Rows and measurements whose cycles change.
    rows: u64,
    measurements: u64,
    /// Measurements that are right only with the rule.
    right_to_wrong: u64,
    /// Measurements that are right only without the rule.
    wrong_to_right: u64,
    /// Tests with a row that is right only with the rule.
    tests: BTreeSet<String>,
}

impl Change {
    /// Counts a window: the chip's cycles, those of the whole model, and those without the rule.
    fn add(&mut self, test: &str, count: u64, chip: u64, with: Option<u64>, without: Option<u64>) {
        if with == without {
            return;
        }
        self.rows += 1;
        self.measurements += count;
        if with == Some(chip) {
            self.right_to_wrong += count;
            self.tests.insert(test::name(test).to_owned());
        } else if without == Some(chip) {
            self.wrong_to_right += count;
        }
    }
}

/// A chip's windows with the cycles of the whole model.
struct FullModel<'a> {
    measured: &'a Measurements,
    cycles: Vec<(&'a Sample, Option<u64>)>,
}

fn run<'a>(
    measured: &'a Measurements,
    prepared: &PreparedMachines,
    samples: &[&'a Sample],
) -> Vec<(&'a Sample, Option<u64>)> {
    let cycles =
        |sample: &&'a Sample| (*sample, prepared.cycles(measured.row(sample), sample.setting));
    samples.par_iter().map(cycles).collect()
}

impl<'a> FullModel<'a> {
    fn of(measured: &'a Measurements) -> Result<Self, Failure> {
        let uncached = |sample: &&Sample| sample.setting.cache != Part::On;
        let samples: Vec<_> = measured.samples.iter().filter(uncached).collect();
        let cycles = run(measured, &measured.chip.prepare(None)?, &samples);
        Ok(Self { measured, cycles })
    }

    fn add_change(&self, rule: Rule, change: &mut Change) -> Result<(), Failure> {
        let prepared = self.measured.chip.prepare(Some(rule))?;
        let samples: Vec<_> = self.cycles.iter().map(|(sample, _)| *sample).collect();
        let without = run(self.measured, &prepared, &samples);
        for ((sample, with), (_, without)) in self.cycles.iter().zip(without) {
            let row = self.measured.row(sample);
            change.add(&row.test, sample.count, row.cycles, *with, without);
        }
        Ok(())
    }
}

/// Returns a table of what each rule contributes on all measurements.
pub fn tell(chips: &[Measurements]) -> Result<String, Failure> {
    let whole: Vec<_> = chips.iter().map(FullModel::of).collect::<Result<_, _>>()?;
    let mut table = score::table(&[
        "without the rule",
        "rows that change",
        "measurements",
        "right to wrong",
        "wrong to right",
        "tests that need it, half fitted on",
        "other half",
        "source",
    ]);
    for &rule in Rule::ALL {
        let mut change = Change::default();
        whole.iter().try_for_each(|chip| chip.add_change(rule, &mut change))?;
        let Change { rows, measurements, right_to_wrong, wrong_to_right, tests } = &change;
        let needs = |half| tests.iter().filter(|test| Half::of(test) == half).count() as u64;
        let [fitting, scoring] = [Half::Fitting, Half::Scoring].map(needs);
        let counts = [*rows, *measurements, *right_to_wrong, *wrong_to_right, fitting, scoring];
        let cells = std::iter::once(rule.name().to_owned())
            .chain(counts.map(|count| count.to_string()))
            .chain(std::iter::once(rule.source().to_owned()));
        table.add_row(cells);
    }
    let count = Rule::ALL.len();
    Ok(format!("The pipeline model has {count} rules.\n{}\n", score::finished(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_by_their_effect_on_the_score() {
        let mut change = Change::default();
        change.add("a/b#0", 5, 7, Some(7), Some(7));
        assert_eq!(change, Change::default(), "the same without the rule");
        change.add("a/b#0", 5, 7, Some(7), Some(8));
        change.add("cache/a/b#4", 1, 7, Some(7), None);
        change.add("a/c#0", 2, 7, Some(8), Some(7));
        change.add("a/d#0", 3, 7, Some(8), Some(9));
        let expected = Change {
            rows: 4,
            measurements: 11,
            right_to_wrong: 6,
            wrong_to_right: 2,
            tests: BTreeSet::from(["a/b".to_owned()]),
        };
        assert_eq!(change, expected);
    }
}
