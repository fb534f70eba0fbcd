//! `rtmark calls`

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use clap::{Args, ValueEnum};
use rtmark_calls::{
    Api, CallRecorder, CalledFunction, InlinedCall, KernelCost, Origin, Outcome, Site,
};
use rtmark_model::{HeldInterval, Pattern};
use rtmark_observe::{HeldBackRecorder, HeldInterrupt, Lines, Map};
use rtmark_runner::{Ending, Session, input_file};
use rtmark_sim::Image;
use serde::Serialize;

use super::clock::{self, ClockPeriod};
use super::limit::Limit;
use super::sim::ending::{self, End};
use super::worst::{Choice, Subject};
use crate::cli::Verbosity;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::progress;

/// Show what an application spends in its kernel: time each kernel call of a run
///
/// Each call of a kernel function is timed from the calling instruction to the first one after the
/// return, or, if the call switches to another thread, to that thread's first instruction outside
/// the kernel. Kernel functions are recognised by name: those of FreeRTOS, Zephyr, ThreadX, ChibiOS,
/// RTX5, uC/OS-III, RIOT, NuttX, lilos, RTIC and Embassy are built in, others are given with --api.
#[derive(Debug, Args)]
#[command(override_usage = super::worst::usage("calls"))]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark calls app.elf --soc stm32f405
  rtmark calls app.elf --soc nrf52840 --for 100ms --format json
  rtmark calls app.elf --soc stm32l432 --api mykernel.toml
  rtmark calls --kernel freertos --load --soc stm32f405

