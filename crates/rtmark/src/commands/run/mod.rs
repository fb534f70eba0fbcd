//! `rtmark run`

mod part;
mod recorder;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rtmark_firmware::{Builder, DEFAULT_PROFILE, Tree, Variant, VariantError, chosen};
use rtmark_model::{Answer, Basis, Catalogue, Pattern};
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{
    ColumnOptions, ForeignImage, Placements, Plan, Platform, Selection, Suite, machines,
};
use rtmark_store::Store;
use rtmark_units::{Cycles, Share};

pub use part::{RunPart, join};
pub use recorder::RunRecorder;
use recorder::Tables;

use super::columns::{self, Images};
pub(super) use super::failures::show_failures;
use crate::boards::{self, BoardFlags, ClockedOutput, Recorder};
use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::shelf::{self, StoreFlag};
use crate::sources::{FoundSources, Sources};
use crate::tools::refuse_without_tools;

/// Build kernels' firmware, run scenarios on it, and show and store what they cost
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark run --kernel freertos --scenario 'queue.*' --soc stm32f405
  rtmark run --image zephyr=lat.elf --image threadx=tm.elf --kernel freertos --soc stm32f405
  rtmark run --backend sim --clocked --soc stm32f405        simulate the firmware of a board
  rtmark run --partition 2/8 --state part2.run              measure the share of one of 8 computers
  rtmark run --backend board --soc stm32c031 --port /dev/ttyACM0 \\
      --load 'probe-rs download --chip STM32C031C6Tx {elf} && probe-rs reset --chip STM32C031C6Tx'
  rtmark run --backend board --from session.jsonl           read the recording of a board

--backend board has not been tried with a real board yet: docs/boards.md describes what is tested
without one.

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Kernels, by name or pattern [default: `kernel` under `[run]` in rtmark.toml, else all]
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern such as `semaphore.*` [default: `scenario` under `[run]` in
    /// rtmark.toml, else all]
    #[arg(short, long, value_name = "GLOB", num_args = 1..)]
    scenario: Vec<Pattern>,
    /// Socs, by name, pattern or path of a soc file; with --backend qemu, machines; with --backend
    /// board, a board, its soc or its file [default: `soc` under `[run]` in rtmark.toml, else the socs
    /// of the default suite]
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<String>,
    /// Where the firmware runs
    #[arg(long, value_enum, default_value_t = Runs::Sim)]
    backend: Runs,
    /// What to count [default: instructions on QEMU, else cycles]
    #[arg(long, value_enum)]
    basis: Option<Counts>,
    /// On the simulator, run firmware whose probes read a cycle counter, as on boards, and which
    /// prints this way [default: semihosting, if given without a value]
    #[arg(long, value_enum, value_name = "PRINTS", num_args = 0..=1, require_equals = true,
          default_missing_value = "semihosting")]
    clocked: Option<ClockedOutput>,
    #[command(flatten)]
    images: Images,
    #[command(flatten)]
    variants: Variants,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Name for the run, to refer to it later
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    store: StoreFlag,
    /// Measure again even if the store has results of exactly this firmware, soc and simulator
    #[arg(long)]
    fresh: bool,
    /// Also show other people's published figures, if spans and cores are equal
    #[arg(long)]
    published: bool,
    /// Also show figures imported by `rtmark import`, if spans and cores are equal
    #[arg(long)]
    imported: bool,
    /// Code layouts in which to measure each scenario, including the linker's own; the table shows the
    /// middle one and the range (docs/placement.md) [default: 9 if the simulator counts cycles (3 for
    /// curves and long scenarios), else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    placements: Option<u32>,
    /// Cycles after which to give up on a scenario [default: the catalogue's budget]
    #[arg(long, value_name = "N", value_parser = super::sim::cycles)]
    max_cycles: Option<u64>,
    /// Measure only part K of N, so that other computers can measure the others; see `rtmark merge`
    #[arg(long, value_name = "K/N", requires = "state", conflicts_with_all = [
        "image", "format", "name", "fresh", "published", "imported", "record", "from",
    ])]
    partition: Option<Share>,
    /// With --partition: file that keeps the part, instead of the store; an interrupted run resumes
    /// from it
    #[arg(long, value_name = "FILE", requires = "partition")]
    state: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    // Must be last: its help heading applies to all arguments after it.
    #[command(flatten)]
    board: BoardFlags,
}

