//! Instructions issue, in order and up to two at a time, when what they want is there.
//!
//! Each is told twice: before it executes, when it [issues](Pipeline::issue), and when it has, with
//! what it [did](Pipeline::finish).

use super::cache::Replacement;
use super::demand::{COUNT, Class, Demand, FLAGS, Flow, Moves, Registers, Source};
use super::memory::{MemoryTimes, Switches, Waits};
use super::pairs::may_pair;
use super::predictor::Predictor;
use crate::armr::control::{Control, Kind, Maintenance, actlr, sctlr};
use crate::armr::exec::Done;
use crate::soc::Soc;

/// A branch that was foreseen wrongly: seen in the write stage (DDI 0363, 14.9, table 14-10).
const MISTAKEN: u64 = 8;
/// A return that was, and what nothing foresees: one stage later (table 14-10, 5.3).
const UNFORESEEN: u64 = 9;
/// From an interrupt that reaches the core to the vector's instruction. An estimate, since no
/// figure has been found: what an unforeseen branch takes, and two stages of synchronization.
pub const ENTRY: u64 = UNFORESEEN + 2;

/// An instruction that a second one may still join.
#[derive(Clone, Copy, Debug)]
struct First {
    issue: u64,
    class: Class,
    writes: Registers,
    thumb: bool,
    /// The first behind a branch: what joins it is among the same 64 bits.
    fresh: Option<u32>,
}

/// The place of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub pc: u32,
    pub size: u8,
    pub thumb: bool,
    /// Whether a condition decides about it.
    pub conditional: bool,
    /// Whether it is a branch to an address before it.
    pub backwards: bool,
    pub kind: Kind,
}

/// The pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The next cycle in which something may issue.
    pub next: u64,
    first: Option<First>,
    ready: [u64; COUNT],
    source: [Source; COUNT],
    /// A multiplication has set the flags last.
    flags_late: bool,
    /// When a division writes its result, for which nothing else issues.
    division: u64,
    /// The instruction that comes next is the target of a branch.
    fresh: bool,
    pub predictor: Predictor,
    pub memory: MemoryTimes,
    switches: Switches,
    actlr: u32,
}

fn each(registers: Registers) -> impl Iterator<Item = usize> {
    let mut left = registers;
    std::iter::from_fn(move || {
        let at = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (at < COUNT).then_some(at)
    })
}

impl Pipeline {
    pub fn new(soc: &Soc) -> Self {
        Self {
            next: 0,
            first: None,
            ready: [0; COUNT],
            source: [Source::Usual; COUNT],
            flags_late: false,
            division: 0,
            fresh: true,
            predictor: Predictor::default(),
            memory: MemoryTimes::new(soc),
            switches: Switches {
                instructions: false,
                data: false,
                replacement: Replacement::Random,
            },
            actlr: 0,
        }
    }

    /// Takes over what control registers say.
    pub fn configure(&mut self, control: &Control) {
        let is = |bit| control.sctlr & bit != 0;
        let replacement = if is(sctlr::RR) { Replacement::RoundRobin } else { Replacement::Random };
        self.switches = Switches { instructions: is(sctlr::I), data: is(sctlr::C), replacement };
        self.actlr = control.actlr;
        self.memory.refetch();
    }

    /// The first cycle in which what an instruction reads is at hand.
    fn operands(&self, demand: &Demand) -> u64 {
        let mut earliest = 0;
        for at in each(demand.very_early) {
            let more = match self.source[at] {
                // From a load one less (DDI 0363, table 14-2); from the address generator to
                // itself nothing (14.11.1).
                Source::Load => 1,
                Source::Address if demand.pre_indexed => 0,
                _ => 2,
            };
            earliest = earliest.max(self.ready[at] + more);
        }
        for at in each(demand.early) {
            earliest = earliest.max(self.ready[at] + 1);
        }
        for at in each(demand.normal) {
            let less = u64::from(self.is_accumulated(demand, at))
                * if demand.by == Source::FloatAccumulator { 3 } else { 1 };
            earliest = earliest.max(self.ready[at].saturating_sub(less));
        }
        for at in each(demand.late) {
            let less = 1 + u64::from(self.is_accumulated(demand, at));
            earliest = earliest.max(self.ready[at].saturating_sub(less));
        }
        // DDI 0460, B.7: what follows a multiplication that sets flags.
        let flags = u64::from(demand.is_multiply && demand.normal >> FLAGS & 1 == 1);
        if self.flags_late && demand.sets_flags && !demand.sets_flags_late {
            earliest = earliest.max(self.ready[FLAGS as usize]);
        }
        if self.flags_late && flags == 1 {
            earliest = earliest.max(self.ready[FLAGS as usize] + 1);
        }
        if demand.serializes {
            earliest = earliest.max(self.ready.iter().max().copied().unwrap_or(0));
        }
        if demand.divides.is_some() {
            earliest = earliest.max(self.division);
        }
        earliest
    }

