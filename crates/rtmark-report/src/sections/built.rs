//! How each column was built, side by side, and what produced its figures.

use std::collections::BTreeMap;

use rtmark_model::{SETTINGS, Setting, SettingInfo, Weight};

use crate::matrix::{Block, KernelColumn as Kernel};
use crate::notes::one_line;
use crate::sheet::{Cell, Column, Place, Row, Sheet};
use crate::unequal::{most_common, value};

/// Renders the settings as rows and the kernels as columns; relevant differences are marked.
pub fn settings(block: &Block<'_>, id: &str) -> Option<Sheet> {
    let about = "A setting is marked if it differs from most columns and is known to change figures, \
                 unless it comes with the kernel or its language; rtmark fairness measures by how much.";
    let mut sheet = Sheet::new(id, "Settings side by side", about);
    let kernels = block.kernels.iter().map(|(id, ..)| Column::text(id.to_string()).of(id.as_str()));
    let before = std::iter::once(Column::text("setting")).chain(kernels);
    sheet.columns = before.chain([Column::text("meaning")]).collect();
    sheet.rows = SETTINGS.iter().filter_map(|info| known(block, info)).collect();
    sheet.rows.extend(own(block));
    (!sheet.rows.is_empty()).then_some(sheet)
}

fn known(block: &Block<'_>, info: &SettingInfo) -> Option<Row> {
    let most_common = most_common(block, info)?;
    let matters = matches!(info.weight, Weight::Matters(_));
    let cell = |kernel: &Kernel<'_>| {
        let value = value(block, kernel, info);
        let marked = matters && value.as_ref().is_some_and(|value| *value != most_common);
        Cell { text: value.unwrap_or_default(), marked }
    };
    let mut row = Row::new([info.id.to_owned()]);
    row.cells.extend(block.kernels.iter().map(cell));
    row.cells.push(match info.weight {
        Weight::Matters(how) => format!("{}: {how}", info.meaning).into(),
        Weight::Inherent(how) => format!("{}: {how}, and it cannot be chosen", info.meaning).into(),
        Weight::Informational => info.meaning.into(),
    });
    Some(row)
}

fn settings_of<'a>(
    block: &Block<'a>,
    kernel: &Kernel<'a>,
) -> Option<&'a BTreeMap<String, Setting>> {
    Some(&block.series_of(kernel).next()?.provenance.settings)
}

/// Returns settings of single kernels that are not in the list of known settings.
fn own(block: &Block<'_>) -> Vec<Row> {
    let all: Vec<_> = block.kernels.iter().map(|kernel| settings_of(block, kernel)).collect();
    let mut names: Vec<&String> =
        all.iter().flatten().flat_map(|settings| settings.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| SETTINGS.iter().all(|info| info.id != name.as_str()));
    let row = |name: &String| {
        let mut row = Row::new([name.clone()]);
        row.cells.extend(all.iter().map(|settings| {
            let value = settings.and_then(|settings| settings.get(name));
            value.map(ToString::to_string).unwrap_or_default().into()
        }));
        row.cells.push("the kernel\u{2019}s own".into());
        row
    };
    names.into_iter().map(row).collect()
}

/// Lists what produced the figures of each column.
pub fn provenance(block: &Block<'_>, id: &str) -> Option<Sheet> {
    let about = "Everything that produced each kernel\u{2019}s figures: with all of it equal, the \
                 figures are equal on every computer.";
    let mut sheet = Sheet::new(id, "What produced the figures", about);
    sheet.columns = ["kernel", "item", "value"].map(Column::text).into();
    sheet.place = Place::Folded;
    for kernel in &block.kernels {
        for (what, which) in facts(block, *kernel) {
            let row = Row::new([kernel.0.to_string(), what, which]);
            sheet.rows.push(row.kernel(kernel.0.as_str()));
        }
    }
    (!sheet.rows.is_empty()).then_some(sheet)
}

fn facts(block: &Block<'_>, kernel: Kernel<'_>) -> Vec<(String, String)> {
    let series = || block.series_of(&kernel);
    let Some(provenance) = series().next().map(|series| &series.provenance) else {
        return Vec::new();
    };
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |what: &str, which: &str| {
        if !which.is_empty() {
            facts.push((what.to_owned(), one_line(which)));
        }
    };
    add("version", kernel.1);
    add("profile", kernel.2);
    add("compiler", &provenance.compiler.version);
    add("flags", &provenance.compiler.flags.join(" "));
    add("rtmark", &provenance.rtmark);
    add("rtmark, SHA-256", provenance.rtmark_sha256.as_deref().unwrap_or_default());
    add("timing model", provenance.timing_model.as_deref().unwrap_or_default());
    add("emulator", provenance.emulator.as_deref().unwrap_or_default());
    add("soc file, SHA-256", &provenance.soc_sha256);
    add("commit of the firmware sources", provenance.commit.as_deref().unwrap_or_default());
    for (image, firmware) in block.firmware(kernel) {
        add(&format!("image {image}, SHA-256"), &firmware.elf_sha256);
    }
    let logs = series().filter_map(|series| series.provenance.log.as_ref());
    for log in logs.take(1) {
        add("read from", &format!("{}, line {} ({})", log.file, log.line, log.suite));
    }
    facts
}
