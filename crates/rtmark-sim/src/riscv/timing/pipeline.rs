//! The pipeline of any core.

use super::super::rules::Stages;
use super::cycle::{Around, Happened};
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
    pub fn pass(&mut self, x: &Demand, around: &Around, memory: &mut impl Memory) -> Happened {
        match self {
            Self::Hazard3(pipeline) => pipeline.pass(x, around, memory),
            Self::Ibex(pipeline) => pipeline.pass(x, around, memory),
        }
    }

    /// Returns whether anything but instructions is in progress: a sleep or a trap.
    pub fn is_unusual(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.is_unusual(),
            Self::Ibex(pipeline) => pipeline.is_unusual(),
        }
    }

    /// Returns whether only an interrupt can still change anything.
    pub fn is_asleep(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.is_asleep(),
            Self::Ibex(pipeline) => pipeline.is_asleep(),
        }
    }
}