    fn is_accumulated(&self, demand: &Demand, at: usize) -> bool {
        demand.accumulated >> at & 1 == 1 && self.source[at] == demand.by
    }

    /// The cycle in which an instruction issues, no sooner than the code of it is there.
    pub fn issue(&mut self, demand: &Demand, place: &Place) -> u64 {
        let Place { pc, size, kind, .. } = *place;
        let mut fetched = self.memory.fetch(pc, kind, self.switches, self.next);
        let last = pc.wrapping_add(u32::from(size) - 1);
        if last / 8 != pc / 8 {
            fetched = fetched.max(self.memory.fetch(last, kind, self.switches, self.next));
        }
        let earliest = self.operands(demand);
        let first = self.first.take();
        if let Some(first) = first.filter(|first| self.joins(first, demand, place, fetched)) {
            let issue = first.issue.max(earliest);
            // If one of them waits, both do (DDI 0363, 14.23.1).
            let later = issue - first.issue;
            self.next += later;
            for at in each(first.writes) {
                self.ready[at] += later;
            }
            return issue;
        }
        let mut issue = self.next.max(earliest).max(fetched);
        // A division ends by taking an issue cycle (14.8).
        if self.division != 0 && issue + 1 >= self.division {
            issue += u64::from(issue + 1 == self.division);
            self.division = 0;
        }
        let may_be_first = demand.flow == Flow::On
            && !demand.serializes
            && !demand.sets_flags_late
            && !matches!(demand.class, Class::Alone | Class::Accesses);
        self.first = may_be_first.then_some(First {
            issue,
            class: demand.class,
            writes: demand.writes | demand.base | demand.list,
            thumb: place.thumb,
            fresh: self.fresh.then_some(pc / 8),
        });
        self.fresh = false;
        issue
    }

    /// Whether an instruction issues together with the one before.
    fn joins(&self, first: &First, demand: &Demand, place: &Place, fetched: u64) -> bool {
        let reads =
            demand.very_early | demand.early | demand.normal | demand.late | demand.accumulated;
        let last = place.pc.wrapping_add(u32::from(place.size) - 1);
        let both_there = first.fresh.is_none_or(|bits| last / 8 == bits) && fetched <= first.issue;
        both_there
            && first.thumb == place.thumb
            && first.writes & reads == 0
            && !demand.serializes
            && may_pair(first.class, demand.class, self.actlr)
    }

    /// Notes what an instruction that issued in a cycle has done.
    pub fn finish(&mut self, demand: &Demand, place: &Place, done: &Done, issue: u64) {
        let (cycles, waits) = self.memory_cycles(demand, done, issue);
        self.results(demand, done, issue, cycles, &waits);
        let taken = self.flow(demand, place, done, cycles);
        if done.jump.is_some() {
            self.first = None;
            self.fresh = true;
        }
        self.next = self.next.max(issue + taken + waits.stalls);
        if let Some(maintenance) = done.maintenance {
            self.maintain(maintenance, issue);
        }
    }

    /// The cycles for which an instruction issues, apart from where it leads, and what it waits for.
    fn memory_cycles(&mut self, demand: &Demand, done: &Done, issue: u64) -> (u64, Waits) {
        let waits = match &done.traffic {
            Some(traffic) => self.memory.access(traffic, self.switches, issue),
            None => Waits::default(),
        };
        let address = done.traffic.map_or(0, |traffic| traffic.address);
        let bytes = done.traffic.map_or(1, |traffic| traffic.bytes);
        let cycles = match demand.moves {
            Moves::Nothing => demand.cycles.into(),
            Moves::One { slow } => {
                let crosses = (address & 7) + bytes > 8;
                u64::from(demand.cycles) + 2 * u64::from(slow) + u64::from(crosses)
            }
            Moves::Many { slow } => {
                // Two words a cycle, from addresses that are aligned to both.
                let half = u64::from(address >> 2 & 1);
                let words = match done.traffic {
                    Some(traffic) => u64::from(traffic.bytes / 4),
                    None => (demand.list | demand.late).count_ones().into(),
                };
                let least = if demand.base != 0 { 2 } else { 1 };
                (words + half).div_ceil(2).max(least) + 2 * u64::from(slow)
            }
        };
        (cycles, waits)
    }

    fn result(&mut self, at: usize, ready: u64, source: Source) {
        self.ready[at] = ready;
        self.source[at] = source;
    }

