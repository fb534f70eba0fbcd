//! What differs between the chips whose cores have this pipeline.

use super::SlowMemory;
use super::rule::{LeftOut, Rule};
use crate::soc::{BusMatrix, Generation};

/// What a pipeline knows of the chip that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Setup {
    /// What the core's revision does otherwise than others.
    pub generation: Generation,
    /// How its buses take turns.
    pub matrix: BusMatrix,
    /// The memory whose lines it waits for.
    pub slow: SlowMemory,
    /// Rules that it does not follow, to see what they are worth.
    pub left_out: LeftOut,
}

impl Setup {
    /// Whether a rule is followed, where it is left in.
    pub(super) fn follows(&self, rule: Rule) -> bool {
        let applies = match rule {
            Rule::GivenUpFetchYields => !self.matrix.given_up_fetches_stay,
            Rule::StoreWaitsForFetch => self.matrix.stores_wait_for_fetches,
            Rule::CompareBranchIsBusy => self.generation != Generation::EarlyCortexM3,
            _ => true,
        };
        applies && self.left_out.leaves(rule)
    }
}
