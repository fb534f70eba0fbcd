//! Where each kernel masks interrupts for longest.

use rtmark_model::{Masked, Series};
use rtmark_units::Cycles;

use crate::matrix::{Block, grouped, short_time};
use crate::sheet::{Column, Row, Sheet};

/// Places of one kernel that are told.
const PLACES: usize = 3;

/// The longest times of each kernel, of each place the longest one.
pub fn masked(block: &Block<'_>, id: &str) -> Option<Sheet> {
    let about = "The longest stretches for which each kernel held interrupts back by a mask \
                 register, from the first span of a scenario to its last: an interrupt that comes \
                 in between waits as long, besides its own entry.";
    let mut sheet = Sheet::new(id, "Longest time masked", about);
    let texts = ["by", "scenario", "from", "to"].map(Column::text);
    let before = [Column::text("kernel"), Column::number("cycles"), Column::number("time")];
    sheet.columns = before.into_iter().chain(texts).collect();
    for kernel in &block.kernels {
        let mut found: Vec<(&Series, &Masked)> =
            block.series_of(kernel).filter_map(|s| Some((s, s.masked.as_ref()?))).collect();
        found.sort_by_key(|(_, masked)| std::cmp::Reverse(masked.cycles));
        let mut places = Vec::new();
        for (series, masked) in found {
            if places.len() == PLACES {
                break;
            }
            let place = (masked.set.address, masked.cleared.address);
            if places.contains(&place) {
                continue;
            }
            places.push(place);
            let row = Row::new([
                kernel.0.to_string(),
                grouped(masked.cycles),
                short_time(Cycles(masked.cycles).at(series.clock)),
                masked.by.to_string(),
                series.key.scenario.to_string(),
                masked.set.to_string(),
                masked.cleared.to_string(),
            ]);
            sheet.rows.push(row.kernel(kernel.0.as_str()));
        }
    }
    (!sheet.rows.is_empty()).then_some(sheet)
}
