//! Stages X and M of Hazard3, cycle by cycle.
//!
//! Each method implements one rule. All rules come from cycle traces of the RTL at commit 86fc4e3f,
//! and from Hazard3's documentation, "Instruction Cycle Counts" (RP2350 datasheet, 3.8.7), where it
//! covers them.

use super::super::cycle::{CycleInputs, CycleOutcome, Event, Sleep, SleepDepth};
use super::super::demand::{Access, BusResponse, Demand, ExceptionOutcome, Flow};
use super::super::{Memory, Port};
use super::fetch::{Consumption, Jump, Predict, Supply};

/// The instruction in stage M.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Later {
    rd: u8,
    access: Pending,
    raises: bool,
    /// Whether the access is about to get an error response.
    fails: bool,
    sleep: Sleep,
}

/// What stage M waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pending {
    #[default]
    Nothing,
    Load,
    Store,
    /// LR or SC, and whether it is on the port.
    Exclusive(bool),
}

impl Pending {
    const fn is_something(self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Returns whether it owns the port's data phase.
    const fn is_on_port(self) -> bool {
        matches!(self, Self::Load | Self::Store | Self::Exclusive(true))
    }

    const fn brings_result(self) -> bool {
        matches!(self, Self::Load | Self::Exclusive(_))
    }
}

/// The power state of a sleeping core (Xh3power).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Power {
    #[default]
    Up,
    GoingDown,
    Down,
    ComingUp,
}

/// The phases of an atomic operation: address and data of its read, address and data of its write,
/// and its fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    #[default]
    ReadAddress,
    ReadData,
    WriteAddress,
    WriteData,
    Fault,
}

impl Phase {
    /// Returns the phase after one that succeeded.
    const fn next(self) -> Self {
        match self {
            Self::ReadAddress => Self::ReadData,
            Self::ReadData => Self::WriteAddress,
            Self::WriteAddress => Self::WriteData,
            Self::WriteData | Self::Fault => Self::ReadAddress,
        }
    }
}

/// The pipeline's state at the beginning of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreeStages {
    supply: Supply,
    data: Port,
    later: Later,
    phase: Phase,
    /// Whether the division in stage X has begun, and the cycles that it still takes.
    dividing: bool,
    divider_busy: u8,
    /// Whether an access in stage X can no longer be withdrawn.
    committed: bool,
    /// Whether the instruction in stage X has jumped and waits to leave.
    jumped: bool,
    /// Whether sleep ends in this cycle.
    released: bool,
    power: Power,
    /// Whether `h3.block` finds that it has been unblocked before.
    unblocked: bool,
}

/// The traps of a cycle.
#[derive(Clone, Copy)]
struct Traps {
    /// Whether the instruction in stage M has raised an exception.
    exception: bool,
    /// Whether the trap is taken as soon as the supply takes its jump.
    now: bool,
    /// Whether a trap is taken now or soon, so that nothing irrevocable may begin.
    soon: bool,
}

/// The actions of the instruction in stage X in a cycle.
#[derive(Clone, Copy)]
struct Work {
    /// Whether it waits for an operand, or for an exclusive access to end.
    waits: bool,
    /// The cycles of a division that it begins.
    divides: Option<u8>,
    /// The access whose address it puts on the data port.
    address: Option<(u8, BusResponse)>,
    /// Whether the port takes the address.
    accepted: bool,
    /// Whether it is an atomic operation.
    atomic: bool,
    /// The target of the jump that it requests.
    jump: Option<u32>,
}

impl ThreeStages {
    /// Creates the state after a reset.
    pub fn new(pc: u32) -> Self {
        Self { supply: Supply::new(pc), ..Self::default() }
    }

    /// Returns whether the next instruction needs the result of a load, LR or SC: it waits in stage
    /// X until that is available. The data of a store are read in stage M, a cycle later.
    fn waits_for_operand(&self, x: &Demand) -> bool {
        let rd = self.later.rd;
        let stores = matches!(x.access, Access::Store(..));
        rd != 0
            && self.later.access.brings_result()
            && (rd == x.reads[0] || rd == x.reads[1] && !stores)
    }

