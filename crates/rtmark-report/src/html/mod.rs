//! The report: one HTML file that needs nothing else.
//!
//! Everything that a reader is to know stands in the page as plain HTML; the script in
//! it only hides, sorts and draws. The page's own policy lets it load nothing and run
//! nothing but that script, so text from firmware, logs and bundles can do no harm.

use std::fmt::Write as _;

mod cells;

use std::collections::BTreeMap;

use base64::Engine as _;
use minijinja::{AutoEscape, Environment, Value};
use rtmark_model::{Answer, Catalogue, Samples, Series};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::matrix::{Block, Column, FLOOR, blocks_by_profile, grouped};
use crate::notes::{Notes, one_line};
use cells::Cell;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the report says about the run that it shows.
#[derive(Clone, Debug, Serialize)]
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
    extras: Vec<Extra>,
    made: Vec<Made>,
}

#[derive(Serialize)]
struct KernelView {
    id: String,
    version: String,
}

#[derive(Serialize)]
struct Row {
    scenario: String,
    question: String,
    span: String,
    command: String,
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

/// A table of whatever else the answers hold.
#[derive(Serialize)]
struct Extra {
    title: String,
    about: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct Made {
    kernel: String,
    version: String,
    facts: Vec<(String, String)>,
}

/// What charts are drawn of.
#[derive(Serialize)]
struct Drawn {
    /// Length, how many in a row, whether something hit them.
    runs: Vec<(u64, u64, u8)>,
    /// Length and how many.
    bins: Vec<(u64, u64)>,
    total: u64,
}

/// Renders answers as one HTML page, titled as given.
///
/// # Errors
/// None that answers could cause; those of the template are passed on.
pub fn html(
    title: &str,
    generator: &str,
    run: Option<&RunFacts>,
    answers: &[Answer],
    catalogue: &Catalogue,
) -> Result<String, HtmlError> {
    let blocks = blocks_by_profile(answers);
    let mut kernels: Vec<String> = Vec::new();
    let mut views = Vec::new();
    let mut data: BTreeMap<String, BTreeMap<String, BTreeMap<String, Drawn>>> = BTreeMap::new();
    for (index, block) in blocks.iter().enumerate() {
        for (kernel, ..) in &block.kernels {
            if !kernels.iter().any(|known| known == kernel.as_str()) {
                kernels.push(kernel.to_string());
            }
        }
        views.push(view(block, catalogue));
        let of_block = data.entry((index + 1).to_string()).or_default();
        for series in block.series() {
            if let Some(drawn) = series.readings.samples().and_then(drawn) {
                let of_scenario = of_block.entry(series.key.scenario.to_string()).or_default();
                of_scenario.insert(series.key.kernel.to_string(), drawn);
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
    Ok(page.render(minijinja::context! {
        title => one_line(title),
        generator => generator,
        run => run,
        blocks => views,
        kernels => kernels,
        data => data,
        style => STYLE.to_owned() + &widths(),
        style_hash => hash(&(STYLE.to_owned() + &widths())),
        script => SCRIPT,
        script_hash => hash(SCRIPT),
    })?)
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

fn view(block: &Block<'_>, catalogue: &Catalogue) -> BlockView {
    let mut notes = Notes::default();
    let basis = block.basis.map_or("nothing measured", |basis| basis.name());
    let mut label = one_line(block.soc);
    let profile = one_line(block.profile().unwrap_or_default());
    if profile != "default" {
        let _ = write!(label, ", profile {profile}");
    }
    if block.backend != rtmark_model::Backend::Sim {
        let _ = write!(label, ", {}", block.backend);
    }
    let mut about = format!("Profile {profile}, backend {}", block.backend);
    if let Some(series) = block.any_series() {
        let core = one_line(&series.provenance.core);
        about = format!("{core} at {}. {about}", series.clock);
        if let Some(model) = &series.provenance.timing_model {
            let _ = write!(about, ", timing model {}", one_line(model));
        }
    }
    let row = |scenario: &&rtmark_model::ScenarioId| {
        let entry = catalogue.get(scenario);
        let any = block.kernels.iter().find_map(|kernel| block.answer(scenario, *kernel)?.series());
        let cells =
            block.kernels.iter().map(|kernel| Cell::of(block, scenario, *kernel, &mut notes));
        Row {
            cells: cells.collect(),
            scenario: scenario.to_string(),
            question: entry.map(|entry| entry.answers.clone()).unwrap_or_default(),
            span: any.map(span).unwrap_or_default(),
            command: format!(
                "rtmark run --scenario {scenario} --soc {}{}",
                one_line(block.soc),
                if profile == "default" { String::new() } else { format!(" --profile {profile}") }
            ),
        }
    };
    let rows: Vec<Row> = block.scenarios.iter().map(row).collect();
    BlockView {
        label,
        about: about + ".",
        basis: basis.to_owned(),
        kernels: block
            .kernels
            .iter()
            .map(|(id, version, _)| KernelView { id: id.to_string(), version: one_line(version) })
            .collect(),
        rows,
        notes: notes.iter().map(|(_, note)| note.to_owned()).collect(),
        sizes: sizes(block),
        extras: Vec::new(),
        made: block.kernels.iter().filter_map(|kernel| made(block, *kernel)).collect(),
    }
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

fn made(block: &Block<'_>, kernel: Column<'_>) -> Option<Made> {
    let series = || block.series_of(&kernel);
    let provenance = &series().next()?.provenance;
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut tell = |what: &str, value: &str| {
        if !value.is_empty() {
            facts.push((one_line(what), one_line(value)));
        }
    };
    tell("compiler", &provenance.compiler.version);
    tell("flags", &provenance.compiler.flags.join(" "));
    for (name, setting) in &provenance.settings {
        tell(name, &setting.to_string());
    }
    tell("rtmark", &provenance.rtmark);
    tell("rtmark, SHA-256", provenance.rtmark_sha256.as_deref().unwrap_or_default());
    tell("timing model", provenance.timing_model.as_deref().unwrap_or_default());
    tell("soc file, SHA-256", &provenance.soc_sha256);
    tell("commit of the firmware's sources", provenance.commit.as_deref().unwrap_or_default());
    for (image, firmware) in block.firmware(kernel) {
        tell(&format!("image {image}, SHA-256"), &firmware.elf_sha256);
    }
    let logs = series().filter_map(|series| series.provenance.log.as_ref());
    for log in logs.take(1) {
        tell("read from", &format!("{}, line {} ({})", log.file, log.line, log.suite));
    }
    Some(Made { kernel: kernel.0.to_string(), version: one_line(kernel.1), facts })
}

/// More runs of equal samples than this are thinned out in charts.
const MOST_RUNS: usize = 120;
/// More lengths than this are put together in histograms.
const MOST_BINS: usize = 40;

/// What a chart needs of samples, thinned out evenly where there are many: the extremes stay.
fn drawn(samples: &Samples) -> Option<Drawn> {
    let runs = samples.runs();
    let first = *runs.first()?;
    let one = |run: &rtmark_model::Run| (run.value, run.times, u8::from(run.tick || run.interrupt));
    let mut shown: Vec<(u64, u64, u8)> = Vec::new();
    // The first sample stands by itself.
    shown.push((first.value, 1, one(&first).2));
    let rest = rtmark_model::Run { times: first.times - 1, ..first };
    let rest: Vec<_> =
        std::iter::once(&rest).chain(&runs[1..]).filter(|r| r.times > 0).map(one).collect();
    let stride = rest.len().div_ceil(MOST_RUNS).max(1);
    for part in rest.chunks(stride) {
        let times = part.iter().map(|run| run.1).sum();
        let largest = part.iter().max_by_key(|run| run.0).copied().unwrap_or_default();
        shown.push((largest.0, times, largest.2));
    }
    let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
    for run in &rest {
        *lengths.entry(run.0).or_insert(0) += run.1;
    }
    if lengths.is_empty() {
        lengths.insert(first.value, 1);
    }
    let (min, max) = (*lengths.first_key_value()?.0, *lengths.last_key_value()?.0);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let step = ((max - min) / MOST_BINS as u64).max(1);
    for (value, times) in &lengths {
        let place =
            if lengths.len() <= MOST_BINS { *value } else { min + (value - min) / step * step };
        *bins.entry(place).or_insert(0) += times;
    }
    Some(Drawn { runs: shown, bins: bins.into_iter().collect(), total: samples.len() })
}

/// Whether a kernel is the one that others are multiples of.
fn is_floor(kernel: Column<'_>) -> bool {
    kernel.0.as_str() == FLOOR
}
