//! Surveys a stretch of the run: where its cycles go, what ran when, and which peripherals were used.
//! were used.

use std::io;
use std::time::{Duration, Instant};

use rtmark_observe::{FunctionCost, Profile};
use rtmark_sim::{Cycles, Machine, Stop};
use rtmark_trace::{Recorder, Slice, Tasks, Timeline, Track};
use serde::Serialize;

use crate::event::{Event, send};
use crate::request::MAX_CYCLES;
use crate::session::{Program, Session};
use crate::touched::{AccessRecorder, Used};

/// The number of cycles observed between checks of the clock.
const SLICE: u64 = 50_000;
/// The most stacks, functions, lines and marks reported: the most expensive ones.
const MAX_STACKS: usize = 1500;
const MAX_ROWS: usize = 60;
/// The horizontal resolution of a picture. Closer items are drawn as one.
const WIDTH: u64 = 1200;

/// Something that takes time: from, to, name.
type Span = (u64, u64, String);

/// A row of the timeline.
#[derive(Debug, Serialize)]
pub struct Lane {
    name: String,
    category: &'static str,
    spans: Vec<Span>,
    /// The number of items before those too close together were merged.
    of: usize,
}

/// The result of a survey.
#[derive(Debug, Serialize)]
pub struct Surveyed {
    from: u64,
    to: u64,
    cycles: u64,
    /// Stacks with their cycles: `main;work;memcpy`.
    folded: Vec<(String, u64)>,
    functions: Vec<FunctionCost>,
    /// Source lines with cycles and instructions.
    lines: Vec<(String, u64, u64)>,
    lanes: Vec<Lane>,
    used: Vec<Used>,
}

/// A survey in progress.
#[derive(Debug)]
pub struct Survey {
    range: [u64; 2],
    from: u64,
    machine: Machine,
    watching: ((Profile<'static>, Recorder<'static, 'static>), AccessRecorder),
}

impl Survey {
    fn new(machine: Machine, range: [u64; 2], program: Program) -> Self {
        let tasks = Tasks::new(program.bytes, program.image, program.lines);
        let profile = Profile::new(&machine, program.image.symbols());
        let recorder = Recorder::new(&machine, program.image, program.lines, tasks);
        let watching = ((profile, recorder), AccessRecorder::default());
        Self { range, from: machine.cycles().0, machine, watching }
    }

    fn finish(self, program: Program) -> Surveyed {
        let ((profile, recorder), touched) = self.watching;
        let to = self.machine.cycles().0;
        let report = profile.report(&self.machine, program.lines);
        let mut folded: Vec<_> = report
            .folded
            .iter()
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(path, cycles)| (path.to_owned(), cycles.parse().unwrap_or(0)))
            .collect();
        folded.sort_by_key(|(_, cycles): &(String, u64)| std::cmp::Reverse(*cycles));
        folded.truncate(MAX_STACKS);
        let mut functions = report.functions;
        functions.truncate(MAX_ROWS);
        let lines = report.lines.into_iter().take(MAX_ROWS);
        let lines =
            lines.map(|(line, cost)| (line.to_string(), cost.cycles, cost.instructions)).collect();
        let lanes = lanes(recorder.finish(to), (to - self.from).div_ceil(WIDTH));
        let used = touched.used();
        Surveyed {
            from: self.from,
            to,
            cycles: report.cycles,
            folded,
            functions,
            lines,
            lanes,
            used,
        }
    }
}

/// Begins or continues a survey, and reports its result or progress.
pub fn survey(
    session: &mut Session,
    range: [u64; 2],
    pace: Option<Duration>,
) -> io::Result<Result<(), String>> {
    let [from, to] = range;
    let to = to.min(session.reached());
    if from >= to || to - from > MAX_CYCLES {
        let text = format!("a survey covers 1 to {MAX_CYCLES} cycles that have already run");
        return Ok(Err(text));
    }
    let program = session.program();
    let under_way = session.survey.take().filter(|survey| survey.range == range);
    let begun = under_way.or_else(|| {
        let machine = session.history().at_cycle(from)?.machine;
        Some(Survey::new(machine, range, program))
    });
    let Some(mut survey) = begun else {
        return Ok(Err("the run does not reach back that far".to_owned()));
    };
    let began = Instant::now();
    loop {
        let now = survey.machine.cycles().0;
        let until = now.saturating_add(SLICE).min(to);
        let stop = survey.machine.run_observed(Cycles(until), &mut survey.watching);
        let _ = survey.machine.take_console();
        if survey.machine.cycles().0 >= to || stop != Stop::Limit {
            return send(&Event::Surveyed(Box::new(survey.finish(program)))).map(Ok);
        }
        if pace.is_some_and(|pace| began.elapsed() >= pace) {
            send(&Event::Surveying { cycles: survey.machine.cycles().0, to })?;
            session.survey = Some(survey);
            return Ok(Ok(()));
        }
    }
}

/// Returns the rows of a timeline, interrupts at the top.
fn lanes(timeline: Timeline, narrow: u64) -> Vec<Lane> {
    let mut tracks = timeline.tracks;
    tracks.sort_by(|one, other| (one.rank, &one.name).cmp(&(other.rank, &other.name)));
    tracks.truncate(MAX_ROWS);
    tracks.into_iter().map(|track| lane(track, narrow)).collect()
}

fn lane(track: Track, narrow: u64) -> Lane {
    let of = track.slices.len();
    let mut slices = track.slices;
    slices.sort_by_key(|slice| slice.from);
    let mut spans: Vec<Span> = Vec::new();
    for Slice { name, from, to, .. } in slices {
        match spans.last_mut() {
            Some(last)
                if from < last.1.saturating_add(narrow) && last.2 == name && to >= last.1 =>
            {
                last.1 = to;
            }
            _ => spans.push((from, to, name)),
        }
    }
    spans.truncate(2 * WIDTH as usize);
    Lane { name: track.name, category: track.category, spans, of }
}
