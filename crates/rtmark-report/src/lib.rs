//! Renders answers: [`table()`] for people, [`json`] and [`csv()`] for programs, [`markdown()`] for
//! pull requests, [`Report`] as one HTML page for colleagues.
//!
//! Read `matrix` first: it arranges answers as all of these show them, scenarios down and kernels across.
//! `table`, `markdown` and `html` draw a matrix, `notes` explains its cells. What a report holds besides is
//! made of sheets (`sheet`), one module of `sections` for each part.
//!
//! Nothing here runs a benchmark or opens a store. Text that came from firmware or from a file is escaped
//! before it reaches a terminal or a page.

mod beside;
mod csv;
mod fairness;
mod growth;
mod html;
mod imported;
mod markdown;
mod matrix;
mod metrics;
mod notes;
mod report;
mod sections;
mod sheet;
mod table;
mod unequal;
mod worst;

use rtmark_model::{Answer, Document};

pub use beside::beside;
pub use csv::{COLUMNS as CSV_COLUMNS, csv};
pub use fairness::fairness;
pub use html::HtmlError;
pub use imported::imported;
pub use markdown::markdown;
pub use metrics::{bencher, benchmark_action};
pub use report::{Report, RunFacts};
pub use sections::{History, HistoryPoint};
pub use table::{lines, table};
pub use worst::{Worst, WorstError, worst};

/// Renders answers as a JSON document, whose schema the repository publishes as
/// `docs/schema/results.schema.json`. `generator` names the program.
///
/// # Errors
/// None that the types allow; those of the serialiser are passed on.
pub fn json(generator: &str, answers: &[Answer]) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Document::new(generator, answers.to_vec()))?;
    text.push('\n');
    Ok(text)
}
