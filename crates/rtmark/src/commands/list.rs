//! `rtmark list`

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use rtmark_firmware::Kernel;
use rtmark_model::Catalogue;
use rtmark_report::one_line;
use rtmark_runner::{BoardFile, MachineFile, socs};
use rtmark_sim::{CoreKind, Score, Soc};
use serde::Serialize;

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::sources::Sources;

/// List kernels, scenarios, socs, cores, machines, boards or published figures
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark list scenarios                      the question that each scenario answers
  rtmark list scenarios -v                   also its span, and equal rows of other suites
  rtmark list socs --format json             for programs, with clocks and digests
  rtmark list kernels --own ../our-kernel    also kernels of your own")]
pub struct Arguments {
    /// What to list
    what: ListKind,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ListKind {
    /// Real-time kernels
    Kernels,
    /// Operations to measure
    Scenarios,
    /// Chips: a core with its clock, memories and peripherals
    Socs,
    /// Processor cores
    Cores,
    /// QEMU machines, for `run --backend qemu`
    Machines,
    /// Boards, for `run --backend board`
    Boards,
    /// Other people's published figures, with their sources
    Published,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Text: names and descriptions
    Table,
    /// JSON: docs/schema/list.schema.json
    Json,
}

/// An entry of a list.
#[derive(Debug, Serialize)]
struct Entry {
    id: String,
    description: String,
    /// Additional lines of the table with `-v`.
    #[serde(skip)]
    details: Vec<String>,
    #[serde(flatten)]
    more: serde_json::Map<String, serde_json::Value>,
}

macro_rules! entry {
    ($id:expr, $description:expr $(, $key:literal: $value:expr)* $(,)?) => {{
        let mut more = serde_json::Map::new();
        $(more.insert($key.into(), serde_json::json!($value));)*
        Entry { id: $id.to_string(), description: $description.to_string(), details: Vec::new(), more }
    }};
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        if matches!((self.what, self.format), (ListKind::Published, Format::Table)) {
            output::data(&published_table(&self.sources.catalogue(&Config::load()?)?)?)?;
            return Ok(Exit::Fine);
        }
        let entries = match self.what {
            ListKind::Kernels => kernels(self.sources.find(&Config::load()?)?.kernels),
            ListKind::Scenarios => scenarios(&self.sources.with_own_scenarios(&Config::load()?)?),
            ListKind::Socs => socs()?,
            ListKind::Cores => cores(),
            ListKind::Machines => machines()?,
            ListKind::Boards => boards()?,
            ListKind::Published => published_entries(&self.sources.catalogue(&Config::load()?)?)?,
        };
        let text = match self.format {
            // Lines are only folded on a terminal: programs such as grep need them whole.
            Format::Table if output::to_terminal() => {
                table(&entries, verbosity.verbose > 0, output::width())
            }
            Format::Table => table(&entries, verbosity.verbose > 0, usize::MAX),
            Format::Json => output::json(&entries)?,
        };
        output::data(&text)?;
        Ok(Exit::Fine)
    }
}

fn kernels(kernels: Vec<Kernel>) -> Vec<Entry> {
    let entry = |kernel: Kernel| {
        let m = kernel.manifest;
        let description = format!("{} {}, {}, {}", m.name, m.version, m.language.name(), m.license);
        entry!(m.id, description, "version": m.version, "license": m.license, "source": m.source,
            "language": m.language.name(), "cores": m.cores, "settings": m.settings,
            "time_bases": m.time_bases)
    };
    kernels.into_iter().map(entry).collect()
}

/// Lists the scenarios; the points of a curve share one entry.
fn scenarios(catalogue: &Catalogue) -> Vec<Entry> {
    let entry = |s: &rtmark_model::Scenario| {
        let curve = s.point.as_ref().map(|point| {
            let all = catalogue.scenarios().iter().filter_map(|s| s.point.as_ref());
            let own = all.filter(|other| other.curve == point.curve).map(|other| other.n);
            (point.of.as_str(), own.collect::<Vec<_>>())
        });
        let mut entry = entry!(s.in_firmware(), s.answers, "span": s.span, "samples": s.samples,
            "budget_ms": s.budget_ms, "equal": s.equal);
        entry.details = vec![
            format!("from {}", s.span.from),
            format!("to {}", s.span.to),
            format!(
                "switches {}, ticks {}, interrupts {}",
                s.span.switches, s.span.ticks, s.span.interrupts
            ),
        ];
        if let Some((of, points)) = curve {
            let counts: Vec<_> = points.iter().map(ToString::to_string).collect();
            entry.details.push(format!("N {of}: {}", counts.join(" ")));
            entry.more.insert("grows".into(), serde_json::json!(of));
            entry.more.insert("points".into(), serde_json::json!(points));
        }
        entry.details.extend(s.equal.iter().map(|row| format!("equal to {row}")));
        if let Some(reason) = &s.no_multiple {
            entry.details.push(format!("no multiple of the floor: {reason}"));
            entry.more.insert("no_multiple".into(), serde_json::json!(reason));
        }
        entry
    };
    let first = |s: &&rtmark_model::Scenario| {
        let of = |other: &&rtmark_model::Scenario| other.in_firmware() == s.in_firmware();
        catalogue.scenarios().iter().find(of).is_some_and(|first| first.id == s.id)
    };
    catalogue.scenarios().iter().filter(first).map(entry).collect()
}

fn published(catalogue: &Catalogue) -> Result<rtmark_import::Published, CliError> {
    rtmark_import::published(catalogue, env!("CARGO_PKG_VERSION"))
        .map_err(|error| CliError::new(Exit::Internal, error, "report this as a bug in rtmark"))
}

