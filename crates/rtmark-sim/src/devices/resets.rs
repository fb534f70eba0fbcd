//! Peripherals that the program resets by a bit of another block (RM0090, 7.1.1; RP2040 datasheet, 2.14).

use std::sync::Arc;

use super::{AttachedDevice, Device, DeviceModel, Devices, Effects, each, find, held};
use crate::soc::{ClockCondition, Soc};
use crate::timing::LineMemories;

/// What resets a device.
#[derive(Clone, Debug)]
pub struct ResetLine {
    source: Arc<ResetSource>,
    state: ResetState,
}

/// Whether a device is being held in its reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResetState {
    /// Since power-on: it responds all the same, and nothing happens when that ends.
    HeldSincePowerOn,
    Held,
    Released,
}

#[derive(Debug)]
struct ResetSource {
    /// What must hold so that the device is held in its reset.
    condition: ClockCondition,
    /// The device as it is after a reset.
    new: Device,
}

/// Gives new devices the lines that the soc file says.
pub fn connect_resets(attached: &mut [AttachedDevice], soc: &Soc) {
    for peripheral in &soc.peripherals {
        let Some(condition) = peripheral.reset_by.clone() else { continue };
        let is_held = condition.holds(&|address| held(attached, address));
        let state = if is_held { ResetState::HeldSincePowerOn } else { ResetState::Released };
        if let Some(at) = find(attached, condition.field.address) {
            attached[at].resets_others = true;
        }
        if let Some(at) = find(attached, peripheral.base) {
            let new = attached[at].device.clone();
            let source = Arc::new(ResetSource { condition, new });
            attached[at].reset_line = Some(ResetLine { source, state });
        }
    }
}

impl Devices {
    /// Resets the devices of which a reset has begun or ended since the last call: what was written to them in
    /// between had no effect.
    pub(super) fn follow_reset_registers(
        &mut self,
        now: u64,
        memories: &mut LineMemories,
        effects: &mut Effects,
    ) {
        for at in 0..self.attached.len() {
            let Some(ResetLine { source, state }) = &self.attached[at].reset_line else { continue };
            let holds = source.condition.holds(&|address| held(&self.attached, address));
            let next = match (state, holds) {
                (ResetState::HeldSincePowerOn | ResetState::Held, true)
                | (ResetState::Released, false) => continue,
                (_, true) => ResetState::Held,
                (_, false) => ResetState::Released,
            };
            let (source, before) = (Arc::clone(source), *state);
            let line = ResetLine { source: Arc::clone(&source), state: next };
            self.attached[at].reset_line = Some(line);
            if before == ResetState::HeldSincePowerOn {
                continue;
            }
            self.renew(at, source.new.clone(), now);
            if let Device::Registers(registers) = &source.new {
                effects.memory_changed |= registers.control_memories(memories);
                effects.routed.extend(registers.initial_routes());
                for (pin, up) in registers.initial_pulls() {
                    self.pull(pin, up, effects);
                }
            }
            effects.affected.push(at);
        }
    }

    /// Replaces a device by a new one at the same lines and pins.
    fn renew(&mut self, at: usize, mut new: Device, now: u64) {
        let ratio = self.ratio(at);
        each!(&mut new, it => {
            it.core_clock_changed(now, ratio);
            it.begin(now, ratio);
        });
        for (pin, drive) in &self.drives {
            let drive = drive.on_clock(self.clock_history());
            each!(&mut new, it => it.drive(pin, &drive));
        }
        let device = &mut self.attached[at].device;
        new.take_line(device, now);
        *device = new;
        self.note_written(at);
    }
}
