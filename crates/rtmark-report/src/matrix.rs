//! Arranges answers for comparison: one block for each soc, backend and basis, with rows for scenarios
//! and columns for kernels with their profiles.

use std::collections::{BTreeMap, BTreeSet};

use rtmark_model::{
    Answer, Backend, Basis, Curve, Firmware, KernelId, Mode, Samples, ScenarioId, Series, Spread,
    Statistics,
};
use rtmark_units::{Cycles, Nanoseconds};

use crate::kernels::written;
use crate::notes::one_line;

/// The kernel whose figures serve as the reference for multiples.
pub const FLOOR: &str = "floor";

/// The answers of one table.
#[derive(Debug)]
pub struct Block<'a> {
    /// The soc.
    pub soc: &'a str,
    /// The backend.
    pub backend: Backend,
    /// What is counted; none if nothing was measured.
    pub basis: Option<Basis>,
    /// The kernels with their versions and profiles, in column order.
    pub kernels: Vec<KernelColumn<'a>>,
    /// The scenarios, in row order.
    pub scenarios: Vec<&'a ScenarioId>,
    cells: BTreeMap<(&'a ScenarioId, KernelColumn<'a>), &'a Answer>,
    /// The members of `kernels` and `scenarios`.
    known: (BTreeSet<KernelColumn<'a>>, BTreeSet<&'a ScenarioId>),
}

/// A kernel in one of its versions and profiles.
pub type KernelColumn<'a> = (&'a KernelId, &'a str, &'a str);

/// Returns the column of an answer.
pub fn column(answer: &Answer) -> KernelColumn<'_> {
    let key = answer.key();
    (&key.kernel, &key.version, &key.profile)
}

/// The figures of one measured cell.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The statistics of the samples.
    pub statistics: Statistics,
    /// The modes of the samples.
    pub modes: Vec<Mode>,
    /// The typical sample as time, if the basis allows it.
    pub time: Option<Nanoseconds>,
    /// The ratio to the floor's typical sample.
    pub multiple: Option<f64>,
    /// The statistics with emptied caches, if measured.
    pub emptied: Option<Statistics>,
    /// The range over layouts of the code, if several were measured.
    pub spread: Option<Spread>,
}

impl<'a> Block<'a> {
    fn new(answer: &'a Answer, basis: Option<Basis>) -> Self {
        let key = answer.key();
        Self {
            soc: &key.soc,
            backend: key.backend,
            basis,
            kernels: Vec::new(),
            scenarios: Vec::new(),
            cells: BTreeMap::new(),
            known: Default::default(),
        }
    }

    fn add(&mut self, answer: &'a Answer) {
        let key = answer.key();
        let column = column(answer);
        if self.known.0.insert(column) {
            self.kernels.push(column);
        }
        if self.known.1.insert(&key.scenario) {
            self.scenarios.push(&key.scenario);
        }
        self.cells.insert((&key.scenario, column), answer);
    }

