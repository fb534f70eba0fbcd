//! Writes the report as one self-contained HTML file.
//!
//! Everything a reader needs is in the page as plain HTML, including pictures. Its script only hides,
//! sorts, and shows the same figures in other units. The page's content security policy lets it load
//! nothing and run nothing but that script, so text from firmware, logs and bundles can do no harm. It
//! is written part by part, so that no part is kept in memory longer than it takes to write.

mod axis;
mod draw;
mod memory;
mod operations;
mod overview;
mod scenario;
mod sheets;
mod spent;
mod text;
mod view;

use std::io;

use base64::Engine as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::imported::{empty_sheet, rows};
use crate::kernels::{KERNEL_STYLES, KernelStyles, written};
use crate::notes::{Notes, one_line};
use crate::report::{Report, RunFacts, of_block};
use crate::sections::curves;
use crate::sheet::{Place, Sheet};
use text::{breakable, command, swatch};
use view::View;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The marks of kernels, drawn around the origin, in the order of their looks.
const MARKS: [&str; KERNEL_STYLES] = [
    "M-.9 -8h1.8V8h-1.8z",
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0",
    "M-4.5 -4.5h9v9h-9z",
    "M0 -6L6 0L0 6L-6 0z",
    "M0 -6L5.8 4.5H-5.8z",
    "M0 6L5.8 -4.5H-5.8z",
    "M-1.8 -6h3.6v4.2H6v3.6H1.8V6h-3.6V1.8H-6v-3.6h4.2z",
    "M-5.7 -2L0 -6L5.7 -2L3.5 5h-7z",
];

