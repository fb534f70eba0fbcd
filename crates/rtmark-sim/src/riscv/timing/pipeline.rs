//! Stages X and M, cycle by cycle.
//!
//! Each method names a rule; all come from cycle traces of the RTL at commit 86fc4e3f, and from
//! Hazard3's documentation, "Instruction Cycle Counts" (RP2350 datasheet, 3.8.7) where it has them.

use super::Memory;
use super::demand::{Access, Answer, Demand, Excepts, Flow};
use super::fetch::{Consumption, Jump, Predict, Supply};
use super::port::Port;

/// What is asleep until something wakes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sleep {
    #[default]
    No,
    /// WFI.
    Interrupt,
    /// `h3.block`.
    Block,
}

/// What the pipeline sees of the rest of the core in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// An interrupt is pending, enabled, and not masked.
    pub interrupt: bool,
    /// An interrupt is pending and enabled: it ends a sleep, masked or not.
    pub wakes: bool,
    /// Another core has unblocked this one.
    pub unblocked: bool,
    /// Where a trap leads that is entered in this cycle.
    pub vector: u32,
    /// How deeply sleeps may be (MSLEEP).
    pub depth: Depth,
}

/// How deeply the core sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    pub clock_gated: bool,
    pub powered_down: bool,
    pub also_on_block: bool,
}

/// What has happened in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Happened {
    pub event: Event,
    /// MINSTRET counts one more. It also counts the instruction that a trap drives from stage X
    /// in a cycle in which it could have left (RTL traces).
    pub retires: bool,
}

/// What has become of the instruction in stage X.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// It stays.
    #[default]
    Stays,
    /// It has left for stage M.
    Leaves,
    /// It stays, but its jump has been made: an interrupt returns to its target (as RP2350's
    /// revision of the core does at the jump of `cm.popret`).
    JumpsAhead,
    /// It has left without being executed, to come back: its prediction was for another
    /// instruction.
    Again,
    /// The exception of the instruction before is taken.
    Exception,
    /// An interrupt is taken before it.
    Interrupt,
}

/// An instruction in stage M.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Later {
    rd: u8,
    access: Pending,
    excepts: bool,
    /// The access is about to be answered by an error.
    fails: bool,
    sleep: Sleep,
}

/// What stage M waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

    /// Whether the port's data phase is its own.
    const fn is_on_port(self) -> bool {
        matches!(self, Self::Load | Self::Store | Self::Exclusive(true))
    }

    const fn brings_result(self) -> bool {
        matches!(self, Self::Load | Self::Exclusive(_))
    }
}

/// Where a sleeping core's power stands (Xh3power).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Power {
    #[default]
    Up,
    GoingDown,
    Down,
    ComingUp,
}

/// The phases of an atomic operation: the address and the data of its read, those of its write,
/// and its fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    ReadAddress,
    ReadData,
    WriteAddress,
    WriteData,
    Fault,
}

/// The pipeline's state at the beginning of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipeline {
    supply: Supply,
    data: Port,
    later: Later,
    phase: Phase,
    /// The division in stage X has been begun, and for how many cycles it goes on.
    dividing: bool,
    divider_busy: u8,
    /// An access in stage X cannot be taken back any more.
    committed: bool,
    /// The instruction in stage X has jumped and waits to leave.
    jumped: bool,
    /// Sleep ends in this cycle.
    released: bool,
    power: Power,
    /// `h3.block` finds that it has been unblocked before.
    unblocked: bool,
}

/// What holds the instruction in stage X, or would.
struct Holds {
    available: bool,
    /// It needs what stage M has not got yet.
    operand: bool,
    exclusive: bool,
    memory: bool,
    divider: bool,
}

impl Pipeline {
    /// After a reset.
    pub fn new(pc: u32) -> Self {
        Self { supply: Supply::new(pc), ..Self::default() }
    }

    /// Whether a load's, LR's or SC's result is needed by the instruction behind it: stage X waits
    /// until it is there. The data of a store is taken in stage M, a cycle later.
    fn waits_for_operand(&self, x: &Demand) -> bool {
        let rd = self.later.rd;
        let stores = matches!(x.access, Access::Store(..));
        rd != 0
            && self.later.access.brings_result()
            && (rd == x.reads[0] || rd == x.reads[1] && !stores)
    }

    /// LR, SC and AMO wait for an LR or SC in stage M.
    fn overlaps_exclusive(&self, x: &Demand) -> bool {
        matches!(self.later.access, Pending::Exclusive(_))
            && matches!(
                x.access,
                Access::LoadReserved(..) | Access::StoreConditional(_) | Access::Atomic(_)
            )
    }

    /// The sleeping instruction in stage M stays there until released.
    fn sleeps(&self) -> bool {
        self.later.sleep != Sleep::No && !self.released
    }

