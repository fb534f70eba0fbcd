//! `rtmark study`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use rtmark_firmware::{Kernel, Variant, chosen};
use rtmark_model::{Answer, Basis, Catalogue};
use rtmark_runner::{Plan, Platform, Suite, Unit, input_file, machines, socs};
use rtmark_store::Store;
use rtmark_study::{
    Document, Figures, InterruptExtremes, Report, Run, RunTarget, SCHEMA_VERSION, Study, StudyRun,
    scoreboard,
};
use rtmark_worst::{Aspect, Control, Findings, Latencies, Reach, Share, search};

use super::run::{RunRecorder, command_line, show_failures, suite};
use super::worst::{INJECTED, SearchOptions, Subject, Workload};
use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::progress::Progress;
use crate::shelf::{self, StoreFlag};
use crate::sources::{FoundSources, Sources};
use crate::tools::refuse_without_tools;

/// Reproduce published figures, and explain the differences
///
/// A study consists of published figures, the runs that reproduce them, and explanations whose
/// numbers are measured as well. A line that starts with `!` reports a condition of an explanation
/// that does not hold with this compiler or kernel. With --all, a table of every published figure
/// comes last. A ratio of measured to published that leaves its expected band is a regression.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark study --list
  rtmark study prime-async
  rtmark study event-vs-queue preempt-response --format json
  rtmark study --all --out docs/studies
  rtmark study validation --out docs

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Studies, by name or path of a study file
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "list"])]
    name: Vec<String>,
    /// Run all studies
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// List the studies
    #[arg(long, conflicts_with_all = ["name", "all", "out"])]
    list: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Folder in which to write a page with pictures and data for each study
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFlag,
    /// Measure again even if the store has results of exactly this firmware, soc and simulator
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text tables
    Text,
    /// JSON: docs/schema/study.schema.json; with --list, an array of objects with `id` and `question`
    Json,
    /// GitHub Markdown
    Md,
}

/// The tools and sources of a measurement.
struct Bench<'a> {
    catalogue: &'a Catalogue,
    kernels: &'a [Kernel],
    suite: &'a Suite,
    store: &'a Store,
    fresh: bool,
    verbosity: Verbosity,
}

/// A run that is ready to be measured.
struct Prepared<'a> {
    run: &'a Run,
    unit: Unit,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let studies = rtmark_study::builtin().map_err(study_bug)?;
        let boards = rtmark_study::against_boards().map_err(study_bug)?;
        let known: Vec<Study> = studies.iter().cloned().chain([boards]).collect();
        if self.list {
            output::data(&list(&known, self.format)?)?;
            return Ok(Exit::Fine);
        }
        let mut wanted: Vec<Study> = Vec::new();
        for name in &self.name {
            wanted.push(named(&known, name)?);
        }
        if self.all {
            wanted = studies;
        }
        if let Some(folder) = &self.out {
            std::fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
        }
        let config = Config::load()?;
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&config)?;
        let FoundSources { tree, kernels, catalogue } =
            with_study_kernels(FoundSources { tree, kernels, catalogue })?;
        let suite = suite(tree, None);
        let store = self.store.open(&config)?;
        let (catalogue, kernels, suite, store) = (&catalogue, &kernels, &suite, &store);
        let bench = Bench { catalogue, kernels, suite, store, fresh: self.fresh, verbosity };
        let (mut reports, mut exit) = (Vec::new(), Exit::Fine);
        for study in wanted {
            if !verbosity.quiet {
                say(format!("running study {}", study.id));
            }
            let (report, one) = bench.report(&study)?;
            for (explained, broken) in report.failed_conditions() {
                say(format!(
                    "{}: the condition `{}` of this explanation does not hold: {}",
                    study.id, broken.condition, explained.title
                ));
            }
            let mut one = one;
            for score in report.out_of_band() {
                let problem = match score.ratio {
                    Some(_) => "the ratio of measured to published is outside its band",
                    None => "the figure has no value, so that its band says nothing",
                };
                say(format!("{}: {}: {problem}", study.id, score.what));
                one = if one == Exit::Fine { Exit::Regression } else { one };
            }
            if let Some(folder) = &self.out {
                write(folder, &report)?;
            }
            exit = if exit == Exit::Fine { one } else { exit };
            reports.push(report);
        }
        let board = self.all.then(|| scoreboard(&reports));
        if let (Some(folder), Some(board)) = (&self.out, &board) {
            let path = folder.join("scoreboard.md");
            std::fs::write(&path, board).map_err(|error| write_error(&path, &error))?;
        }
        let board = board.filter(|_| self.format != Format::Json).unwrap_or_default();
        output::data(&(render(reports, self.format)? + &board))?;
        Ok(exit)
    }
}