/// How to build the firmware.
#[derive(Debug, Args)]
pub struct Variants {
    /// Build profiles, shown side by side if there are several: `product`, like a release, optimised
    /// and without checks; `documented`, as in the kernel's own examples; `checked`, with asserts and
    /// stack checks. Single settings may follow, as in `product+lto=off` [default: `profile` under
    /// `[run]` in rtmark.toml, else product]
    #[arg(long, value_name = "PROFILE", num_args = 1..)]
    profile: Vec<Variant>,
    /// Optimisation level in every profile: s for size, 2 or 3 for speed
    #[arg(long, value_name = "LEVEL")]
    opt: Option<String>,
    /// C compiler in every profile: gcc or clang
    #[arg(long, value_name = "COMPILER")]
    compiler: Option<String>,
    /// Settings to change in every profile, as in `time_slicing=off` (docs/settings.md)
    #[arg(long, value_name = "SETTING=VALUE", num_args = 1..)]
    set: Vec<String>,
}

impl Variants {
    /// Returns the variants, each once; without --profile, those of the configured profiles.
    pub fn resolve(&self, configured: &[String]) -> Result<Vec<Variant>, VariantError> {
        let profiles = match (self.profile.as_slice(), configured) {
            ([], []) => vec![Variant::profile(DEFAULT_PROFILE)],
            ([], configured) => {
                configured.iter().map(|text| text.parse()).collect::<Result<_, _>>()?
            }
            (requested, _) => requested.to_vec(),
        };
        let named = |id: &str, value: &Option<String>| value.as_ref().map(|v| format!("{id}={v}"));
        let mut all = self.set.clone();
        all.extend(named("opt", &self.opt));
        all.extend(named("compiler", &self.compiler));
        let mut variants: Vec<Variant> = Vec::new();
        for profile in profiles {
            let variant = all.iter().try_fold(profile, |variant, text| {
                let (id, value) = chosen(text)?;
                Ok(variant.with(id, value))
            })?;
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        Ok(variants)
    }
}

/// The default number of code layouts; docs/placement.md gives the measurements behind it.
pub(super) const PLACEMENTS: u32 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text table with a row per scenario and a column per kernel
    #[value(alias = "text")]
    Table,
    /// JSON with everything, including every sample
    Json,
    /// CSV, one line per answer
    Csv,
    /// GitHub Markdown for a pull request, cut to the size of a comment
    Md,
    /// JSON for github-action-benchmark (customSmallerIsBetter)
    BenchmarkAction,
    /// Bencher's metric format
    Bencher,
}

/// The backends of `rtmark run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Runs {
    /// rtmark's simulator
    Sim,
    /// QEMU, with probes that read an instruction counter
    Qemu,
    /// A board, with probes that read a cycle counter (docs/boards.md)
    Board,
}

/// The unit of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Counts {
    /// Cycles of the core's clock; simulator and boards
    Cycles,
    /// Executed instructions; simulator and QEMU
    Instructions,
}

impl Runs {
    /// Returns the platforms that are measured by default.
    fn suite(self, basis: Basis) -> Result<Vec<Platform>, CliError> {
        match self {
            Self::Sim => Ok(on_sim(socs::suite()?, basis)),
            Self::Qemu | Self::Board => self.builtin(basis),
        }
    }

    fn builtin(self, basis: Basis) -> Result<Vec<Platform>, CliError> {
        match self {
            Self::Sim => Ok(on_sim(socs::builtin()?, basis)),
            Self::Qemu => Ok(machines::builtin()?.into_iter().map(Platform::from).collect()),
            Self::Board => Err(boards::not_one_board_error()),
        }
    }

    fn find(self, name: &str, basis: Basis) -> Result<Platform, CliError> {
        match self {
            Self::Sim => Ok(Platform::Sim(Box::new(socs::find(name)?), basis)),
            Self::Qemu => Ok(Platform::from(machines::find(name)?)),
            Self::Board => Err(boards::not_one_board_error()),
        }
    }

    fn basis(self, requested: Option<Counts>) -> Result<Basis, CliError> {
        match (self, requested) {
            (Self::Sim | Self::Board, None | Some(Counts::Cycles)) => Ok(Basis::Cycles),
            (Self::Board, Some(Counts::Instructions)) => {
                let hint = "count cycles on the board, or instructions on the simulator or QEMU";
                Err(CliError::new(Exit::Usage, "boards cannot count instructions", hint))
            }
            (Self::Qemu, None) | (_, Some(Counts::Instructions)) => Ok(Basis::Instructions),
            (Self::Qemu, Some(Counts::Cycles)) => {
                let hint = "count instructions on QEMU, or cycles on the simulator";
                Err(CliError::new(Exit::Usage, "QEMU cannot count cycles", hint))
            }
        }
    }
}

