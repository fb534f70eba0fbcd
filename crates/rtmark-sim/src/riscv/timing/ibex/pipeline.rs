//! Stage ID/EX and the controller of Ibex, cycle by cycle.
//!
//! Sources: the Ibex Reference Guide, "Pipeline Details" and "Load-Store Unit"; for traps and
//! sleep, for which it gives no cycles, runs of the RTL at commit 5da1679f.

use super::super::cycle::{CycleInputs, CycleOutcome, Event, Sleep};
use super::super::demand::{Access, BusResponse, Demand, ExceptionOutcome, Flow};
use super::super::{Memory, Port};
use super::fetch::{Fetch, FetchRequest};

/// The contents of stage ID/EX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    #[default]
    Empty,
    /// An instruction in its first cycle.
    First,
    /// The second cycle of a taken branch: its condition is known, its target is calculated.
    Branching,
    /// The last cycle of a jump, whose target has been fetched since the cycle before.
    Jumped,
    /// A calculation, with the remaining cycles including this one.
    Calculating(u8),
    /// An access: transfers whose addresses have not been taken, and transfers without a response.
    Accessing { requests: u8, answers: u8 },
    /// Done, and kept for the controller's next cycle.
    Kept,
}

/// The state of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Control {
    /// The two cycles after a reset: the address is formed, then requested.
    #[default]
    Reset,
    Boots,
    /// The first word for an empty core is in flight, after a reset or a sleep.
    FirstFetch,
    Executes,
    /// The cycle after an instruction that ends in a trap or in a sleep, or that drains.
    Flushes(Flush),
    /// The jump to an interrupt's handler.
    Interrupts,
    FallsAsleep,
    Sleeps,
}

/// Why nothing executes in the cycle after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Flush {
    /// Its trap is taken.
    Trap,
    Sleep,
    /// It may have unmasked interrupts.
    Drain,
}

/// The pipeline's state at the beginning of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TwoStages {
    fetch: Fetch,
    data: Port,
    stage: Stage,
    control: Control,
    /// The address of the first instruction.
    entry: u32,
}

/// The actions of stage ID/EX in a cycle.
#[derive(Clone, Copy)]
struct Work {
    /// Its contents in the next cycle; empty after an instruction that is done.
    then: Stage,
    /// The target to which fetching jumps.
    jump: Option<u32>,
    /// The wait states of the transfer whose address is on the data port.
    request: Option<u8>,
}

impl Work {
    const NONE: Self = Self { then: Stage::Empty, jump: None, request: None };

    const fn stays(then: Stage) -> Self {
        Self { then, ..Self::NONE }
    }

    fn is_done(&self) -> bool {
        self.then == Stage::Empty
    }
}

/// Returns the number of transfers of an access, and their wait states.
const fn transfers(access: Access) -> (u8, [u8; 2]) {
    match access {
        Access::Split([(first, _), (second, _)]) => (2, [first, second]),
        Access::None => (0, [0; 2]),
        one => (1, [one.waits(); 2]),
    }
}

/// Returns whether a transfer gets an error response.
fn fails(access: Access) -> bool {
    match access {
        Access::Load(_, answer) | Access::Store(_, answer) => answer == BusResponse::Error,
        Access::Split(both) => both.iter().any(|(_, answer)| *answer == BusResponse::Error),
        _ => false,
    }
}

/// Returns what follows an instruction that is done, unless the next instruction does.
fn flush(x: &Demand) -> Option<Flush> {
    match () {
        () if x.raises != ExceptionOutcome::No || fails(x.access) => Some(Flush::Trap),
        () if x.sleep != Sleep::Awake => Some(Flush::Sleep),
        () if x.flow == Flow::Drain => Some(Flush::Drain),
        () => None,
    }
}

impl TwoStages {
    /// Creates the state after a reset.
    pub fn new(entry: u32) -> Self {
        Self { entry, ..Self::default() }
    }

    /// Advances by one cycle, with `x` the instruction in stage ID/EX or on its way there.
    pub fn advance(
        &mut self,
        x: &Demand,
        cycle_inputs: &CycleInputs,
        memory: &mut impl Memory,
    ) -> CycleOutcome {
        let before = *self;
        let executes = before.control == Control::Executes && before.stage != Stage::Empty;
        let work = if executes { before.work(x) } else { Work::NONE };
        let done = executes && work.is_done();
        let flush = flush(x).filter(|_| done);
        let interrupted = before.control == Control::Interrupts && cycle_inputs.interrupt;
        let trapped = before.control == Control::Flushes(Flush::Trap);
        let jump = match before.control {
            Control::Reset | Control::Boots => Some(before.entry),
            _ if trapped || interrupted => Some(cycle_inputs.vector),
            _ => work.jump,
        };
        let fetch_request = FetchRequest {
            fetches: !matches!(
                before.control,
                Control::Reset | Control::FallsAsleep | Control::Sleeps
            ),
            jump,
            takes: work.is_done() && flush.is_none() && !before.halts(cycle_inputs),
        };
        let advances = self.fetch.advance(fetch_request, memory);
        self.data = before.data.next(work.request);
        self.stage = match flush {
            Some(_) => Stage::Kept,
            None if advances => Stage::First,
            None => work.then,
        };
        self.control = before.control_behind(flush, cycle_inputs);
        let event = match () {
            () if trapped => Event::Exception,
            () if interrupted => Event::Interrupt,
            () if done => Event::Leaves,
            () => Event::Stays,
        };
        let retires = done && x.raises != ExceptionOutcome::NotRetired && !fails(x.access);
        CycleOutcome { event, retires }
    }

