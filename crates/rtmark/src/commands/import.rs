//! `rtmark import`

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtmark_import::{Format, GivenFacts, ImportError, Options, Reading};
use rtmark_model::{Answer, Catalogue, KernelId, visible};
use rtmark_runner::{Ending, FileError, RunLimit, Session, input_file, machines, socs};
use rtmark_sim::{CoreKind, Image, Machine};
use rtmark_store::{Kind, bundle};
use rtmark_units::{Cycles, Hertz};

use super::clock;
use crate::cli::Verbosity;
use crate::commands::run;
use crate::commands::show::{PAGE, Rows};
use crate::config::Config;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::{self, say};
use crate::shelf::{self, StoreFlag};

/// Import the logs of other benchmark suites, or bundles of `rtmark export`, into the store
///
/// Results are recognised line by line, whatever else the log contains: Zephyr's latency_measure of
/// every era, timing_info, sched_queues, sched, sys_kernel, app_kernel, timer_behavior, ztest
/// benchmarks and recording.csv, rtos-benchmark, Thread-Metric, RIOT's benchmarks, ChibiOS test
/// reports, cyclictest, ESP-IDF's elapsed times, TI's task-switch example, RTOSBench, and CSV and
/// JSON in rtmark's own form (docs/import.md). Implausible rows are kept with a flag and never
/// compared.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Examples:
  rtmark import uart.log --soc stm32f405 --version 4.1
  rtmark import *.log --dry-run
  rtmark import lab.rtmark.gz            a bundle of `rtmark export`
  minicom-output | rtmark import - --kernel freertos --clock 168MHz
  rtmark import --from-sim zephyr.elf --soc stm32f405

Exit codes: 4 if no row was found, 2 if a file cannot be read; else see `rtmark help exit-codes`."
)]
pub struct Arguments {
    /// Logs and bundles of `rtmark export`, optionally compressed with gzip; `-` is stdin
    #[arg(value_name = "FILE", required_unless_present = "from_sim", conflicts_with = "from_sim")]
    files: Vec<PathBuf>,
    /// Run this firmware on the simulator, and import its output
    #[arg(long, value_name = "IMAGE", requires = "soc")]
    from_sim: Option<PathBuf>,
    /// With --from-sim: cycles after which to stop the firmware [default: 60 seconds of its clock]
    #[arg(long, value_name = "N", requires = "from_sim",
          value_parser = super::sim::cycles)]
    max_cycles: Option<u64>,
    /// With --from-sim: crystal of the board, such as 25MHz [default: that of the soc's file]
    #[arg(long, value_parser = clock::parse, requires = "from_sim", conflicts_with = "clock")]
    crystal: Option<Hertz>,
    /// Format of the logs [default: recognised line by line]
    #[arg(long, value_name = "NAME", value_parser = format_of)]
    format: Option<Format>,
    /// Show what would be imported, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// Soc or board, if the log does not name it: a name from `rtmark list socs`, a soc file, or any
    /// other name
    #[arg(long)]
    soc: Option<String>,
    /// Core of a soc that `rtmark list socs` does not show, such as cortex-m4f; figures are shown next
    /// to rtmark's for the same core
    #[arg(long)]
    core: Option<String>,
    /// Clock that counted the cycles, such as 168MHz, 32.768kHz or 48000000 (in hertz)
    ///
    /// With --from-sim it is the core's clock in the run [default: what the firmware sets, as for
    /// `rtmark sim`].
    #[arg(long, value_parser = clock::parse)]
    clock: Option<Hertz>,
    /// Kernel, if the log does not name it
    #[arg(long)]
    kernel: Option<KernelId>,
    /// Kernel version, if the log does not give it
    #[arg(long = "version", value_name = "VERSION", id = "kernel_version")]
    kernel_version: Option<String>,
    /// Build profile, if the log does not name it
    #[arg(long)]
    profile: Option<String>,
    /// Output format of the rows
    #[arg(long, value_enum, default_value_t = Show::Table)]
    show: Show,
    #[command(flatten)]
    store: StoreFlag,
    /// Folder with catalogue files to use instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    /// Text, one line per row
    Table,
    /// JSON with everything, as `rtmark run --format json` prints
    Json,
    /// CSV, one line per row
    Csv,
}