/// Adds old kernel versions and other kernels that only studies measure, and their scenarios.
fn with_study_kernels(found: FoundSources) -> Result<FoundSources, CliError> {
    let past = found.tree.root().join("studies");
    if !past.is_dir() {
        return Ok(found);
    }
    let tree = found.tree.with_own(std::slice::from_ref(&past))?;
    let kernels = tree.kernels()?;
    let mut catalogue = found.catalogue;
    for (file, text) in tree.own_scenarios()? {
        if Path::new(&file).starts_with(&past) {
            catalogue.add_own(&file, &text)?;
        }
    }
    Ok(FoundSources { tree, kernels, catalogue })
}

fn study_bug(error: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
}

/// Finds a study by its name or the path of its file.
fn named(studies: &[Study], name: &str) -> Result<Study, CliError> {
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = input_file::read_text(path).map_err(|error| {
            CliError::new(Exit::Usage, format!("{}: {error}", path.display()), "check the path")
        })?;
        return Study::from_toml(name, &text).map_err(|error| {
            let hint = "correct the file; the files in data/studies/ show every key";
            CliError::new(Exit::Usage, error, hint)
        });
    }
    let found = studies.iter().find(|study| study.id == name);
    found.cloned().ok_or_else(|| {
        let near = or_nearest(name, studies.iter().map(|study| study.id.as_str()));
        let message = format!("no study is called `{}`{near}", name.escape_debug());
        CliError::new(Exit::NothingSelected, message, "`rtmark study --list` lists the studies")
    })
}

fn list(studies: &[Study], format: Format) -> Result<String, CliError> {
    let rows = studies.iter().map(|study| (study.id.as_str(), study.question.as_str()));
    Ok(match format {
        Format::Text => {
            rows.map(|(id, question)| format!("{id:18}{question}\n")).collect::<Vec<_>>().concat()
        }
        Format::Md => rows
            .map(|(id, question)| format!("- `{id}`: {question}\n"))
            .collect::<Vec<_>>()
            .concat(),
        Format::Json => {
            let rows: Vec<_> = rows
                .map(|(id, question)| serde_json::json!({ "id": id, "question": question }))
                .collect();
            output::json(&rows)?
        }
    })
}

fn document(studies: Vec<Report>) -> Document {
    Document { schema_version: SCHEMA_VERSION, generator: GENERATOR.to_owned(), studies }
}

fn render(reports: Vec<Report>, format: Format) -> Result<String, CliError> {
    let width = output::width();
    let joined = |texts: Vec<String>| texts.join("\n");
    Ok(match format {
        Format::Json => output::json(&document(reports))?,
        Format::Text => joined(reports.iter().map(|report| report.text(width)).collect()),
        Format::Md => joined(reports.iter().map(|report| report.page(GENERATOR).0).collect()),
    })
}

fn write_error(path: &Path, error: &std::io::Error) -> CliError {
    CliError::write_error(path, error, "give a folder that you may write to")
}

/// Writes a report's page, pictures and data.
fn write(folder: &Path, report: &Report) -> Result<(), CliError> {
    let (page, mut files) = report.page(GENERATOR);
    files.push((format!("{}.md", report.id), page));
    files.push((format!("{}.json", report.id), output::json(&document(vec![report.clone()]))?));
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| write_error(&path, &error))?;
    }
    Ok(())
}

