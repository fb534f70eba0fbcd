//! Studies: what somebody has published, what we measure in its place, and why they differ.
//!
//! A [`Study`] is data: published figures with their source, the runs that it takes, formulas
//! over what those bring, and explanations whose every number is a formula too. The words of
//! an explanation rest on conditions; one that does not hold any more is shown as such.
//! [`Figures`] collect what was measured; [`Report::new`] puts the two together, and is all
//! that the renderers need: text, Markdown, pictures, JSON.
//!
//! This crate runs nothing and prints nothing. It knows no kernel: which runs to make is told
//! in a study's own words, and whoever carries them out hands in the answers.

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
    Condition, Document, Explained, MadeRun, Report, Row, SCHEMA_VERSION, Source, Table,
};
pub use figures::{Figures, Interrupted};
pub use formula::{Formula, FormulaError};
pub use score::{Score, Verdict, scoreboard};
pub use study::{
    Asked, DerivedSoc, Explanation, FunctionShare, On, Run, ShareOf, Study, StudyError, TableRow,
    against_boards, builtin,
};