    /// Returns whether an LR, SC or AMO waits for an LR or SC in stage M.
    fn overlaps_exclusive(&self, x: &Demand) -> bool {
        matches!(self.later.access, Pending::Exclusive(_))
            && matches!(
                x.access,
                Access::LoadReserved(..) | Access::StoreConditional(_) | Access::Atomic(_)
            )
    }

    /// Returns whether a sleeping instruction holds stage M until it is released.
    fn sleeps(&self) -> bool {
        self.later.sleep != Sleep::Awake && !self.released
    }

    /// Returns whether the predicted branch is only part of the instruction, which is then fetched
    /// again by a jump, without a prediction.
    fn is_predicted_in_part(&self, x: &Demand) -> bool {
        let [first, second] = self.supply.predicted();
        x.size == 4 && first != second
    }

    /// Returns the jump that the instruction in stage X makes because its path differs from what
    /// was fetched.
    fn requested_jump(&self, x: &Demand) -> Option<u32> {
        if self.jumped || x.raises != ExceptionOutcome::No {
            return None;
        }
        if self.is_predicted_in_part(x) {
            return Some(x.pc);
        }
        let next = x.pc.wrapping_add(u32::from(x.size));
        match x.flow {
            Flow::Next | Flow::Drain => None,
            Flow::Refetch => Some(next),
            Flow::Jump(target) => Some(target),
            Flow::Branch { target, taken } => match (taken, self.supply.predicted()[0]) {
                (true, false) => Some(target),
                (false, true) => Some(next),
                _ => None,
            },
        }
    }

    /// Returns how the prediction changes. A backward branch taken without a prediction becomes the
    /// predicted one; a jump away from a predicted branch, `fence.i` and traps clear it.
    fn prediction(&self, x: &Demand, jump: Option<u32>, traps: bool) -> Predict {
        let predicted = self.supply.predicted()[0];
        let Some(target) = jump else {
            let clears = traps || self.supply.reads_as_fence();
            return if clears { Predict::Clear } else { Predict::Keep };
        };
        if traps || self.supply.reads_as_fence() || predicted {
            return Predict::Clear;
        }
        let backward =
            matches!(x.flow, Flow::Branch { .. }) && target.wrapping_sub(x.pc) >> 31 == 1;
        if backward { Predict::Set(x.pc, x.size, target) } else { Predict::Keep }
    }

    /// Returns the wait states and response of the access whose address the instruction in stage X
    /// puts on the port.
    fn requested_address(&self, x: &Demand) -> Option<(u8, BusResponse)> {
        if x.raises != ExceptionOutcome::No {
            return None;
        }
        match x.access {
            // Unaligned accesses raise exceptions instead.
            Access::None | Access::Split(..) => None,
            Access::Load(waits, answer)
            | Access::Store(waits, answer)
            | Access::LoadReserved(waits, answer) => Some((waits, answer)),
            Access::StoreConditional(access) => access,
            Access::Atomic(waits) => matches!(self.phase, Phase::ReadAddress | Phase::WriteAddress)
                .then_some((waits, BusResponse::Okay)),
        }
    }

    /// Returns the traps: an exception from stage M at once, an interrupt between two instructions
    /// while no access is in progress.
    fn traps(&self, x: &Demand, cycle_inputs: &CycleInputs, available: bool) -> Traps {
        let held = self.committed || self.sleeps() || available && x.holds_interrupts;
        let interrupt = cycle_inputs.interrupt && !held;
        let exception = self.later.raises;
        Traps {
            exception,
            now: exception || interrupt && !self.later.access.is_something(),
            soon: exception || interrupt,
        }
    }