    /// Whether the branch that was predicted is not all of the instruction: it is jumped to again
    /// without a prediction.
    fn is_predicted_in_part(&self, x: &Demand) -> bool {
        let [first, second] = self.supply.predicted();
        x.size == 4 && first != second
    }

    /// The jump that the instruction in stage X makes, as it differs from what was fetched.
    fn jump_wanted(&self, x: &Demand) -> Option<u32> {
        if self.jumped || x.excepts != Excepts::No {
            return None;
        }
        if self.is_predicted_in_part(x) {
            return Some(x.pc);
        }
        let next = x.pc.wrapping_add(u32::from(x.size));
        match x.flow {
            Flow::Next => None,
            Flow::Refetch => Some(next),
            Flow::Jump(target) => Some(target),
            Flow::Branch { target, taken } => match (taken, self.supply.predicted()[0]) {
                (true, false) => Some(target),
                (false, true) => Some(next),
                _ => None,
            },
        }
    }

    /// What becomes of the prediction: a backward branch that is taken unpredicted is the next one
    /// predicted; a jump away from a predicted branch, `fence.i` and traps clear it.
    fn prediction(&self, x: &Demand, jump: Option<u32>, traps: bool) -> Predict {
        let predicted = self.supply.predicted()[0];
        let Some(target) = jump else {
            let clears = traps || self.supply.shows_fence();
            return if clears { Predict::Clear } else { Predict::Keep };
        };
        if traps || self.supply.shows_fence() || predicted {
            return Predict::Clear;
        }
        let backward =
            matches!(x.flow, Flow::Branch { .. }) && target.wrapping_sub(x.pc) >> 31 == 1;
        if backward { Predict::Set(x.pc, x.size, target) } else { Predict::Keep }
    }

    /// The access whose address the instruction in stage X puts on the port, by its wait states.
    fn address_wanted(&self, x: &Demand) -> Option<(u8, Answer)> {
        if x.excepts != Excepts::No {
            return None;
        }
        match x.access {
            Access::None => None,
            Access::Load(waits, answer)
            | Access::Store(waits, answer)
            | Access::LoadReserved(waits, answer) => Some((waits, answer)),
            Access::StoreConditional(access) => access,
            Access::Atomic(waits) => matches!(self.phase, Phase::ReadAddress | Phase::WriteAddress)
                .then_some((waits, Answer::Okay)),
        }
    }

    /// Lets a cycle pass with an instruction in stage X, or on its way there.
    pub fn pass(&mut self, x: &Demand, around: &Around, memory: &impl Memory) -> Happened {
        let before = *self;
        let halfwords = x.size / 2;
        let available = before.supply.has(halfwords);
        let atomic = available && matches!(x.access, Access::Atomic(_));

        // Traps: an exception from stage M at once, an interrupt between two instructions when no
        // access is under way.
        let asleep = before.sleeps();
        let in_flight = before.later.access.is_something();
        let held = before.committed || asleep || available && x.holds_interrupts;
        let interrupt = around.interrupt && !held;
        let exception = before.later.excepts;
        let traps = exception || interrupt && !in_flight;
        let trap_comes = exception || interrupt;
        let takes_jumps = before.supply.takes_jumps();

        let data_ends = before.data.ends();
        let waits_on_port = before.later.access.is_on_port() && !data_ends && !before.later.excepts;
        let later_stays = waits_on_port || exception && !takes_jumps || asleep;

        let operand = available && before.waits_for_operand(x);
        let exclusive = available && before.overlaps_exclusive(x);
        let divides = x.divides.filter(|_| {
            available && !before.dividing && !operand && !trap_comes && x.excepts == Excepts::No
        });
        let divider_busy = before.divider_busy > 0;
        let may_access = available && !operand && !exclusive && !trap_comes && !asleep;
        let address = before.address_wanted(x).filter(|_| may_access);
        let accepted = address.is_some() && before.data.is_ready();
        let atomic_stays = atomic
            && !trap_comes
            && match before.phase {
                Phase::WriteData => !data_ends,
                Phase::Fault => false,
                _ => true,
            };
        let jump = before.jump_wanted(x).filter(|_| available && !operand);
        let holds = Holds {
            available,
            operand,
            exclusive,
            memory: atomic_stays || address.is_some() && !accepted,
            divider: divides.is_some() || divider_busy,
        };
        let waits_for_trap = trap_comes && (!traps || !takes_jumps);
        let stays = later_stays
            || waits_for_trap
            || holds.operand
            || holds.exclusive
            || holds.memory
            || holds.divider
            || jump.is_some() && !takes_jumps;

        // Decoding goes on to the next instruction; one that has jumped but stays is kept.
        let goes_on = !stays && available && x.last;
        let leaves = !stays && available && !traps;
        let target = if traps { Some(around.vector) } else { jump };
        let keeps = if !traps && !goes_on && !before.jumped { halfwords } else { 0 };
        let jumps_now = target.is_some() && takes_jumps;
        let predict = before.prediction(x, jump, traps && takes_jumps);
        self.supply.pass(
            Consumption {
                taken: if goes_on { halfwords } else { 0 },
                jump: target.map(|target| Jump { target, keeps }),
                predict,
            },
            memory,
        );
        self.jumped = !goes_on && (before.jumped || jumps_now && !traps);
        if traps && takes_jumps {
            self.jumped = false;
        }

        self.committed = address.is_some() && !accepted
            || atomic && !(data_ends && matches!(before.phase, Phase::WriteData | Phase::ReadData));
        self.dividing = (before.dividing || divides.is_some()) && stays;
        self.divider_busy = match divides {
            _ if trap_comes => 0,
            Some(cycles) => cycles,
            None => before.divider_busy.saturating_sub(1),
        };
        self.phase = before.next_phase(
            atomic && (accepted || data_ends),
            x,
            traps,
            operand || exclusive || trap_comes,
            stays,
        );
        self.data = before
            .data
            .next(address.map(|(waits, answer)| waits + u8::from(answer == Answer::Error)));
        if !later_stays {
            self.later = if leaves { Later::of(x) } else { Later::default() };
        } else if before.later.fails && before.data.has_left(1) {
            self.later.excepts = true;
        }
        self.pass_sleep(&before, around);

        let event = if traps && takes_jumps {
            if exception { Event::Exception } else { Event::Interrupt }
        } else if leaves && before.is_predicted_in_part(x) {
            Event::Again
        } else if leaves {
            Event::Leaves
        } else if jumps_now && !traps && !before.jumped {
            Event::JumpsAhead
        } else {
            Event::Stays
        };
        Happened { event, retires: goes_on && x.excepts != Excepts::NotRetired }
    }

