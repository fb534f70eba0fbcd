//! `rtmark why`

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use rtmark_firmware::{DEFAULT_PROFILE, Variant};
use rtmark_model::{Answer, Catalogue, Key, Pattern, Span};
use rtmark_observe::{Difference, Part, Role, Row, Share, SpanCost};
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{Explanation, ForeignImage, Plan, Selection, Suite};
use rtmark_units::Cycles;
use serde::Serialize;

use super::columns::Images;
use super::run::{show_failures, suite};
use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::progress::{self, Progress};
use crate::sources::{FoundSources, Sources};
use crate::tools::refuse_without_tools;

/// Explain the difference between two kernels' figures, function by function
///
/// Both scenarios run again with an observer. The cycles of each series' typical sample (the first
/// steady one as long as the median) are split among the functions that executed in it, exception
/// entries and returns, and sleep; the parts add up exactly to the sample's cycles.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark why freertos embassy --scenario thread.yield --soc stm32c031
  rtmark why floor:workload.prime.single embassy:workload.prime.single
  rtmark why freertos:queue.handover freertos:queue.handover@stm32f405 --soc stm32c031
  rtmark why freertos zephyr -s semaphore.give.immediate --image zephyr=lat.elf --soc stm32f405

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// First series: a kernel, optionally with a scenario and soc that override the options
    #[arg(value_name = "KERNEL[:SCENARIO][@SOC]")]
    a: String,
    /// Second series
    #[arg(value_name = "KERNEL[:SCENARIO][@SOC]")]
    b: String,
    /// Scenario of both series
    #[arg(short, long)]
    scenario: Option<String>,
    /// Soc of both series [default: the first soc of the default suite]
    #[arg(long, value_name = "SOC")]
    soc: Option<String>,
    /// Build profile, optionally with settings, as in `product+opt=3`
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: Variant,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Cycles after which to give up on a scenario [default: the catalogue's budget]
    #[arg(long, value_name = "N", value_parser = super::sim::cycles)]
    max_cycles: Option<u64>,
    #[command(flatten)]
    images: Images,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text table, and the main cause in a sentence
    Text,
    /// JSON: docs/schema/why.schema.json
    Json,
}

/// The version of [`Document`].
const SCHEMA_VERSION: u32 = 1;

/// The output of `rtmark why --format json`. Fields may be added; `schema_version` increases when one
/// changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    schema_version: u32,
    /// The program that wrote it, with its version.
    generator: &'static str,
    /// The first series.
    a: Side<'a>,
    /// The second series.
    b: Side<'a>,
    /// Whether the spans are equal, so that the figures can be compared.
    spans_are_equal: bool,
    /// The difference between the two, the largest contributions first.
    difference: &'a Difference,
}

/// A series, and what its typical sample was spent on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Side<'a> {
    /// What it is of.
    key: &'a Key,
    /// The events between which it is timed.
    span: &'a Span,
    /// The version of the timing rules.
    timing_model: &'static str,
    /// SHA-256 of the firmware.
    elf_sha256: &'a str,
    /// Which sample is explained, counted from 0.
    sample: u64,
    /// When the sample began, in cycles since reset.
    began: u64,
    /// What the sample was spent on.
    cost: &'a SpanCost,
}

impl<'a> Side<'a> {
    fn of(explained: &'a Explanation) -> Self {
        let series = &explained.series;
        Self {
            key: &series.key,
            span: &series.span,
            timing_model: rtmark_sim::TIMING_MODEL,
            elf_sha256: &series.provenance.firmware.elf_sha256,
            sample: explained.sample,
            began: explained.began.0,
            cost: &explained.cost,
        }
    }
}