impl Bench<'_> {
    /// Runs a study.
    fn report(&self, study: &Study) -> Result<(Report, Exit), CliError> {
        let prepared: Result<Vec<_>, _> =
            study.run.iter().map(|run| self.prepared(study, run)).collect();
        let prepared = prepared?;
        let mut figures = Figures::default();
        let mut made = BTreeMap::new();
        let mut exit = Exit::Fine;
        for on in [RunTarget::Sim, RunTarget::SimInstructions, RunTarget::Qemu] {
            let mine: Vec<_> = prepared.iter().filter(|one| one.run.on == on).collect();
            let units = mine.iter().map(|one| one.unit.clone()).collect();
            let plan = Plan::of_units(units, self.catalogue);
            if plan.units.is_empty() {
                continue;
            }
            let answers = self.measure(&plan)?;
            let failed = show_failures(&answers);
            exit = if exit == Exit::Fine { failed } else { exit };
            for one in mine {
                for (alias, scenario) in &one.run.scenarios {
                    let name = format!("{}.{alias}", one.run.name);
                    let wanted = one.unit.scenarios.iter().find(|(known, _)| known.id == *scenario);
                    let key = wanted.map(|(scenario, _)| one.unit.key(scenario));
                    let answer = answers.iter().find(|answer| Some(answer.key()) == key.as_ref());
                    if let Some(answer) = answer {
                        figures.answer(&name, answer);
                        made.insert(name.clone(), StudyRun::new(&name, answer));
                    }
                }
            }
        }
        for one in &prepared {
            self.attribute(one, &mut figures);
            self.interrupt(one, &mut figures)?;
        }
        let in_order = study
            .run
            .iter()
            .flat_map(|run| run.scenarios.keys().map(|alias| format!("{}.{alias}", run.name)));
        let runs = in_order.filter_map(|name| made.remove(&name)).collect();
        Ok((Report::new(study, figures, runs).map_err(study_bug)?, exit))
    }

    fn prepared<'a>(&self, study: &Study, run: &'a Run) -> Result<Prepared<'a>, CliError> {
        let platform = match (run.on, study.derived(&run.soc)) {
            (RunTarget::Qemu, _) => Platform::from(machines::find(&run.soc)?),
            (on, derived) => {
                let file = match derived {
                    None => socs::find(&run.soc)?,
                    Some(derived) => {
                        let base = socs::find(&derived.of)?;
                        let text = derived.text(&base.text).map_err(|problem| {
                            let hint = "`write` replaces first writes of the soc that it names with `of`: give their \
                                        addresses, as the soc's file has them under [[init]]";
                            let message = format!("study {}: soc {}: {problem}", study.id, derived.name);
                            CliError::new(Exit::Usage, message, hint)
                        })?;
                        socs::from_text(&derived.name, &text)?
                    }
                };
                let counted =
                    if on == RunTarget::Sim { Basis::Cycles } else { Basis::Instructions };
                Platform::Sim(Box::new(file), counted)
            }
        };
        let kernel = self.kernels.iter().find(|kernel| kernel.manifest.id == run.kernel);
        let kernel = kernel.ok_or_else(|| {
            let known = self.kernels.iter().map(|kernel| kernel.manifest.id.as_str());
            let near = or_nearest(run.kernel.as_str(), known);
            let message = format!(
                "study {}: run {}: no kernel is called `{}`{near}",
                study.id, run.name, run.kernel
            );
            let hint = "`rtmark list kernels` shows the names; --own adds kernels of your own";
            CliError::new(Exit::NothingSelected, message, hint)
        })?;
        let mut variant = match &run.profile {
            Some(profile) => profile.parse()?,
            None => Variant::default(),
        };
        for setting in &run.settings {
            let (id, value) = chosen(setting)?;
            variant = variant.with(id, value);
        }
        let mut scenarios = Vec::new();
        for id in run.scenarios.values() {
            let found = self.catalogue.scenarios().iter().find(|scenario| scenario.id == *id);
            scenarios.push(found.ok_or_else(|| {
                let known = self.catalogue.scenarios().iter().map(|scenario| scenario.id.as_str());
                let near = or_nearest(id.as_str(), known);
                let message = format!(
                    "study {}: run {}: no scenario is called `{id}`{near}",
                    study.id, run.name
                );
                let hint =
                    "`rtmark list scenarios` shows the names; --own adds scenarios of your own";
                CliError::new(Exit::NothingSelected, message, hint)
            })?);
        }
        Ok(Prepared { run, unit: Unit::new(kernel, &platform, &variant, scenarios) })
    }

    /// Measures a plan, recalling known answers, and stores the results.
    fn measure(&self, plan: &Plan) -> Result<Vec<Answer>, CliError> {
        refuse_without_tools(&self.suite.builder, plan)?;
        let revision = shelf::commit_here().or_else(|| self.suite.builder.tree().commit());
        let run = self.store.begin(&command_line(), &self.suite.rtmark, revision.as_deref())?;
        let observer = RunRecorder::new(self.store, run, self.verbosity);
        let mut observer = if self.fresh { observer.fresh() } else { observer };
        let answers = self.suite.run(plan, &mut observer)?;
        observer.finish()?;
        Ok(answers)
    }

    /// Attributes the cycles of the scenarios for which the study asks for it.
    fn attribute(&self, one: &Prepared<'_>, figures: &mut Figures) {
        let (names, unit) = part(one, &one.run.attribute);
        if names.is_empty() {
            return;
        }
        let mut progress = Progress::new(self.verbosity);
        let plan = Plan::of_units(vec![unit], self.catalogue);
        let explained = self.suite.explain(&plan, &mut progress);
        progress.finish();
        for (name, explained) in names.iter().zip(explained) {
            // A failure has already been reported by the run without an observer.
            if let Ok(explained) = explained {
                figures.cost(name, explained.cost);
            }
        }
    }

    /// Interrupts scenarios at every moment, if the study asks for it.
    fn interrupt(&self, one: &Prepared<'_>, figures: &mut Figures) -> Result<(), CliError> {
        let (names, unit) = part(one, &one.run.interrupt);
        if names.is_empty() {
            return Ok(());
        }
        let subjects = Subject::of_unit(&self.suite.builder, &unit, Workload::Scenarios)?;
        for subject in subjects {
            let name = names.iter().zip(&unit.scenarios).find_map(|(name, (scenario, _))| {
                (Some(&scenario.id) == subject.scenario.as_ref()).then_some(name)
            });
            let Some(name) = name else { continue };
            if !self.verbosity.quiet {
                say(format!("interrupting {} at every moment", subject.name()));
            }
            let options = SearchOptions {
                interrupt: INJECTED.into(),
                priority: None,
                above: false,
                second: None,
                reach: Reach::Whole,
                window: None,
                whole_run: false,
                woken: None,
                budget: 20 * u64::from(subject.soc.soc.clock.0),
            };
            let (path, _) = subject.path(&options)?;
            let cancelled = AtomicBool::new(false);
            let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
            let findings = search(&path, &control, Findings::default(), |_| {})
                .map_err(|error| subject.internal_error(&error))?;
            let of = |aspect| {
                let found = findings.aspect(aspect)?;
                Some((Latencies::least(found)?, Latencies::worst(found)?.cycles))
            };
            if let (Some(handler), Some(delay)) = (of(Aspect::Handler), of(Aspect::Delay)) {
                figures.interrupted(name, InterruptExtremes { handler, delay });
            }
        }
        Ok(())
    }
}

/// Returns the scenarios of a run with these aliases: their names in figures, and a unit that runs them.
fn part(one: &Prepared<'_>, aliases: &std::collections::BTreeSet<String>) -> (Vec<String>, Unit) {
    let Prepared { run, unit } = one;
    let mut names = Vec::new();
    let mut scenarios = Vec::new();
    for alias in aliases {
        let id = run.scenarios.get(alias);
        let found = unit.scenarios.iter().find(|(scenario, _)| Some(&scenario.id) == id);
        if let Some(scenario) = found {
            names.push(format!("{}.{alias}", run.name));
            scenarios.push(scenario.clone());
        }
    }
    (names, Unit { scenarios, ..unit.clone() })
}