fn published_table(catalogue: &Catalogue) -> Result<String, CliError> {
    let published = published(catalogue)?;
    let mut text = rtmark_report::imported(&published.times.answers, catalogue, output::width());
    text.push_str("\nfigures other than times\n");
    for other in &published.others {
        let rtmark_import::OtherFigure { kernel, board, row, value, unit, source } = other;
        let _ = writeln!(text, "{kernel} on {board}: {row} {value} {unit} ({source})");
    }
    Ok(text)
}

fn published_entries(catalogue: &Catalogue) -> Result<Vec<Entry>, CliError> {
    let published = published(catalogue)?;
    let times = published.times.answers.iter().filter_map(rtmark_model::Answer::series);
    let times = times.filter_map(|series| {
        let source = series.provenance.log.as_ref()?;
        let equal = catalogue.equal_to(source.suite, &source.row);
        let equal = equal.map(|(scenario, row)| (scenario.id.as_str(), row.times.get()));
        let key = &series.key;
        let description = format!("{} {} on {}", key.kernel, key.version, key.soc);
        Some(entry!(source.row, description, "suite": source.suite, "source": source.file,
            "equal": equal.map(|(id, _)| id), "times": equal.map(|(_, times)| times),
            "near": source.near, "kernel": key.kernel, "version": key.version, "board": key.soc,
            "core": series.provenance.core, "clock_hz": series.clock, "basis": series.basis,
            "figures": series.readings, "span": series.span, "facts": series.facts,
            "flags": series.flags))
    });
    let others = published.others.iter().map(|other| {
        let description = format!("{} on {}", other.kernel, other.board);
        entry!(other.row, description, "source": other.source, "value": other.value,
            "unit": other.unit)
    });
    Ok(times.chain(others).collect())
}

fn socs() -> Result<Vec<Entry>, CliError> {
    let entry = |file: socs::SocFile| {
        let soc = file.soc;
        let (timing, scores) = (soc.timing_basis(), own_scores(&soc));
        let timer = soc.timer().map(|timer| timer.name.as_str());
        let time_base = timer.map_or_else(String::new, |name| format!("; time base: {name}"));
        let description = format!("{}{time_base}; timing: {timing}", soc.description);
        let rtmark_sim::TimingBasis { core, memory, exceptions } = timing;
        let basis = serde_json::json!({ "core": core.name(), "memory": memory.name(),
            "exceptions": exceptions.name() });
        let mut entry = entry!(soc.name, description, "core": soc.core.name(),
            "revision": soc.revision.map(|revision| revision.to_string()), "clock_hz": soc.clock,
            "time_base": timer, "timing": basis, "scores": scores, "sha256": file.sha256);
        entry.details = scores;
        entry
    };
    Ok(socs::builtin()?.into_iter().map(entry).collect())
}

fn machines() -> Result<Vec<Entry>, CliError> {
    let entry = |file: MachineFile| {
        let machine = file.machine;
        entry!(machine.name, machine.description, "core": file.target.core,
            "emulator": machine.emulator.program(), "machine": machine.machine,
            "sha256": file.sha256)
    };
    Ok(rtmark_runner::machines::builtin()?.into_iter().map(entry).collect())
}

fn boards() -> Result<Vec<Entry>, CliError> {
    let entry = |file: BoardFile| {
        let board = file.board;
        let uart = board.console.map(|console| console.uart);
        entry!(board.name, board.description, "soc": board.soc, "core": file.soc.soc.core.name(),
            "chip": board.chip, "clock_hz": board.clock_hz, "uart": uart, "sha256": file.sha256)
    };
    Ok(rtmark_runner::boards::builtin()?.into_iter().map(entry).collect())
}

/// Describes the timing scores that were measured on a soc itself, if any.
fn own_scores(soc: &Soc) -> Vec<String> {
    soc.core.scores().iter().filter(|score| score.chip == soc.name).map(format_score).collect()
}

fn format_score(score: &Score) -> String {
    let share = |thousandths: u16| f64::from(thousandths) / 10.0;
    let (exact, within) = (share(score.exact), share(score.within_one));
    let Score { chip, code, setting, .. } = score;
    let comma = if setting.is_empty() { "" } else { ", " };
    format!("{chip} {code}{comma}{setting}: {exact} % exact, {within} % within 1")
}

fn cores() -> Vec<Entry> {
    let entry = |core: &CoreKind| {
        let scores = core.scores().iter().map(|score| format!("; {}", format_score(score)));
        let description = format!(
            "{}; timing {}{}",
            core.architecture(),
            core.timing_basis(),
            scores.collect::<String>()
        );
        entry!(core, description, "architecture": core.architecture(), "timing": core.timing_basis())
    };
    CoreKind::ALL.iter().map(entry).collect()
}

/// Formats names and descriptions, folding lines that are wider than `width`. Descriptions of kernels and
/// scenarios may be somebody's own, so they may not break lines or control a terminal.
fn table(entries: &[Entry], detailed: bool, width: usize) -> String {
    let widest = entries.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let line = |entry: &Entry| {
        let mut text = String::new();
        let mut name = entry.id.as_str();
        let description = one_line(&entry.description);
        for part in rtmark_report::lines(&description, width.saturating_sub(widest + 2)) {
            let _ = writeln!(text, "{name:widest$}  {part}");
            name = "";
        }
        for detail in entry.details.iter().filter(|_| detailed) {
            let room = width.saturating_sub(widest + 6);
            let detail = one_line(detail);
            for (index, part) in rtmark_report::lines(&detail, room).into_iter().enumerate() {
                let indent = if index == 0 { "" } else { "  " };
                let _ = writeln!(text, "{:widest$}    {indent}{part}", "");
            }
        }
        text
    };
    entries.iter().map(line).collect::<Vec<_>>().concat()
}
