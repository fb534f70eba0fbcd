//! Why a figure differs: both firmwares run once more. Where the spans execute nothing that was
//! changed, it moved; where it grew, the functions are named in which the cycles went.

use rayon::prelude::*;
use rtmark_compare::{Comparison, Measure, Pair, Verdict};
use rtmark_firmware::{Cache, probes};
use rtmark_model::{Answer, Backend, Basis, Catalogue, Key, Scenario, Series};
use rtmark_observe::{Difference, Row};
use rtmark_runner::{CodeChange, Explained, Probed, explain, socs};
use rtmark_sim::{Image, Soc};
use rtmark_units::Cycles;

/// Of how many series the cause is looked for: the first ones tend to explain the others.
const MOST: usize = 10;
/// How many functions are named.
const FUNCTIONS: usize = 3;

/// Decides of the figures that differ whether they moved or were changed, and notes causes in the
/// pairs that became worse, as far as both firmwares are still kept.
pub fn note(comparison: &mut Comparison, before: &[Answer], after: &[Answer], cache: Cache) {
    let Ok(catalogue) = Catalogue::builtin() else { return };
    let kept = Kept { cache, catalogue };
    let exact = |pair: &&mut Pair| pair.key.backend == Backend::Sim && pair.differs();
    let of = |answers: &[Answer], pair: &Pair| {
        let fits = |answer: &&Answer| same_place(answer.key(), &pair.key);
        answers.iter().rfind(fits).and_then(Answer::series).cloned()
    };
    comparison.pairs.iter_mut().filter(exact).par_bridge().for_each(|pair| {
        let both = of(before, pair).zip(of(after, pair));
        match both.and_then(|(was, is)| kept.changed(pair, &was, &is)) {
            Some(changed) => pair.decide(changed),
            None => pair.notes.push(UNSEEN.to_owned()),
        }
    });
    let worse = comparison.pairs.iter_mut().filter(|pair| {
        pair.verdict == Verdict::Worse
            && pair.key.backend == Backend::Sim
            && [&pair.changes, &pair.instructions]
                .iter()
                .any(|changes| changes.iter().any(|change| change.measure == Measure::Median))
    });
    for pair in worse.take(MOST) {
        let Some((was, is)) = of(before, pair).zip(of(after, pair)) else { continue };
        pair.cause = kept.cause(&pair.changed, &was, &is);
    }
}

/// What is said where nobody can look at the code.
const UNSEEN: &str = "judged by the number of instructions alone: the build folder no longer holds \
                      both images";

fn same_place(a: &Key, b: &Key) -> bool {
    (&a.soc, &a.kernel, &a.scenario, &a.profile, a.backend)
        == (&b.soc, &b.kernel, &b.scenario, &b.profile, b.backend)
}

/// Images that are still kept, and what their scenarios mean.
struct Kept {
    cache: Cache,
    catalogue: Catalogue,
}

/// A run that can be done once more.
struct Again<'a> {
    probed: Probed,
    scenario: &'a Scenario,
    soc: Soc,
    budget: Cycles,
}

impl Kept {
    /// What a series was measured with, if that is still kept.
    fn again(&self, series: &Series) -> Option<Again<'_>> {
        let elf = self.cache.image(&series.provenance.firmware.elf_sha256)?;
        let image = Image::from_elf(&elf).ok()?;
        let records = probes::parse(image.section(probes::SECTION)?).ok()?;
        let path = series.provenance.firmware.image.clone();
        let scenario = self.catalogue.get(&series.key.scenario)?;
        let file = socs::find(&series.key.soc).ok()?;
        let same = file.sha256 == series.provenance.soc_sha256 && series.basis == Basis::Cycles;
        let clock = u64::from(file.soc.clock.0);
        let budget = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
        let probed = Probed { image, elf, records, path };
        same.then_some(Again { probed, scenario, soc: file.soc, budget })
    }

    /// The changed functions of which the spans execute something.
    fn changed(&self, pair: &Pair, was: &Series, is: &Series) -> Option<Vec<String>> {
        let (was, is) = (self.again(was)?, self.again(is)?);
        let change = CodeChange::between(&was.probed.elf, &is.probed.elf)?;
        let images = (&was.probed, &is.probed);
        let mut changed = change.in_spans(images, &is.soc, is.scenario, is.budget)?;
        // The same code may have been told otherwise what to do.
        if changed.is_empty() && !pair.instructions.is_empty() && !change.same_data() {
            changed.insert("constants or initial values".to_owned());
        }
        Some(changed.into_iter().collect())
    }

    fn cause(&self, changed: &[String], was: &Series, is: &Series) -> Option<String> {
        let (was, is) = (self.explained(was)?, self.explained(is)?);
        let difference = Difference::between(("after", &is.cost), ("before", &was.cost));
        let executed = |row: &Row| i128::from(row.a.instructions) - i128::from(row.b.instructions);
        let is_changed = |row: &&Row| {
            row.function.iter().chain(&row.functions_a).any(|name| changed.contains(name))
        };
        // The cycles of functions that nobody changed were moved by those that somebody did.
        let any_changed = difference.rows.iter().any(|row| is_changed(&row));
        let suspect = |row: &&Row| if any_changed { is_changed(row) } else { row.difference() > 0 };
        let named: Vec<_> = difference
            .rows
            .iter()
            .filter(suspect)
            .take(FUNCTIONS)
            .map(|row| {
                let first = row.function.as_ref().or(row.functions_a.first());
                let name = first.cloned().unwrap_or_else(|| row.role.to_string());
                match executed(row) {
                    0 => format!("{name} ({:+})", row.difference()),
                    more => format!("{name} ({:+}, {more:+} instructions)", row.difference()),
                }
            })
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// What a series' typical sample was spent on, if its firmware runs as it did.
    fn explained(&self, series: &Series) -> Option<Explained> {
        let Again { probed, scenario, soc, budget } = self.again(series)?;
        let explained = explain(&soc, &probed, scenario, budget, |_| {}).ok()?;
        let typical = explained.measured.samples.0.statistics()?.typical();
        (Measure::Median.of(series) == Some(typical)).then_some(explained)
    }
}
