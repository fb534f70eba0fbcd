//! A report of a run: everything known about it, as one page or in Markdown.

use std::fmt::Write as _;

use rtmark_model::{Answer, Catalogue, DEFAULT_PROFILE};

use crate::imported::sheet;
use crate::markdown::{Cells, Piece, code, escaped, fitted, tables};
use crate::matrix::{Block, blocks_by_profile};
use crate::related::RelatedFigures;
use crate::sections::{
    History, cold, environment, held, histories, provenance, settings, worst_cases,
};
use crate::sheet::Sheet;
use crate::why::Explained;
use crate::worst::Worst;

/// The facts that a report states about the run it shows.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Its id, shortened for people.
    pub id: String,
    /// The time of the run, in words.
    pub when: String,
    /// The commit that was measured.
    pub revision: Option<String>,
    /// Whether it was finished.
    pub complete: bool,
    /// The command line that started it.
    pub command: String,
}

/// The contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Its heading.
    pub title: &'a str,
    /// The program that writes it, with its version.
    pub generator: &'a str,
    /// The run.
    pub run: Option<&'a RunFacts>,
    /// Its answers.
    pub answers: &'a [Answer],
    /// The scenario definitions.
    pub catalogue: &'a Catalogue,
    /// Published or imported figures of others: those with equal spans are compared with ours.
    pub others: &'a [Answer],
    /// The results of worst-case searches.
    pub worst: &'a [Worst],
    /// Where the cycles of typical samples went.
    pub why: &'a [Explained],
    /// The figures over several runs.
    pub histories: &'a [History],
    /// Other runs that the page offers for selection and comparison.
    pub runs: &'a [OtherRun],
}

/// An additional run in a report.
#[derive(Clone, Debug)]
pub struct OtherRun {
    /// The facts about it.
    pub run: RunFacts,
    /// Its answers.
    pub answers: Vec<Answer>,
}

impl<'a> Report<'a> {
    /// Creates a report of one run's answers alone.
    pub fn of(answers: &'a [Answer], catalogue: &'a Catalogue) -> Self {
        Self {
            title: "What real-time kernels cost",
            generator: concat!("rtmark ", env!("CARGO_PKG_VERSION")),
            run: None,
            answers,
            catalogue,
            others: &[],
            worst: &[],
            why: &[],
            histories: &[],
            runs: &[],
        }
    }

    /// Returns the sheets that do not belong to one soc.
    fn sheets(&self) -> Vec<Sheet> {
        self.sheets_with(sheet(self.answers, self.catalogue))
    }

    /// Returns these sheets with other rows of logs, or none.
    pub(crate) fn sheets_with(&self, logs: Option<Sheet>) -> Vec<Sheet> {
        let mut sheets = worst_cases(self);
        sheets.extend(logs);
        sheets.extend(RelatedFigures::of(self.answers, self.others, self.catalogue).sheets());
        sheets.extend(histories(self.histories));
        sheets.push(environment(self));
        sheets
    }

    /// Renders it as GitHub-flavoured Markdown that fits into a comment: what does not fit is listed at
    /// its end.
    pub fn markdown(&self) -> String {
        fitted(|cells| self.parts(cells))
    }

    /// Returns the pieces of the Markdown, the most important first.
    fn parts(&self, cells: Cells) -> Vec<Piece> {
        let mut text = format!("## {}\n", escaped(self.title));
        if let Some(run) = self.run {
            let commit = run.revision.as_ref().map(|commit| format!(", commit {}", code(commit)));
            let _ = writeln!(
                text,
                "\nRun {} of {} UTC{}{}, by {}: {}",
                code(&run.id),
                run.when,
                commit.unwrap_or_default(),
                if run.complete { "" } else { ", **incomplete**" },
                self.generator,
                code(&run.command)
            );
        }
        let mut parts = vec![Piece { name: "the run".to_owned(), text }];
        parts.extend(tables(self.answers, cells));
        for block in blocks_by_profile(self.answers) {
            let sheets = of_block(&block, "");
            if !sheets.is_empty() {
                let name = format!("{}: held back, cold and warm, settings", label(&block));
                let sheets: String = sheets.iter().map(Sheet::markdown).collect();
                let text = format!(
                    "<details><summary>{}</summary>\n\n{sheets}</details>\n",
                    escaped(&name)
                );
                parts.push(Piece { name, text });
            }
        }
        parts.extend(self.sheets().iter().map(Piece::of));
        parts
    }
}

/// Names a block of a report.
pub fn label(block: &Block<'_>) -> String {
    let mut label = crate::notes::one_line(block.soc);
    let profile = crate::notes::one_line(block.profile().unwrap_or_default());
    if profile != DEFAULT_PROFILE {
        let _ = write!(label, ", profile {profile}");
    }
    if block.backend != rtmark_model::Backend::Sim {
        let _ = write!(label, ", {}", block.backend);
    }
    label
}

/// Returns the sheets of one block, whose ids end with `id`.
pub fn of_block(block: &Block<'_>, id: &str) -> Vec<Sheet> {
    let sheets = [
        held(block, &format!("longest-held{id}")),
        cold(block, &format!("cold{id}")),
        settings(block, &format!("settings{id}")),
        provenance(block, &format!("made{id}")),
    ];
    sheets.into_iter().flatten().collect()
}
