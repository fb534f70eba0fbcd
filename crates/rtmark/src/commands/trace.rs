//! `rtmark trace`

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::Args;
use rtmark_firmware::probes::{Kind, Record};
use rtmark_observe::{Edge, ExceptionNames, Lines, RunClock};
use rtmark_runner::{Ending, RunLimit, Session, probe_watch};
use rtmark_sim::{Cycles, Irq, Machine, Watch, WatchId};
use rtmark_trace::{Mark, Recorder, Slice, SpanEdge, Tasks, Timeline};
use rtmark_worst::{Aspect, Control, Findings, Latencies, Reach, Share, Window, search};

use super::limit::Limit;
use super::sim::ending::{self, End};
use super::worst::{Choice, INJECTED, SearchOptions, Subject, held_by, window};
use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::progress;
use crate::replacement::{self, replace};

/// Write a timeline of a run for Perfetto: tasks, handlers, masks, spans
///
/// The file opens in Perfetto (ui.perfetto.dev) and its trace processor. Each task has a row with the
/// name that the kernel gives it; ready and running are distinguished if the kernel's lists allow it
/// (FreeRTOS). Times are since reset, on the core's clock; each slice also gives its length in
/// cycles.
#[derive(Debug, Args)]
#[command(override_usage = super::worst::usage("trace"))]
#[command(mut_arg("lasts", |arg| arg.conflicts_with_all(["window", "worst"])))]
#[command(mut_arg("max_cycles", |arg| arg.conflicts_with("window")))]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark trace --kernel freertos --load --soc stm32f405 -o load.pftrace
  rtmark trace --kernel embassy --scenario queue.handover --soc stm32c031 -o queue.pftrace
  rtmark trace app.elf --soc stm32f405 --window 100000:200000 -o app.pftrace
  rtmark trace --kernel freertos --load --soc stm32f405 --worst -o worst.pftrace

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// File to write; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Cycles of the run to show [default: all]
    #[arg(long, value_name = "FROM:TO", value_parser = window, conflicts_with = "worst")]
    window: Option<Window>,
    /// Find the worst moment for an interrupt, as `rtmark worst` does, and show the run with the
    /// interrupt at that moment
    #[arg(long)]
    worst: bool,
    /// With --worst: cycles to show before the interrupt and after it is served
    #[arg(long, value_name = "N", default_value_t = 5000, requires = "worst")]
    around: u64,
    /// With --worst: the interrupt: an external one's number, SysTick or PendSV
    #[arg(long, value_name = "N", default_value_t = INJECTED.into(), value_parser = super::sim::irq, requires = "worst")]
    interrupt: Irq,
    /// With --worst: priority of the interrupt, as the priority register holds it [default: the most
    /// urgent that may call the kernel]
    #[arg(long, value_name = "P", value_parser = super::sim::byte, requires = "worst")]
    priority: Option<u8>,
    #[command(flatten)]
    limit: Limit,
}

