//! The run that is interrupted: its windows, and the pieces that are searched separately.
//!
//! A path knows nothing about interrupts except their numbers. Pieces depend on the question alone, so
//! that every computer divides a search at the same places.

mod error;

use std::sync::OnceLock;

use rtmark_sim::{Cycles, Hit, InternalError, Irq, Machine, Register, Stop, Watch, WatchId};
use serde::{Deserialize, Serialize};

pub use self::error::PathError;
use crate::border::reach;
use crate::fork::Unserved;

/// The length limit of a piece, in cycles: long enough to make the cost of copying a machine
/// negligible, short enough to keep every core busy.
const PIECE: u64 = 8192;

/// The most windows in which handlers are tried for whether they return, and the moments of each.
const TRIED_WINDOWS: usize = 8;
const TRIED_MOMENTS: u64 = 4;

/// What is measured at each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// When the handler begins.
    Entry,
    /// Also what follows: the woken task, the interrupted code, the end of its span.
    Whole,
    /// Whether the program then reaches its end with its own check passing.
    Check {
        /// The cycle in which it ends without the interrupt.
        ended: u64,
    },
}

/// Cycles of a run in which an interrupt becomes pending: after `from`, up to and including `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The last cycle before the window.
    pub from: u64,
    /// The last cycle of the window.
    pub to: u64,
}

/// What to search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The interrupt.
    pub interrupt: Irq,
    /// Its priority, as the register holds it.
    pub priority: u8,
    /// When the interrupt becomes pending: windows in ascending order that do not overlap.
    pub windows: Vec<Window>,
    /// How far the interrupt is followed.
    pub reach: Reach,
    /// The cycles after which a point is given up.
    pub patience: u64,
    /// The first instruction of the task that the handler wakes, if that is of interest.
    pub woken: Option<u32>,
    /// The addresses at which spans end.
    pub ends: Vec<u32>,
    /// A second interrupt, if there is one.
    pub second: Option<PairedInterrupt>,
}

/// An interrupt that becomes pending at every distance before and after the one that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedInterrupt {
    /// The interrupt.
    pub interrupt: Irq,
    /// Its priority, as the register holds it.
    pub priority: u8,
    /// The greatest distance between both, in cycles; `None` to continue until the earlier one's
    /// handler has returned.
    pub distance: Option<u64>,
}

/// An interrupt, and how its entry is detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchedInterrupt {
    pub interrupt: Irq,
    /// Its handler's first instruction.
    pub handler: u32,
    /// The watch that detects its entry.
    pub watch: Watch,
    pub handler_watch: WatchId,
    pub return_watch: WatchId,
}

impl SearchedInterrupt {
    pub fn exception(&self) -> u16 {
        self.interrupt.exception()
    }
}

/// The run without the interrupt, ready to be searched.
#[derive(Clone, Debug)]
pub struct Path {
    start: Machine,
    question: Question,
    line: SearchedInterrupt,
    second: Option<SearchedInterrupt>,
    woken_watch: Option<WatchId>,
    end_watches: Vec<WatchId>,
    pieces: Vec<Window>,
    /// When spans end on the path, in ascending order.
    ends: Vec<u64>,
    /// Whether the program ends before the run that found these was given up.
    has_all_ends: bool,
    /// The first mistake of the simulator.
    failed: OnceLock<Box<InternalError>>,
}

/// A part of a path, with the machine that will run it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The cycles whose boundaries belong to it.
    pub window: Window,
    /// Whether it directly follows another piece.
    pub follows: bool,
    /// The last points at which instructions begun earlier may notice the interrupt and the second one.
    /// Points up to there belong to the preceding piece.
    pub noticed: [u64; 2],
    /// The machine at the first boundary at or after `window.from`, or where it sleeps for ever.
    pub machine: Machine,
}

impl SearchedInterrupt {
    /// Watches an interrupt, whose vector is read from a machine that has advanced to the first window.
    fn find(start: &mut Machine, there: &Machine, interrupt: Irq) -> Result<Self, PathError> {
        let none = |vector| PathError::no_handler(interrupt, vector);
        let handler = there.handler_of(interrupt).map_err(none)?;
        let watch = there.handler_watch(interrupt).map_err(none)?;
        Ok(Self {
            interrupt,
            handler,
            watch,
            handler_watch: start.watch(watch),
            return_watch: start.watch(Watch::Return(interrupt.exception())),
        })
    }
}