Example of a file for --api:
  name = \"mykernel\"
  calls = [\"mk_*\"]           # functions that applications call
  internal = [\"mk_sched_*\"]  # internal functions, the kernel's own threads and handlers
  idle = [\"mk_idle\"]         # the idle thread
  calls_back = [\"mk_start\"]  # functions that call the application's threads, timers, handlers

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Kernel, such as `zephyr`, or a file with the names of its functions, as in the example
    /// [default: recognised from the image's symbols]
    #[arg(long, value_name = "KERNEL|FILE")]
    api: Option<String>,
    #[command(flatten)]
    limit: Limit,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text tables
    Text,
    /// JSON: docs/schema/calls.schema.json
    Json,
    /// CSV, one line per function, origin and outcome
    Csv,
}

/// The largest number of the application's functions that a note names.
const LOOKALIKES: usize = 5;

/// The version of [`Document`].
const SCHEMA_VERSION: u32 = 1;
/// How many call sites of a function are shown, and how many stretches in which interrupts are held back.
const SHOWN: usize = 3;
/// The longest name in a column of the table, in characters; longer ones have a line of their own.
const WIDEST: usize = 48;
/// How many inlined functions are shown.
const INLINED: usize = 8;

/// The output of `rtmark calls --format json`. Fields may be added; `schema_version` increases when one
/// changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document {
    schema_version: u32,
    /// The program that wrote it, with its version.
    generator: &'static str,
    /// The version of the timing rules.
    timing_model: &'static str,
    /// The runs, one for each image and soc.
    runs: Vec<CallRun>,
}

/// A run, and what the application spent in the kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallRun {
    /// The image, or kernel and scenario, and the soc.
    name: String,
    /// SHA-256 of the ELF file.
    elf_sha256: String,
    /// The name of the soc.
    soc: String,
    /// The core's clock in hertz: the one that it had for most of the run.
    clock_hz: u32,
    /// The frequencies that the core had.
    clocks: Vec<ClockPeriod>,
    /// The kernel whose API identified the functions.
    kernel: String,
    /// What else to know: that times are of another clock than the program sets, or that a pattern of --api matches
    /// nothing, or that a row's cycles are not all the kernel's.
    notes: Vec<String>,
    /// How the run ended, in one word.
    ending: &'static str,
    /// How the run ended, in a sentence.
    message: String,
    /// The length of the run, in cycles.
    cycles: u64,
    /// The calls, and how the cycles were shared.
    paid: KernelCost,
    /// The longest intervals in which the most urgent interrupt would have been held back.
    held: Vec<HeldInterval>,
    #[serde(skip)]
    exit: Exit,
    #[serde(skip)]
    hint: Option<&'static str>,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let known = Api::builtin().map_err(|error| {
            CliError::new(Exit::Internal, error.to_string(), "report this as a bug in rtmark")
        })?;
        let own = self.api.as_deref().map(|api| named(api, &known)).transpose()?;
        let subjects = self.choice.subjects(verbosity)?;
        let runs: Result<Vec<CallRun>, CliError> = subjects
            .iter()
            .map(|subject| self.observe(subject, own.as_ref(), &known, verbosity))
            .collect();
        let runs = runs?;
        match self.format {
            Format::Json => {
                let document = Document {
                    schema_version: SCHEMA_VERSION,
                    generator: GENERATOR,
                    timing_model: rtmark_sim::TIMING_MODEL,
                    runs,
                };
                output::data(&output::json(&document)?)?;
                return Ok(worst_exit(&document.runs));
            }
            Format::Csv => output::data(&csv(&runs)?)?,
            Format::Text => {
                let texts: Vec<String> = runs.iter().map(text).collect();
                output::data(&texts.join("\n"))?;
            }
        }
        for run in runs.iter().filter(|_| !verbosity.quiet) {
            run.notes.iter().for_each(|note| say(format!("{}: {note}", run.name)));
        }
        for run in runs.iter().filter(|run| run.exit != Exit::Fine) {
            let hint = run.hint.unwrap_or("the results cover the run up to that point");
            let _ = CliError::new(run.exit, format!("{}: {}", run.name, run.message), hint).show();
        }
        Ok(worst_exit(&runs))
    }

    /// Runs one image and times its calls; `own` is the kernel given with --api.
    fn observe(
        &self,
        subject: &Subject,
        own: Option<&Api>,
        known: &[Api],
        verbosity: Verbosity,
    ) -> Result<CallRun, CliError> {
        let image = &subject.image;
        let by_name = || known.iter().find(|api| subject.kernel.as_ref() == Some(&api.id));
        let api = own
            .or_else(by_name)
            .or_else(|| Api::recognise(known, image.symbols()))
            .ok_or_else(|| unknown(subject, known))?;
        let machine = subject.machine(&subject.records()?)?;
        let limit = self.limit.of_observed();
        let lines = Lines::new(&subject.elf);
        let recorder = CallRecorder::new(&machine, image, api, lines.as_ref());
        let most_urgent =
            HeldInterrupt::MaskedOrHandled(subject.soc.soc.core.most_urgent_priority());
        let held = HeldBackRecorder::new(&machine, image, most_urgent);
        let mut session = Session::with(machine, image).with_file(&subject.elf);
        let bar = progress::bar(verbosity, subject.name());
        let landmarks = recorder.landmarks();
        let mut observers = (recorder, held);
        let ending = limit.run(&mut session, |session, until| {
            bar.set_length(until.0);
            Ok::<_, CliError>(session.run_observed_at(
                &landmarks,
                until,
                &mut observers,
                |machine| {
                    machine.take_console();
                    bar.set_position(machine.cycles().0.min(until.0));
                },
            ))
        })?;
        bar.finish_and_clear();
        if let Ending::Internal(error) = &ending {
            return Err(subject.internal_error(error));
        }
        let message = session.describe(&ending);
        let (recorder, held) = observers;
        let entries = recorder.entries();
        let lookalikes = lookalikes(&api.name, &recorder.lookalikes().collect::<Vec<_>>());
        let paid = recorder.finish(&session.machine);
        if entries == 0 && paid.inlined.is_empty() {
            return Err(unknown(subject, std::slice::from_ref(api)));
        }
        let mut held = held.intervals_and_open(&session.machine, Map::new(image, lines.as_ref()));
        held.truncate(SHOWN);
        let clock = session.clock();
        // Reaching the limit is the expected end.
        let is_cut = matches!(ending, Ending::Limit);
        let end = End::Other(ending);
        let hint = ending::hint(&end, &message);
        Ok(CallRun {
            name: subject.name(),
            elf_sha256: subject.sha256.clone(),
            soc: subject.soc.soc.name.clone(),
            clock_hz: clock.main().0,
            clocks: clock::periods(&clock.history),
            notes: own
                .filter(|api| api.id.is_empty())
                .map_or_else(Vec::new, |api| unmatched(api, image, lines.as_ref()))
                .into_iter()
                .chain(lookalikes)
                .chain(called_back(api, &paid))
                .chain(session.stack_overflow())
                .chain(self.choice.clock.notes(&clock).iter().map(ToString::to_string))
                .chain(rtmark_observe::model_notes(&session.machine))
                .collect(),
            kernel: api.name.clone(),
            ending: ending::word(&end),
            message,
            cycles: session.machine.cycles().0,
            paid,
            held,
            exit: if is_cut { Exit::Fine } else { ending::exit(&end) },
            hint,
        })
    }
}

