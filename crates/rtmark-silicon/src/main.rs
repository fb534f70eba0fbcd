//! Scores the timing models against cycle counts that were measured on real chips.
//!
//! Reads the files of the directory named as argument or by `RTMARK_SILICON`
//! (default `shared/reference/silicon` beside the project), runs every window on the simulator and
//! prints how many measurements the model gets exactly, how many within a cycle,
//! and the mean bias, by file, code placement and class, and the causes of what is missed.
//! With `--missed TEXT` it lists the rows that the model misses and whose test contains the
//! text. The measurements are not part of the project; without them it says so and ends.

mod chip;
mod corpus;
mod exceptions;
mod replay;

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use rayon::prelude::*;

use crate::chip::{CHIPS, Chip};

type Failure = Box<dyn Error + Send + Sync>;

/// Before a text: lists the rows that are missed, instead of scores.
const MISSED: &str = "--missed";

/// What the models miss, and why.
const MISSED_BECAUSE: &str = "\
Missed, and why:
  flash of cc2652: writes to the bit-band alias (misc/bitbanding), and a branch by a register into
    a word that is being fetched already.
  code in -: windows whose code lies in two memories.
  sram misc/bitbanding, cc2652: a write to the bit-band alias and the fetches beside it on the
    System bus; how they take turns is not known.
  sram instructions/memory of cc2652: what is left are accesses across words (ldr_str_unaligned),
    whose parts and the fetches beside them take turns on the System bus.
  sram control_flow of cc2652: a branch by a register into a word that is being fetched already
    finds it; the model fetches it again.";

#[derive(Clone, Copy, Default)]
struct Score {
    measurements: u64,
    exact: u64,
    within_one: u64,
    unscored: u64,
    chip: u64,
    model: u64,
}

impl Score {
    fn add(&mut self, count: u64, chip: u64, model: Option<u64>) {
        self.measurements += count;
        let Some(model) = model else {
            self.unscored += count;
            return;
        };
        self.chip += count * chip;
        self.model += count * model;
        if model == chip {
            self.exact += count;
        }
        if model.abs_diff(chip) <= 1 {
            self.within_one += count;
        }
    }

    fn row(&self, name: String) -> Vec<String> {
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let bias = percent(self.model, self.chip) - 100.0;
        vec![
            name,
            self.measurements.to_string(),
            format!("{:.1} %", percent(self.exact, self.measurements)),
            format!("{:.1} %", percent(self.within_one, self.measurements)),
            format!("{bias:+.1} %"),
            self.unscored.to_string(),
        ]
    }
}

/// Where the measurements are: as named, else beside the project.
fn folder(named: Option<OsString>) -> PathBuf {
    named.or_else(|| std::env::var_os("RTMARK_SILICON")).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/silicon"),
        PathBuf::from,
    )
}

/// The scores of one file: by code placement, then by class of test.
fn scores(folder: &Path, chip: &Chip) -> Result<Vec<(String, Score)>, Failure> {
    let name = chip.name;
    let rows = corpus::read(&folder.join(format!("{name}.jsonl.xz")))?;
    let prepared = chip.prepare()?;
    let modelled: Vec<_> = rows.par_iter().map(|row| prepared.cycles(row)).collect();
    let mut places: BTreeMap<String, Score> = BTreeMap::new();
    let mut classes: BTreeMap<String, Score> = BTreeMap::new();
    for (row, model) in rows.iter().zip(modelled) {
        let place = places.entry(format!("{name}, code in {}", row.code)).or_default();
        place.add(row.count, row.cycles, model);
        let class = classes.entry(format!("  {} {}", row.code, row.class())).or_default();
        class.add(row.count, row.cycles, model);
    }
    Ok(places.into_iter().chain(classes).collect())
}

/// Writes the rows of a file whose test or code placement contains a text and whose
/// cycles the model misses: what the chip took, what the model says, and the opcodes.
fn tell_missed(folder: &Path, chip: &Chip, text: &str) -> Result<(), Failure> {
    let name = chip.name;
    let rows = corpus::read(&folder.join(format!("{name}.jsonl.xz")))?;
    let prepared = chip.prepare()?;
    let mut out = std::io::stdout().lock();
    for row in rows.iter().filter(|row| format!("{} {}", row.code, row.test).contains(text)) {
        let Some(model) = prepared.cycles(row).filter(|model| *model != row.cycles) else {
            continue;
        };
        let steps: Vec<_> =
            row.steps.iter().map(|(address, opcode, _)| format!("{address}:{opcode}")).collect();
        writeln!(
            out,
            "{name} {} {} {}: {} measured, {model} modelled, {} times: {}",
            row.code,
            row.test,
            row.number,
            row.cycles,
            row.count,
            steps.join(" ")
        )?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == exceptions::WORD).is_some() {
        return exceptions::tell(&folder(None), exceptions::missed(arguments).as_deref());
    }
    let missed = arguments.next_if(|argument| argument == MISSED).and_then(|_| arguments.next());
    let folder = folder(arguments.next());
    if let Some(text) = missed.filter(|_| folder.is_dir()) {
        let text = text.to_string_lossy();
        return CHIPS.iter().try_for_each(|chip| tell_missed(&folder, chip, &text));
    }
    let mut out = std::io::stdout().lock();
    if !folder.is_dir() {
        writeln!(
            out,
            "no silicon measurements in {}: nothing scored (RTMARK_SILICON names another place)",
            folder.display()
        )?;
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["measurements of", "number", "exact", "within 1", "bias", "not run"]);
    for chip in &CHIPS {
        for (key, score) in scores(&folder, chip)? {
            table.add_row(score.row(key));
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}\n{MISSED_BECAUSE}")?;
    drop(out);
    exceptions::tell(&folder, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(part: u64, whole: u64) -> f64 {
        100.0 * part as f64 / whole as f64
    }

    #[test]
    fn scores_are_what_the_cores_say() {
        let folder = folder(None);
        if !folder.is_dir() {
            let mut say = std::io::stderr();
            writeln!(say, "not scored: no measurements in {}", folder.display()).expect("told");
            return;
        }
        for chip in &CHIPS {
            let name = chip.name;
            let core = chip.soc().expect("valid").core;
            let scores = scores(&folder, chip).expect("readable");
            let of = |place: &str| {
                let found = scores.iter().find(|(key, _)| key == place);
                found.map(|(_, score)| {
                    let all = score.measurements;
                    (percent(score.exact, all), percent(score.within_one, all), all)
                })
            };
            for said in core.scores().iter().filter(|said| name.contains(said.chip)) {
                let place = format!("{name}, code in {}", said.code);
                let (exact, within, all) = of(&place).expect("scored");
                assert_eq!(all, u64::from(said.measurements), "{place}");
                let near = |said: u16, is: f64| (f64::from(said) / 10.0 - is).abs() < 0.06;
                assert!(near(said.exact, exact), "{place}: {exact:.2} % exact, not {said:?}");
                assert!(near(said.within_one, within), "{place}: {within:.2} %, not {said:?}");
            }
        }
    }
}
