//! The numbered states, and one step from each of them.

use super::map::Map;
use super::pipe_state::NUMBER_SHIFT;
use super::{Comes, Entered, Incoming, PipeState};
use crate::timing::dual::Dual;
use crate::timing::issue::Issue;
use crate::timing::pipeline::{Condition, Far, Pipeline, Reads, Setup, Stalled, Unit, has};

/// States that are numbered before all are forgotten, which bounds the memory that they
/// take. So no number has its highest bit set.
pub const STATES: usize = 1 << (31 - NUMBER_SHIFT);
/// Steps that are worked out before all is forgotten, likewise.
const STEPS: usize = 1 << 20;
/// A numbered state: as it is when the newest instruction did not jump, and, if that makes
/// a difference already, as it is when it did. Addresses count from the next instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NumberedPipeline {
    pub next: Pipeline,
    pub taken: Option<Box<Pipeline>>,
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
pub enum Model {
    /// Its pipeline, in its chip.
    Pipeline(Setup),
    Issue,
    Dual,
}

/// A numbered state of either.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NumberedState {
    Pipeline(Box<NumberedPipeline>),
    Issue(Issue),
    Dual(Box<Dual>),
}

/// The numbered states.
#[derive(Debug)]
pub struct Tables {
    states: Vec<NumberedState>,
    numbers: Map<NumberedState, u32>,
    /// How many are numbered before the tables are full.
    pub most: usize,
    /// Steps that have been worked out.
    steps: usize,
}

impl Pipeline {
    /// Goes on at `pc`, after the instruction that executes has told what a pipe state holds.
    pub fn continue_at(&mut self, pc: u32, pipe: PipeState) {
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
    pub fn new(model: Model) -> Self {
        let mut tables =
            Self { states: Vec::new(), numbers: Map::default(), most: STATES / 2, steps: 0 };
        for buffers in [false, true] {
            tables.add(match model {
                Model::Pipeline(setup) => {
                    let next = Pipeline::refilling(setup, buffers);
                    NumberedState::Pipeline(Box::new(NumberedPipeline { next, taken: None }))
                }
                Model::Issue => NumberedState::Issue(Issue::default()),
                Model::Dual => NumberedState::Dual(Box::default()),
            });
        }
        tables
    }

    pub fn are_full(&self) -> bool {
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

    /// The pipe state with another state's number.
    pub fn numbered(&mut self, pipe: PipeState, state: NumberedState) -> PipeState {
        pipe.with_number(self.number(state))
    }

    /// The pipe state with something changed that a pipeline knows.
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

    /// Works out one step.
    pub fn work_out(
        &mut self,
        pc: u32,
        pipe: PipeState,
        comes: &Comes,
    ) -> Result<Entered, Stalled> {
        let (state, cost) = match (self.state(pipe), comes) {
            (NumberedState::Pipeline(numbered), Comes::Step(incoming)) => {
                let (numbered, cost) = numbered.work_out(pc, pipe, incoming)?;
                (NumberedState::Pipeline(Box::new(numbered)), cost)
            }
            (NumberedState::Issue(issue), Comes::Instruction(instruction)) => {
                let mut issue = issue.clone();
                let cost = issue.issue(instruction, pipe.condition(), pipe.is_taken());
                (NumberedState::Issue(issue), cost)
            }
            (NumberedState::Dual(dual), Comes::Dual(instruction)) => {
                let mut dual = dual.clone();
                let cost = dual.issue(instruction, pipe.condition(), pipe.came());
                (NumberedState::Dual(dual), cost)
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
    /// a pipe state holds.
    pub fn now(&self, pc: u32, pipe: PipeState) -> Pipeline {
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
