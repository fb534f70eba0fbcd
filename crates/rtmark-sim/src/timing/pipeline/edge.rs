//! The clock's edge, at which each stage and each bus passes on what it has.

use super::{Aim, Bus, Fetch, Outcome, Pipeline, Transfer, on_system_bus};

impl Pipeline {
    /// The clock's edge: what was decided is taken over.
    pub(super) fn edge(&mut self, outcome: Outcome) {
        if let Some(target) = self.delayed.take() {
            self.aim = Aim::Branch(target);
        }
        // Instruction bus.
        if !outcome.fetch_waits && !outcome.fetch_denied {
            self.fetch_data = self.fetch_address.take();
            self.fetch_advanced = self.fetch_data.is_some();
            if let Some(fetch) = self.fetch_data {
                self.fetch_data = Some(Fetch { waits: self.fetch_waits(fetch), ..fetch });
            }
            self.fetch_is_late =
                self.code_write && self.fetch_data.is_some_and(|fetch| !on_system_bus(fetch.word));
        } else {
            if !outcome.fetch_waits {
                self.fetch_data = None;
            }
            self.fetch_advanced = false;
        }
        self.register = outcome.next_register;
        self.system_write = outcome.system_write;
        // Data bus.
        let was_unaligned = self.data_advanced && self.data_data.is_some_and(|data| data.unaligned);
        self.unaligned_now = was_unaligned;
        if !outcome.data_waits && !outcome.data_denied {
            self.data_data = self.data_address.take();
            self.data_advanced = self.data_data.is_some();
            if let Some(data) = self.data_data {
                let waits = data.waits + self.data_waits(data.reads);
                self.data_data = Some(Transfer { waits, ..data });
            }
            if let Some(data) = &mut self.data_data
                && self.code_write
                && data.bus == Bus::Code
                && !data.store
            {
                data.waits += 1;
            }
        } else {
            if !outcome.data_waits {
                self.data_data = None;
            }
            self.data_advanced = false;
        }
        self.code_write = outcome.code_write;
        self.data_ready = !outcome.data_waits;
        // Execute stage.
        self.idle = self.main.is_none() && self.piped.is_none();
        if let Some(main) = &mut self.main {
            if main.done {
                self.last = self.main.take();
            } else {
                main.cycle = main.cycle.saturating_add(1);
                main.dirty = main.next_dirty;
            }
        }
        if let Some(piped) = &mut self.piped {
            if piped.done && self.main.is_none() {
                self.last = self.piped.take();
            } else {
                piped.cycle = piped.cycle.saturating_add(1);
                piped.dirty = piped.next_dirty;
            }
        }
        if self.main.is_none() {
            self.main = self.piped.take();
        }
        // What a fetch brought.
        if outcome.arrives && outcome.arrived > 0 {
            self.incoming = outcome.arrived;
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }
}
