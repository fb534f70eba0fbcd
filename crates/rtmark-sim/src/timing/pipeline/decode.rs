//! The decode stage: when an instruction is there, has its address, knows where it branches.

use super::execute::InFlight;
use super::fetch::{Guess, ToFetch};
use super::{Condition, Pipeline, Rule, Step, Unit, has};
use crate::soc::Generation;

/// What an instruction in the decode stage waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its halfwords.
    Fetching,
    /// The registers that its address is made of: they are read here, and nothing but a load
    /// forwards to them (DDI 0337G, 18.3).
    Address,
    Ready,
}

/// The instruction in the decode stage.
#[derive(Clone, Debug)]
pub(super) struct Decoding<'a> {
    pub pc: u32,
    pub step: &'a Step,
    condition: Condition,
    /// A branch that the decode stage makes is taken.
    taken: bool,
    target: u32,
    phase: Phase,
    /// The execute stage is to make the branch.
    branches_late: bool,
    /// It takes the IT behind it along.
    folds: bool,
    /// It does not enter the execute stage in this cycle, whatever happens.
    pub is_held: bool,
}

impl<'a> Decoding<'a> {
    pub fn new(pc: u32, step: &'a Step, condition: Condition, taken: bool, target: u32) -> Self {
        Self {
            pc,
            step,
            condition,
            taken: taken && condition != Condition::Failed,
            target,
            phase: Phase::Fetching,
            branches_late: false,
            folds: false,
            is_held: false,
        }
    }

    pub fn is_skipped(&self) -> bool {
        self.condition == Condition::Failed
    }

    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether it cannot be passed on for a reason of its own.
    pub fn waits(&self) -> bool {
        self.phase == Phase::Address || self.is_held
    }

    /// Halfwords that leave the instruction register with it.
    pub fn leaving(&self) -> u8 {
        match self.phase {
            Phase::Fetching => 0,
            _ if self.folds => 2,
            _ => self.step.length(),
        }
    }

    /// What its address is made of has arrived.
    pub fn address_is_known(&mut self) {
        if self.phase == Phase::Address {
            self.phase = Phase::Ready;
        }
    }

    /// The latch between decode and execute: the instruction as it enters.
    fn to_execute(&self) -> InFlight {
        let passes =
            self.is_skipped() || self.step.is_branch() && !self.taken && !self.branches_late;
        let mut entering = InFlight::entering(*self.step, self.condition, self.taken);
        entering.pending = if passes { 0 } else { self.step.writes };
        entering.branches_late = self.branches_late;
        entering
    }
}

impl Pipeline {
    /// One cycle of the decode stage.
    pub(super) fn decode(&mut self, it: &mut Decoding<'_>, to_fetch: &mut ToFetch) {
        if self.execute.branches() {
            // What is decoded is not what comes next.
            let begun = Decoding::new(it.pc, it.step, it.condition, it.taken, it.target);
            *it = Decoding { is_held: it.is_held, ..begun };
            return;
        }
        let register = self.prefetch.to_decode.register;
        let arrives = it.phase == Phase::Fetching && register >= it.step.length();
        if arrives {
            let has_address = it.step.address != 0 && !it.is_skipped();
            it.phase = if has_address { Phase::Address } else { Phase::Ready };
            it.branches_late = it.step.is_branch();
        }
        if it.phase == Phase::Fetching {
            return;
        }
        it.folds |= register == 2 && self.folds_it(it.step);
        if it.step.address & self.execute.pending() == 0 {
            it.address_is_known();
        }
        if arrives && matches!(it.step.unit, Unit::Branch | Unit::Conditional | Unit::Return) {
            self.branch(it, to_fetch);
        }
    }

    /// Makes a branch whose target is known here, or fetches its target for the case that it
    /// is taken (DDI 0337G, 15.3).
    fn branch(&mut self, it: &mut Decoding<'_>, to_fetch: &mut ToFetch) {
        let returns = it.step.unit == Unit::Return;
        if returns && self.execute.writes_link && self.setup.follows(Rule::LinkRegisterLate) {
            return;
        }
        it.branches_late = false;
        self.returns_unseen = returns;
        if it.step.unit == Unit::Conditional || it.condition != Condition::None {
            to_fetch.guess = Some(Guess { target: it.target, taken: it.taken });
        } else {
            to_fetch.branch = Some(it.target);
        }
    }

    /// Whether an instruction takes an IT along that lies behind it in the instruction register.
    fn folds_it(&self, step: &Step) -> bool {
        let by_revision = match self.setup.generation {
            Generation::EarlyCortexM3 => has::FOLDS_EARLY,
            Generation::Current => has::FOLDS_LATE,
        };
        step.is(has::IT_FOLLOWS)
            && step.is(has::FOLDS | by_revision)
            && self.setup.follows(Rule::ItFolding)
    }

    /// Whether the execute stage takes the instruction at the clock's edge.
    pub(super) fn accepts(&self, it: &Decoding<'_>) -> bool {
        it.is_ready()
            && !it.is_held
            && (self.execute.older.is_none() || self.execute.younger.is_none() && self.overlaps(it))
    }

    /// The instruction enters the execute stage.
    pub(super) fn enter(&mut self, it: &Decoding<'_>) {
        self.folded = it.folds;
        let execute = &mut self.execute;
        execute.writes_link = !it.is_skipped() && it.step.writes_link();
        let slot = if execute.older.is_none() { &mut execute.older } else { &mut execute.younger };
        *slot = Some(it.to_execute());
    }
}
