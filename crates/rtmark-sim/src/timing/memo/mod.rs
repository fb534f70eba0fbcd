//! The pipeline memo: a cycle-by-cycle model at the speed of a table.
//!
//! What an instruction costs depends on the state of the core's pipeline when it comes, on the
//! instruction, and on few facts of the one before it that only its execution could
//! tell. All three repeat: so states are numbered ([`PipeState`]), and what was once worked out
//! cycle by cycle is memoized, here by single instructions and in the engine's schedules a block
//! at a time. Only a pure function is memoized; with or without that the cycles are the same.
//! Whoever knows fast-forwarding of simulators (Schnarr and Larus, FastSim, ASPLOS 1998) knows the
//! idea.
//!
//! It knows nothing of blocks, of memories or of what instructions do.

pub mod map;
mod pipe_state;
mod tables;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::pipe_state::{PipeState, seen_from};

use self::map::Map;
use self::tables::{Model, NumberedPipeline, NumberedState, STATES, Tables};
use super::dual;
use super::issue::IssueInstruction;
use super::pipeline::{CoreBus, Pipeline, Setup, Stalled, Step};
use super::{Classify, Rules};

/// Single steps that are remembered: blocks overlap, and instructions come alone too.
const RECENT: usize = 1 << 13;
/// The first of them, so that copies of a machine that soon end stay small.
const FIRST: usize = 1 << 8;
/// The most single steps that machines share.
const KNOWN: usize = 1 << 16;
/// How many ends of single instructions are remembered.
const LATELY: usize = 1 << 6;

/// A single step that was worked out.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// The address in the upper half, the pipeline's state in the lower.
    key: u64,
    entered: Entered,
}

/// What comes of letting an instruction enter the execute stage.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// The new state.
    pub pipe: PipeState,
    /// Cycles that it took to get there.
    pub cost: u32,
}

/// What the instruction at an address means for a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    pub step: Step,
    pub size: u32,
    /// The target that the instruction names.
    pub target: u32,
}

/// What the instruction at an address means for either model.
#[derive(Clone, Copy, Debug)]
pub enum Comes {
    Step(Incoming),
    Instruction(IssueInstruction),
    Dual(dual::DualInstruction),
}

/// States by their numbers, which a machine and its clones share as they share the code
/// whose schedules have them; and the latest single steps, which are each machine's own.
#[derive(Debug)]
pub struct PipelineMemo {
    model: Model,
    tables: Arc<Mutex<Tables>>,
    /// How many states are numbered at most.
    most: usize,
    /// Single steps in code that no program changes, by address and pipe state. Clones share them, too,
    /// until one of them is given other code.
    known: Arc<Mutex<Map<u64, Entered>>>,
    /// As many as a power of two.
    recent: Vec<Recent>,
    /// How many have been remembered, as far as they are counted.
    remembered: usize,
    /// What has been worked out of [`PipelineMemo::drain`] and [`PipelineMemo::data_phase`].
    drains: Lately,
    data_phases: Lately,
    /// The pipe states of refills, by whether stores are buffered and the cycles that are counted.
    refills: Vec<((bool, u8), PipeState)>,
    /// What has been worked out of [`PipelineMemo::fetches_left`], by address, pipe state and clocks.
    fetches_left: Vec<((u64, u32), u64)>,
    /// The address of an instruction that is never let enter.
    sabotaged: Option<u32>,
}

/// Cycles by the address and the state that they were worked out for, the latest ones.
#[derive(Debug, Default)]
struct Lately(Vec<(u64, u32)>);

impl Lately {
    fn get(
        &mut self,
        key: u64,
        work_out: impl FnOnce() -> Result<u32, Stalled>,
    ) -> Result<u64, Stalled> {
        if self.0.is_empty() {
            self.0 = vec![(NOTHING.key, 0); LATELY];
        }
        let entry = &mut self.0[place(key) % LATELY];
        if entry.0 != key {
            *entry = (key, work_out()?);
        }
        Ok(entry.1.into())
    }
}

impl Clone for PipelineMemo {
    fn clone(&self) -> Self {
        Self {
            model: self.model,
            tables: Arc::clone(&self.tables),
            most: self.most,
            known: Arc::clone(&self.known),
            recent: Vec::new(),
            remembered: 0,
            drains: Lately::default(),
            data_phases: Lately::default(),
            refills: Vec::new(),
            fetches_left: Vec::new(),
            sabotaged: self.sabotaged,
        }
    }
}

const NOTHING: Recent =
    Recent { key: u64::MAX, entered: Entered { pipe: PipeState::NONE, cost: 0 } };

const fn key(pc: u32, pipe: PipeState) -> u64 {
    (pc as u64) << 32 | pipe.bits() as u64
}

const fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % RECENT
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked left no state half numbered.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PipelineMemo {
    /// The memo of a core in its chip.
    pub fn new(rules: &Rules, setup: Setup) -> Self {
        Self::of(match rules.classify {
            Some(Classify::Issue(_)) => Model::Issue,
            Some(Classify::Dual(_)) => Model::Dual,
            _ => Model::Pipeline(setup),
        })
    }

    fn of(model: Model) -> Self {
        Self {
            model,
            tables: Arc::new(Mutex::new(Tables::new(model))),
            most: STATES / 2,
            known: Arc::default(),
            recent: Vec::new(),
            remembered: 0,
            drains: Lately::default(),
            data_phases: Lately::default(),
            refills: Vec::new(),
            fetches_left: Vec::new(),
            sabotaged: None,
        }
    }

    /// Lets the pipeline stall at an instruction, for tests of what becomes of that.
    pub fn sabotage(&mut self, pc: u32) {
        self.sabotaged = Some(pc);
        self.forget();
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    #[cfg(test)]
    pub fn fill(&self) {
        self.tables().most = 0;
    }

    /// Numbers so many states at most, for tests of what becomes of that. A block needs some 200.
    pub fn limit(&mut self, states: usize) {
        self.most = states.clamp(256, STATES / 2);
        self.tables().most = self.most;
    }

    /// Forgets single steps, after code has changed.
    pub fn forget(&mut self) {
        self.recent.clear();
        self.known = Arc::default();
        self.fetches_left.clear();
    }

    /// Forgets all states but one: answers its new number.
    pub fn renew(&mut self, pipe: PipeState) -> PipeState {
        let state = self.tables().state(pipe).clone();
        let most = self.most;
        *self = Self { sabotaged: self.sabotaged, most, ..Self::of(self.model) };
        self.tables().most = most;
        self.tables().numbered(pipe, state)
    }

    /// What comes of letting the instruction at `pc` enter the execute stage, if that is
    /// remembered.
    #[inline(always)]
    pub fn recall(&self, pc: u32, pipe: PipeState) -> Option<Entered> {
        let key = key(pc, pipe);
        let at = place(key) & self.recent.len().wrapping_sub(1);
        self.recent.get(at).filter(|recent| recent.key == key).map(|recent| recent.entered)
    }

    /// Lets the instruction at `pc` enter the execute stage, and remembers what comes of it;
    /// `None` when the tables are full.
    ///
    /// # Errors
    /// When the pipeline never lets it enter.
    pub fn enter(
        &mut self,
        pc: u32,
        pipe: PipeState,
        comes: &Comes,
    ) -> Result<Option<Entered>, Stalled> {
        let Some(entered) = self.enter_rest(pc, pipe, comes)? else { return Ok(None) };
        self.remember(key(pc, pipe), entered);
        Ok(Some(entered))
    }

    fn remember(&mut self, key: u64, entered: Entered) {
        if self.recent.is_empty() {
            (self.recent, self.remembered) = (vec![NOTHING; FIRST], 0);
        } else if self.recent.len() < RECENT && self.remembered >= FIRST {
            let few = std::mem::replace(&mut self.recent, vec![NOTHING; RECENT]);
            for recent in few {
                self.recent[place(recent.key)] = recent;
            }
        }
        self.remembered += 1;
        let at = place(key) & (self.recent.len() - 1);
        self.recent[at] = Recent { key, entered };
    }

    /// Recalls what any of the machines that share code remembers, see [`PipelineMemo::recall`].
    pub fn recall_known(&mut self, pc: u32, pipe: PipeState) -> Option<Entered> {
        let key = key(pc, pipe);
        let entered = *lock(&self.known).get(&key)?;
        self.remember(key, entered);
        Some(entered)
    }

    /// Lets all of them remember what comes of letting the instruction at `pc` enter, which no
    /// program changes.
    pub fn keep_known(&self, pc: u32, pipe: PipeState, entered: Entered) {
        let mut known = lock(&self.known);
        if known.len() < KNOWN {
            known.insert(key(pc, pipe), entered);
        }
    }

    /// Lets an instruction enter that is only gone on with, which is not remembered.
    ///
    /// # Errors
    /// When the pipeline never lets it enter.
    pub fn enter_rest(
        &self,
        pc: u32,
        pipe: PipeState,
        comes: &Comes,
    ) -> Result<Option<Entered>, Stalled> {
        if self.sabotaged == Some(pc) {
            return Err(Stalled { state: "sabotaged".into() });
        }
        let mut tables = self.tables();
        if tables.are_full() {
            return Ok(None);
        }
        tables.work_out(pc, pipe, comes).map(Some)
    }

    /// The pipe state with the write buffer switched on or off.
    pub fn with_buffer(&self, pipe: PipeState, buffers: bool) -> PipeState {
        self.tables().with(pipe, |pipeline| pipeline.buffers = buffers)
    }

    /// The pipe state where the newest instruction jumps so far from its end, which nobody foresaw.
    pub fn with_leap(&self, pipe: PipeState, leap: u32) -> PipeState {
        self.tables().with(pipe, |pipeline| pipeline.leap(leap))
    }

    /// The pipe state with nothing in the buffer of a slow memory.
    pub fn with_empty_lines(&self, pipe: PipeState) -> PipeState {
        self.tables().with(pipe, Pipeline::empty_lines)
    }

    /// The pipe state of a pipeline that is being refilled, so many cycles of which have been counted.
    pub fn refilled(&mut self, buffers: bool, paid: u8) -> PipeState {
        let Model::Pipeline(setup) = self.model else { return PipeState::EMPTY };
        let known = self.refills.iter().find(|(refill, _)| *refill == (buffers, paid));
        if let Some(&(_, pipe)) = known {
            return pipe;
        }
        let next = Pipeline::refilled(setup, buffers, paid);
        let state = NumberedState::Pipeline(Box::new(NumberedPipeline { next, taken: None }));
        let pipe = self.tables().numbered(PipeState::EMPTY.taken(), state);
        self.refills.push(((buffers, paid), pipe));
        pipe
    }

    /// Cycles until no fetch is on the bus any more, where the instruction at `pc` does not
    /// enter: it asks for more code for so many clocks. `None` where that is not remembered.
    pub fn recall_fetches_left(&self, pc: u32, pipe: PipeState, clocks: u32) -> Option<u64> {
        let key = (key(pc, pipe), clocks);
        let kept = self.fetches_left.get(place(key.0) % LATELY)?;
        (kept.0 == key).then_some(kept.1)
    }

    /// Works out how long fetches are on the bus, see [`PipelineMemo::recall_fetches_left`].
    ///
    /// # Errors
    /// When fetches never end.
    pub fn fetches_left(
        &self,
        pc: u32,
        pipe: PipeState,
        comes: &Comes,
        clocks: u32,
    ) -> Result<u64, Stalled> {
        let state = self.tables().state(pipe).clone();
        match (state, comes) {
            (NumberedState::Pipeline(numbered), Comes::Step(incoming)) => {
                let mut pipeline = numbered.now(pc, pipe);
                pipeline.fetches_left(pc, &incoming.step, pipe.condition(), clocks).map(u64::from)
            }
            _ => Ok(0),
        }
    }

    /// Remembers that.
    pub fn keep_fetches_left(&mut self, pc: u32, pipe: PipeState, clocks: u32, left: u64) {
        if self.fetches_left.is_empty() {
            self.fetches_left = vec![((NOTHING.key, 0), 0); LATELY];
        }
        let key = (key(pc, pipe), clocks);
        self.fetches_left[place(key.0) % LATELY] = (key, left);
    }

    /// Cycles from the newest instruction's entry until it has left the execute stage, where
    /// the next one would be at `pc`.
    ///
    /// # Errors
    /// When it never leaves.
    pub fn drain(&mut self, pc: u32, pipe: PipeState) -> Result<u64, Stalled> {
        let tables = &self.tables;
        self.drains.get(key(pc, pipe), || match lock(tables).state(pipe) {
            NumberedState::Pipeline(numbered) => {
                let mut pipeline = numbered.next.clone();
                pipeline.continue_at(pc, pipe);
                pipeline.drain()
            }
            NumberedState::Issue(issue) => Ok(issue.rest()),
            NumberedState::Dual(dual) => Ok(dual.rest()),
        })
    }

    /// Cycles from the newest instruction's entry to the cycle in which its access to the
    /// core's own registers takes place.
    ///
    /// # Errors
    /// When its access never takes place.
    pub fn data_phase(&mut self, pc: u32, pipe: PipeState) -> Result<u64, Stalled> {
        let tables = &self.tables;
        self.data_phases.get(key(pc, pipe), || match lock(tables).state(pipe) {
            NumberedState::Pipeline(numbered) => {
                let mut pipeline = numbered.next.clone();
                pipeline.continue_at(pc, pipe.with_bus_alone(CoreBus::Private));
                pipeline.data_phase()
            }
            // Nobody has told: taken to be the cycle behind that of its issue.
            NumberedState::Issue(_) | NumberedState::Dual(_) => Ok(1),
        })
    }

    /// Cycles that the first instruction of a pair still takes whose second one has entered.
    pub fn rest_of_first(&self, pipe: PipeState) -> u64 {
        match self.tables().state(pipe) {
            NumberedState::Pipeline(_) => 0,
            NumberedState::Issue(issue) => issue.rest_of_first().into(),
            NumberedState::Dual(dual) => dual.rest_of_first().into(),
        }
    }
}
