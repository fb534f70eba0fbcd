//! The run that is interrupted: its windows, and the pieces that are searched apart.
//!
//! Knows nothing of interrupts but which one it is. Pieces depend on the question alone,
//! so that every computer cuts a search at the same places.

use std::sync::OnceLock;

use rtmark_sim::{Cycles, Hit, InternalError, Machine, Register, Watch, WatchId};
use serde::{Deserialize, Serialize};

use crate::border::reach;

/// The most cycles of one piece: long enough that a copy of the machine costs nothing
/// beside it, short enough that there is work for every core.
const PIECE: u64 = 8192;

/// What is wanted to know of each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// When the handler begins.
    Entry,
    /// Also what comes after: the woken task, the interrupted code, the end of its span.
    Whole,
    /// Whether the program then comes to its end, content with its own check.
    Check,
}

/// Cycles of a run in which an interrupt becomes pending: after `from`, up to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The last cycle before it.
    pub from: u64,
    /// Its last cycle.
    pub to: u64,
}

/// What is to be searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The external interrupt.
    pub interrupt: u16,
    /// Its priority, as the register holds it.
    pub priority: u8,
    /// When it becomes pending: windows in ascending order that do not overlap.
    pub windows: Vec<Window>,
    /// How far it is followed.
    pub reach: Reach,
    /// Cycles after which one point is given up.
    pub patience: u64,
    /// The first instruction of the task that the handler wakes, if one is looked for.
    pub woken: Option<u32>,
    /// Where spans end.
    pub ends: Vec<u32>,
    /// A second interrupt beside it, if there is one.
    pub second: Option<Second>,
}

/// An interrupt that becomes pending at every distance from the one that is searched, before
/// it and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// The external interrupt.
    pub interrupt: u16,
    /// Its priority, as the register holds it.
    pub priority: u8,
    /// The most cycles between both; `None` for as many as it takes until the handler of the
    /// earlier one has returned.
    pub distance: Option<u64>,
}

/// An interrupt with what is watched of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub interrupt: u16,
    /// Its handler's first instruction.
    pub handler: u32,
    /// What is watched for it.
    pub watch: Watch,
    pub handler_watch: WatchId,
    pub return_watch: WatchId,
}

impl Line {
    pub const fn exception(&self) -> u16 {
        self.interrupt + 16
    }
}

/// A machine that cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The soc lacks the interrupt.
    #[error("the soc has interrupts 0 to {last}, and none with number {interrupt}")]
    NoInterrupt {
        /// The number that was asked for.
        interrupt: u16,
        /// The last one.
        last: u16,
    },
    /// There is nothing behind the interrupt's vector.
    #[error(
        "interrupt {interrupt} has no handler: its vector at {address:#010x} is {vector:#010x}"
    )]
    NoHandler {
        /// The interrupt.
        interrupt: u16,
        /// Where its vector stands.
        address: u32,
        /// What stands there.
        vector: u32,
    },
    /// The program gives the interrupt another priority than the one that is asked about.
    #[error(
        "interrupt {interrupt} is to have priority {asked:#04x}, and the program gives it {found:#04x}"
    )]
    Priority {
        /// The interrupt.
        interrupt: u16,
        /// The priority that was asked for, as the register holds it.
        asked: u8,
        /// What the register holds when the first window begins.
        found: u8,
    },
    /// Two interrupts cannot be told apart.
    #[error("interrupts {0} and {1} have one handler, or are one: they cannot be told apart")]
    Same(u16, u16),
    /// There is no point to search.
    #[error("no window to search: {0}")]
    NoWindow(String),
    /// The simulator is wrong on the way there.
    #[error("internal error: {0}")]
    Internal(Box<InternalError>),
}

/// The run without the interrupt, ready to be searched.
#[derive(Clone, Debug)]
pub struct Path {
    start: Machine,
    question: Question,
    line: Line,
    second: Option<Line>,
    woken_watch: Option<WatchId>,
    end_watches: Vec<WatchId>,
    pieces: Vec<Window>,
    /// When spans end on the path, in ascending order.
    ends: Vec<u64>,
    /// When the program ends, where that is wanted to know.
    ended: u64,
    /// The mistake of the simulator that was met first.
    failed: OnceLock<Box<InternalError>>,
}

/// A part of a path, with the machine that is about to go along it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its number among the path's pieces.
    pub index: usize,
    /// The cycles whose boundaries belong to it.
    pub window: Window,
    /// Whether the piece before ends where it begins.
    pub follows: bool,
    /// The last point at which instructions that have begun before may notice the interrupt, and
    /// the second one: those up to it belong to the piece before.
    pub noticed: [u64; 2],
    /// The machine at the first boundary that has reached `window.from`.
    pub machine: Machine,
}

