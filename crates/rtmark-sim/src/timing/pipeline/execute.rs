//! The execute stage: one instruction, or a load or store followed by another instruction.

use super::fetch::ToFetch;
use super::setup::Setup;
use super::{Condition, DataRead, Facts, Pipeline, Rule, Step, Unit, has};

/// An instruction in the execute stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub step: Step,
    pub condition: Condition,
    pub facts: Facts,
    /// Cycles that it has spent in the stage.
    pub cycle: u8,
    /// Whether it leaves at the clock's edge.
    pub done: bool,
    /// Registers that it will write, which addresses cannot use yet.
    pub pending: u16,
    /// Those of them that are written at the clock's edge.
    written: u16,
    /// Words whose address has been presented.
    pub asked: u8,
    /// Words that have arrived.
    arrived: u8,
    /// Whether it makes its branch in this stage.
    pub branches_late: bool,
    /// Whether a distance loaded from a table is being added.
    adds_distance: bool,
    /// The word of a slow memory that it reads next.
    pub reads: DataRead,
}

impl InFlight {
    /// Returns an instruction as it enters. `taken` tells whether a branch that the decode stage
    /// makes is taken.
    pub fn entering(step: Step, condition: Condition, taken: bool) -> Self {
        Self { step, condition, facts: Facts { taken, ..Facts::default() }, ..Self::default() }
    }

    pub fn is_skipped(&self) -> bool {
        self.condition == Condition::Failed
    }

    pub fn is_transfer(&self) -> bool {
        !self.is_skipped() && self.step.is_transfer()
    }

    /// Returns whether it has another word to transfer whose address has not been presented.
    pub fn has_more(&self) -> bool {
        self.is_transfer() && !self.done && self.asked < self.step.words
    }

    /// Returns the cycles of a `Unit::Long` instruction in the execute stage.
    pub fn cycles(&self) -> u8 {
        self.step.cycles.saturating_add(self.facts.longer).max(1)
    }

    pub fn finish(&mut self) {
        self.done = true;
        self.written = self.pending;
    }

    /// Records that the bus has taken the address of a word.
    pub fn address_is_taken(&mut self, setup: &Setup) {
        if self.step.is(has::WRITEBACK)
            && self.step.is_single_transfer()
            && setup.follows(Rule::BaseEarly)
        {
            self.written |= self.step.address;
        }
    }

    /// Returns whether it branches, so that the decoded instruction is not the next one.
    fn branches(&self) -> bool {
        let step = &self.step;
        !self.done
            && !self.is_skipped()
            && step.is_branch()
            && (self.facts.taken
                || step.is(has::TO_PC)
                || matches!(step.unit, Unit::Barrier | Unit::Table | Unit::Computed))
    }
}

/// The execute stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Execute {
    pub older: Option<InFlight>,
    /// An instruction that has entered beside a load or store that has not completed.
    pub younger: Option<InFlight>,
    /// Whether a return that follows the newest instruction finds the link register not written yet.
    pub writes_link: bool,
    /// Whether the newest instruction loads the link register, or is the last of loads and stores without
    /// another instruction between them, of which the first loads it.
    pub transfers_link: bool,
}

impl Execute {
    fn slots(&self) -> impl Iterator<Item = &InFlight> {
        self.older.iter().chain(&self.younger)
    }

    pub fn newest(&self) -> Option<&InFlight> {
        self.younger.as_ref().or(self.older.as_ref())
    }

    pub fn newest_mut(&mut self) -> Option<&mut InFlight> {
        self.younger.as_mut().or(self.older.as_mut())
    }

    /// Returns the instruction that presents the next data address.
    pub fn next_transfer(&mut self) -> Option<&mut InFlight> {
        [&mut self.older, &mut self.younger].into_iter().flatten().find(|it| it.has_more())
    }

    /// Returns the instruction that presented the last data address.
    pub fn last_asking(&mut self) -> Option<&mut InFlight> {
        let younger = self.younger.as_mut().filter(|it| it.asked > 0);
        younger.or(self.older.as_mut())
    }

    pub fn branches(&self) -> bool {
        self.slots().any(InFlight::branches)
    }

    /// Returns registers that will be written, which addresses cannot use yet.
    pub fn pending(&self) -> u16 {
        self.slots().fold(0, |all, it| all | it.pending)
    }

