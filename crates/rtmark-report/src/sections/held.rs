//! Where interrupts are held back for longest, under the same load for all kernels.

use rtmark_units::Cycles;

use crate::matrix::{Block, grouped, short_time};
use crate::sheet::{Column, Row, Sheet};

/// Lists each kernel's longest stretch for each interrupt examined.
pub fn held(block: &Block<'_>, id: &str) -> Option<Sheet> {
    let about = "The longest stretch of the mixed load, which is the same for all kernels, in which \
                 anything holds an interrupt back: a mask, a handler or an instruction. An interrupt \
                 can wait this long, plus its own entry.";
    let mut sheet = Sheet::new(id, "Longest held back", about);
    let texts = ["by", "from", "to"].map(Column::text);
    let before = [
        Column::text("scenario"),
        Column::text("kernel"),
        Column::number("cycles"),
        Column::number("time"),
    ];
    sheet.columns = before.into_iter().chain(texts).collect();
    for scenario in &block.scenarios {
        for kernel in &block.kernels {
            let answer = block.answer(scenario, *kernel);
            let Some(series) = answer.and_then(|answer| answer.series()) else { continue };
            let Some(held) = &series.held else { continue };
            let row = Row::new([
                scenario.to_string(),
                kernel.0.to_string(),
                grouped(held.cycles),
                short_time(Cycles(held.cycles).at(series.clock)),
                held.by.join(", "),
                held.from.to_string(),
                held.to.to_string(),
            ]);
            sheet.rows.push(row.kernel(kernel.0.as_str()));
        }
    }
    (!sheet.rows.is_empty()).then_some(sheet)
}
