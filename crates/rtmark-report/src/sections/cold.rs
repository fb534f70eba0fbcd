//! Compares first samples, emptied caches and ticks with the steady state.

use rtmark_model::{ScenarioId, Statistics};

use crate::matrix::{Block, KernelColumn as Kernel, grouped};
use crate::sheet::{Column, Row, Sheet};
use crate::table::multiple;

/// Multiples of the steady median, with their scenarios.
struct Ratios<'a>(Vec<(f64, &'a ScenarioId)>);

impl Ratios<'_> {
    /// Returns the middle multiple, and the largest with its scenario.
    fn formatted(mut self) -> [String; 2] {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = self.0.len().saturating_sub(1) / 2;
        let (Some(typical), Some((most, scenario))) = (self.0.get(middle), self.0.last()) else {
            return [const { String::new() }; 2];
        };
        [multiple(typical.0), format!("{} {scenario}", multiple(*most))]
    }
}

/// Renders one line for each kernel: how far cold samples are from warm ones.
pub fn cold(block: &Block<'_>, id: &str) -> Option<Sheet> {
    let about = "Over all scenarios, as multiples of the median of the steady samples: the first \
                 sample, and the median with all caches and buffers emptied before each span. Also, \
                 how far the largest sample disturbed by a tick or another interrupt exceeds the \
                 median. Each scenario lists its own figures.";
    let mut sheet = Sheet::new(id, "Cold and warm", about);
    sheet.columns = vec![
        Column::text("kernel"),
        Column::number("scenarios"),
        Column::number("first: typical"),
        Column::text("most, in"),
        Column::number("emptied: typical"),
        Column::text("most, in"),
        Column::number("samples disturbed"),
        Column::text("most added, in"),
    ];
    sheet.rows = block.kernels.iter().filter_map(|kernel| row(block, *kernel)).collect();
    (!sheet.rows.is_empty()).then_some(sheet)
}

fn row(block: &Block<'_>, kernel: Kernel<'_>) -> Option<Row> {
    let scenarios: Vec<_> = block
        .rows()
        .filter_map(|scenario| {
            let series = block.answer(scenario, kernel)?.series()?;
            Some((scenario, block.figures(series)?))
        })
        .filter(|(_, figures)| figures.statistics.typical() > 0)
        .collect();
    if scenarios.is_empty() {
        return None;
    }
    let over = |value: u64, statistics: &Statistics| value as f64 / statistics.typical() as f64;
    let with_steady = scenarios.iter().filter(|(_, figures)| figures.statistics.steady.is_some());
    let first = with_steady
        .map(|(scenario, f)| (over(f.statistics.first, &f.statistics), *scenario))
        .collect();
    let emptied = scenarios.iter().filter_map(|(scenario, figures)| {
        Some((over(figures.emptied?.typical(), &figures.statistics), *scenario))
    });
    let hits = || {
        scenarios.iter().filter_map(|(scenario, figures)| {
            let hit = figures.statistics.disturbed?;
            let added = hit.max.saturating_sub(figures.statistics.typical());
            Some((hit.count, added, *scenario))
        })
    };
    let most = hits().max_by_key(|(_, added, _)| *added);
    let [first, first_most] = Ratios(first).formatted();
    let [emptied, emptied_most] = Ratios(emptied.collect()).formatted();
    let row = Row::new([
        kernel.0.to_string(),
        scenarios.len().to_string(),
        first,
        first_most,
        emptied,
        emptied_most,
        grouped(hits().map(|(count, ..)| count).sum()),
        most.map(|(_, added, scenario)| format!("{} {scenario}", grouped(added)))
            .unwrap_or_default(),
    ]);
    Some(row.kernel(kernel.0.as_str()))
}
