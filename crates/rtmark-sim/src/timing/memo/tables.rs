//! The numbered states of a core's model, and the steps between them.

use super::map::Map;
use super::pipe_state::NUMBER_SHIFT;
use super::{EntryResult, Incoming, ModelInstruction, PipeState};
use crate::timing::dual::Dual;
use crate::timing::issue::Issue;
use crate::timing::pipeline::{
    CodeMemory, Condition, DataRead, FarLine, Pipeline, Setup, Stalled, Unit, has,
};

/// The limit of numbered states, which bounds their memory: at half of it all states are forgotten.
/// It keeps the highest bit of every number clear.
pub const STATES: usize = 1 << (31 - NUMBER_SHIFT);
/// The limit of computed steps, after which all states are forgotten.
const STEPS: usize = 1 << 20;

/// A numbered state: the pipeline if the newest instruction did not jump, and, where that already
/// makes a difference, the pipeline if it did. Addresses count from the next instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NumberedPipeline {
    pub next: Pipeline,
    pub taken: Option<Box<Pipeline>>,
    /// The pipelines if the newest instruction, a return, leads to another kind of memory than the
    /// one it is in. Fetching from its target begins in the decode stage, before the target is known
    /// here.
    pub elsewhere: Vec<(CodeMemory, Pipeline)>,
}

impl NumberedPipeline {
    /// Creates the state of a pipeline that does not depend on what the newest instruction does.
    pub const fn of(next: Pipeline) -> Self {
        Self { next, taken: None, elsewhere: Vec::new() }
    }

    fn for_each(&mut self, change: impl Fn(&mut Pipeline)) {
        change(&mut self.next);
        self.taken.iter_mut().for_each(|taken| change(taken));
        self.elsewhere.iter_mut().for_each(|(_, pipeline)| change(pipeline));
    }
}

/// The kind of model of a core.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// The core's pipeline, in its chip.
    Pipeline(Setup),
    Issue,
    Dual,
}

/// A numbered state of any kind of model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NumberedState {
    Pipeline(Box<NumberedPipeline>),
    Issue(Issue),
    Dual(Box<Dual>),
}

/// The numbered states of a core's model.
#[derive(Debug)]
pub struct Tables {
    states: Vec<NumberedState>,
    numbers: Map<NumberedState, u32>,
    /// The number of states at which the tables are full.
    pub most: usize,
    /// Steps computed so far.
    steps: usize,
}

impl Pipeline {
    /// Continues at `pc`, with the facts in `pipe` that the newest instruction's execution has
    /// shown.
    pub fn continue_at(&mut self, pc: u32, pipe: PipeState) {
        let mut facts = pipe.facts();
        let leap = self.take_jump_distance();
        let from = if facts.taken && self.has_unpredicted_target() {
            leap.map(|leap| pc.wrapping_sub(leap))
        } else {
            Some(pc)
        };
        if let DataRead::Near(address) = &mut facts.reads {
            match from {
                Some(from) => *address = address.wrapping_add(from & !3),
                None => facts.reads = DataRead::Far { word: 0, line: FarLine::Other },
            }
        }
        let returning = self.is_returning();
        let fetched_from = if returning { Some(pc & !3) } else { from };
        self.move_addresses(fetched_from.unwrap_or(pc));
        self.move_given_up(from.unwrap_or(pc));
        if fetched_from.is_none() {
            self.forget_fetches();
        }
        if let Some(from) = from {
            self.move_lines(from);
        } else {
            self.forget_given_up();
            self.forget_lines();
        }
        self.use_kept_line();
        self.record_return_line(pc, leap);
        if returning && pc & 2 != 0 {
            self.return_to_second_half(pc);
        }
        self.learn(facts);
    }

    /// Returns the pipelines in which a return at `pc` has entered the execute stage and leads to
    /// another kind of memory, with the cycles since the previous instruction's entry.
    fn returns_elsewhere(
        &self,
        pc: u32,
        incoming: &Incoming,
        condition: Condition,
    ) -> Result<Vec<(CodeMemory, Self, u32)>, Stalled> {
        let pipelines = self.memories_elsewhere(pc).map(|(memory, target)| {
            let mut pipeline = self.clone();
            let cost = pipeline.advance(pc, &incoming.step, condition, true, target)?;
            pipeline.leave_from(target, pc.wrapping_add(incoming.size));
            pipeline.settle();
            Ok((memory, pipeline, cost))
        });
        pipelines.collect()
    }

    /// Counts fetched addresses from `address`, and lines from `line`, from now on.
    fn leave_from(&mut self, address: u32, line: u32) {
        self.move_addresses(address.wrapping_neg());
        self.move_given_up(line.wrapping_neg());
        self.keep_line(line);
        self.move_lines(line.wrapping_neg());
        self.forget_far_lines();
    }
}

impl Tables {
    pub fn new(model: Model) -> Self {
        let mut tables =
            Self { states: Vec::new(), numbers: Map::default(), most: STATES / 2, steps: 0 };
        for buffers in [false, true] {
            tables.add(match model {
                Model::Pipeline(setup) => {
                    let next = Pipeline::refilling(setup, buffers);
                    NumberedState::Pipeline(Box::new(NumberedPipeline::of(next)))
                }
                Model::Issue => NumberedState::Issue(Issue::default()),
                Model::Dual => NumberedState::Dual(Box::default()),
            });
        }
        tables
    }

