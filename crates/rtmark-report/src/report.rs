//! A report of a run: everything that is known of it, in one page or in Markdown.

use std::fmt::Write as _;

use rtmark_model::{Answer, Catalogue, DEFAULT_PROFILE};

use crate::beside::Beside;
use crate::imported::sheet;
use crate::markdown::{Cells, Piece, code, escaped, fitted, tables};
use crate::matrix::{Block, blocks_by_profile};
use crate::sections::{History, cold, environment, held, histories, made, settings, worst_cases};
use crate::sheet::Sheet;
use crate::why::Spent;
use crate::worst::Worst;

/// What the report says about the run that it shows.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Its id, or as much of it as people read.
    pub id: String,
    /// When it was, in words.
    pub when: String,
    /// The commit that it measured.
    pub revision: Option<String>,
    /// Whether it was finished.
    pub complete: bool,
    /// The command that made it.
    pub command: String,
}

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// The program that writes it, with its version.
    pub generator: &'a str,
    /// The run.
    pub run: Option<&'a RunFacts>,
    /// Its answers.
    pub answers: &'a [Answer],
    /// What the scenarios mean.
    pub catalogue: &'a Catalogue,
    /// Figures of others, published or imported: those with equal spans stand beside ours.
    pub others: &'a [Answer],
    /// What searches for worst cases have found.
    pub worst: &'a [Worst],
    /// What typical samples were spent on.
    pub why: &'a [Spent],
    /// The figures over runs.
    pub histories: &'a [History],
    /// Other runs that one page shows, too, to be chosen and compared.
    pub runs: &'a [OtherRun],
}

/// A run beside that of a report.
#[derive(Clone, Debug)]
pub struct OtherRun {
    /// What is said about it.
    pub run: RunFacts,
    /// Its answers.
    pub answers: Vec<Answer>,
}

impl<'a> Report<'a> {
    /// One of a run's answers alone.
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

    /// The sheets that are not of one soc.
    fn sheets(&self) -> Vec<Sheet> {
        self.sheets_with(sheet(self.answers, self.catalogue))
    }

    /// The sheets with other rows of logs, or none.
    pub(crate) fn sheets_with(&self, logs: Option<Sheet>) -> Vec<Sheet> {
        let mut sheets = worst_cases(self);
        sheets.extend(logs);
        sheets.extend(Beside::of(self.answers, self.others, self.catalogue).sheets());
        sheets.extend(histories(self.histories));
        sheets.push(environment(self));
        sheets
    }

    /// Renders it as GitHub's Markdown, no longer than a comment there may be: what does not
    /// fit is named at its end.
    pub fn markdown(&self) -> String {
        fitted(|cells| self.parts(cells))
    }

    /// What the Markdown is made of, the most important first.
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

/// What a block of a report is of.
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

/// The sheets of one block, whose ids begin with `id`.
pub fn of_block(block: &Block<'_>, id: &str) -> Vec<Sheet> {
    let sheets = [
        held(block, &format!("longest-held{id}")),
        cold(block, &format!("cold{id}")),
        settings(block, &format!("settings{id}")),
        made(block, &format!("made{id}")),
    ];
    sheets.into_iter().flatten().collect()
}