/// Returns an error if an interrupt has no handler at a cycle of a run that gets there: that takes no longer than the
/// run up to there, whatever else is to be known of it.
///
/// # Errors
/// When the soc does not have the interrupt, or it has no handler.
pub fn find_handlers(
    start: &Machine,
    at: Cycles,
    interrupts: impl IntoIterator<Item = Irq>,
) -> Result<(), PathError> {
    let mut there = start.clone();
    if !matches!(there.run(at), Stop::Limit | Stop::Asleep) {
        return Ok(());
    }
    for interrupt in interrupts {
        if !there.has_interrupt(interrupt) {
            return Err(PathError::no_interrupt(&there, interrupt));
        }
        there.handler_of(interrupt).map_err(|vector| PathError::no_handler(interrupt, vector))?;
    }
    Ok(())
}

impl Path {
    /// Prepares a search from a machine that has just been reset. The vector table is assumed to stay
    /// where it is when the first window begins.
    ///
    /// # Errors
    /// When the soc does not have the interrupt or cannot hold its priority, it has no handler, the program
    /// sets another priority, or there is no window.
    pub fn new(mut start: Machine, question: Question) -> Result<Self, PathError> {
        let asked = [Some((question.interrupt, question.priority))]
            .into_iter()
            .chain([question.second.map(|second| (second.interrupt, second.priority))]);
        let asked: Vec<_> = asked.flatten().collect();
        for &(interrupt, priority) in &asked {
            if !start.arm_interrupt(interrupt, priority) {
                return Err(PathError::no_interrupt(&start, interrupt));
            }
            let held = start.interrupt_priority(interrupt);
            if held != priority {
                return Err(PathError::UnheldPriority { interrupt, asked: priority, held });
            }
        }
        let mut there = start.clone();
        if let Some(window) = question.windows.first() {
            let _ = there.run(Cycles(window.from));
        }
        for &(interrupt, _) in &asked {
            let of = |machine: &Machine| machine.interrupt_priority(interrupt);
            let (asked, found) = (of(&start), of(&there));
            if asked != found {
                return Err(PathError::Priority { interrupt, asked, found });
            }
        }
        if question.windows.iter().all(|window| window.from >= window.to) {
            return Err(PathError::NoWindow("it contains no cycle".into()));
        }
        let line = SearchedInterrupt::find(&mut start, &there, question.interrupt)?;
        let second = match question.second {
            Some(second) => Some(SearchedInterrupt::find(&mut start, &there, second.interrupt)?),
            None => None,
        };
        if let Some(second) = second.filter(|second| second.watch == line.watch) {
            return Err(PathError::Same(line.interrupt, second.interrupt));
        }
        let woken_watch = question.woken.map(|address| start.watch(Watch::Execute(address)));
        let end_watches =
            question.ends.iter().map(|&address| start.watch(Watch::Execute(address))).collect();
        let mut path = Self {
            start,
            line,
            second,
            woken_watch,
            end_watches,
            pieces: Vec::new(),
            ends: Vec::new(),
            has_all_ends: false,
            failed: OnceLock::new(),
            question,
        };
        path.pieces = path.question.windows.iter().flat_map(|window| cut(*window)).collect();
        if path.question.reach == Reach::Whole && !path.end_watches.is_empty() {
            path.find_ends();
        }
        path.check_machine(&there);
        let has_distance = path.question.second.is_some_and(|second| second.distance.is_some());
        // Each moment would be combined with all moments until the patience runs out, both millions of times.
        let endless = if has_distance { None } else { path.endless() };
        if let Some(error) = path.failure() {
            return Err(PathError::Internal(error));
        }
        let cycles = path.question.patience;
        endless.map_or(Ok(path), |interrupt| Err(PathError::NoReturn { interrupt, cycles }))
    }

    /// Tries whether the handlers of two interrupts return at some moments of the windows; returns one that does not
    /// within the patience.
    pub fn endless(&self) -> Option<Irq> {
        let lines = [self.line, self.second?];
        let moments = &self.question.windows;
        let each = moments.len().div_ceil(TRIED_WINDOWS).max(1);
        let moments = moments.iter().step_by(each).flat_map(|window| {
            let length = window.to.saturating_sub(window.from);
            (0..TRIED_MOMENTS).map(move |part| window.from + length * part / TRIED_MOMENTS)
        });
        let mut there = self.start.clone();
        for moment in moments {
            let _ = there.run(Cycles(moment));
            there.take_hits();
            let endless = lines.iter().find(|line| self.is_endless(&there, line));
            if let Some(line) = endless {
                return Some(line.interrupt);
            }
        }
        None
    }

    /// Tells whether a handler does not return within the patience if its interrupt becomes pending now.
    fn is_endless(&self, there: &Machine, line: &SearchedInterrupt) -> bool {
        let mut machine = there.clone();
        let at = machine.cycles().0 + 1;
        machine.pend_interrupt(line.interrupt, Cycles(at));
        let stop = machine.run(Cycles(at.saturating_add(self.question.patience)));
        self.check_machine(&machine);
        let hits = machine.take_hits();
        let has = |watch| hits.iter().any(|hit| hit.watch == watch && hit.cycle.0 >= at);
        let goes_on = matches!(stop, Stop::Limit | Stop::Asleep);
        goes_on && has(line.handler_watch) && !has(line.return_watch)
    }

