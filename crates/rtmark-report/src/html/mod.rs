//! The report: one HTML file that needs nothing else.
//!
//! Everything that a reader is to know stands in the page as plain HTML; the script in
//! it only hides, sorts and draws. The page's own policy lets it load nothing and run
//! nothing but that script, so text from firmware, logs and bundles can do no harm.
//! Charts are drawn by uPlot (`uplot/`), which is part of the page.

mod cells;
mod samples;

use std::collections::BTreeMap;

use base64::Engine as _;
use minijinja::{AutoEscape, Environment, Value};
use rtmark_model::{Backend, Basis, DEFAULT_PROFILE, ScenarioId, Series};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::matrix::{Block, Column, FLOOR, blocks_by_profile, grouped};
use crate::notes::{Notes, one_line, rests_on};
use crate::report::{Report, label, of_block};
use crate::sections::curves;
use crate::sheet::{Chart, Sheet};
use crate::unequal::unequal;
use cells::Cell;
use samples::Drawn;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("uplot/uPlot.min.css"), include_str!("page.css"));
const SCRIPT: &str = include_str!("page.js");
const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the report could not be made: {0}")]
pub struct HtmlError(#[from] minijinja::Error);

#[derive(Serialize)]
struct BlockView {
    label: String,
    about: String,
    basis: String,
    kernels: Vec<KernelView>,
    rows: Vec<Row>,
    notes: Vec<String>,
    sizes: Vec<Size>,
    curves: Vec<Sheet>,
    sheets: Vec<Sheet>,
}

#[derive(Serialize)]
struct KernelView {
    id: String,
    name: String,
    version: String,
    /// The number of the note on how it was built otherwise than most; 0 for none.
    note: usize,
}

#[derive(Serialize)]
struct Row {
    scenario: String,
    question: String,
    span: String,
    command: String,
    /// Sentences on worst cases and figures of others, with where they stand.
    links: Vec<(String, String)>,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Size {
    image: String,
    cells: Vec<SizeCell>,
}

#[derive(Serialize)]
struct SizeCell {
    kernel: String,
    flash: String,
    ram: String,
    flash_share: u64,
    ram_share: u64,
}

/// What the page's script draws.
#[derive(Default, Serialize)]
struct Data {
    /// Samples by block and scenario, one for each column.
    samples: BTreeMap<String, BTreeMap<String, Vec<Drawn>>>,
    /// Charts by the id of their sheet.
    charts: BTreeMap<String, Vec<Chart>>,
}

impl Data {
    fn add(&mut self, sheets: &[Sheet]) {
        for sheet in sheets.iter().filter(|sheet| !sheet.charts.is_empty()) {
            self.charts.insert(sheet.id.clone(), sheet.charts.clone());
        }
    }
}

impl Report<'_> {
    /// Renders it as one HTML page.
    ///
    /// # Errors
    /// None that answers could cause; those of the template are passed on.
    pub fn html(&self) -> Result<String, HtmlError> {
        let blocks = blocks_by_profile(self.answers);
        let mut kernels: Vec<String> = Vec::new();
        let mut views = Vec::new();
        let mut data = Data::default();
        let sheets = self.sheets();
        data.add(&sheets);
        for (index, block) in blocks.iter().enumerate() {
            for (kernel, ..) in &block.kernels {
                if !kernels.iter().any(|known| known == kernel.as_str()) {
                    kernels.push(kernel.to_string());
                }
            }
            let number = index + 1;
            let view = self.view(block, number, &sheets);
            data.add(&view.curves);
            data.add(&view.sheets);
            views.push(view);
            let of_block = data.samples.entry(number.to_string()).or_default();
            // Points of curves have charts of their own.
            for scenario in block.rows() {
                let drawn = block.kernels.iter().filter_map(|column| {
                    let samples = block.answer(scenario, *column)?.series()?.readings.samples()?;
                    Drawn::of(column.0.as_str(), block.name(*column), samples)
                });
                let drawn: Vec<_> = drawn.collect();
                if !drawn.is_empty() {
                    of_block.insert(scenario.to_string(), drawn);
                }
            }
        }
        // No text in it can end the script element that holds it.
        let data = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");

        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_trim_blocks(true);
        environment.add_function("matrix_cell", |cell: Value| {
            Value::from_safe_string(cells::matrix_cell(&cell))
        });
        environment.add_template("page", PAGE)?;
        let page = environment.get_template("page")?;
        let style = STYLE.to_owned() + &widths();
        Ok(page.render(minijinja::context! {
            title => one_line(self.title),
            generator => self.generator,
            run => self.run,
            blocks => views,
            sheets => sheets,
            kernels => kernels,
            data => data,
            style_hash => hash(&style),
            style => style,
            uplot => UPLOT,
            uplot_hash => hash(UPLOT),
            script => SCRIPT,
            script_hash => hash(SCRIPT),
        })?)
    }

    fn view(&self, block: &Block<'_>, number: usize, others: &[Sheet]) -> BlockView {
        let mut notes = Notes::default();
        let kernels = block.kernels.iter().map(|kernel| KernelView {
            id: kernel.0.to_string(),
            name: block.name(*kernel),
            version: one_line(kernel.1),
            note: unequal(block, kernel).map_or(0, |note| notes.number(&note)),
        });
        let kernels = kernels.collect();
        let rows = block.rows().map(|scenario| self.row(block, scenario, others, &mut notes));
        let rows = rows.collect();
        let id = format!("-{number}");
        BlockView {
            label: label(block),
            about: about(block),
            basis: block.basis.map_or("nothing measured", |basis| basis.name()).to_owned(),
            kernels,
            rows,
            curves: curves(block, self.catalogue, &format!("curve{id}"), &mut notes),
            notes: notes.iter().map(|(_, note)| note.to_owned()).collect(),
            sizes: sizes(block),
            sheets: of_block(block, &id),
        }
    }

    fn row<'a>(
        &self,
        block: &Block<'a>,
        scenario: &'a ScenarioId,
        others: &[Sheet],
        notes: &mut Notes,
    ) -> Row {
        let entry = self.catalogue.get(scenario);
        let any = block.kernels.iter().find_map(|kernel| block.answer(scenario, *kernel)?.series());
        let cells = block.kernels.iter().map(|kernel| Cell::of(block, scenario, *kernel, notes));
        Row {
            cells: cells.collect(),
            scenario: scenario.to_string(),
            question: entry.map(|entry| entry.answers.clone()).unwrap_or_default(),
            span: any.map(span).unwrap_or_default(),
            command: command(block, scenario),
            links: self.links(block, scenario, others),
        }
    }

    /// Where more is said of a scenario.
    fn links(
        &self,
        block: &Block<'_>,
        scenario: &ScenarioId,
        others: &[Sheet],
    ) -> Vec<(String, String)> {
        let mut links = Vec::new();
        for worst in self.worst.iter().filter(|w| w.is_of(block.soc, scenario.as_str())) {
            let Some(timed) = worst.handler() else { continue };
            let mut text = format!("Worst case: {} cycles, {}", timed.max, worst.title());
            if let Some(witness) = timed.witnesses.first() {
                text = format!("{text}, at {}", witness.at);
            }
            links.push((one_line(&text), "worst".to_owned()));
        }
        let beside = others.iter().filter(|sheet| sheet.id == "others");
        let of_it = beside.flat_map(|sheet| &sheet.rows).filter(|row| {
            row.scenario.as_deref() == Some(scenario.as_str()) && !row.cells[1].marked
        });
        let count = of_it.count();
        if count > 0 {
            let figures = if count == 1 { "1 figure".into() } else { format!("{count} figures") };
            links.push((format!("{figures} of others with this span"), "others".to_owned()));
        }
        links
    }
}