fn on_sim(files: Vec<SocFile>, basis: Basis) -> Vec<Platform> {
    files.into_iter().map(|file| Platform::Sim(Box::new(file), basis)).collect()
}

/// Returns the selected socs on the simulator, counting cycles.
pub(super) fn simulated(requested: &[String]) -> Result<Vec<Platform>, CliError> {
    wanted(requested, Runs::Sim, Basis::Cycles)
}

/// Finds the selected platforms: names, patterns of names, or paths.
fn wanted(requested: &[String], runs: Runs, basis: Basis) -> Result<Vec<Platform>, CliError> {
    if requested.is_empty() {
        return runs.suite(basis);
    }
    let mut wanted: Vec<Platform> = Vec::new();
    for name in requested {
        let found = if name.contains(['*', '?', '{', '[']) {
            let pattern: Pattern = name.parse().map_err(|error| {
                CliError::new(
                    Exit::Usage,
                    error,
                    "`*` matches any text; quote the pattern for the shell",
                )
            })?;
            let mut fitting = runs.builtin(basis)?;
            fitting.retain(|platform| pattern.matches(platform.name()));
            if fitting.is_empty() {
                let message = format!("no soc matches `{name}`");
                let hint = "`rtmark list socs` shows the names; on QEMU, `rtmark list machines`";
                return Err(CliError::new(Exit::NothingSelected, message, hint));
            }
            fitting
        } else {
            vec![runs.find(name, basis)?]
        };
        for file in found {
            match wanted.iter().find(|known| known.name() == file.name()) {
                None => wanted.push(file),
                Some(known) if known.sha256() == file.sha256() => {}
                Some(known) => {
                    let message = format!(
                        "{} and {} describe different socs of the same name, {}",
                        known.origin(),
                        file.origin(),
                        file.name()
                    );
                    return Err(CliError::new(Exit::Usage, message, "rename one of them"));
                }
            }
        }
    }
    Ok(wanted)
}

