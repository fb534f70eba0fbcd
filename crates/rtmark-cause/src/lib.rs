//! Explains why a figure differs between two builds, by running both firmwares again. If the spans
//! execute nothing that was changed, the figure *moved*; if it grew, the functions are named in which
//! the cycles went.
//!
//! [`note`] takes a comparison, which only knows figures, and adds what the code shows, as far as both
//! images are [`KeptImages`]. `same` and `code` in `rtmark-runner` determine which functions a change
//! affects; `docs/placement.md` describes the method. Attributing a difference to functions by
//! comparing two profiles is the idea of differential flame graphs (B. Gregg, 2014), here with exact
//! cycles of one span in place of samples of a whole run.
//!
//! This crate runs firmware in the simulator. It builds none, does not know where answers came from,
//! and decides no verdict.

use std::path::PathBuf;

use rayon::prelude::*;
use rtmark_compare::{Comparison, Measure, Pair, Verdict};
use rtmark_firmware::{Cache, probes};
use rtmark_model::{Answer, Backend, Basis, Catalogue, Key, Line, Scenario, Series};
use rtmark_observe::{Difference, Lines, Row};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{CodeChange, CodeDifference, Explained, Probed, explain, socs};
use rtmark_sim::{Image, Soc};
use rtmark_units::Cycles;

/// The number of series whose cause is determined: the first ones tend to explain the others.
const MAX_CAUSES: usize = 10;
/// The number of functions named.
const FUNCTIONS: usize = 3;

/// Decides for the figures that differ whether they moved or were changed, and adds causes to the pairs
/// that became worse, as far as both firmwares are still kept.
pub fn note(
    comparison: &mut Comparison,
    before: &[Answer],
    after: &[Answer],
    kept_images: &KeptImages,
) {
    let exact = |pair: &&mut Pair| pair.key.backend == Backend::Sim && pair.differs();
    let of = |answers: &[Answer], pair: &Pair| {
        let fits = |answer: &&Answer| is_same_place(answer.key(), &pair.key);
        answers.iter().rfind(fits).and_then(Answer::series).cloned()
    };
    comparison.pairs.iter_mut().filter(exact).par_bridge().for_each(|pair| {
        let both = of(before, pair).zip(of(after, pair));
        let changed =
            both.as_ref().and_then(|(was, is)| kept_images.changed_functions(pair, was, is));
        match changed {
            Some(changed) => {
                pair.place = both.and_then(|(_, is)| kept_images.place(&changed, &is));
                pair.decide(changed);
            }
            None => pair.notes.push(JUDGED_BY_COUNT.to_owned()),
        }
    });
    let worse = comparison.pairs.iter_mut().filter(|pair| {
        pair.verdict == Verdict::Worse
            && pair.key.backend == Backend::Sim
            && [&pair.changes, &pair.instructions]
                .iter()
                .any(|changes| changes.iter().any(|change| change.measure == Measure::Median))
    });
    for pair in worse.take(MAX_CAUSES) {
        let Some((was, is)) = of(before, pair).zip(of(after, pair)) else { continue };
        pair.cause = kept_images.cause(&pair.changed, &was, &is);
    }
}

/// The note if the code is not available.
const JUDGED_BY_COUNT: &str = "judged by the number of instructions alone: the build folder no longer holds \
                      both images";

fn is_same_place(a: &Key, b: &Key) -> bool {
    (&a.soc, &a.kernel, &a.scenario, &a.profile, a.backend)
        == (&b.soc, &b.kernel, &b.scenario, &b.profile, b.backend)
}

/// The images that are still kept, and the scenario definitions.
#[derive(Debug)]
pub struct KeptImages {
    /// The location of builds.
    pub cache: Cache,
    /// The scenario definitions.
    pub catalogue: Catalogue,
    /// Folders with the user's own kernels.
    pub own: Vec<PathBuf>,
    /// The user's own soc files.
    pub socs: Vec<SocFile>,
}

/// A run that can be repeated.
struct RepeatableRun<'a> {
    probed: Probed,
    scenario: &'a Scenario,
    soc: Soc,
    budget: Cycles,
}

