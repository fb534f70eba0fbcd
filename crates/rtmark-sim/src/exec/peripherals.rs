//! Loads and stores of peripherals' registers, and their consequences: interrupts, time, and flash that is
//! programmed or erased.
//!
//! The devices themselves are values that know nothing of the core ([`crate::devices`]).

use crate::arch::armm::nvic::FIRST_INTERRUPT;
use crate::arch::armm::trap::{Done, Trap};
use crate::devices::{
    AttachedDevice, DeviceContext, Direction, Effects, Env, OutputChanges, PERIPHERALS, Signals,
    Strictness,
};
use crate::memory::Place;
use crate::soc::VENDORS;
use crate::state::{NO_LINE, State};

impl State {
    /// Records an access to a register without a model, or refuses it.
    pub(crate) fn note_unmodelled(&mut self, address: u32, direction: Direction) -> Done {
        self.devices.note(address, direction);
        match self.devices.strictness {
            Strictness::Lenient => Ok(()),
            Strictness::Strict => {
                self.trap_value = address;
                Err(Trap::Unmodelled)
            }
        }
    }

    /// Reads the word at an address that is in no memory.
    pub(crate) fn read_peripheral(&mut self, address: u32) -> Result<u32, Trap> {
        let Some(at) = self.devices.find(address) else {
            return self.access_unmapped(address, Direction::Read).map(|()| 0);
        };
        let now = self.access_device(at, address, Direction::Read);
        let offset = self.devices.attached[at].offset_of(address);
        let (value, _) = self.with_device(at, now, |device, env| device.read(offset, env));
        self.look_at_device(at, now);
        match value {
            Some(value) if self.devices.is_polled(at, address, value, now) => {
                self.note_unmodelled(address, Direction::Read).map(|()| value)
            }
            Some(value) => Ok(value),
            None => self.note_unmodelled(address, Direction::Read).map(|()| 0),
        }
    }

    /// Writes to an address that is in no memory; `value` and `mask` are already shifted to their position
    /// in the word.
    pub(crate) fn write_peripheral(&mut self, address: u32, value: u32, mask: u32) -> Done {
        let Some(at) = self.devices.find(address) else {
            if let Some(programmed) =
                self.devices.program_flash(&mut self.bus, address, value, mask)
            {
                if self.knows_code_at(programmed.place) {
                    self.forget_flash();
                }
                return match programmed.without_model {
                    Some(register) => self.note_unmodelled(register, Direction::Write),
                    None => Ok(()),
                };
            }
            return self.access_unmapped(address, Direction::Write);
        };
        let now = self.access_device(at, address, Direction::Write);
        let offset = address - self.devices.attached[at].base;
        let (written, effects) =
            self.write_device(at, now, |device, env| device.store(offset, value, mask, env));
        for end in effects.connected.map_or_else(Vec::new, |it| self.devices.unmodelled_ends(it)) {
            self.note_unmodelled(end, Direction::Write)?;
        }
        match written {
            Some(()) if !effects.without_model => Ok(()),
            _ => self.note_unmodelled(address, Direction::Write),
        }
    }

    /// Returns whether an instruction that has been decoded may contain a byte of a word, or load one as a literal,
    /// wherever its memory appears.
    fn knows_code_at(&self, Place { memory, offset }: Place) -> bool {
        self.soc.memories[memory].ranges().into_iter().any(|range| {
            let word = (range.start as u32).wrapping_add(offset & !3);
            self.predecoded.knows_code_at(word) || self.predecoded.knows_literal_at(word)
        })
    }

    /// Invalidates everything derived from code in flash.
    fn forget_flash(&mut self) {
        self.predecoded.forget_all();
        self.memo.forget();
        (self.line, self.line_mask) = (NO_LINE, u32::MAX);
        self.request_attention();
    }

    /// Handles an access where there is neither memory nor a device.
    fn access_unmapped(&mut self, address: u32, direction: Direction) -> Done {
        let is_peripheral = PERIPHERALS.contains(&address)
            || VENDORS[0].contains(&address.into())
            || self.devices.is_unmodelled(address);
        if is_peripheral {
            self.note_unmodelled(address, direction)
        } else {
            Err(self.no_response(address))
        }
    }

    /// Spends the time that an access to a device takes; returns the cycle in which it takes place.
    fn access_device(&mut self, at: usize, address: u32, direction: Direction) -> u64 {
        let extra = self.devices.attached[at].extra_cycles(address, direction);
        self.cycles = self.cycles.saturating_add_signed(extra.into());
        self.devices.waited += u64::try_from(extra).unwrap_or(0);
        let now = self.data_phase();
        self.pass_time(now);
        now
    }

