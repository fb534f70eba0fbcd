//! Two interrupts in one copy of the machine: when each is served, and how they met.

use rtmark_sim::{Cycles, Hit, Machine, Stop, Watch};
use serde::{Deserialize, Serialize};

use crate::fork::Unserved;
use crate::path::{Path, SearchedInterrupt};

/// How two interrupts met, if both were served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interleaving {
    /// One interrupted the other's handler.
    Nested,
    /// One was entered directly from the other's return.
    TailChained,
    /// One became pending while the other was being entered, and overtook it.
    LateArrival,
    /// Other code ran between the return from one and the entry of the other.
    Apart,
}

impl Interleaving {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nested, Self::TailChained, Self::LateArrival, Self::Apart];

    /// Returns its name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nested => "nested",
            Self::TailChained => "tail_chained",
            Self::LateArrival => "late_arrival",
            Self::Apart => "apart",
        }
    }

    /// Describes it in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Nested => "nested: one interrupts the other's handler",
            Self::TailChained => "tail-chained: one is entered from the other's return",
            Self::LateArrival => "late arrival: one overtakes the other's entry",
            Self::Apart => "apart: other code runs in between",
        }
    }
}

/// What followed two interrupts, in cycles since reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairOutcome {
    /// The first instruction of the earlier one's handler, or why it was not served.
    pub earlier: Result<u64, Unserved>,
    /// The first instruction of the later one's handler, or why it was not served.
    pub later: Result<u64, Unserved>,
    /// How they met, if both were entered.
    pub how: Option<Interleaving>,
}

/// The state of the earlier interrupt when the later one becomes relevant.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarlierState {
    /// Whether its handler has been entered.
    pub entered: bool,
    /// The cycle of its handler's first instruction.
    pub served: Option<u64>,
}

/// Tells whether the last step entered an interrupt's handler for what became pending in a cycle;
/// `taken` is the number of entries before it. An entry that had fetched its vector before that cycle,
/// because the program itself requested the interrupt, leaves it pending. The machine must be settled.
pub fn enters(machine: &Machine, line: &SearchedInterrupt, taken: u64, pended: u64) -> bool {
    machine.exceptions_taken() > taken
        && machine.exception() == line.exception()
        && machine.cycles().0 >= pended
        && !machine.is_pending_again(line.interrupt)
}

/// Tells whether a hit is the beginning of an interrupt's handling, for what became pending in a cycle: after its
/// entry, or where another one's handler takes it over from the interrupt controller, which is no entry.
pub fn begins(line: &SearchedInterrupt, entered: bool, hit: Hit, pended: u64) -> bool {
    let is_taken_over = matches!(line.watch, Watch::Handle(_)) && hit.cycle.0 >= pended;
    hit.watch == line.handler_watch && (entered || is_taken_over)
}

/// Makes the later interrupt pending in a copy of a machine in which the earlier one is pending, or
/// will be, and follows what happens. `pended` holds the cycles in which they become pending.
pub fn meet(
    path: &Path,
    machine: &Machine,
    lines: [&SearchedInterrupt; 2],
    known: EarlierState,
    pended: [u64; 2],
) -> PairOutcome {
    let mut copy = machine.clone();
    copy.take_hits();
    copy.pend_interrupt(lines[1].interrupt, Cycles(pended[1]));
    let until = pended[1].saturating_add(path.question().patience);
    let mut entered = [known.entered, false];
    let mut served = [known.served, None];
    let (mut late, mut how) = (false, None);
    copy.settle();
    let stop = loop {
        if served.iter().all(Option::is_some) {
            break Stop::Limit;
        }
        let ready = [0, 1].map(|which| {
            let interrupt = lines[which].interrupt;
            let there = copy.has_arrived(interrupt) || copy.is_active(interrupt);
            there && copy.interrupt_blocker(interrupt).is_none()
        });
        let active = lines.map(|line| copy.is_active(line.interrupt));
        let taken = copy.exceptions_taken();
        if copy.cycles().0 >= until {
            break Stop::Limit;
        }
        if let Err(stop) = copy.advance(Cycles(until)) {
            break stop;
        }
        copy.settle();
        for hit in copy.take_hits() {
            for which in [0, 1] {
                if begins(lines[which], entered[which], hit, pended[which]) {
                    served[which] = served[which].or(Some(hit.cycle.0));
                }
            }
        }
        for (which, other) in [(0, 1), (1, 0)] {
            if entered[which] || !enters(&copy, lines[which], taken, pended[which]) {
                continue;
            }
            entered[which] = true;
            if !entered[other] {
                late = ready[other] && !ready[which];
            } else if late {
                how = Some(Interleaving::LateArrival);
            } else if copy.is_active(lines[other].interrupt) {
                how = Some(Interleaving::Nested);
            } else if active[other] {
                how = Some(Interleaving::TailChained);
            } else {
                how = Some(Interleaving::Apart);
            }
        }
    };
    path.check_machine(&copy);
    let why = |which: usize| Unserved::of(&copy, &stop, lines[which].interrupt);
    PairOutcome {
        earlier: served[0].ok_or_else(|| why(0)),
        later: served[1].ok_or_else(|| why(1)),
        how: how.filter(|_| served.iter().all(Option::is_some)),
    }
}