/// Finds a built-in kernel by its id, or reads one from a file.
fn named(api: &str, known: &[Api]) -> Result<Api, CliError> {
    if let Some(found) = known.iter().find(|known| known.id == api) {
        return Ok(found.clone());
    }
    let text = input_file::read_text(Path::new(api)).map_err(|error| {
        let ids: Vec<&str> = known.iter().map(|known| known.id.as_str()).collect();
        let near = or_nearest(api, ids.iter().copied());
        let hint = format!("give the path of a file, or one of: {}", ids.join(", "));
        CliError::new(Exit::Usage, format!("{api}: {error}{near}"), &hint)
    })?;
    Api::from_toml(api, &text).map_err(|error| {
        let hint = "`rtmark calls --help` shows an example";
        CliError::new(Exit::Usage, error.to_string(), hint)
    })
}

/// Describes the patterns of a user's file that match no function of an image, whose cycles count as the
/// application's.
fn unmatched(api: &Api, image: &Image, lines: Option<&Lines<'_>>) -> Vec<String> {
    let note = |(key, pattern): (&str, &Pattern)| {
        let mangled = if pattern.to_string().starts_with("_Z") {
            "; names of C++ and Rust are those of the source, as in kernel::*"
        } else {
            ""
        };
        format!("--api: `{pattern}` of `{key}` matches no function of the image{mangled}")
    };
    api.unmatched(image.symbols(), lines).into_iter().map(note).collect()
}

/// Describes the application's functions that are named like the kernel's.
fn lookalikes(kernel: &str, names: &[&str]) -> Option<String> {
    let (shown, rest) = names.split_at(names.len().min(LOOKALIKES));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!shown.is_empty()).then(|| {
        format!(
            "named like {kernel}'s, but in the application's source files, and so part of whatever calls them: {}{more}",
            shown.join(", ")
        )
    })
}

/// Describes the rows whose cycles are not all the kernel's.
fn called_back(api: &Api, paid: &KernelCost) -> Vec<String> {
    let returned = paid.called.iter().filter(|row| row.outcome == Outcome::Returned);
    let back = returned.filter(|row| api.calls_application(&row.symbol));
    let names: BTreeSet<&str> = back.map(|row| row.function.as_str()).collect();
    let note = |name| {
        format!(
            "{name} calls the application back: the cycles of its row include the application's"
        )
    };
    names.into_iter().map(note).collect()
}

/// Returns the error for an image in which no kernel function is recognised.
fn unknown(subject: &Subject, known: &[Api]) -> CliError {
    let name = subject.name();
    if subject.image.symbols().names().next().is_none() {
        let hint = "give the ELF file that the linker wrote, before it was stripped";
        return CliError::new(Exit::Usage, format!("{name}: the image has no symbols"), hint);
    }
    let names: Vec<&str> = known.iter().map(|api| api.name.as_str()).collect();
    let message = format!(
        "{name}: the image has none of the functions that applications call in {}",
        names.join(", ")
    );
    let hint = "name its kernel's functions with --api; `rtmark calls --help` shows an example";
    CliError::new(Exit::NothingSelected, message, hint)
}

