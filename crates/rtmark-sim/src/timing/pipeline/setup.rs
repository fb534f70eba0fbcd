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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_differ_in_these_rules_only() {
        let differ = |setup: &Setup| {
            Rule::ALL.iter().copied().filter(|rule| !setup.follows(*rule)).collect::<Vec<_>>()
        };
        let cc26xx = BusMatrix { stores_wait_for_fetches: true, given_up_fetches_stay: true };
        let setup = |generation, matrix| Setup { generation, matrix, ..Setup::default() };
        // STM32F100, CC2650, CC2652.
        let stm32 = setup(Generation::EarlyCortexM3, BusMatrix::default());
        assert_eq!(
            differ(&stm32),
            [
                Rule::CompareBranchIsBusy,
                Rule::FoldingNopWaits,
                Rule::StoreWaitsForFetch,
                Rule::BitBehindTransfer
            ]
        );
        let cc2650 = setup(Generation::Current, cc26xx);
        assert_eq!(
            differ(&cc2650),
            [Rule::GivenUpFetchYields, Rule::StoresPassFetch, Rule::BitBehindTransfer]
        );
        let cc2652 = setup(Generation::CortexM4, cc26xx);
        assert_eq!(differ(&cc2652), [Rule::GivenUpFetchYields, Rule::StoresPassFetch]);
    }

    #[test]
    fn a_rule_that_is_left_out_is_not_followed() {
        for &rule in Rule::ALL {
            let without = Setup { disabled_rules: DisabledRules::only(rule), ..Setup::default() };
            assert!(!without.follows(rule), "{}", rule.name());
            for &other in Rule::ALL.iter().filter(|&&other| other != rule) {
                assert_eq!(without.follows(other), Setup::default().follows(other));
            }
        }
    }
}
