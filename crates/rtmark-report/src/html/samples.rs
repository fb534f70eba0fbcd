//! What the charts of a series' samples need of them, thinned out where there are many.

use std::collections::BTreeMap;

use rtmark_model::{Run, Samples};
use serde::Serialize;

/// More runs of equal samples than this are thinned out.
const MOST_RUNS: usize = 120;
/// More lengths than this are put together in histograms.
const MOST_BINS: usize = 40;

/// What is drawn of a series.
#[derive(Serialize)]
pub struct Drawn {
    /// The kernel, by which charts are hidden.
    kernel: String,
    /// What the series' column is called.
    name: String,
    /// Length, how many in a row, whether something hit them.
    runs: Vec<(u64, u64, u8)>,
    /// Length and how many.
    bins: Vec<(u64, u64)>,
    total: u64,
}

impl Drawn {
    /// The samples, thinned out evenly; the extremes stay.
    pub fn of(kernel: &str, name: String, samples: &Samples) -> Option<Self> {
        let runs = samples.runs();
        let first = *runs.first()?;
        let one = |run: &Run| (run.value, run.times, u8::from(run.tick || run.interrupt));
        // The first sample stands by itself.
        let mut shown = vec![(first.value, 1, one(&first).2)];
        let rest = Run { times: first.times - 1, ..first };
        let rest: Vec<_> =
            std::iter::once(&rest).chain(&runs[1..]).filter(|r| r.times > 0).map(one).collect();
        let stride = rest.len().div_ceil(MOST_RUNS).max(1);
        for part in rest.chunks(stride) {
            let times = part.iter().map(|run| run.1).sum();
            let largest = part.iter().max_by_key(|run| run.0).copied().unwrap_or_default();
            shown.push((largest.0, times, largest.2));
        }
        let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
        for run in &rest {
            *lengths.entry(run.0).or_insert(0) += run.1;
        }
        if lengths.is_empty() {
            lengths.insert(first.value, 1);
        }
        let (min, max) = (*lengths.first_key_value()?.0, *lengths.last_key_value()?.0);
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        let step = ((max - min) / MOST_BINS as u64).max(1);
        for (value, times) in &lengths {
            let place =
                if lengths.len() <= MOST_BINS { *value } else { min + (value - min) / step * step };
            *bins.entry(place).or_insert(0) += times;
        }
        let (kernel, bins) = (kernel.to_owned(), bins.into_iter().collect());
        Some(Self { kernel, name, runs: shown, bins, total: samples.len() })
    }
}