    /// Returns whether no instruction may enter stage ID/EX: the controller is in another state, or
    /// an interrupt waits for the stage to become empty.
    const fn halts(&self, cycle_inputs: &CycleInputs) -> bool {
        match self.control {
            Control::Executes | Control::FirstFetch => cycle_inputs.interrupt,
            Control::Flushes(_) | Control::FallsAsleep | Control::Sleeps => true,
            Control::Reset | Control::Boots | Control::Interrupts => false,
        }
    }

    /// Returns the state of the controller in the next cycle.
    const fn control_behind(&self, flush: Option<Flush>, cycle_inputs: &CycleInputs) -> Control {
        match self.control {
            Control::Reset => Control::Boots,
            Control::Boots => Control::FirstFetch,
            Control::FirstFetch if cycle_inputs.interrupt => Control::Interrupts,
            Control::Executes => match flush {
                Some(flush) => Control::Flushes(flush),
                None if cycle_inputs.interrupt && matches!(self.stage, Stage::Empty) => {
                    Control::Interrupts
                }
                None => Control::Executes,
            },
            Control::Flushes(Flush::Sleep) => Control::FallsAsleep,
            Control::FallsAsleep => Control::Sleeps,
            Control::Sleeps if cycle_inputs.wakes => Control::FirstFetch,
            Control::Sleeps => Control::Sleeps,
            Control::FirstFetch | Control::Flushes(_) | Control::Interrupts => Control::Executes,
        }
    }

    /// Returns the actions of the instruction in stage ID/EX.
    fn work(&self, x: &Demand) -> Work {
        let transfers = transfers(x.access);
        match self.stage {
            Stage::First if x.raises != ExceptionOutcome::No => Work::NONE,
            Stage::First if transfers.0 > 0 => self.access(transfers.0, transfers.0, transfers),
            Stage::First => match (x.flow, x.calculates) {
                (Flow::Jump(target), _) => {
                    Work { jump: Some(target), ..Work::stays(Stage::Jumped) }
                }
                (Flow::Refetch, _) => {
                    let next = x.pc.wrapping_add(u32::from(x.size));
                    Work { jump: Some(next), ..Work::stays(Stage::Jumped) }
                }
                (Flow::Branch { taken: true, .. }, _) => Work::stays(Stage::Branching),
                (_, Some(cycles)) => Work::stays(Stage::Calculating(cycles)),
                _ => Work::NONE,
            },
            Stage::Branching => match x.flow {
                Flow::Branch { target, .. } => Work { jump: Some(target), ..Work::NONE },
                _ => Work::NONE,
            },
            Stage::Calculating(cycles @ 2..) => Work::stays(Stage::Calculating(cycles - 1)),
            Stage::Accessing { requests, answers } => {
                let answers = answers - u8::from(self.data.ends());
                if answers == 0 { Work::NONE } else { self.access(requests, answers, transfers) }
            }
            Stage::Calculating(_) | Stage::Jumped | Stage::Kept | Stage::Empty => Work::NONE,
        }
    }

    /// Returns the actions for the next cycle of an access: the address of its next transfer is on
    /// the port, if there is one.
    fn access(&self, requests: u8, answers: u8, (count, waits): (u8, [u8; 2])) -> Work {
        let request = (requests > 0).then(|| waits[usize::from(count > requests)]);
        let taken = request.is_some() && self.data.is_ready();
        let then = Stage::Accessing { requests: requests - u8::from(taken), answers };
        Work { request, ..Work::stays(then) }
    }

    /// Returns whether anything but instructions is in progress.
    pub fn has_sleep_or_trap(&self) -> bool {
        self.control != Control::Executes
    }

    /// Returns whether only an interrupt can still change anything.
    pub fn is_asleep(&self) -> bool {
        self.control == Control::Sleeps
    }

    /// Returns whether it sleeps or is about to.
    pub fn has_sleep(&self) -> bool {
        matches!(
            self.control,
            Control::Flushes(Flush::Sleep) | Control::FallsAsleep | Control::Sleeps
        )
    }
}
