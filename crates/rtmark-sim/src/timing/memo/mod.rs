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

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::pipe_state::{PipeState, seen_from};

use self::map::Map;
use self::pipe_state::NUMBER_SHIFT;
use super::dual::{self, Dual};
use super::issue::{Instruction, Issue};
use super::pipeline::{Bus, Condition, Far, Pipeline, Reads, Setup, Stalled, Step, Unit, has};
use super::{Classify, Rules};

/// States that are numbered before all are forgotten, which bounds the memory that they
/// take. So no number has its highest bit set.
const STATES: usize = 1 << (31 - NUMBER_SHIFT);
/// Steps that are worked out before all is forgotten, likewise.
const STEPS: usize = 1 << 20;
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

/// What comes of letting an instruction enter the execute pipeline_state.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// The new state's word.
    pub pipe: PipeState,
    /// Cycles that it took to get there.
    pub cost: u32,
}

/// A numbered state: as it is when the newest instruction did not jump, and, if that makes
/// a difference already, as it is when it did. Addresses count from the next instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NumberedPipeline {
    next: Pipeline,
    taken: Option<Box<Pipeline>>,
}

impl NumberedPipeline {
    fn for_each(&mut self, change: impl Fn(&mut Pipeline)) {
        change(&mut self.next);
        if let Some(taken) = &mut self.taken {
            change(taken);
        }
    }
}

/// What a core is modelled by.
#[derive(Clone, Copy, Debug)]
enum Model {
    /// Its pipeline, in its chip.
    Pipeline(Setup),
    Issue,
    Dual,
}

/// A numbered state of either.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Pipeline(Box<NumberedPipeline>),
    Issue(Issue),
    Dual(Box<Dual>),
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
    Instruction(Instruction),
    Dual(dual::Instruction),
}

/// The numbered states.
#[derive(Debug)]
struct Tables {
    states: Vec<State>,
    numbers: Map<State, u32>,
    /// How many are numbered before the tables are full.
    most: usize,
    /// Steps that have been worked out.
    steps: usize,
}

/// States by their numbers, which a machine and its clones share as they share the code
/// whose schedules have them; and the latest single steps, which are each machine's own.
#[derive(Debug)]
pub struct PipelineMemo {
    model: Model,
    tables: Arc<Mutex<Tables>>,
    /// How many states are numbered at most.
    most: usize,
    /// Single steps in code that no program changes, by address and word. Clones share them, too,
    /// until one of them is given other code.
    known: Arc<Mutex<Map<u64, Entered>>>,
    /// As many as a power of two.
    recent: Vec<Recent>,
    /// How many have been remembered, as far as they are counted.
    remembered: usize,
    /// What has been worked out of [`PipelineMemo::drain`] and [`PipelineMemo::data_phase`].
    drains: Lately,
    data_phases: Lately,
    /// The words of refills, by whether stores are buffered and the cycles that are counted.
    refills: Vec<((bool, u8), PipeState)>,
    /// What has been worked out of [`PipelineMemo::fetches_left`], by address, word and clocks.
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

    /// Forgets all states but the one of a word: answers its new word.
    pub fn renew(&mut self, pipe: PipeState) -> PipeState {
        let state = self.tables().state(pipe).clone();
        let most = self.most;
        *self = Self { sabotaged: self.sabotaged, most, ..Self::of(self.model) };
        self.tables().most = most;
        self.tables().numbered(pipe, state)
    }

    /// What comes of letting the instruction at `pc` enter the execute pipeline_state, if that is
    /// remembered.
    #[inline(always)]
    pub fn recall(&self, pc: u32, pipe: PipeState) -> Option<Entered> {
        let key = key(pc, pipe);
        let at = place(key) & self.recent.len().wrapping_sub(1);
        self.recent.get(at).filter(|recent| recent.key == key).map(|recent| recent.entered)
    }

    /// Lets the instruction at `pc` enter the execute pipeline_state, and remembers what comes of it;
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

    /// The word with the write buffer switched on or off.
    pub fn with_buffer(&self, pipe: PipeState, buffers: bool) -> PipeState {
        self.tables().with(pipe, |pipeline| pipeline.buffers = buffers)
    }

