//! Tells devices with a clock of their own about that clock, and whether a program may write their registers.

use std::sync::Arc;

use super::OwnSupply;
use crate::devices::{AttachedDevice, Devices, Effects, each, find, held};
use crate::devices::{Device, DeviceModel as _};
use crate::soc::{ClockCondition, ClockTree, Peripheral, Soc};

/// What determines the supply of one device.
#[derive(Debug)]
struct SupplyRule {
    /// The device's position.
    at: usize,
    /// The name of its clock.
    clock: String,
    writable_by: Option<ClockCondition>,
}

#[derive(Debug)]
struct SupplyRules {
    tree: ClockTree,
    rules: Vec<SupplyRule>,
}

/// The devices with such clocks; there are none on most chips.
#[derive(Clone, Debug, Default)]
pub struct Supplies(Option<Arc<SupplyRules>>);

impl Supplies {
    pub fn of(soc: &Soc, attached: &mut [AttachedDevice]) -> Self {
        let rule = |peripheral: &Peripheral| {
            let clock = peripheral.counts.clone()?;
            let at = find(attached, peripheral.base)?;
            Some(SupplyRule { at, clock, writable_by: peripheral.writable_by.clone() })
        };
        let rules: Vec<_> = soc.peripherals.iter().filter_map(rule).collect();
        let Some(tree) = soc.clock_tree.clone().filter(|_| !rules.is_empty()) else {
            return Self::default();
        };
        let conditions = rules.iter().filter_map(|rule| rule.writable_by.as_ref());
        let read: Vec<_> =
            tree.registers().chain(conditions.map(|condition| condition.field.address)).collect();
        for address in read {
            if let Some(at) = find(attached, address) {
                attached[at].supplies_others = true;
            }
        }
        for SupplyRule { at, .. } in &rules {
            attached[*at].supplies_others = true;
        }
        Self(Some(Arc::new(SupplyRules { tree, rules })))
    }
}

impl Devices {
    /// Tells each device with a clock of its own how that runs after registers have been written.
    pub(in crate::devices) fn follow_supply_registers(&mut self, now: u64, effects: &mut Effects) {
        let Some(all) = self.supplies.0.clone() else { return };
        for SupplyRule { at, clock, writable_by } in &all.rules {
            let read = |address| held(&self.attached, address);
            let supply = OwnSupply {
                clock: all.tree.clock(clock, &read),
                writable: writable_by.as_ref().is_none_or(|condition| condition.holds(&read)),
            };
            each!(&mut self.attached[*at].device, it => it.supply(now, supply));
            effects.affected.push(*at);
        }
    }
}