    pub fn is_full(&self) -> bool {
        self.states.len() >= self.most || self.steps >= STEPS
    }

    pub fn state(&self, pipe: PipeState) -> &NumberedState {
        &self.states[pipe.number()]
    }

    fn add(&mut self, state: NumberedState) -> u32 {
        let number = self.states.len() as u32;
        self.states.push(state.clone());
        self.numbers.entry(state).or_insert(number);
        number
    }

    fn number(&mut self, state: NumberedState) -> u32 {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        self.add(state)
    }

    /// Returns `pipe` with the number of `state`, which is added if it is new.
    pub fn numbered(&mut self, pipe: PipeState, state: NumberedState) -> PipeState {
        pipe.with_number(self.number(state))
    }

    /// Returns the pipe state after a change to its pipelines. Other models have none, and are left
    /// as they are.
    pub fn with(&mut self, pipe: PipeState, change: impl Fn(&mut Pipeline)) -> PipeState {
        match self.state(pipe) {
            NumberedState::Pipeline(numbered) => {
                let mut numbered = numbered.clone();
                numbered.for_each(change);
                self.numbered(pipe, NumberedState::Pipeline(numbered))
            }
            NumberedState::Issue(_) | NumberedState::Dual(_) => pipe,
        }
    }

    /// Computes one step: `incoming` enters the execute stage.
    pub fn compute_entry(
        &mut self,
        pc: u32,
        pipe: PipeState,
        incoming: &ModelInstruction,
    ) -> Result<EntryResult, Stalled> {
        let (state, cost) = match (self.state(pipe), incoming) {
            (NumberedState::Pipeline(numbered), ModelInstruction::Step(incoming)) => {
                let (numbered, cost) = numbered.compute_entry(pc, pipe, incoming)?;
                (NumberedState::Pipeline(Box::new(numbered)), cost)
            }
            (NumberedState::Issue(issue), ModelInstruction::Instruction(instruction)) => {
                let mut issue = issue.clone();
                let cost = issue.issue(instruction, pipe.condition(), pipe.is_taken());
                (NumberedState::Issue(issue), cost)
            }
            (NumberedState::Dual(dual), ModelInstruction::Dual(instruction)) => {
                let mut dual = dual.clone();
                let cost = dual.issue(instruction, pipe.condition(), pipe.prediction());
                (NumberedState::Dual(dual), cost)
            }
            // A core has only one kind of model, so this does not happen.
            (state, _) => (state.clone(), 1),
        };
        self.steps += 1;
        Ok(EntryResult { pipe: PipeState::numbered(self.number(state)), cost })
    }
}

impl NumberedPipeline {
    /// Returns the pipeline before the instruction at `pc`, with the facts in `pipe` that the
    /// previous instruction's execution has shown.
    pub fn now(&self, pc: u32, pipe: PipeState) -> Pipeline {
        let memory = self.next.memory_at(pc);
        let elsewhere = self.elsewhere.iter().find(|(leads_to, _)| *leads_to == memory);
        let mut pipeline = match (&self.taken, elsewhere) {
            (Some(taken), _) if pipe.is_taken() => taken.as_ref().clone(),
            (_, Some((_, pipeline))) => pipeline.clone(),
            _ => self.next.clone(),
        };
        pipeline.continue_at(pc, pipe);
        pipeline
    }

    /// Computes one step, cycle by cycle.
    fn compute_entry(
        &self,
        pc: u32,
        pipe: PipeState,
        incoming: &Incoming,
    ) -> Result<(Self, u32), Stalled> {
        let mut pipeline = self.now(pc, pipe);
        let Incoming { step, size, target } = *incoming;
        let condition = pipe.condition();
        let next_address = pc.wrapping_add(size);
        // A return's target becomes known later. Until then it is taken to be a word in the same
        // memory, and in each of the other ones.
        let returns = step.unit == Unit::Return;
        let (target, always) = match step.unit {
            Unit::Return => (pc & !3, true),
            Unit::Branch => (target, true),
            _ => (target, false),
        };
        let jumps = always && condition != Condition::Failed;
        let elsewhere = if returns && jumps {
            pipeline.returns_elsewhere(pc, incoming, condition)?
        } else {
            Vec::new()
        };
        let mut other = (step.unit == Unit::Conditional).then(|| Box::new(pipeline.clone()));
        let cost = pipeline.advance(pc, &step, condition, always, target)?;
        if step.is(has::AIMED) {
            other = Some(Box::new(pipeline.clone()));
        } else if let Some(other) = &mut other {
            other.advance(pc, &step, condition, true, target)?;
        }
        pipeline.leave_from(
            if jumps { target } else { next_address },
            if jumps && !returns { target } else { next_address },
        );
        pipeline.settle();
        if let Some(other) = &mut other {
            other.leave_from(target, target);
            other.settle();
        }
        let elsewhere = elsewhere.into_iter().map(|(memory, mut other, taken)| {
            other.correct_count(cost, taken);
            (memory, other)
        });
        // A return that the execute stage makes fetches from its target once that is known.
        let differs = |other: &Pipeline| other.is_returning() && *other != pipeline;
        let elsewhere = elsewhere.filter(|(_, other)| differs(other)).collect();
        Ok((Self { next: pipeline, taken: other, elsewhere }, cost))
    }
}
