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

mod undecided;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rayon::prelude::*;
use rtmark_compare::{Comparison, Measure, Pair, Verdict};
use rtmark_firmware::{Cache, probes};
use rtmark_model::{Answer, Backend, Catalogue, Key, Line, Scenario, Series};
use rtmark_observe::{Difference, Lines, Row};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Build, CodeChange, CodeDifference, Explained, Probed, explain, socs};
use rtmark_sim::{Image, Soc};
use rtmark_units::Cycles;

pub use self::undecided::{NotComparable, NotRepeatable};

/// The number of series whose cause is determined: the first ones tend to explain the others.
const MAX_CAUSES: usize = 10;
/// The number of functions named.
const FUNCTIONS: usize = 3;

/// Decides for the figures that differ whether they moved or were changed, and adds causes to the pairs
/// that became worse, as far as both firmwares are still kept. Where the code cannot be compared, a note
/// says why.
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
    let mut pairs: Vec<(&mut Pair, Series, Series)> = Vec::new();
    for pair in comparison.pairs.iter_mut().filter(exact) {
        if let Some((was, is)) = of(before, pair).zip(of(after, pair)) {
            pairs.push((pair, was, is));
        }
    }
    // The scenarios of an image share its code.
    let images = |was: &Series, is: &Series| [was, is].map(digest);
    let both: BTreeMap<_, _> =
        pairs.iter().map(|(_, was, is)| (images(was, is), (was, is))).collect();
    let compared = |(images, (was, is))| (images, kept_images.code_change(was, is));
    let changes: BTreeMap<_, _> = both.into_par_iter().map(compared).collect();
    pairs.into_par_iter().for_each(|(pair, was, is)| {
        let decided = match changes.get(&images(&was, &is)) {
            Some(Ok(change)) => kept_images.decide(pair, change, &was, &is),
            Some(Err(reason)) => Err(reason.clone()),
            None => return,
        };
        if let Err(reason) = decided {
            pair.notes.push(format!("{JUDGED_BY_COUNT}: {reason}"));
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

/// The beginning of the note if the code cannot be compared; the reason follows.
const JUDGED_BY_COUNT: &str = "judged by the number of instructions alone";

/// The SHA-256 of a series' image.
fn digest(series: &Series) -> String {
    series.provenance.firmware.elf_sha256.clone()
}

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
    /// Returns what a series was measured with.
    fn repeatable(&self, series: &Series) -> Result<RepeatableRun<'_>, NotRepeatable> {
        let elf = self.cache.image(&digest(series)).ok_or(NotRepeatable::NotKept)?;
        let unreadable = |error: &dyn std::fmt::Display| NotRepeatable::Image(error.to_string());
        let image = Image::from_elf(&elf).map_err(|error| unreadable(&error))?;
        let section = image.section(probes::SECTION);
        let section = section.ok_or_else(|| unreadable(&"it has no probes"))?;
        let records = probes::parse(section).map_err(|error| unreadable(&error))?;
        let path = series.provenance.firmware.image.clone();
        let id = &series.key.scenario;
        let scenario = self.catalogue.get(id);
        let scenario = scenario.ok_or_else(|| NotRepeatable::Scenario(id.clone()))?;
        let (soc, sha256) = (&series.key.soc, &series.provenance.soc_sha256);
        let own = self.socs.iter().find(|file| file.sha256 == *sha256).cloned();
        let file = own.or_else(|| socs::find(soc).ok());
        let file = file.ok_or_else(|| NotRepeatable::NoSocFile(soc.clone()))?;
        if file.sha256 != *sha256 {
            return Err(NotRepeatable::OtherSocFile(soc.clone()));
        }
        let clock = u64::from(file.soc.clock.0);
        let budget = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
        let probed = Probed { image, elf, records, path };
        Ok(RepeatableRun { probed, scenario, soc: file.soc, budget })
    }

    /// Compares the code of two series' images.
    fn code_change(&self, was: &Series, is: &Series) -> Result<CodeChange, NotComparable> {
        match [was, is].map(|series| self.cache.image(&digest(series))) {
            [Some(was), Some(is)] => CodeChange::between(&was, &is)
                .map_err(|(build, error)| NotComparable::Code(build, error)),
            [None, None] => Err(NotComparable::NeitherKept),
            [None, _] => Err(NotComparable::Run(Build::Earlier, NotRepeatable::NotKept)),
            [_, None] => Err(NotComparable::Run(Build::Later, NotRepeatable::NotKept)),
        }
    }

    /// Decides by what the spans execute of the changed functions.
    fn decide(
        &self,
        pair: &mut Pair,
        change: &CodeChange,
        was: &Series,
        is: &Series,
    ) -> Result<(), NotComparable> {
        let run = |build, series| {
            self.repeatable(series).map_err(|reason| NotComparable::Run(build, reason))
        };
        let (was, is) = (run(Build::Earlier, was)?, run(Build::Later, is)?);
        let changed = changed_functions(pair, change, &was, &is)?;
        pair.place = self.place(&changed, &is.probed);
        pair.decide(changed);
        Ok(())
    }

    /// Returns where the first of some functions begins, with the file's name relative to this
    /// repository.
    fn place(&self, functions: &[String], probed: &Probed) -> Option<Line> {
        if functions.is_empty() {
            return None;
        }
        let lines = Lines::new(&probed.elf)?;
        let symbols = probed.image.symbols();
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
            .filter_map(|row| {
                // What grew executes something in the later build.
                let name = row.function.as_ref().or(row.functions_a.first())?;
                Some(match executed(row) {
                    0 => format!("{name} ({:+})", row.difference()),
                    more => format!("{name} ({:+}, {more:+} instructions)", row.difference()),
                })
            })
            .take(FUNCTIONS)
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// Returns what a series' typical sample was spent on, if its firmware runs as it did.
    fn explain(&self, series: &Series) -> Option<Explained> {
        let RepeatableRun { probed, scenario, soc, budget } = self.repeatable(series).ok()?;
        let explained = explain(&soc, &probed, scenario, budget, |_| {}).ok()?;
        let typical = explained.measured.samples.0.statistics()?.typical();
        (Measure::Median.of(series) == Some(typical)).then_some(explained)
    }
}

/// Returns the changed functions of which the spans execute something.
fn changed_functions(
    pair: &Pair,
    change: &CodeChange,
    was: &RepeatableRun<'_>,
    is: &RepeatableRun<'_>,
) -> Result<Vec<String>, NotComparable> {
    let images = (&was.probed, &is.probed);
    let in_spans = |difference| {
        let functions = change.in_spans(difference, images, &is.soc, is.scenario, is.budget);
        functions.map_err(|(build, error)| NotComparable::Run(build, NotRepeatable::Failed(error)))
    };
    let mut changed = in_spans(CodeDifference::Changed)?;
    // The same code may have been given other data, if it takes another path.
    if changed.is_empty()
        && !pair.instructions.is_empty()
        && (!change.same_data() || !in_spans(CodeDifference::Unclear)?.is_empty())
    {
        changed.insert("constants or initial values".to_owned());
    }
    Ok(changed.into_iter().collect())
}
