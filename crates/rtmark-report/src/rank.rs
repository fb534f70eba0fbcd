//! Ranks kernels: which one is the fastest at something, and how far behind the others are.

use rtmark_model::ScenarioId;

use crate::matrix::{Block, FLOOR, KernelColumn};
use crate::notes::without_figures;

/// The kernels that have a figure for one scenario, without the floor.
#[derive(Clone, Debug)]
pub struct Ranking<'a>(Vec<(KernelColumn<'a>, u64)>);

impl<'a> Ranking<'a> {
    /// Ranks a row; returns none if less is not better, or nothing was measured. Flagged figures are
    /// excluded.
    pub fn of(block: &Block<'a>, scenario: &'a ScenarioId) -> Option<Self> {
        let mut figures = Vec::new();
        for column in block.kernels.iter().filter(|column| column.0.as_str() != FLOOR) {
            let Some(answer) = block.answer(scenario, *column) else { continue };
            let Some(series) = answer.series().filter(|_| without_figures(answer).is_none()) else {
                continue;
            };
            // Figures without a multiple were requested as such, or depend on compilers, except for
            // waits.
            if series.no_multiple.is_some() && series.held.is_none() {
                return None;
            }
            figures.extend(series.statistics().map(|found| (*column, found.typical())));
        }
        // Among equal figures, the order of columns decides.
        figures.sort_by_key(|figure| figure.1);
        (!figures.is_empty()).then_some(Self(figures))
    }

    /// Returns the fastest and the slowest, if there are two that differ.
    pub fn extremes(&self) -> Option<[(KernelColumn<'a>, u64); 2]> {
        let (first, last) = (*self.0.first()?, *self.0.last()?);
        (first.1 < last.1 && first.0.0 != last.0.0).then_some([first, last])
    }

    /// Returns the fastest kernels, if there is any competition.
    pub fn winners(&self) -> impl Iterator<Item = KernelColumn<'a>> {
        let best = self.0.first().filter(|_| self.0.len() > 1).map(|figure| figure.1);
        self.0.iter().filter(move |figure| Some(figure.1) == best).map(|figure| figure.0)
    }

    /// Returns the least figure.
    pub fn best(&self) -> Option<u64> {
        self.0.first().map(|figure| figure.1)
    }

    /// Returns the figures, the least first.
    pub fn figures(&self) -> &[(KernelColumn<'a>, u64)] {
        &self.0
    }
}

/// Returns the class of a figure's colour, by its ratio to the row's best.
pub fn heat(figure: u64, best: u64) -> &'static str {
    let times = if best == 0 {
        f64::from(u8::from(figure > 0)) * 9.0 + 1.0
    } else {
        figure as f64 / best as f64
    };
    let steps = [(1.005, "h0"), (1.25, "h1"), (1.75, "h2"), (2.5, "h3"), (4.0, "h4")];
    steps.iter().find(|(below, _)| times < *below).map_or("h5", |(_, class)| class)
}

/// Formats the ratio of two figures for a sentence.
pub fn times(of: u64, to: u64) -> String {
    let times = of as f64 / to.max(1) as f64;
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}