    /// Returns the actions of the instruction in stage X, provided that all of it has been fetched.
    fn work(&self, x: &Demand, traps: Traps, available: bool) -> Work {
        let operand = available && self.waits_for_operand(x);
        let exclusive = available && self.overlaps_exclusive(x);
        let may_begin = available && !operand && !traps.soon;
        let may_divide = may_begin && !self.dividing && x.raises == ExceptionOutcome::No;
        let may_access = may_begin && !exclusive && !self.sleeps();
        let address = self.requested_address(x).filter(|_| may_access);
        Work {
            waits: operand || exclusive,
            divides: x.calculates.filter(|_| may_divide),
            address,
            accepted: address.is_some() && self.data.is_ready(),
            atomic: available && matches!(x.access, Access::Atomic(_)),
            jump: self.requested_jump(x).filter(|_| available && !operand),
        }
    }

    /// Returns whether the instruction in stage M stays there: an access waits for the port, an
    /// exception for the supply, a sleep for its end.
    fn later_stays(&self, traps: Traps) -> bool {
        let waits = self.later.access.is_on_port() && !self.data.ends() && !self.later.raises;
        waits || traps.exception && !self.supply.takes_jumps() || self.sleeps()
    }

    /// Returns whether the instruction in stage X stays there.
    fn stays(&self, work: Work, traps: Traps) -> bool {
        let takes_jumps = self.supply.takes_jumps();
        let atomic = work.atomic
            && !traps.soon
            && match self.phase {
                Phase::WriteData => !self.data.ends(),
                Phase::Fault => false,
                _ => true,
            };
        self.later_stays(traps)
            || traps.soon && !(traps.now && takes_jumps)
            || work.waits
            || atomic
            || work.address.is_some() && !work.accepted
            || work.divides.is_some()
            || self.divider_busy > 0
            || work.jump.is_some() && !takes_jumps
    }

    /// Advances by one cycle, with `x` the instruction in stage X or on its way there.
    pub fn advance(
        &mut self,
        x: &Demand,
        cycle_inputs: &CycleInputs,
        memory: &mut impl Memory,
    ) -> CycleOutcome {
        let before = *self;
        let halfwords = x.size / 2;
        let available = before.supply.has(halfwords);
        let traps = before.traps(x, cycle_inputs, available);
        let work = before.work(x, traps, available);
        let stays = before.stays(work, traps);
        let takes_jumps = before.supply.takes_jumps();
        let trapped = traps.now && takes_jumps;

        // Decoding moves to the next instruction; one that has jumped but stays is kept.
        let advances = !stays && available && x.last;
        let leaves = !stays && available && !traps.now;
        let target = if traps.now { Some(cycle_inputs.vector) } else { work.jump };
        let keeps = if !traps.now && !advances && !before.jumped { halfwords } else { 0 };
        let jumps = target.is_some() && takes_jumps && !traps.now;
        self.supply.step(
            Consumption {
                taken: if advances { halfwords } else { 0 },
                jump: target.map(|target| Jump { target, keeps }),
                predict: before.prediction(x, work.jump, trapped),
            },
            memory,
        );
        self.jumped = !advances && (before.jumped || jumps) && !trapped;
        self.advance_work(&before, x, work, traps, stays);
        if !before.later_stays(traps) {
            self.later = if leaves { Later::of(x) } else { Later::default() };
        } else if before.later.fails && before.data.has_left(1) {
            self.later.raises = true;
        }
        self.advance_sleep(&before, cycle_inputs);

        let event = match () {
            () if trapped && traps.exception => Event::Exception,
            () if trapped => Event::Interrupt,
            () if leaves && before.is_predicted_in_part(x) => Event::Again,
            () if leaves => Event::Leaves,
            () if jumps && !before.jumped => Event::JumpsAhead,
            () => Event::Stays,
        };
        CycleOutcome { event, retires: advances && x.raises != ExceptionOutcome::NotRetired }
    }