impl Show {
    const fn rows(self) -> Rows {
        match self {
            Self::Table => Rows::Table,
            Self::Json => Rows::Json,
            Self::Csv => Rows::Csv,
        }
    }
}

fn format_of(text: &str) -> Result<Format, String> {
    let found = Format::ALL.iter().copied().find(|format| format.name() == text);
    found.ok_or_else(|| {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Returns a warning for a core of which rtmark has no figures to show beside the rows, which keep the name all the same.
fn unfamiliar_core(core: &str) -> Result<Option<String>, CliError> {
    let machines = machines::builtin()?;
    let known: BTreeSet<&str> = CoreKind::ALL
        .iter()
        .map(|core| core.name())
        .chain(machines.iter().filter_map(|file| file.machine.core.as_deref()))
        .collect();
    Ok((!known.contains(core)).then(|| {
        let near = or_nearest(core, known.iter().copied());
        let known: Vec<_> = known.iter().copied().collect();
        let (core, known) = (core.escape_debug(), known.join(", "));
        format!("warning: --core: no figures for `{core}`{near} (there are those of {known})")
    }))
}

/// A log and the rows that it contains.
struct Source {
    name: String,
    reading: Reading,
}

impl Source {
    /// Iterates over the rows, one page at a time.
    fn pages<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = Vec<Answer>> + 'a {
        let mut answers = self.reading.answers(catalogue);
        std::iter::from_fn(move || {
            let page: Vec<_> = answers.by_ref().take(PAGE).collect();
            (!page.is_empty()).then_some(page)
        })
    }
}

/// The contents of all files of one command.
#[derive(Default)]
struct InputFiles {
    logs: Vec<Source>,
    /// A message about each bundle.
    bundles: Vec<String>,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let config = Config::load()?;
        let folder = self.catalogue.as_deref().or(config.catalogue.as_deref());
        let catalogue = crate::sources::catalogue(folder)?;
        let options = self.options()?;
        let InputFiles { logs: sources, bundles } = match &self.from_sim {
            Some(image) => InputFiles {
                logs: vec![self.run_firmware(image, &options, verbosity)?],
                bundles: Vec::new(),
            },
            None => self.read_files(&options)?,
        };
        for source in &sources {
            warn(source, verbosity);
        }
        if !verbosity.quiet {
            bundles.iter().for_each(say);
        }
        if sources.is_empty() && !bundles.is_empty() {
            return Ok(Exit::Fine);
        }
        let rows: usize = sources.iter().map(|source| source.reading.len()).sum();
        if rows == 0 {
            let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
            let message = format!("no rows of a known suite in {}", names.join(", "));
            let hint = "docs/import.md shows the known formats; `rtmark import --help` lists them";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        let pages = || sources.iter().flat_map(|source| source.pages(&catalogue));
        let kept = if self.dry_run { None } else { Some(self.keep(pages())?) };
        let mut flagged = 0;
        let bad = |answer: &&Answer| answer.series().is_some_and(|s| !s.flags.is_empty());
        let counted = pages().inspect(|page| flagged += page.iter().filter(bad).count());
        self.show.rows().show(counted, &catalogue)?;
        if let Some(core) = self.core.as_ref().filter(|_| !verbosity.quiet) {
            unfamiliar_core(core)?.into_iter().for_each(say);
        }
        if !verbosity.quiet {
            let unreadable: u64 = sources.iter().map(|source| source.reading.unreadable()).sum();
            let rows = output::count(rows, "row");
            let lines = output::count(unreadable, "line");
            let kept = kept.unwrap_or_else(|| "nothing stored (--dry-run)".to_owned());
            say(format!("{rows}, {flagged} flagged, {lines} unreadable; {kept}"));
        }
        Ok(Exit::Fine)
    }

    /// Returns the options that apply to all logs.
    fn options(&self) -> Result<Options, CliError> {
        // A known soc also gives core and clock; any other is just a name.
        let known = match &self.soc {
            Some(name) => match socs::find(name) {
                Ok(file) => Some(file.soc),
                Err(FileError::Unknown { .. }) if self.from_sim.is_none() => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        let named = || self.soc.as_deref().map(|name| visible(name.as_bytes()));
        let given = GivenFacts {
            soc: known.as_ref().map(|soc| soc.name.clone()).or_else(named),
            core: self
                .core
                .clone()
                .or_else(|| known.as_ref().map(|soc| soc.core.name().to_owned())),
            clock: self.clock,
            fallback_clock: known.as_ref().map(|soc| soc.clock),
            kernel: self.kernel.clone(),
            version: self.kernel_version.clone(),
            profile: self.profile.clone(),
        };
        let rtmark = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Options { format: self.format, given, rtmark })
    }

    fn read_files(&self, options: &Options) -> Result<InputFiles, CliError> {
        let mut files = InputFiles::default();
        for path in &self.files {
            let name = visible(path.display().to_string().as_bytes());
            let file: Box<dyn Read> = if path.as_os_str() == "-" {
                Box::new(std::io::stdin())
            } else {
                Box::new(File::open(path).map_err(|error| unreadable(&name, &error))?)
            };
            let mut file = bundle::unpacked(file).map_err(|error| unreadable(&name, &error))?;
            let head = file.fill_buf().map_err(|error| unreadable(&name, &error))?;
            if self.format.is_none() && bundle::looks_like_bundle(head) {
                files.bundles.push(self.read_bundle(&name, file)?);
            } else {
                let reading = reading(file, &name, options)?;
                files.logs.push(Source { name, reading });
            }
        }
        Ok(files)
    }

    /// Adds the runs of a bundle to the store, and returns a message about it.
    fn read_bundle(&self, name: &str, file: impl Read) -> Result<String, CliError> {
        let refused = |error| CliError::from(error).about(name);
        let imported = if self.dry_run {
            bundle::check(file).map_err(refused)?
        } else {
            let store = self.store.clone().open(&Config::load()?)?;
            bundle::import(&store, file).map_err(refused)?
        };
        let runs = output::count(imported.added.len(), "run");
        let answers = output::count(imported.answers, "answer");
        if self.dry_run {
            return Ok(format!(
                "{name}: a bundle of {runs} with {answers}; nothing stored (--dry-run)"
            ));
        }
        let mut text = format!("{name}: added {runs} with {answers}");
        if !imported.completed.is_empty() {
            let continued = output::count(imported.completed.len(), "run");
            let _ = write!(text, "; {continued} continued");
        }
        if !imported.known.is_empty() {
            let known = output::count(imported.known.len(), "run");
            let _ = write!(text, "; {known} already in the store");
        }
        if !imported.names_taken.is_empty() {
            let names: Vec<_> =
                imported.names_taken.iter().map(|name| visible(name.as_bytes())).collect();
            let _ = write!(text, "; names already taken by other runs: {}", names.join(", "));
        }
        Ok(text)
    }

    /// Runs firmware to its end, and reads its output.
    fn run_firmware(
        &self,
        path: &Path,
        options: &Options,
        verbosity: Verbosity,
    ) -> Result<Source, CliError> {
        /// How long firmware may run on its own clock.
        const LONGEST_RUN: Duration = Duration::from_mins(1);
        /// Limit for the output, in bytes: more than any suite prints.
        const LONGEST_CONSOLE: usize = 64 << 20;

        let name = visible(path.display().to_string().as_bytes());
        let file = socs::find(self.soc.as_deref().unwrap_or_default())?;
        let file = match (self.clock, self.crystal) {
            (Some(clock), _) => file.at_clock(clock)?,
            (None, Some(crystal)) => clock::on_crystal(&file, crystal)?,
            (None, None) => file,
        };
        let bytes = input_file::read_bytes(path).map_err(|error| unreadable(&name, &error))?;
        let base = file.soc.memories.first().map_or(0, |memory| memory.base);
        let refuse = |error: &dyn std::fmt::Display| {
            let hint = format!("`rtmark sim {name} --soc {}` shows more", file.soc.name);
            CliError::new(Exit::Usage, format!("{name}: {error}"), hint)
        };
        let image = Image::from_bytes(&bytes, base).map_err(|error| refuse(&error))?;
        let soc = file.for_image(&image).soc;
        let mut machine = Machine::new(&soc);
        machine.load(&image).map_err(|error| refuse(&error))?;
        let mut session = Session::with(machine, &image);
        let limit = self
            .max_cycles
            .map_or(RunLimit::Time(LONGEST_RUN), |cycles| RunLimit::Cycles(Cycles(cycles)));
        let mut console = Vec::new();
        let Ok(ending) = limit.run(&mut session, |session, until| {
            Ok::<_, Infallible>(session.run(until, |machine| {
                let printed = machine.take_console();
                if console.len() < LONGEST_CONSOLE {
                    console.extend(printed);
                }
            }))
        });
        // Suites end in an idle loop: whatever the ending, the output so far is valid.
        if !verbosity.quiet && !matches!(ending, Ending::Exit(_) | Ending::Asleep | Ending::Limit) {
            say(format!(
                "{name}: {}; its output up to that point is imported",
                session.describe(&ending)
            ));
        }
        let clock = session.clock();
        if !verbosity.quiet && self.clock.is_none() {
            clock.notes.iter().for_each(|note| say(format!("{name}: {note}")));
        }
        let name = format!("{name} on {}", soc.name);
        let given = GivenFacts { fallback_clock: Some(clock.main()), ..options.given.clone() };
        let options = Options { given, ..options.clone() };
        let reading = reading(console.as_slice(), &name, &options)?;
        Ok(Source { name, reading })
    }

    /// Stores the rows, and returns a message that says where.
    fn keep(&self, pages: impl Iterator<Item = Vec<Answer>>) -> Result<String, CliError> {
        let store = self.store.clone().open(&Config::load()?)?;
        let version = env!("CARGO_PKG_VERSION");
        let run = store.begin_as(Kind::Imported, &run::command_line(), version, None)?;
        let short = shelf::short(run.id()).to_owned();
        for page in pages {
            run.record_all(&page)?;
        }
        run.finish()?;
        Ok(format!("stored as run {short} in {}", store.path().display()))
    }
}

fn unreadable(name: &str, error: &dyn std::fmt::Display) -> CliError {
    CliError::new(Exit::Usage, format!("{name}: {error}"), "check the path")
}

fn reading(reader: impl BufRead, name: &str, options: &Options) -> Result<Reading, CliError> {
    rtmark_import::read(reader, name, options).map_err(|error| {
        let hint = match error {
            ImportError::TooLong(_) => "split the file; its rows are independent of each other",
            ImportError::Document(_) => "docs/import.md describes the JSON format",
            _ => "check that the file can be read",
        };
        CliError::new(Exit::Usage, format!("{name}: {error}"), hint)
    })
}

/// How many warnings per log are shown without `-v`.
const SHOWN: usize = 20;

fn warn(source: &Source, verbosity: Verbosity) {
    if verbosity.quiet {
        return;
    }
    let (warnings, suppressed_warnings) =
        (source.reading.warnings(), source.reading.suppressed_warnings());
    let shown = if verbosity.verbose > 0 { usize::MAX } else { SHOWN };
    for warning in warnings.iter().take(shown) {
        let message = visible(warning.message.as_bytes()).replace('\n', " ");
        say(format!("warning: {}:{}: {message}", source.name, warning.line));
    }
    let more = warnings.len().saturating_sub(shown) as u64 + suppressed_warnings;
    if more > 0 {
        let more = output::count(more, "more warning");
        say(format!("warning: {}: {more}; -v shows all", source.name));
    }
}