impl KeptImages {
    /// Returns what a series was measured with, if it is still kept.
    fn repeatable(&self, series: &Series) -> Option<RepeatableRun<'_>> {
        let elf = self.cache.image(&series.provenance.firmware.elf_sha256)?;
        let image = Image::from_elf(&elf).ok()?;
        let records = probes::parse(image.section(probes::SECTION)?).ok()?;
        let path = series.provenance.firmware.image.clone();
        let scenario = self.catalogue.get(&series.key.scenario)?;
        let sha256 = &series.provenance.soc_sha256;
        let own = self.socs.iter().find(|file| file.sha256 == *sha256).cloned();
        let file = own.or_else(|| socs::find(&series.key.soc).ok())?;
        let same = file.sha256 == *sha256 && series.basis == Basis::Cycles;
        let clock = u64::from(file.soc.clock.0);
        let budget = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
        let probed = Probed { image, elf, records, path };
        same.then_some(RepeatableRun { probed, scenario, soc: file.soc, budget })
    }

    /// Returns the changed functions of which the spans execute something.
    fn changed_functions(&self, pair: &Pair, was: &Series, is: &Series) -> Option<Vec<String>> {
        let (was, is) = (self.repeatable(was)?, self.repeatable(is)?);
        let change = CodeChange::between(&was.probed.elf, &is.probed.elf)?;
        let images = (&was.probed, &is.probed);
        let in_spans =
            |difference| change.in_spans(difference, images, &is.soc, is.scenario, is.budget);
        let mut changed = in_spans(CodeDifference::Changed)?;
        // The same code may have been given other data, if it takes another path.
        if changed.is_empty()
            && !pair.instructions.is_empty()
            && (!change.same_data() || !in_spans(CodeDifference::Unclear)?.is_empty())
        {
            changed.insert("constants or initial values".to_owned());
        }
        Some(changed.into_iter().collect())
    }

    /// Returns where the first of some functions begins, with the file's name relative to this
    /// repository.
    fn place(&self, functions: &[String], series: &Series) -> Option<Line> {
        let run = self.repeatable(series)?;
        let lines = Lines::new(&run.probed.elf)?;
        let symbols = run.probed.image.symbols();
        let places = functions.iter().filter_map(|name| lines.at(symbols.find(name)?));
        let from_here = |Line { file, line }: Line| {
            let here = std::env::current_dir().ok()?;
            // Compilers are told to use this prefix for third-party trees.
            let named = file.strip_prefix("third-party/").unwrap_or(&file);
            // Names begin with a kernel's folder, which is in a folder of kernels, or is one itself.
            let own = self.own.iter().flat_map(|own| [Some(own.as_path()), own.parent()]).flatten();
            let mut paths = std::iter::once(here.join(named)).chain(own.map(|own| own.join(named)));
            let path = paths.find(|path| path.is_file())?;
            let path = path.canonicalize().ok()?;
            let file = path.strip_prefix(here.canonicalize().ok()?).ok()?;
            Some(Line { file: file.display().to_string(), line })
        };
        places.map(from_here).next().flatten()
    }

    fn cause(&self, changed: &[String], was: &Series, is: &Series) -> Option<String> {
        let (was, is) = (self.explain(was)?, self.explain(is)?);
        let difference = Difference::between(("after", &is.cost), ("before", &was.cost));
        let executed = |row: &Row| i128::from(row.a.instructions) - i128::from(row.b.instructions);
        let is_changed = |row: &&Row| {
            row.function.iter().chain(&row.functions_a).any(|name| changed.contains(name))
        };
        let grew = |row: &&Row| row.difference() > 0 || executed(row) > 0;
        // The cycles of unchanged functions were moved by the changed ones.
        let any_changed = difference.rows.iter().any(|row| is_changed(&row) && grew(&row));
        let suspect = |row: &&Row| grew(row) && (is_changed(row) || !any_changed);
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

    /// Returns what a series' typical sample was spent on, if its firmware runs as it did.
    fn explain(&self, series: &Series) -> Option<Explained> {
        let RepeatableRun { probed, scenario, soc, budget } = self.repeatable(series)?;
        let explained = explain(&soc, &probed, scenario, budget, |_| {}).ok()?;
        let typical = explained.measured.samples.0.statistics()?.typical();
        (Measure::Median.of(series) == Some(typical)).then_some(explained)
    }
}
