//! `rtmark worst`

use std::path::{Path as FilePath, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use rtmark_sim::Irq;
use rtmark_worst::{
    Aspect, Case, Control, Findings, Latencies, Path, Reach, Share, Window, search,
};

use super::sim::{INTERRUPT_CODE, byte, irq, number};
use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::replacement::{self, replace};

mod choice;
mod explain;
mod parts;
mod picture;
mod replay;
mod report;
mod subject;
mod text;

pub use choice::{Choice, usage};
pub use parts::Part;
pub use report::held_by;
use report::{Document, Found, SCHEMA_VERSION};
pub use subject::{INJECTED, SearchOptions, SecondInterrupt, Subject, Workload};

/// Interrupt a kernel at every cycle of a scenario, and show the worst case
///
/// The interrupt becomes pending at every cycle of the scenario's spans, including those within
/// instructions. The results are exact for the path that the scenario takes, but not a bound over
/// all inputs: docs/worst.md explains what they show and what they do not.
#[derive(Debug, Args)]
#[command(override_usage = usage("worst"))]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark worst --kernel freertos --scenario 'semaphore.*' --soc stm32f405
  rtmark worst --kernel freertos --scenario queue.handover --soc stm32f405 --follow --explain
  rtmark worst --kernel freertos --load --soc stm32f405
  rtmark worst --kernel embassy --load --soc stm32f405 --check
  rtmark worst --kernel freertos --scenario queue.handover --soc stm32f405 --second 9 \
      --second-priority 0
  rtmark worst --kernel rtic --scenario isr.wake.thread --soc stm32f405 --interrupt 0 --follow
  rtmark worst app.elf --soc stm32f405 --window 100000:200000 --interrupt 5 --priority 0x40
  rtmark worst app.elf --soc stm32f405 --window 100000:200000 --interrupt SysTick
  rtmark worst app.elf --soc stm32f405 --check --interrupt 5 --window 0:500000
  rtmark worst app.elf --soc stm32f405 --partition 2/8 --state part2.worst
  rtmark worst --kernel lilos --scenario timer.tick --soc stm32c031 --snapshot worst.snapshot
  rtmark sim --resume worst.snapshot --gdb :3333

Exit codes: see `rtmark help exit-codes`.")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// The interrupt: an external one's number, SysTick or PendSV; rtmark's own images handle the default
    /// one by returning at once
    #[arg(long, value_name = "N", default_value_t = INJECTED.into(), value_parser = irq)]
    interrupt: Irq,
    /// Priority of the interrupt, as the priority register holds it [default: the most urgent that may
    /// call the kernel; for an image, the most urgent that it holds back by BASEPRI, if it does]
    #[arg(long, value_name = "P", value_parser = byte)]
    priority: Option<u8>,
    /// Use the most urgent priority, above all masks but PRIMASK: like --priority 0, or --priority 0xf0
    /// on a Hazard3
    #[arg(long, conflicts_with = "priority")]
    above: bool,
    /// A second interrupt, which becomes pending at every distance before and after the first
    ///
    /// All pairs of moments are searched. The result gives both interrupts' worst latencies, and how
    /// the two met: nested, tail-chained, or one overtaking the other's entry. rtmark's own images
    /// handle interrupt 9 by returning at once.
    #[arg(long, value_name = "N", value_parser = irq, conflicts_with_all = ["follow", "check"])]
    second: Option<Irq>,
    /// Priority of the second interrupt, as the priority register holds it [default: that of the first]
    #[arg(long, value_name = "P", value_parser = byte, requires = "second")]
    second_priority: Option<u8>,
    /// Maximum number of cycles between the two [default: until the earlier one's handler returns]
    #[arg(long, value_name = "CYCLES", requires = "second", value_parser = number)]
    distance: Option<u64>,
    /// Follow each point until the interrupted code resumes and its span ends
    ///
    /// This takes longer, because each point runs in a copy of the machine.
    #[arg(long)]
    follow: bool,
    /// With --follow: function or label at which the task woken by the handler continues
    ///
    /// By default, the end of the span is used.
    #[arg(long, value_name = "SYMBOL", requires = "follow")]
    woken: Option<String>,
    /// Search for races: interrupt at each moment, run to the end of the program, and see whether it
    /// still reports success
    ///
    /// The interrupt's handler should do what the program must cope with, such as giving a semaphore
    /// that a task waits for. The program reports its result through semihosting.
    #[arg(long, conflicts_with_all = ["follow", "explain"])]
    check: bool,
    /// With --check: text whose output means success, for a program that never exits
    #[arg(long, value_name = "TEXT", requires = "check", conflicts_with = "state",
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    until_output: Option<String>,
    /// Cycles of the run to search [default: the scenario's spans]
    #[arg(long, value_name = "FROM:TO", value_parser = window)]
    window: Option<Window>,
    /// Search from the start of the first span to the end of the last, including what is in between
    #[arg(long, conflicts_with = "window")]
    whole_run: bool,
    /// Number of points after which to stop; the results so far are then shown as incomplete
    #[arg(long, value_name = "POINTS", default_value_t = u64::MAX, hide_default_value = true,
          value_parser = number)]
    budget: u64,
    /// Cycles after which to give up on a run [default: ten seconds of the clock]
    #[arg(long, value_name = "N", value_parser = super::sim::cycles)]
    max_cycles: Option<u64>,
    /// Search only part K of N, so that other computers can search the others; see `rtmark merge`
    #[arg(long, value_name = "K/N", requires = "state")]
    partition: Option<Share>,
    /// File that keeps the findings; if it exists, the search resumes from it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["uart_in", "pin"])]
    state: Option<PathBuf>,
    /// Replay the worst case and print its timeline
    #[arg(long)]
    explain: bool,
    /// Save a snapshot of the worst case's moment in this file, for `rtmark sim --resume`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["uart_in", "pin"])]
    snapshot: Option<PathBuf>,
    /// Draw the latencies along the path, in this SVG file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text tables
    Text,
    /// JSON with everything: docs/schema/worst.schema.json
    Json,
}