    /// Records a mistake of the simulator in a machine that has run along the path, if there was one:
    /// it invalidates all findings.
    pub(crate) fn check_machine(&self, machine: &Machine) {
        if let Some(error) = machine.internal_error() {
            self.fail(error.clone());
        }
    }

    /// Records a mistake of the simulator, which invalidates all findings.
    pub(crate) fn fail(&self, error: InternalError) {
        let _ = self.failed.set(Box::new(error));
    }

    /// Tells whether the simulator made a mistake anywhere on the path.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// Returns the recorded mistake of the simulator, if any.
    pub(crate) fn failure(&self) -> Option<Box<InternalError>> {
        self.failed.get().cloned()
    }

    /// Runs along the windows once to find where spans end.
    fn find_ends(&mut self) {
        let mut machine = self.start.clone();
        let last = self.question.windows.last().map_or(0, |window| window.to);
        // Long enough for the span of the last point to end, too.
        let until = last.saturating_add(self.question.patience);
        self.has_all_ends = machine.run(Cycles(until)) != Stop::Limit;
        self.check_machine(&machine);
        let hits = machine.take_hits();
        let ends = hits.iter().filter(|hit| self.end_watches.contains(&hit.watch));
        self.ends = ends.map(|hit| hit.cycle.0).collect();
    }

    /// Returns the question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Returns the machine at the beginning of the path.
    pub fn start(&self) -> &Machine {
        &self.start
    }

    /// Returns the first instruction of the handler of one of the interrupts in the question.
    pub fn handler_of(&self, interrupt: Irq) -> u32 {
        let second = self.second.filter(|second| second.interrupt == interrupt);
        second.unwrap_or(self.line).handler
    }

    pub(crate) fn line(&self) -> &SearchedInterrupt {
        &self.line
    }

    pub(crate) fn second(&self) -> Option<(&PairedInterrupt, &SearchedInterrupt)> {
        self.question.second.as_ref().zip(self.second.as_ref())
    }

    /// Returns when the handler's first instruction was executed, if it was, in a machine in which the
    /// interrupt has been pending since a given cycle.
    pub fn served(&self, machine: &Machine, since: u64) -> Option<u64> {
        let ours = |hit: &&Hit| hit.watch == self.line.handler_watch && hit.cycle.0 >= since;
        machine.hits().iter().find(ours).map(|hit| hit.cycle.0)
    }

    /// Checks when the handler begins for an interrupt that becomes pending from outside in a given
    /// cycle. A beginning sooner than the core allows is a mistake of the simulator, unless the handler
    /// begins then in any case: the program may request the interrupt itself, or execute the handler's
    /// code. `machine` has not reached that cycle, and nothing from outside is pending in it.
    pub(crate) fn check_latency(
        &self,
        line: &SearchedInterrupt,
        machine: &Machine,
        point: u64,
        served: u64,
    ) {
        let least = machine.least_latency();
        if served >= point.saturating_add(least) {
            return;
        }
        let mut copy = machine.clone();
        let _ = copy.run(Cycles(served.saturating_add(1)));
        let ours = |hit: &Hit| hit.watch == line.handler_watch && hit.cycle.0 == served;
        if served >= point && copy.hits().iter().any(ours) {
            return;
        }
        self.fail(InternalError {
            pc: machine.register(Register::Pc),
            instruction: None,
            cycle: machine.cycles(),
            state: format!(
           "the handler of interrupt {} begins in cycle {served}; the interrupt becomes pending in \
            cycle {point}, and this core takes at least {least} cycles",
                line.interrupt
            ),
        });
    }

    pub(crate) fn woken_watch(&self) -> Option<WatchId> {
        self.woken_watch
    }

    pub(crate) fn ends_span(&self, watch: WatchId) -> bool {
        self.end_watches.contains(&watch)
    }

    /// Returns when the span in progress in a cycle ends on the path, or why that is unknown; `None` if
    /// there is no span.
    pub(crate) fn end_after(&self, cycle: u64) -> Option<Result<u64, Unserved>> {
        let end = self.ends.get(self.ends.partition_point(|&end| end <= cycle)).copied().map(Ok);
        end.or((!self.end_watches.is_empty() && !self.has_all_ends).then_some(Err(Unserved::Late)))
    }