/// The reason why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the report could not be written: {0}")]
pub struct HtmlError(#[from] io::Error);

impl From<HtmlError> for io::Error {
    fn from(error: HtmlError) -> Self {
        error.0
    }
}

impl Report<'_> {
    /// Renders the report as one HTML page.
    ///
    /// # Errors
    /// Answers cannot cause any; those of [`Self::html_to`] are passed on.
    pub fn html(&self) -> Result<String, HtmlError> {
        let mut page = Vec::new();
        self.html_to(&mut page)?;
        Ok(String::from_utf8_lossy(&page).into_owned())
    }

    /// Writes the same page part by part, which needs no more memory than its longest part.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn html_to(&self, to: &mut impl io::Write) -> Result<(), HtmlError> {
        let views = view::views(self);
        let kernels =
            views.iter().flat_map(|view| view.block.kernels.iter().map(|column| column.0));
        let styles = KernelStyles::of(kernels);
        let sheets = self.sheets_with(None);
        let mut part = |markup: Markup| to.write_all(markup.into_string().as_bytes());
        part(head(self))?;
        part(PreEscaped("<body>".to_owned()))?;
        part(marks())?;
        part(top(self, &views, &sheets, &styles))?;
        part(PreEscaped("<main id=\"tables\">".to_owned()))?;
        for view in &views {
            self.view_to(view, &styles, &sheets, &mut part)?;
        }
        part(html! { h2 #beside { "Other results" } })?;
        let others = self.runs.iter().map(|other| other.answers.as_slice());
        for (index, answers) in std::iter::once(self.answers).chain(others).enumerate() {
            let mut logs = empty_sheet();
            if index > 0 {
                logs.id = format!("{}-{index}", logs.id);
            }
            sheets::streamed(&logs, rows(answers, self.catalogue), &mut part)?;
        }
        for sheet in &sheets {
            part(sheets::sheet(sheet, &styles))?;
        }
        part(PreEscaped("</main><script>".to_owned()))?;
        part(PreEscaped(SCRIPT.to_owned()))?;
        part(PreEscaped("</script></body></html>\n".to_owned()))?;
        Ok(())
    }

    fn view_to(
        &self,
        view: &View<'_>,
        styles: &KernelStyles,
        others: &[Sheet],
        part: &mut impl FnMut(Markup) -> io::Result<()>,
    ) -> io::Result<()> {
        part(PreEscaped(opening(view).into_string()))?;
        part(html! {
            h2 id=(view.id("heading")) { (breakable(&view.chip)) " " small { (breakable(&view.about())) } }
        })?;
        part(overview::overview(view, styles, self.worst))?;
        part(operations::operations(view, styles))?;
        let mut missing = Notes::default();
        let curves = curves(&view.block, self.catalogue, &view.id("curve"), &mut missing);
        if !curves.is_empty() {
            part(html! {
                h3 id=(view.id("growth")) { "Growth" }
                p.key {
                    "How the cost of one operation depends on a count. Both axes are logarithmic: along the dotted lines "
                    "the cost is proportional to the count. The number after each kernel is its slope over the upper half "
                    "of the counts, that is, the power with which the cost grows: 0 is constant, 1 linear, 2 quadratic."
                }
            })?;
            part(PreEscaped("<div class=\"curves\">".to_owned()))?;
            for curve in &curves {
                part(sheets::curve(curve, styles))?;
            }
            part(PreEscaped("</div>".to_owned()))?;
            part(html! {
                @if missing.iter().next().is_some() {
                    details {
                        summary { "Why some curves or points are missing" }
                        ol.told { @for (_, note) in missing.iter() { li { (breakable(note)) } } }
                    }
                }
            })?;
        }
        let late = scenario::lateness(view);
        if !late.is_empty() {
            part(html! {
                h3 id=(view.id("late")) { "Latency tails" }
                p.key {
                    "The share of samples that take at least as long, on a logarithmic scale that shows rare ones too: "
                    "a steeply falling line means punctual, one that trails off to the right means occasionally late."
                }
                (scenario::marks())
            })?;
            part(html! { div.charts { @for chart in &late { (draw::chart(chart, styles)) } } })?;
        }
        part(memory::memory(view, styles))?;
        let (mut folded, mut open) = (Vec::new(), Vec::new());
        for mut sheet in of_block(&view.block, &format!("-{}", view.number)) {
            let small = sheet.id.starts_with("cold") || sheet.id.starts_with("longest-held");
            sheet.place = Place::Folded;
            if small { open.push(sheet) } else { folded.push(sheet) }
        }
        let groups = scenario::groups(view);
        if !groups.is_empty() {
            part(html! {
                h3 id=(view.id("each")) { "Each scenario" }
                p.key { "What each scenario means, where timing starts and ends, its samples, and how each figure was made." }
            })?;
        }
        for (title, rows) in groups {
            part(PreEscaped(format!(
                "<details class=\"each\"><summary><h4>{title}</h4> <small>{}</small></summary>",
                rows.len()
            )))?;
            for row in rows {
                part(scenario::scenario(self, view, row, styles, others))?;
            }
            part(PreEscaped("</details>".to_owned()))?;
        }
        part(html! {
            h3 id=(view.id("behind")) { "How the figures were made" }
            p.key { (view.rests_on()) }
        })?;
        for sheet in open.iter().chain(&folded) {
            part(sheets::sheet(sheet, styles))?;
        }
        part(PreEscaped("</section>".to_owned()))
    }
}

/// Renders the opening tag of a view, whose attributes identify it to the script.
fn opening(view: &View<'_>) -> Markup {
    let block = &view.block;
    let model = block.any_series().and_then(|series| series.provenance.timing_model.as_deref());
    let soc = block.any_series().map(|series| series.provenance.soc_sha256.get(..8).unwrap_or("-"));
    let whole = html! {
        section.block id=(view.id("block")) aria-labelledby=(view.id("heading")) data-chip=(view.chip)
            data-build=(view.build) data-unit=(view.unit()) data-clock=[view.clock()]
            data-soc=[soc] data-model=[model.map(one_line)] {}
    };
    let text = whole.into_string();
    PreEscaped(text.strip_suffix("</section>").unwrap_or(&text).to_owned())
}

fn head(report: &Report<'_>) -> Markup {
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    PreEscaped(
        html! {
            (DOCTYPE)
            (PreEscaped("<html lang=\"en\">"))
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="generator" content=(report.generator);
                title { (one_line(report.title)) }
                style { (PreEscaped(STYLE)) }
            }
        }
        .into_string(),
    )
}

/// Renders the marks that charts and tables refer to.
fn marks() -> Markup {
    html! {
        svg.marks-of-kernels aria-hidden="true" {
            defs {
                @for (number, path) in MARKS.iter().enumerate() {
                    path id=(format!("m{number}")) d=(path) {}
                }
                path id="mx" d=(MARKS[1]) {}
            }
        }
    }
}