    /// The phase of an atomic operation in the next cycle.
    fn next_phase(&self, moves: bool, x: &Demand, traps: bool, waits: bool, stays: bool) -> Phase {
        if !matches!(x.access, Access::Atomic(_)) {
            return Phase::ReadAddress;
        }
        let faulty = x.excepts != Excepts::No;
        match self.phase {
            _ if traps => Phase::ReadAddress,
            Phase::Fault if stays => Phase::Fault,
            Phase::Fault => Phase::ReadAddress,
            _ if !moves && !faulty => self.phase,
            _ if waits => Phase::ReadAddress,
            _ if faulty => Phase::Fault,
            Phase::ReadAddress => Phase::ReadData,
            Phase::ReadData => Phase::WriteAddress,
            Phase::WriteAddress => Phase::WriteData,
            Phase::WriteData => Phase::ReadAddress,
        }
    }

    /// Sleep: at least one cycle, until an interrupt is pending; deeper states once fetching rests.
    fn pass_sleep(&mut self, before: &Self, around: &Around) {
        let sleep = before.later.sleep;
        let block_ends = sleep == Sleep::Block && (before.unblocked || around.wakes);
        let wakes = block_ends || sleep == Sleep::Interrupt && around.wakes;
        self.unblocked =
            around.unblocked || before.unblocked && !(sleep == Sleep::Block && before.released);
        self.released = false;
        let Depth { clock_gated, powered_down, also_on_block } = around.depth;
        match before.power {
            Power::Up if sleep == Sleep::No || before.released => {}
            Power::Up if wakes => self.released = true,
            Power::Up => {
                let deep =
                    (clock_gated || powered_down) && (sleep == Sleep::Interrupt || also_on_block);
                if deep && before.supply.rests() {
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

    /// Whether nothing but an interrupt can change anything any more.
    pub fn is_asleep(&self) -> bool {
        self.sleeps() && !self.unblocked
    }
}

impl Later {
    fn of(x: &Demand) -> Self {
        let fine = x.excepts == Excepts::No;
        let (access, fails) = match x.access {
            Access::Load(_, answer) => (Pending::Load, answer),
            Access::Store(_, answer) => (Pending::Store, answer),
            Access::LoadReserved(_, answer) => (Pending::Exclusive(true), answer),
            Access::StoreConditional(Some((_, answer))) => (Pending::Exclusive(true), answer),
            Access::StoreConditional(None) => (Pending::Exclusive(false), Answer::Okay),
            Access::None | Access::Atomic(_) => (Pending::Nothing, Answer::Okay),
        };
        Self {
            rd: x.rd,
            access: if fine { access } else { Pending::Nothing },
            excepts: !fine,
            fails: fine && fails == Answer::Error,
            sleep: if fine { x.sleep } else { Sleep::No },
        }
    }
}