    /// Updates the divider, the data port and the phase of an atomic operation.
    fn advance_work(&mut self, before: &Self, x: &Demand, work: Work, traps: Traps, stays: bool) {
        let data_phase_end = before.data.ends();
        let phase_ends =
            data_phase_end && matches!(before.phase, Phase::WriteData | Phase::ReadData);
        self.committed = work.address.is_some() && !work.accepted || work.atomic && !phase_ends;
        self.dividing = (before.dividing || work.divides.is_some()) && stays;
        self.divider_busy = match work.divides {
            _ if traps.soon => 0,
            Some(cycles) => cycles,
            None => before.divider_busy.saturating_sub(1),
        };
        self.phase = match before.phase {
            _ if !work.atomic || traps.now => Phase::ReadAddress,
            Phase::Fault if stays => Phase::Fault,
            Phase::Fault => Phase::ReadAddress,
            _ if work.waits || traps.soon => Phase::ReadAddress,
            _ if x.raises != ExceptionOutcome::No => Phase::Fault,
            phase if work.accepted || data_phase_end => phase.next(),
            phase => phase,
        };
        let error_cycles = |answer| u8::from(answer == BusResponse::Error);
        self.data =
            before.data.next(work.address.map(|(waits, answer)| waits + error_cycles(answer)));
    }

    /// Updates the sleep state: sleep lasts at least one cycle and until an interrupt is pending,
    /// and is deeper once fetching has stopped.
    fn advance_sleep(&mut self, before: &Self, cycle_inputs: &CycleInputs) {
        let sleep = before.later.sleep;
        let block_ends = sleep == Sleep::Block && (before.unblocked || cycle_inputs.wakes);
        let wakes = block_ends || sleep == Sleep::Interrupt && cycle_inputs.wakes;
        self.unblocked = cycle_inputs.unblocked
            || before.unblocked && !(sleep == Sleep::Block && before.released);
        self.released = false;
        let SleepDepth { clock_gated, powered_down, also_on_block } = cycle_inputs.depth;
        match before.power {
            Power::Up if sleep == Sleep::Awake || before.released => {}
            Power::Up if wakes => self.released = true,
            Power::Up => {
                let deep =
                    (clock_gated || powered_down) && (sleep == Sleep::Interrupt || also_on_block);
                if deep && before.supply.is_paused() {
                    self.power = if powered_down { Power::GoingDown } else { Power::Down };
                }
            }
            Power::GoingDown => self.power = Power::Down,
            Power::Down if wakes => self.power = Power::ComingUp,
            Power::Down => {}
            Power::ComingUp => {
                self.power = Power::Up;
                self.released = true;
            }
        }
    }

    /// Returns whether stage M holds a sleeping instruction or one with an exception.
    pub fn has_sleep_or_trap(&self) -> bool {
        self.later.sleep != Sleep::Awake || self.later.raises
    }

    /// Returns whether only an interrupt can still change anything.
    pub fn is_asleep(&self) -> bool {
        self.sleeps() && !self.unblocked
    }
}

impl Later {
    fn of(x: &Demand) -> Self {
        let completes = x.raises == ExceptionOutcome::No;
        let (access, fails) = match x.access {
            Access::Load(_, answer) => (Pending::Load, answer),
            Access::Store(_, answer) => (Pending::Store, answer),
            Access::LoadReserved(_, answer) => (Pending::Exclusive(true), answer),
            Access::StoreConditional(Some((_, answer))) => (Pending::Exclusive(true), answer),
            Access::StoreConditional(None) => (Pending::Exclusive(false), BusResponse::Okay),
            Access::None | Access::Split(..) | Access::Atomic(_) => {
                (Pending::Nothing, BusResponse::Okay)
            }
        };
        Self {
            rd: x.rd,
            access: if completes { access } else { Pending::Nothing },
            raises: !completes,
            fails: completes && fails == BusResponse::Error,
            sleep: if completes { x.sleep } else { Sleep::Awake },
        }
    }
}