/// One series as the user named it.
struct SeriesName<'a> {
    kernel: &'a str,
    scenario: &'a str,
    soc: Option<&'a str>,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let series_names = [self.parse_series_name(&self.a)?, self.parse_series_name(&self.b)?];
        // Check both names before anything is built.
        for SeriesName { kernel, scenario, .. } in &series_names {
            exact(kernel)?;
            exact(scenario)?;
        }
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&Config::load()?)?;
        let images = self.images.read(&[])?;
        let suite = suite(tree, self.max_cycles.map(Cycles));
        let mut explained = Vec::new();
        for SeriesName { kernel, scenario, soc } in series_names {
            let soc = match soc {
                Some(name) => socs::find(name)?,
                None => first_soc()?,
            };
            if let Some(image) = images.iter().find(|image| image.name.as_str() == kernel) {
                self.images.check(&soc)?;
                explained.push(explain_image(
                    image,
                    &soc,
                    scenario,
                    (&catalogue, &suite),
                    verbosity,
                )?);
                continue;
            }
            let (kernels_asked, scenarios) = (vec![exact(kernel)?], vec![exact(scenario)?]);
            let selection = Selection { kernels: kernels_asked, scenarios };
            let profiles = std::slice::from_ref(&self.profile);
            let plan = Plan::new(&catalogue, &kernels, &[soc.into()], profiles, &selection)?;
            refuse_without_tools(&suite.builder, &plan)?;
            let mut progress = Progress::new(verbosity);
            explained.extend(suite.explain(&plan, &mut progress));
            progress.finish();
        }
        let mut sides = Vec::new();
        for side in explained {
            match side {
                Ok(side) => sides.push(side),
                Err(Answer::NotApplicable { key, reason }) => {
                    let message = format!("{} has no {}: {reason}", key.kernel, key.scenario);
                    let hint = "`rtmark run` shows which scenarios a kernel or an image supports";
                    return Err(CliError::new(Exit::NothingSelected, message, hint));
                }
                Err(answer) => return Ok(show_failures(&[answer])),
            }
        }
        let [a, b] = &sides[..] else {
            let message = format!("{} series instead of two", sides.len());
            return Err(CliError::new(Exit::Internal, message, "report this as a bug in rtmark"));
        };
        let names = names(&a.series.key, &b.series.key);
        let difference = Difference::between((&names[0], &a.cost), (&names[1], &b.cost));
        let spans_are_equal = a.series.span == b.series.span;
        match self.format {
            Format::Json => {
                let document = Document {
                    schema_version: SCHEMA_VERSION,
                    generator: GENERATOR,
                    a: Side::of(a),
                    b: Side::of(b),
                    spans_are_equal,
                    difference: &difference,
                };
                output::data(&output::json(&document)?)?;
            }
            Format::Text => {
                output::data(&text(&names, [&a.cost, &b.cost], &difference))?;
                if !spans_are_equal {
                    let bounds = |one: &Explanation| {
                        let span = &one.series.span;
                        format!("from {} to {}", span.from, span.to)
                    };
                    let (one, other) = (bounds(a), bounds(b));
                    say(format!(
                        "warning: the spans differ, so the figures are not comparable: {one}; {other}"
                    ));
                }
            }
        }
        Ok(Exit::Fine)
    }

    /// Parses `kernel[:scenario][@soc]`.
    fn parse_series_name<'a>(&'a self, text: &'a str) -> Result<SeriesName<'a>, CliError> {
        let (rest, soc) = match text.rsplit_once('@') {
            Some((rest, soc)) => (rest, Some(soc)),
            None => (text, self.soc.as_deref()),
        };
        let (kernel, scenario) = match rest.split_once(':') {
            Some((kernel, scenario)) => (kernel, Some(scenario)),
            None => (rest, self.scenario.as_deref()),
        };
        let scenario = scenario.ok_or_else(|| {
            let hint =
                format!("write {kernel}:SCENARIO, or give a scenario for both with --scenario");
            CliError::new(Exit::Usage, format!("`{text}` does not name a scenario"), hint)
        })?;
        Ok(SeriesName { kernel, scenario, soc })
    }
}

fn first_soc() -> Result<SocFile, CliError> {
    let first = socs::suite()?.into_iter().next();
    first.ok_or_else(|| {
        CliError::new(Exit::Usage, "the default suite has no soc", "give one with --soc")
    })
}

/// Explains the calls in an image that correspond to a scenario.
fn explain_image(
    image: &ForeignImage,
    soc: &SocFile,
    scenario: &str,
    (catalogue, suite): (&Catalogue, &Suite),
    verbosity: Verbosity,
) -> Result<Result<Explanation, Answer>, CliError> {
    let exact = exact(scenario)?;
    let known = catalogue.scenarios().iter().find(|known| exact.matches(known.id.as_str()));
    let known = known.ok_or_else(|| {
        let hint = "`rtmark list scenarios` shows the names";
        CliError::new(Exit::NothingSelected, format!("no scenario is called `{scenario}`"), hint)
    })?;
    let options = rtmark_runner::ColumnOptions {
        catalogue,
        scenarios: &[],
        max_cycles: suite.max_cycles,
        rtmark: &suite.rtmark,
        rtmark_sha256: suite.rtmark_sha256.as_deref(),
    };
    let bar = progress::bar(verbosity, format!("{} on {}", image.name, soc.soc.name));
    let explained = image.explain(soc, &options, known, |Cycles(now), Cycles(limit)| {
        bar.set_length(limit);
        bar.set_position(now.min(limit));
    });
    bar.finish_and_clear();
    Ok(explained.map_err(|answer| *answer))
}

/// Parses a name that must not be a pattern.
fn exact(name: &str) -> Result<Pattern, CliError> {
    let hint = "exactly two series are compared: give full names, as `rtmark list` shows them";
    if name.contains(['*', '?', '{', '[']) {
        return Err(CliError::new(Exit::Usage, format!("`{name}` is a pattern"), hint));
    }
    name.parse().map_err(|error| CliError::new(Exit::Usage, error, hint))
}