    /// Returns the profile that all columns share, if they do.
    pub fn profile(&self) -> Option<&'a str> {
        let (_, _, first) = *self.kernels.first()?;
        self.kernels.iter().all(|(_, _, profile)| *profile == first).then_some(first)
    }

    /// Returns the name of a column: the kernel, with its version and its profile where the block has several
    /// of them.
    pub fn name(&self, column: KernelColumn<'_>) -> String {
        self.distinguished(written(column.0.as_str()), column)
    }

    /// Returns the name of a curve's column, as [`name`](Self::name) but with the kernel's id.
    pub fn name_of_curve(&self, curve: &Curve) -> String {
        let key = &curve.key;
        self.distinguished(key.kernel.as_str(), (&key.kernel, &key.version, &key.profile))
    }

    fn distinguished(&self, kernel: &str, column: KernelColumn<'_>) -> String {
        let (id, version, profile) = column;
        let same_kernel = || self.kernels.iter().filter(|other| other.0 == id);
        let mut name = kernel.to_owned();
        for (several, part) in [
            (same_kernel().any(|other| other.1 != version), version),
            (same_kernel().any(|other| other.2 != profile), profile),
        ] {
            if several {
                name = format!("{name} {}", one_line(part));
            }
        }
        name
    }

    /// Returns a kernel's answer to a scenario; none if it was not asked.
    pub fn answer(&self, scenario: &'a ScenarioId, kernel: KernelColumn<'a>) -> Option<&'a Answer> {
        self.cells.get(&(scenario, kernel)).copied()
    }

    /// Returns all series of the block.
    pub fn series(&self) -> impl Iterator<Item = &'a Series> {
        self.cells.values().filter_map(|answer| answer.series())
    }

    /// Returns the series of a column, which share the kernel's settings.
    pub fn series_of(&self, column: &KernelColumn<'a>) -> impl Iterator<Item = &'a Series> {
        let of_column = self.cells.iter().filter(move |((_, of), _)| of == column);
        of_column.filter_map(|(_, answer)| answer.series())
    }

    /// Returns any series of the block, as all share clock, core and timing model.
    pub fn any_series(&self) -> Option<&'a Series> {
        self.series().next()
    }

    /// Returns the figures of a series of this block.
    pub fn figures(&self, series: &Series) -> Option<Figures> {
        let statistics = series.statistics()?;
        let typical = statistics.typical();
        let time = match series.basis {
            Basis::Cycles => Some(Cycles(typical).at(series.clock)),
            Basis::Ns => Some(Nanoseconds(typical)),
            Basis::Instructions => None,
        };
        let emptied = series.emptied.as_ref().and_then(Samples::statistics);
        let modes = series.readings.samples().map(Samples::modes).unwrap_or_default();
        let multiple = self.multiple(series, typical);
        let spread = series.spread();
        Some(Figures { statistics, modes, time, multiple, emptied, spread })
    }

    fn multiple(&self, series: &Series, typical: u64) -> Option<f64> {
        if series.key.kernel.as_str() == FLOOR || series.no_multiple.is_some() {
            return None;
        }
        // Equal names are not sufficient: the spans must be equal too.
        let of_floor = |column: &KernelColumn<'a>| {
            let floor = self.cells.get(&(&series.key.scenario, *column))?.series()?;
            let typical = || floor.statistics().map(|s| s.typical());
            (floor.span == series.span).then(typical).flatten()
        };
        let floors = || self.kernels.iter().filter(|column| column.0.as_str() == FLOOR);
        // The floor of the same profile, or else the only one.
        let same = |column: &&KernelColumn<'a>| column.2 == series.key.profile;
        let floor = floors().filter(same).find_map(of_floor);
        let floor = floor.or_else(|| floors().find_map(of_floor))?;
        (floor > 0).then(|| typical as f64 / floor as f64)
    }

    /// Returns why a scenario's figures are not shown as multiples of the floor's, although both exist.
    pub fn no_multiple(&self, scenario: &'a ScenarioId) -> Option<&'a str> {
        let of = |kernel: &KernelColumn<'a>| self.answer(scenario, *kernel)?.series();
        let floor = self.kernels.iter().filter(|kernel| kernel.0.as_str() == FLOOR).find_map(of)?;
        let any_other = || self.kernels.iter().any(|k| k.0.as_str() != FLOOR && of(k).is_some());
        floor.no_multiple.as_deref().filter(|_| any_other())
    }

    /// Returns the scenarios that are not points of a curve, which are the rows of its table.
    pub fn rows(&self) -> impl Iterator<Item = &'a ScenarioId> {
        self.scenarios.iter().copied().filter(|scenario| scenario.point().is_none())
    }

    /// Returns the firmware images of a kernel by name.
    pub fn firmware(&self, kernel: KernelColumn<'a>) -> BTreeMap<&'a str, &'a Firmware> {
        let of_kernel = self.cells.iter().filter(|((_, column), _)| *column == kernel);
        of_kernel
            .filter_map(|(_, answer)| answer.series())
            .map(|series| &series.provenance.firmware)
            .map(|firmware| (firmware.image.as_str(), firmware))
            .collect()
    }
}

/// Arranges answers; socs, kernels and scenarios keep their order of appearance.
pub fn blocks(answers: &[Answer]) -> Vec<Block<'_>> {
    arranged(answers.iter())
}

