//! Accesses to the registers of devices, as every core makes them.

use super::{Attached, Devices, Direction, Effects, Env, Strictness};
use crate::devices::Console;
use crate::memory::Bus;
use crate::timing::LineMemories;

/// What devices reach beyond their registers.
pub struct Surroundings<'a> {
    pub bus: &'a Bus,
    pub console: &'a mut Console,
    pub memories: &'a mut LineMemories,
}

impl Devices {
    /// Has a device do something in a cycle; answers what comes of it, and what it leads to outside of
    /// the device.
    pub fn with_device<T>(
        &mut self,
        at: usize,
        now: u64,
        around: Surroundings<'_>,
        act: impl FnOnce(&mut Attached, &mut Env<'_>) -> T,
    ) -> (T, Effects) {
        let Surroundings { bus, console, memories } = around;
        let ratio = self.ratio(at);
        let mut env = Env { now, ratio, bus, console, memories, effects: Effects::default() };
        let result = act(&mut self.attached[at], &mut env);
        (result, env.effects)
    }

    /// Takes note of what a read has answered: where a register has no model, and where the program
    /// waits in vain for one to change. What has no model reads as zero.
    pub fn has_read(&mut self, at: usize, address: u32, value: Option<u32>, now: u64) -> u32 {
        let has_model = value.is_some_and(|value| !self.is_polled(at, address, value, now));
        if !has_model {
            self.admit(address, Direction::Read);
        }
        value.unwrap_or(0)
    }

    /// Takes note of what a write has led to: where a register has no model, and where something has
    /// been started that has none.
    pub fn has_written(&mut self, at: usize, address: u32, written: Option<()>, effects: &Effects) {
        self.written(at);
        if written.is_none() || effects.without_model {
            self.admit(address, Direction::Write);
        }
    }

    /// Notes an access without a model, and refuses it where none is let through.
    fn admit(&mut self, address: u32, direction: Direction) {
        self.note(address, direction);
        if self.strictness == Strictness::Strict {
            self.refused = Some(address);
        }
    }

    /// The register without a model for which the run is to end; once.
    pub const fn take_refused(&mut self) -> Option<u32> {
        self.refused.take()
    }
}