impl Line {
    /// Watches an interrupt, whose vector is looked up in a machine that has come `there`.
    fn find(start: &mut Machine, there: &Machine, interrupt: u16) -> Result<Self, PathError> {
        let none = |(address, vector)| PathError::NoHandler { interrupt, address, vector };
        let handler = there.handler_of(interrupt).map_err(none)?;
        let watch = there.handler_watch(interrupt).map_err(none)?;
        Ok(Self {
            interrupt,
            handler,
            watch,
            handler_watch: start.watch(watch),
            return_watch: start.watch(Watch::Return(16 + interrupt)),
        })
    }
}

impl Path {
    /// Prepares a machine that has just been reset. The vector table is taken to stay where
    /// it is when the first window begins.
    ///
    /// # Errors
    /// When the soc lacks the interrupt, it has no handler, the program gives it another priority, or
    /// there is no window.
    pub fn new(mut start: Machine, question: Question) -> Result<Self, PathError> {
        let asked = [Some((question.interrupt, question.priority))]
            .into_iter()
            .chain([question.second.map(|second| (second.interrupt, second.priority))]);
        let asked: Vec<_> = asked.flatten().collect();
        for &(interrupt, priority) in &asked {
            if !start.arm_interrupt(interrupt, priority) {
                let last = start.soc().interrupts.saturating_sub(1);
                return Err(PathError::NoInterrupt { interrupt, last });
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
            return Err(PathError::NoWindow("it holds no cycle".into()));
        }
        let line = Line::find(&mut start, &there, question.interrupt)?;
        let second = match question.second {
            Some(second) => Some(Line::find(&mut start, &there, second.interrupt)?),
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
            ended: 0,
            failed: OnceLock::new(),
            question,
        };
        path.pieces = path.question.windows.iter().flat_map(|window| cut(*window)).collect();
        if path.question.reach == Reach::Whole && !path.end_watches.is_empty() {
            path.ends = path.find_ends();
        }
        if path.question.reach == Reach::Check {
            let mut machine = path.start.clone();
            let last = path.question.windows.last().map_or(0, |window| window.to);
            let _ = machine.run(Cycles(last.saturating_add(path.question.patience)));
            path.ended = machine.cycles().0;
            path.look_at(&machine);
        }
        path.look_at(&there);
        match path.failure() {
            None => Ok(path),
            Some(error) => Err(PathError::Internal(error)),
        }
    }

    /// Notes that the simulator was wrong in a machine that has gone along the path, if it was:
    /// nothing that is found counts then.
    pub(crate) fn look_at(&self, machine: &Machine) {
        if let Some(error) = machine.internal_error() {
            self.fail(error.clone());
        }
    }

    /// Notes a mistake of the simulator's: nothing that is found counts.
    pub(crate) fn fail(&self, error: InternalError) {
        let _ = self.failed.set(Box::new(error));
    }

    /// Whether the simulator was wrong anywhere on the way.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// The mistake of the simulator that was met, if one was.
    pub(crate) fn failure(&self) -> Option<Box<InternalError>> {
        self.failed.get().cloned()
    }

    /// Runs along the windows once to see when spans end.
    fn find_ends(&self) -> Vec<u64> {
        let mut machine = self.start.clone();
        let last = self.question.windows.last().map_or(0, |window| window.to);
        // Long enough that the span of the last point ends, too.
        let until = last.saturating_add(self.question.patience);
        let _ = machine.run(Cycles(until));
        self.look_at(&machine);
        let hits = machine.take_hits();
        let ends = hits.iter().filter(|hit| self.end_watches.contains(&hit.watch));
        ends.map(|hit| hit.cycle.0).collect()
    }

    /// What is searched.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The machine at the path's beginning.
    pub fn start(&self) -> &Machine {
        &self.start
    }

    /// The first instruction of the handler of one of the interrupts that are asked for.
    pub fn handler_of(&self, interrupt: u16) -> u32 {
        let second = self.second.filter(|second| second.interrupt == interrupt);
        second.unwrap_or(self.line).handler
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    pub(crate) fn second(&self) -> Option<(&Second, &Line)> {
        self.question.second.as_ref().zip(self.second.as_ref())
    }

    /// When the handler's first instruction was executed in a machine that has gone along the
    /// path with the interrupt pending since a cycle, if it was.
    pub fn served(&self, machine: &Machine, since: u64) -> Option<u64> {
        let ours = |hit: &&Hit| hit.watch == self.line.handler_watch && hit.cycle.0 >= since;
        machine.hits().iter().find(ours).map(|hit| hit.cycle.0)
    }

    /// Looks at when an interrupt's handler begins that becomes pending from outside in a cycle.
    /// Sooner behind it than the core lets any begin is a mistake of the simulator's, unless it
    /// begins then all the same: the program may ask for the interrupt itself, or execute the
    /// handler's code. `machine` has not got there yet, and nothing is pending in it from outside.
    pub(crate) fn doubt(&self, line: &Line, machine: &Machine, point: u64, served: u64) {
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
                "the handler of interrupt {} begins in cycle {served}, where it becomes pending in \
                 cycle {point}, and this core takes {least} cycles at least",
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

    /// When the span ends on the path that is under way in a cycle.
    pub(crate) fn end_after(&self, cycle: u64) -> Option<u64> {
        self.ends.get(self.ends.partition_point(|&end| end <= cycle)).copied()
    }

    /// When the program ends without the interrupt, or was given up.
    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }

    /// The priority that the program has given to the interrupt by the end of the last window, if it
    /// is another one than that which it begins with.
    pub fn later_priority(&self) -> Option<u8> {
        let last = self.question.windows.last().map_or(0, |window| window.to);
        let mut machine = self.start.clone();
        let first = machine.interrupt_priority(self.line.interrupt);
        let _ = machine.run(Cycles(last));
        self.look_at(&machine);
        Some(machine.interrupt_priority(self.line.interrupt)).filter(|later| *later != first)
    }

    /// Whether a cycle lies in a window.
    pub fn covers(&self, cycle: u64) -> bool {
        self.question.windows.iter().any(|window| window.from < cycle && cycle <= window.to)
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many cycles a piece has.
    pub fn cycles_of(&self, piece: usize) -> u64 {
        self.pieces.get(piece).map_or(0, |window| window.to - window.from)
    }

    /// The machine at a cycle of the path, at the first boundary that has reached it.
    pub fn at(&self, cycle: u64) -> Machine {
        let mut machine = self.start.clone();
        let _ = machine.run(Cycles(cycle));
        self.look_at(&machine);
        machine.take_hits();
        machine
    }

    /// The last cycle before the points of a window that begins in a cycle: that of the first
    /// boundary which has reached it, or the last point that an instruction might have noticed
    /// which had begun by then.
    pub fn begins(&self, from: u64) -> u64 {
        let (mut machine, mut noticed) = (self.start.clone(), [0; 2]);
        reach(&mut machine, from, self.interrupts(), &mut noticed);
        self.look_at(&machine);
        noticed[0].max(machine.cycles().0)
    }

    /// The interrupt and the second one, or twice the only one.
    fn interrupts(&self) -> [u16; 2] {
        [self.line, self.second.unwrap_or(self.line)].map(|line| line.interrupt)
    }

    /// The pieces that are wanted, in order, each with a machine of its own.
    pub fn pieces<'a>(
        &'a self,
        mut wanted: impl FnMut(usize) -> bool + 'a,
    ) -> impl Iterator<Item = Piece> + 'a {
        let mut machine = self.start.clone();
        let (mut ended, mut noticed) = (false, [0; 2]);
        self.pieces.iter().enumerate().filter_map(move |(index, &window)| {
            if ended || !wanted(index) {
                return None;
            }
            // A path that has ended has no more boundaries.
            ended = !reach(&mut machine, window.from, self.interrupts(), &mut noticed);
            self.look_at(&machine);
            machine.take_hits();
            machine.take_console();
            let before = index.checked_sub(1).and_then(|before| self.pieces.get(before));
            let follows = before.is_some_and(|before| before.to == window.from);
            Some(Piece { index, window, follows, noticed, machine: machine.clone() })
                .filter(|_| !ended)
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

    /// A Cortex-M3 that goes round and round, with a handler for interrupt 0 that never begins by
    /// itself.
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
            interrupt: 0,
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
    fn no_handler_begins_before_its_interrupt_or_sooner_than_the_core_can() {
        // A late arrival's six cycles (DDI 0337H, 3.9) behind the three to the core.
        for (served, refused) in [(0, true), (149, true), (150, true), (158, true), (159, false)] {
            let path = path();
            path.doubt(path.line(), &path.at(100), 150, served);
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
    fn pieces_cover_a_window_once() {
        let window = Window { from: 10, to: 10 + 2 * PIECE + 1 };
        let pieces: Vec<_> = cut(window).collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!((pieces[0].from, pieces[2].to), (window.from, window.to));
        assert!(pieces.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(cut(Window { from: 5, to: 5 }).count(), 0);
    }
}
