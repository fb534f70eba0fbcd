//! The pipeline of whichever core there is.

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
    /// After a reset.
    pub fn new(stages: Stages, pc: u32) -> Self {
        match stages {
            Stages::Hazard3 => Self::Hazard3(hazard3::ThreeStages::new(pc)),
            Stages::Ibex => Self::Ibex(ibex::TwoStages::new(pc)),
        }
    }

    /// Lets a cycle pass with an instruction in the stage that executes, or on its way there.
    pub fn pass(&mut self, x: &Demand, around: &Around, memory: &mut impl Memory) -> Happened {
        match self {
            Self::Hazard3(pipeline) => pipeline.pass(x, around, memory),
            Self::Ibex(pipeline) => pipeline.pass(x, around, memory),
        }
    }

    /// Whether anything but instructions is under way: a sleep, a trap.
    pub fn is_unusual(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.is_unusual(),
            Self::Ibex(pipeline) => pipeline.is_unusual(),
        }
    }

    /// Whether nothing but an interrupt can change anything any more.
    pub fn is_asleep(&self) -> bool {
        match self {
            Self::Hazard3(pipeline) => pipeline.is_asleep(),
            Self::Ibex(pipeline) => pipeline.is_asleep(),
        }
    }
}