    pub(super) fn with_device<T>(
        &mut self,
        at: usize,
        now: u64,
        act: impl FnOnce(&mut AttachedDevice, &mut Env<'_>) -> T,
    ) -> (T, Effects) {
        let (bus, console, memories) = (&self.bus, &mut self.console, &mut self.lines);
        let around = DeviceContext { bus, console, memories };
        let result = self.devices.with_device(at, now, around, act);
        if self.console.has_found() {
            self.request_attention();
        }
        result
    }

    /// Writes to a device, and lets everything else follow; returns whether the register has a model, and the effects.
    pub(super) fn write_device(
        &mut self,
        at: usize,
        now: u64,
        write: impl FnOnce(&mut AttachedDevice, &mut Env<'_>) -> Option<()>,
    ) -> (Option<()>, Effects) {
        let (written, effects) = self.with_device(at, now, write);
        self.apply_effects(&effects, now);
        self.look_at_device(at, now);
        self.devices.note_written(at);
        (written, effects)
    }

    fn apply_effects(&mut self, effects: &Effects, now: u64) {
        if effects.memory_changed {
            // What is known of the line that code is fetched from is no longer valid.
            (self.line, self.line_mask) = (NO_LINE, u32::MAX);
            self.update_lead();
            self.request_attention();
        }
        if self.devices.apply_to_flash(&effects.flash, &mut self.bus) {
            self.forget_flash();
        }
        if !effects.routed.is_empty() {
            for at in self.devices.route(&effects.routed, now) {
                self.look_at_device(at, now);
            }
        }
        for at in &effects.affected {
            self.look_at_device(*at, now);
        }
        if effects.requests_selected {
            self.look_at_dmas(now);
        }
        if effects.connected.is_some() {
            for at in self.devices.publish(now) {
                self.look_at_device(at, now);
            }
        }
        if effects.clock_changed {
            // Devices may be due earlier.
            self.request_attention();
        }
        let divisors = self.devices.divisors;
        let wanted = std::array::from_fn(|clock| effects.scaled[clock].unwrap_or(divisors[clock]));
        if wanted == divisors {
            return;
        }
        // The counts up to now were made with the old clock ratio.
        for at in 0..self.devices.attached.len() {
            let ratio = self.devices.ratio(at);
            self.devices.attached[at].settle(now, ratio);
        }
        self.devices.divisors = wanted;
        for at in 0..self.devices.attached.len() {
            self.look_at_device(at, now);
        }
    }

    /// Takes over a device's outputs and the cycle of its next event.
    pub(super) fn look_at_device(&mut self, at: usize, now: u64) {
        let OutputChanges { changed, rescheduled, requests_changed } =
            self.devices.update_outputs(at, now);
        if rescheduled || self.devices.has_watchdog_reset() {
            self.request_attention();
        }
        if changed != 0 {
            self.drive_interrupts(at, changed, now);
        }
        let signals = self.devices.signals(at);
        if !signals.is_empty() {
            self.deliver_signals(at, &signals, now);
        }
        if requests_changed {
            self.look_at_dmas(now);
        }
    }

    /// Lets the DMA controllers follow requests.
    fn look_at_dmas(&mut self, now: u64) {
        for at in self.devices.dmas() {
            self.look_at_device(at, now);
        }
    }

    /// Delivers a device's signals to other devices and to memory.
    fn deliver_signals(&mut self, at: usize, signals: &Signals, now: u64) {
        for &(address, byte) in &signals.stores {
            if self.bus.store(address, [byte]).is_none() {
                self.devices.note(address, Direction::Write);
            } else if self.bus.code_writes.dirty {
                self.forget_overwritten_code(address);
            }
        }
        for changed in self.devices.deliver(at, signals, now) {
            self.look_at_device(changed, now);
        }
    }

    /// Triggers a task, given by the address of its register, as the PPI does. Tasks without a model were
    /// already reported when a channel connected them.
    fn trigger(&mut self, task: u32, now: u64) {
        let Some(at) = self.devices.with_task(task) else { return };
        let offset = task - self.devices.attached[at].base;
        let (_, effects) =
            self.write_device(at, now, |device, env| device.write(offset, 1, u32::MAX, env));
        for end in effects.connected.map_or_else(Vec::new, |it| self.devices.unmodelled_ends(it)) {
            self.devices.note(end, Direction::Write);
        }
        if effects.without_model {
            self.devices.note(task, Direction::Write);
        }
    }

    /// Drives the interrupts of those outputs of a device that have changed.
    fn drive_interrupts(&mut self, at: usize, changed: u32, now: u64) {
        for output in 0..self.devices.attached[at].irq.len() {
            if changed >> output & 1 == 0 {
                continue;
            }
            let irq = self.devices.attached[at].irq[output];
            // Several outputs may share an interrupt.
            let high = self.devices.attached.iter().any(|attached| {
                let same = attached.irq.iter().enumerate().filter(|(_, other)| **other == irq);
                same.into_iter().any(|(output, _)| attached.outputs >> output & 1 == 1)
            });
            let exception = FIRST_INTERRUPT + irq;
            self.system.nvic.drive(exception, high);
            if high {
                self.signal(exception, now);
            }
            self.request_attention();
        }
    }

    /// Lets every device perform what is due by a cycle.
    pub(crate) fn process_device_events(&mut self, now: u64) {
        for at in 0..self.devices.attached.len() {
            if self.devices.attached[at].due.is_some_and(|due| due <= now) {
                for task in self.devices.triggered(at, now) {
                    self.trigger(task, now);
                }
                self.transfer(at, now);
                self.look_at_device(at, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
