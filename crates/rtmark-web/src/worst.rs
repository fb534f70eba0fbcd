//! Finds the worst moment of the run for an interrupt.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rtmark_sim::{Blocker, CoreKind, Irq, Machine};
use rtmark_worst::{
    Aspect, Case, Control, Findings, Path, PathError, Question, Reach, SLICES, Share, Window,
    search,
};
use serde::Serialize;

use crate::event::{Event, send};
use crate::request::MAX_CYCLES;
use crate::session::Session;

/// The cycles after which a point is given up.
const PATIENCE: u64 = 200_000;
/// The interval between progress reports.
const PACE: Duration = Duration::from_millis(250);
/// The number of places reported.
const MAX_PLACES: usize = 8;

/// Minimum and maximum in slices of the window, by slice number.
pub type Slices = Vec<(u32, i64, i64)>;

/// A place before whose instruction the interrupt was taken, with its worst point.
#[derive(Debug, Serialize)]
pub struct Spot {
    address: u32,
    function: Option<String>,
    line: Option<String>,
    cycles: i64,
    /// The cycle since reset in which the interrupt becomes pending.
    point: u64,
}

/// The result of a search.
#[derive(Debug, Serialize)]
pub struct Found {
    interrupt: Irq,
    priority: u8,
    from: u64,
    to: u64,
    points: u64,
    slices: Slices,
    /// The number of slices into which the window is divided.
    of: u64,
    least: i64,
    median: Option<i64>,
    mean: Option<f64>,
    worst: i64,
    point: u64,
    /// The number of points after which the handler did not come.
    missing: u64,
    /// The probability that a thousand measurements at random moments would have met the worst one.
    chance: Option<f64>,
    /// The instruction during which the interrupt becomes pending in the worst case.
    interrupted: Option<String>,
    /// What held it back then, and for how many cycles.
    holders: Vec<(String, u64)>,
    spots: Vec<Spot>,
}

/// Searches a window and reports the result; the inner error states why it cannot.
pub fn worst(
    session: &Session,
    interrupt: Irq,
    priority: Option<u8>,
    [from, to]: [u64; 2],
) -> io::Result<Result<(), String>> {
    if from >= to || to - from > MAX_CYCLES {
        return Ok(Err(format!("a search covers 1 to {MAX_CYCLES} cycles")));
    }
    let Some(start) = session.history().beginning().map(|copy| copy.machine.clone()) else {
        return Ok(Err("the run has no beginning".to_owned()));
    };
    let path = match path(&start, interrupt, priority, Window { from, to }) {
        Ok(path) => path,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let last_report = Mutex::new((Instant::now(), Ok(())));
    let of = (0..path.len()).map(|piece| path.cycles_of(piece)).sum();
    let advanced = |found: &Findings| {
        let Ok(mut last_report) = last_report.lock() else { return };
        if last_report.0.elapsed() >= PACE {
            let slices = slices(found);
            last_report.1 = send(&Event::Searching { points: found.points, of, slices });
            last_report.0 = Instant::now();
        }
    };
    let cancelled = AtomicBool::new(false);
    let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
    let found = match search(&path, &control, Findings::default(), advanced) {
        Ok(found) => found,
        Err(error) => return Ok(Err(error.to_string())),
    };
    match answer(session, &path, &found) {
        Some(answer) => send(&Event::Found(Box::new(answer))).map(Ok),
        None => Ok(Err(format!(
            "interrupt {interrupt} never reaches its handler in cycles {from} to {to}"
        ))),
    }
}

/// Returns the path to be searched. The priority defaults to the program's own.
fn path(
    start: &Machine,
    interrupt: Irq,
    priority: Option<u8>,
    window: Window,
) -> Result<Path, PathError> {
    let question = |priority| Question {
        interrupt,
        priority,
        windows: vec![window],
        reach: Reach::Entry,
        patience: PATIENCE,
        woken: None,
        ends: Vec::new(),
        second: None,
    };
    let wanted = priority.unwrap_or(start.soc().core.most_urgent_priority());
    match Path::new(start.clone(), question(wanted)) {
        Err(PathError::Priority { found, .. }) if priority.is_none() => {
            Path::new(start.clone(), question(found))
        }
        other => other,
    }
}

fn slices(found: &Findings) -> Slices {
    let handler = found.aspect(Aspect::Handler);
    let slices = handler.into_iter().flat_map(|found| &found.slices);
    slices.map(|(at, slice)| (*at, slice.least, slice.most)).collect()
}

fn answer(session: &Session, path: &Path, found: &Findings) -> Option<Found> {
    let handler = found.aspect(Aspect::Handler)?;
    let case: Case = handler.worst()?;
    let witness = path.witness(Aspect::Handler, case);
    let map = session.map();
    let question = path.question();
    let window = question.windows.first()?;
    let spots = handler.worst_places().into_iter().take(MAX_PLACES).map(|(address, case)| {
        let place = map.place(address);
        Spot {
            address,
            line: place.source().map(|source| source.to_string()),
            function: place.function,
            cycles: case.cycles,
            point: case.point,
        }
    });
    let holders = witness.iter().flat_map(rtmark_worst::Witness::blockers);
    let core = session.soc().core;
    Some(Found {
        interrupt: question.interrupt,
        priority: question.priority,
        from: window.from,
        to: window.to,
        points: found.points,
        slices: slices(found),
        of: SLICES,
        least: handler.least()?,
        median: handler.quantile(0.5),
        mean: handler.mean(),
        worst: case.cycles,
        point: case.point,
        missing: handler.missing,
        chance: handler.chance_of_worst(1000),
        interrupted: witness
            .as_ref()
            .and_then(rtmark_worst::Witness::interrupted)
            .map(|address| map.place(address).to_string()),
        holders: holders.map(|(held, cycles)| (blocked(held, core), cycles)).collect(),
        spots: spots.collect(),
    })
}

/// Names what holds an interrupt back.
fn blocked(by: Option<Blocker>, core: CoreKind) -> String {
    match by {
        None => "the current instruction and the entry".to_owned(),
        Some(Blocker::Active(exception)) => {
            format!("the handler of {}", core.exception_name(exception))
        }
        Some(Blocker::Disabled) => "being disabled".to_owned(),
        Some(Blocker::Instruction) => "one uninterruptible instruction".to_owned(),
        Some(mask) => mask.name().to_owned(),
    }
}