fn top(report: &Report<'_>, views: &[View<'_>], sheets: &[Sheet], styles: &KernelStyles) -> Markup {
    html! {
        a.skip href="#tables" { "Skip to the figures" }
        header {
            h1 { (breakable(report.title)) }
            details.made {
                summary { "About this page" }
                @if let Some(run) = report.run { (run_facts(run)) }
                @for other in report.runs { (run_facts(&other.run)) }
                p { "Written by " (report.generator) ". Every figure is exact unless marked otherwise." }
                nav aria-label="Contents" {
                    ul.contents {
                        @for view in views {
                            li { a href=(format!("#{}", view.id("block"))) { (breakable(&view.chip)) ", " (breakable(&view.build)) } }
                        }
                        li { a href="#beside" { "Other results" } }
                        @for sheet in sheets.iter().filter(|sheet| sheet.place != Place::Below) {
                            li { a href=(format!("#{}", sheet.id)) { (breakable(&sheet.title)) } }
                        }
                    }
                }
            }
        }
        (controls(views, styles))
    }
}

fn run_facts(run: &RunFacts) -> Markup {
    html! {
        p {
            "Run " code { (run.id) } " of " (run.when) " UTC"
            @if let Some(commit) = &run.revision { ", commit " code { (breakable(commit)) } }
            @if !run.complete { ", " strong { "incomplete" } }
            ", made by " (command(&run.command))
        }
    }
}

/// Returns the distinct names of one kind, in the order of the views.
fn distinct<'a>(views: &'a [View<'_>], of: fn(&'a View<'_>) -> &'a str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in views.iter().map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn controls(views: &[View<'_>], styles: &KernelStyles) -> Markup {
    let chips = distinct(views, |view| &view.chip);
    let builds = distinct(views, |view| &view.build);
    let kernels = distinct(views, |_| "");
    let mut kernels: Vec<&str> = kernels.into_iter().filter(|name| !name.is_empty()).collect();
    for column in views.iter().flat_map(|view| &view.block.kernels) {
        if !kernels.contains(&column.0.as_str()) {
            kernels.push(column.0.as_str());
        }
    }
    let choice = |name: &str, legend: &str, names: &[&str]| {
        html! {
            fieldset data-name=(name) hidden[names.len() < 2] {
                legend { (legend) }
                @for (index, each) in names.iter().enumerate() {
                    label { input type="radio" name=(name) value=(each) checked[index == 0]; span { (each) } }
                }
            }
        }
    };
    html! {
        form.controls #controls aria-label="What is shown" hidden {
            (choice("chip", "Chip", &chips))
            (choice("build", "Build", &builds))
            fieldset.kernels {
                legend { "Kernels" }
                @for kernel in &kernels {
                    label {
                        input type="checkbox" name="kernel" value=(kernel) checked;
                        span { (swatch(&styles.class(kernel))) (written(kernel)) }
                    }
                }
            }
            label.field { "Theme " select name="theme" {
                option value="" { "system" }
                option value="light" { "light" }
                option value="dark" { "dark" }
            } }
        }
        (figures())
    }
}

/// Renders the controls of the table's contents: the script places them above the visible table.
fn figures() -> Markup {
    html! {
        form.controls.figures-of #figures aria-label="Which figures" hidden {
            fieldset {
                legend { "Unit" }
                label { input type="radio" name="unit" value="count" checked; span #counted { "cycles" } }
                label { input type="radio" name="unit" value="time"; span { "µs" } }
                label { input type="radio" name="unit" value="best"; span { "× best" } }
            }
            label.field { "Samples " select name="of" {
                option value="c" { "typical" }
                option value="f" { "first" }
                option value="m" { "longest" }
                option value="e" { "with emptied caches" }
            } }
            label.field hidden { "Compare with " select name="against" { option value="" { "nothing" } } }
            label.field { "Find " input #filter type="search" placeholder="queue, wake …" autocomplete="off"; }
            output #shown aria-live="polite" {}
        }
    }
}

/// Returns the content security policy's hash of a text.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64::prelude::BASE64_STANDARD.encode(Sha256::digest(text)))
}
