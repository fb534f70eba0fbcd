//! Normalization: a pipeline state without details that no longer make a difference.
//!
//! Every distinct state gets a number ([`crate::timing::memo`]), and the fewer states there are,
//! the fewer schedules a block has. So anything that no stage will look at again is set to one
//! value: the fields of an instruction in the execute stage that only matter for decoding, the
//! addresses of words that are already on their way, and the branch path that is not taken.

use super::execute::InFlight;
use super::fetch::{NextFetch, Prefetch};
use super::ports::{FetchPath, FetchPort};
use super::{Condition, Pipeline, Step, Unit, has};

/// Traits that matter in the execute stage and on the buses.
const EXECUTED: u16 = has::HOLDS
    | has::WRITEBACK
    | has::INDEXED
    | has::NARROW_LDM
    | has::MULL
    | has::MLAL
    | has::TO_PC
    | has::AIMED;

impl Pipeline {
    /// Normalizes everything that no longer makes a difference. The newest instruction has just
    /// entered and has not learned its facts yet.
    ///
    /// Nothing is normalized where the pipeline itself waits for the lines of a memory.
    pub fn settle(&mut self) {
        if self.setup.slow.wait_states > 0 {
            return;
        }
        let returning = self.is_returning();
        if let Some(newest) = self.execute.newest_mut() {
            newest.facts = super::Facts::default();
        }
        for executing in [&mut self.execute.older, &mut self.execute.younger].into_iter().flatten()
        {
            executing.settle();
        }
        self.fetch_port.settle(returning);
        self.prefetch.settle();
    }
}

impl InFlight {
    fn settle(&mut self) {
        if self.is_skipped() {
            // It leaves in its first cycle and does nothing.
            let done = self.done;
            *self = Self::default();
            (self.done, self.condition) = (done, Condition::Failed);
            return;
        }
        self.condition = Condition::None;
        self.step.settle();
        if self.step.unit != Unit::Long {
            // All that matters is whether this is the first cycle.
            self.cycle = self.cycle.min(1);
        }
        if !self.has_more() {
            let taken = self.facts.taken && self.step.is_branch();
            let longer = if self.step.unit == Unit::Long { self.facts.longer } else { 0 };
            self.facts = super::Facts { taken, longer, ..super::Facts::default() };
            self.step.bus = super::CoreBus::default();
        }
    }
}

impl Step {
    /// Keeps only the fields that matter in the execute stage and on the buses.
    fn settle(&mut self) {
        let Self {
            unit,
            traits,
            address,
            first,
            second,
            high,
            low,
            factors,
            words,
            bus,
            cycles,
            ..
        } = *self;
        let kept = Self { unit, traits: traits & EXECUTED, ..Self::default() };
        *self = match unit {
            Unit::Load | Unit::LoadMany => {
                Self { address, first, second, factors, words, bus, ..kept }
            }
            Unit::Store | Unit::StoreMany => Self { address, words, bus, ..kept },
            Unit::Table => Self { words, bus, ..kept },
            Unit::Long => Self { high, low, cycles, ..kept },
            _ => kept,
        };
        if !self.is(has::WRITEBACK) {
            self.address = 0;
        }
        if unit == Unit::Long && !self.is(has::MULL | has::MLAL) {
            (self.high, self.low) = (0, 0);
        }
    }
}

impl FetchPort {
    /// `returning`: which half of the return target's word is wanted is not known yet.
    fn settle(&mut self, returning: bool) {
        for fetch in self.fetches().filter(|fetch| fetch.wanted == 0) {
            fetch.path = FetchPath::Sequential;
        }
        if let Some(fetch) = self.data.as_mut().filter(|_| !returning) {
            // Its source was fixed when its data phase began.
            fetch.word = 0;
        }
    }
}

impl Prefetch {
    fn settle(&mut self) {
        if let NextFetch::Guessed { target, sequential, taken } = &mut self.plan {
            // The path that is not taken.
            *(if *taken { sequential } else { target }) = 0;
        }
    }
}
