//! The decode stage: when an instruction has arrived, has its address, and knows its branch target.

use super::execute::InFlight;
use super::fetch::{Guess, ToFetch};
use super::{Condition, FloatUse, Pipeline, Rule, Step, Unit, has};
use crate::soc::Generation;

/// What an instruction in the decode stage is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its halfwords.
    Fetching,
    /// The registers of its address: they are read in this stage, and only a load forwards to them
    /// (DDI 0337G, 18.3).
    Address,
    Ready,
}

/// The instruction in the decode stage.
#[derive(Clone, Debug)]
pub(super) struct Decoding<'a> {
    pub pc: u32,
    pub step: &'a Step,
    condition: Condition,
    /// Whether it is a branch made in this stage and taken.
    taken: bool,
    target: u32,
    phase: Phase,
    /// Whether the execute stage makes the branch.
    branches_late: bool,
    /// Whether it folds the IT that follows it.
    folds: bool,
    /// Whether it is kept out of the execute stage in this cycle regardless of everything else.
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

    /// Returns whether it is CBZ or CBNZ, and has arrived.
    pub fn is_compare_branch(&self) -> bool {
        self.phase != Phase::Fetching && self.step.is(has::AIMED)
    }

    /// Returns whether a reason of its own keeps it in this stage.
    pub fn waits(&self) -> bool {
        self.phase == Phase::Address || self.is_held
    }

    /// Returns the number of halfwords that leave the instruction register with it.
    pub fn leaving(&self) -> u8 {
        match self.phase {
            Phase::Fetching => 0,
            _ if self.folds => 2,
            _ => self.step.length(),
        }
    }

    /// Makes the instruction ready: the registers of its address have arrived.
    pub fn address_is_known(&mut self) {
        if self.phase == Phase::Address {
            self.phase = Phase::Ready;
        }
    }

    /// Returns the content of the latch between decode and execute: the instruction as it enters.
    fn to_execute(&self) -> InFlight {
        let passes =
            self.is_skipped() || self.step.is_branch() && !self.taken && !self.branches_late;
        // What it needs of the floating-point unit is asked when it enters, and never again.
        let step = Step { float: FloatUse::default(), ..*self.step };
        let mut entering = InFlight::entering(step, self.condition, self.taken);
        entering.pending = if passes { 0 } else { self.step.writes };
        entering.branches_late = self.branches_late;
        entering
    }
}

impl Pipeline {
    /// Runs one cycle of the decode stage.
    pub(super) fn decode(&mut self, it: &mut Decoding<'_>, to_fetch: &mut ToFetch) {
        if self.execute.branches() {
            // The execute stage branches, so this is not the next instruction.
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
        it.folds |= register == 2 && self.folds_it(it);
        if it.step.address & self.execute.pending() == 0 {
            it.address_is_known();
        }
        if arrives && matches!(it.step.unit, Unit::Branch | Unit::Conditional | Unit::Return) {
            self.branch(it, to_fetch);
        }
    }

    /// Makes a branch whose target is known here, or fetches its target in case it is taken (DDI
    /// 0337G, 15.3).
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

    /// Returns whether an instruction folds the IT that follows it in the instruction register.
    fn folds_it(&self, it: &Decoding<'_>) -> bool {
        let by_revision = match self.setup.generation {
            Generation::EarlyCortexM3 => has::FOLDS_EARLY,
            Generation::CortexM4 | Generation::Current => has::FOLDS_LATE,
        };
        let in_block = it.condition != Condition::None;
        it.step.is(has::IT_FOLLOWS)
            && it.step.is(has::FOLDS | by_revision)
            && !(in_block && self.setup.follows(Rule::BlockDoesNotFold))
            && self.setup.follows(Rule::ItFolding)
    }

    /// Returns whether the execute stage takes the instruction at the clock's edge.
    pub(super) fn accepts(&self, it: &Decoding<'_>) -> bool {
        it.is_ready()
            && !it.is_held
            && self.has_float_unit_for(it)
            && (self.execute.older.is_none() || self.execute.younger.is_none() && self.overlaps(it))
    }

    /// Moves the instruction into the execute stage.
    pub(super) fn enter(&mut self, it: &Decoding<'_>) {
        self.folded = it.folds;
        let execute = &mut self.execute;
        let writes_link = !it.is_skipped() && it.step.writes_link();
        let behind_link = std::mem::take(&mut execute.transfers_link);
        execute.transfers_link =
            !it.is_skipped() && it.step.is_transfer() && (writes_link || behind_link);
        execute.writes_link =
            writes_link || behind_link && self.setup.follows(Rule::LoadedLinkLater);
        let slot = if execute.older.is_none() { &mut execute.older } else { &mut execute.younger };
        *slot = Some(it.to_execute());
        self.begin_float(it.step, it.is_skipped());
    }
}
