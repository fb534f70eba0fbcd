//! Scores the timing of exceptions against what the counters of a CC2650 showed.
//!
//! Every row is run on the simulator as the chip ran it, and each of its values is compared: how
//! far a counter advanced between two readings; how many instructions the core executed between the
//! pend and the entry; and, for each moment of a sweep, which instruction was the first not to be
//! executed and when the handler ran. A row has one vote, shared by its values, however often it
//! was measured.

mod replay;
mod row;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use rayon::prelude::*;
use rtmark_sim::Soc;

use self::replay::PreparedRun;
pub use self::row::MalformedSweep;
use self::row::{ExceptionRow, ExceptionTest, Moment};
use crate::Failure;
use crate::corpus::CorpusError;

/// The argument that requests this score alone.
pub const WORD: &str = "exceptions";

/// The option before a text that lists each missed value of rows whose test or group contains the
/// text.
const MISSED: &str = "--missed";

const FILE: &str = "exceptions-cortex-m3.jsonl.xz";
const SOC: &str = include_str!("../socs/cc2650.toml");

/// The quantities counted.
const COUNTERS: [&str; 7] =
    ["CYCCNT", "EXCCNT", "CPICNT", "LSUCNT", "instructions", "next", "SysTick"];

/// What the model misses, and why.
const MISSED_BECAUSE: &str = "\
Missed, and why, as far as single rows show:
  sweep: when instructions enter around the moment (BL, a run of wide instructions in flash with
    its line buffer on, and skipped instructions of an IT block after a transfer that writes back
    its base or is unaligned).
  sweep LSUCNT, CPICNT: which of the two counts a late fetch after a load.
The sweeps' vectors are assumed to be in flash, as their cycles indicate; the rows say SRAM, where
the handler's address is found as well.";

/// A measured value, and that of the model.
#[derive(Clone, Debug)]
struct Value {
    what: String,
    /// The quantity counted.
    counter: String,
    chip: u64,
    /// `None` if the row cannot be run.
    model: Option<u64>,
}

/// The score of a group of rows, one vote each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExceptionScore {
    pub rows: u32,
    /// Rows with only exact values.
    pub whole: u32,
    pub exact: f64,
    pub within_one: f64,
    chip: f64,
    model: f64,
}

impl ExceptionScore {
    fn add<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>) {
        let values: Vec<_> = values.into_iter().collect();
        if values.is_empty() {
            return;
        }
        let share = 1.0 / values.len() as f64;
        self.rows += 1;
        self.whole += u32::from(values.iter().all(|value| value.model == Some(value.chip)));
        for value in values {
            let Some(model) = value.model else { continue };
            self.exact += if model == value.chip { share } else { 0.0 };
            self.within_one += if model.abs_diff(value.chip) <= 1 { share } else { 0.0 };
            self.chip += share * value.chip as f64;
            self.model += share * model as f64;
        }
    }

    fn percent(&self, part: f64) -> f64 {
        100.0 * part / f64::from(self.rows.max(1))
    }

    fn row(&self, name: String) -> Vec<String> {
        let bias = 100.0 * (self.model / self.chip.max(f64::MIN_POSITIVE) - 1.0);
        vec![
            name,
            self.rows.to_string(),
            format!("{:.1} %", self.percent(self.exact)),
            format!("{:.1} %", self.percent(self.within_one)),
            if self.chip > 0.0 { format!("{bias:+.1} %") } else { String::new() },
            format!("{:.1} %", self.percent(self.whole.into())),
        ]
    }
}

/// Returns the group in which a row is counted: its kind, the interrupting exception, and where
/// code, handler and vectors were.
fn group(row: &ExceptionRow) -> String {
    let cause = row.cause.split([',', ':']).next().unwrap_or_default();
    let cause = cause.split(" pended").next().unwrap_or_default();
    let handler = row.handler.as_deref().unwrap_or("none");
    let vectors = row.vectors.as_deref().unwrap_or("-");
    let buffer = if row.line_buffer { "" } else { ", line buffer off" };
    format!("{} {cause}: {}/{handler}, vectors {vectors}{buffer}", row.kind.name(), row.code)
}

/// Returns the subject of a row's bar: its kind and placement.
fn placement(row: &ExceptionRow) -> String {
    let handler = row.handler.as_deref().unwrap_or("none");
    let buffer = if row.line_buffer { "" } else { ", line buffer off" };
    format!("{} {}/{handler}{buffer}", row.kind.name(), row.code)
}

