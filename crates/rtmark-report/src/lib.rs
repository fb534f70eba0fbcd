//! Renders answers: [`table()`] as text, [`json`] and [`csv()`] for programs, [`markdown()`] for pull
//! requests, and [`Report`] as a self-contained HTML page.
//!
//! Read `matrix` first: it arranges answers as all of these show them, with rows for scenarios and
//! columns for kernels. `table`, `markdown` and `html` render a matrix, `notes` explains its cells, and
//! `findings` sums it up in sentences. The other parts of a report are sheets (`sheet`), with one
//! module of `sections` for each.
//!
//! Nothing here runs a benchmark or opens a store. Text that came from firmware or from a file is
//! escaped before it reaches a terminal or a page.

mod csv;
mod fairness;
mod findings;
mod groups;
mod growth;
mod html;
mod imported;
mod kernels;
mod markdown;
mod matrix;
mod metrics;
mod notes;
mod rank;
mod related;
mod report;
mod sections;
mod sheet;
mod table;
mod unequal;
mod why;
mod worst;

use std::cell::RefCell;
use std::io;

use rtmark_model::{Answer, Document, Reported, SCHEMA_VERSION};
use serde::{Serialize, Serializer};

pub use csv::{COLUMNS as CSV_COLUMNS, csv};
pub use fairness::fairness;
pub use html::HtmlError;
pub use imported::{ImportedRows, imported};
pub use markdown::markdown;
pub use metrics::{bencher, benchmark_action};
pub use notes::one_line;
pub use related::related;
pub use report::{OtherRun, Report, RunFacts};
pub use sections::{History, HistoryPoint};
pub use table::{lines, table};
pub use why::{Explained, WhyError, why};
pub use worst::{Worst, WorstError, worst};

/// Renders answers as a JSON document, whose schema is published as `docs/schema/results.schema.json`.
/// `generator` names the program.
///
/// # Errors
/// The types cause none; those of the serialiser are passed on.
pub fn json(generator: &str, answers: &[Answer]) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Document::new(generator, answers.to_vec()))?;
    text.push('\n');
    Ok(text)
}

/// Writes answers incrementally in the form of [`json`], without summaries over several of them.
///
/// # Errors
/// Those of the writer.
pub fn json_to(
    to: impl io::Write,
    generator: &str,
    answers: impl Iterator<Item = Answer>,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Streamed<'a, I: Iterator<Item = Answer>> {
        schema_version: u32,
        generator: &'a str,
        #[serde(serialize_with = "each")]
        answers: RefCell<I>,
    }
    fn each<I: Iterator<Item = Answer>, S: Serializer>(
        answers: &RefCell<I>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let reported = |answer| -> Option<Reported> { Document::new("", [answer]).answers.pop() };
        serializer.collect_seq(answers.borrow_mut().by_ref().filter_map(reported))
    }
    let answers = RefCell::new(answers);
    let document = Streamed { schema_version: SCHEMA_VERSION, generator, answers };
    let mut to = io::BufWriter::with_capacity(1 << 16, to);
    serde_json::to_writer_pretty(&mut to, &document)?;
    io::Write::write_all(&mut to, b"\n")?;
    io::Write::flush(&mut to)
}