fn worst_exit(runs: &[CallRun]) -> Exit {
    runs.iter().map(|run| run.exit).find(|exit| *exit != Exit::Fine).unwrap_or(Exit::Fine)
}

const fn origin(from: Origin) -> &'static str {
    match from {
        Origin::Thread => "thread",
        Origin::Interrupt => "interrupt",
    }
}

const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Returned => "returns",
        Outcome::Switched => "switches",
    }
}

/// Formats a share in per cent.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn text(run: &CallRun) -> String {
    let KernelCost { called, open, inlined, never, shares, .. } = &run.paid;
    let mut text =
        format!("{}: {} in {} cycles; {}\n\n", run.name, run.kernel, run.cycles, run.message);
    match (called.as_slice(), inlined.as_slice()) {
        ([], []) => text.push_str("the application never called its kernel\n"),
        ([], _) => text.push_str(
            "the application called no kernel function: the compiler inlined those that it uses\n",
        ),
        _ => table(called, run.cycles, &mut text),
    }
    let whole = shares.cycles();
    let _ = writeln!(text, "\nwhere the cycles went");
    for (what, cycles) in [
        ("application", shares.application),
        ("its handlers", shares.interrupts),
        ("kernel", shares.kernel),
        ("idle", shares.idle),
    ] {
        let _ = writeln!(text, "{cycles:>12}  {:>8}  {what}", percent(cycles, whole));
    }
    if !run.held.is_empty() {
        let _ = writeln!(
            text,
            "\nlongest stretches, in cycles, in which the most urgent interrupt would have been held back"
        );
        for HeldInterval { cycles, times, by, from, open, .. } in &run.held {
            let by = by.join(", ");
            let end = if *open { ", still when the run ended" } else { "" };
            let _ = writeln!(text, "{cycles:>12}  {times:>6} ×  by {by}, from {from}{end}");
        }
    }
    let list = |what: &str, items: Vec<String>, text: &mut String| {
        if !items.is_empty() {
            let _ = writeln!(text, "\n{what}: {}", items.join(", "));
        }
    };
    let calls = |(function, calls): &(String, u64)| format!("{function} {calls}");
    list("still in progress when the run ended", open.iter().map(calls).collect(), &mut text);
    if !inlined.is_empty() {
        text.push_str(
            "\ninlined by the compiler: the cycles of their instructions; individual calls cannot be counted\n",
        );
        for call in inlined.iter().take(INLINED) {
            let InlinedCall { function, caller, cycles } = call;
            let share = percent(*cycles, whole);
            let _ = writeln!(text, "{cycles:>12}  {share:>8}  {function}, in {caller}");
        }
        let more = inlined.len().saturating_sub(INLINED);
        if more > 0 {
            let _ = writeln!(text, "{:24}and {more} more", "");
        }
    }
    if !never.is_empty() {
        let count = output::count(never.len(), "other kernel function");
        let _ = writeln!(text, "\nnever called: {count} in the image");
    }
    text
}

