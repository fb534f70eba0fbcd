//! Accesses to the registers of devices, shared by all cores.

use super::{AttachedDevice, Devices, Direction, Effects, Env, Strictness};
use crate::devices::Console;
use crate::memory::Bus;
use crate::timing::LineMemories;

/// What devices can reach besides their registers.
pub struct DeviceContext<'a> {
    pub bus: &'a Bus,
    pub console: &'a mut Console,
    pub memories: &'a mut LineMemories,
}

impl Devices {
    /// Performs an action on a device in a given cycle; returns its result, and its effects outside the
    /// device.
    pub fn with_device<T>(
        &mut self,
        at: usize,
        now: u64,
        around: DeviceContext<'_>,
        act: impl FnOnce(&mut AttachedDevice, &mut Env<'_>) -> T,
    ) -> (T, Effects) {
        let DeviceContext { bus, console, memories } = around;
        let ratio = self.ratio(at);
        let mut env = Env { now, ratio, bus, console, memories, effects: Effects::default() };
        let result = act(&mut self.attached[at], &mut env);
        let mut effects = env.effects;
        effects.clock_changed = effects.registers_written
            && self.attached[at].sets_clock
            && self.follow_clock_registers(now);
        (result, effects)
    }

    /// Records what a read has returned: whether the register has no model, and whether the program waits
    /// in vain for it to change. A register without a model reads as zero.
    pub fn has_read(&mut self, at: usize, address: u32, value: Option<u32>, now: u64) -> u32 {
        let has_model = value.is_some_and(|value| !self.is_polled(at, address, value, now));
        if !has_model {
            self.record_unmodelled(address, Direction::Read);
        }
        value.unwrap_or(0)
    }

    /// Records the effects of a write: whether the register has no model, and whether the write starts
    /// something that has none.
    pub fn has_written(&mut self, at: usize, address: u32, written: Option<()>, effects: &Effects) {
        self.note_written(at);
        if written.is_none() || effects.without_model {
            self.record_unmodelled(address, Direction::Write);
        }
    }

    /// Records an access without a model, and refuses it under strict checking.
    fn record_unmodelled(&mut self, address: u32, direction: Direction) {
        self.note(address, direction);
        if self.strictness == Strictness::Strict {
            self.refused = Some(address);
        }
    }

    /// Returns the register without a model because of which the run must end, and clears it.
    pub const fn take_refused(&mut self) -> Option<u32> {
        self.refused.take()
    }
}
