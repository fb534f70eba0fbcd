//! The pipeline of any core.

use super::super::rules::Stages;
use super::cycle::{CycleInputs, CycleOutcome};
use super::{Demand, Memory, hazard3, ibex};

/// A pipeline's state at the beginning of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pipeline {
    Hazard3(hazard3::ThreeStages),
    Ibex(ibex::TwoStages),
}

impl Pipeline {
    /// Creates the state after a reset.
    pub fn new(stages: Stages, pc: u32) -> Self {
        match stages {
            Stages::Hazard3 => Self::Hazard3(hazard3::ThreeStages::new(pc)),
            Stages::Ibex => Self::Ibex(ibex::TwoStages::new(pc)),
        }
    }

    /// Advances by one cycle, with `x` the instruction in the stage that executes or on its way
    /// there.
    pub fn advance(
        &mut self,
        x: &Demand,
        cycle_inputs: &CycleInputs,
        memory: &mut impl Memory,
    ) -> CycleOutcome {
        match self {
            Self::Hazard3(pipeline) => pipeline.advance(x, cycle_inputs, memory),
            Self::Ibex(pipeline) => pipeline.advance(x, cycle_inputs, memory),
        }
    }

    /// Returns whether anything but instructions is in progress: a sleep or a trap.
    pub fn has_sleep_or_trap(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.has_sleep_or_trap(),
            Self::Ibex(pipeline) => pipeline.has_sleep_or_trap(),
        }
    }

    /// Returns whether only an interrupt can still change anything.
    pub fn is_asleep(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.is_asleep(),
            Self::Ibex(pipeline) => pipeline.is_asleep(),
        }
    }

    /// Returns whether it sleeps, or is about to because the latest instruction says so.
    pub fn has_sleep(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.is_asleep(),
            Self::Ibex(pipeline) => pipeline.has_sleep(),
        }
    }
}