/// How many cycles before a window tasks are followed, so that their states are known when it starts.
const FOLLOWED: u64 = 4_000_000;
/// How many slices and marks a file may have before a warning is printed.
const MANY_EVENTS: usize = 2_000_000;

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        replacement::check(output::file(&self.output))?;
        let subjects = self.choice.subjects(verbosity)?;
        let [subject] = subjects.as_slice() else {
            let message =
                format!("a timeline shows a single run, but {} were selected", subjects.len());
            let hint = "choose a single kernel, scenario and soc";
            return Err(CliError::new(Exit::Usage, message, hint));
        };
        let mut recorded = if self.worst {
            self.worst(subject, verbosity)?
        } else {
            let records = subject.records()?;
            let start = subject.machine(&records)?;
            let (from, limit) = match self.window {
                Some(Window { from, to }) => (from, RunLimit::Cycles(Cycles(to))),
                None => (0, self.limit.of_observed()),
            };
            record(subject, &records, start, from, limit, verbosity)
        };
        if let Ending::Internal(error) = &recorded.ending {
            return Err(subject.internal_error(error));
        }
        recorded
            .timeline
            .tracks
            .iter_mut()
            .for_each(|track| track.marks.sort_by_key(|mark| mark.at));
        let events: usize = recorded
            .timeline
            .tracks
            .iter()
            .map(|track| track.slices.len() + track.marks.len())
            .sum();
        if events == 0 {
            let message = format!("{}: no events in the window", subject.name());
            let hint = "choose another --window; `rtmark sim` shows how far the program runs";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        if events > MANY_EVENTS && !verbosity.quiet {
            say(format!(
                "note: Perfetto may load {events} events slowly; --window selects some of them"
            ));
        }
        let bytes = recorded.timeline.to_perfetto(&subject.name(), &recorded.clock.history);
        let to = output::file(&self.output);
        match to {
            Some(path) => replace(path, &bytes)?,
            None => output::raw(&bytes)?,
        }
        let tracks = &recorded.timeline.tracks;
        let tasks = tracks.iter().filter(|track| track.category == "task").count();
        let summary = format!(
            "{}: {}, {} and {} in cycles {} to {}",
            to.unwrap_or(FilePath::new("stdout")).display(),
            output::count(tasks, "task"),
            output::count(tracks.len() - tasks, "other track"),
            output::count(events, "event"),
            recorded.window.from,
            recorded.window.to,
        );
        match to {
            Some(_) => output::data(&(summary + "\n"))?,
            None if verbosity.quiet => {}
            None => say(summary),
        }
        if !verbosity.quiet {
            say(format!("times are at {}", recorded.clock.describe()));
            self.choice.clock.notes(&recorded.clock).iter().for_each(say);
            recorded.stack_overflow.iter().for_each(say);
            recorded.without_model.iter().for_each(say);
        }
        // What does nothing more has a complete timeline.
        let end = End::Other(recorded.ending);
        let exit = match &end {
            End::Other(Ending::Limit | Ending::Asleep) => Exit::Fine,
            end => ending::exit(end),
        };
        if exit == Exit::Fine {
            return Ok(exit);
        }
        let hint =
            "the timeline is complete up to there; `rtmark sim` shows what the program printed";
        Ok(CliError::new(exit, format!("{}: {}", subject.name(), recorded.message), hint).show())
    }

    /// Records the run with the interrupt at its worst moment.
    fn worst(&self, subject: &Subject, verbosity: Verbosity) -> Result<RecordedRun, CliError> {
        let ten_seconds = 10 * u64::from(subject.soc.soc.clock.0);
        let budget = self.limit.max_cycles().unwrap_or(ten_seconds);
        let options = SearchOptions {
            interrupt: self.interrupt,
            priority: self.priority,
            above: false,
            second: None,
            reach: Reach::Entry,
            window: None,
            whole_run: false,
            woken: None,
            budget,
        };
        let (path, _) = subject.path(&options)?;
        let cancelled = AtomicBool::new(false);
        let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
        let found = search(&path, &control, Findings::default(), |_| {})
            .map_err(|error| super::internal_error(&error, &subject.image, &subject.elf))?;
        let worst = found.aspect(Aspect::Handler).and_then(Latencies::worst);
        let witness = worst.and_then(|case| path.witness(Aspect::Handler, case));
        let Some(witness) = witness else {
            let message = format!("{}: the interrupt is never served", subject.name());
            let hint = "`rtmark worst` shows why";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        };
        let mut machine = path.start().clone();
        machine.pend_interrupt(self.interrupt, Cycles(witness.point));
        let from = witness.point.saturating_sub(self.around);
        let to = RunLimit::Cycles(Cycles(witness.served.saturating_add(self.around)));
        let mut recorded = record(subject, &subject.records()?, machine, from, to, verbosity);
        let names = ExceptionNames::new(&path.at(witness.point), subject.image.symbols());
        let held = witness.blockers().into_iter();
        let cause = |held| held_by(held, &names);
        let held = held.filter_map(|(held, cycles)| Some(format!("{} {cycles}", cause(held?))));
        let name = format!("{} is pending", names.name(self.interrupt.exception()));
        let about = vec![("held by", held.collect::<Vec<_>>().join(", "))];
        let slice = Slice { name, from: witness.point, to: witness.served, about };
        recorded.timeline.track("worst case", "worst", -1).slices.push(slice);
        Ok(recorded)
    }
}