pub fn window(text: &str) -> Result<Window, String> {
    let ends =
        text.split_once(':').and_then(|(from, to)| Some((number(from).ok()?, number(to).ok()?)));
    match ends {
        Some((from, to)) if from < to => Ok(Window { from, to }),
        _ => Err("expected two cycles, the first below the second, such as 1000:2000".into()),
    }
}

/// How often a search is saved in its file.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);

/// The results of all searches of a command.
#[derive(Default)]
struct All {
    found: Vec<Found>,
    explanations: String,
    /// Whether any search is incomplete.
    is_cut: bool,
    /// The number of programs with races.
    races: usize,
}

/// Prints findings; `part` is the part of a search that was asked for and is complete.
pub fn show(
    found: Vec<Found>,
    part: Option<Share>,
    format: Format,
    picture: Option<&FilePath>,
) -> Result<(), CliError> {
    if let Some(path) = picture {
        replace(path, picture::picture(&found).as_bytes())?;
    }
    match format {
        Format::Text => {
            let texts: Vec<_> = found.iter().map(|found| found.text(part)).collect();
            output::data(&texts.join("\n"))?;
        }
        Format::Json => {
            let document = Document {
                schema_version: SCHEMA_VERSION,
                generator: GENERATOR.to_owned(),
                results: found,
            };
            output::data(&output::json(&document)?)?;
        }
    }
    Ok(())
}

/// Describes the findings of a part of a search.
pub fn found_of(part: &Part, path: &FilePath) -> Result<Found, CliError> {
    let subject = part.subject(path)?;
    let way = subject.path_for(part.question.clone())?;
    Ok(Found::new(&subject, &way, &part.findings))
}