/// Describes a finished run: how many answers there are, how many of them were recalled, and where they are.
fn summary(answers: usize, recalled: usize, took: Duration, id: &str, store: &Store) -> String {
    let recalled = match recalled {
        0 => String::new(),
        some => format!(" ({some} recalled; --fresh measures again)"),
    };
    let (count, seconds) = (output::count(answers, "answer"), took.as_secs_f64());
    let (short, file) = (shelf::short(id), store.path().display());
    format!("{count}{recalled} in {seconds:.1} s, stored as run {short} in {file}")
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let began = Instant::now();
        if (self.published || self.imported) && self.format != Format::Table {
            let message = "--published and --imported only apply to tables";
            let hint = "leave out --format; `rtmark list published --format json` prints published figures";
            return Err(CliError::new(Exit::Usage, message, hint));
        }
        let config = Config::load()?;
        if let Some(name) = &self.name {
            rtmark_store::check_name(name)?;
        }
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&config)?;
        let basis = self.backend.basis(self.basis)?;
        let socs = if self.soc.is_empty() { &config.run.soc } else { &self.soc };
        if let Some(recording) = self.board.from() {
            let recording = recording.to_owned();
            return self.show_recording(&recording, &catalogue, &config, verbosity);
        }
        let platforms = self.platforms(socs, basis)?;
        self.board.note_what_is_unchecked(verbosity);
        let images = self.images(basis, &platforms)?;
        let recorder = self.board.recorder()?;
        let placements = self.placements()?;
        let requested = |requested: Vec<Pattern>, configured: &[Pattern]| {
            if requested.is_empty() { configured.to_vec() } else { requested }
        };
        // With images, only kernels that the command line names are included.
        let alone = !images.is_empty() && self.kernel.is_empty();
        let kernels = if alone { Vec::new() } else { kernels };
        let configured = if alone { &[][..] } else { &config.run.kernel };
        let selection = Selection {
            kernels: requested(self.kernel, configured),
            scenarios: requested(self.scenario, &config.run.scenario),
        };
        let variants = self.variants.resolve(&config.run.profile)?;
        let plan = Plan::new(&catalogue, &kernels, &platforms, &variants, &selection)?;

        let suite = Suite { placements, ..suite(tree, self.max_cycles.map(Cycles)) };
        refuse_without_tools(&suite.builder, &plan)?;
        let revision = shelf::commit_here().or_else(|| suite.builder.tree().commit());
        if let (Some(share), Some(state)) = (self.partition, &self.state) {
            return part::measure(&plan, &suite, share, state, revision, verbosity);
        }
        let store = self.store.open(&config)?;
        let run = store.begin(&command_line(), &suite.rtmark, revision.as_deref())?;
        let id = run.id().to_owned();
        if verbosity.verbose > 0 {
            say(format!("run {id}"));
        }
        if let Some(name) = &self.name {
            store.name(&shelf::run_of(&store, &id, verbosity)?, name)?;
        }
        // A recording must be complete, so nothing is recalled.
        let fresh = self.fresh || recorder.is_some();
        // With images, tables wait for the images' columns.
        let as_measured = self.format == Format::Table && images.is_empty();
        let tables = if as_measured { Tables::AS_MEASURED } else { Tables::Later };
        let mut observer =
            RunRecorder { fresh, recorder, tables, ..RunRecorder::new(&store, run, verbosity) };
        let answers = suite.run(&plan, &mut observer);
        observer.progress.finish();
        let mut answers = answers?;
        let of_images = ColumnOptions {
            catalogue: &catalogue,
            scenarios: &selection.scenarios,
            max_cycles: suite.max_cycles,
            rtmark: &suite.rtmark,
            rtmark_sha256: suite.rtmark_sha256.as_deref(),
        };
        let keep = |answer: &Answer| observer.run.record(answer, None);
        answers.extend(columns::measure(&images, &platforms, &of_images, verbosity, keep)?);
        if answers.is_empty() {
            return Err(CliError::new(
                Exit::NothingSelected,
                "nothing was measured: the images have no span of the scenarios that were asked for",
                "without --scenario, everything in an image is measured; docs/images.md says what that can be",
            ));
        }
        observer.recorder.take().map_or(Ok(()), Recorder::finish)?;
        observer.run.finish()?;

        let mut text = match observer.tables {
            Tables::AsMeasured { written, .. } => written.map(|()| String::new())?,
            Tables::Later => render(self.format, &answers)?,
        };
        if self.published || self.imported {
            let theirs =
                shelf::other_figures(self.published, self.imported.then_some(&store), &catalogue)?;
            let beside = rtmark_report::related(&answers, &theirs, &catalogue, output::width());
            text.push('\n');
            text.push_str(&beside);
        }
        output::data(&text)?;
        let exit = show_failures(&answers);
        if !verbosity.quiet {
            say(summary(answers.len(), observer.recalled, began.elapsed(), &id, &store));
        }
        Ok(exit)
    }
}

impl Arguments {
    /// Reads the images to show as columns, which only the simulator can measure.
    fn images(&self, basis: Basis, platforms: &[Platform]) -> Result<Vec<ForeignImage>, CliError> {
        let simulated = self.backend == Runs::Sim && self.clocked.is_none();
        if self.images.any() && !(simulated && basis == Basis::Cycles) {
            let message = "--image only works with the simulator, counting cycles";
            let hint = "leave out --backend, --clocked and --basis";
            return Err(CliError::new(Exit::Usage, message, hint));
        }
        self.images.read(platforms)
    }

    /// Returns the platforms to run on.
    fn platforms(&self, socs: &[String], basis: Basis) -> Result<Vec<Platform>, CliError> {
        let refuse = |message: &str, hint: &str| Err(CliError::new(Exit::Usage, message, hint));
        if self.backend != Runs::Board && self.board.requires_board() {
            let message = "--port, --probe, --chip and --from only apply to boards";
            return refuse(message, "add --backend board");
        }
        if self.backend != Runs::Board && self.clocked.is_none() && self.board.keep() {
            let message = "--record only applies to clocked firmware, and this run does not use it";
            return refuse(message, "add --backend board, or --clocked for the simulator");
        }
        match (self.backend, self.clocked) {
            (Runs::Board, None) => {
                let file = boards::find_one_board(socs)?;
                Ok(vec![Platform::Board(Box::new(self.board.bench(file)?))])
            }
            (Runs::Sim, Some(_)) if basis != Basis::Cycles => {
                refuse("--clocked firmware counts cycles", "leave out --basis or --clocked")
            }
            (Runs::Sim, Some(prints)) => {
                if socs.is_empty() {
                    let suite = wanted(socs, Runs::Sim, basis)?;
                    return suite.iter().map(|p| boards::rehearsal(p.name(), prints)).collect();
                }
                socs.iter().map(|name| boards::rehearsal(name, prints)).collect()
            }
            (_, Some(_)) => refuse(
                "--clocked only applies to the simulator; elsewhere probes always read a counter",
                "leave out --clocked",
            ),
            (_, None) => wanted(socs, self.backend, basis),
        }
    }