fn values(prepared: &PreparedRun, row: &ExceptionRow) -> Result<Vec<Value>, MalformedSweep> {
    if row.kind == ExceptionTest::Sweep {
        return Ok(values_of_sweep(prepared, row, &row.moments()?));
    }
    let shown = replay::run(prepared, row);
    let mut values: Vec<_> = row
        .measured
        .iter()
        .map(|it| Value {
            what: format!("{} to {}", it.from, it.to),
            counter: row.counter.clone(),
            chip: it.value,
            model: shown
                .as_ref()
                .and_then(|shown| shown.difference(&it.from, &it.to, &row.counter)),
        })
        .collect();
    let instructions =
        [row.instructions_between_pend_and_entry, row.instructions_between_second_pend_and_entry];
    for (exception, count) in instructions.into_iter().enumerate() {
        let Some(chip) = count else { continue };
        let model = shown.as_ref().and_then(|shown| replay::between(row, shown, exception));
        let what = format!("instructions before exception {exception}");
        values.push(Value { what, counter: "instructions".to_owned(), chip, model });
    }
    let read = row.values.iter().flat_map(row::Values::by_register);
    for (register, chip) in read.filter(|(register, _)| replay::loads(row, *register)) {
        let model = shown.as_ref().and_then(|shown| shown.loaded(register)).map(u64::from);
        let (what, counter) = (format!("SysTick in r{register}"), "SysTick".to_owned());
        values.push(Value { what, counter, chip: chip.into(), model });
    }
    Ok(values)
}

fn values_of_sweep(prepared: &PreparedRun, row: &ExceptionRow, moments: &[Moment]) -> Vec<Value> {
    let mut values = Vec::new();
    for moment in moments {
        let shown = replay::run_moment(prepared, row, moment);
        let difference = |from: &str, to: &str, counter| {
            shown.as_ref().and_then(|shown| shown.difference(from, to, counter))
        };
        let mut add = |counter: &str, chip, model| {
            let what = format!("at {}: {counter}", moment.reload);
            values.push(Value { what, counter: counter.to_owned(), chip, model });
        };
        add("next", moment.next, shown.as_ref().and_then(replay::Observations::next));
        let from = format!("thread {}", moment.from);
        add("CYCCNT", moment.cycles, difference(&from, "handler0 0", "CYCCNT"));
        if let Some(chip) = moment.cpicnt {
            add("CPICNT", chip, difference("thread 4", "handler0 1", "CPICNT"));
        }
        if let Some(chip) = moment.lsucnt {
            add("LSUCNT", chip, difference("thread 3", "handler0 2", "LSUCNT"));
        }
    }
    values
}

