//! Reports as pages of the documentation.

use std::fmt::Write as _;

use crate::document::Report;
use crate::picture::picture;
use crate::text::{cells, differences, reasons};

/// Escapes what Markdown would interpret.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '<' | '>' | '[' | ']') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

impl Report {
    /// Returns the page and the pictures on it, by file name. `generator` is the program that
    /// measured.
    pub fn page(&self, generator: &str) -> (String, Vec<(String, String)>) {
        let mut page = format!("# {}\n\n**{}**\n\n", escaped(&self.title), escaped(&self.question));
        let _ = writeln!(
            page,
            "Written by `rtmark study {} --out {}`; nothing here is written by hand but the words \
             between the figures (`data/{}{}.toml`).\n",
            self.id,
            if self.of_boards() { "docs" } else { "docs/studies" },
            if self.of_boards() { "" } else { "studies/" },
            self.id
        );
        let _ = writeln!(page, "## What was published\n\n{}.\n", escaped(&self.published.source));
        let _ = writeln!(page, "- Board: {}", escaped(&self.published.board));
        for how in &self.published.how {
            let _ = writeln!(page, "- {}", escaped(how));
        }
        if !self.published.unstated.is_empty() {
            page.push_str("\nWhat is not stated:\n\n");
        }
        for unstated in &self.published.unstated {
            let _ = writeln!(page, "- {}", escaped(unstated));
        }
        let _ = writeln!(page, "\n## What is measured here\n\n{}", escaped(&self.ours));
        self.scores_page(&mut page);
        let mut pictures = Vec::new();
        for (at, table) in self.tables.iter().enumerate() {
            let _ = write!(page, "\n## {}\n\n", escaped(&table.title));
            if let Some(svg) = picture(table) {
                let file = format!("{}-{}.svg", self.id, at + 1);
                let _ = write!(
                    page,
                    "![{}: published and measured]({file})\n\n",
                    escaped(&table.title)
                );
                pictures.push((file, svg));
            }
            page.push_str("| | published | measured | measured / published |\n|---|--:|--:|--:|\n");
            for row in &table.rows {
                let cells = cells(row).map(|cell| escaped(&cell));
                let _ = writeln!(page, "| {} |", cells.join(" | "));
            }
            for reason in reasons(table) {
                let _ = write!(page, "\nn/a: {}\n", escaped(&reason));
            }
            for difference in differences(table) {
                let _ = write!(page, "\nNo ratio: {}\n", escaped(&difference));
            }
        }
        if !self.explanations.is_empty() {
            page.push_str("\n## Why\n");
        }
        for explained in &self.explanations {
            let _ =
                write!(page, "\n**{}** {}\n", escaped(&explained.title), escaped(&explained.text));
            for failed in explained.failed_conditions() {
                let condition = &failed.condition;
                let _ = match failed.holds {
                    Some(_) => write!(page, "\n> Not so here: `{condition}` does not hold.\n"),
                    None => write!(page, "\n> Not known here: `{condition}` has no value.\n"),
                };
            }
        }
        page.push_str("\n## What was run\n\n");
        page.push_str("| | kernel | scenario | soc | profile | typical | by |\n");
        page.push_str("|---|---|---|---|---|--:|---|\n");
        for run in &self.runs {
            let typical = match run.typical {
                Some(typical) => format!("{typical} {}", run.basis),
                None => "n/a".to_owned(),
            };
            let key = &run.key;
            let kernel = format!("{} {}", key.kernel, key.version);
            let scenario = key.scenario.to_string();
            let cells = [&run.name, &kernel, &scenario, &key.soc, &key.profile, &typical, &run.by];
            let cells = cells.map(|cell| escaped(cell));
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
        let mut compilers: Vec<_> =
            self.runs.iter().map(|run| run.compiler.as_str()).filter(|c| !c.is_empty()).collect();
        compilers.sort_unstable();
        compilers.dedup();
        let _ = write!(
            page,
            "\nCompiled by {}. Measured by {}. Settings and hashes of every firmware: \
             [{id}.json]({id}.json).\n",
            compilers.join("; "),
            generator,
            id = self.id
        );
        (page, pictures)
    }
}