    /// Returns the priority of one of the interrupts at the end of the last window, if the program has
    /// changed it from its initial value.
    pub fn later_priority(&self, interrupt: Irq) -> Option<u8> {
        let last = self.question.windows.last().map_or(0, |window| window.to);
        let mut machine = self.start.clone();
        let first = machine.interrupt_priority(interrupt);
        let _ = machine.run(Cycles(last));
        self.check_machine(&machine);
        Some(machine.interrupt_priority(interrupt)).filter(|later| *later != first)
    }

    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Tells whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the number of cycles in a piece.
    pub fn cycles_of(&self, piece: usize) -> u64 {
        self.pieces.get(piece).map_or(0, |window| window.to - window.from)
    }

    /// Returns the machine at the first boundary at or after a cycle of the path.
    pub fn at(&self, cycle: u64) -> Machine {
        let mut machine = self.start.clone();
        let _ = machine.run(Cycles(cycle));
        self.check_machine(&machine);
        machine.take_hits();
        machine
    }

    /// Returns the last cycle before the points of a window that begins in a cycle: that of the first
    /// boundary at or after it, or the last point that an instruction already begun might notice.
    pub fn begins(&self, from: u64) -> u64 {
        let (mut machine, mut noticed) = (self.start.clone(), [0; 2]);
        reach(&mut machine, from, self.interrupts(), &mut noticed);
        self.check_machine(&machine);
        noticed[0].max(machine.cycles().0).max(from)
    }

    /// Returns the interrupt and the second one, or the only one twice.
    fn interrupts(&self) -> [Irq; 2] {
        [self.line, self.second.unwrap_or(self.line)].map(|line| line.interrupt)
    }

    /// Returns the requested pieces in order, each with a machine of its own; `None` for those that begin
    /// after the program's last boundary, in which there is no point.
    pub fn pieces<'a>(
        &'a self,
        mut wanted: impl FnMut(usize) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, Option<Piece>)> + 'a {
        let mut machine = self.start.clone();
        let (mut ended, mut noticed) = (false, [0; 2]);
        self.pieces.iter().enumerate().filter_map(move |(index, &window)| {
            if !wanted(index) {
                return None;
            }
            ended = ended || !reach(&mut machine, window.from, self.interrupts(), &mut noticed);
            self.check_machine(&machine);
            machine.take_hits();
            machine.take_console();
            let before = index.checked_sub(1).and_then(|before| self.pieces.get(before));
            let follows = before.is_some_and(|before| before.to == window.from);
            let piece = || Piece { window, follows, noticed, machine: machine.clone() };
            Some((index, (!ended).then(piece)))
        })
    }
}

fn cut(window: Window) -> impl Iterator<Item = Window> {
    let starts = (window.from..window.to).step_by(PIECE as usize);
    starts.map(move |from| Window { from, to: (from + PIECE).min(window.to) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Cortex-M3 in an endless loop, with a handler for interrupt 0 that never begins by itself.
    fn path() -> Path {
        let soc = rtmark_sim::Soc::from_toml(include_str!("../../../socs/generic-cortex-m3.toml"));
        let mut machine = Machine::new(&soc.expect("a soc"));
        // round: nop; b round. The handler: bx lr
        let words =
            [(0, 0x2000_1000), (4, 0x81), (0x40, 0x91), (0x80, 0xE7FD_BF00), (0x90, 0x4770)];
        for (address, word) in words {
            machine.poke_word(address, word).expect("in flash");
        }
        machine.reset().expect("vectors");
        let question = Question {
            interrupt: 0.into(),
            priority: 0,
            windows: vec![Window { from: 100, to: 200 }],
            reach: Reach::Entry,
            patience: 1_000,
            woken: None,
            ends: Vec::new(),
            second: None,
        };
        Path::new(machine, question).expect("fine")
    }

    #[test]
    fn handlers_beginning_impossibly_early_are_internal_errors() {
        // The six cycles of a late arrival (DDI 0337H, 3.9), after the three to the core.
        for (served, refused) in [(0, true), (149, true), (150, true), (158, true), (159, false)] {
            let path = path();
            path.check_latency(path.line(), &path.at(100), 150, served);
            let Some(error) = path.failure().filter(|_| refused) else {
                assert!(!refused && !path.has_failed(), "{served}");
                continue;
            };
            let text = error.to_string();
            for part in [format!("in cycle {served}"), "in cycle 150".into(), "9 cycles".into()] {
                assert!(text.contains(&part), "{part}: {text}");
            }
        }
    }

    #[test]
    fn pieces_cover_a_window_exactly_once() {
        let window = Window { from: 10, to: 10 + 2 * PIECE + 1 };
        let pieces: Vec<_> = cut(window).collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!((pieces[0].from, pieces[2].to), (window.from, window.to));
        assert!(pieces.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(cut(Window { from: 5, to: 5 }).count(), 0);
    }
}
