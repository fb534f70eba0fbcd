//! The differences between chips whose cores have this pipeline.

use super::SlowMemory;
use super::rule::{DisabledRules, Rule};
use crate::soc::{BusMatrix, Generation};

/// The properties of the chip that a pipeline depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Setup {
    /// The generation of the core's revision.
    pub generation: Generation,
    /// The arbitration of its buses.
    pub matrix: BusMatrix,
    /// The slow memory whose lines the core waits for.
    pub slow: SlowMemory,
    /// Rules left out, to measure their effect.
    pub disabled_rules: DisabledRules,
}

impl Setup {
    /// Returns whether a rule applies to the chip and is not left out.
    pub(super) fn follows(&self, rule: Rule) -> bool {
        let applies = match rule {
            Rule::GivenUpFetchYields => !self.matrix.given_up_fetches_stay,
            Rule::StoreWaitsForFetch => self.matrix.stores_wait_for_fetches,
            Rule::StoresPassFetch => !self.matrix.stores_wait_for_fetches,
            Rule::BitBehindTransfer => self.generation == Generation::CortexM4,
            Rule::CompareBranchIsBusy | Rule::FoldingNopWaits => {
                self.generation != Generation::EarlyCortexM3
            }
            _ => true,
        };
        applies && self.disabled_rules.includes(rule)
    }
}