fn table(called: &[CalledFunction], cycles: u64, text: &mut String) {
    let width = |one: &CalledFunction| one.row_label(called).chars().count();
    let fitting = called.iter().map(width).filter(|width| *width <= WIDEST);
    let width = fitting.max().unwrap_or(0).max("function".len());
    let _ = writeln!(
        text,
        "{:width$}  {:9}  {:8}  {:>7} {:>5} {:>8} {:>8} {:>8} {:>10} {:>7}",
        "function", "from", "outcome", "calls", "hit", "min", "median", "max", "cycles", "share"
    );
    for one in called {
        let figures = one.cycles.map_or_else(
            || format!("{:>8} {:>8} {:>8} {:>10} {:>7}", "-", "-", "-", "-", "-"),
            |figures| {
                let rtmark_calls::Cycles { min, median, max, total } = figures;
                let share = percent(total, cycles);
                format!("{min:>8} {median:>8} {max:>8} {total:>10} {share:>7}")
            },
        );
        let (from, and) = (origin(one.from), outcome(one.outcome));
        let mut label = one.row_label(called);
        if label.chars().count() > WIDEST {
            let _ = writeln!(text, "{label}");
            label.clear();
        }
        let _ = writeln!(
            text,
            "{label:width$}  {from:9}  {and:8}  {:>7} {:>5} {figures}",
            one.calls, one.hit
        );
        for Site { place, calls, .. } in one.sites.iter().take(SHOWN) {
            let _ = writeln!(text, "  {calls:>7} ×  {place}");
        }
        let more = one.sites.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "             and {}", output::count(more, "more place"));
        }
    }
    text.push_str(
        "\nAll times are in cycles. returns: from the call to its return; switches: from the call to the\n\
         first instruction of another thread outside the kernel; hit: calls that an interrupt hit,\n\
         which are in neither cycles nor share of their row\n",
    );
}

/// The columns of the CSV output.
const COLUMNS: [&str; 13] = [
    "run",
    "soc",
    "kernel",
    "function",
    "symbol",
    "from",
    "outcome",
    "calls",
    "hit",
    "min_cycles",
    "median_cycles",
    "max_cycles",
    "total_cycles",
];

fn csv(runs: &[CallRun]) -> Result<String, std::io::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for run in runs {
        for one in &run.paid.called {
            let figures = one.cycles.map(|all| [all.min, all.median, all.max, all.total]);
            let figures = figures.map_or_else(
                || std::array::from_fn(|_| String::new()),
                |figures| figures.map(|figure| figure.to_string()),
            );
            let words = [&run.name, &run.soc, &run.kernel, &one.function, &one.symbol];
            let (calls, hit) = (one.calls.to_string(), one.hit.to_string());
            let counts = [origin(one.from), outcome(one.outcome), &calls, &hit];
            let words = words.into_iter().map(String::as_str).chain(counts);
            writer.write_record(words.chain(figures.iter().map(String::as_str)))?;
        }
    }
    let bytes = writer.into_inner().map_err(::csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookalikes_are_named_as_far_as_they_fit() {
        let said = |names: &[&str]| {
            let note = lookalikes("RIOT", names)?;
            note.rsplit_once(": ").map(|(_, names)| names.to_owned())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["a"]).as_deref(), Some("a"));
        assert_eq!(said(&["a", "b", "c", "d", "e"]).as_deref(), Some("a, b, c, d, e"));
        let seven = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(said(&seven).as_deref(), Some("a, b, c, d, e and 2 more"));
    }

    fn called(function: &str) -> CalledFunction {
        CalledFunction {
            function: function.to_owned(),
            symbol: function.to_owned(),
            from: Origin::Thread,
            outcome: Outcome::Returned,
            calls: 3,
            hit: 1,
            cycles: Some(rtmark_calls::Cycles { min: 5, median: 6, max: 7, total: 12 }),
            longest_began: None,
            sites: Vec::new(),
            namesakes: Vec::new(),
        }
    }

    #[test]
    fn a_name_of_any_length_leaves_the_columns_where_they_are() {
        let long = "embassy_executor::raw::".repeat(9);
        for names in [["xQueueGenericSend", long.as_str()], ["x", &long], [&long, &long]] {
            let mut text = String::new();
            table(&names.map(called), 1000, &mut text);
            let rows = text.lines().take_while(|line| !line.is_empty());
            let ends: Vec<_> = rows.filter_map(|line| line.find("thread")).collect();
            let head = text.lines().next().and_then(|line| line.find("from"));
            assert_eq!(ends, [head; 2].map(|at| at.expect("a head")), "{text}");
            assert!(names.iter().all(|name| text.contains(*name)), "{text}");
        }
    }

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("calls", &schemars::schema_for!(Document));
    }
}
