//! Tells devices with a clock of their own about that clock, and these and others whether a program may write their
//! registers.

use std::sync::Arc;

use super::{AttachedDevice, Device, DeviceModel as _, Devices, Effects, each, find, held};
use crate::soc::{ClockCondition, ClockRate, ClockTree, Peripheral, Soc};

/// What the rest of the chip determines of such a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSupply {
    /// Its clock; `None` while that is off.
    pub clock: Option<ClockRate>,
    /// The program may write its registers; a watchdog may reset the core.
    pub permitted: bool,
}

/// What determines that of one device.
#[derive(Debug)]
struct SupplyRule {
    /// The device's position.
    at: usize,
    /// The name of its clock, if it has one.
    clock: Option<String>,
    permitted_by: Option<ClockCondition>,
}

#[derive(Debug)]
struct SupplyRules {
    tree: Option<ClockTree>,
    rules: Vec<SupplyRule>,
}

/// The devices that are told; there are none on most chips.
#[derive(Clone, Debug, Default)]
pub struct Supplies(Option<Arc<SupplyRules>>);

impl Supplies {
    pub fn of(soc: &Soc, attached: &mut [AttachedDevice]) -> Self {
        let condition = |it: &Peripheral| it.writable_by.clone().or(it.resets_core_by.clone());
        let has_rule = |it: &&Peripheral| it.counts.is_some() || condition(it).is_some();
        let rule = |peripheral: &Peripheral| {
            let at = find(attached, peripheral.base)?;
            let clock = peripheral.counts.clone();
            Some(SupplyRule { at, clock, permitted_by: condition(peripheral) })
        };
        let rules: Vec<_> = soc.peripherals.iter().filter(has_rule).filter_map(rule).collect();
        if rules.is_empty() {
            return Self::default();
        }
        let tree = soc.clock_tree.clone();
        let conditions = rules.iter().filter_map(|rule| rule.permitted_by.as_ref());
        let clocks = tree.iter().flat_map(ClockTree::registers);
        let read: Vec<_> =
            clocks.chain(conditions.map(|condition| condition.field.address)).collect();
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
    /// Tells each of these devices how its clock runs, and what can be written, after registers have been written.
    pub(super) fn follow_supply_registers(&mut self, now: u64, effects: &mut Effects) {
        let Some(all) = self.supplies.0.clone() else { return };
        for SupplyRule { at, clock, permitted_by } in &all.rules {
            let read = |address| held(&self.attached, address);
            let clocks = all.tree.as_ref().zip(clock.as_ref());
            let supply = OwnSupply {
                clock: clocks.and_then(|(tree, clock)| tree.clock(clock, &read)),
                permitted: permitted_by.as_ref().is_none_or(|condition| condition.holds(&read)),
            };
            each!(&mut self.attached[*at].device, it => it.supply(now, supply));
            effects.affected.push(*at);
        }
    }
}
