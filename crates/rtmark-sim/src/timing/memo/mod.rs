//! The pipeline memo: a cycle-by-cycle model at the speed of a table lookup.
//!
//! The cost of an instruction depends on the state of the core's pipeline when it arrives, on the
//! instruction, and on a few facts that only the execution of the one before it can show. All three
//! recur, so pipeline states are numbered ([`PipeState`]) and each result of the cycle-by-cycle
//! model is memoized: here for single instructions, and in the engine's schedules for a block at a
//! time. Only a pure function is memoized, so the cycles are the same with and without the memo.
//! The idea is known as fast-forwarding in simulators (Schnarr and Larus, FastSim, ASPLOS 1998).
//!
//! This module knows nothing of blocks, of memories or of what instructions do.

pub mod map;
mod pipe_state;
mod tables;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::pipe_state::{PipeState, seen_from};

use self::map::Map;
use self::tables::{Model, NumberedPipeline, NumberedState, STATES, Tables};
use super::dual;
use super::issue::IssueInstruction;
use super::pipeline::{CoreBus, FloatUnit, Pipeline, Setup, Stalled, Step};
use super::{Classify, Rules};

/// The most single steps that a machine remembers: blocks overlap, and instructions also come
/// alone.
const RECENT: usize = 1 << 13;
/// The initial size of that table. It is small so that short-lived copies of a machine stay small.
const FIRST: usize = 1 << 8;
/// The most single steps that machines share.
const KNOWN: usize = 1 << 16;
/// The number of entries of each table of cycle counts and remaining fetches.
const CACHED: usize = 1 << 6;

/// A memoized single step.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// The address in the upper half, the pipeline's state in the lower.
    key: u64,
    entered: EntryResult,
}

/// The result of an instruction's entry into the execute stage.
#[derive(Clone, Copy, Debug)]
pub struct EntryResult {
    /// The new state.
    pub pipe: PipeState,
    /// Cycles from the old state to the new one.
    pub cost: u32,
}

/// The instruction at an address, as the pipeline model sees it.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    pub step: Step,
    pub size: u32,
    /// The target encoded in the instruction.
    pub target: u32,
}

/// The instruction at an address, as the core's model sees it.
#[derive(Clone, Copy, Debug)]
pub enum ModelInstruction {
    Step(Incoming),
    Instruction(IssueInstruction),
    Dual(dual::DualInstruction),
}

/// The numbered states, which a machine and its clones share just as they share the code whose
/// schedules refer to them, and the latest single steps, which belong to each machine.
#[derive(Debug)]
pub struct PipelineMemo {
    model: Model,
    tables: Arc<Mutex<Tables>>,
    /// The most states that may be numbered.
    most: usize,
    /// Single steps in code that no program changes, by address and pipe state. Clones share them
    /// too, until one of them is given other code.
    known: Arc<Mutex<Map<u64, EntryResult>>>,
    /// A direct-mapped table: empty, or a power of two in length.
    recent: Vec<Recent>,
    /// Steps added to `recent` since it was created.
    remembered: usize,
    /// Results of [`PipelineMemo::drain`] and [`PipelineMemo::data_phase`].
    drains: CycleCache,
    data_phases: CycleCache,
    /// The pipe states of refills, by whether stores are buffered, the cycles already counted, and what the
    /// floating-point unit still does.
    refills: Vec<((bool, u8, FloatUnit), PipeState)>,
    /// Results of [`PipelineMemo::fetches_left`], by address, pipe state and clocks.
    fetches_left: Vec<((u64, u32), u64)>,
    /// The address of an instruction that never enters, if a test has set one.
    stalls_at: Option<u32>,
}

/// A direct-mapped cache of cycle counts, by address and pipe state.
#[derive(Debug, Default)]
struct CycleCache(Vec<(u64, u32)>);

impl CycleCache {
    fn get(
        &mut self,
        key: u64,
        compute: impl FnOnce() -> Result<u32, Stalled>,
    ) -> Result<u64, Stalled> {
        if self.0.is_empty() {
            self.0 = vec![(NOTHING.key, 0); CACHED];
        }
        let entry = &mut self.0[place(key) % CACHED];
        if entry.0 != key {
            *entry = (key, compute()?);
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
            drains: CycleCache::default(),
            data_phases: CycleCache::default(),
            refills: Vec::new(),
            fetches_left: Vec::new(),
            stalls_at: self.stalls_at,
        }
    }
}

const NOTHING: Recent =
    Recent { key: u64::MAX, entered: EntryResult { pipe: PipeState::NONE, cost: 0 } };

const fn key(pc: u32, pipe: PipeState) -> u64 {
    (pc as u64) << 32 | pipe.bits() as u64
}

const fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % RECENT
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left no state half numbered.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PipelineMemo {
    /// Creates the memo of a core in its chip.
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
            drains: CycleCache::default(),
            data_phases: CycleCache::default(),
            refills: Vec::new(),
            fetches_left: Vec::new(),
            stalls_at: None,
        }
    }

    /// Makes the pipeline stall at the instruction at `pc`, so that tests can check how a stall is
    /// handled.
    pub fn inject_pipeline_stall(&mut self, pc: u32) {
        self.stalls_at = Some(pc);
        self.forget();
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    #[cfg(test)]
    pub fn fill(&self) {
        self.tables().most = 0;
    }

    /// Limits the number of states, so that tests can check what happens when the tables are full.
    /// A block needs some 200.
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

    /// Returns whether the numbers of states are those of another memo.
    pub fn shares_states(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tables, &other.tables)
    }

    /// Forgets all states but one, and returns it under its new number.
    pub fn renew(&mut self, pipe: PipeState) -> PipeState {
        let state = self.tables().state(pipe).clone();
        let most = self.most;
        *self = Self { stalls_at: self.stalls_at, most, ..Self::of(self.model) };
        self.tables().most = most;
        self.tables().numbered(pipe, state)
    }

    /// Returns the memoized entry of the instruction at `pc`, if this machine remembers it.
    #[inline(always)]
    pub fn recall(&self, pc: u32, pipe: PipeState) -> Option<EntryResult> {
        let key = key(pc, pipe);
        let at = place(key) & self.recent.len().wrapping_sub(1);
        self.recent.get(at).filter(|recent| recent.key == key).map(|recent| recent.entered)
    }

    /// Enters the instruction at `pc` into the execute stage, and remembers the result. Returns
    /// `None` when the tables are full.
    ///
    /// # Errors
    ///
    /// Fails when the instruction never enters.
    pub fn enter(
        &mut self,
        pc: u32,
        pipe: PipeState,
        incoming: &ModelInstruction,
    ) -> Result<Option<EntryResult>, Stalled> {
        let Some(entered) = self.enter_rest(pc, pipe, incoming)? else { return Ok(None) };
        self.remember(key(pc, pipe), entered);
        Ok(Some(entered))
    }

    fn remember(&mut self, key: u64, entered: EntryResult) {
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

    /// Returns the memoized entry of the instruction at `pc`, if any machine that shares the code
    /// has recorded it: see [`PipelineMemo::memoize_shared`].
    pub fn recall_shared(&mut self, pc: u32, pipe: PipeState) -> Option<EntryResult> {
        let key = key(pc, pipe);
        let entered = *lock(&self.known).get(&key)?;
        self.remember(key, entered);
        Some(entered)
    }

    /// Records the entry of the instruction at `pc` for all machines that share the code, which no
    /// program may change.
    pub fn memoize_shared(&self, pc: u32, pipe: PipeState, entered: EntryResult) {
        let mut known = lock(&self.known);
        if known.len() < KNOWN {
            known.insert(key(pc, pipe), entered);
        }
    }

    /// Enters the rest of an interrupted instruction, which is not remembered. Returns `None` when
    /// the tables are full.
    ///
    /// # Errors
    ///
    /// Fails when the instruction never enters.
    pub fn enter_rest(
        &self,
        pc: u32,
        pipe: PipeState,
        incoming: &ModelInstruction,
    ) -> Result<Option<EntryResult>, Stalled> {
        if self.stalls_at == Some(pc) {
            return Err(Stalled { state: "sabotaged".into() });
        }
        let mut tables = self.tables();
        if tables.is_full() {
            return Ok(None);
        }
        tables.compute_entry(pc, pipe, incoming).map(Some)
    }

    /// Returns the pipe state with the write buffer switched on or off.
    pub fn with_buffer(&self, pipe: PipeState, buffers: bool) -> PipeState {
        self.tables().with(pipe, |pipeline| pipeline.buffers = buffers)
    }

    /// Returns the pipe state in which the newest instruction jumps to an address that was not
    /// known before, `leap` bytes from its end.
    pub fn with_jump_distance(&self, pipe: PipeState, leap: u32) -> PipeState {
        self.tables().with(pipe, |pipeline| pipeline.record_jump_distance(leap))
    }

    /// Returns the pipe state with an empty read buffer of the slow memory.
    pub fn with_empty_lines(&self, pipe: PipeState) -> PipeState {
        self.tables().with(pipe, Pipeline::empty_lines)
    }

    /// Returns the state of a pipeline during a refill of which `paid` cycles have been counted, with the
    /// floating-point unit as it is at the refill's beginning.
    pub fn refilled(&mut self, buffers: bool, paid: u8, float_unit: FloatUnit) -> PipeState {
        let Model::Pipeline(setup) = self.model else { return PipeState::EMPTY };
        let wanted = (buffers, paid, float_unit);
        let known = self.refills.iter().find(|(refill, _)| *refill == wanted);
        if let Some(&(_, pipe)) = known {
            return pipe;
        }
        let next = Pipeline::refilled(setup, buffers, paid).with_float_unit(float_unit);
        let state = NumberedState::Pipeline(Box::new(NumberedPipeline::of(next)));
        let pipe = self.tables().numbered(PipeState::EMPTY.taken(), state);
        self.refills.push((wanted, pipe));
        pipe
    }

    /// Returns the floating-point unit when the newest instruction has just entered the execute stage.
    pub fn float_unit(&self, pipe: PipeState) -> FloatUnit {
        match self.tables().state(pipe) {
            NumberedState::Pipeline(numbered) => {
                let taken = numbered.taken.as_deref().filter(|_| pipe.is_taken());
                taken.unwrap_or(&numbered.next).float_unit()
            }
            NumberedState::Issue(_) | NumberedState::Dual(_) => FloatUnit::default(),
        }
    }

    /// Returns the memoized result of [`PipelineMemo::fetches_left`], if it is remembered.
    pub fn recall_fetches_left(&self, pc: u32, pipe: PipeState, clocks: u32) -> Option<u64> {
        let key = (key(pc, pipe), clocks);
        let kept = self.fetches_left.get(place(key.0) % CACHED)?;
        (kept.0 == key).then_some(kept.1)
    }

    /// Returns the cycles until no fetch is on the bus, counted from the end of `clocks` cycles in
    /// which the core runs towards the instruction at `pc` and still requests code. The instruction
    /// itself is not executed.
    ///
    /// # Errors
    ///
    /// Fails when the fetches never end.
    pub fn fetches_left(
        &self,
        pc: u32,
        pipe: PipeState,
        incoming: &ModelInstruction,
        clocks: u32,
    ) -> Result<u64, Stalled> {
        let state = self.tables().state(pipe).clone();
        match (state, incoming) {
            (NumberedState::Pipeline(numbered), ModelInstruction::Step(incoming)) => {
                let mut pipeline = numbered.now(pc, pipe);
                pipeline.fetches_left(pc, &incoming.step, pipe.condition(), clocks).map(u64::from)
            }
            _ => Ok(0),
        }
    }

    /// Remembers a result of [`PipelineMemo::fetches_left`].
    pub fn memoize_fetches_left(&mut self, pc: u32, pipe: PipeState, clocks: u32, left: u64) {
        if self.fetches_left.is_empty() {
            self.fetches_left = vec![((NOTHING.key, 0), 0); CACHED];
        }
        let key = (key(pc, pipe), clocks);
        self.fetches_left[place(key.0) % CACHED] = (key, left);
    }

    /// Returns the cycles from the newest instruction's entry until it has left the execute stage,
    /// where the next instruction would be at `pc`.
    ///
    /// # Errors
    ///
    /// Fails when it never leaves.
    pub fn drain(&mut self, pc: u32, pipe: PipeState) -> Result<u64, Stalled> {
        let tables = &self.tables;
        self.drains.get(key(pc, pipe), || match lock(tables).state(pipe) {
            NumberedState::Pipeline(numbered) => numbered.now(pc, pipe).drain(),
            NumberedState::Issue(issue) => Ok(issue.rest()),
            NumberedState::Dual(dual) => Ok(dual.rest()),
        })
    }

    /// Returns the cycles from the newest instruction's entry to the cycle in which its access to
    /// the core's own registers takes place.
    ///
    /// # Errors
    ///
    /// Fails when the access never takes place.
    pub fn data_phase(&mut self, pc: u32, pipe: PipeState) -> Result<u64, Stalled> {
        let tables = &self.tables;
        self.data_phases.get(key(pc, pipe), || match lock(tables).state(pipe) {
            NumberedState::Pipeline(numbered) => {
                let mut pipeline = numbered.next.clone();
                pipeline.continue_at(pc, pipe.with_bus_alone(CoreBus::Private));
                pipeline.data_phase()
            }
            // Not documented: assumed to be the cycle after its issue.
            NumberedState::Issue(_) | NumberedState::Dual(_) => Ok(1),
        })
    }

    /// Returns the cycles that the first instruction of a pair still takes once the second one has
    /// entered.
    pub fn first_remaining_cycles(&self, pipe: PipeState) -> u64 {
        match self.tables().state(pipe) {
            NumberedState::Pipeline(_) => 0,
            NumberedState::Issue(issue) => issue.first_remaining_cycles().into(),
            NumberedState::Dual(dual) => dual.first_remaining_cycles().into(),
        }
    }
}