    /// Returns whether the stage is expected to stay occupied.
    pub fn is_busy(&self, setup: &Setup) -> bool {
        let holds = self.older.is_some_and(|it| {
            it.step.is(has::HOLDS)
                && !it.is_skipped()
                && (!it.step.is(has::AIMED) || setup.follows(Rule::CompareBranchIsBusy))
        });
        holds && setup.follows(Rule::NoCreditBehindBusy)
    }

    /// Applies the clock's edge.
    pub fn clock(&mut self) {
        for at in [&mut self.older, &mut self.younger].into_iter().flatten() {
            at.pending &= !std::mem::take(&mut at.written);
            at.cycle = at.cycle.saturating_add(1);
        }
        self.older = self.older.filter(|it| !it.done);
        if self.older.is_none() {
            self.older = self.younger.take().filter(|it| !it.done);
        }
    }
}

impl Pipeline {
    /// Runs one cycle of the execute stage; the next instruction is at `next`.
    pub(super) fn execute(&mut self, next: u32, to_fetch: &mut ToFetch) {
        let Execute { older, younger, .. } = &mut self.execute;
        for at in [older, younger].into_iter().flatten().filter(|it| !it.done) {
            at.execute(next, to_fetch, &self.setup);
        }
    }

    /// Records that the transfer that an instruction waited for has completed.
    pub(super) fn complete(&mut self, decoding: Option<&mut super::decode::Decoding<'_>>) {
        let Some(at) = &mut self.execute.older else { return };
        let register = at.step.register(at.arrived);
        at.arrived += 1;
        let is_last = at.arrived == at.step.words;
        match at.step.unit {
            Unit::Table => return,
            Unit::Store | Unit::StoreMany => {
                if is_last {
                    at.finish();
                }
                return;
            }
            _ => {}
        }
        at.written |= register;
        at.done = is_last;
        if register == 1 << 15 {
            at.finish();
            let target = decoding.map_or(0, |it| it.pc);
            self.prefetch.branch_late(target);
            return;
        }
        let setup = &self.setup;
        let late = at.step.is(has::WRITEBACK) && setup.follows(Rule::NoForwardingFromWriteBack)
            || at.step.is(has::NARROW_LDM) && setup.follows(Rule::NoForwardingFromNarrowLdm);
        let pending = at.pending & !register | self.execute.younger.map_or(0, |it| it.pending);
        if let Some(it) = decoding
            && it.step.address & pending == 0
            && !late
            && setup.follows(Rule::LoadForwarding)
        {
            it.address_is_known();
        }
    }
}

impl InFlight {
    fn execute(&mut self, next: u32, to_fetch: &mut ToFetch, setup: &Setup) {
        if self.is_skipped() {
            self.finish();
            return;
        }
        let begins = self.cycle == 0;
        match self.step.unit {
            Unit::Alu | Unit::Nop => self.finish(),
            Unit::Long => {
                let last = self.cycles() - 1;
                if self.step.is(has::MULL | has::MLAL)
                    && self.cycle + 1 == last
                    && setup.follows(Rule::LowWordEarly)
                {
                    self.written |= 1 << self.step.low;
                }
                if self.cycle >= last {
                    self.finish();
                }
            }
            Unit::Branch | Unit::Conditional | Unit::Return | Unit::Late | Unit::Barrier => {
                if self.branches() {
                    to_fetch.clear = true;
                    to_fetch.branch = Some(next).filter(|_| self.branches_late);
                }
                self.finish();
            }
            Unit::Computed => {
                to_fetch.late_branch = Some(next);
                self.finish();
            }
            Unit::Table => {
                to_fetch.stop |= begins;
                if self.adds_distance {
                    to_fetch.clear = true;
                    to_fetch.branch = Some(next);
                    self.finish();
                }
                self.adds_distance = self.arrived > 0;
            }
            Unit::Load | Unit::Store | Unit::LoadMany | Unit::StoreMany => {
                to_fetch.stop |= begins && self.step.is(has::TO_PC);
                let many = matches!(self.step.unit, Unit::LoadMany | Unit::StoreMany);
                if begins
                    && many
                    && self.step.is(has::WRITEBACK)
                    && setup.follows(Rule::ListBaseEarly)
                {
                    self.written |= self.step.address;
                }
                if self.step.words == 0 {
                    // An empty list, which no manual defines, does nothing.
                    self.finish();
                }
            }
        }
    }
}