/// Returns the rows with their values, in the file's order.
fn compare(folder: &Path) -> Result<Vec<(ExceptionRow, Vec<Value>)>, Failure> {
    let path = folder.join(FILE);
    let rows: Vec<ExceptionRow> = crate::corpus::read(&path)?;
    let prepared = PreparedRun::of(&Soc::from_toml(SOC)?)?;
    // Each line is a row.
    let values = rows.par_iter().enumerate().map(|(at, row)| {
        values(&prepared, row).map_err(|source| CorpusError::Sweep {
            path: path.clone(),
            line: at + 1,
            source,
        })
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok(rows.into_iter().zip(values).collect())
}

/// Returns the scores by kind and placement, by interrupting exception, and by kind and counter.
fn scores(compared: &[(ExceptionRow, Vec<Value>)]) -> BTreeMap<String, ExceptionScore> {
    let mut groups: BTreeMap<String, ExceptionScore> = BTreeMap::new();
    for (row, values) in compared {
        groups.entry(format!("  {}", group(row))).or_default().add(values);
        groups.entry(placement(row)).or_default().add(values);
        for counter in COUNTERS {
            let score = groups.entry(format!("    {} {counter}", row.kind.name())).or_default();
            score.add(values.iter().filter(|value| value.counter == counter));
        }
    }
    groups
}

/// Prints the scores, or, if `missed` is given, the missed values of rows that contain this text.
///
/// # Errors
/// When the measurements cannot be read.
pub fn tell(folder: &Path, missed: Option<&str>) -> Result<(), Failure> {
    let compared = compare(folder)?;
    let mut out = std::io::stdout().lock();
    if let Some(text) = missed {
        for (row, values) in &compared {
            let name = format!("{} {} {}", group(row), row.test, row.run);
            if !name.contains(text) {
                continue;
            }
            for value in values.iter().filter(|value| value.model != Some(value.chip)) {
                let model = value.model.map_or("none".to_owned(), |model| model.to_string());
                let (what, counter, chip) = (&value.what, &value.counter, value.chip);
                writeln!(out, "{name}: {counter} {what}: {chip} measured, {model} modelled")?;
            }
        }
        return Ok(());
    }
    let groups = scores(&compared);
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["exceptions", "rows", "exact", "within 1", "bias", "wholly exact"]);
    for (key, score) in groups.into_iter().filter(|(_, score)| score.rows > 0) {
        table.add_row(score.row(key));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}\n{MISSED_BECAUSE}")?;
    Ok(())
}

/// Returns the text after the option that lists missed values.
pub fn missed(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Option<String> {
    let mut arguments = arguments.into_iter().skip_while(|argument| argument != MISSED).skip(1);
    arguments.next().map(|text| text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for a file of these lines.
    fn refusal(lines: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let file = std::fs::File::create(folder.path().join(FILE)).expect("made");
        let options = lzma_rust2::XzOptions::default();
        let mut file = lzma_rust2::XzWriter::new(file, options).expect("a writer");
        file.write_all(lines.as_bytes()).expect("written");
        file.finish().expect("written");
        compare(folder.path()).expect_err("malformed").to_string()
    }

    #[test]
    fn malformed_sweeps_are_errors_with_file_and_line() {
        let row = |kind: &str, columns: &str, moments: &str| {
            format!(
                "{{\"kind\": \"{kind}\", \"test\": \"t\", \"run\": 1, \"cause\": \"SysTick\", \
                 \"code\": \"SRAM\", \"line_buffer\": false, \"counter\": \"CYCCNT\", \"regs\": \"\", \
                 \"columns\": {columns}, \"moments\": {moments}}}\n"
            )
        };
        let columns = r#"["reload", "address", "next", "from", "cycles", "cpicnt"]"#;
        let good = r#"[1, "20000000", 1, 0, 12, null]"#;
        let cases = [
            ("[]".to_owned(), "a sweep without moments"),
            (
                format!("[{good}, [1, \"2000000g\", 1, 0, 12, 3]]"),
                "moment 2 of the sweep has no `address`",
            ),
            (r#"[[1, "20000000", 1, 0]]"#.to_owned(), "moment 1 of the sweep has no `cycles`"),
            (
                r#"[[1, "20000000", 1, 0, 12, "x"]]"#.to_owned(),
                "moment 1 of the sweep has no `cpicnt`",
            ),
            (
                r#"[[4294967296, "20000000", 1, 0, 12, 3]]"#.to_owned(),
                "moment 1 of the sweep has no `reload`",
            ),
        ];
        for (moments, reason) in cases {
            let error = refusal(&(row("single", "[]", "[]") + &row("sweep", columns, &moments)));
            assert!(error.contains(&format!("{FILE}, line 2: {reason}")), "{error}");
        }
    }

    #[test]
    fn exception_rows_are_as_exact_as_required() {
        let folder = crate::folder(None);
        if !folder.join(FILE).is_file() {
            let mut say = std::io::stderr();
            writeln!(say, "not scored: no {FILE} in {}", folder.display()).expect("told");
            return;
        }
        let compared = compare(&folder).expect("readable");
        assert_eq!(compared.len(), 1_196);
        // What no program has read is not left out if the chip showed something.
        let read = compared.iter().flat_map(|(row, _)| {
            let values = row.values.iter().flat_map(row::Values::by_register);
            values.filter(|(register, _)| !replay::loads(row, *register))
        });
        let placeholders: Vec<_> = read.map(|(_, chip)| chip).collect();
        assert_eq!(placeholders, [0; 160]);
        let placements: std::collections::BTreeSet<_> =
            compared.iter().map(|(row, _)| placement(row)).collect();
        let scores = scores(&compared);
        for placement in placements {
            let score = scores[&placement];
            let (exact, within) = (score.percent(score.exact), score.percent(score.within_one));
            assert!(exact >= 90.0 && within >= 97.0, "{placement}: {exact:.1} %, {within:.1} %");
        }
    }
}
