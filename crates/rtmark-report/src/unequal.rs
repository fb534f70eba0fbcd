//! Finds columns that were built differently from the others, in a way that changes figures.

use rtmark_model::{AbsentValue, SETTINGS, Setting, SettingInfo, Weight, setting_info};

use crate::matrix::{Block, KernelColumn};
use crate::notes::one_line;

/// The fact of a series that names the functions whose calls are its samples.
const CALLS: &str = "calls";

/// Returns the note about a column whose settings differ from those of most others. Only settings that
/// somebody chose count: what comes with a kernel or its language is part of the kernel.
pub fn unequal(block: &Block<'_>, column: &KernelColumn<'_>) -> Option<String> {
    let mut series = block.series_of(column);
    if let Some(by_calls) = series.find(|series| series.facts.contains_key(CALLS)) {
        let firmware = &by_calls.provenance.firmware;
        let (image, sha256) = (one_line(&firmware.image), one_line(&firmware.elf_sha256));
        return Some(format!(
            "From the image {image} (SHA-256 {sha256}) as its author built it, timed from the call \
             instruction: loading the arguments is not included. See docs/images.md"
        ));
    }
    let chosen = SETTINGS.iter().filter(|info| matches!(info.weight, Weight::Matters(_)));
    let differs = |info: &SettingInfo| {
        let own = value(block, column, info)?;
        let most_common = most_common(block, info)?;
        (own != most_common).then(|| format!("{} {own} (elsewhere {most_common})", info.id))
    };
    let differing: Vec<_> = chosen.filter_map(differs).collect();
    let list = differing.join(", ");
    (!differing.is_empty()).then(|| {
        format!(
            "Built differently from most columns, which changes figures: {list}. \
             `rtmark fairness` shows by how much."
        )
    })
}

/// Formats how a block's firmware was optimised: `(opt 2, lto on)`, with all values if columns differ.
/// Empty if unknown.
pub fn built(block: &Block<'_>) -> String {
    let describe = |id: &str| {
        let info = setting_info(id)?;
        let mut values: Vec<_> =
            block.kernels.iter().filter_map(|column| value(block, column, info)).collect();
        values.sort_unstable();
        values.dedup();
        (!values.is_empty()).then(|| format!("{id} {}", values.join("/")))
    };
    let settings: Vec<_> = ["opt", "lto"].into_iter().filter_map(describe).collect();
    if settings.is_empty() { String::new() } else { format!(" ({})", settings.join(", ")) }
}

/// Returns the value of most columns; among equally frequent ones, the first column's.
pub fn most_common(block: &Block<'_>, info: &SettingInfo) -> Option<String> {
    let values: Vec<_> = block.kernels.iter().filter_map(|c| value(block, c, info)).collect();
    let count = |wanted: &String| values.iter().filter(|value| *value == wanted).count();
    // `max_by_key` returns the last of equal maxima, so iterate in reverse.
    values.iter().rev().max_by_key(|value| count(value)).cloned()
}

/// Returns a column's value as text; none if it has no such setting, or nothing was measured.
pub fn value(block: &Block<'_>, column: &KernelColumn<'_>, info: &SettingInfo) -> Option<String> {
    let settings = &block.series_of(column).next()?.provenance.settings;
    // A series from elsewhere does not state how it was built.
    if !settings.contains_key("opt") {
        return None;
    }
    let value =
        settings.get(info.id).cloned().or_else(|| info.absent_value.map(AbsentValue::value))?;
    let text = one_line(&value.to_string());
    match (info.id, &value) {
        // Single source files of an image may have another level.
        ("opt", Setting::Text(_)) => text.split(',').next().map(str::to_owned),
        // Compilers of different languages are not alternatives.
        ("compiler", Setting::Text(_)) => {
            text.split(' ').next().filter(|name| *name != "rustc").map(str::to_owned)
        }
        _ => Some(text),
    }
}
