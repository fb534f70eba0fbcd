//! Which columns were built otherwise than the others, in a way that changes figures.

use rtmark_model::{SETTINGS, Setting, SettingInfo, Weight, Without, setting_info};

use crate::matrix::{Block, KernelColumn};
use crate::notes::one_line;

/// The fact of a series that names the functions whose calls its samples are.
const CALLS: &str = "calls";

/// What a note says of a column whose settings are not those of most others; none where they
/// are. Only what somebody chose counts: what comes with a kernel or its language is the
/// kernel.
pub fn unequal(block: &Block<'_>, column: &KernelColumn<'_>) -> Option<String> {
    let mut series = block.series_of(column);
    if let Some(by_calls) = series.find(|series| series.facts.contains_key(CALLS)) {
        let firmware = &by_calls.provenance.firmware;
        let (image, sha256) = (one_line(&firmware.image), one_line(&firmware.elf_sha256));
        return Some(format!(
            "Of the image {image} (SHA-256 {sha256}), built as its author has built it, and timed from \
             the instruction that calls: what loads arguments is not in it. docs/images.md"
        ));
    }
    let chosen = SETTINGS.iter().filter(|info| matches!(info.weight, Weight::Matters(_)));
    let differs = |info: &SettingInfo| {
        let own = value(block, column, info)?;
        let usual = usual(block, info)?;
        (own != usual).then(|| format!("{} {own} (elsewhere {usual})", info.id))
    };
    let differing: Vec<_> = chosen.filter_map(differs).collect();
    let list = differing.join(", ");
    (!differing.is_empty()).then(|| {
        format!(
            "Built otherwise than most columns, and it changes figures: {list}. \
             `rtmark fairness` shows by how much."
        )
    })
}

/// How a block's firmware was optimised, in brackets: `(opt 2, lto on)`; each value that there is,
/// where columns differ. Empty where nothing says so.
pub fn built(block: &Block<'_>) -> String {
    let told = |id: &str| {
        let info = setting_info(id)?;
        let mut values: Vec<_> =
            block.kernels.iter().filter_map(|column| value(block, column, info)).collect();
        values.sort_unstable();
        values.dedup();
        (!values.is_empty()).then(|| format!("{id} {}", values.join("/")))
    };
    let told: Vec<_> = ["opt", "lto"].into_iter().filter_map(told).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

/// What most columns have; of equally many the first one's.
pub fn usual(block: &Block<'_>, info: &SettingInfo) -> Option<String> {
    let values: Vec<_> = block.kernels.iter().filter_map(|c| value(block, c, info)).collect();
    let count = |wanted: &String| values.iter().filter(|value| *value == wanted).count();
    // The last of equal maxima would be the last column's.
    values.iter().rev().max_by_key(|value| count(value)).cloned()
}

/// A column's value as text; none where it has no such thing, or nothing was measured.
pub fn value(block: &Block<'_>, column: &KernelColumn<'_>, info: &SettingInfo) -> Option<String> {
    let settings = &block.series_of(column).next()?.provenance.settings;
    // A series from elsewhere says nothing about how it was built.
    if !settings.contains_key("opt") {
        return None;
    }
    let value = settings.get(info.id).cloned().or_else(|| info.without.map(Without::value))?;
    let text = one_line(&value.to_string());
    match (info.id, &value) {
        // One image may have a source of its own level.
        ("opt", Setting::Text(_)) => text.split(',').next().map(str::to_owned),
        // There is nothing to choose among compilers of different languages.
        ("compiler", Setting::Text(_)) => {
            text.split(' ').next().filter(|name| *name != "rustc").map(str::to_owned)
        }
        _ => Some(text),
    }
}