/// What the figures of a block have in common.
fn about(block: &Block<'_>) -> String {
    let profile = one_line(block.profile().unwrap_or_default());
    let profile = profile + &crate::unequal::built(block);
    let about = format!("Profile {profile}, backend {}", block.backend);
    let Some(series) = block.any_series() else { return about + "." };
    let core = one_line(&series.provenance.core);
    let about = format!("{core} at {}. {about}", series.clock);
    let model = series.provenance.timing_model.as_deref();
    let model = model.map(|model| format!(", timing model {}", one_line(model)));
    let basis = rests_on(&series.provenance).map(|basis| format!("; {basis}"));
    format!("{about}{}{}.", model.unwrap_or_default(), basis.unwrap_or_default())
}

/// What measures a row of a block again.
fn command(block: &Block<'_>, scenario: &ScenarioId) -> String {
    let mut kernels: Vec<&str> = block.kernels.iter().map(|kernel| kernel.0.as_str()).collect();
    kernels.dedup();
    let mut command = format!(
        "rtmark run --scenario {scenario} --soc {} --kernel {}",
        one_line(block.soc),
        kernels.join(" ")
    );
    let profile = one_line(block.profile().unwrap_or_default());
    if profile != DEFAULT_PROFILE {
        command = format!("{command} --profile {profile}");
    }
    match (block.backend, block.basis) {
        (Backend::Qemu, _) => command + " --backend qemu",
        (Backend::Sim, Some(Basis::Instructions)) => command + " --basis instructions",
        _ => command,
    }
}