    /// Returns the number of code layouts to measure.
    fn placements(&self) -> Result<Placements, CliError> {
        let placeable = self.backend == Runs::Sim
            && self.clocked.is_none()
            && self.basis != Some(Counts::Instructions);
        match self.placements {
            Some(2..) if !placeable => {
                let message = "--placements only applies to the simulator, counting cycles";
                let hint =
                    "leave out --placements; other backends only measure the linker's layout";
                Err(CliError::new(Exit::Usage, message, hint))
            }
            Some(placements) => Ok(Placements::Exactly(placements)),
            None if placeable => Ok(Placements::Usually(PLACEMENTS)),
            None => Ok(Placements::ONE),
        }
    }

    /// Stores and shows the answers of a recording, like those of a run.
    fn show_recording(
        self,
        recording: &Path,
        catalogue: &Catalogue,
        config: &Config,
        verbosity: Verbosity,
    ) -> Result<Exit, CliError> {
        if self.backend != Runs::Board {
            let hint = "add --backend board";
            return Err(CliError::new(Exit::Usage, "--from only applies to boards", hint));
        }
        if self.published || self.imported {
            let message = "--published and --imported do not apply to recordings";
            let hint = "leave them out; `rtmark list published` prints published figures";
            return Err(CliError::new(Exit::Usage, message, hint));
        }
        let selection =
            Selection { kernels: self.kernel.clone(), scenarios: self.scenario.clone() };
        let mut runs = boards::recorded(recording, &selection)?;
        let socs: Vec<String> = self.soc.iter().map(|name| boards::soc_named(name)).collect();
        boards::retain_socs(&mut runs, &socs, recording)?;
        let answers = boards::answers(&runs, catalogue);
        let store = self.store.clone().open(config)?;
        let version = env!("CARGO_PKG_VERSION");
        let run = store.begin(&command_line(), version, shelf::commit_here().as_deref())?;
        let id = run.id().to_owned();
        if let Some(name) = &self.name {
            store.name(&shelf::run_of(&store, &id, verbosity)?, name)?;
        }
        for answer in &answers {
            run.record(answer, None)?;
        }
        run.finish()?;
        output::data(&render(self.format, &answers)?)?;
        if !verbosity.quiet {
            let (count, short) = (output::count(answers.len(), "answer"), shelf::short(&id));
            say(format!("{count} from {}, stored as run {short}", recording.display()));
        }
        Ok(show_failures(&answers))
    }
}

/// Creates a suite that runs plans with the firmware of a tree; `max_cycles` overrides the catalogue's
/// budgets.
pub(super) fn suite(tree: Tree, max_cycles: Option<Cycles>) -> Suite {
    let plain = Suite::plain(Builder::new(tree), env!("CARGO_PKG_VERSION"));
    Suite { rtmark_sha256: own_sha256(), max_cycles, ..plain }
}

/// Returns the SHA-256 of this program, which identifies the simulator and its timing.
fn own_sha256() -> Option<String> {
    let bytes = std::fs::read(std::env::current_exe().ok()?).ok()?;
    Some(rtmark_firmware::sha256(&bytes))
}

/// Returns the command line, for the store. Bytes that are not UTF-8, as file names may have, become
/// replacement characters.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("rtmark".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Formats answers.
pub fn render(format: Format, answers: &[Answer]) -> Result<String, CliError> {
    let failed = |error: &dyn std::fmt::Display| {
        CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
    };
    Ok(match format {
        Format::Table => rtmark_report::table(answers, output::width()),
        Format::Json => rtmark_report::json(GENERATOR, answers).map_err(|error| failed(&error))?,
        Format::Csv => rtmark_report::csv(answers).map_err(|error| failed(&error))?,
        Format::Md => rtmark_report::markdown(answers),
        Format::BenchmarkAction => rtmark_report::benchmark_action(answers),
        Format::Bencher => rtmark_report::bencher(answers),
    })
}
