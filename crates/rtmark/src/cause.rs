//! Why a figure grew: both firmwares run once more, and the functions are named in which the
//! cycles went.

use rtmark_compare::{Comparison, Measure, Verdict};
use rtmark_firmware::{Builder, Tree, probes};
use rtmark_model::{Answer, Backend, Basis, Catalogue, Key, Series};
use rtmark_observe::{Difference, Row};
use rtmark_runner::{Explained, Probed, explain, socs};
use rtmark_sim::Image;
use rtmark_units::Cycles;

/// Of how many series the cause is looked for: the first ones tend to explain the others.
const MOST: usize = 10;
/// How many functions are named.
const FUNCTIONS: usize = 3;

/// Notes causes in the pairs that became worse, as far as both firmwares are still kept.
pub fn note(comparison: &mut Comparison, before: &[Answer], after: &[Answer]) {
    let (Ok(tree), Ok(catalogue)) = (Tree::find(None), Catalogue::builtin()) else { return };
    let builder = Builder::new(tree);
    let worse = comparison.pairs.iter_mut().filter(|pair| {
        pair.verdict == Verdict::Worse
            && pair.key.backend == Backend::Sim
            && [&pair.changes, &pair.instructions]
                .iter()
                .any(|changes| changes.iter().any(|change| change.measure == Measure::Median))
    });
    for pair in worse.take(MOST) {
        let of = |answers: &[Answer]| {
            let fits = |answer: &&Answer| same_place(answer.key(), &pair.key);
            answers.iter().rfind(fits).and_then(Answer::series).cloned()
        };
        let (Some(was), Some(is)) = (of(before), of(after)) else { continue };
        pair.cause = cause(&builder, &catalogue, &was, &is);
    }
}

fn same_place(a: &Key, b: &Key) -> bool {
    (&a.soc, &a.kernel, &a.scenario, &a.profile, a.backend)
        == (&b.soc, &b.kernel, &b.scenario, &b.profile, b.backend)
}

fn cause(builder: &Builder, catalogue: &Catalogue, was: &Series, is: &Series) -> Option<String> {
    let (was, is) = (again(builder, catalogue, was)?, again(builder, catalogue, is)?);
    let difference = Difference::between(("after", &is.cost), ("before", &was.cost));
    // Functions that execute other instructions were changed; the cycles of all others were moved
    // by that. Only where no function has other ones is anybody named by cycles.
    let executed = |row: &Row| i128::from(row.a.instructions) - i128::from(row.b.instructions);
    let any_changed = difference.rows.iter().any(|row| executed(row) != 0);
    let suspect = |row: &&Row| if any_changed { executed(row) != 0 } else { row.difference() > 0 };
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

/// What a series' typical sample was spent on, if its firmware is still kept and runs as it did.
fn again(builder: &Builder, catalogue: &Catalogue, series: &Series) -> Option<Explained> {
    let elf = builder.kept(&series.provenance.firmware.elf_sha256)?;
    let image = Image::from_elf(&elf).ok()?;
    let records = probes::parse(image.section(probes::SECTION)?).ok()?;
    let path = series.provenance.firmware.image.clone();
    let scenario = catalogue.get(&series.key.scenario)?;
    let file = socs::find(&series.key.soc).ok()?;
    let same = file.sha256 == series.provenance.soc_sha256 && series.basis == Basis::Cycles;
    let clock = u64::from(file.soc.clock.0);
    let budget = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
    let probed = Probed { image, elf, records, path };
    let explained = same.then(|| explain(&file.soc, &probed, scenario, budget, |_| {}).ok())??;
    let typical = explained.measured.samples.0.statistics()?.typical();
    (Measure::Median.of(series) == Some(typical)).then_some(explained)
}