/// Whether a search has begun. Before the first one there is nothing to keep, and Ctrl-C ends the process at once.
static SEARCHES: AtomicBool = AtomicBool::new(false);
/// Whether Ctrl-C has ended the search.
static CANCELLED: AtomicBool = AtomicBool::new(false);

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let files = [&self.state, &self.snapshot, &self.picture];
        replacement::check(files.into_iter().filter_map(Option::as_deref))?;
        let subjects = self.choice.subjects(verbosity)?;
        let one_only = self.state.is_some() || self.snapshot.is_some();
        if one_only && subjects.len() != 1 {
            let message = format!(
                "--state and --snapshot apply to a single search, but {} were selected",
                subjects.len()
            );
            let hint = "choose a single kernel, scenario and soc";
            return Err(CliError::new(Exit::Usage, message, hint));
        }
        // If this fails, Ctrl-C ends the process at once, as without a handler.
        let _ = ctrlc::set_handler(|| {
            if !SEARCHES.load(Ordering::Relaxed) || CANCELLED.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPT_CODE);
            }
        });
        let mut all = All::default();
        let mut refused = None;
        for subject in &subjects {
            if CANCELLED.load(Ordering::Relaxed) {
                all.is_cut = true;
                break;
            }
            match self.search_one(subject, verbosity, &mut all) {
                Ok(()) => {}
                // The findings of the other searches must not be lost.
                Err(error) if subjects.len() > 1 => {
                    let exit = error.show();
                    refused.get_or_insert(exit);
                }
                Err(error) => return Err(error),
            }
        }
        let exit = self.conclude(all)?;
        Ok(if exit == Exit::Fine { refused.unwrap_or(exit) } else { exit })
    }

    /// Runs the search of one program.
    fn search_one(
        &self,
        subject: &Subject,
        verbosity: Verbosity,
        all: &mut All,
    ) -> Result<(), CliError> {
        let budget = self.max_cycles.unwrap_or(10 * u64::from(subject.soc.soc.clock.0));
        let subject = &Subject { until_output: self.until_output.clone(), ..subject.clone() };
        let reach = match (self.check, self.follow) {
            (true, _) => Reach::Check { ended: subject.check_without_interrupt(budget)? },
            (_, true) => Reach::Whole,
            _ => Reach::Entry,
        };
        let options = self.options(budget, reach);
        let (path, held) = subject.path(&options)?;
        let notes = [
            subject.priority_note(&path, held),
            subject.endless_note(&path),
            subject.stack_note(&path)?,
        ];
        for note in notes.into_iter().flatten().filter(|_| !verbosity.quiet) {
            say(note);
        }
        let findings = self.search(subject, &path, verbosity)?;
        let share = self.partition.unwrap_or(Share::WHOLE);
        let mine = (0..path.len()).filter(|piece| share.holds(*piece)).count();
        let is_cut = findings.pieces.len() < mine;
        all.is_cut |= is_cut;
        if let (Some(Window { from, to }), 0, false) = (self.window, findings.points, is_cut)
            && mine > 0
        {
            let problem =
                format!("{}: no instruction starts in cycles {from} to {to}", subject.name());
            let hint = "a window includes the instructions that start in it: give a longer one with --window";
            return Err(CliError::new(Exit::Usage, problem, hint));
        }
        all.races += usize::from(!findings.failures.is_empty());
        if let Some(worst) = findings.aspect(Aspect::Handler).and_then(Latencies::worst) {
            if self.explain {
                all.explanations.push_str(&explain::explain(subject, &path, &findings));
            }
            if let Some(file) = &self.snapshot {
                let race = findings.failures.values().map(|failure| failure.point).min();
                let case = race.map_or(worst, |point| Case::new(0, point));
                explain::keep(subject, &path, case, file)?;
            }
        }
        all.found.push(Found::new(subject, &path, &findings));
        Ok(())
    }

    /// Prints the findings, and returns the exit code.
    fn conclude(&self, all: All) -> Result<Exit, CliError> {
        let All { found, explanations, is_cut, races } = all;
        let part = self.partition.filter(|_| !is_cut);
        show(found, part, self.format, self.picture.as_deref())?;
        if !explanations.is_empty() {
            match self.format {
                Format::Text => output::data(&explanations)?,
                Format::Json => output::raw_to_stderr(explanations.as_bytes())?,
            }
        }
        if races > 0 {
            let message = format!(
                "{} with moments at which the interrupt does harm",
                output::count(races, "program")
            );
            let hint = match &self.snapshot {
                Some(file) => {
                    format!("debug the first one: `rtmark sim --resume {} --gdb :3333`", file.display())
                }
                None => "save the first one with --snapshot FILE, then debug it: `rtmark sim --resume FILE --gdb \
                         :3333`"
                    .to_owned(),
            };
            return Ok(CliError::new(Exit::Faulted, message, hint).show());
        }
        if is_cut {
            let message = "the search is incomplete: the results cover only some of the points";
            let hint = "raise --budget, or run again with the same --state to resume";
            return Ok(CliError::new(Exit::OutOfBudget, message, hint).show());
        }
        Ok(Exit::Fine)
    }

    fn options(&self, budget: u64, reach: Reach) -> SearchOptions {
        SearchOptions {
            interrupt: self.interrupt,
            priority: self.priority,
            above: self.above,
            second: self.second.map(|interrupt| SecondInterrupt {
                interrupt,
                priority: self.second_priority,
                distance: self.distance,
            }),
            reach,
            window: self.window,
            whole_run: self.whole_run,
            woken: self.woken.clone(),
            budget,
        }
    }

    fn search(
        &self,
        subject: &Subject,
        path: &Path,
        verbosity: Verbosity,
    ) -> Result<Findings, CliError> {
        let mut begun = Findings::default();
        if let Some(file) = self.state.as_deref().filter(|file| file.exists()) {
            let known = Part::read(file)?;
            let wanted = Part::new(subject, path.question(), Findings::default());
            if !known.is_same_search(&wanted) {
                let message = format!("{}: the file holds another search", file.display());
                let hint = "give another file, or delete this one to start again";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
            begun = known.findings;
        }
        let share = self.partition.unwrap_or(Share::WHOLE);
        let total: u64 =
            (0..path.len()).filter(|piece| share.holds(*piece)).map(|p| path.cycles_of(p)).sum();
        let bar = if verbosity.quiet {
            ProgressBar::hidden()
        } else {
            // Nothing is drawn if stderr is not a terminal.
            ProgressBar::new(total)
        };
        let template =
            "{spinner} {bar:24} {percent:>3} %  {pos} of {len} points  {msg}  about {eta} left";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(subject.name());
        bar.set_position(begun.points);
        let began = (Instant::now(), begun.points);
        let written = Mutex::new(Instant::now());
        let control = Control { cancelled: &CANCELLED, share, budget: self.budget };
        SEARCHES.store(true, Ordering::Relaxed);
        let findings = search(path, &control, begun, |findings| {
            bar.set_position(findings.points.min(total));
            if let Some(file) = &self.state
                && let Ok(mut last) = written.try_lock()
                && last.elapsed() >= SAVE_INTERVAL
            {
                *last = Instant::now();
                // Errors are ignored here: the final write reports them.
                let _ = Part::new(subject, path.question(), findings.clone()).write(file);
            }
        });
        bar.finish_and_clear();
        let findings = findings.map_err(|error| subject.internal_error(&error))?;
        if let Some(file) = &self.state {
            Part::new(subject, path.question(), findings.clone()).write(file)?;
        }
        if verbosity.verbose > 0 {
            let seconds = began.0.elapsed().as_secs_f64();
            let points = findings.points - began.1;
            let pairs = match findings.pairs {
                0 => String::new(),
                pairs => format!(", {}", output::count(pairs, "pair")),
            };
            say(format!(
                "{}: {}{pairs} in {seconds:.2} s; {} entries simulated, {} points followed",
                subject.name(),
                output::count(points, "point"),
                findings.tried,
                findings.followed
            ));
        }
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("worst", &schemars::schema_for!(Document));
    }

    #[test]
    fn option_values_parse_or_are_rejected() {
        assert_eq!(byte("0x40"), Ok(0x40));
        assert!(byte("256").is_err() && byte("+5").is_err());
        let wide = Ok(Window { from: 1000, to: 0x1_0800 });
        assert_eq!((window("1_000:0x1_0800"), window("1000:0X10800")), (wide.clone(), wide));
        assert!(window("5:5").is_err() && window("5").is_err());
    }
}