/// Watches the ends of a subject's spans. Where one span ends as the next begins, the end comes first.
fn watch_spans<'a>(
    subject: &Subject,
    records: &'a [Record],
    machine: &mut Machine,
) -> Vec<(WatchId, &'a Record, Edge)> {
    let ours = records.iter().filter(|record| subject.holds(record));
    let edge = |record: &'a Record| Some((record, probe_watch(record.kind)?));
    let mut edges: Vec<_> = ours.filter_map(edge).collect();
    edges.sort_by_key(|(_, (_, edge))| *edge == Edge::Begin);
    let watch = |(record, (watch, edge))| (machine.watch(watch), record, edge);
    edges.into_iter().map(watch).collect()
}

/// A recorded run.
struct RecordedRun {
    timeline: Timeline,
    /// The cycles that the timeline shows.
    window: Window,
    ending: Ending,
    /// What ended the run, and where.
    message: String,
    stack_overflow: Option<String>,
    /// What has no model.
    without_model: Vec<String>,
    /// The core's clock.
    clock: RunClock,
}

/// Runs a machine to a limit, and records the timeline from a cycle on.
fn record(
    subject: &Subject,
    records: &[Record],
    mut machine: Machine,
    from: u64,
    limit: RunLimit,
    verbosity: Verbosity,
) -> RecordedRun {
    // Spans may be open when the window begins.
    let edges = watch_spans(subject, records, &mut machine);
    let _ = machine.run(Cycles(from.saturating_sub(FOLLOWED)));
    let mut hits = machine.take_hits();
    let pended = subject.soc.soc.pended_exceptions();
    let pended: HashMap<_, _> =
        pended.map(|exception| (machine.watch(Watch::Pend(exception)), exception)).collect();
    let lines = Lines::new(&subject.elf);
    let tasks = Tasks::new(&subject.elf, &subject.image, lines.as_ref());
    let mut recorder = Recorder::new(&machine, &subject.image, lines.as_ref(), tasks);
    let mut session = Session::with(machine, &subject.image).with_file(&subject.elf);
    let bar = progress::bar(verbosity, subject.name());
    let Ok(ending) = limit.run(&mut session, |session, until| {
        bar.set_length(until.0);
        Ok::<_, Infallible>(session.run_observed(until, &mut recorder, |machine| {
            machine.take_console();
            bar.set_position(machine.cycles().0.min(until.0));
        }))
    });
    bar.finish_and_clear();
    let to = session.machine.cycles().min(limit.cycle(&session)).0;
    let mut timeline = recorder.finish(to);
    hits.extend(session.machine.take_hits());
    let ours = records.iter().filter(|record| subject.holds(record));
    let reset = ours.filter(|record| matches!(record.kind, Kind::BeginAtReset));
    let name = |record: &Record| record.scenario.to_string();
    let reset = reset.map(|record| SpanEdge { name: name(record), at: 0, begins: true });
    let spans = hits.iter().flat_map(|hit| {
        let here = edges.iter().filter(|(watch, ..)| *watch == hit.watch);
        here.map(|(_, record, edge)| {
            let begins = *edge == Edge::Begin;
            SpanEdge { name: name(record), at: hit.cycle.0, begins }
        })
    });
    timeline.add_spans(reset.chain(spans), to);
    for hit in &hits {
        if let Some(exception) = pended.get(&hit.watch) {
            let name =
                format!("{} becomes pending", subject.soc.soc.core.exception_name(*exception));
            let mark = Mark { name, at: hit.cycle.0 };
            timeline.track("pending", "pend", 3).marks.push(mark);
        }
    }
    timeline.cut(from, to);
    RecordedRun {
        timeline,
        window: Window { from, to },
        message: session.describe(&ending),
        ending,
        stack_overflow: session.stack_overflow(),
        without_model: rtmark_observe::model_notes(&session.machine),
        clock: session.clock(),
    }
}
