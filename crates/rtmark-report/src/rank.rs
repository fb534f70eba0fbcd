//! Which kernel is the fastest at something, and how far the others are from it.

use rtmark_model::ScenarioId;

use crate::matrix::{Block, FLOOR, KernelColumn};
use crate::notes::without_figures;

/// The kernels that have a figure for one scenario; the floor is none of them.
#[derive(Clone, Debug)]
pub struct Ranking<'a>(Vec<(KernelColumn<'a>, u64)>);

impl<'a> Ranking<'a> {
    /// The ranking of a row; none where less is not better, or nothing was measured. What has a
    /// flag takes no part.
    pub fn of(block: &Block<'a>, scenario: &'a ScenarioId) -> Option<Self> {
        let mut figures = Vec::new();
        for column in block.kernels.iter().filter(|column| column.0.as_str() != FLOOR) {
            let Some(answer) = block.answer(scenario, *column) else { continue };
            let Some(series) = answer.series().filter(|_| without_figures(answer).is_none()) else {
                continue;
            };
            // What is no multiple of the floor is asked for, or made by compilers. A wait is a wait.
            if series.no_multiple.is_some() && series.held.is_none() {
                return None;
            }
            figures.extend(series.statistics().map(|found| (*column, found.typical())));
        }
        // Of equal figures the one of the column before comes first.
        figures.sort_by_key(|figure| figure.1);
        (!figures.is_empty()).then_some(Self(figures))
    }

    /// The fastest and the slowest, where there are two kernels that are not equally fast.
    pub fn apart(&self) -> Option<[(KernelColumn<'a>, u64); 2]> {
        let (first, last) = (*self.0.first()?, *self.0.last()?);
        (first.1 < last.1 && first.0.0 != last.0.0).then_some([first, last])
    }

    /// Those that nobody is faster than, where there is anybody else.
    pub fn winners(&self) -> impl Iterator<Item = KernelColumn<'a>> {
        let best = self.0.first().filter(|_| self.0.len() > 1).map(|figure| figure.1);
        self.0.iter().filter(move |figure| Some(figure.1) == best).map(|figure| figure.0)
    }

    /// The least figure.
    pub fn best(&self) -> Option<u64> {
        self.0.first().map(|figure| figure.1)
    }

    /// The figures, the least first.
    pub fn figures(&self) -> &[(KernelColumn<'a>, u64)] {
        &self.0
    }
}

/// The class of a figure's colour: how many times the row's best it is.
pub fn heat(figure: u64, best: u64) -> &'static str {
    let times = if best == 0 {
        f64::from(u8::from(figure > 0)) * 9.0 + 1.0
    } else {
        figure as f64 / best as f64
    };
    let steps = [(1.005, "h0"), (1.25, "h1"), (1.75, "h2"), (2.5, "h3"), (4.0, "h4")];
    steps.iter().find(|(below, _)| times < *below).map_or("h5", |(_, class)| class)
}

/// How many times one figure another one is, as it stands in a sentence.
pub fn times(of: u64, to: u64) -> String {
    let times = of as f64 / to.max(1) as f64;
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}