/// Names the two series by what distinguishes them.
fn names(a: &Key, b: &Key) -> [String; 2] {
    let name = |key: &Key| {
        let mut name = key.kernel.to_string();
        if a.scenario != b.scenario {
            let _ = write!(name, ":{}", key.scenario);
        }
        if a.soc != b.soc {
            let _ = write!(name, "@{}", key.soc);
        }
        name
    };
    [name(a), name(b)]
}

/// How many functions of a role the table names for each side.
const SHOWN: usize = 6;

/// A line of the table: its cells, and the function or role that they describe.
struct Line {
    cells: Vec<String>,
    what: String,
}

const HEADS: [&str; 5] = ["cycles", "with callees", "stalls", "instructions", "calls"];

fn cells(share: Share, inclusive: Option<u64>) -> [String; 5] {
    let some = |number: u64| if number == 0 { String::new() } else { number.to_string() };
    [
        share.cycles.to_string(),
        inclusive.map_or_else(String::new, |cycles| cycles.to_string()),
        some(share.stalled_cycles),
        share.instructions.to_string(),
        some(share.calls),
    ]
}

const NO_CELLS: [String; 5] = [const { String::new() }; 5];

fn part_of<'a>(cost: &'a SpanCost, role: Role, function: &str) -> Option<&'a Part> {
    cost.parts.iter().find(|part| part.role == role && part.function == function)
}

fn row_lines(row: &Row, costs: [&SpanCost; 2], lines: &mut Vec<Line>) {
    let sides = [(row.a, &row.functions_a), (row.b, &row.functions_b)];
    let inclusive = |side: usize| row.inclusive.map(|both| if side == 0 { both.a } else { both.b });
    let mut all = vec![format!("{:+}", row.difference())];
    for (side, (share, functions)) in sides.iter().enumerate() {
        let absent = functions.is_empty();
        all.extend(if absent { NO_CELLS } else { cells(*share, inclusive(side)) });
    }
    let what = match &row.function {
        Some(function) if matches!(row.role, Role::Thread) => function.clone(),
        Some(function) => format!("{function}  ({})", row.role),
        None => row.role.to_string(),
    };
    lines.push(Line { cells: all, what });
    if row.function.is_some() {
        return;
    }
    for (side, (_, functions)) in sides.iter().enumerate() {
        for function in functions.iter().take(SHOWN) {
            let Some(part) = part_of(costs[side], row.role, function) else { continue };
            let own = cells(part.own, Some(part.inclusive_cycles));
            let mut all = vec![String::new()];
            all.extend(if side == 0 { own.clone() } else { NO_CELLS });
            all.extend(if side == 0 { NO_CELLS } else { own });
            lines.push(Line { cells: all, what: format!("  {function}") });
        }
        let more = functions.len().saturating_sub(SHOWN);
        if more > 0 {
            let what = format!("  and {}", output::count(more, "more function"));
            lines.push(Line { cells: vec![String::new(); 11], what });
        }
    }
}

/// Formats the table, followed by the main cause.
fn text(names: &[String; 2], costs: [&SpanCost; 2], difference: &Difference) -> String {
    let mut lines = Vec::new();
    let whole = i128::from(costs[0].whole.cycles) - i128::from(costs[1].whole.cycles);
    let mut all = vec![format!("{whole:+}")];
    for cost in costs {
        // The call count of a whole span carries no information.
        all.extend(cells(Share { calls: 0, ..cost.whole }, None));
    }
    lines.push(Line { cells: all, what: "the whole span".to_owned() });
    for row in &difference.rows {
        row_lines(row, costs, &mut lines);
    }

    let heads: Vec<&str> = std::iter::once("difference").chain(HEADS).chain(HEADS).collect();
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let longest = lines.iter().map(|line| line.cells[at].len()).max().unwrap_or(0);
            longest.max(head.len())
        })
        .collect();
    let gap = |at: usize| if at == 1 || at == 6 { 3 } else { 2 };
    let room = |from: usize| (from..from + 5).map(|at| widths[at] + gap(at)).sum::<usize>();
    let mut text = format!("{:1$}", "", widths[0]);
    for (name, from) in names.iter().zip([1, 6]) {
        let _ = write!(text, "{:>1$}", name, room(from));
    }
    text.push('\n');
    let heading =
        Line { cells: heads.iter().map(|head| (*head).to_owned()).collect(), what: String::new() };
    for line in std::iter::once(&heading).chain(&lines) {
        let mut row = String::new();
        for (at, cell) in line.cells.iter().enumerate() {
            let before = if at == 0 { 0 } else { gap(at) };
            let _ = write!(row, "{:before$}{cell:>1$}", "", widths[at]);
        }
        let _ = writeln!(text, "{}", format!("{row}   {}", line.what).trim_end());
    }
    let _ = write!(text, "\n{}\n", difference.cause);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("why", &schemars::schema_for!(Document<'_>));
    }
}
