//! Answers arranged as they are compared: one block for each soc, backend and
//! basis, scenarios down, kernels with their profiles across.

use std::collections::{BTreeMap, BTreeSet};

use rtmark_model::{
    Answer, Backend, Basis, Firmware, KernelId, Mode, Samples, ScenarioId, Series, Spread,
    Statistics,
};
use rtmark_units::{Cycles, Nanoseconds};

use crate::kernels::written;
use crate::notes::one_line;

/// The kernel whose figures others are multiples of.
pub const FLOOR: &str = "floor";

/// Answers that stand in one table.
#[derive(Debug)]
pub struct Block<'a> {
    /// The soc.
    pub soc: &'a str,
    /// Where it ran.
    pub backend: Backend,
    /// What is counted; none when nothing was.
    pub basis: Option<Basis>,
    /// The kernels with their versions and profiles, in the order of columns.
    pub kernels: Vec<KernelColumn<'a>>,
    /// The scenarios in the order of rows.
    pub scenarios: Vec<&'a ScenarioId>,
    cells: BTreeMap<(&'a ScenarioId, KernelColumn<'a>), &'a Answer>,
    /// What `kernels` and `scenarios` hold already.
    known: (BTreeSet<KernelColumn<'a>>, BTreeSet<&'a ScenarioId>),
}

/// A kernel in one of its versions and profiles.
pub type KernelColumn<'a> = (&'a KernelId, &'a str, &'a str);

/// The column of an answer.
pub fn column(answer: &Answer) -> KernelColumn<'_> {
    let key = answer.key();
    (&key.kernel, &key.version, &key.profile)
}

/// The figures of one measured cell.
#[derive(Clone, Debug)]
pub struct Figures {
    /// What is to be said about the samples.
    pub statistics: Statistics,
    /// Their modes.
    pub modes: Vec<Mode>,
    /// The typical sample as time, where the basis has one.
    pub time: Option<Nanoseconds>,
    /// How many times the floor's typical sample.
    pub multiple: Option<f64>,
    /// The same from emptied caches, where that was measured.
    pub emptied: Option<Statistics>,
    /// How far the layouts of the code lie apart, where several were measured.
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

    /// The profile that all columns share, if they do.
    pub fn profile(&self) -> Option<&'a str> {
        let (_, _, first) = *self.kernels.first()?;
        self.kernels.iter().all(|(_, _, profile)| *profile == first).then_some(first)
    }

    /// What a column is called: the kernel, with its version where the block has several of it.
    pub fn name(&self, column: KernelColumn<'a>) -> String {
        let several = self.kernels.iter().filter(|other| other.0 == column.0).count() > 1;
        let kernel = written(column.0.as_str());
        if several { format!("{kernel} {}", one_line(column.1)) } else { kernel.to_owned() }
    }

    /// A kernel's answer to a scenario; none when it was not asked.
    pub fn answer(&self, scenario: &'a ScenarioId, kernel: KernelColumn<'a>) -> Option<&'a Answer> {
        self.cells.get(&(scenario, kernel)).copied()
    }

    /// The series of the block.
    pub fn series(&self) -> impl Iterator<Item = &'a Series> {
        self.cells.values().filter_map(|answer| answer.series())
    }

    /// The series of a column: all of them share the kernel's settings.
    pub fn series_of(&self, column: &KernelColumn<'a>) -> impl Iterator<Item = &'a Series> {
        let of_column = self.cells.iter().filter(move |((_, of), _)| of == column);
        of_column.filter_map(|(_, answer)| answer.series())
    }

    /// Any series of the block: all of them share clock, core and timing model.
    pub fn any_series(&self) -> Option<&'a Series> {
        self.series().next()
    }

    /// The figures of a series of this block.
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
        // Equal names are not enough: the spans must be equal too.
        let of_floor = |column: &KernelColumn<'a>| {
            let floor = self.cells.get(&(&series.key.scenario, *column))?.series()?;
            let typical = || floor.statistics().map(|s| s.typical());
            (floor.span == series.span).then(typical).flatten()
        };
        let floors = || self.kernels.iter().filter(|column| column.0.as_str() == FLOOR);
        // The floor of the same profile, else the only one that there is.
        let same = |column: &&KernelColumn<'a>| column.2 == series.key.profile;
        let floor = floors().filter(same).find_map(of_floor);
        let floor = floor.or_else(|| floors().find_map(of_floor))?;
        (floor > 0).then(|| typical as f64 / floor as f64)
    }

    /// Why a scenario's figures are no multiples of the floor's, although both are there.
    pub fn no_multiple(&self, scenario: &'a ScenarioId) -> Option<&'a str> {
        let of = |kernel: &KernelColumn<'a>| self.answer(scenario, *kernel)?.series();
        let floor = self.kernels.iter().filter(|kernel| kernel.0.as_str() == FLOOR).find_map(of)?;
        let any_other = || self.kernels.iter().any(|k| k.0.as_str() != FLOOR && of(k).is_some());
        floor.no_multiple.as_deref().filter(|_| any_other())
    }

    /// The scenarios that are no points of a curve: the rows of its table.
    pub fn rows(&self) -> impl Iterator<Item = &'a ScenarioId> {
        self.scenarios.iter().copied().filter(|scenario| scenario.point().is_none())
    }

    /// The firmware images of a kernel by name.
    pub fn firmware(&self, kernel: KernelColumn<'a>) -> BTreeMap<&'a str, &'a Firmware> {
        let of_kernel = self.cells.iter().filter(|((_, column), _)| *column == kernel);
        of_kernel
            .filter_map(|(_, answer)| answer.series())
            .map(|series| &series.provenance.firmware)
            .map(|firmware| (firmware.image.as_str(), firmware))
            .collect()
    }
}

/// Arranges answers; socs, kernels and scenarios keep the order in which they come.
pub fn blocks(answers: &[Answer]) -> Vec<Block<'_>> {
    arranged(answers.iter())
}

/// The blocks of answers, each of one profile.
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

/// Answers from logs are a list of their own, and stand in no block: they share neither clock nor
/// compiler, and several may answer one question.
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
        // What was not measured has no basis and goes with what was.
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

/// Whether an answer was read from somebody's log.
pub fn from_log(answer: &Answer) -> bool {
    answer.key().backend == Backend::Log
}

/// A number with its thousands apart.
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

/// A number in six characters: every digit up to 99 999, then the first four.
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

/// A time to three digits in the unit that suits it.
pub fn short_time(time: Nanoseconds) -> String {
    let units = [(1.0, "ns"), (1e3, "\u{b5}s"), (1e6, "ms"), (1e9, "s")];
    let ns = time.0 as f64;
    // A value that would round up to 1000 goes to the next unit.
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
    fn numbers_are_easy_to_read() {
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
