//! Studies: what others have published, what we measure in its place, and why the two differ.
//!
//! A [`Study`] is data: published figures with their source, the runs needed, formulas over the
//! results of those, and explanations in which every number is a formula too. The wording of an
//! explanation depends on conditions; a condition that no longer holds is flagged. [`Figures`]
//! collects what was measured. [`Report::new`] combines the two; the renderers (text, Markdown,
//! pictures, JSON) need nothing else.
//!
//! This crate runs nothing, prints nothing and knows no kernel: a study states which runs to make,
//! and the caller carries them out and supplies the answers.

mod document;
mod figures;
mod formula;
mod markdown;
mod number;
mod picture;
mod score;
mod study;
mod template;
mod text;

pub use document::{
    CheckedExplanation, Condition, Document, Report, Row, SCHEMA_VERSION, Source, StudyRun, Table,
};
pub use figures::{Figures, InterruptExtremes};
pub use formula::{Formula, FormulaError};
pub use score::{Score, Verdict, scoreboard};
pub use study::{
    DerivedSoc, Explanation, FigureSource, FunctionShare, Run, RunTarget, ShareKind, Study,
    StudyError, TableRow, against_boards, builtin,
};