/// Arranges answers into blocks of one profile each.
pub fn blocks_by_profile(answers: &[Answer]) -> Vec<Block<'_>> {
    let mut profiles: Vec<&str> = Vec::new();
    for profile in answers.iter().map(|answer| answer.key().profile.as_str()) {
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    let of = |profile: &str| arranged(answers.iter().filter(|a| a.key().profile == profile));
    profiles.into_iter().flat_map(of).collect()
}

/// Arranges answers, without those from logs: they are a separate list, because they share neither
/// clock nor compiler, and several may answer one question.
fn arranged<'a>(answers: impl Iterator<Item = &'a Answer> + Clone) -> Vec<Block<'a>> {
    let answers = answers.filter(|answer| !from_log(answer));
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, Backend), Vec<usize>> = BTreeMap::new();
    let measured = |answer: &&Answer| answer.series().is_some();
    let (measured, others): (Vec<_>, Vec<_>) = answers.clone().partition(measured);
    for answer in measured.into_iter().chain(others) {
        let key = answer.key();
        let here = places.entry((&key.soc, key.backend)).or_default();
        let basis = answer.series().map(|series| series.basis);
        // An answer without a measurement has no basis and joins a block of measured ones.
        if !here.iter().any(|&at| basis.is_none() || blocks[at].basis == basis) {
            here.push(blocks.len());
            blocks.push(Block::new(answer, basis));
        }
    }
    for answer in answers {
        let key = answer.key();
        let basis = answer.series().map(|series| series.basis);
        let here = places.get(&(key.soc.as_str(), key.backend));
        for &at in here.into_iter().flatten() {
            if basis.is_none() || blocks[at].basis == basis {
                blocks[at].add(answer);
            }
        }
    }
    blocks
}

/// Tells whether an answer was read from a log.
pub fn from_log(answer: &Answer) -> bool {
    answer.key().backend == Backend::Log
}

/// Formats a number with its thousands separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a number in six characters: every digit up to 99 999, then the first four.
pub fn short_count(number: u64) -> String {
    let scaled = |unit: u64, letter: char| {
        let value = number as f64 / unit as f64;
        let digits = usize::from(value < 999.95) + usize::from(value < 9.995);
        format!("{value:.digits$}{letter}")
    };
    match number {
        0..100_000 => grouped(number),
        100_000..1_000_000 => scaled(1000, 'k'),
        1_000_000..1_000_000_000 => scaled(1_000_000, 'M'),
        _ => scaled(1_000_000_000, 'G'),
    }
}

/// Formats a time to three digits in a suitable unit.
pub fn short_time(time: Nanoseconds) -> String {
    let units = [(1.0, "ns"), (1e3, "\u{b5}s"), (1e6, "ms"), (1e9, "s")];
    let ns = time.0 as f64;
    // A value that would round up to 1000 uses the next unit.
    let fits = |scale: f64| ns / scale < 999.5;
    let (scale, unit) = units.into_iter().find(|(scale, _)| fits(*scale)).unwrap_or(units[3]);
    let value = ns / scale;
    let digits = match value {
        v if unit == "ns" || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_reading() {
        assert_eq!(grouped(9999), "9999");
        assert_eq!(grouped(12345), "12 345");
        assert_eq!(grouped(106_941_113), "106 941 113");
        let shown = [0, 12_345, 99_999, 100_000, 1_234_567, 142_139_362, 47_999_965, 7_000_000_000];
        let expected = ["0", "12 345", "99 999", "100.0k", "1.23M", "142.1M", "48.0M", "7.00G"];
        assert_eq!(shown.map(short_count), expected);
        let times = [0, 999, 1000, 5104, 99_949, 999_499, 999_500, 1_000_000_000, 3_198_000_000];
        let shown = times.map(|ns| short_time(Nanoseconds(ns)));
        let expected = [
            "0 ns",
            "999 ns",
            "1.00 \u{b5}s",
            "5.10 \u{b5}s",
            "99.9 \u{b5}s",
            "999 \u{b5}s",
            "1.00 ms",
            "1.00 s",
            "3.20 s",
        ];
        assert_eq!(shown, expected);
    }
}