    /// The word where the newest instruction jumps so far from its end, which nobody foresaw.
    pub fn with_leap(&self, pipe: PipeState, leap: u32) -> PipeState {
        self.tables().with(pipe, |pipeline| pipeline.leap(leap))
    }

    /// The word with nothing in the buffer of a slow memory.
    pub fn with_empty_lines(&self, pipe: PipeState) -> PipeState {
        self.tables().with(pipe, Pipeline::empty_lines)
    }

    /// The word of a pipeline that is being refilled, so many cycles of which have been counted.
    pub fn refilled(&mut self, buffers: bool, paid: u8) -> PipeState {
        let Model::Pipeline(setup) = self.model else { return PipeState::EMPTY };
        let known = self.refills.iter().find(|(refill, _)| *refill == (buffers, paid));
        if let Some(&(_, pipe)) = known {
            return pipe;
        }
        let next = Pipeline::refilled(setup, buffers, paid);
        let state = State::Pipeline(Box::new(NumberedPipeline { next, taken: None }));
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
            (State::Pipeline(pipeline_state), Comes::Step(incoming)) => {
                let mut pipeline = pipeline_state.now(pc, pipe);
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

    /// Cycles from the newest instruction's entry until it has left the execute pipeline_state, where
    /// the next one would be at `pc`.
    ///
    /// # Errors
    /// When it never leaves.
    pub fn drain(&mut self, pc: u32, pipe: PipeState) -> Result<u64, Stalled> {
        let tables = &self.tables;
        self.drains.get(key(pc, pipe), || match lock(tables).state(pipe) {
            State::Pipeline(pipeline_state) => {
                let mut pipeline = pipeline_state.next.clone();
                pipeline.continue_at(pc, pipe);
                pipeline.drain()
            }
            State::Issue(issue) => Ok(issue.rest()),
            State::Dual(dual) => Ok(dual.rest()),
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
            State::Pipeline(pipeline_state) => {
                let mut pipeline = pipeline_state.next.clone();
                pipeline.continue_at(pc, pipe.with_bus_alone(Bus::Private));
                pipeline.data_phase()
            }
            // Nobody has told: taken to be the cycle behind that of its issue.
            State::Issue(_) | State::Dual(_) => Ok(1),
        })
    }

    /// Cycles that the first instruction of a pair still takes whose second one has entered.
    pub fn rest_of_first(&self, pipe: PipeState) -> u64 {
        match self.tables().state(pipe) {
            State::Pipeline(_) => 0,
            State::Issue(issue) => issue.rest_of_first().into(),
            State::Dual(dual) => dual.rest_of_first().into(),
        }
    }
}

impl Pipeline {
    /// Goes on at `pc`, after the instruction that executes has told what a word holds.
    fn continue_at(&mut self, pc: u32, pipe: PipeState) {
        let mut facts = pipe.facts();
        let leap = self.end_leap();
        let from = if facts.taken && self.jumps_unforeseen() {
            leap.map(|leap| pc.wrapping_sub(leap))
        } else {
            Some(pc)
        };
        if let Reads::Near(address) = &mut facts.reads {
            match from {
                Some(from) => *address = address.wrapping_add(from & !3),
                None => facts.reads = Reads::Far { word: 0, line: Far::Other },
            }
        }
        let returning = self.is_returning();
        let fetched_from = if returning { Some(pc & !3) } else { from };
        self.move_addresses(fetched_from.unwrap_or(pc));
        if fetched_from.is_none() {
            self.lose_fetches();
        }
        match from {
            Some(from) => self.move_lines(from),
            None => self.lose_lines(),
        }
        self.learn_returns_line(pc);
        if returning && pc & 2 != 0 {
            self.return_to_second_half(pc);
        }
        self.learn(facts);
    }

    /// Counts what is fetched, and lines, from addresses from now on.
    fn leave_from(&mut self, address: u32, line: u32) {
        self.move_addresses(address.wrapping_neg());
        self.move_lines(line.wrapping_neg());
        self.forget_far_lines();
    }
}

impl Tables {
    fn new(model: Model) -> Self {
        let mut tables =
            Self { states: Vec::new(), numbers: Map::default(), most: STATES / 2, steps: 0 };
        for buffers in [false, true] {
            tables.add(match model {
                Model::Pipeline(setup) => {
                    let next = Pipeline::refilling(setup, buffers);
                    State::Pipeline(Box::new(NumberedPipeline { next, taken: None }))
                }
                Model::Issue => State::Issue(Issue::default()),
                Model::Dual => State::Dual(Box::default()),
            });
        }
        tables
    }

    fn are_full(&self) -> bool {
        self.states.len() >= self.most || self.steps >= STEPS
    }

    fn state(&self, pipe: PipeState) -> &State {
        &self.states[pipe.number()]
    }

    fn add(&mut self, state: State) -> u32 {
        let number = self.states.len() as u32;
        self.states.push(state.clone());
        self.numbers.entry(state).or_insert(number);
        number
    }

    fn number(&mut self, state: State) -> u32 {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        self.add(state)
    }

    /// The word with another state.
    fn numbered(&mut self, pipe: PipeState, state: State) -> PipeState {
        pipe.with_number(self.number(state))
    }

    /// The word with something changed that a pipeline knows.
    fn with(&mut self, pipe: PipeState, change: impl Fn(&mut Pipeline)) -> PipeState {
        match self.state(pipe) {
            State::Pipeline(pipeline_state) => {
                let mut pipeline_state = pipeline_state.clone();
                pipeline_state.for_each(change);
                self.numbered(pipe, State::Pipeline(pipeline_state))
            }
            State::Issue(_) | State::Dual(_) => pipe,
        }
    }

    /// Works out one step.
    fn work_out(&mut self, pc: u32, pipe: PipeState, comes: &Comes) -> Result<Entered, Stalled> {
        let (state, cost) = match (self.state(pipe), comes) {
            (State::Pipeline(pipeline_state), Comes::Step(incoming)) => {
                let (pipeline_state, cost) = pipeline_state.work_out(pc, pipe, incoming)?;
                (State::Pipeline(Box::new(pipeline_state)), cost)
            }
            (State::Issue(issue), Comes::Instruction(instruction)) => {
                let mut issue = issue.clone();
                let cost = issue.issue(instruction, pipe.condition(), pipe.is_taken());
                (State::Issue(issue), cost)
            }
            (State::Dual(dual), Comes::Dual(instruction)) => {
                let mut dual = dual.clone();
                let cost = dual.issue(instruction, pipe.condition(), pipe.came());
                (State::Dual(dual), cost)
            }
            // A core has one model only.
            (state, _) => (state.clone(), 1),
        };
        self.steps += 1;
        Ok(Entered { pipe: PipeState::numbered(self.number(state)), cost })
    }
}

impl NumberedPipeline {
    /// The pipeline where the instruction at `pc` comes next, after the one before has told what
    /// a word holds.
    fn now(&self, pc: u32, pipe: PipeState) -> Pipeline {
        let mut pipeline = match &self.taken {
            Some(taken) if pipe.is_taken() => taken.as_ref().clone(),
            _ => self.next.clone(),
        };
        pipeline.continue_at(pc, pipe);
        pipeline
    }

    /// Works out one step, cycle by cycle.
    fn work_out(
        &self,
        pc: u32,
        pipe: PipeState,
        incoming: &Incoming,
    ) -> Result<(Self, u32), Stalled> {
        let mut pipeline = self.now(pc, pipe);
        let Incoming { step, size, target } = *incoming;
        let condition = pipe.condition();
        let behind = pc.wrapping_add(size);
        // A return's target is somewhere else; which half of a word it is, is learnt later.
        let returns = step.unit == Unit::Return;
        let (target, always) = match step.unit {
            Unit::Return => (pc & !3, true),
            Unit::Branch => (target, true),
            _ => (target, false),
        };
        let mut other = (step.unit == Unit::Conditional).then(|| Box::new(pipeline.clone()));
        let cost = pipeline.advance(pc, &step, condition, always, target)?;
        if step.is(has::AIMED) {
            other = Some(Box::new(pipeline.clone()));
        } else if let Some(other) = &mut other {
            other.advance(pc, &step, condition, true, target)?;
        }
        let jumps = always && condition != Condition::Failed;
        pipeline.leave_from(
            if jumps { target } else { behind },
            if jumps && !returns { target } else { behind },
        );
        pipeline.settle();
        if let Some(other) = &mut other {
            other.leave_from(target, target);
            other.settle();
        }
        Ok((Self { next: pipeline, taken: other }, cost))
    }
}