    /// When results are there.
    fn results(&mut self, demand: &Demand, done: &Done, issue: u64, cycles: u64, waits: &Waits) {
        let loads = demand.moves != Moves::Nothing && done.traffic.is_some_and(|it| it.reads);
        let extra = match demand.moves {
            Moves::One { .. } => {
                cycles - u64::from(demand.cycles) + waits.late[0].max(waits.late[1])
            }
            _ => 0,
        };
        // Where a condition fails, operations are as if their result were the old one (14.1.2).
        let latency = match demand.divides {
            Some(divides) => {
                let (n, m) = done.quotient.unwrap_or((0, 0));
                let latency = divides.latency(n, m);
                self.division = if done.skipped { 0 } else { issue + latency };
                latency
            }
            None if done.skipped && demand.moves == Moves::Nothing => 1,
            None => u64::from(demand.latency) + extra,
        };
        let source = match demand.moves {
            Moves::Nothing => demand.by,
            _ if loads => Source::Load,
            _ => Source::Usual,
        };
        for at in each(demand.writes & !(1 << FLAGS)) {
            self.result(at, issue + latency, source);
        }
        if demand.writes >> FLAGS & 1 == 1 {
            let late = if demand.sets_flags_late { u64::from(demand.cycles) + 1 } else { 1 };
            self.flags_late = demand.sets_flags_late;
            self.result(FLAGS.into(), issue + late, Source::Usual);
        }
        let slow = matches!(demand.moves, Moves::Many { slow: true });
        let address = done.traffic.map_or(0, |traffic| traffic.address);
        for (word, at) in each(demand.list).enumerate() {
            let place = address.wrapping_add(4 * word as u32);
            let half = u64::from(address >> 2 & 1);
            let line = (place / 32).wrapping_sub(address / 32) as usize;
            let late = waits.late.get(line).copied().unwrap_or(0);
            let latency = u64::from(demand.latency)
                + 2 * u64::from(slow)
                + ((word as u64 + half) >> 1)
                + late;
            self.result(at, issue + latency, Source::Load);
        }
        for at in each(demand.base & !demand.list) {
            let source = if demand.pre_indexed { Source::Address } else { Source::Usual };
            self.result(at, issue + cycles, source);
        }
    }

    /// The cycles of an instruction with where it leads (DDI 0363, 14.9 and tables 14-10, 14-13).
    fn flow(&mut self, demand: &Demand, place: &Place, done: &Done, cycles: u64) -> u64 {
        let taken = done.jump.is_some();
        let more = cycles - 1;
        let stack = self.actlr & actlr::RSDIS == 0;
        match (demand.flow, done.jump) {
            (Flow::On, _) => cycles,
            (Flow::Direct { links }, _) => {
                let right = !place.conditional || self.foresee(place, taken);
                if links && taken {
                    self.push(place);
                }
                if right { cycles } else { MISTAKEN }
            }
            (_, None) => match demand.flow {
                Flow::Register { links: false } | Flow::Loaded { returns: true }
                    if place.conditional && !self.foresee(place, false) =>
                {
                    MISTAKEN
                }
                // TBB takes as long either way.
                Flow::Unforeseen if demand.moves != Moves::Nothing => UNFORESEEN,
                _ => cycles,
            },
            (Flow::Register { links: true }, _) => {
                self.push(place);
                UNFORESEEN
            }
            (Flow::Register { .. } | Flow::Loaded { returns: true }, Some(target)) => {
                let foreseen = !place.conditional || self.foresee(place, true);
                let right = stack && self.predictor.pop() & !1 == target;
                match (foreseen, right) {
                    (true, true) => cycles,
                    (false, true) => MISTAKEN + more,
                    (_, false) => UNFORESEEN + more,
                }
            }
            (_, Some(_)) => UNFORESEEN + more,
        }
    }

    /// Whether a branch does as was foreseen.
    fn foresee(&mut self, place: &Place, taken: bool) -> bool {
        self.predictor.branch(place.pc, place.backwards, taken, self.actlr) == taken
    }

    const fn push(&mut self, place: &Place) {
        self.predictor.push(place.pc.wrapping_add(place.size as u32));
    }

    fn maintain(&mut self, maintenance: Maintenance, issue: u64) {
        match maintenance {
            Maintenance::Instructions(None) => self.memory.instructions.clear(),
            Maintenance::Instructions(Some(address)) => self.memory.instructions.forget(address),
            Maintenance::Data(None) => self.memory.data.clear(),
            Maintenance::Data(Some(address)) => self.memory.data.forget(address),
            Maintenance::DataSetWay(value) => self.memory.data.forget_set_way(value),
            Maintenance::Predictors => self.predictor.clear(),
            Maintenance::Nothing | Maintenance::Clean => {}
            Maintenance::Synchronize => self.next = self.next.max(self.memory.drained()),
            Maintenance::Flush => {
                self.next = self.next.max(issue + UNFORESEEN);
                self.memory.refetch();
            }
        }
    }

    /// An exception is entered, no sooner than a cycle: its handler issues so many cycles later.
    pub fn enter(&mut self, from: u64, cycles: u64) {
        self.next = self.next.max(from) + cycles;
        self.first = None;
        self.fresh = true;
    }

    /// An exception that an instruction raises: no entry is foreseen.
    pub fn raise(&mut self, issue: u64) {
        self.enter(issue, UNFORESEEN);
    }
}