/// A content security policy's name for a text.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64::prelude::BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// Bars have one of 41 widths, as the page's policy allows no styles of their own.
fn widths() -> String {
    let width = |step| format!(".w{step}{{width:{}rem}}", f64::from(step) * 0.15);
    (0..=40).map(width).collect::<Vec<_>>().concat()
}

fn span(series: &Series) -> String {
    let span = &series.span;
    format!(
        "From {} to {}; context switches inside: {}; ticks: {}; interrupts: {}; overhead of measuring: {}.",
        one_line(&span.from),
        one_line(&span.to),
        span.switches,
        span.ticks,
        span.interrupts,
        span.overhead
    )
}

fn sizes(block: &Block<'_>) -> Vec<Size> {
    let firmware: Vec<_> =
        block.kernels.iter().map(|kernel| (kernel, block.firmware(*kernel))).collect();
    let mut images: Vec<&str> = Vec::new();
    for scenario in &block.scenarios {
        let group = scenario.group();
        if !images.contains(&group) && firmware.iter().any(|(_, images)| images.contains_key(group))
        {
            images.push(group);
        }
    }
    let sizes = || firmware.iter().flat_map(|(_, images)| images.values());
    let most = sizes().map(|f| f.flash_bytes.max(f.ram_bytes)).max().unwrap_or(0).max(1);
    let share = |bytes: u64| (u128::from(bytes) * 40).div_ceil(u128::from(most)) as u64;
    let cell = |kernel: &Column<'_>, size: Option<&rtmark_model::Firmware>| SizeCell {
        kernel: kernel.0.to_string(),
        flash: size.map(|f| grouped(f.flash_bytes)).unwrap_or_default(),
        ram: size.map(|f| grouped(f.ram_bytes)).unwrap_or_default(),
        flash_share: size.map_or(0, |f| share(f.flash_bytes)),
        ram_share: size.map_or(0, |f| share(f.ram_bytes)),
    };
    images
        .into_iter()
        .map(|image| Size {
            image: one_line(image),
            cells: firmware
                .iter()
                .map(|(kernel, images)| cell(kernel, images.get(image).copied()))
                .collect(),
        })
        .collect()
}

/// Whether a kernel is the one that others are multiples of.
fn is_floor(kernel: Column<'_>) -> bool {
    kernel.0.as_str() == FLOOR
}
